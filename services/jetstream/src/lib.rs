//! Stores the log in NATS JetStream. A partition is a stream, and an append is a message. The loss of one server loses no
//! data.
//!
//! A `<stream>.block` message contains an append in the format of a segment's [block](motherlode_log::block), and the
//! *epoch* of its writer. A `<stream>.epoch` message begins an epoch. Each message states its expected predecessor, so
//! the server refuses repeated and late messages. Only messages before a recorded [`start`] are removed.

mod check;
mod expected;
mod failure;
mod feed;
mod following;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod index;
mod key;
mod link;
mod message;
mod open;
mod presence;
mod prune;
mod reader;
mod recent;
mod scan;
mod standbys;
mod start;
mod store;

pub use check::Unsafe;
pub use feed::{Entry, Feed, FeedError, Last};
pub use following::Following;
pub use open::{Absent, OpenError, exists};
pub use presence::{Presence, vacant};
pub use prune::PruneError;
pub use scan::{Scan, scan};
pub use standbys::StandbyReport;
pub use store::JetStreamStore;
