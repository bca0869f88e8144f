//! Exports tables (PL-34). An export reads the log twice: first to collect voids and jackpots that come after the end
//! of their rounds, then to write the rows. Memory use grows with the number of open rounds, voids, jackpots and
//! revenue rows.

mod events;
mod later;
mod output;
mod rounds;
mod row_filter;
mod source;
mod sums;
mod transactions;

use super::{Failure, config_file::LogAccess, progress::shown};
use crate::{figures::grouped, target::Target};
use motherlode_tables::{self as tables, Table, TableError};
use output::Output;
use row_filter::RowFilter;
use source::{Read, Source};
use std::{path::PathBuf, sync::atomic::Ordering};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Table to export.
    #[arg(value_enum, value_name = "TABLE")]
    table: TableName,
    /// Data folder, nats://host:port,..., or a service's URL; by default the service at --target.
    #[arg(value_name = "PLACE")]
    place: Option<String>,
    /// Format of the table.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// First day, in UTC according to the log's timestamps.
    #[arg(long, value_name = "YYYY-MM-DD")]
    from: Option<String>,
    /// Last day, inclusive.
    #[arg(long, value_name = "YYYY-MM-DD")]
    to: Option<String>,
    /// Export only this operator's rows. An operator's credential gives access only to its own rows in any case.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// File to write, which appears under this name when it is complete; - means standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    #[command(flatten)]
    access: LogAccess,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Comma-separated values, with the column names in the first line.
    Csv,
    /// JSON Lines, one object per row.
    Jsonl,
    /// Parquet with integers, strings, dates and timestamps, compressed with gzip.
    Parquet,
}

impl From<Format> for tables::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Csv => Self::Csv,
            Format::Jsonl => Self::Jsonl,
            Format::Parquet => Self::Parquet,
        }
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Output(error) => Output::failed(error),
            error => Self::found(error),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TableName {
    /// One row per round, with later voids and jackpots; the row's day is the day of the bet.
    Rounds,
    /// One row per change of a player's account.
    Transactions,
    /// Sums per day, operator, game and currency.
    Revenue,
    /// One row per event of the log.
    Events,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let wanted = RowFilter::new(args.from.as_deref(), args.to.as_deref(), args.operator.clone())?;
    let mut source = match args.place.as_deref() {
        Some(url) if url.contains("://") && !url.starts_with("nats://") => Source::service(&args.target.at(url))?,
        Some(place) => Source::log(args.access.location(place)?)?,
        None => Source::service(&args.target)?,
    };
    let mut output = Output::open(&args.out)?;
    let (rows, records) = shown("records", |count| {
        let mut read = |record: &mut dyn FnMut(&Read) -> Result<(), Failure>| {
            source.read(&mut |read| {
                count.fetch_add(1, Ordering::Relaxed);
                record(read)
            })
        };
        let written = match args.table {
            TableName::Rounds => {
                let mut later = later::Later::default();
                read(&mut |read| later.take(read, &wanted))?;
                let mut table = Table::new(args.format.into(), rounds::COLUMNS, &mut output)?;
                let mut rounds = rounds::Rounds::new(later, &wanted);
                read(&mut |read| rounds.take(read, &mut table))?;
                rounds.end(&mut table)?;
                table.end()
            }
            TableName::Transactions => {
                let mut later = later::Later::default();
                read(&mut |read| later.take(read, &wanted))?;
                let mut table = Table::new(args.format.into(), transactions::COLUMNS, &mut output)?;
                let mut rows = later::Transactions::new(later);
                read(&mut |read| transactions::take(&mut rows, read, &wanted, &mut table))?;
                table.end()
            }
            TableName::Revenue => {
                let mut later = later::Later::default();
                read(&mut |read| later.take(read, &wanted))?;
                let mut table = Table::new(args.format.into(), sums::COLUMNS, &mut output)?;
                let mut sums = sums::Sums::new(later);
                read(&mut |read| sums.take(read, &wanted))?;
                sums.end(&mut table)?;
                table.end()
            }
            TableName::Events => {
                let mut table = Table::new(args.format.into(), events::COLUMNS, &mut output)?;
                read(&mut |read| events::take(read, &wanted, &mut table))?;
                table.end()
            }
        };
        Ok::<_, Failure>((written?, count.load(Ordering::Relaxed)))
    })?;
    output.end()?;
    match rows {
        0 => {
            eprintln!("No activity: {} records were read, and none matches the request.", grouped(&records.to_string()))
        }
        rows => eprintln!("{} rows.", grouped(&rows.to_string())),
    }
    Ok(())
}
