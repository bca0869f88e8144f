//! Figures that are kept: what the follower has folded as of a position, so that a start decodes only what came after it.
//!
//! Like a snapshot of the books, a file holds nothing that the log does not, and may be missing, stale or damaged. It's used only if
//! it's whole (by its digest), of this [version](FIGURES_VERSION) with these thresholds, and of this log (the record at its
//! position has its hash); else the log is folded from its beginning.
//!
//! The file: [`MAGIC`], the SHA-256 of all that follows, a [`Header`] and the figures in
//! [postcard's wire format](https://postcard.jamesmunns.com/wire-format).

use crate::figures::Figures;
use motherlode_ledger::Handle;
use motherlode_log::{Hash, Position, ReadError};
use motherlode_runtime::config::Report;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

/// The first bytes of the file.
const MAGIC: [u8; 8] = *b"MLREP002";
/// Bytes of the digest.
const DIGEST: usize = 32;
/// Version of the figures folded from the log. A build uses the files of every build with the same version, and folds the log
/// again in place of others.
///
/// Raise it by 1 in a change after which the same log gives other figures (in this crate, in the statements and the revenue of the
/// books, in how a game's outcome is read), or the same figures are serialized as other bytes. A change that only shows kept
/// figures in another way needs no new version. `state_version_*` tests compare the serialized figures of logs with every event, and
/// fail if the version was not raised.
const FIGURES_VERSION: u32 = 3;

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    version: u32,
    thresholds: Report,
    partition: u32,
    position: Position,
    hash: Hash,
}

/// Why kept figures are not used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the log cannot be read: {0}")]
    Log(#[from] ReadError),
    #[error("they are damaged")]
    Damaged,
    #[error("they are of another version of the program, of other thresholds or of another log")]
    Other,
}

/// The figures that a file keeps of a log, with their position; none where there is nothing to use.
pub(crate) fn read(file: &Path, ledger: &Handle, config: &Report) -> Option<(Position, Figures)> {
    match read_of(file, ledger, config) {
        Ok(kept) => Some(kept),
        Err(Unusable::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err(why) => {
            tracing::warn!(%why, file = %file.display(), "the figures of reports are folded from the log's beginning");
            None
        }
    }
}

fn read_of(file: &Path, ledger: &Handle, config: &Report) -> Result<(Position, Figures), Unusable> {
    let bytes = fs::read(file)?;
    let rest = bytes.strip_prefix(&MAGIC).ok_or(Unusable::Damaged)?;
    let (digest, body) = rest.split_at_checked(DIGEST).ok_or(Unusable::Damaged)?;
    if Sha256::digest(body)[..] != *digest {
        return Err(Unusable::Damaged);
    }
    let (header, figures) = postcard::take_from_bytes::<Header>(body).map_err(|_| Unusable::Other)?;
    let position = header.position;
    let hash = record_hash(ledger, position)?;
    if hash.is_none_or(|hash| header != self::header(ledger, config, position, hash)) {
        return Err(Unusable::Other);
    }
    let figures: Figures = postcard::from_bytes(figures).map_err(|_| Unusable::Damaged)?;
    Ok((position, figures.with(config)))
}

/// Keeps figures as of a position: the file is the old one or the new one, whenever the power fails.
pub(crate) fn write(
    file: &Path,
    ledger: &Handle,
    config: &Report,
    position: Position,
    figures: &[u8],
) -> io::Result<()> {
    let hash = record_hash(ledger, position).map_err(io::Error::other)?;
    let hash = hash.ok_or_else(|| io::Error::other(format!("the log has no record {position}")))?;
    let header = postcard::to_allocvec(&header(ledger, config, position, hash)).map_err(io::Error::other)?;
    let digest = Sha256::new().chain_update(&header).chain_update(figures).finalize();
    let new = file.with_extension("reports.new");
    let written = File::create(&new).and_then(|mut written| {
        for part in [&MAGIC[..], &digest[..], &header[..], figures] {
            written.write_all(part)?;
        }
        written.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&new, file)) {
        // The log needs the room, if that is what was missing.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn header(ledger: &Handle, config: &Report, position: Position, hash: Hash) -> Header {
    Header { version: FIGURES_VERSION, thresholds: config.clone(), partition: ledger.partition(), position, hash }
}

fn record_hash(ledger: &Handle, position: Position) -> Result<Option<Hash>, ReadError> {
    let records = ledger.records(position, 1, 0)?;
    Ok(records.first().filter(|record| record.position == position).map(|record| motherlode_log::hash(&record.bytes)))
}

/// Messages of the contract, as their own bytes.
pub(crate) mod messages {
    use prost::Message;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use std::{collections::BTreeMap, sync::Arc};

    pub(crate) fn serialize<M: Message, S: Serializer>(all: &[Arc<M>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|message| message.encode_to_vec()))
    }

    pub(crate) fn deserialize<'de, M: Message + Default, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<M>>, D::Error> {
        let all = Vec::<Vec<u8>>::deserialize(deserializer)?;
        all.iter().map(|bytes| M::decode(&bytes[..]).map(Arc::new).map_err(Error::custom)).collect()
    }

    /// The same by day.
    pub(crate) mod by_day {
        use super::*;

        pub(crate) fn serialize<M: Message, S: Serializer>(
            days: &BTreeMap<i64, Vec<M>>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            let encoded = |all: &Vec<M>| all.iter().map(Message::encode_to_vec).collect::<Vec<_>>();
            days.iter().map(|(day, all)| (*day, encoded(all))).collect::<BTreeMap<_, _>>().serialize(serializer)
        }

        pub(crate) fn deserialize<'de, M: Message + Default, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<BTreeMap<i64, Vec<M>>, D::Error> {
            let days = BTreeMap::<i64, Vec<Vec<u8>>>::deserialize(deserializer)?;
            let decoded = |all: Vec<Vec<u8>>| all.iter().map(|bytes| M::decode(&bytes[..])).collect::<Result<_, _>>();
            days.into_iter().map(|(day, all)| Ok((day, decoded(all).map_err(Error::custom)?))).collect()
        }
    }
}

#[cfg(test)]
mod tests;
