//! Parts that the tests, benches, examples and fuzz targets of several crates share. Nothing that is shipped depends on it.
//!
//! * [`logs`] are logs that every version folds to the same state; [`digests`] compares that state, and
//!   [`shape`] finds its fields without a value.
//! * [`conformance`] is the contract of a log's store as tests, run against every store.
//! * [`archiving`] is a log in memory whose first records can be archived.
//! * [`sim`] is a disk in memory that forgets, fills up and fails.
//! * [`nats`] starts servers of NATS JetStream.

pub mod archiving;
pub mod conformance;
pub mod digests;
pub mod logs;
pub mod nats;
pub mod shape;
pub mod sim;
