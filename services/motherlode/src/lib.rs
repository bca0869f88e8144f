//! Motherlode as one program: the services in one process, and the tools that go with them.

pub mod cli;
pub mod client;
pub mod commands;
mod deadline;
pub mod draw;
pub mod figures;
pub mod server;
pub mod target;
