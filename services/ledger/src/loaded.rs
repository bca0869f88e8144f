//! A ledger but for its writer: what a standby holds of a log that another process writes.
//!
//! It's the books, the index and the requests as of the last record that was taken up, by the same fold as everywhere; nobody
//! reads them yet. Once the log is this process's to write, [`Stores`](crate::Stores) hands it over with the store: the records
//! up to the store's end are taken up, and the writer starts. Cost of that: those records, however long the log is.

use crate::{
    Handle, OpenError, Options, Standing,
    handle::Places,
    index::Held,
    open::{load, record_hash, spawn},
    projected::Projection,
    shared::Shared,
    uptake::Uptake,
    writer::Writer,
};
use motherlode_log::{Position, Reader, Store};
use std::{path::Path, sync::Arc, thread::JoinHandle};
use tokio::sync::mpsc;

/// A log that was replayed, with the projector at work behind it.
pub struct Loaded {
    pub(crate) uptake: Uptake,
    pub(crate) projecting: JoinHandle<()>,
}

impl Loaded {
    /// Replays a log whose chain the reader verifies, up to its `end`, which the reader must not pass meanwhile; with its index
    /// in a folder as [`open`](crate::open) has it.
    ///
    /// # Errors
    /// [`OpenError`] says what and where.
    pub fn load(
        partition: u32,
        reader: Arc<dyn Reader>,
        end: Held,
        index_folder: &Path,
        options: &Options,
    ) -> Result<Self, OpenError> {
        load(partition, reader, end, None, index_folder, options, || Ok(()))
    }

    /// The partition that it's of.
    #[must_use]
    pub fn partition(&self) -> u32 {
        self.uptake.shared.partition
    }

    /// Position of the last record that was taken up.
    #[must_use]
    pub fn position(&self) -> Position {
        self.uptake.shared.durable()
    }

    /// Takes up what the reader has by now.
    ///
    /// # Errors
    /// [`OpenError::Read`] may be over at the next try; all else is a log that does not continue what is held.
    pub fn catch_up(&self) -> Result<(), OpenError> {
        const BYTES: usize = 4 << 20;
        loop {
            let records = self.uptake.shared.reader.read(self.position() + 1, usize::MAX, BYTES)?;
            if records.is_empty() {
                return Ok(());
            }
            self.uptake.take(records.into_iter().map(|record| record.bytes))?;
        }
    }

    /// Whether a store goes on where this has come to, and nothing failed so far. The reader that this was loaded from must be
    /// the store's own: what the writer appends is found through it.
    pub(crate) fn is_of(&self, store: &dyn Store) -> Result<bool, OpenError> {
        let shared = &self.uptake.shared;
        let Held { position, hash } = *shared.head.borrow();
        let same = shared.partition == store.partition() && Arc::ptr_eq(&shared.reader, &store.reader());
        let takes = *shared.standing.borrow() == Standing::Takes;
        Ok(same && takes && (position == 0 || record_hash(&*shared.reader, position)? == Some(hash)))
    }

    /// Starts the writer.
    pub(crate) fn write(self, store: Box<dyn Store>, options: Options) -> Result<Handle, OpenError> {
        let Self { uptake: Uptake { shared, projector }, projecting } = self;
        let (sender, inbox) = mpsc::channel(options.queue_length_max);
        let writer = Writer {
            store,
            shared: Arc::clone(&shared),
            inbox,
            projector,
            batch_commits_max: options.batch_commits_max,
            appends: motherlode_runtime::Appends::new(),
            trouble: None,
        };
        let writing = spawn("writer", move || writer.run())?;
        Ok(Handle::new(shared, sender, Places::new(&options), [writing, projecting], None))
    }

    /// Lets go of it: the index is synced, a snapshot written where it's worth it.
    pub fn close(self) {
        let Self { uptake: Uptake { shared, projector }, projecting } = self;
        drop(projector);
        if projecting.join().is_err() {
            tracing::error!("a thread of the ledger ended in a panic");
        }
        close_index(shared);
    }
}

/// Gives up the index's files, if this is the last to have them.
pub(crate) fn close_index(shared: Arc<Shared>) {
    if let Some(shared) = Arc::into_inner(shared)
        && let Some(Projection { index, .. }) = shared.index.replace(None)
        && let Err(error) = index.close()
    {
        tracing::warn!(%error, "the index is not closed yet");
    }
}
