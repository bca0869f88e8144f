//! The log on NATS JetStream: a partition is a stream, an append a message, and a lost server loses no data.
//!
//! A `<stream>.block` message contains an append in a segment's [block](motherlode_log::block) format, and its writer's
//! *epoch*. A `<stream>.epoch` message begins an epoch. Nothing is deleted, and each message names its expected
//! predecessor, so exactly one takes each sequence number.
//!
//! * **One writer.** Opening publishes an epoch message, and the previous writer's appends fail.
//! * **Unknown outcomes.** The message at the expected number is read. If there is none, the same message is published
//!   again.
//! * **Authentication.** Messages without a valid MAC ([`key`]) are skipped, counted and logged.
//!
//! Costs: an append is one request to the stream's leader, a read one request or a cache hit.

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
