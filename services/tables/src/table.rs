use crate::{
    column::{Column, Kind, Rows, Value},
    error::TableError,
    parquet,
};
use motherlode_picture::figures::iso;
use serde_json::Value as Json;
use std::io::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Jsonl,
    Parquet,
}

pub struct Table<'a, W: Write + Send> {
    columns: &'static [Column],
    rows: u64,
    writer: Writer<'a, W>,
}

enum Writer<'a, W: Write + Send> {
    Csv(&'a mut W),
    Jsonl(&'a mut W),
    Parquet(Box<parquet::Writer<'a, W>>),
}

impl<'a, W: Write + Send> Table<'a, W> {
    pub fn new(format: Format, columns: &'static [Column], output: &'a mut W) -> Result<Self, TableError> {
        let writer = match format {
            Format::Csv => {
                let names: Vec<_> = columns.iter().map(|column| column.name).collect();
                write(output, &(names.join(",") + "\r\n"))?;
                Writer::Csv(output)
            }
            Format::Jsonl => Writer::Jsonl(output),
            Format::Parquet => Writer::Parquet(Box::new(parquet::Writer::new(columns, output)?)),
        };
        Ok(Self { columns, rows: 0, writer })
    }

    pub fn end(self) -> Result<u64, TableError> {
        if let Writer::Parquet(writer) = self.writer {
            writer.end()?;
        }
        Ok(self.rows)
    }
}

impl<W: Write + Send> Rows for Table<'_, W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), TableError> {
        self.rows += 1;
        match &mut self.writer {
            Writer::Csv(output) => write(output, &csv(values)),
            Writer::Jsonl(output) => write(output, &json(self.columns, values)),
            Writer::Parquet(writer) => writer.row(values),
        }
    }
}

fn write(output: &mut impl Write, text: &str) -> Result<(), TableError> {
    Ok(output.write_all(text.as_bytes())?)
}

fn csv(values: &[Value<'_>]) -> String {
    let mut line = String::new();
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            line.push(',');
        }
        match value {
            Value::Text(text) if text.contains(['"', ',', '\r', '\n']) => {
                line.push('"');
                line.push_str(&text.replace('"', "\"\""));
                line.push('"');
            }
            Value::Text(text) => line.push_str(text),
            Value::Int(number) => line.push_str(&number.to_string()),
            Value::Time(time) => line.push_str(&time.map(iso).unwrap_or_default()),
        }
    }
    line + "\r\n"
}

fn json(columns: &[Column], values: &[Value<'_>]) -> String {
    let mut line = String::new();
    for (column, value) in columns.iter().zip(values) {
        line.push(if line.is_empty() { '{' } else { ',' });
        line.push_str(&Json::from(column.name).to_string());
        line.push(':');
        match value {
            Value::Text(text) if column.kind == Kind::Json => line.push_str(text),
            Value::Text(text) => line.push_str(&Json::from(*text).to_string()),
            Value::Int(number) => line.push_str(&number.to_string()),
            Value::Time(time) => line.push_str(&time.map(iso).map_or(Json::Null, Json::from).to_string()),
        }
    }
    line + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::column;

    const COLUMNS: &[Column] = &[column("who", Kind::Text), column("what", Kind::Json), column("when", Kind::Time)];

    #[test]
    fn pl_34_a_line_of_csv_is_read_back_as_it_was() {
        let row = [Value::Text("a,b"), Value::Text(r#"{"a":"b"}"#), Value::Time(None), Value::Int(i64::MIN)];
        assert_eq!(csv(&row), "\"a,b\",\"{\"\"a\"\":\"\"b\"\"}\",,-9223372036854775808\r\n");
        assert_eq!(csv(&[Value::Time(Some(1_500)), Value::Text("")]), "1970-01-01T00:00:01.500Z,\r\n");
    }

    #[test]
    fn pl_34_a_line_of_json_has_its_columns_and_what_is_json_in_it_as_it_is() {
        let row = [Value::Text("a\"b"), Value::Text(r#"{"a":["1"]}"#), Value::Time(None)];
        assert_eq!(json(COLUMNS, &row), "{\"who\":\"a\\\"b\",\"what\":{\"a\":[\"1\"]},\"when\":null}\n");
    }
}
