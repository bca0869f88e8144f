//! Each command verifies the hash chain up to the records that it shows. The exit code is 1 if the log is damaged, and 2 if
//! the log or the record does not exist.

use super::{Failure, config_file::LogAccess, say};
use motherlode_log::{Position, Record, hash, previous_hash};
use motherlode_picture::event::{self, EventText};
use motherlode_proto::convert::{
    play::hex,
    record::{self, Logged},
};
use motherlode_server::{LogLocation, RecordsError};
use motherlode_state::HOME;
use std::{collections::VecDeque, fmt::Write};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    /// Show the last records, one per line.
    Tail {
        #[command(flatten)]
        at: At,
        /// Number of records.
        #[arg(long, value_name = "N", default_value_t = 10)]
        records: usize,
    },
    /// Show one record with all its events.
    Show {
        #[command(flatten)]
        at: At,
        /// Position of the record.
        #[arg(value_name = "POSITION", value_parser = position)]
        position: Position,
    },
    /// Verify checksums and the hash chain; `audit` also verifies the records' content.
    Verify {
        #[command(flatten)]
        at: At,
    },
}

fn position(text: &str) -> Result<Position, String> {
    text.parse().map_err(|_| "must be a whole number from 1, such as 17".to_owned())
}

#[derive(Debug, Clone, clap::Args)]
struct At {
    /// Data folder, or nats://host:port,...
    #[arg(value_name = "PLACE")]
    place: String,
    /// Partition to read. Default: 0; for `verify`, all partitions.
    #[arg(long, value_name = "N")]
    partition: Option<u32>,
    #[command(flatten)]
    access: LogAccess,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.what {
        What::Tail { at, records } => tail(&at.location()?, at.one(), *records),
        What::Show { at, position } => show(&at.location()?, at.one(), *position),
        What::Verify { at } => verify(&at.location()?, at.partition),
    }
}

impl At {
    fn location(&self) -> Result<LogLocation, Failure> {
        self.access.location(&self.place)
    }

    fn one(&self) -> u32 {
        self.partition.unwrap_or(HOME)
    }
}

fn tail(log: &LogLocation, partition: u32, count: usize) -> Result<(), Failure> {
    let mut last = VecDeque::new();
    for record in log.existing(partition)? {
        last.push_back(record?);
        if last.len() > count {
            last.pop_front();
        }
    }
    let mut text = String::new();
    for record in &last {
        let line = line(&logged(record)?);
        let _ = writeln!(text, "{line}");
    }
    say(&text)
}

fn show(log: &LogLocation, partition: u32, position: Position) -> Result<(), Failure> {
    let mut records = log.existing(partition)?;
    for record in records.by_ref() {
        let record = record?;
        if record.position == position {
            return say(&whole(&record)?);
        }
    }
    let (end, _) = records.verified();
    Err(Failure::unusable(format!("{log} has no record at position {position}"))
        .with_step(&format!("Name a position from 1 to {end}, the end of partition {partition}")))
}

fn verify(log: &LogLocation, partition: Option<u32>) -> Result<(), Failure> {
    let count = log.existing_count()?;
    let mut text = String::new();
    for partition in partition.map_or(0..count, |one| one..one.saturating_add(1)) {
        let mut records = log.existing(partition)?;
        let mut bytes = 0_u64;
        for record in records.by_ref() {
            bytes += record?.bytes.len() as u64;
        }
        let (position, head) = records.verified();
        // A service writes at least one record to each partition, so an empty partition counts as missing.
        if position == 0 {
            let location = Box::new(log.clone());
            return Err(RecordsError::Missing { location, partition: Some(partition) }.into());
        }
        let of = if count > 1 { format!(" partition {partition}") } else { String::new() };
        let sound = format!("sound up to position {position}, {bytes} bytes of records");
        let _ = write!(text, "{log}{of}: {sound}\n  head hash {}\n", hex(&head));
    }
    say(&text)
}

fn logged(record: &Record) -> Result<Logged, Failure> {
    let position = record.position;
    record::decode(&record.bytes)
        .map_err(|malformed| Failure::found(format!("cannot decode the record at position {position}: {malformed}")))
}

fn line(logged: &Logged) -> String {
    let commit = &logged.commit;
    let kind = |event: &motherlode_state::Event| {
        let shown = format!("{event:?}");
        let end = shown.find(|letter: char| !letter.is_alphanumeric());
        shown[..end.unwrap_or(shown.len())].to_owned()
    };
    let kinds: Vec<_> = commit.events.iter().map(kind).collect();
    format!(
        "{:>8}  {}  {} v{}  {}  {}",
        commit.position,
        motherlode_picture::figures::iso(commit.time_ms),
        commit.stream,
        commit.version,
        commit.request_id,
        kinds.join(" ")
    )
}

fn in_words(event: &EventText) -> String {
    let width = event.fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let fields = event.fields.iter().map(|(name, value)| format!("  {name:<width$}  {value}\n"));
    format!("\n{}\n{}", event.kind, fields.collect::<String>())
}

fn whole(record: &Record) -> Result<String, Failure> {
    let logged = logged(record)?;
    let mut text = format!(
        "{}\n  {} bytes, hash {}\n  previous hash {}\n",
        line(&logged),
        record.bytes.len(),
        hex(&hash(&record.bytes)),
        hex(&previous_hash(&record.bytes).unwrap_or_default())
    );
    if let Some(proposer) = &logged.proposer {
        let roles = if proposer.roles.is_empty() { "none" } else { &*proposer.roles };
        let _ = writeln!(text, "  proposed by {}, roles: {roles}", proposer.credential);
    }
    for event in event::of_record(&record.bytes) {
        text.push_str(&in_words(&event));
    }
    for (currency, balance) in &logged.balances_after {
        let _ = writeln!(text, "player's balance after the record: {} {currency}", balance.to_decimal(*currency));
    }
    for (currency, due) in &logged.due_after {
        let _ = writeln!(
            text,
            "amount due to the player's wallet after the record: {} {currency}",
            due.to_decimal(*currency)
        );
    }
    Ok(text)
}
