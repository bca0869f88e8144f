//! The state that a log amounts to: players, pools, switches, pending changes, and the books that hold them all.

pub(crate) mod books;
pub(crate) mod campaign;
pub(crate) mod changes;
pub(crate) mod day;
pub(crate) mod operator;
pub(crate) mod pending;
pub(crate) mod player;
pub(crate) mod players;
pub(crate) mod pool;
pub(crate) mod round;
pub(crate) mod seat;
pub(crate) mod switches;
