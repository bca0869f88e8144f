//! A filter of names: tells most of those that are not in a run from those that may be, without looking into the file.
//!
//! It's the split block Bloom filter of Apache Parquet: a name has one block of 32 bytes, and one bit in each of its eight
//! words. So a question costs one line of memory; a binary fuse filter is a fifth smaller and costs three. A name's block is
//! its place among the blocks: a run, whose names are in order, writes its filter from the first block to the last and
//! needs no memory for it, however long it is. Cost: 12 bits a name; about 6 in 1,000 questions are answered "maybe" in vain.

use super::name::Name;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 32;
/// Bits for each name.
const BITS: u64 = 12;
/// Odd constants of the format, one a word.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// How many blocks a filter of so many names has.
pub(crate) fn blocks(names: u64) -> u64 {
    names.saturating_mul(BITS).div_ceil(8 * BLOCK as u64).max(1)
}

/// The bits of a name in its block. Its place comes of the upper bits, these of the lower ones.
fn mask(name: Name) -> [u32; 8] {
    let low = u32::try_from(name.0 & u64::from(u32::MAX)).unwrap_or_default();
    SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27))
}

/// A filter.
#[derive(Debug)]
pub(crate) struct Filter(Vec<u8>);

impl Filter {
    /// Of its bytes, which are whole blocks.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// False of no name that is there.
    pub(crate) fn may_hold(&self, name: Name) -> bool {
        let block = usize::try_from(name.place((self.0.len() / BLOCK) as u64)).unwrap_or_default() * BLOCK;
        let Some(block) = self.0.get(block..block + BLOCK) else { return true };
        block.chunks_exact(4).zip(mask(name)).all(|(word, mask)| {
            let word = word.first_chunk().map_or(u32::MAX, |word| u32::from_le_bytes(*word));
            word & mask != 0
        })
    }
}

/// A filter in the making: takes names in order.
pub(crate) struct Making {
    blocks: u64,
    at: u64,
    block: [u32; 8],
}

impl Making {
    /// Of so many names.
    pub(crate) fn of(names: u64) -> Self {
        Self { blocks: blocks(names), at: 0, block: [0; 8] }
    }

    /// Takes the next name; the blocks before its own are complete.
    pub(crate) fn take<E>(&mut self, name: Name, done: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.go_on(name.place(self.blocks), done)?;
        for (word, mask) in self.block.iter_mut().zip(mask(name)) {
            *word |= mask;
        }
        Ok(())
    }

    /// All names were taken.
    pub(crate) fn end<E>(mut self, done: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.go_on(self.blocks, done)
    }

    fn go_on<E>(&mut self, to: u64, done: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        while self.at < to {
            let mut bytes = [0; BLOCK];
            for (bytes, word) in bytes.chunks_exact_mut(4).zip(self.block) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            done(&bytes)?;
            self.block = [0; 8];
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn filter(names: &[Name]) -> Filter {
        let mut bytes = vec![];
        let mut put = |block: &[u8]| {
            bytes.extend_from_slice(block);
            Ok::<_, Infallible>(())
        };
        let mut making = Making::of(names.len() as u64);
        names.iter().for_each(|name| making.take(*name, &mut put).unwrap());
        making.end(&mut put).unwrap();
        Filter::new(bytes)
    }

    fn spread(number: u64) -> Name {
        Name(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    #[test]
    fn pl_11_no_name_that_is_there_is_denied_and_few_others_are_not() {
        for count in [0, 1, 2, 100, 10_000] {
            let mut names: Vec<_> = (1..=count).map(spread).collect();
            names.sort_unstable();
            let filter = filter(&names);
            assert!(names.iter().all(|name| filter.may_hold(*name)), "{count}");
            let in_vain = (count + 1..count + 10_001).filter(|number| filter.may_hold(spread(*number))).count();
            assert!(in_vain < 150, "{in_vain} of 10,000 that are not among {count}");
        }
    }
}
