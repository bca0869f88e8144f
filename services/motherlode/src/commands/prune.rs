//! Removes old records of a log (PL-37). The start of the shortened log is durable before the first record is removed, so a
//! prune that stops at any point loses nothing.

mod files;
mod limits;
mod stream;

use super::{Failure, NO_LOG};
pub use limits::Args;
use motherlode_archive::Archive;
use motherlode_server::LogLocation;

pub fn run(args: &Args) -> Result<(), Failure> {
    let location = args.access.location(&args.log)?;
    let count = location.existing_count().map_err(|error| Failure::from(error).with_step(NO_LOG))?;
    let archive = Archive::open(&args.archive)?;
    match &location {
        LogLocation::Folder { data, .. } => files::run(args, data, count, &archive),
        LogLocation::Stream(store) => stream::run(args, store, count, &archive),
    }
}
