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
    /// The named field is missing, or its value is invalid.
    #[error("field {0} is missing or malformed")]
    Field(&'static str),
}
