//! Verifies in the background the records that startup did not read: their checksums, and their hash chain up to a
//! known hash.

use crate::{chain::verify, error::OpenError};
use motherlode_log::{Hash, LogStart, Position, ReadError, Reader};
use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};
use tokio::sync::watch;

pub(crate) const TELL_EVERY: Duration = Duration::from_secs(10);
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    pub verified: Position,
    pub unread: Position,
    pub failure: Option<String>,
}

impl Verification {
    pub(crate) fn new(unread: Position) -> Self {
        Self { unread, ..Self::default() }
    }
}

pub(crate) struct Verifier {
    pub(crate) partition: u32,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) start: LogStart,
    pub(crate) last: Hash,
    pub(crate) progress: Arc<watch::Sender<Verification>>,
}

impl Verifier {
    pub(crate) fn run(self, open: &Receiver<()>) {
        motherlode_runtime::lower_priority();
        let (partition, begun) = (self.partition, Instant::now());
        let unread = self.progress.borrow().unread;
        tracing::info!(partition, unread, "verifying, in the background, the records that were not read at startup");
        match self.verify(unread, open) {
            Ok(true) => {
                let seconds = begun.elapsed().as_secs();
                tracing::info!(partition, unread, seconds, "verified all records");
            }
            Ok(false) => {}
            Err(error) => {
                let failure = format!("partition {partition}: {error}");
                tracing::error!(
                    partition,
                    error = failure,
                    "the log is damaged: no new rounds start; see docs/how-to/backup-and-restore.md"
                );
                self.progress.send_modify(|progress| progress.failure = Some(failure));
            }
        }
    }

    pub(crate) fn verify(&self, unread: Position, open: &Receiver<()>) -> Result<bool, OpenError> {
        const BYTES: usize = 1 << 20;
        let (mut head, mut verified) = (self.start.previous, self.start.first - 1);
        let (mut told, mut tries) = (Instant::now(), 0);
        while verified < unread {
            let most = usize::try_from(unread - verified).unwrap_or(usize::MAX).max(2);
            let mut records = match self.reader.read(verified + 1, most, BYTES) {
                Ok(records) => records,
                Err(ReadError::Io(error)) if tries < TRIES => {
                    tracing::warn!(%error, "failed to read the log during verification; retrying");
                    tries += 1;
                    if is_over(open, PAUSE) {
                        return Ok(false);
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            records.retain(|record| record.position <= unread);
            let Some(last) = records.last() else {
                return Err(OpenError::Chain(format!("the record at position {} is missing", verified + 1)));
            };
            head = verify(head, &records)?;
            (verified, tries) = (last.position, 0);
            self.progress.send_modify(|progress| progress.verified = verified);
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                tracing::info!(partition = self.partition, verified, unread, "still verifying the log");
            }
            if is_over(open, Duration::ZERO) {
                return Ok(false);
            }
        }
        // Ignores damage after `unread`, which does not affect the records verified here. `--verify all`, `audit` and
        // `copy` refuse any damage.
        while let Err(error) = self.reader.check_rest(unread) {
            match error {
                ReadError::Io(error) if tries < TRIES => {
                    tracing::warn!(%error, "failed to read the log during verification; retrying");
                    tries += 1;
                    if is_over(open, PAUSE) {
                        return Ok(false);
                    }
                }
                error => return Err(error.into()),
            }
        }
        match head == self.last {
            true => Ok(true),
            false => Err(OpenError::Chain(format!(
                "the record at position {unread} is not the record that this process read there at startup"
            ))),
        }
    }
}

fn is_over(open: &Receiver<()>, wait: Duration) -> bool {
    !matches!(open.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use motherlode_log::{Damage, MemoryStore, Record, Store, hash};
    use motherlode_testkit::conformance::records;
    use std::sync::mpsc::channel;

    struct Altered(Arc<dyn Reader>, Position);

    impl Reader for Altered {
        fn first(&self) -> Position {
            self.0.first()
        }

        fn end(&self) -> Position {
            self.0.end()
        }

        fn read(&self, from: Position, most: usize, bytes: usize) -> Result<Vec<Record>, ReadError> {
            let mut read = self.0.read(from, most, bytes)?;
            for record in read.iter_mut().filter(|record| record.position == self.1) {
                let mut bytes = record.bytes.to_vec();
                *bytes.last_mut().unwrap() ^= 1;
                record.bytes = Bytes::from(bytes);
            }
            Ok(read)
        }

        fn check_rest(&self, _upto: Position) -> Result<(), ReadError> {
            match self.1 {
                BESIDE => {
                    let (file, reason) = ("x.log".into(), "stray".to_owned());
                    Err(Damage { file, offset: 1, position: 20, reason }.into())
                }
                _ => Ok(()),
            }
        }
    }

    const BESIDE: Position = Position::MAX;

    fn verified(altered: Position) -> Verification {
        let mut store = MemoryStore::new(0);
        for number in 0..30_u8 {
            let records = records(store.head(), [&[number; 40]]);
            store.append(store.end(), &records).unwrap();
        }
        let last = hash(&store.reader().read(20, 1, 0).unwrap()[0].bytes);
        let (_open, closed) = channel();
        let progress = Arc::new(watch::Sender::new(Verification::new(20)));
        let reader = Arc::new(Altered(store.reader(), altered));
        let verifier = Verifier { partition: 0, reader, start: store.start(), last, progress: Arc::clone(&progress) };
        verifier.run(&closed);
        progress.borrow().clone()
    }

    #[test]
    fn at_a8_a_log_with_stray_bytes_beside_its_records_is_not_verified() {
        let failure = verified(BESIDE).failure.unwrap();
        assert!(failure.contains("stray"), "{failure}");
    }

    #[test]
    fn pl_30_what_is_not_as_it_was_written_is_found_wherever_it_is() {
        for altered in 1..=20 {
            let failure = verified(altered).failure.unwrap();
            assert!(failure.starts_with("partition 0: "), "{failure}");
        }
        for altered in [0, 21] {
            assert_eq!(verified(altered), Verification { verified: 20, unread: 20, failure: None });
        }
    }
}
