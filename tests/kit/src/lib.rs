//! Code shared by tests, benches, examples and fuzz targets of several crates.
//!
//! * [`logs`]: logs that every build folds to the same state, compared by [`digests`]; [`shape`] finds fields that they
//!   leave empty.
//! * [`conformance`]: contract tests of stores.
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
