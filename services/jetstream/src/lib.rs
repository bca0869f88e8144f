//! The log on NATS JetStream: a partition is a stream and an append is a message, so that a lost server loses no data.
//!
//! * [`JetStreamStore`] is the [`Store`](motherlode_log::Store).
//! * [`Following`] follows a stream and can take it over.
//! * [`scan`] verifies a stream and changes nothing.
//! * [`Feed`] publishes records to other readers' streams.
//!
//! A `<stream>.block` message contains one append in a segment's [block](motherlode_log::block) format, and its
//! writer's *epoch*. A `<stream>.epoch` message begins an epoch. Nothing is deleted, so sequence numbers are
//! contiguous. Each message is published with its expected predecessor, so exactly one takes each number.
//!
//! * **One writer.** Opening a stream publishes an epoch message, after which the previous writer's appends fail.
//! * **Unknown outcomes are resolved.** Without a reliable answer, the message at the expected number is read. If there
//!   is none, the same message is published again.
//! * **Authentication.** Messages without a valid MAC ([`key`]) are skipped, counted and logged.
//!
//! An append is one request to the stream's leader. A read is one request for the messages between two marks of the
//! index, or none for the last 16 MiB read. Requests run on a separate thread, so callers need no runtime.

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
pub use standbys::Told;
pub use store::JetStreamStore;
