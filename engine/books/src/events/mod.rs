//! What a log holds: commits, their events, and why the books refuse one.

pub(crate) mod commit;
pub(crate) mod event;
pub(crate) mod partition;
pub(crate) mod refused;
