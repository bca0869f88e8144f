//! Verifies the step in a commit (PL-44): resolves this step and all earlier steps of the round again.

use crate::{
    Unresolvable, collection,
    draws::{DealtOf, KeyLost},
    due::StepEvents,
    live::Live,
    name::round_name,
    terms::gamble_max_minor,
};
use motherlode_slots::{Carried, Outcome};
use motherlode_state::{
    Dealt, Event, NextDraw, OpenRound, PlayerState, RoundStarted, StepResolved, StreamId, cash, draw,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("step {step} of round {round} must use a draw whose hash is already logged")]
    Unsealed { round: u64, step: u32 },
    #[error("the key of draw {number} is unavailable: restore the draw key file")]
    KeyLost { number: u64 },
    #[error("{0}")]
    Differs(String),
}

impl Mismatch {
    fn of_rebuild(error: Unresolvable) -> Self {
        match error {
            Unresolvable::KeyLost(KeyLost { draw: number }) => Self::KeyLost { number },
            error => Self::differs(error),
        }
    }

    fn differs(what: impl ToString) -> Self {
        Self::Differs(what.to_string())
    }
}

pub struct Before<'a> {
    pub stream: &'a StreamId,
    pub player: &'a PlayerState,
    pub request_id: &'a str,
    pub dealt_of: &'a DealtOf<'a>,
}

pub fn check(before: &Before<'_>, events: &[Event]) -> Result<(), Mismatch> {
    let Some(at) = events.iter().position(|event| matches!(event, Event::StepResolved(_))) else {
        return match events.iter().find(|event| is_of_step(event) || matches!(event, Event::RoundStarted(_))) {
            Some(_) => Err(Mismatch::differs("the commit changes a round but contains no step result")),
            None => Ok(()),
        };
    };
    let (Some(Event::StepResolved(step)), earlier) = (events.get(at), events.get(..at).unwrap_or_default()) else {
        return Ok(());
    };
    let after = events.get(at + 1..).unwrap_or_default();
    let after = without_notes(after);
    let expected = before.expected(step, earlier)?;
    match after == expected {
        true => Ok(()),
        false => Err(Mismatch::differs(format!(
            "the events after step {} of round {} do not match the step's outcome",
            step.step, step.round
        ))),
    }
}

fn without_notes(mut events: &[Event]) -> &[Event] {
    while let [
        rest @ ..,
        Event::ActedBy { .. } | Event::PartOf { .. } | Event::OperatorSession { .. } | Event::RoundReportsChosen { .. },
    ] = events
    {
        events = rest;
    }
    events
}
fn is_of_step(event: &Event) -> bool {
    matches!(
        event,
        Event::CollectionChanged { .. }
            | Event::WinCredited { .. }
            | Event::JackpotHit { .. }
            | Event::RoundSettled { .. }
            | Event::DrawsRevealed { .. }
    )
}

impl Before<'_> {
    fn expected(&self, step: &StepResolved, earlier: &[Event]) -> Result<Vec<Event>, Mismatch> {
        let mut started = None;
        for event in earlier {
            match event {
                Event::RoundStarted(bet) if started.is_none() => started = Some(bet),
                Event::DebitConfirmed { .. } => {}
                Event::CollectionChanged { .. } if started.is_none() && collection::picks_companion(event) => {}
                _ => return Err(Mismatch::differs("the commit has an unexpected event before the step")),
            }
        }
        let open = self.player.open_round(step.round);
        let (started, live) = match (started, open) {
            (Some(bet), _) => (bet, self.begun(bet)?),
            (None, Some(open)) => {
                let name = round_name(self.stream, step.round);
                (&open.started, Live::rebuild(open, &name, self.dealt_of).map_err(Mismatch::of_rebuild)?)
            }
            (None, None) => return Err(Mismatch::differs(format!("round {} is not open", step.round))),
        };
        if started.round != step.round {
            return Err(Mismatch::differs(format!(
                "the step belongs to round {}, but the bet in the same commit belongs to a different round",
                step.round
            )));
        }
        let dealt = self.dealt(step)?;
        self.follow(step, (started, live), open, dealt)
    }

    fn dealt(&self, step: &StepResolved) -> Result<Dealt, Mismatch> {
        let unsealed = Mismatch::Unsealed { round: step.round, step: step.step };
        let (Some(next @ NextDraw { number, seal, .. }), Some(drawn), None) = (self.player.draw, &step.draw, step.seed)
        else {
            return Err(unsealed);
        };
        if drawn.name() != next.name() {
            return Err(Mismatch::differs(format!(
                "the step uses draw {} instead of the player's next draw, {number}",
                drawn.number
            )));
        }
        let dealt = (self.dealt_of)(next.name()).filter(|dealt| draw::seal(dealt) == seal);
        dealt.ok_or(Mismatch::KeyLost { number })
    }

    fn follow(
        &self,
        step: &StepResolved,
        (started, mut live): (&RoundStarted, Live),
        open: Option<&OpenRound>,
        dealt: Dealt,
    ) -> Result<Vec<Event>, Mismatch> {
        let name = round_name(self.stream, step.round);
        let Some(drawn) = &step.draw else { return Err(Mismatch::Unsealed { round: step.round, step: step.step }) };
        let seed = draw::seed(&dealt, drawn.client_seed(self.request_id), &name, step.step);
        let (mut outcome, mut bytes) = (Outcome::default(), Vec::with_capacity(step.outcome.len()));
        live.logged(step, seed, &mut outcome).map_err(Mismatch::differs)?;
        live.write(&outcome, &mut bytes);
        if bytes != step.outcome {
            return Err(Mismatch::differs(format!(
                "the seed and choice of step {} produce an outcome that differs from the logged one",
                step.step
            )));
        }
        let change = outcome.carried.and_then(|after| {
            let scope = collection::scope(live.game, started.currency, started.bet);
            let carried = collection::carried_by(live.game, self.player, &scope);
            collection::change(live.game, &scope, &carried, &after)
        });
        let due =
            StepEvents::from_outcome(&outcome, started.contribution.is_some(), change).map_err(Mismatch::differs)?;
        if due.win != step.win {
            return Err(Mismatch::differs(format!(
                "the step states a win of {1}, but its outcome has a win of {0}",
                due.win, step.win
            )));
        }
        let (over, mut events) = (due.over, vec![]);
        let pool = started.contribution.as_ref().map(|given| given.pool.clone());
        due.add_to(step.round, pool, &mut events);
        if over {
            let earlier = open.map_or(Some(vec![]), |open| self.revealed(open));
            let mut all = earlier.ok_or(Mismatch::KeyLost { number: drawn.number })?;
            all.push(dealt);
            events.push(Event::DrawsRevealed { round: step.round, dealt: all });
        }
        Ok(events)
    }

    fn revealed(&self, open: &OpenRound) -> Option<Vec<Dealt>> {
        let dealt =
            open.draws().map(|sealed| (self.dealt_of)(sealed.name()).filter(|dealt| draw::seal(dealt) == sealed.seal));
        dealt.collect()
    }

    fn begun(&self, started: &RoundStarted) -> Result<Live, Mismatch> {
        let live = Live::open(started).map_err(Mismatch::differs)?;
        let RoundStarted { coin_value, currency, bet, .. } = *started;
        let coins = live.game.check_stake(&live.stake).ok();
        if coins.and_then(|coins| cash(coins.into(), coin_value, currency).ok()) != Some(bet) {
            return Err(Mismatch::differs("the bet does not equal the stake's coins times the coin value"));
        }
        if live.terms.jackpot != started.contribution.is_some() {
            return Err(Mismatch::differs(
                "the round's terms and the bet's contribution disagree on whether the round plays for a jackpot",
            ));
        }
        let gamble_max = match live.terms.double {
            true => gamble_max_minor(live.game, currency, started.rate).ok(),
            false => Some(0),
        };
        if gamble_max != Some(live.terms.gamble_max_minor) {
            return Err(Mismatch::differs(
                "the round's gamble limit differs from the game's limit at the bet's exchange rate",
            ));
        }
        let scope = collection::scope(live.game, currency, bet);
        let carried = match live.game.carries().keys {
            [] => Carried::default(),
            _ => collection::carried_by(live.game, self.player, &scope),
        };
        if carried != live.terms.carried {
            return Err(Mismatch::differs("the round's terms do not state the player's saved progress in the game"));
        }
        Ok(live)
    }
}
