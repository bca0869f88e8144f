//! A log that strangers check: its Merkle tree by tiles, checkpoints that are signed, proofs, and what a witness says.
//!
//! Pure mathematics and formats: no I/O, no clock, nothing random. Whoever holds the hashes hands them in ([`Stored`]), and
//! the time of a cosignature is an argument.
//!
//! | here | specification, at the revision that this was written from |
//! |---|---|
//! | [`Tree`], [`inclusion`], [`consistency`] and how both are verified | RFC 6962 section 2.1, RFC 9162 section 2.1.3 and 2.1.4 |
//! | [`Tile`] | c2sp.org/tlog-tiles, commit 1cd32db of 5 February 2026 (v0.1.0 and what came since) |
//! | [`Note`], [`VerifierKey`], [`SignerKey`] | c2sp.org/signed-note@v1.0.0, commit b3a911e of 23 April 2026 |
//! | [`Checkpoint`] | c2sp.org/tlog-checkpoint@v1.0.0, commit c0d0289 of 11 July 2026 |
//! | [`Proof`] | c2sp.org/tlog-proof, commit ab17a74 of 22 May 2026 |
//! | cosignatures (v1, Ed25519): [`SignerKey::cosign`] | c2sp.org/tlog-cosignature@v1.0.1, commit 01194db of 3 June 2026 |
//! | [`AddCheckpoint`], [`judge`] | c2sp.org/tlog-witness@v1.0.0, commit 95978ca of 6 July 2026 |
//! | [`Policy`] | c2sp.org/tlog-policy, commit 1896a5a of 22 June 2026 |
//!
//! Costs: an entry two hashes in the mean (about 0.35 microseconds), a tree some 30 hashes of memory; a proof reads at most
//! 255 hashes a level of tiles, so of ten million entries it takes about 0.3 milliseconds.
//!
//! Promises: what is written is read back as the same, and each text has one reading; no input makes anything panic, and every
//! list has a bound. ML-DSA-44 signatures, which the specifications recommend for new ones, are not spoken yet: like all unknown
//! signatures they are passed over.

mod checkpoint;
mod keys;
mod merkle;
mod note;
mod policy;
mod proof;
mod signature;
mod text;
mod tile;
mod tlog_proof;
mod witness;

pub use checkpoint::Checkpoint;
pub use keys::{KeyKind, SignerKey, VerifierKey};
pub use merkle::{Hash, Stored, Tree, empty, leaf, node, root};
pub use note::{Note, NoteError, SIGNATURES_MAX};
pub use policy::Policy;
pub use proof::{consistency, inclusion, is_consistent, is_included};
pub use signature::Signature;
pub use text::Malformed;
pub use tile::{TILE_WIDTH, Tile};
pub use tlog_proof::Proof;
pub use witness::{AddCheckpoint, Seen, Unwitnessed, judge};
