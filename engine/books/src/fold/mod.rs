//! The fold: it decides whether a commit may change the books, and changes them.
//!
//! A commit's way: [`stage`] has [`decide`] judge it, which runs each event on a [`transition`] in the file that is named for
//! its subject ([`wallet`], [`round`], [`pool`] and so on). The resulting [`delta`] is merged. Before a commit is proposed,
//! [`steward`], [`price`](mod@price) and [`due`] work out its events, and [`admission`] holds it to the ceilings.

mod admission;
mod award;
mod campaign;
mod decide;
mod delta;
mod draw;
mod due;
mod incident;
mod partition;
mod pool;
mod price;
mod proposal;
mod reveal;
mod round;
mod seamless;
mod session;
mod share;
mod stage;
mod steward;
mod system;
mod transition;
mod view;
mod void;
mod wallet;

pub use delta::Left;
pub use price::{figure, price};
pub use share::{Share, Shared, Totals};
pub use stage::{Stage, Subject};
