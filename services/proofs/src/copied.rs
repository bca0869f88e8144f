//! A record of a proof without what it has in common with the record before it there, or with that one's hash.
//!
//! A player's records repeat names, terms and the hash of the game's data, and each step names the record before it: a third of a
//! record. Whoever verifies puts it together again and hashes the whole, so nothing is believed for having been left out.

use motherlode_log::hash;

/// The most that is copied into a record, bytes: so what a verifier has to hash grows with the file.
pub const COPIED_MAX: usize = 1_024;
/// A shorter run takes as much to tell as it has.
const RUN_MIN: usize = 8;
/// Longer records are written whole, since looking for runs takes the product of both lengths.
const SEARCHED_MAX: usize = 4_096;

/// What is copied from: the hash of the record before, then that record.
fn source(before: Option<&[u8]>) -> Vec<u8> {
    before.map(|before| [&hash(before)[..], before].concat()).unwrap_or_default()
}

/// A record without what can be copied from the one before it, and what is to be copied: see
/// [`ProvenRecord`](motherlode_proto::proof::v1::ProvenRecord).
#[must_use]
pub fn shortened(record: &[u8], before: Option<&[u8]>) -> (Vec<u8>, Vec<u32>) {
    let source = source(before);
    if record.len().max(source.len()) > SEARCHED_MAX {
        return (record.to_vec(), vec![]);
    }
    let (mut own, mut copied, mut rest) = (vec![], vec![], record);
    let (mut since, mut room) = (0, COPIED_MAX);
    while let Some((first, behind)) = rest.split_first() {
        let (from, length) = longest(&source, rest.get(..room).unwrap_or(rest));
        if length < RUN_MIN {
            own.push(*first);
            since += 1;
            rest = behind;
        } else {
            // None is longer than what was searched.
            copied.extend([since, from, length].map(|number| u32::try_from(number).unwrap_or_default()));
            since = 0;
            room -= length;
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    (own, copied)
}

/// Where the source has the most of the beginning of what is wanted, and how much.
fn longest(source: &[u8], wanted: &[u8]) -> (usize, usize) {
    let common = |from: usize| source.iter().skip(from).zip(wanted).take_while(|(one, other)| one == other).count();
    (0..source.len()).map(|from| (from, common(from))).max_by_key(|(_, length)| *length).unwrap_or_default()
}

/// The record that was shortened; `None` where there is not so much to copy, or more than may be.
#[must_use]
pub fn restored(own: &[u8], copied: &[u32], before: Option<&[u8]>) -> Option<Vec<u8>> {
    let runs = copied.chunks_exact(3);
    if !runs.remainder().is_empty() {
        return None;
    }
    let source = if copied.is_empty() { vec![] } else { source(before) };
    let (mut record, mut rest, mut room) = (Vec::with_capacity(own.len()), own, COPIED_MAX);
    for run in runs {
        let mut numbers = run.iter().map(|number| usize::try_from(*number).ok());
        let mut next = || numbers.next().flatten();
        let (own, from, length) = (next()?, next()?, next()?);
        room = room.checked_sub(length)?;
        let (before, behind) = rest.split_at_checked(own)?;
        record.extend_from_slice(before);
        record.extend_from_slice(source.get(from..)?.get(..length)?);
        rest = behind;
    }
    record.extend_from_slice(rest);
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_what_it_was() {
        let words = |text: &str| text.as_bytes().to_vec();
        let before = words("player/acme/ann bewitched 1.1 spin-1");
        let named = [&words("player/acme/ann bewitched 1.2 ")[..], &hash(&before), b" spin-2"].concat();
        for (record, before, least) in [
            (&named, Some(&before[..]), 50),
            (&named, None, 0),
            (&vec![], Some(&before[..]), 0),
            (&before, Some(&before[..]), before.len()),
            (&vec![7; 4_000], Some(&[7; 3_000][..]), COPIED_MAX),
            (&vec![7; SEARCHED_MAX + 1], Some(&[7; 100][..]), 0),
        ] {
            let (own, copied) = shortened(record, before);
            assert!(record.len() - own.len() >= least && copied.len() % 3 == 0, "{copied:?}");
            assert_eq!(restored(&own, &copied, before).as_ref(), Some(record));
        }
    }

    #[test]
    fn what_is_not_there_is_not_copied() {
        let before = Some(&b"before"[..]);
        assert_eq!(restored(b"own", &[1, 32, 6, 1, 32, 1], before).unwrap(), b"obeforewbn");
        for copied in [
            vec![1, 32],
            vec![1, 32, 7],
            vec![1, 39, 0],
            vec![4, 32, 1],
            vec![1, u32::MAX, 1],
            vec![1, 1, u32::MAX],
            [0, 0, 38].repeat(COPIED_MAX / 38 + 1),
        ] {
            assert_eq!(restored(b"own", &copied, before), None, "{copied:?}");
        }
        assert_eq!(restored(b"own", &[1, 0, 1], None), None);
    }
}
