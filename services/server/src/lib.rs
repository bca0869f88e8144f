//! The service as a process: its log opened, its services put behind one port, until it stops.
//!
//! [`serve`] is all of it, and decides what kind of process it is:
//!
//! * `single`: everything on one machine, with the log in a data folder; what the others are made of, to be read first.
//! * `roles`: some of the services or partitions, with replicas of what other processes write.
//! * `standby`: the log on JetStream, where one process writes and others stand by to take over.
//!
//! [`Server`] is a running service by itself, on logs that are open already. [`LogLocation`] is where a log is kept;
//! [`copy`] and [`Backup`] copy one, [`LocalLog`] has one at hand for tools.
//!
//! Costs: starting reads and verifies the whole log; a standby or a replica holds the memory of a writer.

mod console;
mod direct;
mod distrust;
mod error;
mod health;
mod layers;
mod log;
mod metrics;
mod names;
mod not_serving;
mod refused_starts;
mod roles;
mod serve;
mod server;
mod services;
mod setup;
mod single;
mod standby;
mod start;
mod tasks;
mod transport;

pub use error::ServeError;
pub use log::{
    backup::{Backup, BackupError},
    copy::{Copied, CopyError, copy, copy_rest},
    layout::{copy_folder, index_folder, log_folder},
    local::{LocalError, LocalLog},
    location::{LogError, LogLocation},
    records::{Records, RecordsError},
};
pub use refused_starts::note_refused_start;
pub use serve::{open_stores, serve};
pub use server::Server;
pub use setup::{Phase, bind, check, check_addresses};
pub use tasks::{Kind, Tasks};
