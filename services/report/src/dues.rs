//! Computes which credits to an operator's wallet were unpaid right after a commit (record of the log). The report adds
//! these credits to the balances of the commit's transactions (PL-31, PL-34).
//!
//! Records of earlier program versions do not state unpaid credits. Therefore, the player's commits are read backwards
//! to the last paid credit, and then to the commit that caused this credit. Credits are paid in order, so all credits
//! caused later are unpaid.

use motherlode_ledger::{FetchError, Handle, rounds};
use motherlode_proto::convert::record::Logged;
use motherlode_state::{
    Currency, Event, Minor, PerCurrency, SmolStr, Statement, StreamId, Transaction, add_due, due_change,
};
use std::collections::BTreeMap;

const COMMITS_MAX: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DuesLookup {
    Yes,
    /// The sum of unpaid credits is unknown, because more than [`COMMITS_MAX`] commits of the player follow the last paid
    /// credit.
    No,
    /// This page has read too many commits to find the sum of unpaid credits. A page that begins with this commit can
    /// find it.
    NextPage,
}

#[derive(Debug)]
pub(crate) struct Dues {
    /// Unpaid credits per player after the player's latest commit that is not added yet; `None` if unknown.
    known: BTreeMap<StreamId, Option<PerCurrency<Minor>>>,
    left: usize,
}

impl Default for Dues {
    fn default() -> Self {
        Self { known: BTreeMap::new(), left: COMMITS_MAX }
    }
}

impl Dues {
    /// Adds a commit. Commits of a player must be added latest first.
    pub(crate) fn add(
        &mut self,
        ledger: &Handle,
        logged: &Logged,
        transactions: &mut [Transaction],
    ) -> Result<DuesLookup, FetchError> {
        if transactions.is_empty() {
            return Ok(DuesLookup::Yes);
        }
        if !logged.due_after.is_empty() {
            let mut due = PerCurrency::default();
            logged.due_after.iter().for_each(|(currency, amount)| due.set(*currency, *amount));
            add_due(&due, transactions);
            return Ok(DuesLookup::Yes);
        }
        let stream = &logged.commit.stream;
        if !self.known.contains_key(stream) {
            let is_first = self.left == COMMITS_MAX;
            let due = self.find(ledger, logged)?;
            if due.is_none() && !is_first {
                return Ok(DuesLookup::NextPage);
            }
            self.known.insert(stream.clone(), due);
        }
        let Some(Some(due)) = self.known.get_mut(stream) else { return Ok(DuesLookup::No) };
        let change = due_change(&logged.balances_after, transactions);
        add_due(due, transactions);
        for (currency, change) in change.iter() {
            let due: &mut Minor = due.entry(currency);
            due.0 = due.0.saturating_sub(change.0);
        }
        Ok(DuesLookup::Yes)
    }

    fn find(&mut self, ledger: &Handle, from: &Logged) -> Result<Option<PerCurrency<Minor>>, FetchError> {
        let mut due = PerCurrency::default();
        let stream = &from.commit.stream;
        let is_seamless =
            ledger.books_of(stream, |books| books.player(stream).is_some_and(|of| of.wallet().is_some()))?;
        if !is_seamless {
            return Ok(Some(due));
        }
        let (mut paid, mut next) = (None, from.commit.position);
        while next > 0 {
            if self.left == 0 {
                return Ok(None);
            }
            self.left -= 1;
            let logged = ledger.fetch(next)?;
            paid = paid.or_else(|| last_paid(&logged));
            let made_due = |(request_id, _): &(SmolStr, Currency)| *request_id == logged.commit.request_id;
            let last = paid.clone().filter(made_due);
            let after = |currency: Currency| last.as_ref().is_none_or(|(_, paid)| currency > *paid);
            for (currency, amount) in became_due(ledger, &logged)?.into_iter().filter(|(currency, _)| after(*currency))
            {
                let sum: &mut Minor = due.entry(currency);
                sum.0 = sum.0.saturating_add(amount.0);
            }
            if last.is_some() {
                break;
            }
            next = logged.commit.previous;
        }
        Ok(Some(due))
    }
}

fn last_paid(logged: &Logged) -> Option<(SmolStr, Currency)> {
    logged.commit.events.iter().rev().find_map(|event| match event {
        Event::CreditPaid { request_id, currency, .. } => Some((request_id.clone(), *currency)),
        _ => None,
    })
}

fn became_due(ledger: &Handle, logged: &Logged) -> Result<Vec<(Currency, Minor)>, FetchError> {
    let known = rounds::bets_before(ledger, logged)?;
    let told = Statement::default().take(&logged.commit, &logged.balances_after, &known);
    let told = told.map_err(|_| FetchError::Missing(logged.commit.position))?;
    let change = due_change(&logged.balances_after, &told);
    Ok(change.iter().map(|(currency, amount)| (currency, *amount)).filter(|(_, amount)| amount.0 > 0).collect())
}
