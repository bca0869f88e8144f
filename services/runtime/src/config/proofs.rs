//! `[proofs]` in the configuration: who signs the log's checkpoints, and where others read them.

use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf};

/// The log's checkpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proofs {
    /// The name of the log in its checkpoints, such as `example.com/motherlode`; a partition's is `<name>/log/<partition>`. Without
    /// one, the key's.
    pub name: Option<String>,
    /// File with the key, as `motherlode key new` makes it. Without one, `proofs.key` in the data folder, which is made.
    pub key_file: Option<PathBuf>,
    /// Address at which checkpoints and tiles are served by HTTP, to everybody: they are hashes. Without one, they are not.
    pub listen: Option<SocketAddr>,
    /// Witnesses that are asked to cosign each checkpoint.
    pub witnesses: Vec<Witness>,
}

/// A witness.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Its submission prefix, `http://host:port`; `/add-checkpoint` is added.
    pub url: String,
    /// Its verifier key.
    pub key: String,
}
