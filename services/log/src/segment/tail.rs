//! Distinguishes an interrupted append from damage.
//!
//! A *torn* append was never acknowledged and may be removed. A whole sector or the append's last bytes are missing,
//! and nothing follows the append. A single changed byte cannot make a sector look missing, because each sector of a
//! block has at least two nonzero bytes.

use super::format::{BLOCK_HEADER, BLOCK_MAGIC, BlockHeader, MAX_BLOCK, dense, sectors};
use crate::record::Position;

/// A block is incomplete if this many of its last bytes are zero.
const LACKING: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Clean,
    Torn(usize),
    Damaged,
}

/// Classifies `tail`, the bytes after the last valid block, which begin at byte `offset` of the file. `expected` is the
/// position at which the next block must start.
pub(super) fn judge(tail: &[u8], offset: u64, expected: Position) -> Verdict {
    let Some(used) = used(tail) else { return Verdict::Clean };
    let torn = match BlockHeader::decode(tail) {
        Some(header) => header.first == expected && lacks_a_part(tail, offset, used, header.bytes()),
        None => is_start_of_header(&tail[..used]) || lacks_its_header(tail, offset, used, expected),
    };
    if torn { Verdict::Torn(used) } else { Verdict::Damaged }
}

fn used(tail: &[u8]) -> Option<usize> {
    let blank = tail.rchunks(4096).take_while(|chunk| is_zero(chunk)).map(<[u8]>::len).sum::<usize>();
    tail[..tail.len() - blank].iter().rposition(|byte| *byte != 0).map(|last| last + 1)
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

fn lacks_a_part(tail: &[u8], offset: u64, used: usize, bytes: usize) -> bool {
    let Some(block) = tail.get(..bytes) else { return false };
    let unfinished = block.ends_with(&[0; LACKING]);
    used <= bytes && (unfinished || sectors(offset, bytes).any(|part| is_zero(&block[part])))
}

fn is_start_of_header(bytes: &[u8]) -> bool {
    let known = bytes.len().min(BLOCK_MAGIC.len());
    bytes.len() < BLOCK_HEADER && bytes[..known] == BLOCK_MAGIC[..known]
}

fn lacks_its_header(tail: &[u8], offset: u64, used: usize, expected: Position) -> bool {
    let mut parts = sectors(offset, used).map(|part| &tail[part]);
    let later = |at: usize| BlockHeader::decode(&tail[at..]).is_some_and(|header| header.first > expected);
    parts.next().is_some_and(is_zero)
        && parts.all(|part| is_zero(part) || dense(part, [0; 4]))
        && used as u64 <= MAX_BLOCK
        && !(0..used).step_by(BLOCK_HEADER).any(later)
}
