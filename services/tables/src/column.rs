//! Columns and rows.

use crate::error::TableError;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// JSON object, or text.
    Json,
    /// 64-bit integer.
    Place,
    /// 32-bit integer.
    Count,
    /// UTC milliseconds, if any.
    Time,
}

/// Column.
#[derive(Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
}

/// Creates a column.
#[must_use]
pub const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// Value of a row.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Text or JSON object.
    Text(&'a str),
    /// Integer.
    Int(i64),
    /// Unix milliseconds.
    Time(Option<i64>),
}

impl Value<'_> {
    /// Converts an integer; fails beyond 64 bits.
    pub fn of(number: impl TryInto<i64>) -> Result<Self, TableError> {
        number.try_into().map(Self::Int).map_err(|_| TableError::Past64Bits)
    }
}

/// Receiver of rows.
pub trait Rows {
    /// Writes one value per column.
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), TableError>;
}
