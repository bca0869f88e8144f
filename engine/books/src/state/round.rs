//! A player's round: open, or settled and read back from the log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::draw::NextDraw;
use crate::events::{Automatic, Commit, Event, RoundJackpot, RoundStarted, SettledRound};
use crate::values::{Epoch, Minor, Seal, contribution};

/// A round between its bet and its settlement, with everything needed to resolve it further (PL-02).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRound {
    /// The bet and its terms.
    pub started: Arc<RoundStarted>,
    /// Position of the bet.
    pub opened_at: u64,
    /// Time of the bet, Unix ms.
    pub opened_ms: i64,
    /// Time of the round's last event, Unix ms: the start of its wait (PL-03 counts from it).
    pub last_ms: i64,
    /// Position of the round's last event.
    pub last_position: u64,
    /// The steps so far: of most rounds one.
    pub steps: SmallVec<[Step; 1]>,
    /// The win as of the last step.
    pub win: Minor,
    /// The part of the win that was credited already (ME-16).
    pub credited: Minor,
    /// Why the last step was automatic, if it was. Then whoever finishes the round for its player isn't done yet.
    pub automatic: Option<Automatic>,
    /// Its hits of the jackpot.
    pub jackpots: Vec<RoundJackpot>,
}

impl RoundJackpot {
    /// Records the payment of the award of a hit.
    pub(crate) fn pay(all: &mut [Self], hit: u64, started: &RoundStarted, amount: Minor) {
        if let Some(jackpot) = all.iter_mut().find(|jackpot| jackpot.hit == hit) {
            // The whole of an amount is a contribution of a million parts of a million.
            jackpot.paid = contribution(amount, started.currency, started.rate, 1_000_000).ok();
        }
    }
}

/// The inputs of a step: enough to resolve it again (PL-06).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The source of its seed.
    pub drawn: Drawn,
    /// The choice: of a spin, a few bytes.
    pub choice: SmallVec<[u8; 16]>,
}

/// The source of a step's seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drawn {
    /// The seed itself, which older logs hold.
    Seed([u8; 32]),
    /// A sealed draw.
    Sealed {
        /// The number of the draw among the player's.
        number: u64,
        /// The key that gives its dealt value.
        epoch: Epoch,
        /// Generation in which it was sealed.
        generation: u64,
        /// Its seal, which stood in the log before.
        seal: Seal,
        /// The client seed, never empty.
        client_seed: SmallVec<[u8; 32]>,
    },
}

impl OpenRound {
    /// The draws of its sealed steps, in their order. Their dealt values are due when the round ends.
    pub fn draws(&self) -> impl Iterator<Item = NextDraw> {
        self.steps.iter().filter_map(|step| match step.drawn {
            Drawn::Sealed { number, epoch, generation, seal, .. } => {
                Some(NextDraw { number, epoch, generation, seal, sealed_by: None })
            }
            Drawn::Seed(_) => None,
        })
    }
}

impl SettledRound {
    /// Finds a round in commits of its player's stream, in log order. `None` unless both its start and its settlement
    /// are among them. Found from the end of the stream by following [`Commit::previous`]. Payments of its awards are later
    /// commits of the stream.
    pub fn recall<'a>(round: u64, commits: impl IntoIterator<Item = &'a Commit>) -> Option<Self> {
        let (mut found, mut is_settled) = (None::<Self>, false);
        for commit in commits {
            let mut steps = false;
            for event in &commit.events {
                match (event, &mut found) {
                    (Event::RoundStarted(started), _) if started.round == round => {
                        found = Some(Self {
                            started: Arc::clone(started),
                            opened_at: commit.position,
                            opened_ms: commit.time_ms,
                            jackpots: Vec::new(),
                            win: Minor::ZERO,
                            collected: Vec::new(),
                        });
                    }
                    (Event::StepResolved(step), _) => steps = step.round == round,
                    // A change that belongs to no bet, like the pick of a witch, is no part of a round.
                    (Event::CollectionChanged { game, scope, changes }, Some(facts))
                        if steps && *game == facts.started.game && !scope.is_empty() =>
                    {
                        facts.collected.extend(changes.iter().cloned());
                    }
                    (Event::JackpotHit { round: of, .. }, Some(facts)) if *of == round => {
                        facts.jackpots.push(RoundJackpot { hit: commit.position, paid: None });
                    }
                    (Event::JackpotPaid { round: of, hit, amount, .. }, Some(facts)) if *of == round => {
                        RoundJackpot::pay(&mut facts.jackpots, *hit, &facts.started, *amount);
                    }
                    (Event::RoundSettled { round: settled, win }, Some(facts)) if *settled == round => {
                        (facts.win, is_settled) = (*win, true);
                    }
                    _ => {}
                }
            }
        }
        found.filter(|_| is_settled)
    }
}
