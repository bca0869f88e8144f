use motherlode_tiles::{Hash, Stored, Tree};
use sha2::{Digest, Sha256};
use std::convert::Infallible;

pub fn mth(entries: &[Hash]) -> Hash {
    match entries {
        [] => Sha256::digest([]).into(),
        [entry] => Sha256::digest([&[0][..], entry].concat()).into(),
        entries => {
            let k = split(entries.len());
            Sha256::digest([&[1][..], &mth(&entries[..k]), &mth(&entries[k..])].concat()).into()
        }
    }
}

pub fn path(m: usize, entries: &[Hash]) -> Vec<Hash> {
    if entries.len() == 1 {
        return vec![];
    }
    let k = split(entries.len());
    let (mut rest, sibling) = match m < k {
        true => (path(m, &entries[..k]), mth(&entries[k..])),
        false => (path(m - k, &entries[k..]), mth(&entries[..k])),
    };
    rest.push(sibling);
    rest
}

/// `SUBPROOF(m, D[n], b)` of RFC 6962. If `b` is true, the result is the consistency proof.
pub fn subproof(m: usize, entries: &[Hash], b: bool) -> Vec<Hash> {
    if m == entries.len() {
        return if b { vec![] } else { vec![mth(entries)] };
    }
    let k = split(entries.len());
    let (mut rest, sibling) = match m <= k {
        true => (subproof(m, &entries[..k], b), mth(&entries[k..])),
        false => (subproof(m - k, &entries[k..], false), mth(&entries[..k])),
    };
    rest.push(sibling);
    rest
}

fn split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

pub fn entries(count: usize) -> Vec<Hash> {
    (0..count).map(|at| Sha256::digest(format!("entry {at}")).into()).collect()
}

#[derive(Default)]
pub struct Levels(pub Vec<Vec<Hash>>);

impl Stored for Levels {
    type Error = Infallible;

    fn hashes(&self, level: u8, first: u64, count: usize) -> Result<Vec<Hash>, Infallible> {
        let first = usize::try_from(first).unwrap();
        assert_eq!(first / 256, (first + count - 1) / 256, "the hashes must belong to one tile");
        Ok(self.0[usize::from(level)][first..first + count].to_vec())
    }
}

pub fn grown(entries: &[Hash]) -> (Tree, Levels) {
    let (mut tree, mut levels) = (Tree::default(), Levels::default());
    for entry in entries {
        tree.append(entry, |level, hash| {
            let level = usize::from(level);
            levels.0.resize_with(levels.0.len().max(level + 1), Vec::new);
            levels.0[level].push(hash);
        });
    }
    (tree, levels)
}
