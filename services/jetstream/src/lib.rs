//! Stores the log in NATS JetStream. A partition is a stream, and an append is a message. The loss of one server loses no
//! data.
//!
//! A `<stream>.block` message has an append in the format of a segment's [block](motherlode_log::block), and the
//! *epoch* of the append's writer. A `<stream>.epoch` message begins an epoch. Messages are never deleted, and each
//! message states its expected predecessor, so each sequence number is used exactly once.
//!
//! * **One writer.** Opening the log publishes an epoch message, after which the previous writer's appends fail.
//! * **Unknown outcomes.** After an unknown outcome, the writer reads the message at the expected sequence number. If
//!   no such message exists, the writer publishes its own message again.
//! * **Authentication.** Messages without a valid MAC ([`key`]) are skipped, counted and logged.
//!
//! Costs: an append is one request to the stream's leader; a read is one request or a cache hit.

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
mod reader;
mod recent;
mod scan;
mod standbys;
mod store;

pub use check::Unsafe;
pub use feed::{Entry, Feed, FeedError, Last};
pub use following::Following;
pub use open::{Absent, OpenError, exists};
pub use presence::{Presence, vacant};
pub use scan::{Scan, scan};
pub use standbys::StandbyReport;
pub use store::JetStreamStore;
