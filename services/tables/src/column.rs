//! Columns of tables, and the rows that are of them.

use crate::error::TableError;

/// The values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// An object in JSON; where there is none in the format, as a text.
    Json,
    /// A whole number of 64 bits.
    Place,
    /// A whole number of 32 bits.
    Count,
    /// A time in UTC, to the millisecond, or none.
    Time,
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
}

/// A column.
#[must_use]
pub const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// A text, or an object in JSON.
    Text(&'a str),
    /// A whole number.
    Int(i64),
    /// Unix milliseconds.
    Time(Option<i64>),
}

impl Value<'_> {
    /// A number, which must fit into 64 bits.
    ///
    /// # Errors
    /// [`TableError::Past64Bits`].
    pub fn of(number: impl TryInto<i64>) -> Result<Self, TableError> {
        number.try_into().map(Self::Int).map_err(|_| TableError::Past64Bits)
    }
}

/// Takes rows.
pub trait Rows {
    /// Takes a row: a value a column, in their order.
    ///
    /// # Errors
    /// See [`TableError`].
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), TableError>;
}
