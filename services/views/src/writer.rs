use crate::{
    cursor::merge,
    error::{ViewError, at},
    filter::{Filter, filter_hash},
    output::Output,
    run::Run,
    store::Store,
    table::{BLOCK_BYTES, Footer, Keyspace, Table, index_line},
};
use motherlode_log::{Hash, Position};
use sha2::{Digest, Sha256};
use std::{fs, io, ops::ControlFlow, path::PathBuf, sync::Arc};

pub const TABLE_BYTES_MAX: u64 = 32 << 20;

pub struct Writer<'a> {
    store: &'a Store,
    keyspace: &'static Keyspace,
    range: (Position, Position),
    filter_bytes_max: u64,
    table_bytes_max: u64,
    open: Option<Open>,
    last: Option<Vec<u8>>,
    done: Vec<Arc<Table>>,
    has_failed: bool,
}

struct Open {
    path: PathBuf,
    output: Output,
    entries: u64,
    first: Vec<u8>,
    block: Vec<u8>,
    index: Vec<u8>,
    hashes: Vec<u64>,
}

impl<'a> Writer<'a> {
    /// Creates a writer for the entries of positions after `from` up to and including `to`. A filter longer than
    /// `filter_bytes_max` bytes is written but not loaded.
    #[must_use]
    pub fn new(
        store: &'a Store,
        keyspace: &'static Keyspace,
        (from, to): (Position, Position),
        filter_bytes_max: u64,
    ) -> Self {
        Self {
            store,
            keyspace,
            range: (from, to),
            filter_bytes_max,
            table_bytes_max: TABLE_BYTES_MAX,
            open: None,
            last: None,
            done: vec![],
            has_failed: false,
        }
    }

    /// Merges runs, which must have consecutive ranges, oldest first. If several entries have one key, the newest is kept.
    /// Fails while the store closes.
    pub fn merge(
        store: &'a Store,
        keyspace: &'static Keyspace,
        runs: &[Run],
        filter_bytes_max: u64,
    ) -> Result<Run, ViewError> {
        let range = (runs.first().map_or(0, Run::from), runs.last().map_or(0, Run::to));
        let mut writer = Self::new(store, keyspace, range, filter_bytes_max);
        merge(runs.iter().map(Run::cursor).collect(), |key, value| match store.is_stopped() {
            true => Err(ViewError::Stopped),
            false => writer.put(key, value).map(ControlFlow::Continue),
        })?;
        writer.finish()
    }

    #[must_use]
    pub fn with_table_bytes(mut self, table_bytes_max: u64) -> Self {
        self.table_bytes_max = table_bytes_max;
        self
    }

    /// Fails if a file cannot be written, the key is not greater than the previous key, or the entry is too long.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), ViewError> {
        let wrong = |reason| ViewError::Entry { keyspace: self.keyspace.name, reason };
        if self.last.as_ref().is_some_and(|last| key <= &last[..]) {
            return Err(wrong("the entry's key is not greater than the previous entry's key"));
        }
        let lengths = match self.keyspace.widths {
            Some((of_key, of_value)) if (key.len(), value.len()) == (of_key.into(), of_value.into()) => None,
            Some(_) => return Err(wrong("the entry's key or value does not have the keyspace's fixed width")),
            None => {
                let lengths = u16::try_from(key.len()).ok().zip(u32::try_from(value.len()).ok());
                Some(lengths.ok_or_else(|| wrong("the entry's key or value is too long"))?)
            }
        };
        let bytes = key.len() + value.len() + if lengths.is_some() { 6 } else { 0 };
        if self.open.as_ref().is_some_and(|open| !open.block.is_empty() && open.block.len() + bytes > BLOCK_BYTES) {
            self.end_block()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None if self.has_failed => return Err(wrong("the previous entry could not be written")),
            None => {
                let open = self.begin()?;
                self.open.insert(open)
            }
        };
        if open.block.is_empty() {
            open.first.clear();
            open.first.extend_from_slice(key);
        }
        if let Some((of_key, of_value)) = lengths {
            open.block.extend_from_slice(&of_key.to_le_bytes());
            open.block.extend_from_slice(&of_value.to_le_bytes());
        }
        open.block.extend_from_slice(key);
        open.block.extend_from_slice(value);
        open.entries += 1;
        if let Some(filtered) = self.keyspace.filtered(key) {
            let hash = filter_hash(filtered);
            if open.hashes.last() != Some(&hash) {
                open.hashes.push(hash);
            }
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ViewError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        self.has_failed = true;
        open.end_block()?;
        match open.output.section() >= self.table_bytes_max {
            true => self.end(open)?,
            false => self.open = Some(open),
        }
        self.has_failed = false;
        Ok(())
    }

    /// Completes the run. A run without entries has one empty table.
    pub fn finish(mut self) -> Result<Run, ViewError> {
        if self.has_failed {
            return Err(ViewError::Entry {
                keyspace: self.keyspace.name,
                reason: "a previous entry could not be written",
            });
        }
        match self.open.take() {
            Some(open) => self.end(open)?,
            None if self.done.is_empty() => {
                let open = self.begin()?;
                self.end(open)?;
            }
            None => {}
        }
        let mixed =
            ViewError::Entry { keyspace: self.keyspace.name, reason: "the run's sorted tables are out of order" };
        Run::new(self.done).ok_or(mixed)
    }

    fn begin(&self) -> Result<Open, ViewError> {
        let path = self.store.unfinished_table()?;
        let output = Output::create(&path).map_err(at(&path))?;
        Ok(Open { path, output, entries: 0, first: vec![], block: vec![], index: vec![], hashes: vec![] })
    }

    fn end(&mut self, mut open: Open) -> Result<(), ViewError> {
        if !open.block.is_empty() {
            open.end_block()?;
        }
        let id = self.seal(&mut open).map_err(at(&open.path))?;
        let path = self.store.take_table(&open.path, id)?;
        let table = Table::open(&path, id, self.store.partition(), self.keyspace, self.filter_bytes_max)?;
        self.done.push(Arc::new(table));
        Ok(())
    }

    fn seal(&self, open: &mut Open) -> io::Result<Hash> {
        let output = &mut open.output;
        let blocks = output.end_section()?;
        if self.keyspace.filtered > 0 {
            output.put(Filter::new(&open.hashes).bytes())?;
        }
        let filter = output.end_section()?;
        output.put(&open.index)?;
        let index = output.end_section()?;
        let footer = Footer {
            keyspace: self.keyspace.name.to_owned(),
            version: self.keyspace.version,
            partition: self.store.partition(),
            from: self.range.0,
            to: self.range.1,
            entries: open.entries,
            widths: self.keyspace.widths,
            filtered: self.keyspace.filtered,
            blocks,
            filter,
            index,
        };
        let footer = footer.encode().ok_or_else(|| io::Error::other("the footer of the table is too long"))?;
        output.put(&footer)?;
        output.finish()?;
        Ok(Sha256::digest(footer).into())
    }
}

impl Open {
    fn end_block(&mut self) -> Result<(), ViewError> {
        let too_long = || ViewError::unusable(&self.path, "the table is too long");
        let offset = u32::try_from(self.output.section()).map_err(|_| too_long())?;
        let line = index_line(offset, crc32c::crc32c(&self.block), &self.first).ok_or_else(too_long)?;
        self.index.extend_from_slice(&line);
        self.output.put(&self.block).map_err(at(&self.path))?;
        self.block.clear();
        Ok(())
    }
}

impl Drop for Open {
    /// Removes the unfinished file, because the log needs the space if the disk is full.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
