//! Columns of tables, and the rows that are of them.

use crate::commands::Failure;

/// The values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

pub(super) const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Int(i64),
    /// Unix milliseconds.
    Time(Option<i64>),
}

impl Value<'_> {
    /// A number, which must fit into 64 bits.
    pub(super) fn of(number: impl TryInto<i64>) -> Result<Self, Failure> {
        number.try_into().map(Self::Int).map_err(|_| Failure::found("a sum is past 64 bits"))
    }
}

/// Takes rows.
pub(super) trait Rows {
    /// Takes a row: a value a column, in their order.
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), Failure>;
}
