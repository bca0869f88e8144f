//! The third stage: every step resolved again from its seed and its choice (PL-06), and what the commit made of it.
//!
//! It needs no books: a round is its bet and its steps. A round that settles in the commit of its bet never leaves the
//! stack; others are kept until they settle or are voided. Cost: about a microsecond a spin.

use crate::{Divergence, Return, divergence::Fault, outcome::difference};
use motherlode_books::{CoinValue, Currency, Event, Minor, RoundStarted, StepResolved, StreamId, cash};
use motherlode_log::Position;
use motherlode_proto::{
    convert::{
        play::{open_round, outcome_to_wire, resolve_step, terms_from_log},
        record::Logged,
    },
    log::v1::RoundTerms,
};
use motherlode_slots::{self as slots, Awaiting, Outcome, Round};
use prost::Message;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Plays {
    pub(crate) returns: Vec<Return>,
    open: BTreeMap<(StreamId, u64), Live>,
    /// Hits that wait for their award: their place in `returns`.
    hits: BTreeMap<Position, usize>,
    outcome: Outcome,
    bytes: Vec<u8>,
}

/// A round in play.
struct Live {
    number: u64,
    /// Place in `returns`.
    of: usize,
    currency: Currency,
    coin_value: CoinValue,
    pool: Option<String>,
    round: Box<dyn Round>,
}

/// What the latest step's outcome demands of the same commit, and has not had.
#[derive(Default)]
struct Due {
    hit: bool,
    settlement: Option<Minor>,
}

impl Plays {
    pub(crate) fn batch(&mut self, batch: &[Logged]) -> Result<(), Box<Divergence>> {
        batch.iter().try_for_each(|Logged { commit, .. }| {
            let checked = match &commit.stream {
                StreamId::Player { .. } => self.player_commit(&commit.stream, commit.position, &commit.events),
                _ => {
                    self.note_awards(&commit.events);
                    Ok(())
                }
            };
            checked.map_err(|fault| fault.at(commit.partition, commit.position))
        })
    }

    fn note_awards(&mut self, events: &[Event]) {
        for event in events {
            if let Event::JackpotAwarded(award) = event
                && let Some(of) = self.hits.remove(&award.hit)
            {
                self.returns[of].awarded += i128::from(award.amount.0);
            }
        }
    }

    fn player_commit(&mut self, stream: &StreamId, position: Position, events: &[Event]) -> Result<(), Fault> {
        let mut live: Option<Live> = None;
        let mut due = Due::default();
        for event in events {
            match event {
                Event::RoundStarted(started) => {
                    due.nothing()?;
                    let begun = self.start(started)?;
                    self.keep(stream, live.replace(begun));
                }
                Event::StepResolved(step) => {
                    due.nothing()?;
                    let mut round = match live.take_if(|live| live.number == step.round) {
                        Some(round) => round,
                        None => self.take(stream, step.round)?,
                    };
                    due = self.resolve(&mut round, step)?;
                    self.keep(stream, live.replace(round));
                }
                Event::JackpotHit { round, pool } => {
                    let hit = live.as_ref().filter(|live| live.number == *round && live.pool.as_ref() == Some(pool));
                    let hit = hit.filter(|_| due.hit);
                    let unfounded = || Fault::new("a jackpot was hit that the outcome has not", "no hit", pool);
                    let of = hit.ok_or_else(unfounded)?.of;
                    due.hit = false;
                    self.returns[of].hits += 1;
                    self.hits.insert(position, of);
                }
                Event::RoundSettled { round, win } => {
                    let settled = live.take_if(|live| live.number == *round && due.settlement == Some(*win));
                    let Some(settled) = settled else {
                        let expected = due.settlement.map_or("none".into(), |win| format!("with a win of {win}"));
                        return Err(Fault::new(
                            "the round was settled otherwise than its outcome says",
                            expected,
                            format!("round {round} with a win of {win}"),
                        ));
                    };
                    due.settlement = None;
                    self.returns[settled.of].wins += i128::from(win.0);
                }
                Event::RoundVoided { round, .. } => {
                    // A settled round is not kept; whether it could be voided is the books' question.
                    drop(live.take_if(|live| live.number == *round));
                    self.open.remove(&(stream.clone(), *round));
                }
                _ => {}
            }
        }
        due.nothing()?;
        self.keep(stream, live);
        Ok(())
    }

    fn keep(&mut self, stream: &StreamId, round: Option<Live>) {
        if let Some(round) = round {
            self.open.insert((stream.clone(), round.number), round);
        }
    }

    fn take(&mut self, stream: &StreamId, number: u64) -> Result<Live, Fault> {
        let round = self.open.remove(&(stream.clone(), number));
        round
            .ok_or_else(|| Fault::new("a step of a round that is not open", "an open round", format!("round {number}")))
    }

    /// Opens a round with the model that it was played with, and checks its bet.
    fn start(&mut self, started: &RoundStarted) -> Result<Live, Fault> {
        let round = open_round(started)
            .map_err(|error| Fault::new("the round cannot be resolved", "a game that this program has", error))?;
        let malformed = || Fault::new("the stake cannot be read", "terms of a round", "other bytes");
        let terms = RoundTerms::decode(started.stake.as_slice()).map_err(|_| malformed())?;
        let (stake, terms) = terms_from_log(&terms, started.coin_value.0);
        let coins = slots::game(&started.game, &started.rules_version).and_then(|game| game.check_stake(&stake).ok());
        let bet = coins.and_then(|coins| cash(coins.into(), started.coin_value, started.currency).ok());
        if bet != Some(started.bet) {
            let expected = bet.map_or("none".into(), |bet| bet.to_string());
            return Err(Fault::new("the bet is not the stake's coins at their value", expected, started.bet));
        }
        if terms.jackpot != started.contribution.is_some() {
            return Err(Fault::new(
                "a round is for the jackpot exactly if its bet contributed",
                format!("a contribution: {}", terms.jackpot),
                started.contribution.as_ref().map_or("none".into(), |given| format!("{} EUR", given.amount)),
            ));
        }
        let of = self.returns_of(started);
        let figures = &mut self.returns[of];
        figures.rounds += 1;
        figures.contributing += u64::from(started.contribution.is_some());
        figures.bets += i128::from(started.bet.0);
        Ok(Live {
            number: started.round,
            of,
            currency: started.currency,
            coin_value: started.coin_value,
            pool: started.contribution.as_ref().map(|given| given.pool.clone()),
            round,
        })
    }

    fn returns_of(&mut self, started: &RoundStarted) -> usize {
        let RoundStarted { game, rules_version, currency, .. } = started;
        let same = |of: &Return| of.currency == *currency && of.rules_version == *rules_version && of.game == *game;
        self.returns.iter().position(same).unwrap_or_else(|| {
            self.returns.push(Return::new(game, rules_version, *currency));
            self.returns.len() - 1
        })
    }

    fn resolve(&mut self, live: &mut Live, step: &StepResolved) -> Result<Due, Fault> {
        let outcome = &mut self.outcome;
        resolve_step(&mut *live.round, step.seed, &step.choice, outcome)
            .map_err(|error| Fault::new("the step cannot be resolved", "a choice that the round waits for", error))?;
        self.bytes.clear();
        // Encoding into a vector cannot run out of room.
        let _ = outcome_to_wire(outcome).encode(&mut self.bytes);
        if self.bytes != step.outcome {
            let (field, expected, found) = difference(&self.bytes, &step.outcome);
            let what = format!("PL-06: the seed and choice of step {} do not give its outcome: {field}", step.step);
            return Err(Fault::new(what, expected, found));
        }
        let win = cash(outcome.round_win_coins, live.coin_value, live.currency)
            .map_err(|error| Fault::new("the win is no amount of cash", "one that fits", error))?;
        if win != step.win {
            return Err(Fault::new("the win is not the outcome's coins at their value", win, step.win));
        }
        let figures = &mut self.returns[live.of];
        figures.steps += 1;
        figures.spins += outcome.spins.len() as u64;
        Ok(Due {
            hit: outcome.jackpot && live.pool.is_some(),
            settlement: (outcome.awaiting == Awaiting::Nothing).then_some(win),
        })
    }
}

impl Due {
    fn nothing(&self) -> Result<(), Fault> {
        if self.hit {
            return Err(Fault::new("the outcome hits the jackpot", "a hit in the log", "none"));
        }
        match self.settlement {
            Some(win) => Err(Fault::new("the round is over", format!("its settlement with a win of {win}"), "none")),
            None => Ok(()),
        }
    }
}
