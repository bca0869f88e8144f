use crate::commands::{Format, config_file::LogAccess};
use motherlode_tiles::VerifierKey;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Data folder of `serve`, folder of a copy made by `follow`, or nats://host:port,... A log on JetStream is first
    /// copied to a temporary folder.
    #[arg(value_name = "PLACE")]
    pub(super) data: PathBuf,
    #[command(flatten)]
    pub(super) access: LogAccess,
    /// Also print the digest of this operator's records, for comparison with the operator's copy.
    #[arg(long, value_name = "NAME")]
    pub(super) operator: Option<String>,
    /// Last position that the digest of --operator covers, as printed by an audit of the operator's copy. Default: the
    /// log's end. Further positions, after commas, are for partitions 1, 2, and so on.
    #[arg(long, value_name = "POSITION", requires = "operator", value_delimiter = ',')]
    pub(super) to: Vec<u64>,
    /// Public key of the log, to verify checkpoints. Default: the public key of proofs.key in the folder.
    #[arg(long, value_name = "VKEY")]
    pub(super) key: Option<VerifierKey>,
    /// Compare the log with this separately saved checkpoint. Can be repeated.
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub(super) checkpoints: Vec<PathBuf>,
    /// Recompute each seal (hash of a random value) in the log from this file of draw keys. Keep the file secret: its
    /// keys reveal future values.
    #[arg(long, value_name = "FILE")]
    pub(super) draw_keys: Option<PathBuf>,
    /// Print the digest of the state at this position, to confirm a base. Further positions, after commas,
    /// are for partitions 1, 2, and so on.
    #[arg(long, value_name = "POSITION", value_delimiter = ',')]
    pub(super) base: Vec<u64>,
    /// Archive that contains the records removed from a pruned log.
    #[arg(long, value_name = "PLACE")]
    pub(super) archive: Option<String>,
    /// Audit a pruned log from the snapshot of its state in this folder's `index/`. The log must contain a confirmed
    /// base with the snapshot's digest.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["archive", "base", "operator"])]
    pub(super) from_base: Option<PathBuf>,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
