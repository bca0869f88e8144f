//! First pass over the log: collects voids and jackpots (see [`super`]).

use super::{row_filter::RowFilter, source::Read};
use crate::commands::Failure;
use motherlode_state::{Bet, Dues, Event, Minor, RoundKey, Statement, Transaction};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
pub(super) struct Void {
    pub(super) time_ms: i64,
    pub(super) refund: Minor,
    pub(super) win_taken_back: Minor,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct After {
    pub(super) void: Option<Void>,
    pub(super) jackpot: i64,
}

#[derive(Debug, Default)]
pub(super) struct Later(pub(super) BTreeMap<RoundKey, After>);

impl Later {
    pub(super) fn take(&mut self, read: &Read, wanted: &RowFilter) -> Result<(), Failure> {
        let commit = &read.logged.commit;
        if wanted.player(commit).is_none() {
            return Ok(());
        }
        for event in &commit.events {
            let of = |round: &u64| (commit.stream.clone(), *round);
            match event {
                Event::RoundVoided { round, refund, win_taken_back, .. } => {
                    let (refund, win_taken_back) = (*refund, *win_taken_back);
                    let void = Void { time_ms: commit.time_ms, refund, win_taken_back };
                    self.0.entry(of(round)).or_default().void = Some(void);
                }
                Event::JackpotPaid { round, amount, .. } => {
                    let after = self.0.entry(of(round)).or_default();
                    let sum = after.jackpot.checked_add(amount.0);
                    after.jackpot =
                        sum.ok_or_else(|| Failure::found("the sum of a round's jackpots exceeds 64 bits"))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

pub(super) struct Transactions {
    statement: Statement,
    dues: Dues,
    later: Later,
    known: BTreeMap<RoundKey, Bet>,
}

impl Transactions {
    pub(super) fn new(later: Later) -> Self {
        Self { statement: Statement::default(), dues: Dues::default(), later, known: BTreeMap::new() }
    }

    pub(super) fn take(&mut self, read: &Read) -> Result<Vec<Transaction>, Failure> {
        let commit = &read.logged.commit;
        for event in &commit.events {
            if let Event::RoundStarted(started) = event {
                let key = (commit.stream.clone(), started.round);
                if self.later.0.contains_key(&key) {
                    self.known.insert(key, Bet::from_started(started));
                }
            }
        }
        let told = self.statement.take(commit, &read.logged.balances_after, &self.known);
        let mut told = told.map_err(|error| {
            Failure::found(format!("cannot decode the record at position {}: {error}", commit.position))
        })?;
        self.dues.take(&commit.stream, &read.logged.balances_after, &mut told);
        Ok(told)
    }
}
