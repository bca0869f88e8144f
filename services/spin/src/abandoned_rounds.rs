//! Resolves rounds that players have abandoned (PL-03, ME-20), and continues rounds whose automatic finish was
//! interrupted.
//!
//! Sweeps are stateless and idempotent. Each sweep reads all open rounds from the books, and takes a few from each
//! operator in turn, oldest bets first.

use crate::{
    automatic::{AutomaticStep, next_step, step_request_id},
    completer::RoundCompleter,
    dealer::Dealer,
    interruption::open_rounds,
    waits::Waits,
};
use futures_util::future::{BoxFuture, join_all};
use motherlode_ledger::{
    Handle, Ledgers,
    fields::{RoundId, round_name},
};
use motherlode_runtime::Refusal;
use motherlode_state::{Automatic, Books, InternalRequest, OpenRound};
use std::{collections::VecDeque, time::Duration};
use tonic::Code;

const LOOKS_MAX: usize = 256;

const TOGETHER: usize = 16;

struct Turn {
    operator: String,
    due: VecDeque<RoundId>,
    next: Option<u64>,
}

enum Swept {
    Reported,
    Full,
    BrokenOff,
}

#[derive(Clone)]
pub struct AbandonedRounds {
    completer: RoundCompleter,
    waits: Waits,
}

impl AbandonedRounds {
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, dealer: Dealer, waits: Waits) -> Self {
        Self { completer: RoundCompleter { ledgers: ledgers.into(), dealer }, waits }
    }

    pub fn run(self, every: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut wake = tokio::time::interval(every);
            wake.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                wake.tick().await;
                self.sweep().await;
            }
        })
    }

    /// A forward jump of the clock is ignored for an hour, because a round resolved too early cannot be reopened.
    pub async fn sweep(&self) {
        for ledger in self.completer.ledgers.all() {
            self.sweep_partition(ledger).await;
        }
    }

    async fn sweep_partition(&self, ledger: &Handle) {
        let operators: Vec<_> = ledger.books(|books| books.operators().map(str::to_owned).collect());
        let begin = |operator| Turn { operator, due: VecDeque::new(), next: Some(0) };
        let mut turns: VecDeque<_> = operators.into_iter().map(begin).collect();
        while let Some(mut turn) = turns.pop_front() {
            while let (true, Some(after)) = (turn.due.is_empty(), turn.next) {
                let due;
                (due, turn.next) = self.due(ledger, &turn.operator, after);
                turn.due.extend(due);
            }
            let together: Vec<_> = turn.due.drain(..TOGETHER.min(turn.due.len())).collect();
            let swept = join_all(together.iter().map(|round| self.resolve_or_report(round))).await;
            if swept.iter().any(|swept| matches!(swept, Swept::BrokenOff)) {
                return;
            }
            let is_full = swept.iter().any(|swept| matches!(swept, Swept::Full));
            if !is_full && !together.is_empty() {
                turns.push_back(turn);
            }
        }
    }

    fn due(&self, ledger: &Handle, operator: &str, after: u64) -> (Vec<RoundId>, Option<u64>) {
        let now_ms = ledger.patient_ms();
        let looked_at = open_rounds(ledger, operator, after, LOOKS_MAX, |stream, open| {
            let due = || RoundId { stream: stream.clone(), number: open.started.round };
            self.why(open, now_ms).map(|_| due())
        });
        let last = looked_at.last().filter(|_| looked_at.len() == LOOKS_MAX).map(|(at, _)| *at);
        (looked_at.into_iter().filter_map(|(_, due)| due.ok().flatten()).collect(), last)
    }

    async fn resolve_or_report(&self, round: &RoundId) -> Swept {
        let Err(refusal) = self.resolve(round).await else { return Swept::Reported };
        let (name, reason) = (round_name(&round.stream, round.number), refusal.reason().name());
        let passes = matches!(refusal.code(), Code::Unavailable | Code::ResourceExhausted | Code::DeadlineExceeded);
        match passes {
            true => tracing::warn!(
                round = name,
                reason,
                "the sweep of abandoned rounds was interrupted at this round; the next sweep continues"
            ),
            false => {
                tracing::error!(round = name, reason, "failed to resolve an abandoned round; the next sweep retries")
            }
        }
        match (passes, refusal.code()) {
            (false, _) => Swept::Reported,
            (true, Code::ResourceExhausted) => Swept::Full,
            (true, _) => Swept::BrokenOff,
        }
    }

    fn why(&self, open: &OpenRound, now_ms: i64) -> Option<Automatic> {
        let over = || self.waits.resolve_ms(open).is_some_and(|resolve_ms| resolve_ms <= now_ms);
        open.automatic.clone().or_else(|| over().then_some(Automatic::TimeOver))
    }

    async fn resolve(&self, round: &RoundId) -> Result<(), Refusal> {
        let ledger = self.completer.ledgers.for_stream(&round.stream)?;
        let step = |books: &Books| Some(next_step(books.player(&round.stream)?.open_round(round.number)?));
        let step = ledger.books_of(&round.stream, step)?;
        let Some(step) = step else { return Ok(()) };
        let request_id = step_request_id(round.number, step);
        let why = |open: &OpenRound| self.why(open, ledger.patient_ms()).filter(|_| next_step(open) == step);
        let asked = AutomaticStep {
            round,
            request_id: request_id.into(),
            fingerprint: InternalRequest::FINGERPRINT,
            why: &why,
            acted: None,
        };
        if let Some(first) = self.completer.step(&asked).await? {
            self.completer.finish(round, first).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    mod finishing;

    use super::*;
    use crate::waits::UnknownName;
    use finishing::waiting;
    use motherlode_ledger::Options;
    use motherlode_log::MemoryStore;
    use motherlode_runtime::{Config, Profiles};
    use motherlode_slots::latest;
    use motherlode_state::{CoinValue, Currency, FxRate, LoggedTerms, Minor, RoundStarted, RoundTerms};
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    fn hours(waits: &Waits, name: &str, jurisdiction: &str) -> Option<u64> {
        let game = latest(name).unwrap();
        let started = RoundStarted {
            round: 1,
            game: name.into(),
            rules_version: game.rules_version().into(),
            model_hash: game.model_hash(),
            currency: Currency::EUR,
            bet: Minor(1),
            coin_value: CoinValue(10_000),
            stake: LoggedTerms::Terms(RoundTerms::default()),
            rate: FxRate::ONE,
            contribution: None,
            session: None,
            jurisdiction: jurisdiction.into(),
            campaign: None,
        };
        waits.resolve_after(&started).map(|after| after.as_secs() / 3600)
    }

    fn waits(text: &str) -> Result<Waits, UnknownName> {
        let config = Config::parse(text).unwrap();
        Waits::new(&config.interruption, &Profiles::new(&config.jurisdictions).unwrap())
    }

    #[test]
    fn pl_03_the_configuration_names_other_hours_than_the_rules_by_game_and_jurisdiction() {
        let waits = waits(
            "[interruption]\n\
             hours = { neptune = 48, mystery-elves = 1 }\n\
             jurisdictions = { uk = { neptune = 12, bewitched = 13 }, default = { witch-feature = 14 } }",
        );
        let waits = waits.unwrap();
        let games = ["bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature"];
        let everywhere = [None, Some(24), Some(1), Some(48), None];
        assert_eq!(games.map(|game| hours(&waits, game, "se")), everywhere);
        assert_eq!(games.map(|game| hours(&waits, game, "uk")), [Some(13), Some(24), Some(1), Some(12), None]);
        assert_eq!(games.map(|game| hours(&waits, game, "")), [None, Some(24), Some(1), Some(48), Some(14)]);
    }

    #[test]
    fn pl_03_games_and_jurisdictions_that_there_are_not_are_refused_by_name() {
        let refused = |text| waits(text).unwrap_err().to_string();
        let unknown = refused("[interruption.hours]\npoker = 1");
        assert_eq!(unknown, "[interruption] names an unknown game, poker");
        let unknown = refused("[interruption.jurisdictions.uk]\npoker = 1");
        assert_eq!(unknown, "[interruption] names an unknown game, poker");
        let unknown = refused("[interruption.jurisdictions.atlantis]\nneptune = 1");
        assert_eq!(unknown, "[interruption] names an unknown jurisdiction, atlantis");
    }

    #[tokio::test]
    async fn pl_03_a_sweep_looks_at_every_open_round() {
        const HOUR: i64 = 3_600_000;
        let clock = Arc::new(AtomicI64::new(1_000));
        let time = Arc::clone(&clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let index = tempfile::tempdir().unwrap();
        let ledger = motherlode_ledger::open(Box::new(MemoryStore::new(0)), index.path(), options).unwrap();
        let dealer = Dealer::from_master([5; 32]);
        let (_stopper, stop) = motherlode_runtime::stop::channel();
        let api = crate::api::SpinApi::new(ledger.clone(), dealer.clone(), Duration::ZERO, stop);
        for number in 0..LOOKS_MAX + 10 {
            waiting(&api, &format!("player-{number}")).await;
        }
        clock.fetch_add(HOUR, Ordering::SeqCst);
        let late = waiting(&api, "late").await;
        clock.fetch_add(119 * HOUR, Ordering::SeqCst);
        let open = || {
            ledger.books(|books| {
                let open = books.open_rounds("acme", 0);
                open.map(|(player, open)| format!("acme/{player}/{}", open.started.round)).collect::<Vec<_>>()
            })
        };
        assert_eq!(open().len(), LOOKS_MAX + 11);
        AbandonedRounds::new(ledger.clone(), dealer, Waits::default()).sweep().await;
        assert_eq!(open(), [late.round_id]);
        drop(api);
        ledger.close().await;
    }
}
