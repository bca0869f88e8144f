//! Checks the names in a change, since a change with a misspelt name would have no effect.

use crate::ledgers::Ledgers;
use motherlode_runtime::{Reason, Refusal, config::PLATFORM};
use parking_lot::RwLock;
use std::{collections::BTreeSet, sync::Arc};

/// Operators that are configured or already have players.
#[derive(Debug, Clone, Default)]
pub struct Operators(Arc<RwLock<BTreeSet<String>>>);

impl Operators {
    #[must_use]
    pub fn new(configured: impl IntoIterator<Item = String>) -> Self {
        let operators = Self::default();
        operators.replace(configured);
        operators
    }

    pub fn replace(&self, configured: impl IntoIterator<Item = String>) {
        *self.0.write() = configured.into_iter().filter(|operator| operator != PLATFORM).collect();
    }

    pub(crate) fn all(&self, ledgers: &Ledgers) -> BTreeSet<String> {
        let mut all = self.0.read().clone();
        for ledger in ledgers.all() {
            ledger.books(|books| all.extend(books.operators().map(str::to_owned)));
        }
        all
    }

    pub fn check(&self, ledgers: &Ledgers, operator: &str) -> Result<(), Refusal> {
        let in_log = || ledgers.all().any(|ledger| ledger.books(|books| books.operators().any(|of| of == operator)));
        if self.0.read().contains(operator) || in_log() {
            return Ok(());
        }
        let message =
            "unknown operator: it is neither configured nor in the log; choose one of ListSwitches.operator_ids";
        Err(Refusal::new(Reason::OperatorUnknown, message).with("operator", operator))
    }
}

pub fn check_game(game: &str, rules_version: &str) -> Result<(), Refusal> {
    let is_known = match rules_version {
        "" => motherlode_slots::latest(game).is_some(),
        version => motherlode_slots::game(game, version).is_some(),
    };
    match is_known {
        true => Ok(()),
        false => Err(Refusal::new(Reason::GameUnknown, "there is no such game or rules version")
            .with("game", game)
            .with("rules_version", rules_version)),
    }
}
