use super::{LatencyMs, Report};
use crate::{books::PoolCheck, readers::Reads, usage::Cost};
use std::fmt;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = if self.stream { "PlayStream" } else { "unary calls" };
        writeln!(
            f,
            "{} rounds, {} calls in {:.2} s: {:.0} rounds/s",
            self.rounds, self.calls, self.seconds, self.rounds_per_second
        )?;
        write!(f, "{} rounds in flight over {} connections, {way}, ", self.concurrency, self.connections)?;
        match self.rate {
            None => writeln!(f, "closed loop")?,
            Some(rate) => {
                writeln!(f, "{rate} rounds/s requested; latency is measured from each round's scheduled start")?
            }
        }
        writeln!(f, "\nlatency, ms {:>9} {:>9} {:>9} {:>9} {:>9}", "p50", "p90", "p99", "p99.9", "max")?;
        for (call, latency) in &self.latency_ms_by_call {
            line(f, call, latency)?;
        }
        line(f, "all", &self.latency_ms)?;
        if self.reads.readers > 0 {
            let Reads { readers, pages, rounds, refused, failed } = self.reads;
            writeln!(
                f,
                "\nreaders     {readers}: {pages} pages, {rounds} rounds read; {refused} requests refused, {failed} failed"
            )?;
        }
        for (who, cost) in [("\nservice     ", self.cost), ("client      ", self.client_cost)] {
            let Some(Cost { cpu_us_per_round, switches_per_round, resident_bytes }) = cost else { continue };
            let mb = resident_bytes / 1_000_000;
            writeln!(
                f,
                "{who}{cpu_us_per_round:.1} us of CPU time and {switches_per_round:.2} context switches per round; memory {mb} MB"
            )?;
        }
        self.failures(f)?;
        self.balance_sheet(f)?;
        if let Some(p99) = self.thresholds.p99_ms {
            let (found, max) = (p99.found, p99.max);
            writeln!(f, "p99         {found:.3} ms, allowed {max} ms: {}", verdict(p99.ok))?;
        }
        writeln!(f, "\n{}", if self.ok { "OK" } else { "FAILED" })
    }
}

impl Report {
    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.thresholds.error_rate;
        let (found, max) = (rate.found * 100.0, rate.max * 100.0);
        writeln!(
            f,
            "\nerrors      {found:.4} % of calls, allowed {max} %: {}; {} retries",
            verdict(rate.ok),
            self.retries
        )?;
        for (reason, count) in &self.errors {
            writeln!(f, "            {count} {reason}")?;
        }
        Ok(())
    }

    fn balance_sheet(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let books = &self.books;
        writeln!(
            f,
            "balances    {} accounts, {} with a wrong balance, {} rounds still open: {}",
            books.players,
            books.wrong_balances,
            books.open_rounds,
            verdict(books.wrong_balances == 0 && books.open_rounds == 0 && books.unpaid_jackpots == 0)
        )?;
        let pool = &books.pool;
        let how = match pool.check {
            PoolCheck::Exact => "must be equal",
            PoolCheck::AtLeast => "other players may also have contributed to the pool",
            PoolCheck::None => "not checked: no pool was active throughout the run",
        };
        writeln!(f, "pool        received {} EUR, bets contributed {} EUR ({how})", pool.found_eur, pool.told_eur)?;
        for fault in &books.faults {
            writeln!(f, "            {fault}")?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, call: &str, latency: &LatencyMs) -> fmt::Result {
    let LatencyMs { p50, p90, p99, p999, max } = latency;
    writeln!(f, "{call:<11} {p50:>9.3} {p90:>9.3} {p99:>9.3} {p999:>9.3} {max:>9.3}")
}

fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "FAILED" }
}

#[cfg(test)]
mod tests {
    use crate::{
        books::{self, PoolCheck, Pooled},
        options::Thresholds,
        report::tests::report,
    };
    use motherlode_state::Nano;

    #[test]
    fn what_failed_is_said_and_lines_fit_a_terminal() {
        let pooled =
            Pooled { check: PoolCheck::Exact, contribution_ppm: 5_000, contributions: Nano::ZERO, caught_up: true };
        let limits = Thresholds { p99_ms_max: Some(0.5), error_rate_max: 0.0 };
        let text = report(limits, 3, books::check(&[], 0, pooled)).to_string();
        assert!(text.contains("            3 UNAVAILABLE\n"), "{text}");
        assert!(text.contains("ms, allowed 0.5 ms: FAILED\n"), "{text}");
        assert!(text.ends_with("\nFAILED\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
