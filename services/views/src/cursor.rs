use crate::{error::ViewError, table::Table};
use std::{
    ops::{ControlFlow, Range},
    sync::Arc,
};

#[derive(Debug)]
pub struct Cursor {
    tables: Vec<Arc<Table>>,
    table: usize,
    block: usize,
    bytes: Vec<u8>,
    next: usize,
    key: Range<usize>,
    value: Range<usize>,
}

impl Cursor {
    #[must_use]
    pub fn new(tables: Vec<Arc<Table>>) -> Self {
        Self { tables, table: 0, block: 0, bytes: vec![], next: 0, key: 0..0, value: 0..0 }
    }

    /// Positions the cursor before the first entry whose key is at least `key`.
    pub fn seek(tables: Vec<Arc<Table>>, key: &[u8]) -> Result<Self, ViewError> {
        let mut cursor = Self::new(tables);
        let up_to = cursor.tables.partition_point(|table| table.first_key() <= key);
        cursor.table = up_to.saturating_sub(1);
        if let Some(table) = cursor.tables.get(cursor.table) {
            cursor.block = table.block_of(key);
        }
        if cursor.load()? {
            cursor.skip_to(key)?;
        }
        Ok(cursor)
    }

    pub fn advance(&mut self) -> Result<bool, ViewError> {
        if !self.load()? {
            return Ok(false);
        }
        let Some(table) = self.tables.get(self.table) else { return Ok(false) };
        (self.key, self.value, self.next) = table.entry(&self.bytes, self.next)?;
        Ok(true)
    }

    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.bytes.get(self.key.clone()).unwrap_or_default()
    }

    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.bytes.get(self.value.clone()).unwrap_or_default()
    }

    fn load(&mut self) -> Result<bool, ViewError> {
        while self.next >= self.bytes.len() {
            let Some(table) = self.tables.get(self.table) else { return Ok(false) };
            if self.block >= table.blocks() {
                (self.table, self.block) = (self.table + 1, 0);
                continue;
            }
            self.bytes = table.read_block(self.block)?;
            (self.block, self.next) = (self.block + 1, 0);
        }
        Ok(true)
    }

    fn skip_to(&mut self, key: &[u8]) -> Result<(), ViewError> {
        let Some(table) = self.tables.get(self.table) else { return Ok(()) };
        if let Some((width, value)) = table.keyspace().widths {
            let (width, entry) = (usize::from(width), usize::from(width) + usize::from(value));
            let (mut low, mut high) = (0, self.bytes.len() / entry.max(1));
            while low < high {
                let middle = low + (high - low) / 2;
                let found = self.bytes.get(middle * entry..middle * entry + width).unwrap_or_default();
                if found < key { low = middle + 1 } else { high = middle }
            }
            self.next = low * entry;
            return Ok(());
        }
        while self.next < self.bytes.len() {
            let (found, _, next) = table.entry(&self.bytes, self.next)?;
            if self.bytes.get(found).is_some_and(|found| found >= key) {
                break;
            }
            self.next = next;
        }
        Ok(())
    }
}

/// Passes the entries of all cursors to `each` in key order, until `each` breaks. The cursors are ordered from oldest to
/// newest. If several entries have one key, only the newest is passed.
pub fn merge<E: From<ViewError>>(
    mut cursors: Vec<Cursor>,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut live = vec![];
    for cursor in &mut cursors {
        live.push(cursor.advance()?);
    }
    loop {
        let heads = cursors.iter().zip(&live).filter(|(_, live)| **live);
        let Some((newest, _)) = heads.rev().min_by(|one, other| one.0.key().cmp(other.0.key())) else { return Ok(()) };
        if each(newest.key(), newest.value())?.is_break() {
            return Ok(());
        }
        let key = newest.key().to_vec();
        for (cursor, live) in cursors.iter_mut().zip(&mut live) {
            if *live && cursor.key() == key {
                *live = cursor.advance()?;
            }
        }
    }
}
