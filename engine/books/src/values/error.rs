//! The error of every figure.

/// Why a figure could not be read or computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not a decimal number of the allowed range and number of decimals.
    #[error("not a valid decimal figure")]
    Malformed,
    /// An ISO 4217 code that this service keeps no accounts in.
    #[error("unknown currency")]
    UnknownCurrency,
    /// The exact result does not fit.
    #[error("figure out of range")]
    OutOfRange,
}
