use super::{Failure, NO_LOG, read_text};
use motherlode_runtime::Config;
use motherlode_server::{LocalLog, LogLocation};
use std::{
    error::Error,
    path::{Path, PathBuf},
};

pub fn read(file: Option<&Path>) -> Result<Config, Failure> {
    let Some(file) = file else { return Ok(Config::default()) };
    let text = read_text(file, "Name a configuration file with --config; without it, the defaults are used")?;
    Config::parse(&text).map_err(|error| faulty(Some(file), &error))
}

pub fn faulty(file: Option<&Path>, error: &dyn Error) -> Failure {
    let Failure { message, .. } = Failure::caused(error);
    match file {
        Some(file) => Failure::unusable(format!("{}: {}", file.display(), message.trim_end()))
            .with_step(&format!("Correct the file, and check it with: motherlode config --config {}", file.display())),
        None => Failure::unusable(message).with_step("Correct the flag, or name a configuration file with --config"),
    }
}

pub fn location(name: &str, config: &Config) -> Result<LogLocation, Failure> {
    LogLocation::named(name, config).map_err(|error| Failure::unusable(error).with_step(NO_LOG))
}

#[derive(Debug, Clone, Default, clap::Args)]
pub struct LogAccess {
    /// Configuration file (TOML) of `serve`, whose [store] section has the settings for nats://.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File with the key that authenticates messages of a log at nats://. Default: [store] key_file, else keys/stream
    /// in the configured data folder.
    #[arg(long, value_name = "FILE")]
    stream_key: Option<PathBuf>,
}

impl LogAccess {
    pub fn config(&self) -> Result<Config, Failure> {
        let mut config = read(self.config.as_deref())?;
        if self.stream_key.is_some() {
            config.store.key_file.clone_from(&self.stream_key);
        }
        Ok(config)
    }

    pub fn location(&self, name: &str) -> Result<LogLocation, Failure> {
        location(name, &self.config()?)
    }

    pub fn data(&self, location: &LogLocation) -> Result<PathBuf, Failure> {
        match location {
            LogLocation::Folder { data, .. } => Ok(data.clone()),
            LogLocation::Stream(_) => Ok(self.config()?.data),
        }
    }

    /// Opens a log; a log on JetStream is first copied to a temporary folder.
    pub fn local(&self, name: &Path) -> Result<LocalLog, Failure> {
        Ok(LocalLog::open(name, &self.config()?)?)
    }
}
