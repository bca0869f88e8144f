//! Publishes the log as a tile log: a Merkle tree over each partition's records, signed checkpoints, and proofs.
//!
//! [`Proofs`] adds records to the trees and signs a checkpoint once per second and at shutdown. [`ProofApi`] serves
//! proofs over gRPC; [`serve_tiles`] serves the trees and checkpoints over HTTP. [`Witnesses`] requests cosignatures
//! from witnesses; [`Witness`] implements a witness.
//!
//! The folder `proofs/<partition>` contains the files `entries` (each record's SHA-256), `1` to `4` (hashes of tile
//! levels 1 to 4; level 0 is computed) and `checkpoint`. If a file is missing or damaged, everything except the
//! signatures is rebuilt from the log.
//!
//! Proofs never delay a bet or stop the log. Failed writes are retried. If the log contradicts the signed checkpoints
//! at startup, the service does not start; if it contradicts them later, signing ends and the reason is reported.

mod api;
mod brief;
mod copied;
mod files;
mod growing;
mod http1;
mod key;
mod proofs;
mod public;
mod round;
mod start;
mod static_files;
mod witness;
mod witnesses;

pub use api::ProofApi;
pub use brief::{NotWorkedOut, whole};
pub use copied::{COPIED_MAX, restored, shortened};
pub use files::{Files, FilesError, proofs_folder};
pub use growing::Contradiction;
pub use key::{
    KeyError, check_key, check_log_key, key_file, load, load_or_make, make, of_partition, of_restore, origin,
};
pub use proofs::{Extent, Proofs, ProofsError};
pub use round::proof_of;
pub use static_files::serve_tiles;
pub use witness::{Witness, WitnessError};
pub use witnesses::Witnesses;
