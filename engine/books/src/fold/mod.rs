//! How a commit changes the books: every rule is checked on a copy, then the copy is merged.

pub(crate) mod admission;
pub(crate) mod partition;
pub(crate) mod player;
pub(crate) mod pool;
pub(crate) mod price;
pub(crate) mod stage;
pub(crate) mod steward;
pub(crate) mod transition;
