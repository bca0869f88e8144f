//! Change feed on standard output (PL-34). Each record is one line of JSON, with the partition and position after which
//! a reader can resume.

use super::{Failure, sink::Sink, tie::Tie};
use crate::{event_json, figures::iso};
use motherlode_jetstream::Last;
use motherlode_proto::{
    convert::{play::hex, record},
    ledger::v1::FollowLogResponse,
};
use serde_json::json;
use std::io::{self, ErrorKind, Write};

pub(super) struct Feed {
    partition: u32,
    position: u64,
    tie: Tie,
}

impl Feed {
    pub(super) fn new(partition: u32, after: Last) -> Self {
        let (tie, position) = Tie::after(partition, after);
        Self { partition, position, tie }
    }
}

impl Sink for Feed {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn position(&self) -> u64 {
        self.position
    }

    /// Writes one line per record. Fails if a record does not follow the last written record.
    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure> {
        let mut output = io::stdout().lock();
        for stored in self.tie.records(&message)? {
            if stored.position <= self.position {
                return Err(Failure::found(format!(
                    "the service sent records in the wrong order: position {} after position {}",
                    stored.position, self.position
                )));
            }
            let line = line(self.partition, stored.position, &stored.record)? + "\n";
            output.write_all(line.as_bytes()).map_err(failed)?;
            self.position = stored.position;
        }
        output.flush().map_err(failed)?;
        self.position = self.position.max(message.sent_position);
        Ok(())
    }

    fn report(&self) -> Result<(), Failure> {
        Ok(())
    }
}

pub(super) fn line(partition: u32, position: u64, bytes: &[u8]) -> Result<String, Failure> {
    let malformed = |error| {
        Failure::found(format!("cannot decode the record at position {position} of partition {partition}: {error}"))
    };
    let commit = record::decode(bytes).map_err(malformed)?.commit;
    let events = event_json::events(bytes)?.into_iter().map(|(kind, event)| json!({"kind": kind, "event": event}));
    let line = json!({
        "partition": partition,
        "position": position,
        "time": iso(commit.time_ms),
        "stream": commit.stream.to_string(),
        "request_id": commit.request_id,
        "sha256": hex(&motherlode_log::hash(bytes)),
        "events": events.collect::<Vec<_>>(),
    });
    Ok(line.to_string())
}

fn failed(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure { code: 1, message: String::new() },
        _ => Failure::found(format!("the feed cannot be written: {error}")),
    }
}
