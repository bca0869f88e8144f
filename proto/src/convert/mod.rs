//! Where wire and log messages meet the engine's types.
//!
//! * [`record`] — a commit of the books as a record of the log, and back.
//! * [`event`] — the events in it, as messages.
//! * `table` — each event once: its number and those of its fields.
//! * [`asked`] — bets as they are asked for; [`play`] — choices of rounds.
//! * [`outcome`] — what a step showed and won; [`played`] — the answer to it.
//! * `values` — how a field of each type is written and read; `plain`, the form in which.
//! * [`copied`] — such a record in an operator's copy of the log.
//! * [`refused`] — why the books refuse a commit, between processes.

pub mod asked;
pub mod copied;
pub mod event;
pub mod outcome;
mod plain;
pub mod play;
pub mod played;
pub mod record;
pub mod refused;
mod table;
mod values;

/// Why a message of the log is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes are no protobuf message of the type.
    #[error("not a protobuf message: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// A field is missing or has a value that its type does not allow.
    #[error("field {0} is missing or malformed")]
    Field(&'static str),
}
