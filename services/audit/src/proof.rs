//! A round's proof, verified by itself: no service, no log, nothing but the file, a key and this program.
//!
//! The proof says that each record of the round is in the log that the key has signed; the records say how the round was played,
//! and each step is resolved again from them. Cost: a signature (a tenth of a millisecond) and some thirty hashes a record,
//! and the resolving.

use crate::replay::{Replayed, resolved};
use motherlode_books::{StreamId, number};
use motherlode_log::{Position, hash};
use motherlode_proto::{
    convert::record,
    proof::v1::{ProvenRecord, RoundRecords},
};
use motherlode_rounds::{Fold, RoundView};
use motherlode_tiles::{Checkpoint, Hash, NoteError, Policy, Proof, VerifierKey, is_included, leaf};
use prost::Message as _;

/// A round that was proven.
#[derive(Debug)]
pub struct Proven {
    /// The signed state of the log that has it.
    pub checkpoint: Checkpoint,
    /// Witnesses that have cosigned it, by their names in the policy, with the times.
    pub cosigned: Vec<(String, u64)>,
    /// The player's stream.
    pub stream: StreamId,
    /// The round's number.
    pub number: u64,
    /// Positions of its records.
    pub positions: Vec<Position>,
    /// The round, each step resolved again.
    pub replayed: Replayed,
}

/// Why a round is not proven.
#[derive(Debug, thiserror::Error)]
pub enum Unproven {
    /// The log's key has not signed the checkpoint.
    #[error("the checkpoint: {0}")]
    Checkpoint(#[from] NoteError),
    /// Too few of the policy's witnesses have cosigned it.
    #[error("{found} of the policy's {known} witnesses have cosigned the checkpoint: that is not enough for it")]
    Witnesses {
        /// How many have.
        found: usize,
        /// How many there are.
        known: usize,
    },
    /// A record is not in the log, or was changed.
    #[error("position {0}: the record is not in the log that was signed")]
    NotIncluded(Position),
    /// The records are none of a round.
    #[error("{0}")]
    Records(String),
}

/// Verifies a round's proof with the key of the log; where a policy is given, its witnesses must have cosigned.
///
/// # Errors
/// [`Unproven`]: the first thing that does not hold. Whether each step gives what was logged is in what is proven:
/// [`Replayed::matches`].
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
    let extra = RoundRecords::decode(&*proof.extra).map_err(|_| malformed("the proof's extra is none of a round"))?;
    let (stream, number) = named(&extra.round_id).ok_or_else(|| malformed("the proof names no round"))?;
    included(&extra.records, proof, &checkpoint)?;
    let view = told(&extra.records, &checkpoint.origin, &stream, number)?;
    // Where each draw is held against the seal that stood in the log before: it belongs here, behind the records and before
    // what they come to.
    let positions = extra.records.iter().map(|record| record.position).collect();
    Ok(Proven { checkpoint, cosigned, stream, number, positions, replayed: resolved(view) })
}

/// The player and the number that a round is named by.
fn named(round: &str) -> Option<(StreamId, u64)> {
    let (player, digits) = round.rsplit_once('/')?;
    let stream: StreamId = format!("player/{player}").parse().ok()?;
    let is_player = matches!(stream, StreamId::Player { .. });
    Some((stream, number(digits)?)).filter(|_| is_player)
}

/// Each record must be in the tree, at its own place.
fn included(records: &[ProvenRecord], proof: &Proof, checkpoint: &Checkpoint) -> Result<(), Unproven> {
    let Checkpoint { size, root, .. } = checkpoint;
    let Some((last, before)) = records.split_last() else {
        return Err(Unproven::Records("the proof has no records".to_owned()));
    };
    let holds = |record: &ProvenRecord, path: &[Hash]| match record.position.checked_sub(1) {
        Some(index) => is_included(&leaf(&hash(&record.record)), index, *size, path, root),
        None => false,
    };
    for record in before {
        let path: Option<Vec<Hash>> = record.path.iter().map(|hash| hash.as_slice().try_into().ok()).collect();
        if !path.is_some_and(|path| path.len() <= Proof::PATH_MAX && holds(record, &path)) {
            return Err(Unproven::NotIncluded(record.position));
        }
    }
    // The last one is what the file itself proves.
    match last.position == proof.index.saturating_add(1) && holds(last, &proof.path) {
        true => Ok(()),
        false => Err(Unproven::NotIncluded(last.position)),
    }
}

/// The round that the records tell, whole and in order.
fn told(records: &[ProvenRecord], origin: &str, stream: &StreamId, number: u64) -> Result<RoundView, Unproven> {
    let mut fold = Fold::new(number);
    let mut before = 0;
    for ProvenRecord { position, record, .. } in records {
        let at = |what: String| Unproven::Records(format!("position {position}: {what}"));
        let logged = record::decode(record).map_err(|error| at(error.to_string()))?;
        let commit = &logged.commit;
        if commit.position != *position || *position <= before {
            return Err(at("the record is of another place".to_owned()));
        }
        if !origin.ends_with(&format!("/log/{}", commit.partition)) {
            return Err(at(format!("the record is of partition {}, the checkpoint of {origin}", commit.partition)));
        }
        if commit.stream != *stream {
            return Err(at(format!("the record is of {}, not of {stream}", commit.stream)));
        }
        fold.add(&logged).map_err(|error| at(error.to_string()))?;
        before = *position;
    }
    let view =
        fold.view().ok_or_else(|| Unproven::Records(format!("there is no bet of round {number} in the records")))?;
    let counted = view.steps.iter().zip(1_u64..).all(|(step, number)| u64::from(step.logged.step) == number);
    if !counted || view.settled.is_none() && view.voided.is_none() {
        return Err(Unproven::Records(
            "the records are not the whole round: a step, or its end, is missing".to_owned(),
        ));
    }
    Ok(view)
}
