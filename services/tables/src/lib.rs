//! Tables as CSV (RFC 4180), JSON Lines or Parquet, written row by row. Used by the command line's exports and the console's
//! reports.
//!
//! Numbers are integers; money is minor units with a separate currency column. A Parquet row group is buffered in memory: at most
//! 65,536 rows and 16 MiB of text.

mod column;
mod error;
mod parquet;
mod table;

pub use column::{Column, Kind, Rows, Value, column};
pub use error::TableError;
pub use table::{Format, Table};
