//! One file a command.

pub mod audit;
pub mod config;
pub mod config_file;
pub mod copy;
pub mod export;
mod feed;
pub mod follow;
pub mod health;
pub mod key;
pub mod loadtest;
pub mod log;
pub mod par;
pub mod play;
pub mod progress;
pub mod proof;
mod published;
pub mod replay;
pub mod rng;
pub mod rounds;
pub mod serve;
pub mod simulate;
mod sink;
pub mod stake;
mod tie;
pub mod token;
pub mod verify;
pub mod watch;
pub mod witness;

use motherlode_server::{BackupError, CopyError, LocalError, RecordsError};
use serde::Serialize;
use std::{
    error::Error,
    io::{self, ErrorKind, Write},
};

/// How a command prints what it found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Why a command did not end well.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The process's exit code.
    pub code: u8,
    /// The message for standard error; empty if everything was printed before.
    pub message: String,
}

impl Failure {
    /// It ran and failed, or found something wrong: exit code 1.
    #[must_use]
    pub fn found(message: impl ToString) -> Self {
        Self { code: 1, message: message.to_string() }
    }

    /// The same of an error, with all that caused it: "no such thing: Permission denied".
    #[must_use]
    pub fn caused(error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(because) = cause {
            let because_of = because.to_string();
            if !message.contains(&because_of) {
                message = format!("{message}: {because_of}");
            }
            cause = because.source();
        }
        Self::found(message)
    }

    /// The input is unusable: exit code 2, as clap's own errors.
    #[must_use]
    pub fn unusable(message: impl ToString) -> Self {
        Self { code: 2, message: message.to_string() }
    }
}

/// No log is unusable input, all else was found.
impl From<RecordsError> for Failure {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Missing(_) | RecordsError::Unlisted(_) => Self::unusable(error),
            error => Self::found(error),
        }
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Records(error) => error.into(),
            error => Self::found(error),
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::Records(error) => error.into(),
            LocalError::Copy(error) => error.into(),
            LocalError::Folder(error) => Self::found(error),
            error => Self::unusable(error),
        }
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Both(_) => Self::unusable(error),
            error => Self::found(error),
        }
    }
}

/// Writes to standard output. That nobody reads any more, as behind `| head`, is no failure.
///
/// # Errors
/// When it cannot be written.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::found(format!("the output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// A report as JSON, indented, with a line feed at its end.
///
/// # Errors
/// When it has no form in JSON.
pub fn json(report: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(report).map_err(Failure::found)? + "\n")
}
