#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    #[error("the text is not a valid decimal number")]
    Malformed,
    #[error("unknown currency")]
    UnknownCurrency,
    #[error("the number is outside the allowed range")]
    OutOfRange,
}
