use crate::{cursor::Cursor, error::ViewError, filter::filter_hash, table::Table};
use motherlode_log::{Hash, Position};
use std::{ops::Range, sync::Arc};

const MERGED: usize = 4;
const TOGETHER_MAX: usize = 16;
/// Size level `n` begins at `LEVEL_BYTES * MERGED^n` bytes.
const LEVEL_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Run {
    tables: Vec<Arc<Table>>,
}

impl Run {
    /// Creates a run; returns `None` if `tables` is empty, or if two tables have different ranges of positions. The tables
    /// must be in key order.
    #[must_use]
    pub fn new(tables: Vec<Arc<Table>>) -> Option<Self> {
        let follow = |pair: &[Arc<Table>]| match pair {
            [one, next] => (one.from(), one.to()) == (next.from(), next.to()) && one.first_key() < next.first_key(),
            _ => true,
        };
        (!tables.is_empty() && tables.windows(2).all(follow)).then_some(Self { tables })
    }

    pub fn ids(&self) -> impl Iterator<Item = Hash> {
        self.tables.iter().map(|table| table.id())
    }

    #[must_use]
    pub fn memory(&self) -> u64 {
        self.tables.iter().map(|table| table.memory()).sum()
    }

    #[must_use]
    pub fn filter_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.filter_bytes()).sum()
    }

    #[must_use]
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    #[must_use]
    pub fn from(&self) -> Position {
        self.tables.first().map_or(0, |table| table.from())
    }

    #[must_use]
    pub fn to(&self) -> Position {
        self.tables.first().map_or(0, |table| table.to())
    }

    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.file_bytes()).sum()
    }

    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.tables.iter().any(|table| table.is_damaged())
    }

    #[must_use]
    pub fn without_filters(&self) -> Self {
        Self { tables: self.tables.iter().map(|table| Arc::new(table.without_filter())).collect() }
    }

    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.tables.clone())
    }

    pub fn cursor_from(&self, key: &[u8]) -> Result<Cursor, ViewError> {
        Cursor::seek(self.tables.clone(), key)
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ViewError> {
        let Some(table) = self.tables.partition_point(|table| table.first_key() <= key).checked_sub(1) else {
            return Ok(None);
        };
        let Some(table) = self.tables.get(table) else { return Ok(None) };
        if table.keyspace().filtered(key).is_some_and(|filtered| !table.may_contain(filter_hash(filtered))) {
            return Ok(None);
        }
        let mut cursor = Cursor::seek(vec![Arc::clone(table)], key)?;
        Ok((cursor.advance()? && cursor.key() == key).then(|| cursor.value().to_vec()))
    }

    /// Returns false only if no entry has this prefix.
    #[must_use]
    pub fn may_contain(&self, prefix: &[u8], hash: u64) -> bool {
        match &self.tables[..] {
            [table] => table.may_contain(hash),
            _ => self.tables_of(prefix).iter().any(|table| table.may_contain(hash)),
        }
    }

    pub fn find(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), ViewError> {
        let mut cursor = Cursor::seek(self.tables_of(prefix).to_vec(), prefix)?;
        while cursor.advance()? && cursor.key().starts_with(prefix) {
            each(cursor.key(), cursor.value());
        }
        Ok(())
    }

    pub fn scan(&self, from: &[u8], mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), ViewError> {
        let mut cursor = self.cursor_from(from)?;
        while cursor.advance()? && each(cursor.key(), cursor.value()) {}
        Ok(())
    }

    fn tables_of(&self, prefix: &[u8]) -> &[Arc<Table>] {
        let begin = self.tables.partition_point(|table| table.first_key() <= prefix).saturating_sub(1);
        let after = |table: &Arc<Table>| table.first_key() <= prefix || table.first_key().starts_with(prefix);
        let end = self.tables.partition_point(after).max(begin);
        self.tables.get(begin..end).unwrap_or_default()
    }

    fn level(&self) -> u32 {
        (self.file_bytes() / LEVEL_BYTES).max(1).ilog(MERGED as u64)
    }
}

/// Returns the runs to merge. Tries the existing size levels, lowest first: at the n-th, the newest consecutive runs up
/// to this level are merged if there are more than 3 * n.
#[must_use]
pub fn mergeable(runs: &[Run]) -> Option<Range<usize>> {
    // No run before a gap in the positions is merged until the gap is filled.
    let gap = runs.windows(2).rposition(|pair| pair.first().map(Run::to) < pair.last().map(Run::from));
    let runs_after = gap.map_or(0, |gap| gap + 1);
    let levels: Vec<_> = runs.iter().map(Run::level).collect();
    let mut levels_up = levels.clone();
    levels_up.sort_unstable();
    levels_up.dedup();
    levels_up.into_iter().zip(1..).find_map(|(level, number)| {
        let begin = levels.iter().rposition(|of| *of > level).map_or(0, |larger| larger + 1).max(runs_after);
        (runs.len() - begin > (MERGED - 1) * number).then(|| begin..runs.len().min(begin + TOGETHER_MAX))
    })
}
