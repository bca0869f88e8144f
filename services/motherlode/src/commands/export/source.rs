use crate::{client, commands::Failure, target::Target};
use motherlode_proto::{
    convert::record::{self, Logged},
    ledger::v1::{FollowLogRequest, ledger_service_client::LedgerServiceClient},
};
use motherlode_runtime::connect::Connection;
use motherlode_server::LogLocation;
use std::{collections::BTreeMap, time::Duration};
use tokio::runtime::Runtime;
use tonic::Status;

const MESSAGE_BYTES_MAX: usize = 64 << 20;
const FAILURES_MAX: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(250);

pub(super) struct Read {
    pub(super) logged: Logged,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Source {
    from: From,
    ends: BTreeMap<u32, u64>,
    partitions: u32,
}

enum From {
    Log(LogLocation),
    Service { runtime: Runtime, ledger: LedgerServiceClient<Connection> },
}

pub(super) type Take<'a> = &'a mut dyn FnMut(&Read) -> Result<(), Failure>;

impl Source {
    pub(super) fn log(location: LogLocation) -> Result<Self, Failure> {
        let partitions = location.existing_count()?;
        Ok(Self { from: From::Log(location), ends: BTreeMap::new(), partitions })
    }

    pub(super) fn service(target: &Target) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
        let (ledger, partitions) = runtime.block_on(async {
            let connection = target.connect().await?;
            let mut ledger = LedgerServiceClient::new(connection).max_decoding_message_size(MESSAGE_BYTES_MAX);
            let partitions = client::whole_log(&mut ledger).await?;
            Ok::<_, Failure>((ledger, partitions))
        })?;
        let ends: BTreeMap<_, _> = partitions.iter().map(|of| (of.partition, of.position)).collect();
        let partitions = u32::try_from(ends.len()).map_err(Failure::found)?;
        Ok(Self { from: From::Service { runtime, ledger }, ends, partitions })
    }

    pub(super) fn read(&mut self, take: Take<'_>) -> Result<(), Failure> {
        for partition in 0..self.partitions {
            let end = self.ends.get(&partition).copied();
            let last = match &mut self.from {
                From::Log(location) => of_log(location, partition, end, take)?,
                From::Service { runtime, ledger } => {
                    let end = end.unwrap_or_default();
                    runtime.block_on(of_service(ledger, partition, end, take))?;
                    end
                }
            };
            self.ends.insert(partition, last);
        }
        Ok(())
    }
}

fn of_log(location: &LogLocation, partition: u32, end: Option<u64>, take: Take<'_>) -> Result<u64, Failure> {
    let mut last = 0;
    if end == Some(0) {
        return Ok(last);
    }
    for record in location.existing(partition)? {
        let record = record?;
        last = record.position;
        take(&decoded(record.position, record.bytes.to_vec())?)?;
        if Some(last) == end {
            break;
        }
    }
    Ok(last)
}

async fn of_service(
    ledger: &mut LedgerServiceClient<Connection>,
    partition: u32,
    end: u64,
    take: Take<'_>,
) -> Result<(), Failure> {
    let (mut sent, mut failures, mut wait) = (0, 0, FIRST_WAIT);
    while sent < end {
        let before = sent;
        let broken = match stream(ledger, partition, end, &mut sent, take).await? {
            None => return Ok(()),
            Some(broken) => broken,
        };
        if sent > before {
            (failures, wait) = (0, FIRST_WAIT);
        }
        failures += 1;
        if !client::may_pass(&broken) || failures == FAILURES_MAX {
            return Err(client::explain(&broken));
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
    Ok(())
}

async fn stream(
    ledger: &mut LedgerServiceClient<Connection>,
    partition: u32,
    end: u64,
    sent: &mut u64,
    take: Take<'_>,
) -> Result<Option<Status>, Failure> {
    let mut messages = match ledger.follow_log(FollowLogRequest { after_position: *sent, partition }).await {
        Ok(response) => response.into_inner(),
        Err(status) => return Ok(Some(status)),
    };
    loop {
        let message = match messages.message().await {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(Some(Status::unavailable("the service ended the stream of records"))),
            Err(status) => return Ok(Some(status)),
        };
        for record in message.records.into_iter().filter(|record| record.position <= end) {
            take(&decoded(record.position, record.record)?)?;
            *sent = record.position;
        }
        *sent = message.sent_position;
        if *sent >= end {
            return Ok(None);
        }
    }
}

fn decoded(position: u64, bytes: Vec<u8>) -> Result<Read, Failure> {
    let logged = record::decode(&bytes)
        .map_err(|error| Failure::found(format!("cannot decode the record at position {position}: {error}")))?;
    Ok(Read { logged, bytes })
}
