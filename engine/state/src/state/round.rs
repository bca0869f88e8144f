use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::draw::NextDraw;
use crate::events::{Automatic, Commit, Event, RoundJackpot, RoundStarted, SettledRound};
use crate::values::{Epoch, Minor, Seal, contribution};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRound {
    pub started: Arc<RoundStarted>,
    pub opened_at: u64,
    pub opened_ms: i64,
    /// Time of the round's latest event, from which the wait for the player's next choice is measured (PL-03).
    pub last_ms: i64,
    pub last_position: u64,
    pub steps: SmallVec<[Step; 1]>,
    pub win: Minor,
    /// Part of the win already credited (ME-16).
    pub credited: Minor,
    /// Reason why the service chose the latest step for the player. If a reason is set, the service must finish the round.
    pub automatic: Option<Automatic>,
    pub jackpots: Vec<RoundJackpot>,
}

impl RoundJackpot {
    pub(crate) fn pay(all: &mut [Self], hit: u64, started: &RoundStarted, amount: Minor) {
        if let Some(jackpot) = all.iter_mut().find(|jackpot| jackpot.hit == hit) {
            jackpot.paid = contribution(amount, started.currency, started.rate, 1_000_000).ok();
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub drawn: Drawn,
    pub choice: SmallVec<[u8; 16]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drawn {
    Seed([u8; 32]),
    Sealed {
        number: u64,
        epoch: Epoch,
        generation: u64,
        seal: Seal,
        /// Never empty.
        client_seed: SmallVec<[u8; 32]>,
    },
}

impl OpenRound {
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
    /// Finds a settled round in the player's commits, which must be in log order (see [`Commit::previous`]) and include the
    /// payments of the round's awards.
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
                    // An empty scope marks the player's choice of a character, not a result of the round.
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
