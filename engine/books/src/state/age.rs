//! Ages: the time from the beginning of one snapshot to the beginning of the next.

/// How far snapshots are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// The running age; 0 while nobody watches.
    pub age: u32,
    /// The latest age that a snapshot has.
    pub written: u32,
    /// Whether a snapshot is being written.
    pub is_writing: bool,
}

impl Watch {
    pub fn is_on(self) -> bool {
        self.age > 0
    }
}

/// How snapshots are made is no part of what the books say.
impl PartialEq for Watch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Watch {}
