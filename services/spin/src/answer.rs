use motherlode_ledger::{balance_after, fields::round_name};
use motherlode_proto::{
    convert::{self, record::Logged},
    round::v1::{JackpotWin, Outcome, RoundState},
    spin::v1::Played,
};
use motherlode_state::{Currency, Dealt, Event, Minor, RoundStarted, Seal, SmolStr, StepResolved};
use prost::Message;

pub(crate) struct Answer {
    seal: Option<Seal>,
    round: u64,
    step: u32,
    currency: Currency,
    bet: Minor,
    campaign: Option<SmolStr>,
    state: RoundState,
    shown: Option<Box<Outcome>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedBytes(pub(crate) Vec<u8>);

impl PlayedBytes {
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn message(&self) -> Played {
        Played::decode(&*self.0).unwrap_or_default()
    }
}

impl Answer {
    pub(crate) fn new(started: &RoundStarted, step: &StepResolved, shown: Option<Box<Outcome>>, over: bool) -> Self {
        Self {
            seal: sealed(step),
            round: step.round,
            step: step.step,
            currency: started.currency,
            bet: started.bet,
            campaign: started.campaign.clone(),
            state: if over { RoundState::Settled } else { RoundState::Open },
            shown,
        }
    }

    /// Returns whether this answer is for the logged step. A concurrent attempt at the step, with another seal, may have
    /// been logged first.
    pub(crate) fn is_to(&self, step: &StepResolved) -> bool {
        self.seal.is_some() && (self.seal, self.round, self.step) == (sealed(step), step.round, step.step)
    }

    pub(crate) fn completed(&self, logged: &Logged, step: &StepResolved, jackpot: Option<&JackpotWin>) -> PlayedBytes {
        let commit = &logged.commit;
        let balance = match commit.events.first() {
            // With a seamless wallet, the answer states the balance that the wallet reported after the debit, before any
            // win.
            Some(Event::DebitConfirmed { reported_balance, answer, .. }) => {
                let is_unknown = answer.as_ref().is_some_and(|answer| answer.balance_unknown);
                (!is_unknown).then_some(*reported_balance)
            }
            _ => Some(balance_after(logged, self.currency)),
        };
        let shown = self.shown.as_ref().map(|outcome| outcome.encode_to_vec());
        let answer = convert::played::Played {
            round_id: &round_name(&commit.stream, self.round),
            step: self.step,
            outcome: shown.as_deref().unwrap_or(&step.outcome),
            currency: self.currency,
            bet: self.bet,
            win: step.win,
            balance,
            state: self.state,
            position: commit.position,
            jackpot,
            campaign_id: self.campaign.as_deref().unwrap_or_default(),
            seal: self.seal.as_ref(),
            dealt: revealed(&commit.events),
        };
        PlayedBytes(answer.written())
    }
}

fn revealed(events: &[Event]) -> &[Dealt] {
    let dealt = events.iter().find_map(|event| match event {
        Event::DrawsRevealed { dealt, .. } => Some(dealt.as_slice()),
        _ => None,
    });
    dealt.unwrap_or_default()
}

fn sealed(step: &StepResolved) -> Option<Seal> {
    step.draw.as_ref().map(|draw| draw.next_seal)
}
