//! Revenue: what players' transactions come to by day, operator, game and currency (PL-34).
//!
//! A transaction counts for the day of its own commit: a win for the day of its settlement, a void for the day on which it was
//! made. So a day that is over never changes, and days add up to the log.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::transaction::{Transaction, TransactionKind};
use crate::values::{Currency, Minor, date};

/// The key that revenue is added up by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RevenueKey {
    /// The day in UTC by the log's time, in days since 1970.
    pub day: i64,
    /// The operator: a brand is an operator of its own.
    pub operator: SmolStr,
    /// The game.
    pub game: SmolStr,
    /// The currency; play money is one of its own.
    pub currency: Currency,
}

/// Sums of minor units, and counts of rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevenueSums {
    /// Rounds begun that the players paid for.
    pub rounds: u64,
    /// Rounds begun that the promotion paid for.
    pub free_rounds: u64,
    /// Rounds voided, paid or free.
    pub voided: u64,
    /// Bets of players.
    pub bets: i128,
    /// Bets of free rounds.
    pub free_bets: i128,
    /// Wins credited, of free rounds too, without jackpots.
    pub wins: i128,
    /// Jackpots paid: by their pools.
    pub jackpots: i128,
    /// Bets given back by voids.
    pub refunds: i128,
    /// Bets of free rounds given back to the promotion by voids.
    pub free_bets_returned: i128,
    /// Wins taken back by voids.
    pub wins_taken_back: i128,
}

impl RevenueSums {
    /// The players' losses: bets less refunds, less wins and plus what was taken back of them. Jackpots are the pools', and bets
    /// of free rounds are nobody's loss but the operator's own.
    #[must_use]
    pub fn revenue(&self) -> i128 {
        self.bets - self.refunds - self.wins + self.wins_taken_back
    }

    /// Adds other sums.
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

/// Revenue by day, operator, game and currency. Its size grows with these, not with the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revenue(BTreeMap<RevenueKey, RevenueSums>);

impl Revenue {
    /// Adds the transactions of one commit of an operator's player.
    pub fn take(&mut self, operator: &str, time_ms: i64, transactions: &[Transaction]) {
        for transaction in transactions.iter().filter(|transaction| !transaction.game.is_empty()) {
            // What comes and goes by the operator's own wallet is no revenue.
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

    /// The sums, by day, then operator, game and currency.
    pub fn iter(&self) -> btree_map::Iter<'_, RevenueKey, RevenueSums> {
        self.0.iter()
    }

    /// The sums of the days from one up to another, both included, after a key of theirs.
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
        // A range that begins after its end would be a fault of the caller's.
        let end = Bound::Excluded(first(to.saturating_add(1)));
        let empty = from > to || after.is_some_and(|after| after.day > to);
        (!empty).then(|| self.0.range((start, end))).into_iter().flatten()
    }
}

/// Adds what other logs come to.
impl Extend<(RevenueKey, RevenueSums)> for Revenue {
    fn extend<T: IntoIterator<Item = (RevenueKey, RevenueSums)>>(&mut self, rows: T) {
        for (key, sums) in rows {
            self.0.entry(key).or_default().add(&sums);
        }
    }
}
