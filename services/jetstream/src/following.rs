//! Follows a stream that another process writes, so that a takeover reads only the latest messages. Messages may be
//! read from a server that lags behind the stream's leader; a takeover reads up to the leader's last message.

use crate::{
    index::Index,
    message::Walk,
    open::{OpenError, Stream},
    reader::StreamReader,
    scan::{Step, Steps},
};
use motherlode_log::{Hash, Position, ReadError, Reader};
use motherlode_runtime::config::Store as Config;
use std::sync::Arc;

#[derive(Debug)]
pub struct Following {
    partition: u32,
    found: u64,
    steps: Steps,
    shared: Arc<StreamReader>,
}

impl Following {
    pub fn find(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let stream = Stream::find(config, partition)?;
        let found = stream.last().map_err(|failure| stream.api_error(failure))?;
        Ok(Self { found, ..Self::new(stream)? })
    }

    pub(crate) fn new(stream: Stream) -> Result<Self, OpenError> {
        let steps = Steps::new(stream.clone())?;
        let shared = Arc::new(StreamReader::new(stream.clone(), Index::new(steps.walk.start)));
        Ok(Self { partition: stream.partition, found: 0, steps, shared })
    }

    #[must_use]
    pub fn partition(&self) -> u32 {
        self.partition
    }

    #[must_use]
    pub fn verified(&self) -> (Position, Hash) {
        (self.steps.walk.next - 1, self.steps.walk.head)
    }

    #[must_use]
    pub fn has_all_found(&self) -> bool {
        self.steps.walk.sequence > self.found
    }

    pub fn find_last(&mut self) -> Result<(), OpenError> {
        let stream = self.shared.stream();
        self.found = stream.last().map_err(|failure| stream.api_error(failure))?;
        Ok(())
    }

    #[must_use]
    pub fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.shared) as Arc<dyn Reader>
    }

    /// Makes one request for new messages; returns false if there are none. Only I/O errors can be retried.
    pub fn more(&mut self) -> Result<bool, ReadError> {
        let any = self.steps.look()?;
        while self.steps.is_at_hand() {
            self.step()?;
        }
        Ok(any)
    }

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

    pub(crate) fn shared(&self) -> &Arc<StreamReader> {
        &self.shared
    }
}
