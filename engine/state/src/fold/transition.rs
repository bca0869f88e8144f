use super::delta::{Delta, PendingDelta};
use super::reveal::RevealDue;
use super::view::View;
use crate::events::{Commit, Decision, Event, Refused, SettledRound};
use crate::state::PendingTotals;
use crate::values::{Account, Currency, Minor, MoneyError, Nano, Posting};
use smallvec::SmallVec;

pub(super) struct Transition<'s, 'd> {
    pub view: View<'s>,
    pub commit: &'s Commit,
    pub recalled: Option<&'s SettledRound>,
    pub delta: &'d mut Delta,
    pub postings: Vec<Posting<'s>>,
    pub stepped: Option<u64>,
    /// Whether the commit already contained a jackpot hit, void or report; it can contain only one of them.
    pub decided: bool,
    /// Amount of a confirmed debit, not yet spent on a round (PL-31).
    pub debited: Option<(Currency, Minor)>,
    pub ended: SmallVec<[(u64, Currency); 1]>,
    /// Voided round, and the part of its win that the void could not debit.
    pub left: Option<(u64, Currency, Minor)>,
    pub reversal: Option<(u64, Currency, Minor)>,
    pub reveal: Option<RevealDue>,
    /// Approved event, which must be the next event (PL-27).
    pub approved: Option<Box<Event>>,
    /// Round whose void is approved. The void must be the next event (PL-38).
    pub approved_void: Option<u64>,
    pub void_approved: bool,
}

impl<'s, 'd> Transition<'s, 'd> {
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
            left: None,
            reversal: None,
            reveal: None,
            approved: None,
            approved_void: None,
            void_approved: false,
        }
    }

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

    /// Adds a jackpot hit or void, to be decided on the pool's stream; a commit can add only one.
    pub fn leave(&mut self, pool: &str, decision: Decision) -> Result<(), Refused> {
        if self.decided {
            return Err(Refused::SecondDecision);
        }
        self.decided = true;
        self.pending(pool).decision = Some(Box::new(decision));
        Ok(())
    }
}

pub(super) fn add_cash(balance: Minor, amount: Minor) -> Result<Minor, Refused> {
    balance.checked_add(amount).ok_or(Refused::Money(MoneyError::OutOfRange))
}

pub(super) fn add_figure(figure: Nano, amount: Nano) -> Result<Nano, Refused> {
    figure.checked_add(amount).ok_or(Refused::Money(MoneyError::OutOfRange))
}

pub(super) fn expect_figure(expected: Nano, found: Nano) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::WrongFigure { expected, found }) }
}

pub(super) fn expect_amount(expected: Minor, found: Minor) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::WrongAmount { expected, found }) }
}

pub(super) fn expect_positive(amount: Minor) -> Result<(), Refused> {
    if amount > Minor::ZERO { Ok(()) } else { Err(Refused::BadAmount { amount }) }
}
