//! Measures the cost of `close_rounds`, which reports the end of each round to the wallet. Alternates rounds with and
//! without these reports, on the same wallet.

use super::{Args, Running, named, played, span};
use std::{error::Error, fs, time::Duration};
use tokio::time::{Instant, sleep};

/// Operator that uses the first wallet of --wallets without `close_rounds`.
pub const UNREPORTED: &str = "unreported";

const LOOK_EVERY: Duration = Duration::from_millis(100);
const DRAIN_MAX: Duration = Duration::from_secs(120);

pub async fn compare(args: &Args, running: &Running) -> Result<(), Box<dyn Error>> {
    let Some(ms) = args.wallets.first() else { return Ok(()) };
    let operators = [UNREPORTED.to_owned(), named(*ms)];
    for &in_flight in &args.in_flight {
        let (mut during, mut drained, mut p50, mut p99) = (vec![], vec![], vec![], vec![]);
        for turn in 0..args.repeats {
            let mut turns = [[0.0; 4]; 2];
            for nth in 0..2 {
                let which = (turn + nth) % 2;
                let (rate, latency) = played(running, args, &operators[which], in_flight, None).await?;
                let left = drain(running.service.id()).await?.as_secs_f64();
                turns[which] = [rate, rate * args.seconds / (args.seconds + left), latency.p50, latency.p99];
            }
            eprintln!("{in_flight} in flight, without and with reports, turn {}: {turns:.2?}", turn + 1);
            let ratios = [0, 1, 2, 3].map(|figure| turns[1][figure] / turns[0][figure]);
            for (of, ratio) in [&mut during, &mut drained, &mut p50, &mut p99].into_iter().zip(ratios) {
                of.push(ratio);
            }
        }
        println!(
            "\nWith reports of ended rounds, {in_flight} in flight, relative to rounds without reports: rounds/s {}, rounds/s until all calls are sent {}, p50 {}, p99 {}",
            span(during),
            span(drained),
            span(p50),
            span(p99)
        );
    }
    Ok(())
}

async fn drain(pid: u32) -> Result<Duration, Box<dyn Error>> {
    let (begun, mut before) = (Instant::now(), ticks(pid)?);
    loop {
        sleep(LOOK_EVERY).await;
        let now = ticks(pid)?;
        if now <= before + 1 || begun.elapsed() > DRAIN_MAX {
            return Ok(begun.elapsed() - LOOK_EVERY);
        }
        before = now;
    }
}

fn ticks(pid: u32) -> Result<u64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<_> = stat.rsplit_once(')').ok_or("/proc/PID/stat is malformed")?.1.split_whitespace().collect();
    Ok(fields.get(11).ok_or("/proc/PID/stat has no processor time")?.parse::<u64>()?
        + fields.get(12).ok_or("/proc/PID/stat has no processor time")?.parse::<u64>()?)
}
