//! A read that needs an archived record is repeated after the download, so no thread waits for the archive.

use crate::{error::FetchError, handle::Handle, past::PastRecords};
use motherlode_archive::{ArchiveError, Limits, Segment, Segments, Slots};
use motherlode_log::{Position, ReadError, hash};
use motherlode_runtime::{Caller, Reads, Reason, Refusal, config::ArchiveReads};
use opentelemetry::{KeyValue, global, metrics::Counter};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const WAIT_MAX: Duration = Duration::from_secs(10);
const READS_MAX: usize = 32;
const READS_PER_OPERATOR_MAX: usize = 8;
const BYTES_MAX: usize = 4 << 20;
const WARN_EVERY: Duration = Duration::from_secs(10);
const OUTCOMES: [&str; 3] = ["done", "unavailable", "damaged"];

#[derive(Debug, Clone)]
pub struct ArchivedReads {
    segments: Segments,
    slots: Slots,
    warned: Arc<Mutex<Option<Instant>>>,
    outcomes: Counter<u64>,
}

impl ArchivedReads {
    #[must_use]
    pub fn new(segments: Segments) -> Self {
        let what = "Number of calls that read archived records, by outcome.";
        let outcomes =
            global::meter("motherlode").u64_counter("motherlode.archive.reads").with_description(what).build();
        OUTCOMES.iter().for_each(|outcome| outcomes.add(0, &[KeyValue::new("outcome", *outcome)]));
        Self { segments, slots: Slots::new(READS_MAX, READS_PER_OPERATOR_MAX), warned: Arc::default(), outcomes }
    }

    #[must_use]
    pub fn from_config(config: &ArchiveReads) -> Option<Self> {
        let place = config.place.clone()?;
        Some(Self::new(Segments::new(place, Limits::with_bytes(config.memory_bytes_max))))
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        (reads, ledger): (&Reads, &Handle),
        caller: &Caller,
        position: Position,
        read: impl Fn(&Handle) -> Result<T, FetchError> + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        let slow = |_| {
            let message = format!("the archive did not answer within {} s", WAIT_MAX.as_secs());
            Refusal::new(Reason::ArchiveUnavailable, message)
        };
        let read = self.repeat((reads, ledger), caller, position, read);
        let answer = tokio::time::timeout(WAIT_MAX, read).await.map_err(slow).flatten();
        let [done, unavailable, damaged] = OUTCOMES;
        let outcome = match answer.as_ref().map_err(Refusal::reason) {
            Err(Reason::ArchiveUnavailable) => unavailable,
            Err(Reason::ArchiveDamaged) => damaged,
            _ => done,
        };
        self.outcomes.add(1, &[KeyValue::new("outcome", outcome)]);
        answer
    }

    async fn repeat<T: Send + 'static>(
        &self,
        (reads, ledger): (&Reads, &Handle),
        caller: &Caller,
        mut position: Position,
        read: impl Fn(&Handle) -> Result<T, FetchError> + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        let operator = caller.own().unwrap_or_default();
        let closing = |_| Refusal::new(Reason::Closing, "the service is closing");
        let _slot = self.slots.take(operator).await.map_err(closing)?;
        let mut past = Arc::new(PastRecords::default());
        loop {
            let segment = self.segments.segment(ledger.partition(), position, operator).await;
            let segment = segment.map_err(|error| self.refused(&error))?;
            let (of, read) = (ledger.clone(), read.clone());
            let work = move || {
                check(&of, &segment)?;
                let mut records = Arc::unwrap_or_clone(past);
                records.take(&segment, position)?;
                let records = Arc::new(records);
                let done = read(&of.with_past(Arc::clone(&records)));
                Ok::<_, Refusal>((records, done))
            };
            let (found, done) = reads.run(caller, work).await??;
            position = match done {
                Err(FetchError::Read(ReadError::Archived { position, .. })) if found.get(position).is_none() => {
                    position
                }
                done => return Ok(done?),
            };
            if found.bytes() > BYTES_MAX {
                let message = format!("the read needs more than {BYTES_MAX} bytes of archived records");
                return Err(Refusal::new(Reason::ArchiveUnavailable, message));
            }
            past = found;
        }
    }

    /// Logs the error, but does not return it to the caller, because it can contain the archive's address.
    fn refused(&self, error: &ArchiveError) -> Refusal {
        let (mut warned, now) = (self.warned.lock(), Instant::now());
        if warned.is_none_or(|warned| now > warned + WARN_EVERY) {
            *warned = Some(now);
            tracing::warn!(%error, "failed to read archived records");
        }
        match error.is_damage() {
            true => Refusal::new(Reason::ArchiveDamaged, "the archive is damaged, or belongs to a different log"),
            false => Refusal::new(Reason::ArchiveUnavailable, "the archive lacks the record, or did not answer"),
        }
    }
}

/// Checks only the hash of the last record, which covers the records before it.
fn check(ledger: &Handle, segment: &Segment) -> Result<(), Refusal> {
    let last = segment.last().min(ledger.durable());
    let is_own = match segment.record(last) {
        Some(record) => ledger.with_hash(&hash(record))?.contains(&last),
        None => false,
    };
    if is_own {
        return Ok(());
    }
    let message = format!("the archive belongs to a different log: its record at position {last} differs");
    Err(Refusal::new(Reason::ArchiveDamaged, message))
}
