//! Shortens records for a proof by replacing bytes with instructions to copy them from the previous record, its hash,
//! or earlier bytes of the same record.

use motherlode_log::hash;

/// Maximum bytes copied per record, so that a small proof file cannot make a verifier restore huge records.
pub const COPIED_MAX: usize = 4_096;
/// Minimum length of a copied run. For a shorter run, the copy instruction would be as long as the run.
const RUN_MIN: usize = 7;
/// Maximum length of a record to be shortened, because the search for repeated bytes takes quadratic time.
const SEARCHED_MAX: usize = 4_096;

fn beginning(before: Option<&[u8]>) -> Vec<u8> {
    before.map(|before| [&hash(before)[..], before].concat()).unwrap_or_default()
}

#[must_use]
pub fn shortened(record: &[u8], before: Option<&[u8]>) -> (Vec<u8>, Vec<u32>) {
    let mut text = beginning(before);
    if record.len().max(text.len()) > SEARCHED_MAX {
        return (record.to_vec(), vec![]);
    }
    let (mut own, mut copied, mut rest) = (vec![], vec![], record);
    let (mut since, mut room) = (0, COPIED_MAX);
    while !rest.is_empty() {
        let (from, length) = longest(&text, rest.get(..room).unwrap_or(rest));
        let is_run = length >= RUN_MIN;
        let (now, behind) = rest.split_at(if is_run { length } else { 1 });
        text.extend_from_slice(now);
        rest = behind;
        if is_run {
            copied.extend([since, from, length].map(|number| u32::try_from(number).unwrap_or_default()));
            since = 0;
            room -= length;
        } else {
            own.extend_from_slice(now);
            since += 1;
        }
    }
    (own, copied)
}

fn longest(text: &[u8], wanted: &[u8]) -> (usize, usize) {
    let common = |from: usize| text.iter().skip(from).zip(wanted).take_while(|(one, other)| one == other).count();
    (0..text.len()).map(|from| (from, common(from))).max_by_key(|(_, length)| *length).unwrap_or_default()
}

/// Restores a record; returns `None` if an instruction is invalid or more than [`COPIED_MAX`] bytes are copied.
#[must_use]
pub fn restored(own: &[u8], copied: &[u32], before: Option<&[u8]>) -> Option<Vec<u8>> {
    let runs = copied.chunks_exact(3);
    if !runs.remainder().is_empty() {
        return None;
    }
    let mut text = if copied.is_empty() { vec![] } else { beginning(before) };
    let (begun, mut rest, mut room) = (text.len(), own, COPIED_MAX);
    for run in runs {
        let mut numbers = run.iter().map(|number| usize::try_from(*number).ok());
        let mut next = || numbers.next().flatten();
        let (own, from, length) = (next()?, next()?, next()?);
        room = room.checked_sub(length)?;
        let (now, behind) = rest.split_at_checked(own)?;
        text.extend_from_slice(now);
        let run = from..from.checked_add(length).filter(|end| *end <= text.len())?;
        text.extend_from_within(run);
        rest = behind;
    }
    text.extend_from_slice(rest);
    Some(text.split_off(begun))
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
            (&named.repeat(3), None, 2 * named.len()),
            (&vec![], Some(&before[..]), 0),
            (&before, Some(&before[..]), before.len()),
            (&vec![7; 4_000], Some(&[7; 3_000][..]), 4_000),
            (&vec![7; SEARCHED_MAX], None, SEARCHED_MAX - 20),
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
        assert_eq!(restored(b"own", &[1, 32, 7, 1, 38, 3], before).unwrap(), b"obeforeowoben");
        assert_eq!(restored(b"own", &[2, 0, 2], None).unwrap(), b"owown");
        for copied in [
            vec![1, 32],
            vec![1, 32, 8],
            vec![1, 40, 0],
            vec![4, 32, 1],
            vec![1, u32::MAX, 1],
            vec![1, 1, u32::MAX],
            [0, 0, 38].repeat(COPIED_MAX / 38 + 1),
        ] {
            assert_eq!(restored(b"own", &copied, before), None, "{copied:?}");
        }
        assert_eq!(restored(b"own", &[1, 0, 2], None), None);
    }
}
