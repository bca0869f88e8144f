//! Transparency log: a Merkle tree with tiles, signed checkpoints, proofs and witnesses. The crate uses no I/O, clock
//! or randomness. It reads the hashes of the tree through [`Stored`], which the caller implements.
//!
//! | items | implemented revision of the specification |
//! |---|---|
//! | [`Tree`], [`inclusion`], [`consistency`] and their verification | RFC 6962 section 2.1, RFC 9162 section 2.1.3 and 2.1.4 |
//! | [`Tile`] | c2sp.org/tlog-tiles, commit 1cd32db of 5 February 2026 (after v0.1.0) |
//! | [`Note`], [`VerifierKey`], [`SignerKey`] | c2sp.org/signed-note@v1.0.0, commit b3a911e of 23 April 2026 |
//! | [`Checkpoint`] | c2sp.org/tlog-checkpoint@v1.0.0, commit c0d0289 of 11 July 2026 |
//! | [`Proof`] | c2sp.org/tlog-proof, commit ab17a74 of 22 May 2026 |
//! | cosignatures (v1, Ed25519): [`SignerKey::cosign`] | c2sp.org/tlog-cosignature@v1.0.1, commit 01194db of 3 June 2026 |
//! | [`AddCheckpoint`], [`judge`] | c2sp.org/tlog-witness@v1.0.0, commit 95978ca of 6 July 2026 |
//! | [`Policy`] | c2sp.org/tlog-policy, commit 1896a5a of 22 June 2026 |
//!
//! Each value has exactly one text form. Lists are bounded, and no input causes a panic. Signatures of unknown types,
//! such as ML-DSA-44, are ignored.

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

pub use checkpoint::{Checkpoint, without_restore};
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
