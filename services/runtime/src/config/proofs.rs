//! `[proofs]`: signing and publication of checkpoints.

use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf};

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proofs {
    /// Name of the log, such as `example.com/motherlode`; default: the name in the key. The log of a partition is named
    /// `<name>/log/<partition>`.
    pub name: Option<String>,
    /// Key file made by `motherlode key new`; default: `proofs.key` in the data folder, created if missing.
    pub key_file: Option<PathBuf>,
    /// Public HTTP address that serves checkpoints and tiles, which contain only hashes; default: none.
    pub listen: Option<SocketAddr>,
    /// Witnesses that cosign checkpoints.
    pub witnesses: Vec<Witness>,
    /// Whether to sign a log whose earlier checkpoints are signed with another key; set only by a command-line flag.
    #[serde(skip)]
    pub accept_new_key: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// Base URL of the witness, `http://host:port`; requests go to `/add-checkpoint` below it.
    pub url: String,
    /// Witness's public key (verifier key).
    pub key: String,
}
