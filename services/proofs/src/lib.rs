//! The log as a tile log: a tree over each partition's records, its signed checkpoints, and the proofs made from both.
//!
//! [`Proofs`] follows the ledgers that are written here, puts each record's hash into the tree, and signs a checkpoint once a
//! second where the log has grown, and at a stop. [`ProofApi`] answers with proofs over gRPC; [`serve_tiles`] gives tree and
//! checkpoints out over HTTP as the files of a tile log; [`Witnesses`] has checkpoints cosigned, and [`Witness`] is one that does
//! so. The formats are [`motherlode_tiles`]'s.
//!
//! Beside the log stand, in `proofs/<partition>`: `entries` (32 bytes a record: its SHA-256, which the log's chain names), `1` to
//! `4` (the hashes of those levels of tiles; level 0 is computed from the entries), and `checkpoint`. All but the signatures can
//! be derived from the log: what is missing or damaged is made anew.
//!
//! Promises: nothing here delays a bet or stops the log; what the disk refuses is tried again. No checkpoint is signed that
//! does not continue the last one: where the log is not the one that was signed, the start is refused, or, where that shows only
//! once the tree is made anew, nothing is signed any more and the reason is told.
//!
//! Costs: about half a microsecond and 42 bytes a record; a signature a second (30 microseconds).

mod api;
mod brief;
mod copied;
mod files;
mod growing;
mod http1;
mod key;
mod proofs;
mod round;
mod sorted;
mod start;
mod static_files;
mod witness;
mod witnesses;

pub use api::ProofApi;
pub use brief::{NotWorkedOut, whole};
pub use copied::{COPIED_MAX, restored, shortened};
pub use files::{Files, FilesError, proofs_folder};
pub use growing::Contradiction;
pub use key::{KeyError, key_file, load, load_or_make, make, of_partition, origin};
pub use proofs::{Extent, Proofs, ProofsError};
pub use round::proof_of;
pub use static_files::serve_tiles;
pub use witness::{Witness, WitnessError};
pub use witnesses::Witnesses;
