//! Errors of writing tables.

use std::io;

/// Error in writing a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Writing to the output failed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// The Parquet encoder failed.
    #[error("the output cannot be written: {0}")]
    Parquet(String),
    /// A sum exceeds 64 bits.
    #[error("a sum is past 64 bits")]
    Past64Bits,
    /// A value doesn't have its column's type: a program error.
    #[error("a value is not of its column's kind")]
    Kind,
}
