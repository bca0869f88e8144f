//! The fold: it decides whether a commit may change the books, and changes them.
//!
//! A commit's way: [`stage`] has [`decide`] judge it, which runs each event on a [`transition`] by the file that is named for
//! its subject ([`wallet`], [`round`], [`pool`] and so on); the [`delta`] that comes of it is merged. Beside that way,
//! [`steward`], [`price`] and [`due`] work out what a new commit must say, and [`admission`] holds it to the ceilings.

pub(crate) mod admission;
pub(crate) mod award;
pub(crate) mod campaign;
pub(crate) mod decide;
pub(crate) mod delta;
pub(crate) mod due;
pub(crate) mod partition;
pub(crate) mod pool;
pub(crate) mod price;
pub(crate) mod round;
pub(crate) mod session;
pub(crate) mod stage;
pub(crate) mod steward;
pub(crate) mod system;
pub(crate) mod transition;
pub(crate) mod view;
pub(crate) mod void;
pub(crate) mod wallet;
