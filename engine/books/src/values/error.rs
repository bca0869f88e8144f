//! Error of figures.

/// Error of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not an allowed decimal.
    #[error("not a valid decimal figure")]
    Malformed,
    /// Unsupported ISO 4217 code.
    #[error("unknown currency")]
    UnknownCurrency,
    /// The exact result overflows.
    #[error("figure out of range")]
    OutOfRange,
}
