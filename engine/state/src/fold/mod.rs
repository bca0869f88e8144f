//! Fold of commits: [`stage`] passes a commit to [`decide`], which applies its events to a [`transition`] and merges
//! the [`delta`]. [`pool_steps`], [`price`](mod@price) and [`due`] compute events; [`admission`] checks limits.

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
mod pool_steps;
mod price;
mod proposal;
mod reveal;
mod round;
mod seamless;
mod session;
mod share;
mod stage;
mod system;
mod transition;
mod view;
mod void;
mod wallet;

pub use delta::Left;
pub use price::{figure, price};
pub use share::{CommonState, Share, Totals};
pub use stage::{Stage, Subject};
