//! Following a stream that another process writes, so that taking it over costs what came since and not the whole log.
//!
//! Each message is verified as an opening verifies it, once; what a reader needs to find things again is kept (the index
//! in memory). Nothing is changed and no epoch is begun before the stream is [taken](crate::JetStreamStore::take_over).
//! Any server that keeps the stream is asked, which may be a moment behind its leader. Cost: one request for up to 1,024
//! messages, and one each time that there is nothing new.

use crate::{
    index::Index,
    message::Walk,
    open::{OpenError, Stream},
    reader::Shared,
    scan::{Step, Steps},
};
use motherlode_log::{Hash, Position, ReadError, Reader};
use motherlode_runtime::config::Store as Config;
use std::sync::Arc;

/// A partition's stream, read and verified up to some message.
#[derive(Debug)]
pub struct Following {
    partition: u32,
    /// The number of the stream's last message when it was found.
    found: u64,
    steps: Steps,
    shared: Arc<Shared>,
}

impl Following {
    /// Connects to the stream of a partition; nothing is read yet.
    ///
    /// # Errors
    /// It cannot be reached, isn't there, or isn't as a store makes it.
    pub fn find(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let stream = Stream::find(config, partition)?;
        let found = stream.last().map_err(|failure| stream.api_error(failure))?;
        Ok(Self { found, ..Self::of(stream, partition) })
    }

    pub(crate) fn of(stream: Stream, partition: u32) -> Self {
        let shared = Arc::new(Shared::new(stream.clone(), Index::default()));
        Self { partition, found: 0, steps: Steps::new(stream, partition), shared }
    }

    /// Returns the partition's number.
    #[must_use]
    pub fn partition(&self) -> u32 {
        self.partition
    }

    /// The last position that was verified, and its record's hash; the genesis hash before the first record.
    #[must_use]
    pub fn verified(&self) -> (Position, Hash) {
        (self.steps.walk.next - 1, self.steps.walk.head)
    }

    /// Whether everything that was there when the stream was found has been read. A stream that is being written has no
    /// end to reach: each look can find more.
    #[must_use]
    pub fn has_all_found(&self) -> bool {
        self.steps.walk.sequence > self.found
    }

    /// Returns a reader of the verified records; a store that takes the stream over has the same one.
    #[must_use]
    pub fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.shared) as Arc<dyn Reader>
    }

    /// Reads on with one request. False if the server that answers has nothing more for now. The reader has the records
    /// at hand then, without asking again.
    ///
    /// # Errors
    /// No answer: this can be called again. Or the next message does not continue the log, and never will.
    pub fn more(&mut self) -> Result<bool, ReadError> {
        let any = self.steps.look()?;
        while self.steps.is_at_hand() {
            self.step()?;
        }
        Ok(any)
    }

    /// Goes on up to the end that the stream's leader knows.
    pub(crate) fn catch_up(&mut self) -> Result<(), ReadError> {
        while self.step()? {}
        Ok(())
    }

    fn step(&mut self) -> Result<bool, ReadError> {
        let Some(Step { before, records, bytes }) = self.steps.step()? else { return Ok(false) };
        self.shared.publish(&before, &self.steps.walk, bytes);
        self.shared.keep(before.next, records);
        Ok(true)
    }

    /// Skips the message of `bytes` that has begun this process's own epoch.
    pub(crate) fn begin_epoch(&mut self, bytes: usize) {
        let (before, walk) = (self.steps.walk.clone(), &mut self.steps.walk);
        walk.begin_epoch(true);
        self.shared.publish(&before, walk, bytes);
    }

    pub(crate) fn walk(&self) -> &Walk {
        &self.steps.walk
    }

    pub(crate) fn stream(&self) -> &Stream {
        self.shared.stream()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}
