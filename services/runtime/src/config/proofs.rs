//! `[proofs]`: signing and publication of checkpoints.

use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf};

/// Checkpoints of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proofs {
    /// Name of the log, such as `example.com/motherlode`; default: the key's. A partition's name is
    /// `<name>/log/<partition>`.
    pub name: Option<String>,
    /// Key file of `motherlode key new`; default: `proofs.key` in the data folder, which is created.
    pub key_file: Option<PathBuf>,
    /// Public HTTP address of checkpoints and tiles, which are hashes; default: none.
    pub listen: Option<SocketAddr>,
    /// Witnesses that cosign checkpoints.
    pub witnesses: Vec<Witness>,
    /// Whether to sign a log that another key has signed; a flag only.
    #[serde(skip)]
    pub accept_new_key: bool,
}

/// A witness.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Submission prefix, `http://host:port`, before `/add-checkpoint`.
    pub url: String,
    /// Verifier key.
    pub key: String,
}
