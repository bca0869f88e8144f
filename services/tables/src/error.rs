//! Errors.

use std::io;

/// Error in writing a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Output failed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// Encoder failed.
    #[error("the output cannot be written: {0}")]
    Parquet(String),
    /// Sum exceeds 64 bits.
    #[error("a sum exceeds 64 bits")]
    Past64Bits,
    /// Wrong type of a value (program error).
    #[error("a value does not have its column's type")]
    Kind,
}
