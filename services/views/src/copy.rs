//! Copies of another store's tables, verified by their digests before they are used.

use crate::{
    error::{ViewError, at},
    output::Output,
    store::{Store, remove},
    table,
};
use motherlode_log::Hash;
use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf};

impl Store {
    /// Reads at most `max` bytes of a checkpoint's or table's file; none at the file's end. Returns these bytes and the
    /// file's length, which is 0 if the file is missing.
    pub fn read_part(&self, id: &Hash, offset: u64, max: usize) -> Result<(Vec<u8>, u64), ViewError> {
        for path in self.places(id) {
            match File::open(&path) {
                Ok(file) => return part(&file, offset, max).map_err(at(&path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(at(&path)(error)),
            }
        }
        Ok((vec![], 0))
    }

    pub fn copy_table(&self, id: Hash) -> Result<Option<TableCopy<'_>>, ViewError> {
        let [_, there] = self.places(&id);
        if table::verify(&there, id, self.partition()).is_ok() {
            return Ok(None);
        }
        let path = self.unfinished_table()?;
        let output = Output::create(&path).map_err(at(&path))?;
        Ok(Some(TableCopy { store: self, id, path, output }))
    }
}

fn part(file: &File, offset: u64, max: usize) -> io::Result<(Vec<u8>, u64)> {
    let length = file.metadata()?.len();
    let left = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; left.min(max)];
    if !bytes.is_empty() {
        file.read_exact_at(&mut bytes, offset)?;
    }
    Ok((bytes, length))
}

pub struct TableCopy<'a> {
    store: &'a Store,
    id: Hash,
    path: PathBuf,
    output: Output,
}

impl TableCopy<'_> {
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), ViewError> {
        self.output.put(bytes).map_err(at(&self.path))
    }

    pub fn finish(mut self) -> Result<(), ViewError> {
        self.output.finish().map_err(at(&self.path))?;
        table::verify(&self.path, self.id, self.store.partition())?;
        self.store.take_table(&self.path, self.id).map(drop)
    }
}

impl Drop for TableCopy<'_> {
    fn drop(&mut self) {
        remove(&self.path);
    }
}
