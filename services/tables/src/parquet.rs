use crate::{
    column::{Column, Kind, Value},
    error::TableError,
};
use motherlode_state::date;
use parquet::{
    basic::{Compression, ConvertedType, GzipLevel, LogicalType, Repetition, TimeUnit, Type as Physical},
    data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use std::{io::Write, sync::Arc};

/// Limits of a row group. A single row may exceed the byte limit.
const ROWS: usize = 65_536;
const BYTES: usize = 16 << 20;

pub(crate) struct Writer<'a, W: Write + Send> {
    file: SerializedFileWriter<&'a mut W>,
    columns: Vec<ColumnValues>,
    rows: usize,
    bytes: usize,
}

enum ColumnValues {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Counts(Vec<i32>),
    /// Days since 1970-01-01.
    Days(Vec<i32>),
    /// The times that are present, and each row's definition level: 1 if the row has a time, 0 if not.
    Times(Vec<i64>, Vec<i16>),
}

impl<'a, W: Write + Send> Writer<'a, W> {
    pub(crate) fn new(columns: &[Column], output: &'a mut W) -> Result<Self, TableError> {
        let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_, _>>();
        let schema = Type::group_type_builder("motherlode").with_fields(fields.map_err(failed)?).build();
        let compression = Compression::GZIP(GzipLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = SerializedFileWriter::new(output, Arc::new(schema.map_err(failed)?), Arc::new(properties));
        let columns = columns.iter().map(held).collect();
        Ok(Self { file: file.map_err(failed)?, columns, rows: 0, bytes: 0 })
    }

    pub(crate) fn row(&mut self, values: &[Value<'_>]) -> Result<(), TableError> {
        for (held, value) in self.columns.iter_mut().zip(values) {
            match (held, value) {
                (ColumnValues::Texts(held), Value::Text(text)) => {
                    self.bytes += text.len();
                    held.push(ByteArray::from(*text));
                }
                (ColumnValues::Days(held), Value::Text(text)) => {
                    let day = date::parse(text).and_then(|day| i32::try_from(day).ok());
                    held.push(day.ok_or(TableError::Kind)?);
                }
                (ColumnValues::Integers(held), Value::Int(number)) => held.push(*number),
                (ColumnValues::Counts(held), Value::Int(number)) => {
                    held.push(i32::try_from(*number).map_err(|_| TableError::Past64Bits)?)
                }
                (ColumnValues::Times(held, there), Value::Time(time)) => {
                    held.extend(time);
                    there.push(time.is_some().into());
                }
                _ => return Err(TableError::Kind),
            }
        }
        self.rows += 1;
        if self.rows == ROWS || self.bytes >= BYTES { self.flush().map_err(failed) } else { Ok(()) }
    }

    pub(crate) fn end(mut self) -> Result<(), TableError> {
        if self.rows > 0 {
            self.flush().map_err(failed)?;
        }
        self.file.close().map(|_| ()).map_err(failed)
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for held in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match held {
                ColumnValues::Texts(held) => _ = column.typed::<ByteArrayType>().write_batch(held, None, None)?,
                ColumnValues::Integers(held) => _ = column.typed::<Int64Type>().write_batch(held, None, None)?,
                ColumnValues::Counts(held) | ColumnValues::Days(held) => {
                    _ = column.typed::<Int32Type>().write_batch(held, None, None)?
                }
                ColumnValues::Times(held, there) => {
                    column.typed::<Int64Type>().write_batch(held, Some(there), None)?;
                    there.clear();
                }
            }
            column.close()?;
            match held {
                ColumnValues::Texts(held) => held.clear(),
                ColumnValues::Integers(held) | ColumnValues::Times(held, _) => held.clear(),
                ColumnValues::Counts(held) | ColumnValues::Days(held) => held.clear(),
            }
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical, repetition) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json), Repetition::REQUIRED),
        Kind::Integer => (Physical::INT64, None, Repetition::REQUIRED),
        Kind::Count => (Physical::INT32, None, Repetition::REQUIRED),
        Kind::Date => (Physical::INT32, Some(LogicalType::Date), Repetition::REQUIRED),
        Kind::Time => {
            let time = LogicalType::timestamp(true, TimeUnit::MILLIS);
            (Physical::INT64, Some(time), Repetition::OPTIONAL)
        }
    };
    let field = Type::primitive_type_builder(column.name, physical).with_repetition(repetition);
    field.with_converted_type(ConvertedType::NONE).with_logical_type(logical).build()
}

fn held(column: &Column) -> ColumnValues {
    match column.kind {
        Kind::Text | Kind::Json => ColumnValues::Texts(vec![]),
        Kind::Integer => ColumnValues::Integers(vec![]),
        Kind::Count => ColumnValues::Counts(vec![]),
        Kind::Date => ColumnValues::Days(vec![]),
        Kind::Time => ColumnValues::Times(vec![], vec![]),
    }
}

fn failed(error: ParquetError) -> TableError {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => TableError::Output(*error),
            Err(error) => TableError::Parquet(error.to_string()),
        },
        error => TableError::Parquet(error.to_string()),
    }
}
