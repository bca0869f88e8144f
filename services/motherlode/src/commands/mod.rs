pub mod archive;
pub mod audit;
pub mod base;
pub mod config;
pub mod config_file;
pub mod copy;
pub mod doctor;
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
pub mod prune;
mod published;
pub mod reload;
pub mod replay;
pub mod restore;
pub mod rng;
pub mod rounds;
pub mod serve;
pub mod simulate;
mod sink;
pub mod stake;
mod tie;
pub mod token;
pub mod verify;
pub mod views;
pub mod wallet;
pub mod watch;
pub mod witness;

use motherlode_archive::ArchiveError;
use motherlode_jetstream::OpenError as StreamError;
use motherlode_log::{OpenError, ScanError};
use motherlode_server::{BackupError, CopyError, LocalError, LogError, RecordsError};
use serde::Serialize;
use std::{
    error::Error,
    fmt::Display,
    fs,
    io::{self, ErrorKind, Write},
    net::SocketAddr,
    path::Path,
};

const NEW_FILE: &str = "With --out, name a file that does not exist yet, in a folder that this user may write";
const ANY_FILE: &str = "With --out, name a file that this user may write";
const DAMAGED: &str = "Leave the folder unchanged, and use a copy of the log that `motherlode log verify` finds sound";
const NO_LOG: &str = "Name the data folder of `serve`, the folder of a copy, or nats://host:port,...";
const NO_STREAM: &str = "Check the address, and check that a NATS server with JetStream listens there; [store] in the --config file \
contains its credentials";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for the terminal.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u8,
    pub message: String,
}

impl Failure {
    /// Creates a failure with exit code 1, for an error or a negative result of a check.
    #[must_use]
    pub fn found(message: impl ToString) -> Self {
        Self { code: 1, message: message.to_string() }
    }

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

    #[must_use]
    pub fn unusable(message: impl ToString) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    #[must_use]
    pub fn with_step(mut self, step: &str) -> Self {
        if !step.is_empty() {
            self.message = format!("{}\n{step}", self.message);
        }
        self
    }

    #[must_use]
    pub fn unreadable(path: &Path, error: &dyn Display, step: &str) -> Self {
        Self::unusable(format!("cannot read {}: {error}", path.display())).with_step(step)
    }

    #[must_use]
    pub fn unwritable(path: &Path, error: &io::Error, step: &str) -> Self {
        Self::unusable(format!("cannot write {}: {error}", path.display())).with_step(step)
    }
}

pub fn read_text(path: &Path, step: &str) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error, step))
}

pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:50051".to_owned())
}

fn records_step(error: &RecordsError) -> &'static str {
    match error {
        RecordsError::Missing { .. } | RecordsError::Unlisted(_) => NO_LOG,
        RecordsError::Files(ScanError::Damaged(_)) | RecordsError::Messages(_) => DAMAGED,
        RecordsError::Files(ScanError::Io { .. }) => {
            "Name a folder that `serve` or `copy` has written and that this user may read"
        }
        RecordsError::Stream(StreamError::Connect { .. }) => NO_STREAM,
        RecordsError::NotAFolder(_) | RecordsError::Archived { .. } | RecordsError::Stream(_) => "",
    }
}

/// A missing log is unusable input (exit code 2); all other errors are failures (exit code 1).
impl From<RecordsError> for Failure {
    fn from(error: RecordsError) -> Self {
        let step = records_step(&error);
        match error {
            RecordsError::Missing { .. } | RecordsError::Unlisted(_) => Self::unusable(error).with_step(step),
            error => Self::found(error).with_step(step),
        }
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Records(error) => error.into(),
            CopyError::NoPrefix { .. } => {
                Self::found(error).with_step("Copy to an empty folder, or to an older copy of this log")
            }
            CopyError::Target(error) => Self::found(&error).with_step(log_step(&error)),
            error => Self::found(error),
        }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let step = match &error {
            ArchiveError::Place { .. } => "Name a folder, or s3://BUCKET/PREFIX",
            ArchiveError::OtherLog { .. } | ArchiveError::Shorter { .. } | ArchiveError::Partitions { .. } => {
                "Check that the log has lost no record, and that this archive belongs to this log"
            }
            ArchiveError::Damaged { .. } | ArchiveError::Missing { .. } | ArchiveError::Missed { .. } => {
                "Leave the archive unchanged, and look for another copy of the log"
            }
            _ => "",
        };
        match &error {
            ArchiveError::Place { .. } => Self::unusable(&error),
            error => Self::caused(error),
        }
        .with_step(step)
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::Records(error) => error.into(),
            LocalError::Copy(error) => error.into(),
            LocalError::Folder(error) => Self::found(error),
            LocalError::NoFolder(_) | LocalError::NoLog(_) | LocalError::Name(_) => {
                Self::unusable(error).with_step(NO_LOG)
            }
        }
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Both(_) => {
                Self::unusable(error).with_step("Move either the log or the copy to another folder")
            }
            BackupError::Open { .. } | BackupError::OtherLog(_) | BackupError::Operator { .. } => {
                Self::found(error).with_step("Name the folder of this log's copy, or a new folder, with --to")
            }
            error => Self::found(error),
        }
    }
}

fn log_step(error: &LogError) -> &'static str {
    match error {
        LogError::Folder { source: OpenError::Scan(ScanError::Damaged(_)), .. } => DAMAGED,
        LogError::Folder { source: OpenError::Locked { .. }, .. } | LogError::Stream(StreamError::Unsafe(_)) => "",
        LogError::Folder { .. } | LogError::List { .. } | LogError::Index { .. } => {
            "Name a folder that this user may write, and that contains a log or is empty"
        }
        LogError::Partitions { .. } => {
            "Set the number of partitions with which the log was created (--partitions), or name another folder (--data)"
        }
        LogError::Stream(StreamError::Connect { .. }) => NO_STREAM,
        LogError::Stream(_) => "",
    }
}

pub fn say(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::found(format!("the output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

pub fn json(report: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(report).map_err(Failure::found)? + "\n")
}
