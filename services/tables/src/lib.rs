//! Tables as CSV (RFC 4180), JSON Lines or Parquet, written row by row. Money is in minor units, with a separate
//! currency column. Parquet output buffers one row group: at most 65,536 rows and 16 MiB of text.

mod column;
mod error;
mod parquet;
mod table;

pub use column::{Column, Kind, Rows, Value, column};
pub use error::TableError;
pub use table::{Format, Table};
