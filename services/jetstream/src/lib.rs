//! The log on NATS JetStream: a partition is a stream, an append is a message, and a lost node loses nothing.
//!
//! * [`JetStreamStore`] is the [`Store`](motherlode_log::Store); it keeps the same contract as the files do.
//! * [`Following`] reads a stream that another process writes, tells it how far it is, and can take it over.
//! * [`scan`] reads a stream from its first message without trusting or changing anything.
//! * [`Feed`] is no log: it publishes what others read, to a stream of theirs.
//!
//! The messages of a stream are of two kinds, by subject: `<stream>.block` holds one append, in the bytes of a segment's
//! [block](motherlode_log::block), and names the *epoch* of its writer; `<stream>.epoch` begins one. Nothing is ever
//! deleted, so messages are numbered densely from 1 and what stands at a number is decided for good. Everything rests
//! on that: each message is published with the number it expects to follow, so exactly one can take the next place.
//!
//! * **One writer.** Opening verifies the whole stream and then takes the next place with an epoch message. Whoever wrote
//!   before expects another number from then on: its next append is refused, and it stays so.
//! * **Unknown outcomes are found out.** When no answer comes, or one that may be false, the message at the expected place
//!   is read: it's this very append, or another writer's, or there is none yet, and then the same append is published
//!   again. None of it depends on a window of time, and none is a guess.
//!
//! * **Other NATS users write nothing.** With a key, each message has a MAC ([`key`]). A message without one is skipped,
//!   counted and logged; the writer publishes at the next place.
//!
//! Costs: an append is one request to the stream's leader; a read is one request for the messages between two marks of the
//! index in memory (56 bytes for each 32 messages or 32 KiB), each verified down the hash chain from the mark, and none while
//! the 16 MiB that were read last have it; opening reads and verifies everything. All of it runs on a thread of its own, and callers wait without a runtime.

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
