//! Confirmed debits, and requests that ended without a step (PL-31).

use crate::{
    bet::Bet,
    dealer::Undecided,
    decide::{self, Decided, Drawing},
    pace::{Now, Pace},
    play_rules::PlayRules,
    state::State,
};
use motherlode_books::{Commit, Currency, Event, Minor};
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::Outcome;

#[derive(Clone, Copy)]
pub(crate) struct Debited {
    pub(crate) currency: Currency,
    pub(crate) amount: Minor,
    pub(crate) told: Minor,
}

impl Debited {
    pub(crate) fn spin(
        self,
        state: &State,
        bet: &Bet,
        rules: &PlayRules,
        at: (&Pace, Now),
        from: &Drawing<'_>,
    ) -> Result<Decided, Undecided> {
        let state = state.with_funds(self.currency, self.amount);
        let mut decided = decide::spin(&state, bet, rules, at, from, &mut Outcome::default())?;
        let Self { amount, told, .. } = self;
        decided.proposal.events.insert(0, Event::DebitConfirmed { amount, told });
        Ok(decided)
    }
}

pub(crate) fn ended(commit: &Commit) -> Refusal {
    match commit.events.first() {
        Some(Event::DebitRefused { reason }) => {
            Refusal::new(Reason::InsufficientFunds, "the operator's wallet has refused the bet")
                .with("wallet_reason", reason)
        }
        Some(Event::DebitRolledBack) => {
            Refusal::new(Reason::DebitRolledBack, "the bet was not played: its debit is rolled back")
        }
        _ => Refusal::request_id_reused(&commit.request_id),
    }
}
