//! Revenue (PL-34). A transaction counts for the day of its commit, so the revenue of past days never changes.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::transaction::{Transaction, TransactionKind};
use crate::values::{Currency, Minor, date};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RevenueKey {
    pub day: i64,
    pub operator: SmolStr,
    pub game: SmolStr,
    pub currency: Currency,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevenueSums {
    /// Number of rounds, excluding free rounds.
    pub rounds: u64,
    pub free_rounds: u64,
    /// Number of voided rounds, including free rounds.
    pub voided: u64,
    pub bets: i128,
    pub free_bets: i128,
    /// Wins, excluding jackpots.
    pub wins: i128,
    pub jackpots: i128,
    pub refunds: i128,
    pub free_bets_returned: i128,
    pub wins_taken_back: i128,
}

impl RevenueSums {
    #[must_use]
    pub fn revenue(&self) -> i128 {
        self.bets - self.refunds - self.wins + self.wins_taken_back
    }

    pub fn add(&mut self, of: &Self) {
        self.rounds += of.rounds;
        self.free_rounds += of.free_rounds;
        self.voided += of.voided;
        self.bets += of.bets;
        self.free_bets += of.free_bets;
        self.wins += of.wins;
        self.jackpots += of.jackpots;
        self.refunds += of.refunds;
        self.free_bets_returned += of.free_bets_returned;
        self.wins_taken_back += of.wins_taken_back;
    }

    fn take(&mut self, transaction: &Transaction) {
        use TransactionKind as Kind;
        let Transaction { kind, amount: Minor(amount), promotion: Minor(promotion), .. } = transaction;
        let (amount, promotion) = (i128::from(*amount), i128::from(*promotion));
        match kind {
            Kind::Bet => {
                self.rounds += 1;
                self.bets -= amount;
            }
            Kind::FreeBet => {
                self.free_rounds += 1;
                self.free_bets += promotion;
            }
            Kind::Win => self.wins += amount,
            Kind::Jackpot => self.jackpots += amount,
            Kind::Refund => {
                self.voided += 1;
                self.refunds += amount;
            }
            Kind::FreeBetReturned => {
                self.voided += 1;
                self.free_bets_returned += promotion;
            }
            Kind::WinTakenBack => self.wins_taken_back -= amount,
            Kind::Deposit | Kind::Withdrawal | Kind::PlayMoney | Kind::Debit | Kind::Credit => {}
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revenue(BTreeMap<RevenueKey, RevenueSums>);

impl Revenue {
    pub fn take(&mut self, operator: &str, time_ms: i64, transactions: &[Transaction]) {
        for transaction in transactions.iter().filter(|transaction| !transaction.game.is_empty()) {
            if matches!(transaction.kind, TransactionKind::Debit | TransactionKind::Credit) {
                continue;
            }
            let key = RevenueKey {
                day: date::day_of(time_ms),
                operator: operator.into(),
                game: transaction.game.clone(),
                currency: transaction.currency,
            };
            self.0.entry(key).or_default().take(transaction);
        }
    }

    pub fn iter(&self) -> btree_map::Iter<'_, RevenueKey, RevenueSums> {
        self.0.iter()
    }

    pub fn of_days(
        &self,
        from: i64,
        to: i64,
        after: Option<&RevenueKey>,
    ) -> impl Iterator<Item = (&RevenueKey, &RevenueSums)> {
        let first =
            |day| RevenueKey { day, operator: SmolStr::default(), game: SmolStr::default(), currency: Currency::EUR };
        let start = match after {
            Some(after) if after.day >= from => Bound::Excluded(after.clone()),
            _ => Bound::Included(first(from)),
        };
        let end = Bound::Excluded(first(to.saturating_add(1)));
        let empty = from > to || after.is_some_and(|after| after.day > to);
        (!empty).then(|| self.0.range((start, end))).into_iter().flatten()
    }
}

impl Extend<(RevenueKey, RevenueSums)> for Revenue {
    fn extend<T: IntoIterator<Item = (RevenueKey, RevenueSums)>>(&mut self, rows: T) {
        for (key, sums) in rows {
            self.0.entry(key).or_default().add(&sums);
        }
    }
}
