//! The configuration file that commands are told, and logs that they are told by name.

use super::Failure;
use motherlode_runtime::Config;
use motherlode_server::{LocalLog, LogLocation};
use std::{fmt, fs, path::Path};

/// The configuration in a file; the default one without.
///
/// # Errors
/// It cannot be read, or makes no sense.
pub fn read(file: Option<&Path>) -> Result<Config, Failure> {
    let Some(file) = file else { return Ok(Config::default()) };
    let unusable = |error: &dyn fmt::Display| Failure::unusable(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| unusable(&error))?;
    Config::parse(&text).map_err(|error| unusable(&error))
}

/// Where a log of a name is kept: a data folder or `nats://host:port,...`, reached as a configuration file has it.
///
/// # Errors
/// The configuration cannot be read, or the address is none.
pub fn location(name: &str, file: Option<&Path>) -> Result<LogLocation, Failure> {
    LogLocation::named(name, &read(file)?).map_err(Failure::unusable)
}

/// A log of a name on this machine; one on JetStream is copied.
///
/// # Errors
/// There is none, or it cannot be copied.
pub fn local(name: &Path, file: Option<&Path>) -> Result<LocalLog, Failure> {
    Ok(LocalLog::of(name, &read(file)?)?)
}
