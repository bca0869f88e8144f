//! Manifest of a segment: a canonical text that ends with the digest of its other lines.

use motherlode_log::{Hash, Position};
use motherlode_tiles::Tree;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER;

const TITLE: &str = "motherlode archive segment v1";
pub(crate) const BYTES_MAX: u64 = 8 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub partition: u32,
    pub first: Position,
    pub last: Position,
    pub previous: Hash,
    pub head: Hash,
    pub bytes: u64,
    pub sha256: Hash,
    pub tree: Tree,
}

impl Manifest {
    #[must_use]
    pub fn segment(&self) -> String {
        format!("segments/{:020}-{}", self.first, HEXLOWER.encode(&self.sha256[..16]))
    }

    fn lines(&self) -> String {
        let Self { partition, first, last, previous, head, bytes, sha256, tree } = self;
        let [previous, head, sha256] = [previous, head, sha256].map(|hash| HEXLOWER.encode(hash));
        let edge: String = tree.edge().iter().map(|hash| format!("tree {}\n", HEXLOWER.encode(hash))).collect();
        format!(
            "{TITLE}\npartition {partition}\nfirst {first}\nlast {last}\nprevious {previous}\nhead {head}\n\
             bytes {bytes}\nsha256 {sha256}\n{edge}"
        )
    }
}

pub(crate) fn manifest_name(first: Position) -> String {
    format!("manifests/{first:020}")
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_digest(self.lines()))
    }
}

pub(crate) fn with_digest(lines: String) -> String {
    let digest = HEXLOWER.encode(&Sha256::digest(&lines));
    lines + &format!("digest {digest}\n")
}

fn hash(text: &str) -> Option<Hash> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

impl FromStr for Manifest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let mut lines = text.lines();
            lines.next().filter(|title| *title == TITLE)?;
            let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
            let partition = field("partition")?.parse().ok()?;
            let (first, last): (Position, Position) = (field("first")?.parse().ok()?, field("last")?.parse().ok()?);
            let (previous, head) = (hash(field("previous")?)?, hash(field("head")?)?);
            let (bytes, sha256) = (field("bytes")?.parse().ok()?, hash(field("sha256")?)?);
            let edge = (0..last.count_ones()).map(|_| hash(field("tree")?)).collect::<Option<Vec<_>>>()?;
            let tree = Tree::with_edge(last, edge)?;
            (first > 0 && first <= last).then_some(Self { partition, first, last, previous, head, bytes, sha256, tree })
        };
        read().filter(|manifest| manifest.to_string() == text).ok_or("the text is not the manifest of a segment")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let mut tree = Tree::default();
        (0..1_000_u32).for_each(|entry| tree.append(&entry.to_le_bytes(), |_, _| {}));
        let (previous, head, sha256) = ([1; 32], [2; 32], [3; 32]);
        Manifest { partition: 2, first: 7, last: 1_000, previous, head, bytes: 123, sha256, tree }
    }

    #[test]
    fn pl_37_a_manifest_comes_back_as_it_was_and_no_changed_byte_is_believed() {
        let text = manifest().to_string();
        assert!(text.len() < usize::try_from(BYTES_MAX).unwrap(), "{text}");
        assert_eq!(text.parse(), Ok(manifest()));
        assert_eq!(manifest().segment(), "segments/00000000000000000007-03030303030303030303030303030303");
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed.parse::<Manifest>().is_err(), "byte {at}");
            assert!(text[..at].parse::<Manifest>().is_err(), "{at} bytes");
        }
    }
}
