//! Service process: opens its log and serves calls until it stops.

mod admin;
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
mod process_metrics;
mod refused_starts;
mod reload;
mod roles;
mod serve;
mod server;
mod services;
mod setup;
mod standby;
mod start;
mod tasks;
mod telemetry_port;
mod transport;

pub use error::ServeError;
pub use log::{
    backup::{Backup, BackupError},
    copy::{Copied, CopyError, copy, copy_rest, copy_to_position, home_position},
    layout::{copy_folder, index_folder, log_folder},
    local::{LocalError, LocalLog},
    location::{LogError, LogLocation},
    records::{Records, RecordsError},
};
pub use refused_starts::note_refused_start;
pub use reload::{Reload, ReloadError, Reloader, Reloads};
pub use serve::{open_stores, serve};
pub use server::Server;
pub use setup::{Phase, bind, check, check_addresses};
pub use standby::prune::{PruneError, Pruner};
pub use tasks::{Kind, Tasks};
