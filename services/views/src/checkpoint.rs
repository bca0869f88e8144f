//! Checkpoint: a file that names the tables of all views at one log position.
//!
//! The file has the magic bytes and a [`Checkpoint`] in [postcard's wire
//! format](https://postcard.jamesmunns.com/wire-format). Its name is its SHA-256.

use crate::{
    error::{ViewError, at},
    run::Run,
    table::Keyspace,
};
use motherlode_log::{Hash, Position};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

const MAGIC: [u8; 8] = *b"MLVIEW01";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub sequence: u64,
    pub partition: u32,
    /// Position of the last record that the views cover.
    pub position: Position,
    /// Hash of the record at `position`, which must match the log.
    pub hash: Hash,
    pub keyspaces: Vec<KeyspaceTables>,
    pub state_version: u32,
    pub state: Vec<u8>,
}

impl KeyspaceTables {
    #[must_use]
    pub fn new(keyspace: &Keyspace, runs: &[Run]) -> Self {
        let runs = runs.iter().map(|run| RunTables { from: run.from(), to: run.to(), tables: run.ids().collect() });
        Self { keyspace: keyspace.name.to_owned(), version: keyspace.version, runs: runs.collect() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyspaceTables {
    pub keyspace: String,
    pub version: u32,
    pub runs: Vec<RunTables>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTables {
    pub from: Position,
    pub to: Position,
    pub tables: Vec<Hash>,
}

impl Checkpoint {
    pub fn tables(&self) -> impl Iterator<Item = &Hash> {
        self.keyspaces.iter().flat_map(|of| &of.runs).flat_map(|run| &run.tables)
    }

    #[must_use]
    pub fn runs(&self, keyspace: &Keyspace) -> Option<&[RunTables]> {
        let found = self.keyspaces.iter().find(|of| of.keyspace == keyspace.name && of.version == keyspace.version);
        found.map(|of| &of.runs[..])
    }

    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes.strip_prefix(&MAGIC)?).ok()
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, ViewError> {
        let wrong = |_| ViewError::Entry { keyspace: "checkpoint", reason: "the checkpoint cannot be encoded" };
        postcard::to_extend(self, MAGIC.to_vec()).map_err(wrong)
    }

    pub(crate) fn read(path: &Path, id: &Hash, partition: u32) -> Result<Self, ViewError> {
        Self::verified(&fs::read(path).map_err(at(path))?, id, partition, path)
    }

    pub fn verified(bytes: &[u8], id: &Hash, partition: u32, path: &Path) -> Result<Self, ViewError> {
        let unusable = |reason| ViewError::unusable(path, reason);
        if Sha256::digest(bytes)[..] != id[..] {
            return Err(unusable("the checkpoint is damaged"));
        }
        let checkpoint =
            Self::decode(bytes).ok_or_else(|| unusable("the file is not a checkpoint of this format version"))?;
        if checkpoint.partition != partition {
            return Err(unusable("the checkpoint belongs to a partition other than this store's"));
        }
        Ok(checkpoint)
    }
}
