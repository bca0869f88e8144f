pub mod archiving;
pub mod conformance;
pub mod digests;
pub mod logs;
pub mod nats;
pub mod shape;
pub mod sim;
