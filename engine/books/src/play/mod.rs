//! Rules of play that services apply themselves. None of this is in the log.

pub(crate) mod autospin;
pub(crate) mod profile;
pub(crate) mod quota;
pub(crate) mod sessions;
