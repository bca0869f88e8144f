//! Tells an append that a crash interrupted from damage.
//!
//! Where no sound block stands, a segment should hold zeros to its end. If it doesn't, either the last append
//! was *torn*: the machine stopped before its sync, nobody was told that it was done, and it may be cut away. Or
//! acknowledged records are *damaged*, and to cut there would lose them. What a torn append can look like is
//! narrow, because it is written at once and the format leaves no sector of a block without two bytes that
//! aren't zero: a whole sector of it was not written, or its end was not. No single changed byte looks like that,
//! and after a torn append nothing follows, since the next one waits for its sync.

use super::format::{BLOCK_HEADER, BLOCK_MAGIC, BlockHeader, MAX_BLOCK, dense, sectors};
use crate::record::Position;

/// A block lacks its end if so many of its last bytes are zero: more than one, which could have been changed.
const LACKING: usize = 2;

/// The judgement on the bytes where a segment's next block should begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Zeros.
    Clean,
    /// The rest of an append that was never acknowledged, so many bytes of it.
    Torn(usize),
    /// Something that no interrupted append leaves.
    Damaged,
}

/// Judges the file from byte `offset` to its end, `tail`, where the block for position `expected` should begin
/// and no sound one does.
pub(super) fn judge(tail: &[u8], offset: u64, expected: Position) -> Verdict {
    let Some(used) = used(tail) else { return Verdict::Clean };
    let torn = match BlockHeader::decode(tail) {
        Some(header) => header.first == expected && lacks_a_part(tail, offset, used, header.bytes()),
        None => is_start_of_header(&tail[..used]) || lacks_its_header(tail, offset, used, expected),
    };
    if torn { Verdict::Torn(used) } else { Verdict::Damaged }
}

/// Length up to the last byte that isn't zero; `None` if there is none.
fn used(tail: &[u8]) -> Option<usize> {
    let blank = tail.rchunks(4096).take_while(|chunk| is_zero(chunk)).map(<[u8]>::len).sum::<usize>();
    tail[..tail.len() - blank].iter().rposition(|byte| *byte != 0).map(|last| last + 1)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

/// The header stands; its block, of `bytes`, lacks its end or a sector, and nothing follows it.
fn lacks_a_part(tail: &[u8], offset: u64, used: usize, bytes: usize) -> bool {
    let Some(block) = tail.get(..bytes) else { return false };
    let unfinished = block.ends_with(&[0; LACKING]);
    used <= bytes && (unfinished || sectors(offset, bytes).any(|part| is_zero(&block[part])))
}

/// The write stopped within the header.
fn is_start_of_header(bytes: &[u8]) -> bool {
    let known = bytes.len().min(BLOCK_MAGIC.len());
    bytes.len() < BLOCK_HEADER && bytes[..known] == BLOCK_MAGIC[..known]
}

/// The sector with the header was not written, others were: they are dense, and no later block is among them.
fn lacks_its_header(tail: &[u8], offset: u64, used: usize, expected: Position) -> bool {
    let mut parts = sectors(offset, used).map(|part| &tail[part]);
    let later = |at: usize| BlockHeader::decode(&tail[at..]).is_some_and(|header| header.first > expected);
    parts.next().is_some_and(is_zero)
        && parts.all(|part| is_zero(part) || dense(part, [0; 4]))
        && used as u64 <= MAX_BLOCK
        && !(0..used).step_by(BLOCK_HEADER).any(later)
}
