//! Credits due to a seamless wallet (PL-31, PL-34). In a statement, a due credit remains part of the balance until its
//! `Credit` transaction: each balance is the previous balance plus the amount of the transaction.

use std::collections::BTreeMap;

use super::transaction::{Transaction, TransactionKind};
use crate::values::{Currency, Minor, PerCurrency, StreamId};

#[derive(Debug, Default)]
pub struct Dues(BTreeMap<StreamId, PerCurrency<Minor>>);

impl Dues {
    pub fn take(&mut self, stream: &StreamId, balances_after: &[(Currency, Minor)], transactions: &mut [Transaction]) {
        let change = due_change(balances_after, transactions);
        if change.is_empty() && !self.0.contains_key(stream) {
            return;
        }
        let due = self.0.entry(stream.clone()).or_default();
        for (currency, change) in change.iter() {
            let sum: &mut Minor = due.entry(currency);
            sum.0 = sum.0.saturating_add(change.0);
        }
        add_due(due, transactions);
        if due.iter().all(|(_, due)| *due == Minor::ZERO) {
            self.0.remove(stream);
        }
    }
}

pub fn add_due(due_after: &PerCurrency<Minor>, transactions: &mut [Transaction]) {
    for of in transactions {
        let due = due_after.get(of.currency).copied().unwrap_or_default();
        of.balance.0 = of.balance.0.saturating_add(due.0);
    }
}

/// Returns, per currency, by how much a commit's transactions change the credits that are due to the player's wallet.
#[must_use]
pub fn due_change(balances_after: &[(Currency, Minor)], transactions: &[Transaction]) -> PerCurrency<Minor> {
    let (mut came, mut change) = (PerCurrency::<Minor>::default(), PerCurrency::<Minor>::default());
    for Transaction { kind, currency, amount, .. } in transactions {
        let sum = match kind {
            TransactionKind::Credit => change.entry(*currency),
            _ => came.entry(*currency),
        };
        sum.0 = sum.0.saturating_add(amount.0);
    }
    for (currency, came) in came.iter() {
        let stated = balances_after.iter().find(|(of, _)| *of == currency).map_or(0, |(_, balance)| balance.0);
        if came.0 > stated {
            let sum = change.entry(currency);
            sum.0 = sum.0.saturating_add(came.0.saturating_sub(stated));
        }
    }
    change
}
