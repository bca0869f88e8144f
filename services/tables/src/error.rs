use std::io;

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("cannot write the table: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write the table: {0}")]
    Parquet(String),
    #[error("a number in the table exceeds 64 bits")]
    Past64Bits,
    #[error("a value does not have the type of its column; please report this bug")]
    Kind,
}
