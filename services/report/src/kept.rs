//! Stored figures of the follower at a position, so that a start decodes only later commits. The file is used if it is
//! intact and its [version](FIGURES_VERSION), its thresholds, and the hash of the record at the position match.
//!
//! Format: [`MAGIC`], the SHA-256 of the rest, a [`Header`] and the figures in [postcard's wire
//! format](https://postcard.jamesmunns.com/wire-format).

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

const MAGIC: [u8; 8] = *b"MLREP002";
const DIGEST: usize = 32;
/// Builds with the same version can read each other's files.
///
/// Raise the version by 1 in a change after which the same log gives other figures (in this crate, the books'
/// statements and revenue, or the reading of an outcome) or other serialized bytes. Otherwise the tests
/// `state_version_*` fail.
const FIGURES_VERSION: u32 = 3;

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    version: u32,
    thresholds: Report,
    partition: u32,
    position: Position,
    hash: Hash,
}

#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the log cannot be read at the figures' position: {0}")]
    Log(#[from] ReadError),
    #[error("the stored figures are damaged")]
    Damaged,
    #[error("the stored figures belong to another version of the program, other thresholds or another log")]
    Other,
}

pub(crate) fn read(file: &Path, ledger: &Handle, config: &Report) -> Option<(Position, Figures)> {
    match read_of(file, ledger, config) {
        Ok(kept) => Some(kept),
        Err(Unusable::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err(why) => {
            tracing::warn!(%why, file = %file.display(), "the stored figures of reports are not used: folding the log again from its beginning");
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

/// Writes the figures. After a power failure, either the old or the new file exists.
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
