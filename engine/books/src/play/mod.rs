//! What services hold players and operators to beside the books. Nothing here is in the log.

pub(crate) mod autospin;
pub(crate) mod profile;
pub(crate) mod quota;
pub(crate) mod sessions;
