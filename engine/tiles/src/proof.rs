use crate::merkle::{Hash, Stored, node, range, split};

/// Returns the inclusion path of entry `index` (RFC 6962, section 2.1.1). `index` must be below `size`.
pub fn inclusion<S: Stored>(stored: &S, index: u64, size: u64) -> Result<Vec<Hash>, S::Error> {
    let (mut from, mut to, mut path) = (0, size, vec![]);
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            path.push(range(stored, middle, to)?);
            to = middle;
        } else {
            path.push(range(stored, from, middle)?);
            from = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// Returns the consistency path between two tree sizes (RFC 6962, section 2.1.2). The path is empty if `old` is 0 or equal
/// to `new`.
pub fn consistency<S: Stored>(stored: &S, old: u64, new: u64) -> Result<Vec<Hash>, S::Error> {
    let (mut from, mut to, mut path) = (0, new, vec![]);
    if old == 0 || old >= new {
        return Ok(path);
    }
    while to != old {
        let middle = from + split(to - from);
        if old <= middle {
            path.push(range(stored, middle, to)?);
            to = middle;
        } else {
            path.push(range(stored, from, middle)?);
            from = middle;
        }
    }
    // If the subtree is the complete old tree, its hash is omitted, because the verifier already has it.
    if from > 0 {
        path.push(range(stored, from, to)?);
    }
    path.reverse();
    Ok(path)
}

/// Returns whether an inclusion path is correct (RFC 9162, section 2.1.3.2).
#[must_use]
pub fn is_included(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let mut climb = Climb { index, last: size - 1 };
    let mut hash = *leaf;
    for sibling in path {
        hash = match climb.up() {
            None => return false,
            Some(Side::Left) => node(sibling, &hash),
            Some(Side::Right) => node(&hash, sibling),
        };
    }
    climb.last == 0 && hash == *root
}

/// Returns whether a consistency path is correct (RFC 9162, section 2.1.4.2).
#[must_use]
pub fn is_consistent(old: (u64, &Hash), new: (u64, &Hash), path: &[Hash]) -> bool {
    let ((old, old_root), (new, new_root)) = (old, new);
    if old == 0 || old == new {
        return path.is_empty() && (old == 0 || old_root == new_root);
    }
    let (start, path) = match (old.is_power_of_two(), path) {
        (true, path) => (old_root, path),
        (false, [start, path @ ..]) => (start, path),
        (false, []) => return false,
    };
    if old > new || path.is_empty() {
        return false;
    }
    let mut climb = Climb { index: old - 1, last: new - 1 };
    while climb.index & 1 == 1 {
        climb.halve();
    }
    let (mut of_old, mut of_new) = (*start, *start);
    for sibling in path {
        match climb.up() {
            None => return false,
            Some(Side::Left) => (of_old, of_new) = (node(sibling, &of_old), node(sibling, &of_new)),
            Some(Side::Right) => of_new = node(&of_new, sibling),
        }
    }
    climb.last == 0 && of_old == *old_root && of_new == *new_root
}

struct Climb {
    index: u64,
    last: u64,
}

enum Side {
    Left,
    Right,
}

impl Climb {
    fn up(&mut self) -> Option<Side> {
        if self.last == 0 {
            return None;
        }
        if self.index & 1 == 0 && self.index < self.last {
            self.halve();
            return Some(Side::Right);
        }
        while self.index & 1 == 0 && self.index > 0 {
            self.halve();
        }
        self.halve();
        Some(Side::Left)
    }

    fn halve(&mut self) {
        (self.index, self.last) = (self.index >> 1, self.last >> 1);
    }
}
