//! The arguments of `audit`.

use crate::commands::{Format, config_file::LogAccess};
use motherlode_tiles::VerifierKey;
use std::path::PathBuf;

/// The arguments of `audit`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The data folder of `serve`, the folder of a copy that `follow` keeps, or nats://host:port,... (which is copied to a
    /// temporary folder first).
    #[arg(value_name = "PLACE")]
    pub(super) data: PathBuf,
    #[command(flatten)]
    pub(super) access: LogAccess,
    /// Print the digest of this operator's records too, to be held against the one of its copy.
    #[arg(long, value_name = "NAME")]
    pub(super) operator: Option<String>,
    /// The digest's last log position: the copy's; without it, the log's end. Of several partitions one each, with commas
    /// between them.
    #[arg(long, value_name = "POSITION", requires = "operator", value_delimiter = ',')]
    pub(super) to: Vec<u64>,
    /// The log's public key, for checkpoints; without it, that of the folder's proofs.key.
    #[arg(long, value_name = "VKEY")]
    pub(super) key: Option<VerifierKey>,
    /// A checkpoint that was kept elsewhere, to hold the log against; any number of them.
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub(super) checkpoints: Vec<PathBuf>,
    /// File of draw keys: every seal in the log is computed again. The keys reveal future draws.
    #[arg(long, value_name = "FILE")]
    pub(super) draw_keys: Option<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
