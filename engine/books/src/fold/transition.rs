//! A commit while it is decided: copies to work on, and the tools that every kind of event shares.
//!
//! The files beside this one add to [`Transition`] the events that they are about.

use smallvec::SmallVec;

use super::delta::{Delta, PendingDelta};
use super::reveal::RevealDue;
use super::view::View;
use crate::events::{Commit, Decision, Event, Refused, SettledRound};
use crate::state::PendingTotals;
use crate::values::{Account, Currency, Minor, MoneyError, Nano, Posting};

/// A commit being decided. Its events change the delta alone; the books stay as they are.
pub(super) struct Transition<'s, 'd> {
    pub view: View<'s>,
    pub commit: &'s Commit,
    /// The settled round that the commit voids, read back from the log.
    pub recalled: Option<&'s SettledRound>,
    pub delta: &'d mut Delta,
    pub postings: Vec<Posting<'s>>,
    /// The round of the latest step in this commit. Only this round can hit.
    pub stepped: Option<u64>,
    /// Whether the commit holds its one hit, void or report already.
    pub decided: bool,
    /// The confirmed debit, until its round takes it (PL-31).
    pub debited: Option<(Currency, Minor)>,
    /// Rounds that the commit ends, with their currencies.
    pub ended: SmallVec<[(u64, Currency); 1]>,
    /// The reveal that the next event must be.
    pub reveal: Option<RevealDue>,
    /// The change that the event before approved. The next event must be this change (PL-27).
    pub approved: Option<Box<Event>>,
    /// The round whose void the event before approved. The next event must be this void (PL-38).
    pub approved_void: Option<u64>,
    /// Whether this event is the void that the event before approved.
    pub void_approved: bool,
}

impl<'s, 'd> Transition<'s, 'd> {
    /// Before the first event.
    pub fn new(view: View<'s>, commit: &'s Commit, recalled: Option<&'s SettledRound>, delta: &'d mut Delta) -> Self {
        let postings = Vec::with_capacity(8);
        Self {
            view,
            commit,
            recalled,
            delta,
            postings,
            stepped: None,
            decided: false,
            debited: None,
            ended: SmallVec::new(),
            reveal: None,
            approved: None,
            approved_void: None,
            void_approved: false,
        }
    }

    /// Moves money from one account to another. The handlers of events keep the balances of players and the figures of
    /// pools.
    pub fn transfer(&mut self, from: Account<'s>, to: Account<'s>, currency: Currency, amount: Nano) {
        if amount != Nano::ZERO {
            self.post(Posting { account: from, currency, amount: -amount });
            self.post(Posting { account: to, currency, amount });
        }
    }

    fn post(&mut self, posting: Posting<'s>) {
        let Posting { account, currency, amount } = posting;
        match account {
            Account::Player { .. } => self.delta.operator.players.post(currency, amount),
            Account::External(_) => self.delta.operator.external.post(currency, amount),
            Account::House(_) if self.delta.player.is_some() => self.delta.operator.house.post(currency, amount),
            Account::House(operator) => self.delta.houses.push((operator.into(), amount)),
            Account::Promotion(_) => self.delta.operator.promotion.post(currency, amount),
            Account::Transit(_) => self.delta.operator.transit.post(currency, amount),
            Account::ContributionsDue(pool) => self.pending(pool).totals.due.0 += amount.0,
            Account::JackpotPayable(pool) => self.pending(pool).totals.payable.0 += amount.0,
            Account::Exchange => self.delta.exchange.post(currency, amount),
            Account::Transfer => self.delta.transfer.0 += amount.0,
            Account::Interpartition => self.delta.interpartition.0 += amount.0,
            Account::Increments(_) | Account::Reserve(_) | Account::SeedFunding(_) => {}
        }
        self.postings.push(posting);
    }

    /// The part of the commit that waits for a pool.
    pub fn pending(&mut self, pool: &str) -> &mut PendingDelta {
        let index = match self.delta.pending.iter().position(|delta| &*delta.pool == pool) {
            Some(index) => index,
            None => {
                self.delta.pending.push(PendingDelta {
                    pool: pool.into(),
                    totals: PendingTotals::default(),
                    contribution: None,
                    decision: None,
                    voids: vec![],
                });
                self.delta.pending.len() - 1
            }
        };
        &mut self.delta.pending[index]
    }

    /// Leaves a decision to a pool; a commit holds at most one.
    pub fn leave(&mut self, pool: &str, decision: Decision) -> Result<(), Refused> {
        if self.decided {
            return Err(Refused::SecondDecision);
        }
        self.decided = true;
        self.pending(pool).decision = Some(Box::new(decision));
        Ok(())
    }
}

/// The sum of two cash amounts, refused past an i64.
pub(super) fn add_cash(balance: Minor, amount: Minor) -> Result<Minor, Refused> {
    balance.checked_add(amount).ok_or(Refused::Money(MoneyError::OutOfRange))
}

/// The sum of two pool figures, refused past an i128.
pub(super) fn add_figure(figure: Nano, amount: Nano) -> Result<Nano, Refused> {
    figure.checked_add(amount).ok_or(Refused::Money(MoneyError::OutOfRange))
}

/// Refuses a figure other than the one that follows from the log.
pub(super) fn expect_figure(expected: Nano, found: Nano) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::WrongFigure { expected, found }) }
}

/// Refuses an amount other than the one that follows from the log.
pub(super) fn expect_amount(expected: Minor, found: Minor) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::WrongAmount { expected, found }) }
}

/// Refuses an amount of zero or below.
pub(super) fn expect_positive(amount: Minor) -> Result<(), Refused> {
    if amount > Minor::ZERO { Ok(()) } else { Err(Refused::BadAmount { amount }) }
}
