//! The contents of a log: commits, their events with all parts, and the reasons why the books refuse a commit.

pub(crate) mod campaign;
pub(crate) mod commit;
pub(crate) mod event;
pub(crate) mod partition;
pub(crate) mod pool;
pub(crate) mod refused;
pub(crate) mod round;
pub(crate) mod session;
