//! Deciding one commit: every invariant is checked and every consequence computed on copies, before anything changes.
//!
//! [`Change::decide`] checks the commit's place, then runs its events in order over a copy of the one stream that the
//! commit is about. What it returns, a [`Delta`], is merged only when all of it was found right.

use std::sync::Arc;

use crate::events::commit::Commit;
use crate::events::event::Event;
use crate::events::refused::Refused;
use crate::fold::stage::View;
use crate::state::books::{AwardKey, End, Head, Rates, System};
use crate::state::player::{PlayerState, SettledRound};
use crate::state::pool::{Decision, PendingTotals, PoolState, UnpaidAward};
use crate::state::switches::{SwitchedOff, operator_of};
use crate::values::account::{Account, OperatorTotals, Posting};
use crate::values::currency::Currency;
use crate::values::money::{Minor, MoneyError, Nano};
use crate::values::per_currency::PerCurrency;
use crate::values::stream::StreamId;

/// The consequences of one commit. States replace what was there, totals add to it.
pub(crate) struct Delta {
    pub end: End,
    pub player: Option<PlayerState>,
    pub pool: Option<Box<PoolState>>,
    pub rates: Option<Rates>,
    pub system: Option<System>,
    pub pending: Vec<PendingChange>,
    pub awarded: Vec<(AwardKey, UnpaidAward)>,
    pub paid: Vec<AwardKey>,
    /// Of the operator of the commit's stream.
    pub operator: OperatorTotals,
    pub exchange: PerCurrency<Nano>,
    pub transfer: Nano,
    pub interpartition: Nano,
}

/// What one commit leaves for a pool.
pub(crate) struct PendingChange {
    pub pool: Arc<str>,
    pub totals: PendingTotals,
    /// Partition, position and amount.
    pub contribution: Option<(u32, u64, Nano)>,
    pub decision: Option<Decision>,
}

/// A commit being decided.
pub(crate) struct Change<'s> {
    pub(super) view: View<'s>,
    pub(super) commit: &'s Commit,
    pub(super) recalled: Option<&'s SettledRound>,
    pub(super) delta: Delta,
    pub(super) postings: Vec<Posting<'s>>,
    /// The round of the latest step in this commit: the one that a hit can belong to.
    pub(super) stepped: Option<u64>,
    /// Whether the commit holds its one hit, void or report already.
    pub(super) decided: bool,
    /// A change that was approved by the event before: the next one must be it (PL-27).
    pub(super) approved: Option<Box<Event>>,
}

impl<'s> Change<'s> {
    /// Decides a commit: its consequences and its postings, or why not.
    pub fn decide(
        view: View<'s>,
        commit: &'s Commit,
        recalled: Option<&'s SettledRound>,
    ) -> Result<(Delta, Vec<Posting<'s>>), Refused> {
        let mut change = Self::place(view, commit, recalled)?;
        for event in &commit.events {
            change.event(event)?;
        }
        if change.approved.is_some() {
            return Err(Refused::NotAsProposed);
        }
        change.sum_to_zero()?;
        Ok((change.delta, change.postings))
    }

    /// Checks the commit's place in the log and in its stream, and takes the copy to work on.
    fn place(view: View<'s>, commit: &'s Commit, recalled: Option<&'s SettledRound>) -> Result<Self, Refused> {
        let end = view.end(commit.partition);
        let expected = end.position + 1;
        if commit.position != expected {
            return Err(Refused::WrongPosition { expected, found: commit.position });
        }
        let mut change = Self {
            view,
            commit,
            recalled,
            delta: Delta {
                end: End { position: commit.position, time_ms: commit.time_ms },
                player: None,
                pool: None,
                rates: None,
                system: None,
                pending: Vec::new(),
                awarded: Vec::new(),
                paid: Vec::new(),
                operator: OperatorTotals::default(),
                exchange: PerCurrency::default(),
                transfer: Nano::ZERO,
                interpartition: Nano::ZERO,
            },
            postings: Vec::with_capacity(8),
            stepped: None,
            decided: false,
            approved: None,
        };
        let head = change.move_stream_on();
        if commit.version != head.version + 1 {
            return Err(Refused::WrongVersion { expected: head.version + 1, found: commit.version });
        }
        if head.version > 0 && commit.partition != head.partition {
            return Err(Refused::WrongPartition { expected: head.partition, found: commit.partition });
        }
        if commit.previous != head.position {
            return Err(Refused::WrongPrevious { expected: head.position, found: commit.previous });
        }
        if commit.time_ms < end.time_ms {
            return Err(Refused::TimeRanBack { latest: end.time_ms, found: commit.time_ms });
        }
        if commit.events.is_empty() {
            return Err(Refused::Empty);
        }
        if head.version == 0 && !commit.stream.is_valid() {
            return Err(Refused::BadStream);
        }
        Ok(change)
    }

    /// Copies the state of the commit's stream, its head on the commit; where it stood before.
    fn move_stream_on(&mut self) -> Head {
        let (view, commit) = (self.view, self.commit);
        let head = Head { partition: commit.partition, version: commit.version, position: commit.position };
        match &commit.stream {
            StreamId::Player { .. } => {
                let player = self.delta.player.insert(view.player(&commit.stream).cloned().unwrap_or_default());
                std::mem::replace(&mut player.head, head)
            }
            StreamId::Pool(name) => {
                self.delta.pool = view.pool(name).cloned().map(Box::new);
                let before = self.delta.pool.as_mut().map(|pool| std::mem::replace(&mut pool.head, head));
                before.unwrap_or_default()
            }
            StreamId::Rates => {
                let rates = self.delta.rates.insert(view.rates().clone());
                std::mem::replace(&mut rates.head, head)
            }
            StreamId::System => {
                let system = self.delta.system.insert(view.system().clone());
                std::mem::replace(&mut system.head, head)
            }
        }
    }

    fn event(&mut self, event: &'s Event) -> Result<(), Refused> {
        if self.approved.take().is_some_and(|approved| *approved != event.as_proposed()) {
            return Err(Refused::NotAsProposed);
        }
        if let Event::ChangeApproved { change, proposed_by, actor } = event {
            return self.approve(*change, proposed_by, actor);
        }
        if let Event::ActedBy { .. } = event {
            return Ok(());
        }
        match &self.commit.stream {
            StreamId::Player { operator, player } => {
                self.player_event(Account::Player { operator, player }, operator, event)
            }
            StreamId::Pool(name) => self.pool_event(name, event),
            StreamId::Rates => self.rates_event(event),
            StreamId::System => self.system_event(event),
        }
    }

    fn rates_event(&mut self, event: &Event) -> Result<(), Refused> {
        match (event, &mut self.delta.rates) {
            (Event::RateSet { currency: currency @ (Currency::EUR | Currency::PLAY), .. }, _) => {
                Err(Refused::WrongRate { currency: *currency })
            }
            (Event::RateSet { currency, rate, .. }, Some(rates)) => {
                rates.current.set(*currency, *rate);
                Ok(())
            }
            _ => Err(Refused::WrongStream),
        }
    }

    fn system_event(&mut self, event: &Event) -> Result<(), Refused> {
        match (event, &mut self.delta.system) {
            (Event::GeneratorReseeded | Event::IntegrityFailed { .. } | Event::ClockSkewed { .. }, _) => Ok(()),
            (Event::SwitchSet { switch, on, reason, actor }, Some(system)) => {
                let Commit { position, time_ms, .. } = *self.commit;
                let off = || SwitchedOff { reason: reason.clone(), actor: actor.clone(), position, time_ms };
                system.switches.set(switch, (!on).then(off))
            }
            (Event::ChangeProposed(proposed), Some(system)) => {
                system.changes.propose(self.commit.position, self.commit.time_ms, proposed)
            }
            (Event::ChangeRejected { change, .. }, Some(system)) => {
                system.changes.take(*change, self.commit.time_ms).map(|_| ())
            }
            _ => Err(Refused::WrongStream),
        }
    }

    /// PL-27: a proposed change is approved, on the stream that it changes and by another actor.
    fn approve(&mut self, change: u64, proposed_by: &str, actor: &str) -> Result<(), Refused> {
        let view = self.view;
        let system = self.delta.system.get_or_insert_with(|| view.system().clone());
        let proposed = system.changes.take(change, self.commit.time_ms)?;
        if proposed.stream != self.commit.stream {
            return Err(Refused::WrongStream);
        }
        if proposed.actor != proposed_by || actor.is_empty() {
            return Err(Refused::NotAsProposed);
        }
        if operator_of(&proposed.actor) != operator_of(actor) {
            return Err(Refused::OtherActors { change });
        }
        if proposed.actor == actor {
            return Err(Refused::SameActor { change, actor: actor.to_owned() });
        }
        self.approved = Some(proposed.change);
        Ok(())
    }

    /// Moves money from one account to another. Balances of players and figures of pools are their handlers' matter.
    pub(super) fn transfer(&mut self, from: Account<'s>, to: Account<'s>, currency: Currency, amount: Nano) {
        if amount != Nano::ZERO {
            self.post(Posting { account: from, currency, amount: -amount });
            self.post(Posting { account: to, currency, amount });
        }
    }

    pub(super) fn post(&mut self, posting: Posting<'s>) {
        let Posting { account, currency, amount } = posting;
        match account {
            Account::Player { .. } => self.delta.operator.players.post(currency, amount),
            Account::External(_) => self.delta.operator.external.post(currency, amount),
            Account::House(_) => self.delta.operator.house.post(currency, amount),
            Account::Promotion(_) => self.delta.operator.promotion.post(currency, amount),
            Account::ContributionsDue(pool) => self.pending(pool).due.0 += amount.0,
            Account::JackpotPayable(pool) => self.pending(pool).payable.0 += amount.0,
            Account::Exchange => self.delta.exchange.post(currency, amount),
            Account::Transfer => self.delta.transfer.0 += amount.0,
            Account::Interpartition => self.delta.interpartition.0 += amount.0,
            Account::Increments(_) | Account::Reserve(_) | Account::SeedFunding(_) => {}
        }
        self.postings.push(posting);
    }

    /// What the commit leaves for a pool: sums.
    pub(super) fn pending(&mut self, pool: &str) -> &mut PendingTotals {
        &mut self.pending_change(pool).totals
    }

    pub(super) fn pending_change(&mut self, pool: &str) -> &mut PendingChange {
        let index = match self.delta.pending.iter().position(|change| &*change.pool == pool) {
            Some(index) => index,
            None => {
                let name = self.view.pool(pool).map_or_else(|| Arc::from(pool), |pool| Arc::clone(&pool.name));
                self.delta.pending.push(PendingChange {
                    pool: name,
                    totals: PendingTotals::default(),
                    contribution: None,
                    decision: None,
                });
                self.delta.pending.len() - 1
            }
        };
        &mut self.delta.pending[index]
    }

    /// Leaves a decision to a pool; a commit holds at most one.
    pub(super) fn leave(&mut self, pool: &str, decision: Decision) -> Result<(), Refused> {
        if self.decided {
            return Err(Refused::SecondDecision);
        }
        self.decided = true;
        self.pending_change(pool).decision = Some(decision);
        Ok(())
    }

    /// The pair of every handler's own care: whatever they did, no money came from nowhere.
    fn sum_to_zero(&self) -> Result<(), Refused> {
        // Postings are few, and most commits have one currency.
        for &Posting { currency, .. } in &self.postings {
            let amounts = self.postings.iter().filter(|posting| posting.currency == currency);
            let by = Nano(amounts.map(|posting| posting.amount.0).sum());
            if by != Nano::ZERO {
                return Err(Refused::Unbalanced { currency, by });
            }
        }
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

/// Refuses a figure that is not what the log makes it.
pub(super) fn expect_figure(expected: Nano, found: Nano) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::WrongFigure { expected, found }) }
}

/// Refuses an amount that is not what the log makes it.
pub(super) fn expect_amount(expected: Minor, found: Minor) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::WrongAmount { expected, found }) }
}
