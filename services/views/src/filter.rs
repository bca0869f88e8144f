//! Filter that excludes most absent keys without reading a block.
//!
//! The filter is Apache Parquet's split block Bloom filter: a key sets one bit in each of the eight words of a 32-byte
//! block, so a lookup reads one cache line. With 12 bits per key, about 6 of 1,000 absent keys pass.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;

const BLOCK: usize = 32;
const BITS: usize = 12;
/// The Parquet format's salt constants, one per word.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

#[must_use]
pub fn filter_hash(key: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(key);
    hasher.finish()
}

fn length(keys: usize) -> usize {
    keys.saturating_mul(BITS).div_ceil(8 * BLOCK).max(1) * BLOCK
}

/// The upper half of the hash selects the block, the lower half the bits.
fn mask(hash: u64) -> [u32; 8] {
    let low = u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
    SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27))
}

fn block(hash: u64, length: usize) -> usize {
    let place = (u128::from(hash) * (length / BLOCK) as u128) >> u64::BITS;
    usize::try_from(place).unwrap_or_default() * BLOCK
}

#[derive(Debug)]
pub(crate) struct Filter(Vec<u8>);

impl Filter {
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        (!bytes.is_empty() && bytes.len().is_multiple_of(BLOCK)).then_some(Self(bytes))
    }

    pub(crate) fn new(hashes: &[u64]) -> Self {
        let mut bytes = vec![0; length(hashes.len())];
        for hash in hashes {
            let at = block(*hash, bytes.len());
            let words = bytes.iter_mut().skip(at);
            for (byte, bits) in words.zip(mask(*hash).into_iter().flat_map(u32::to_le_bytes)) {
                *byte |= bits;
            }
        }
        Self(bytes)
    }

    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        let at = block(hash, self.0.len());
        let Some(block) = self.0.get(at..at + BLOCK) else { return true };
        block.chunks_exact(4).zip(mask(hash)).all(|(word, mask)| {
            let word = word.first_chunk().map_or(u32::MAX, |word| u32::from_le_bytes(*word));
            word & mask != 0
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_of_the_table_is_excluded_and_most_others_are() {
        for count in [0_u64, 1, 2, 100, 10_000] {
            let hash = |number: u64| filter_hash(&number.to_le_bytes());
            let hashes: Vec<_> = (1..=count).map(hash).collect();
            let filter = Filter::new(&hashes);
            assert_eq!(filter.bytes().len(), length(hashes.len()));
            assert!(hashes.iter().all(|hash| filter.may_contain(*hash)), "{count}");
            let passed = (count + 1..count + 10_001).filter(|number| filter.may_contain(hash(*number))).count();
            assert!(passed < 150, "{passed} of 10,000 absent keys passed a filter of {count} keys");
        }
    }
}
