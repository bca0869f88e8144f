//! Checks that the names in a change exist, because a change with a misspelt name would have no effect.

use crate::ledgers::Ledgers;
use motherlode_runtime::{Reason, Refusal};
use std::collections::BTreeSet;

pub(crate) fn all_operators(ledgers: &Ledgers) -> BTreeSet<String> {
    let mut all: BTreeSet<_> = ledgers.operators().ids().into_iter().collect();
    for ledger in ledgers.all() {
        ledger.books(|books| all.extend(books.operators().map(str::to_owned)));
    }
    all
}

pub fn check_operator(ledgers: &Ledgers, operator: &str) -> Result<(), Refusal> {
    let in_log = || ledgers.all().any(|ledger| ledger.books(|books| books.operators().any(|of| of == operator)));
    if ledgers.operators().contains(operator) || in_log() {
        return Ok(());
    }
    let message = "the operator is neither configured nor in the log; choose one of ListSwitches.operator_ids";
    Err(Refusal::new(Reason::OperatorUnknown, message).with("operator", operator))
}

pub fn check_game(game: &str, rules_version: &str) -> Result<(), Refusal> {
    let is_known = match rules_version {
        "" => motherlode_slots::latest(game).is_some(),
        version => motherlode_slots::game(game, version).is_some(),
    };
    match is_known {
        true => Ok(()),
        false => Err(Refusal::new(Reason::GameUnknown, "there is no game with the requested name and rules version")
            .with("game", game)
            .with("rules_version", rules_version)),
    }
}
