//! Columns and rows of tables.

use crate::error::TableError;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// JSON object; text in formats without such a type.
    Json,
    /// 64-bit integer.
    Place,
    /// 32-bit integer.
    Count,
    /// Optional UTC time in milliseconds.
    Time,
}

/// Column of a table.
#[derive(Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
}

/// Creates a column.
#[must_use]
pub const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// Value in a row.
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
    /// Converts an integer to 64 bits.
    ///
    /// # Errors
    /// [`TableError::Past64Bits`].
    pub fn of(number: impl TryInto<i64>) -> Result<Self, TableError> {
        number.try_into().map(Self::Int).map_err(|_| TableError::Past64Bits)
    }
}

/// Receiver of rows.
pub trait Rows {
    /// Writes a row with one value per column, in column order.
    ///
    /// # Errors
    /// See [`TableError`].
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), TableError>;
}
