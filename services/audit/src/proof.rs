//! Verifies the proof of a round with only the proof file and a public key, without a service or the log.
//!
//! The round's last record is proven to be in the signed log. A record proves the earlier records whose hashes it contains,
//! such as the record that sealed a step's draw; all other records have inclusion proofs. Each step is resolved again, and
//! each draw is compared with its seal ([`RoundRecords::sealing`]).

use crate::replay::{Replayed, resolved};
use motherlode_log::{Position, hash};
use motherlode_proofs::{restored, whole};
use motherlode_proto::{
    convert::{
        play::hex,
        record::{self, Logged},
    },
    proof::v1::{ProvenRecord, RoundRecords},
};
use motherlode_rounds::{
    Fold, RoundView,
    draws::{self, Sealed},
    view::StepView,
};
use motherlode_state::{Commit, Event, StreamId, number};
use motherlode_tiles::{Checkpoint, Hash, NoteError, Policy, Proof, VerifierKey, is_included, leaf, without_restore};
use prost::Message as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

#[derive(Debug)]
pub struct Proven {
    pub checkpoint: Checkpoint,
    pub cosigned: Vec<(String, u64)>,
    pub stream: StreamId,
    pub number: u64,
    pub positions: Vec<Position>,
    /// Positions of records without an inclusion proof, which are proven by their hash in a later record.
    pub named: Vec<Position>,
    pub draws: Vec<ShownDraw>,
    pub replayed: Replayed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownDraw {
    /// An older version of Motherlode logged the step without a sealed draw.
    Unsealed,
    /// The draw's revealed value matches its seal (hash) in the record at this position, which precedes the step.
    Sealed(Sealed, Position),
    NotShown(u64),
    /// The draw was revoked, because its key was lost.
    Lost(u64),
}

#[derive(Debug, thiserror::Error)]
pub enum Unproven {
    #[error("the checkpoint cannot be verified: {0}")]
    Checkpoint(#[from] NoteError),
    #[error("{found} of {known} witnesses have cosigned the checkpoint, fewer than the policy requires")]
    Witnesses { found: usize, known: usize },
    #[error("position {0}: the record is not in the signed log")]
    NotIncluded(Position),
    #[error("step {step}: {what}")]
    Draw { step: u32, what: String },
    #[error("{0}")]
    Records(String),
}

/// If a policy is given, the witnesses that it requires must have cosigned the checkpoint.
/// [`Replayed::matches`] states whether all steps match the log.
pub fn verify(proof: &Proof, key: &VerifierKey, policy: Option<&Policy>) -> Result<Proven, Unproven> {
    let checkpoint = Checkpoint::open(&proof.checkpoint, key)?;
    let cosigned = policy.map(|policy| (policy, policy.cosigned(&proof.checkpoint)));
    if let Some((policy, cosigned)) = &cosigned
        && !policy.is_satisfied(cosigned)
    {
        return Err(Unproven::Witnesses { found: cosigned.len(), known: policy.witnesses.len() });
    }
    let cosigned = cosigned.into_iter().flat_map(|(_, cosigned)| cosigned);
    let cosigned = cosigned.map(|(name, time)| (name.to_owned(), time)).collect();
    let malformed = |what: &str| Unproven::Records(what.to_owned());
    let extra = RoundRecords::decode(&*proof.extra)
        .map_err(|_| malformed("the proof's extra data does not describe a round"))?;
    let mut sealing = read(extra.sealing.iter().chain(&extra.records))?;
    let records = sealing.split_off(extra.sealing.len());
    let Some(last) = records.last() else { return Err(malformed("the proof has no records")) };
    let named_so = match &*extra.round_id {
        "" => Some((last.logged.commit.stream.clone(), extra.round)),
        older => player_and_number(older),
    };
    let is_player = |stream: &StreamId| matches!(stream, StreamId::Player { .. });
    let (stream, number) =
        named_so.filter(|(stream, _)| is_player(stream)).ok_or_else(|| malformed("the proof names no round"))?;
    for records in [&sealing, &records] {
        belong(records, &checkpoint.origin, &stream)?;
    }
    let named = included(proof, &checkpoint, sealing.iter().chain(&records))?;
    let mut seals = BTreeMap::new();
    for record in sealing.iter().chain(&records) {
        note_seals(&mut seals, &record.logged.commit, record.entry)?;
    }
    let records: Vec<_> = records.into_iter().map(|record| record.logged).collect();
    let lost = |event: &Event| matches!(event, Event::DrawsLost { round } if *round == number);
    let is_lost = records.iter().flat_map(|logged| &logged.commit.events).any(lost);
    let view = round_view(&records, number)?;
    // The draws of a settled round are revealed, even if the round is voided later.
    let is_lost = is_lost && view.settled.is_none();
    let draws = view.steps.iter().map(|step| drawn(step, &seals, is_lost)).collect::<Result<_, _>>()?;
    let positions = records.iter().map(|logged| logged.commit.position).collect();
    let replayed = resolved(view);
    Ok(Proven { checkpoint, cosigned, stream, number, positions, named, draws, replayed })
}

type Seals = BTreeMap<u64, (Sealed, Position, Hash)>;

fn note_seals(seals: &mut Seals, commit: &Commit, record: Hash) -> Result<(), Unproven> {
    for sealed in draws::sealed(&commit.events) {
        if let Some((_, before, _)) = seals.insert(sealed.name.number, (sealed, commit.position, record)) {
            let (number, position) = (sealed.name.number, commit.position);
            return Err(Unproven::Records(format!(
                "draw {number} was sealed at position {before} and again at {position}"
            )));
        }
    }
    Ok(())
}

fn drawn(step: &StepView, seals: &Seals, is_lost: bool) -> Result<ShownDraw, Unproven> {
    let Some(draw) = &step.draw else { return Ok(ShownDraw::Unsealed) };
    let fault = |what: String| Unproven::Draw { step: step.logged.step, what };
    let Some(found) = draw.seal else {
        return match is_lost {
            true => Ok(ShownDraw::Lost(draw.name.number)),
            false => Err(fault(format!("the proof does not reveal the random value of draw {}", draw.name.number))),
        };
    };
    // A seal in the same commit as the step is ignored, because it was not made before the player's request.
    match seals.get(&draw.name.number).filter(|(_, position, _)| *position < step.position) {
        None => Ok(ShownDraw::NotShown(draw.name.number)),
        Some((_, position, record)) if draw.sealed_by.is_some_and(|named| named != *record) => Err(fault(format!(
            "draw {} was sealed at position {position}, but the step names another record",
            draw.name.number
        ))),
        Some((sealed, position, _)) if (sealed.seal, sealed.name) == (found, draw.name) => {
            Ok(ShownDraw::Sealed(*sealed, *position))
        }
        Some((sealed, position, _)) => Err(fault(format!(
            "draw {} has the seal {} at position {position}, but its revealed value gives the seal {}",
            draw.name.number,
            hex(&sealed.seal),
            hex(&found),
        ))),
    }
}

fn player_and_number(round: &str) -> Option<(StreamId, u64)> {
    let (player, digits) = round.rsplit_once('/')?;
    Some((format!("player/{player}").parse().ok()?, number(digits)?))
}

struct Shown<'r> {
    logged: Logged,
    entry: Hash,
    path: &'r [Vec<u8>],
}

impl Shown<'_> {
    fn position(&self) -> Position {
        self.logged.commit.position
    }
}

fn read<'r>(records: impl Iterator<Item = &'r ProvenRecord> + Clone) -> Result<Vec<Shown<'r>>, Unproven> {
    let at = |count: usize, what: &dyn Display| Unproven::Records(format!("record {count}: {what}"));
    let (mut before, mut travelled) = (None, vec![]);
    for (ProvenRecord { record, copied, brief, .. }, count) in records.clone().zip(1..) {
        let bytes = restored(record, copied, before.as_deref());
        let bytes =
            bytes.ok_or_else(|| at(count, &"the instructions to restore the record's omitted bytes are invalid"))?;
        before = Some(bytes.clone());
        travelled.push((bytes, *brief));
    }
    let whole = whole(travelled)
        .map_err(|error| Unproven::Records(format!("cannot compute the fields that the proof file omits: {error}")))?;
    let read = records.zip(whole).zip(1..).map(|((ProvenRecord { position, path, .. }, bytes), count)| {
        let damaged = |error| {
            at(count, &format!("the record differs from the logged record: the proof was changed or damaged ({error})"))
        };
        let logged = record::decode(&bytes).map_err(damaged)?;
        if *position > 0 && logged.commit.position != *position {
            return Err(at(count, &format!("the record's position is not {position}")));
        }
        Ok(Shown { logged, entry: hash(&bytes), path })
    });
    read.collect()
}

fn belong(records: &[Shown], origin: &str, stream: &StreamId) -> Result<(), Unproven> {
    let mut before = 0;
    for Shown { logged: Logged { commit, .. }, .. } in records {
        let at = |what: String| Unproven::Records(format!("position {}: {what}", commit.position));
        if commit.position <= before {
            return Err(at("the record is out of order".to_owned()));
        }
        if !without_restore(origin).ends_with(&format!("/log/{}", commit.partition)) {
            return Err(at(format!(
                "the record belongs to partition {}, but the checkpoint belongs to the log {origin}",
                commit.partition
            )));
        }
        if commit.stream != *stream {
            return Err(at(format!("the record belongs to {}, not to {stream}", commit.stream)));
        }
        before = commit.position;
    }
    Ok(())
}

fn included<'r>(
    proof: &Proof,
    checkpoint: &Checkpoint,
    records: impl Iterator<Item = &'r Shown<'r>>,
) -> Result<Vec<Position>, Unproven> {
    let Checkpoint { size, root, .. } = checkpoint;
    let mut records: Vec<_> = records.collect();
    records.sort_by_key(|record| record.position());
    let last = proof.index.saturating_add(1);
    if let Some(record) = records.last().filter(|record| record.position() != last) {
        return Err(Unproven::NotIncluded(record.position()));
    }
    let (mut known, mut named) = (BTreeSet::new(), vec![]);
    for Shown { logged, entry, path, .. } in records.into_iter().rev() {
        let position = logged.commit.position;
        let is_in = |path: &[Hash]| is_included(&leaf(entry), position.saturating_sub(1), *size, path, root);
        let path: Option<Vec<Hash>> = path.iter().map(|hash| hash.as_slice().try_into().ok()).collect();
        let path = path.filter(|path| path.len() <= Proof::PATH_MAX).ok_or(Unproven::NotIncluded(position))?;
        match (position == last, known.contains(entry)) {
            (true, _) if path.is_empty() && is_in(&proof.path) => {}
            (false, true) if path.is_empty() => named.push(position),
            (false, _) if is_in(&path) => {}
            _ => return Err(Unproven::NotIncluded(position)),
        }
        known.extend(draws::sealed_by(&logged.commit.events));
    }
    named.reverse();
    Ok(named)
}

fn round_view(records: &[Logged], number: u64) -> Result<RoundView, Unproven> {
    let mut fold = Fold::new(number);
    for logged in records {
        let at = |error| Unproven::Records(format!("position {}: {error}", logged.commit.position));
        fold.add(logged).map_err(at)?;
    }
    let view =
        fold.view().ok_or_else(|| Unproven::Records(format!("there is no bet of round {number} in the records")))?;
    let counted = view.steps.iter().zip(1_u64..).all(|(step, number)| u64::from(step.logged.step) == number);
    if !counted || view.settled.is_none() && view.voided.is_none() {
        return Err(Unproven::Records(
            "the records are not the whole round: a step or the round's end is missing".to_owned(),
        ));
    }
    Ok(view)
}
