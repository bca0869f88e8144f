//! Motherlode as one program: the services in one process, and the tools that go with them.

pub mod cli;
pub mod client;
pub mod commands;
mod condition;
mod current;
mod deadline;
mod followed;
mod front;
mod measured;
mod metrics;
pub mod place;
pub mod server;
mod standby;
pub mod target;
mod traced;
mod warm;
mod writing;

use motherlode_picture::{draw, figures, markup};
