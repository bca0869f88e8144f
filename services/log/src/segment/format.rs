//! Segment files, format version 1. All integers are little-endian.
//!
//! ```text
//! segment   header (64 bytes), blocks one after another, zeros to the end of the file
//! header    "MLODESEG"  version u32  partition u32  first position u64  previous record's hash 32  zero u32  crc u32
//! block     length a multiple of 32, so that a header never crosses a 512-byte sector:
//!           "BLCK"  body bytes u32  first position u64  records u32  mask u32  body crc u32  crc of these 28 bytes u32
//!           body: each record as length u32 and bytes; then zeros; body and zeros are XORed with the mask
//!           "BLOCKEND"
//! ```
//!
//! One append writes one block. A crash may leave any 512-byte sector unwritten, so that it reads as zeros. In each
//! sector of a block at least two bytes are nonzero, so a change of one byte cannot make a sector look unwritten. The
//! header ensures this in the first sector, the end marker in the last, and an XOR with the *mask* in all other sectors.
//! The mask is 0 unless a record has about 500 zeros in a row. CRCs are CRC-32C.

use std::ops::Range;

use bytes::{Buf, Bytes};

use crate::record::{Hash, Position};

pub(super) const SECTOR: usize = 512;
pub(super) const ALIGN: usize = 32;
pub(super) const SEGMENT_HEADER: usize = 64;
pub(super) const BLOCK_HEADER: usize = 32;
pub(crate) const MAX_BLOCK: u64 = 16 << 20;

const SEGMENT_MAGIC: [u8; 8] = *b"MLODESEG";
const VERSION: u32 = 1;
pub(super) const BLOCK_MAGIC: [u8; 4] = *b"BLCK";
pub(super) const END_MARKER: [u8; 8] = *b"BLOCKEND";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub partition: u32,
    pub first: Position,
    pub previous: Hash,
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.partition.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..56].copy_from_slice(&self.previous);
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub fn decode(file: &[u8]) -> Result<Self, &'static str> {
        let header = file.first_chunk::<SEGMENT_HEADER>().ok_or("the file is shorter than a segment's header")?;
        let mut fields = &header[..];
        let magic = fields.copy_to_bytes(8);
        let (version, partition, first) = (fields.get_u32_le(), fields.get_u32_le(), fields.get_u64_le());
        let mut previous = [0; 32];
        fields.copy_to_slice(&mut previous);
        let (reserved, crc) = (fields.get_u32_le(), fields.get_u32_le());
        if magic != SEGMENT_MAGIC[..] {
            Err("the file is not a segment")
        } else if crc != crc32c::crc32c(&header[..60]) {
            Err("the segment's header fails its checksum")
        } else if version != VERSION || reserved != 0 {
            Err("the segment has an unsupported format version")
        } else {
            Ok(Self { partition, first, previous })
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub body: u32,
    pub first: Position,
    pub records: u32,
    pub mask: u32,
    pub body_crc: u32,
}

impl BlockHeader {
    fn encode(&self) -> [u8; BLOCK_HEADER] {
        let mut bytes = [0; BLOCK_HEADER];
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        bytes[4..8].copy_from_slice(&self.body.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.records.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.mask.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.body_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<BLOCK_HEADER>()?;
        let mut fields = header.strip_prefix(&BLOCK_MAGIC)?;
        let (body, first, records) = (fields.get_u32_le(), fields.get_u64_le(), fields.get_u32_le());
        let (mask, body_crc, crc) = (fields.get_u32_le(), fields.get_u32_le(), fields.get_u32_le());
        let sound = crc == crc32c::crc32c(&header[..28]) && block_bytes(u64::from(body)) <= MAX_BLOCK;
        sound.then_some(Self { body, first, records, mask, body_crc })
    }

    pub fn bytes(&self) -> usize {
        padded(self.body as usize)
    }
}

#[derive(Debug)]
pub(crate) struct Block {
    pub first: Position,
    pub records: Vec<Bytes>,
    pub bytes: usize,
}

impl Block {
    pub fn next(&self) -> Position {
        self.first + self.records.len() as Position
    }
}

pub(crate) fn body_bytes(records: &[Bytes]) -> u64 {
    records.iter().map(|record| 4 + record.len() as u64).sum()
}

pub(crate) fn block_bytes(body: u64) -> u64 {
    (BLOCK_HEADER as u64 + body + END_MARKER.len() as u64).next_multiple_of(ALIGN as u64)
}

fn padded(body: usize) -> usize {
    (BLOCK_HEADER + body + END_MARKER.len()).next_multiple_of(ALIGN)
}

/// The caller must ensure that the block does not exceed [`MAX_BLOCK`].
pub(crate) fn encode_block(buffer: &mut Vec<u8>, offset: u64, first: Position, records: &[Bytes]) {
    buffer.clear();
    buffer.resize(BLOCK_HEADER, 0);
    for record in records {
        buffer.extend_from_slice(&length(record.len()).to_le_bytes());
        buffer.extend_from_slice(record);
    }
    let body = buffer.len() - BLOCK_HEADER;
    let end = padded(body) - END_MARKER.len();
    buffer.resize(end, 0);
    let mask = find_mask(buffer, offset);
    apply_mask(&mut buffer[BLOCK_HEADER..], mask);
    let header = BlockHeader {
        body: length(body),
        first,
        records: length(records.len()),
        mask,
        body_crc: crc32c::crc32c(&buffer[BLOCK_HEADER..]),
    };
    buffer[..BLOCK_HEADER].copy_from_slice(&header.encode());
    buffer.extend_from_slice(&END_MARKER);
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a block is at most 16 MiB")
}

pub(crate) fn decode_block(data: &Bytes, expected: Position) -> Result<Block, &'static str> {
    let header = BlockHeader::decode(data).ok_or("no valid block header")?;
    if header.first != expected {
        return Err("the block's header does not name the expected position");
    }
    let bytes = header.bytes();
    let end = bytes - END_MARKER.len();
    if data.len() < bytes {
        return Err("the file ends within the block");
    }
    if data[end..bytes] != END_MARKER {
        return Err("the block has no end marker");
    }
    if crc32c::crc32c(&data[BLOCK_HEADER..end]) != header.body_crc {
        return Err("the block fails its checksum");
    }
    let body = match header.mask {
        0 => data.slice(BLOCK_HEADER..BLOCK_HEADER + header.body as usize),
        mask => {
            let mut body = data[BLOCK_HEADER..BLOCK_HEADER + header.body as usize].to_vec();
            apply_mask(&mut body, mask);
            body.into()
        }
    };
    let records = split(body, header.records)?;
    Ok(Block { first: expected, records, bytes })
}

fn split(mut body: Bytes, count: u32) -> Result<Vec<Bytes>, &'static str> {
    const ILL_FRAMED: &str = "the block's records are malformed";
    if count == 0 || u64::from(count) * 4 > body.len() as u64 {
        return Err(ILL_FRAMED);
    }
    let mut records = Vec::with_capacity(count as usize);
    while body.has_remaining() {
        let length = body.try_get_u32_le().map_err(|_| ILL_FRAMED)? as usize;
        if length > body.len() {
            return Err(ILL_FRAMED);
        }
        records.push(body.split_to(length));
    }
    if records.len() == count as usize { Ok(records) } else { Err(ILL_FRAMED) }
}

/// Returns the smallest mask that, XORed with the block, leaves at least two nonzero bytes in each inner sector.
fn find_mask(block: &[u8], offset: u64) -> u32 {
    let parts: Vec<_> = sectors(offset, block.len()).collect();
    let inner = parts.get(1..parts.len() - 1).unwrap_or_default();
    (0..=u32::MAX)
        .find(|mask| inner.iter().all(|part| dense(&block[part.clone()], mask.to_le_bytes())))
        .expect("at most one mask leaves a sector with fewer than two nonzero bytes, and masks outnumber sectors")
}

fn apply_mask(body: &mut [u8], mask: u32) {
    if mask != 0 {
        for (byte, mask) in body.iter_mut().zip(mask.to_le_bytes().into_iter().cycle()) {
            *byte ^= mask;
        }
    }
}

pub(super) fn sectors(offset: u64, length: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let mut end = SECTOR - usize::try_from(offset % SECTOR as u64).unwrap_or(0);
    std::iter::from_fn(move || {
        let part = (start < length).then(|| start..end.min(length));
        (start, end) = (end, end + SECTOR);
        part
    })
}

/// Returns whether at least two bytes of `part` are nonzero after XOR with the mask. `part` must start at an offset that
/// is a multiple of four.
pub(super) fn dense(part: &[u8], mask: [u8; 4]) -> bool {
    part.iter().zip(mask.into_iter().cycle()).filter(|(byte, mask)| **byte != *mask).take(2).count() == 2
}
