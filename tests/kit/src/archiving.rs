use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use motherlode_log::{
    AppendError, Chained, Hash, LogStart, MemoryStore, Position, ReadError, Reader, Record, Store, genesis,
};
use parking_lot::Mutex;

#[derive(Clone)]
pub struct ArchivingStore {
    partition: u32,
    store: Arc<Mutex<MemoryStore>>,
    reader: Arc<ArchivingReader>,
}

struct ArchivingReader {
    records: Arc<dyn Reader>,
    first: AtomicU64,
    is_silent: AtomicBool,
}

impl ArchivingStore {
    #[must_use]
    pub fn new(partition: u32) -> Self {
        let store = MemoryStore::new(partition);
        let (records, first) = (store.reader(), AtomicU64::new(1));
        let reader = Arc::new(ArchivingReader { records, first, is_silent: AtomicBool::new(false) });
        Self { partition, store: Arc::new(Mutex::new(store)), reader }
    }

    pub fn archive_below(&self, first: Position) {
        self.reader.first.store(first, Ordering::Release);
    }

    pub fn answer_nothing(&self, is_silent: bool) {
        self.reader.is_silent.store(is_silent, Ordering::Release);
    }
}

impl Store for ArchivingStore {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn start(&self) -> LogStart {
        LogStart { first: 1, previous: genesis(self.partition) }
    }

    fn end(&self) -> Position {
        self.store.lock().end()
    }

    fn head(&self) -> Hash {
        self.store.lock().head()
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError> {
        self.store.lock().append_chained(after, chained)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.reader) as Arc<dyn Reader>
    }
}

impl Reader for ArchivingReader {
    fn first(&self) -> Position {
        self.first.load(Ordering::Acquire)
    }

    fn end(&self) -> Position {
        self.records.end()
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        let (position, first) = (from.max(1), self.first());
        match self.is_silent.load(Ordering::Acquire) {
            _ if position >= first => self.records.read(from, max_records, max_bytes),
            true => Ok(vec![]),
            false => Err(ReadError::Archived { position, first }),
        }
    }
}
