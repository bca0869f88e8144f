//! Merkle tree of RFC 6962, section 2.1, with SHA-256.

use sha2::{Digest, Sha256};

pub(crate) const TILE_HEIGHT: u32 = 8;

pub type Hash = [u8; 32];

/// `SHA-256(0x00 | entry)`
#[must_use]
pub fn leaf(entry: &[u8]) -> Hash {
    Sha256::new_with_prefix([0]).chain_update(entry).finalize().into()
}

/// `SHA-256(0x01 | left | right)`
#[must_use]
pub fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
}

#[must_use]
pub fn empty() -> Hash {
    Sha256::digest([]).into()
}

/// Stored hashes of a tree. Level L contains the hashes of all complete subtrees of `256^L` entries.
pub trait Stored {
    type Error;

    fn hashes(&self, level: u8, first: u64, count: usize) -> Result<Vec<Hash>, Self::Error>;
}

/// Growing Merkle tree: its size, and the hashes of its largest complete subtrees, largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    edge: Vec<Hash>,
}

impl Tree {
    pub fn read<S: Stored>(stored: &S, size: u64) -> Result<Self, S::Error> {
        let (mut from, mut edge) = (0, vec![]);
        for height in (0..u64::BITS).rev().filter(|height| size >> height & 1 == 1) {
            edge.push(range(stored, from, from + (1 << height))?);
            from += 1 << height;
        }
        Ok(Self { size, edge })
    }

    #[must_use]
    pub fn with_edge(size: u64, edge: Vec<Hash>) -> Option<Self> {
        (edge.len() == size.count_ones() as usize).then_some(Self { size, edge })
    }

    #[must_use]
    pub fn edge(&self) -> &[Hash] {
        &self.edge
    }

    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    #[must_use]
    pub fn root(&self) -> Hash {
        self.edge.iter().copied().rev().reduce(|right, left| node(&left, &right)).unwrap_or_else(empty)
    }

    /// Appends an entry. Calls `tile` with the level and hash of each newly complete subtree that is stored in a tile,
    /// lowest level first.
    pub fn append(&mut self, entry: &[u8], mut tile: impl FnMut(u8, Hash)) {
        let mut hash = leaf(entry);
        let (mut height, mut level) = (0, 0);
        tile(level, hash);
        while self.size >> height & 1 == 1
            && let Some(left) = self.edge.pop()
        {
            hash = node(&left, &hash);
            height += 1;
            if height % TILE_HEIGHT == 0 {
                level += 1;
                tile(level, hash);
            }
        }
        self.edge.push(hash);
        self.size += 1;
    }
}

pub fn root<S: Stored>(stored: &S, size: u64) -> Result<Hash, S::Error> {
    range(stored, 0, size)
}

/// Returns the hash of a range of entries, which must be a subtree that lies within one tile.
pub(crate) fn range<S: Stored>(stored: &S, from: u64, to: u64) -> Result<Hash, S::Error> {
    let size = to - from;
    if size.is_power_of_two() {
        let height = size.trailing_zeros();
        let level = height / TILE_HEIGHT;
        let first = from >> (level * TILE_HEIGHT);
        let mut hashes = stored.hashes(u8::try_from(level).unwrap_or(u8::MAX), first, 1 << (height % TILE_HEIGHT))?;
        while hashes.len() > 1 {
            hashes = hashes.chunks_exact(2).map(|pair| node(&pair[0], &pair[1])).collect();
        }
        return Ok(hashes.pop().unwrap_or_else(empty));
    }
    if size == 0 {
        return Ok(empty());
    }
    let middle = from + split(size);
    Ok(node(&range(stored, from, middle)?, &range(stored, middle, to)?))
}

pub(crate) fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}
