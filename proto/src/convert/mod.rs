//! Conversion between wire or log messages and the engine's types.
//!
//! * [`record`]: commit as a record of the log
//! * [`event`]: events as messages; `table`: numbers and fields of events; `values`: encoding of each type; `plain`: the
//!   plain form
//! * [`asked`]: bets; [`play`]: choices of rounds
//! * [`outcome`]: result of a step; [`played`]: answer with a step's result
//! * [`copied`]: record in an operator's copy of the log
//! * [`refused`]: refusals of the books, sent between processes

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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("not a protobuf message: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// The field is missing, or its value is invalid.
    #[error("field {0} is missing or malformed")]
    Field(&'static str),
}
