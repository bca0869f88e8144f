//! Encodes an append as one block, for stores without segment files.

use bytes::Bytes;

use crate::{
    record::Position,
    segment::format::{self, decode_block, encode_block},
};

pub const MAX: u64 = format::MAX_BLOCK;

#[must_use]
pub fn bytes(records: &[Bytes]) -> u64 {
    format::block_bytes(format::body_bytes(records))
}

/// The caller must ensure that the block does not exceed [`MAX`].
#[must_use]
pub fn encode(first: Position, records: &[Bytes]) -> Bytes {
    let mut block = Vec::with_capacity(usize::try_from(bytes(records)).unwrap_or_default());
    encode_block(&mut block, 0, first, records);
    block.into()
}

pub fn decode(block: &Bytes, first: Position) -> Result<Vec<Bytes>, &'static str> {
    let decoded = decode_block(block, first)?;
    if decoded.bytes == block.len() {
        Ok(decoded.records)
    } else {
        Err("the stored append has bytes after the end of its block")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_back_only_whole_and_at_its_place() {
        let records = [Bytes::from_static(b"one"), Bytes::from(vec![0; 2000]), Bytes::new()];
        let block = encode(7, &records);
        assert_eq!(block.len() as u64, bytes(&records));
        assert_eq!(decode(&block, 7).unwrap(), records);
        assert!(decode(&block, 8).is_err());
        assert!(decode(&block.slice(..block.len() - 1), 7).is_err());
        assert!(decode(&[&block[..], &[0; 32]].concat().into(), 7).is_err());
        for at in 0..block.len() {
            let mut changed = block.to_vec();
            changed[at] ^= 1;
            assert!(decode(&changed.into(), 7).is_err(), "byte {at}");
        }
    }
}
