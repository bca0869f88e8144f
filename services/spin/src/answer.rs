//! The answer to a step: made once, where the step is decided or read from the log, and completed by what only the
//! log knows.

use motherlode_books::{Currency, Event, RoundStarted, Seal, StepResolved};
use motherlode_ledger::{balance_after, fields::money};
use motherlode_proto::{
    convert::record::Logged,
    round::v1::{JackpotWin, Outcome, RoundState},
    spin::v1::Played,
};

/// The answer to a step, but for its position, the balance and the jackpot.
pub(crate) struct Answer {
    /// The seal that the step's commit holds.
    seal: Option<Seal>,
    round: u64,
    currency: Currency,
    played: Box<Played>,
}

impl Answer {
    /// To a step of the round of this name, with its outcome as it's shown; `over`: it settled the round.
    pub(crate) fn of(
        round_id: String,
        started: &RoundStarted,
        step: &StepResolved,
        outcome: Outcome,
        over: bool,
    ) -> Self {
        let currency = started.currency;
        let played = Box::new(Played {
            round_id,
            step: step.step,
            outcome: Some(outcome),
            bet: Some(money(started.bet, currency)),
            win: Some(money(step.win, currency)),
            state: if over { RoundState::Settled } else { RoundState::Open }.into(),
            campaign_id: started.campaign.clone().unwrap_or_default().into(),
            ..Played::default()
        });
        Self { seal: sealed(step), round: step.round, currency, played }
    }

    /// Whether it's the answer to the step that the log has: another attempt of the request may have come first, on another
    /// draw. Each draw has a seal of its own.
    pub(crate) fn is_to(&self, step: &StepResolved) -> bool {
        self.seal.is_some() && (self.seal, self.round, self.played.step) == (sealed(step), step.round, step.step)
    }

    /// Completed by the step's commit.
    pub(crate) fn completed(mut self, logged: &Logged, jackpot: Option<JackpotWin>) -> Box<Played> {
        let balance = match logged.commit.events.first() {
            // The operator keeps the money: what its wallet told before any win.
            Some(Event::DebitConfirmed { told, .. }) => *told,
            _ => balance_after(logged, self.currency),
        };
        let played = &mut *self.played;
        played.balance = Some(money(balance, self.currency));
        played.position = logged.commit.position;
        played.jackpot = jackpot;
        played.seal = self.seal.map_or_else(Vec::new, |seal| seal.to_vec());
        let dealt = logged.commit.events.iter().find_map(|event| match event {
            Event::DrawsRevealed { dealt, .. } => Some(dealt.iter().map(|dealt| dealt.to_vec()).collect()),
            _ => None,
        });
        played.dealt = dealt.unwrap_or_default();
        self.played
    }
}

/// The seal of the draw after a step's; none of older logs.
fn sealed(step: &StepResolved) -> Option<Seal> {
    step.draw.as_ref().map(|draw| draw.next_seal)
}
