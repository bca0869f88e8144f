//! One round, found in the log and resolved again (PL-06).
//!
//! Found by a scan from the beginning: no index is needed or believed. Cost: reading and decoding the whole log once,
//! since a jackpot may be paid long after the round.

use crate::{
    Divergence, Unusable,
    divergence::{Fault, open},
    outcome::difference,
};
use motherlode_books::{Automatic, Currency, Event, Minor, RoundStarted, StepResolved, StreamId};
use motherlode_log::{Position, ScanError};
use motherlode_proto::{
    convert::{
        Malformed, collection,
        play::{open_round, resolve_logged, write_outcome},
        record::{self, Logged},
    },
    log::v1::RoundTerms,
    round::v1::{Choice, Outcome},
};
use motherlode_slots as slots;
use prost::Message;
use std::{collections::BTreeMap, path::Path};

/// A round as the log tells it, each step resolved again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The bet.
    pub started: RoundStarted,
    /// What it was played with: lines, coins, what could be won.
    pub terms: RoundTerms,
    /// Position of the bet.
    pub position: Position,
    /// Time of the bet, Unix milliseconds.
    pub time_ms: i64,
    /// Balance before the bet.
    pub balance_before: Minor,
    /// The witch who accompanied the player, as the number of [`motherlode_proto::round::v1::Witch`] (BW-05); 0 for none.
    pub witch: u32,
    /// Its steps.
    pub steps: Vec<ReplayedStep>,
    /// What was credited of its win before it was settled (ME-16).
    pub credited: Minor,
    /// The win with which it was settled; `None` while it is open, or was voided before.
    pub settled: Option<Minor>,
    /// Its void, if it was voided.
    pub voided: Option<ReplayedVoid>,
    /// Its jackpots.
    pub jackpots: Vec<ReplayedJackpot>,
}

/// A step, as logged and as resolved again.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedStep {
    /// Position of its commit.
    pub position: Position,
    /// Time of its commit, Unix milliseconds.
    pub time_ms: i64,
    /// The step as logged.
    pub logged: StepResolved,
    /// Where somebody closed the round with it: what the actor said of itself beside its credential.
    pub reference: String,
    /// Its choice.
    pub choice: Choice,
    /// The outcome of the replay; where there is none, the logged one.
    pub outcome: Outcome,
    /// What the commit changed in the player's collection: keys and new values.
    pub collected: Vec<(String, i64)>,
    /// How the replay differs from what was logged; `None` when it gives the very same.
    pub differs: Option<String>,
    /// Balance before its commit, in the round's currency.
    pub balance_before: Minor,
    /// Balance after it.
    pub balance_after: Minor,
}

/// The void of a round (PL-04).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedVoid {
    /// Why.
    pub reason: String,
    /// By whom.
    pub actor: String,
    /// What the actor said of itself beside its credential.
    pub reference: String,
    /// The bet, given back.
    pub refund: Minor,
    /// Of the win, as far as the balance went.
    pub win_taken_back: Minor,
    /// Its position.
    pub position: Position,
    /// Time of its commit, Unix milliseconds.
    pub time_ms: i64,
    /// Balance after it, in the round's currency.
    pub balance_after: Minor,
}

/// A jackpot that the round hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedJackpot {
    /// The pool.
    pub pool: String,
    /// Position of the hit.
    pub hit: Position,
    /// What was paid, and the position of the payment; `None` while the award is pending.
    pub paid: Option<(Minor, Currency, Position)>,
    /// What is owed where it was set aside, since the account had no room for it, and the position of that.
    pub set_aside: Option<(Minor, Currency, Position)>,
}

impl Replayed {
    /// Whether every step gives the very bytes that were logged.
    #[must_use]
    pub fn matches(&self) -> bool {
        self.steps.iter().all(|step| step.differs.is_none())
    }
}

/// Why a round could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no log, or it cannot be read.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The log is damaged: what it says of the round cannot be believed.
    #[error("{0}")]
    Damaged(Box<Divergence>),
}

/// Finds a round in the log of a folder and resolves it again; `None` when the log has no such round.
///
/// # Errors
/// See [`ReplayError`].
pub fn replay(log: &Path, stream: &StreamId, number: u64) -> Result<Option<Replayed>, ReplayError> {
    let mut scan = open(log)?;
    let mut replaying: Option<Replaying> = None;
    // What the player last picked, by game: rounds of older logs don't say it themselves.
    let mut witches = BTreeMap::new();
    while let Some(record) = scan.next() {
        let partition = scan.partition_number().unwrap_or_default();
        let record = record.map_err(|error| match error {
            ScanError::Io { path, source } => ReplayError::Unusable(Unusable::Io { path, source }),
            ScanError::Damaged(damage) => ReplayError::Damaged(Divergence::of_damage(partition, damage)),
        })?;
        let no_commit = |malformed: Malformed| {
            let fault = Fault::new("the record is no commit", "a commit", malformed);
            ReplayError::Damaged(fault.at(partition, record.position))
        };
        let logged = record::decode(&record.bytes).map_err(no_commit)?;
        if logged.commit.stream == *stream {
            for event in &logged.commit.events {
                if let Event::CollectionChanged { game, .. } = event
                    && let Some(witch) = collection::picked_witch(event, game)
                {
                    witches.insert(game.clone(), u32::try_from(witch).unwrap_or_default());
                }
                add(&mut replaying, &logged, event, number).map_err(no_commit)?;
                if let (Event::RoundStarted(started), Some(Replaying { replayed, .. })) = (event, &mut replaying)
                    && started.round == number
                    && replayed.witch == 0
                {
                    replayed.witch = witches.get(&started.game).copied().unwrap_or_default();
                }
            }
            if let Some(Replaying { replayed, balance: last, .. }) = &mut replaying {
                *last = balance(&logged, replayed.started.currency);
            }
        }
    }
    if scan.partition_number().is_none() {
        return Err(Unusable::NoLog(log.to_owned()).into());
    }
    Ok(replaying.map(|replaying| replaying.replayed))
}

/// A round while its commits come in.
struct Replaying {
    replayed: Replayed,
    /// The balance after the player's latest commit.
    balance: Minor,
    /// The round in the engine, as far as it could be resolved.
    round: Result<Live, String>,
}

struct Live {
    game: &'static dyn slots::Game,
    round: Box<dyn slots::Round>,
    /// What the player carries as of the latest step.
    carried: slots::Carried,
}

fn add(replaying: &mut Option<Replaying>, logged: &Logged, event: &Event, number: u64) -> Result<(), Malformed> {
    match (event, replaying) {
        (Event::RoundStarted(started), replaying) if started.round == number => {
            *replaying = Some(start(logged, started)?);
        }
        (Event::StepResolved(step), Some(replaying)) if step.round == number => replaying.step(logged, step)?,
        (Event::WinCredited { round, amount }, Some(Replaying { replayed, .. })) if *round == number => {
            replayed.credited = Minor(replayed.credited.0.saturating_add(amount.0));
        }
        (Event::RoundSettled { round, win }, Some(Replaying { replayed, .. })) if *round == number => {
            replayed.settled = Some(*win);
        }
        (Event::RoundVoided { round, reason, actor, refund, win_taken_back }, Some(Replaying { replayed, .. }))
            if *round == number =>
        {
            replayed.voided = Some(ReplayedVoid {
                reason: reason.clone(),
                actor: actor.clone(),
                reference: reference(logged),
                refund: *refund,
                win_taken_back: *win_taken_back,
                position: logged.commit.position,
                time_ms: logged.commit.time_ms,
                balance_after: balance(logged, replayed.started.currency),
            });
        }
        (Event::JackpotHit { round, pool }, Some(Replaying { replayed, .. })) if *round == number => {
            let hit = logged.commit.position;
            replayed.jackpots.push(ReplayedJackpot { pool: pool.clone(), hit, paid: None, set_aside: None });
        }
        (Event::AwardSetAside { round, hit, amount, currency, .. }, Some(Replaying { replayed, .. }))
            if *round == number =>
        {
            for jackpot in replayed.jackpots.iter_mut().filter(|jackpot| jackpot.hit == *hit) {
                jackpot.set_aside = Some((*amount, *currency, logged.commit.position));
            }
        }
        (Event::JackpotPaid { round, hit, amount, currency, .. }, Some(Replaying { replayed, .. }))
            if *round == number =>
        {
            for jackpot in replayed.jackpots.iter_mut().filter(|jackpot| jackpot.hit == *hit) {
                jackpot.paid = Some((*amount, *currency, logged.commit.position));
            }
        }
        _ => {}
    }
    Ok(())
}

fn start(logged: &Logged, started: &RoundStarted) -> Result<Replaying, Malformed> {
    let commit = &logged.commit;
    // What stands after the commit is what stood before it, less the bet, plus a win that it credited.
    let credited = commit.events.iter().find_map(|event| match event {
        Event::RoundSettled { round, win } if *round == started.round => Some(win.0),
        _ => None,
    });
    let after = balance(logged, started.currency).0;
    let before = after.saturating_sub(credited.unwrap_or_default()).saturating_add(started.charged().0);
    let terms = RoundTerms::decode(started.stake.as_slice())?;
    let replayed = Replayed {
        started: started.clone(),
        witch: terms.witch,
        terms,
        position: commit.position,
        time_ms: commit.time_ms,
        balance_before: Minor(before),
        steps: vec![],
        credited: Minor::ZERO,
        settled: None,
        voided: None,
        jackpots: vec![],
    };
    let round = open_round(started).map_err(|error| error.to_string()).map(|(game, round)| {
        let mut carried = slots::Carried::default();
        for (figure, logged) in carried.0.iter_mut().zip(&replayed.terms.carried) {
            *figure = *logged;
        }
        Live { game, round, carried }
    });
    Ok(Replaying { replayed, balance: Minor(before), round })
}

impl Replaying {
    fn step(&mut self, logged: &Logged, step: &StepResolved) -> Result<(), Malformed> {
        let mut outcome = slots::Outcome::default();
        let resolved = match &mut self.round {
            Ok(live) => resolve_logged(&mut *live.round, step, &mut outcome)
                .map(|()| {
                    let mut bytes = vec![];
                    write_outcome(live.game, &outcome, &mut bytes);
                    bytes
                })
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.clone()),
        };
        let differs = match &resolved {
            Ok(bytes) => (*bytes != step.outcome).then(|| {
                let (field, expected, found) = difference(bytes, &step.outcome);
                format!("{field}: the replay gives {expected}, the log has {found}")
            }),
            Err(error) => Some(error.clone()),
        };
        let game = &self.replayed.started.game;
        let changed = logged.commit.events.iter().find(|event| plays_with(event, game));
        let expected = match (&mut self.round, outcome.carried) {
            (Ok(live), Some(after)) => {
                let before = std::mem::replace(&mut live.carried, after);
                let started = &self.replayed.started;
                let scope = collection::scope(live.game, started.currency, started.bet);
                collection::change(live.game, &scope, &before, &after)
            }
            _ => None,
        };
        let differs = differs.or_else(|| {
            let differs = expected.as_ref() != changed;
            differs.then(|| format!("collection: the replay gives {expected:?}, the log has {changed:?}"))
        });
        let collected = match changed {
            Some(Event::CollectionChanged { changes, .. }) => changes.clone(),
            _ => vec![],
        };
        self.replayed.steps.push(ReplayedStep {
            position: logged.commit.position,
            time_ms: logged.commit.time_ms,
            logged: step.clone(),
            reference: match step.automatic {
                Some(Automatic::Closed { .. }) => reference(logged),
                _ => String::new(),
            },
            choice: Choice::decode(step.choice.as_slice())?,
            outcome: Outcome::decode(resolved.as_ref().unwrap_or(&step.outcome).as_slice())?,
            collected,
            differs,
            balance_before: self.balance,
            balance_after: balance(logged, self.replayed.started.currency),
        });
        Ok(())
    }
}

/// What whoever made a commit said of itself beside its credential.
fn reference(logged: &Logged) -> String {
    logged.commit.acted_by().map_or_else(String::new, |(_, reference)| reference.to_owned())
}

/// Whether a commit's event changes the collection that a game plays with. The pick of a witch belongs to no bet and no
/// currency.
fn plays_with(event: &Event, of: &str) -> bool {
    matches!(event, Event::CollectionChanged { game, scope, .. } if game == of && !scope.is_empty())
}

fn balance(logged: &Logged, currency: Currency) -> Minor {
    let after = logged.balances_after.iter().find(|(of, _)| *of == currency);
    after.map_or(Minor::ZERO, |(_, amount)| *amount)
}
