use std::io;

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    #[error("the output cannot be written: {0}")]
    Parquet(String),
    #[error("a sum exceeds 64 bits")]
    Past64Bits,
    /// The value's type is not that of the column (program error).
    #[error("a value does not have its column's type")]
    Kind,
}
