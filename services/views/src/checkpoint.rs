//! Checkpoint: the file that names the tables of all views at one position of the log.
//!
//! The file is MAGIC and a [`Checkpoint`] in [postcard's wire format](https://postcard.jamesmunns.com/wire-format). Its name is its
//! SHA-256.

use crate::{
    error::{ViewError, at},
    run::Run,
    table::Keyspace,
};
use motherlode_log::{Hash, Position};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

/// First bytes of the file, with the version of the format.
const MAGIC: [u8; 8] = *b"MLVIEW01";

/// The views at one position of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Number of the checkpoint: each one that is written has a greater one. [`Store::commit`](crate::Store::commit) sets it.
    pub sequence: u64,
    /// The partition.
    pub partition: u32,
    /// Position of the last record whose facts the views have.
    pub position: Position,
    /// Hash of that record, by which the log confirms the checkpoint.
    pub hash: Hash,
    /// Tables of each keyspace.
    pub keyspaces: Vec<KeyspaceTables>,
    /// Version of `state`.
    pub state_version: u32,
    /// State that is loaded whole.
    pub state: Vec<u8>,
}

impl KeyspaceTables {
    /// Names the runs of a keyspace.
    #[must_use]
    pub fn new(keyspace: &Keyspace, runs: &[Run]) -> Self {
        let runs = runs.iter().map(|run| RunTables { from: run.from(), to: run.to(), tables: run.ids().collect() });
        Self { keyspace: keyspace.name.to_owned(), version: keyspace.version, runs: runs.collect() }
    }
}

/// Tables of one keyspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyspaceTables {
    /// Name of the keyspace.
    pub keyspace: String,
    /// Version of its entries.
    pub version: u32,
    /// Its runs, the oldest first.
    pub runs: Vec<RunTables>,
}

/// Tables of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTables {
    /// Position before its first.
    pub from: Position,
    /// Its last position.
    pub to: Position,
    /// Digests of its tables, in order of their keys.
    pub tables: Vec<Hash>,
}

impl Checkpoint {
    /// Its tables.
    pub fn tables(&self) -> impl Iterator<Item = &Hash> {
        self.keyspaces.iter().flat_map(|of| &of.runs).flat_map(|run| &run.tables)
    }

    /// Runs of a keyspace; `None` if there are none of its version.
    #[must_use]
    pub fn runs(&self, keyspace: &Keyspace) -> Option<&[RunTables]> {
        let found = self.keyspaces.iter().find(|of| of.keyspace == keyspace.name && of.version == keyspace.version);
        found.map(|of| &of.runs[..])
    }

    /// Reads the bytes of a file; `None` if they are no checkpoint of this format.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes.strip_prefix(&MAGIC)?).ok()
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, ViewError> {
        let wrong = |_| ViewError::Entry { keyspace: "checkpoint", reason: "it cannot be encoded" };
        postcard::to_extend(self, MAGIC.to_vec()).map_err(wrong)
    }

    /// Reads a file with this digest.
    pub(crate) fn read(path: &Path, id: &Hash, partition: u32) -> Result<Self, ViewError> {
        let bytes = fs::read(path).map_err(at(path))?;
        let unusable = |reason| ViewError::unusable(path, reason);
        if Sha256::digest(&bytes)[..] != id[..] {
            return Err(unusable("it is damaged"));
        }
        let checkpoint = Self::decode(&bytes).ok_or_else(|| unusable("it is no checkpoint of this format"))?;
        if checkpoint.partition != partition {
            return Err(unusable("it is of another partition"));
        }
        Ok(checkpoint)
    }
}
