//! The configuration file that commands are told, and logs that they are told by name.

use super::Failure;
use motherlode_runtime::Config;
use motherlode_server::{LocalLog, LogLocation};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

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

/// The arguments of commands that read a log by its name.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LogAccess {
    /// Configuration file (TOML) as for serve: its [store] says how to reach nats://.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File with the stream key of a log at nats://. Default: [store] key_file, else keys/stream in the configured data folder.
    #[arg(long, value_name = "FILE")]
    stream_key: Option<PathBuf>,
}

impl LogAccess {
    fn config(&self) -> Result<Config, Failure> {
        let mut config = read(self.config.as_deref())?;
        if self.stream_key.is_some() {
            config.store.key_file.clone_from(&self.stream_key);
        }
        Ok(config)
    }

    /// Where a log of a name is kept: a data folder or `nats://host:port,...`, reached as the configuration has it.
    ///
    /// # Errors
    /// The configuration cannot be read, or the address is none.
    pub fn location(&self, name: &str) -> Result<LogLocation, Failure> {
        LogLocation::named(name, &self.config()?).map_err(Failure::unusable)
    }

    /// A log of a name on this machine; one on JetStream is copied.
    ///
    /// # Errors
    /// There is none, or it cannot be copied.
    pub fn local(&self, name: &Path) -> Result<LocalLog, Failure> {
        Ok(LocalLog::of(name, &self.config()?)?)
    }
}
