//! Exports one row per event, with the same redaction as in the events that an operator receives from the service.

use super::{row_filter::RowFilter, source::Read};
use crate::{commands::Failure, event_json};
use motherlode_tables::{
    Column,
    Kind::{Count, Integer, Json, Text, Time},
    Rows, Value, column,
};

pub(super) const COLUMNS: &[Column] = &[
    column("partition", Count),
    column("position", Integer),
    column("number", Count),
    column("time", Time),
    column("stream", Text),
    column("request_id", Text),
    column("kind", Text),
    column("event", Json),
];

pub(super) fn take(read: &Read, wanted: &RowFilter, rows: &mut dyn Rows) -> Result<(), Failure> {
    let commit = &read.logged.commit;
    if !wanted.day(commit.time_ms) || wanted.operator.as_ref().is_some_and(|operator| !commit.concerns(operator)) {
        return Ok(());
    }
    let stream = commit.stream.to_string();
    for (number, (kind, event)) in (1..).zip(event_json::events(&read.bytes)?) {
        rows.row(&[
            Value::Int(commit.partition.into()),
            Value::from_number(commit.position)?,
            Value::Int(number),
            Value::Time(Some(commit.time_ms)),
            Value::Text(&stream),
            Value::Text(&commit.request_id),
            Value::Text(&kind),
            Value::Text(&event.to_string()),
        ])?;
    }
    Ok(())
}
