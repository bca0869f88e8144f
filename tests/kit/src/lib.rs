//! Code shared by tests, benches, examples and fuzz targets of several crates. Never shipped.
//!
//! * [`logs`]: logs that every build folds to the same state; [`digests`] compares that state, and [`shape`] finds its
//!   empty fields.
//! * [`conformance`]: contract tests of a log's store.
//! * [`archiving`]: in-memory log whose first records can be archived.
//! * [`sim`]: simulated disk with power cuts, failures and limited space.
//! * [`nats`]: NATS JetStream servers.

pub mod archiving;
pub mod conformance;
pub mod digests;
pub mod logs;
pub mod nats;
pub mod shape;
pub mod sim;
