//! Connecting to a partition's stream: made or found, and checked to be safe for a log.

use crate::{
    check::{self, Unsafe},
    expected::Expected,
    failure::Failure,
    key::StreamKey,
    link::{Link, insist},
    message::Trust,
};
use motherlode_log::{DamagedMessage, ReadError};
use motherlode_runtime::config::Store as Config;
use serde_json::{Value, json};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// How long an opening and a read wait for servers that don't answer: a change of leaders takes some seconds.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// JetStream's error for a stream that there is not.
pub(crate) const STREAM_NOT_FOUND: u64 = 10_059;

/// Why a log on JetStream cannot be opened. Nothing was changed, except that the stream may have been made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No server can be reached, or none accepts the credentials.
    #[error("cannot connect to {servers}: {source}")]
    Connect {
        /// The servers.
        servers: String,
        /// Why.
        source: io::Error,
    },
    /// There is no such stream.
    #[error("there is no stream {stream}")]
    Missing {
        /// Its name.
        stream: String,
    },
    /// The stream of an existing log is gone.
    #[error(
        "there is no stream {stream}, and {evidence}: the stream is not created. Restore the stream; a new log needs another data folder or \
         another [store] stream"
    )]
    Deleted {
        /// Its name.
        stream: String,
        /// Evidence of the log.
        evidence: String,
    },
    /// The file with the stream key cannot be used.
    #[error("the stream key {}: {source}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Its cause.
        source: io::Error,
    },
    /// A setting could lose acknowledged rounds.
    #[error(transparent)]
    Unsafe(#[from] Unsafe),
    /// The stream is not as a store makes it.
    #[error("stream {stream}: {fault}")]
    Stream {
        /// Its name.
        stream: String,
        /// The setting or message that is wrong, for people.
        fault: String,
    },
    /// A request of JetStream's interface failed.
    #[error("stream {stream}: {source}")]
    Api {
        /// The stream.
        stream: String,
        /// The error that it answered.
        source: io::Error,
    },
    /// The stream cannot be read, or is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Another process has taken the stream since it was found without a writer.
    #[error("stream {stream}: message {epoch} has begun the epoch of another process, which has taken it just before")]
    Taken {
        /// Its name.
        stream: String,
        /// The message that begins the other epoch.
        epoch: u64,
    },
    /// Others append so fast that no epoch could be begun.
    #[error("stream {stream}: other writers keep appending")]
    Contended {
        /// Its name.
        stream: String,
    },
}

impl From<DamagedMessage> for OpenError {
    fn from(damage: DamagedMessage) -> Self {
        Self::Read(damage.into())
    }
}

/// Whether a partition has a stream.
///
/// # Errors
/// It cannot be found out, or the stream is not as a store makes it.
pub fn exists(config: &Config, partition: u32) -> Result<bool, OpenError> {
    let stream = Stream::connect(config, partition)?;
    match stream.found() {
        Ok(info) => stream.is_whole(&info).map(|()| true),
        Err(OpenError::Missing { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The reaction of an opening to a missing stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent<'a> {
    /// The stream is created, unless `create` is off.
    Create,
    /// The opening fails, with this evidence of an earlier log.
    Refuse(&'a str),
}

/// A stream that is there.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub link: Arc<Link>,
    pub name: String,
    pub trust: Arc<Trust>,
}

/// The key of a configuration's streams. The data folder's own is made with a new log. `None` if the configuration allows to
/// do without.
fn stream_key(config: &Config, is_new: bool) -> Result<Option<StreamKey>, OpenError> {
    let failed = |path: &Path, source| OpenError::Key { path: path.to_owned(), source };
    if let Some(path) = &config.key_file {
        return StreamKey::read(path).map(Some).map_err(|source| failed(path, source));
    }
    if let Some(own) = &config.own_key_file {
        if own.try_exists().map_err(|source| failed(own, source))? {
            return StreamKey::read(own).map(Some).map_err(|source| failed(own, source));
        }
        if is_new && !config.allow_unsafe.unsigned {
            let key = StreamKey::make(own).map_err(|source| failed(own, source))?;
            tracing::info!(file = %own.display(), "a stream key was made: standbys and tools that read the log need a copy");
            return Ok(Some(key));
        }
    }
    check::unsigned(config)?;
    Ok(None)
}

/// A stream checked for writing.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The number of its last message.
    pub last: u64,
    pub expected: Expected,
}

impl Stream {
    /// Connects to the stream of a partition, to read it.
    pub(crate) fn find(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let stream = Self::connect(config, partition)?;
        stream.is_whole(&stream.found()?)?;
        stream.authenticated(config, false)
    }

    /// Connects to the stream of a partition, to save the messages before a gap.
    pub(crate) fn find_damaged(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let stream = Self::connect(config, partition)?;
        let info = stream.found()?;
        if info["state"]["messages"] == 0 {
            stream.is_whole(&info)?;
        }
        stream.authenticated(config, false)
    }

    /// Connects to the stream of a partition, to write it, which takes settings that are safe.
    pub(crate) fn open(config: &Config, partition: u32, absent: Absent<'_>) -> Result<Self, OpenError> {
        let stream = Self::connect(config, partition)?;
        check::server(&stream.link, config)?;
        let found = match stream.found() {
            Ok(info) => Some(info),
            Err(OpenError::Missing { .. }) => None,
            Err(error) => return Err(error),
        };
        let Some(info) = found else {
            let evidence = match absent {
                Absent::Refuse(evidence) => Some(evidence),
                Absent::Create => (!config.create).then_some("[store] create is false"),
            };
            if let Some(evidence) = evidence.map(str::to_owned) {
                return Err(OpenError::Deleted { stream: stream.name, evidence });
            }
            let stream = stream.authenticated(config, true)?;
            stream.make(&check::wanted(&stream.name, config)).map_err(|failure| stream.api_error(failure))?;
            return Ok(stream);
        };
        stream.authenticated(config, info["state"]["last_seq"] == 0)
    }

    /// Checks the settings of the stream and its servers, and the absence of removed messages, before writing.
    pub(crate) fn check(&self, config: &Config) -> Result<Checked, OpenError> {
        check::server(&self.link, config)?;
        let info = self.found()?;
        let fault = |fault| OpenError::Stream { stream: self.name.clone(), fault };
        check::stream(&info["config"], &check::wanted(&self.name, config)).map_err(fault)?;
        check::kept(&self.link, config, &info)?;
        self.is_whole(&info)?;
        let last = info["state"]["last_seq"].as_u64().unwrap_or_default();
        let unsigned = self.trust.unsigned_up_to;
        if unsigned > last {
            let name = &self.name;
            return Err(fault(format!("[store.unsigned_up_to] {name} = {unsigned} is after its last message, {last}")));
        }
        Ok(Checked { last, expected: Expected::new(&self.name, config, &info) })
    }

    /// Connects without the key: for the stream's state alone.
    fn connect(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let name = Link::stream_name(config, partition);
        let unsigned_up_to = config.unsigned_up_to.get(&name).copied().unwrap_or_default();
        let trust = Arc::new(Trust { stream: name.clone(), key: None, unsigned_up_to });
        let servers = config.servers().join(", ");
        let link = Link::connect(config).map_err(|source| OpenError::Connect { servers, source })?;
        Ok(Self { link: Arc::new(link), name, trust })
    }

    /// The same with the stream key; the log `is_new` if it is about to be made or has no message yet.
    fn authenticated(self, config: &Config, is_new: bool) -> Result<Self, OpenError> {
        let key = stream_key(config, is_new)?;
        let Trust { unsigned_up_to, .. } = *self.trust;
        let trust = Trust { stream: self.name.clone(), key, unsigned_up_to };
        Ok(Self { trust: Arc::new(trust), ..self })
    }

    /// Numbers are dense and begin with 1, or something was removed.
    fn is_whole(&self, info: &Value) -> Result<(), OpenError> {
        let state = &info["state"];
        let count = |key: &str| state[key].as_u64().unwrap_or_default();
        if count("messages") == count("last_seq") && count("first_seq") <= 1 {
            return Ok(());
        }
        Err(OpenError::Stream { stream: self.name.clone(), fault: format!("messages are missing: {state}") })
    }

    /// The number of the last message, as the leader knows it.
    pub(crate) fn last(&self) -> Result<u64, Failure> {
        let info = self.info()?;
        info["state"]["last_seq"].as_u64().ok_or_else(|| Failure::Unknown("no last number".into()))
    }

    pub(crate) fn api_error(&self, failure: Failure) -> OpenError {
        OpenError::Api { stream: self.name.clone(), source: failure.into() }
    }

    /// Asks the stream's leader for the stream's state.
    fn info(&self) -> Result<Value, Failure> {
        insist(Instant::now() + ANSWER_WAIT, || self.link.api(&format!("STREAM.INFO.{}", self.name), &json!({})))
    }

    /// The same of one that is there.
    fn found(&self) -> Result<Value, OpenError> {
        self.info().map_err(|failure| match failure {
            Failure::Refused { code: STREAM_NOT_FOUND, .. } => OpenError::Missing { stream: self.name.clone() },
            failure => self.api_error(failure),
        })
    }

    fn make(&self, wanted: &Value) -> Result<(), Failure> {
        let until = Instant::now() + ANSWER_WAIT;
        // Making what is there already, just as it is, does nothing: it can be asked again.
        insist(until, || self.link.api(&format!("STREAM.CREATE.{}", self.name), wanted)).map(drop)
    }
}
