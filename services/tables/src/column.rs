use crate::error::TableError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Json,
    Integer,
    Count,
    /// Date as text, such as 2026-11-27.
    Date,
    /// Optional time in Unix milliseconds.
    Time,
}

#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

#[must_use]
pub const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    Text(&'a str),
    Int(i64),
    Time(Option<i64>),
}

impl Value<'_> {
    pub fn from_number(number: impl TryInto<i64>) -> Result<Self, TableError> {
        number.try_into().map(Self::Int).map_err(|_| TableError::Past64Bits)
    }
}

pub trait Rows {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), TableError>;
}
