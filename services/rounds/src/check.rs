//! Verification of a playing commit by resolving its step again (PL-44): equal to the decision of the proposing process.
//!
//! Costs one resolution of each previous step of the round, and one encoding of the outcome.

use crate::{
    Unresolvable, collection,
    draws::{DealtOf, KeyLost},
    due::Due,
    live::Live,
    name::round_name,
    terms::gamble_max_minor,
};
use motherlode_books::{
    Dealt, Event, NextDraw, OpenRound, PlayerState, RoundStarted, StepResolved, StreamId, cash, draw,
};
use motherlode_proto::round::v1::Witch;
use motherlode_slots::{Carried, Outcome};

/// Difference between a commit and its step's outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The step has no sealed draw, or the player has none.
    #[error("step {step} of round {round} uses no sealed draw")]
    Unsealed {
        /// Number of the player's round.
        round: u64,
        /// Number of the step.
        step: u32,
    },
    /// The dealt value of the player's draw is unavailable, so the step can't be resolved.
    #[error("the key of draw {number} is not to be had")]
    KeyLost {
        /// Number of the draw.
        number: u64,
    },
    /// The commit differs from the outcome.
    #[error("{0}")]
    Differs(String),
}

impl Mismatch {
    /// Converts an error in resolving earlier steps of the round.
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

/// State of a commit's player before the commit.
pub struct Before<'a> {
    /// Player's stream.
    pub stream: &'a StreamId,
    /// State of the player.
    pub player: &'a PlayerState,
    /// Request id of the commit.
    pub request_id: &'a str,
    /// Dealt values of the player's draws.
    pub dealt_of: &'a DealtOf<'a>,
}

/// Checks the events of a commit without voids. Ignores events that don't belong to a round.
///
/// # Errors
/// See [`Mismatch`].
pub fn check(before: &Before<'_>, events: &[Event]) -> Result<(), Mismatch> {
    let Some(at) = events.iter().position(|event| matches!(event, Event::StepResolved(_))) else {
        return match events.iter().find(|event| is_of_step(event) || matches!(event, Event::RoundStarted(_))) {
            Some(_) => Err(Mismatch::differs("the commit changes a round and resolves no step")),
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
            "step {} of round {} is followed by other events than its outcome demands",
            step.step, step.round
        ))),
    }
}

/// Events of a commit without those at its end that follow from no outcome: who made it, its series, and the operator's wallet.
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

/// Returns whether an event follows from a step's outcome.
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
    /// Expected events after a step, given the earlier ones of its commit.
    fn expected(&self, step: &StepResolved, earlier: &[Event]) -> Result<Vec<Event>, Mismatch> {
        let mut started = None;
        for event in earlier {
            match event {
                Event::RoundStarted(bet) if started.is_none() => started = Some(bet),
                Event::DebitConfirmed { .. } => {}
                Event::CollectionChanged { .. } if started.is_none() && is_witch(event) => {}
                _ => return Err(Mismatch::differs("the commit has other events before its step than a bet has")),
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
            return Err(Mismatch::differs(format!("the step is of round {}, the bet of another", step.round)));
        }
        let dealt = self.dealt(step)?;
        self.follow(step, (started, live), open, dealt)
    }

    /// Dealt value of a step's draw, which must be the player's next.
    fn dealt(&self, step: &StepResolved) -> Result<Dealt, Mismatch> {
        let unsealed = Mismatch::Unsealed { round: step.round, step: step.step };
        let (Some(next @ NextDraw { number, seal, .. }), Some(drawn), None) = (self.player.draw, &step.draw, step.seed)
        else {
            return Err(unsealed);
        };
        if drawn.name() != next.name() {
            return Err(Mismatch::differs(format!(
                "the step uses draw {}, the player's next is {number}",
                drawn.number
            )));
        }
        let dealt = (self.dealt_of)(next.name()).filter(|dealt| draw::seal(dealt) == seal);
        dealt.ok_or(Mismatch::KeyLost { number })
    }

    /// Resolves and compares a step. Returns the events that follow it.
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
            return Err(Mismatch::differs(format!("seed and choice of step {} give another outcome", step.step)));
        }
        let change = outcome.carried.and_then(|after| {
            let scope = collection::scope(live.game, started.currency, started.bet);
            let carried = collection::carried_by(live.game, self.player, &scope);
            collection::change(live.game, &scope, &carried, &after)
        });
        let due = Due::of(&outcome, started.contribution.is_some(), change).map_err(Mismatch::differs)?;
        if due.win != step.win {
            return Err(Mismatch::differs(format!("the outcome wins {}, the step {}", due.win, step.win)));
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

    /// Dealt values of an open round's sealed steps.
    fn revealed(&self, open: &OpenRound) -> Option<Vec<Dealt>> {
        let dealt =
            open.draws().map(|sealed| (self.dealt_of)(sealed.name()).filter(|dealt| draw::seal(dealt) == sealed.seal));
        dealt.collect()
    }

    /// Opens a bet's round and checks its terms against game and player.
    fn begun(&self, started: &RoundStarted) -> Result<Live, Mismatch> {
        let live = Live::open(started).map_err(Mismatch::differs)?;
        let RoundStarted { coin_value, currency, bet, .. } = *started;
        let coins = live.game.check_stake(&live.stake).ok();
        if coins.and_then(|coins| cash(coins.into(), coin_value, currency).ok()) != Some(bet) {
            return Err(Mismatch::differs("the bet is not the stake's coins at their value"));
        }
        if live.terms.jackpot != started.contribution.is_some() {
            return Err(Mismatch::differs("a round is for the jackpot exactly if its bet contributed"));
        }
        let gamble_max = match live.terms.double {
            true => gamble_max_minor(live.game, currency, started.rate).ok(),
            false => Some(0),
        };
        if gamble_max != Some(live.terms.gamble_max_minor) {
            return Err(Mismatch::differs("the most that may be gambled is not the limit at the bet's rate"));
        }
        let scope = collection::scope(live.game, currency, bet);
        let carried = match live.game.carries().keys {
            [] => Carried::default(),
            _ => collection::carried_by(live.game, self.player, &scope),
        };
        if carried != live.terms.carried {
            return Err(Mismatch::differs("the round is opened with other figures than the player carries"));
        }
        Ok(live)
    }
}

/// Returns whether an event picks a witch (BW-05).
fn is_witch(changed: &Event) -> bool {
    let Event::CollectionChanged { game, .. } = changed else { return false };
    let picks = |witch: Witch| {
        let game = motherlode_slots::latest(game).filter(|game| game.info().witches);
        game.is_some_and(|game| *changed == collection::pick_witch(game, i64::from(i32::from(witch))))
    };
    [Witch::White, Witch::Dark].into_iter().any(picks)
}
