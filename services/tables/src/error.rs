//! Why a table can't be written.

use std::io;

/// Why a table can't be written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The output refuses.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// Parquet can't have it.
    #[error("the output cannot be written: {0}")]
    Parquet(String),
    /// A sum is past what the formats have.
    #[error("a sum is past 64 bits")]
    Past64Bits,
    /// A value is not of its column's kind: a fault of the program.
    #[error("a value is not of its column's kind")]
    Kind,
}
