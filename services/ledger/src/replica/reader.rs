//! Reads records from the writer. Clients read histories backwards, so a read also caches the preceding records. A read
//! blocks the calling thread.

use super::link::{Link, archived, status_text};
use motherlode_log::{Position, ReadError, Reader, Record};
use motherlode_proto::log::v1::ReadRecordsRequest;
use parking_lot::Mutex;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    time::timeout,
};
use tonic::Request;

const READ_WAIT_MAX: Duration = Duration::from_secs(15);
const ANSWER_MAX: Duration = Duration::from_secs(5);

const STRETCH: u64 = 256;
const STRETCH_BYTES: usize = 1 << 20;

pub(super) struct Remote {
    runtime: Handle,
    link: Arc<Link>,
    end: Arc<AtomicU64>,
    first: AtomicU64,
    stretch: Mutex<Vec<Record>>,
}

impl Remote {
    pub(super) fn new(runtime: Handle, link: Arc<Link>, end: Arc<AtomicU64>) -> Self {
        Self { runtime, link, end, first: AtomicU64::new(1), stretch: Mutex::default() }
    }

    fn one(&self, position: Position) -> Result<Option<Record>, ReadError> {
        let find = |records: &[Record]| records.iter().find(|record| record.position == position).cloned();
        if let Some(kept) = find(&self.stretch.lock()) {
            return Ok(Some(kept));
        }
        let stretch = |first: Position| {
            let most = usize::try_from(position + 1 - first).unwrap_or(1);
            self.fetch(first, most, STRETCH_BYTES)
        };
        let kept = self.first();
        let fetched = match stretch(position.saturating_sub(STRETCH - 1).max(kept).min(position)) {
            Err(ReadError::Archived { first, .. }) if first <= position => stretch(first)?,
            Err(ReadError::Archived { first, .. }) => return Err(ReadError::Archived { position, first }),
            fetched => fetched?,
        };
        let found = find(&fetched);
        *self.stretch.lock() = fetched;
        Ok(found)
    }

    fn fetch(&self, from: Position, records: usize, bytes: usize) -> Result<Vec<Record>, ReadError> {
        let most = |most: usize| u32::try_from(most.max(1)).unwrap_or(u32::MAX);
        let link = Arc::clone(&self.link);
        let request = ReadRecordsRequest {
            partition: link.partition,
            from_position: from,
            records_max: most(records),
            bytes_max: most(bytes),
        };
        let (answer, answered) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            let read = timeout(READ_WAIT_MAX, read(&link, request)).await;
            let _ = answer.send(read);
        });
        let receive = || answered.recv().map_err(|_| io::Error::other("the replica was closed during the read"));
        let read = match Handle::try_current().map(|here| here.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(receive),
            _ => receive(),
        };
        let read = read?.map_err(|_| io::Error::other("the writer of the log did not answer in time"))?;
        let records = read.map_err(|first| {
            self.first.fetch_max(first, Ordering::AcqRel);
            ReadError::Archived { position: from, first }
        })?;
        let records = records.into_iter().zip(from..);
        Ok(records.map(|(bytes, position)| Record { position, bytes: bytes.into() }).collect())
    }
}

impl Reader for Remote {
    fn first(&self) -> Position {
        self.first.load(Ordering::Acquire)
    }

    fn end(&self) -> Position {
        self.end.load(Ordering::Acquire)
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        let (from, end) = (from.max(1), self.end());
        let left = usize::try_from((end + 1).saturating_sub(from)).unwrap_or(usize::MAX);
        let wanted = max_records.min(left);
        if wanted == 0 {
            return Ok(vec![]);
        }
        if wanted == 1
            && let Some(record) = self.one(from)?
        {
            return Ok(vec![record]);
        }
        self.fetch(from, wanted, max_bytes)
    }
}

async fn read(link: &Link, request: ReadRecordsRequest) -> Result<Vec<Vec<u8>>, Position> {
    loop {
        let (number, mut client) = link.client().await;
        let mut asked = Request::new(request);
        asked.set_timeout(ANSWER_MAX);
        match timeout(ANSWER_MAX, client.read_records(asked)).await {
            Ok(Ok(answer)) => return Ok(answer.into_inner().records),
            Ok(Err(status)) => match archived(&status) {
                Some(first) => return Err(first),
                None => link.lost(number, &status_text(&status)).await,
            },
            Err(_) => link.lost(number, "no answer").await,
        }
    }
}
