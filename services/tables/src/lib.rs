//! Tables as files: CSV (RFC 4180), JSON Lines or Parquet, a row at a time into whatever is written to. The command line's exports and
//! the console's reports are these.
//!
//! All numbers are whole; money is minor units beside its currency. Costs: a row group of Parquet is in memory until it's full, at most
//! 65,536 rows and 16 MiB of texts.

mod column;
mod error;
mod parquet;
mod table;

pub use column::{Column, Kind, Rows, Value, column};
pub use error::TableError;
pub use table::{Format, Table};
