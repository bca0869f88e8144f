use crate::{
    check::{self, Unsafe, count, is_contiguous},
    expected::Expected,
    failure::Failure,
    key::StreamKey,
    link::{Link, insist},
    message::{Trust, start_subject},
    start::Start,
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

/// Maximum wait for an answer; longer than an election of a stream's leader.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(30);

pub(crate) const STREAM_NOT_FOUND: u64 = 10_059;

/// Failure to open a log. The attempt may have created an empty stream, but has written nothing else.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot connect to {servers}: {source}")]
    Connect { servers: String, source: io::Error },
    #[error("stream {stream} does not exist")]
    Missing { stream: String },
    #[error(
        "stream {stream} does not exist and is not created, because {evidence}. Restore the stream; for a new log, use \
         another data folder or another [store] stream"
    )]
    Deleted { stream: String, evidence: String },
    #[error("cannot use the stream key file {}: {source}", path.display())]
    Key { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Unsafe(#[from] Unsafe),
    #[error("cannot use stream {stream}: {fault}")]
    Stream { stream: String, fault: String },
    #[error("a request about stream {stream} failed: {source}")]
    Api { stream: String, source: io::Error },
    #[error(
        "cannot remove the stream's limit on the age of messages, which an interrupted prune left set: {source}. \
         Repeat `motherlode prune`, or give the NATS user the permission STREAM.UPDATE"
    )]
    Limited { source: Box<Self> },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("stream {stream}: another process took over the log first, with message number {epoch}")]
    Taken { stream: String, epoch: u64 },
    #[error("cannot take over stream {stream}: other writers keep appending to it")]
    Contended { stream: String },
}

impl From<DamagedMessage> for OpenError {
    fn from(damage: DamagedMessage) -> Self {
        Self::Read(damage.into())
    }
}

pub fn exists(config: &Config, partition: u32) -> Result<bool, OpenError> {
    let stream = Stream::connect(config, partition)?;
    match stream.found() {
        Ok(info) => stream.is_contiguous(&info).map(|()| true),
        Err(OpenError::Missing { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent<'a> {
    Create,
    Refuse(&'a str),
}

#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub link: Arc<Link>,
    pub name: String,
    pub partition: u32,
    pub trust: Arc<Trust>,
}

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
            tracing::info!(file = %own.display(), "created a stream key: copy it to standbys and to tools that read the log");
            return Ok(Some(key));
        }
    }
    check::unsigned(config)?;
    Ok(None)
}

#[derive(Debug)]
pub(crate) struct Checked {
    pub last: u64,
    pub expected: Expected,
}

impl Stream {
    pub(crate) fn find(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let stream = Self::connect(config, partition)?;
        let stream = stream.authenticated(config, false)?;
        stream.is_whole(&stream.found()?, stream.start()?)?;
        Ok(stream)
    }

    pub(crate) fn find_damaged(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let stream = Self::connect(config, partition)?;
        let info = stream.found()?;
        if info["state"]["messages"] == 0 {
            stream.is_contiguous(&info)?;
        }
        stream.authenticated(config, false)
    }

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
                Absent::Create => (!config.create).then_some("[store] create = false forbids it"),
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

    pub(crate) fn check(&self, config: &Config) -> Result<Checked, OpenError> {
        check::server(&self.link, config)?;
        let start = self.start()?;
        let info = self.without_limit(start)?;
        let fault = |fault| OpenError::Stream { stream: self.name.clone(), fault };
        check::stream(&info["config"], &check::wanted(&self.name, config)).map_err(fault)?;
        check::check_settings(&self.link, config, &info)?;
        self.is_whole(&info, start)?;
        let last = info["state"]["last_seq"].as_u64().unwrap_or_default();
        let unsigned = self.trust.unsigned_up_to;
        if unsigned > last {
            let name = &self.name;
            return Err(fault(format!(
                "[store.unsigned_up_to] {name} = {unsigned} is after the stream's last message, {last}"
            )));
        }
        Ok(Checked { last, expected: Expected::new(&self.name, config, &info) })
    }

    fn connect(config: &Config, partition: u32) -> Result<Self, OpenError> {
        let name = Link::stream_name(config, partition);
        let unsigned_up_to = config.unsigned_up_to.get(&name).copied().unwrap_or_default();
        let trust = Arc::new(Trust { stream: name.clone(), key: None, unsigned_up_to });
        let servers = config.servers().join(", ");
        let link = Link::connect(config).map_err(|source| OpenError::Connect { servers, source })?;
        Ok(Self { link: Arc::new(link), name, partition, trust })
    }

    fn authenticated(self, config: &Config, is_new: bool) -> Result<Self, OpenError> {
        let key = stream_key(config, is_new)?;
        let Trust { unsigned_up_to, .. } = *self.trust;
        let trust = Trust { stream: self.name.clone(), key, unsigned_up_to };
        Ok(Self { trust: Arc::new(trust), ..self })
    }

    fn is_whole(&self, info: &Value, start: Start) -> Result<(), OpenError> {
        match count(&info["state"], "first_seq") <= start.sequence {
            true => self.is_contiguous(info),
            false => Err(self.missing(info)),
        }
    }

    fn is_contiguous(&self, info: &Value) -> Result<(), OpenError> {
        if is_contiguous(&info["state"]) { Ok(()) } else { Err(self.missing(info)) }
    }

    fn missing(&self, info: &Value) -> OpenError {
        let fault = format!("messages are missing from the stream: {}", info["state"]);
        OpenError::Stream { stream: self.name.clone(), fault }
    }

    /// Returns the latest recorded log start. Retries while the answering server lags behind the stream's leader.
    pub(crate) fn start(&self) -> Result<Start, OpenError> {
        let (genesis, subject) = (Start::genesis(self.partition), start_subject(&self.name));
        let found = insist(Instant::now() + ANSWER_WAIT, || {
            let info = self.link.api(&format!("STREAM.INFO.{}", self.name), &json!({ "subjects_filter": subject }))?;
            let state = &info["state"];
            let (mut start, mut next, mut missing) = (genesis, 1, count(&state["subjects"], &subject));
            while missing > 0 {
                let messages = self.link.fetch_by_subject(&self.name, next, &subject)?;
                let Some(last) = messages.last() else { break };
                next = last.sequence + 1;
                missing = missing.saturating_sub(messages.len() as u64);
                let starts = messages.iter().filter_map(|message| self.trust.start(message));
                start = starts.chain([start]).max_by_key(|start| start.log.first).unwrap_or(start);
            }
            match missing > 0 || (start != genesis && count(state, "first_seq") > start.sequence) {
                true => Err(Failure::Unknown("the NATS server did not return the message with the log's start".into())),
                false => Ok(start),
            }
        });
        found.map_err(|failure| self.api_error(failure))
    }

    /// Removes the stream's limit on the age of messages if an interrupted prune left it set.
    fn without_limit(&self, start: Start) -> Result<Value, OpenError> {
        let info = self.found()?;
        if start == Start::genesis(self.partition) || info["config"]["max_age"] == 0 {
            return Ok(info);
        }
        tracing::warn!(
            stream = self.name,
            "an interrupted prune left the stream's limit on the age of messages set: removing the limit"
        );
        self.limit(&info, Duration::ZERO).map_err(|error| OpenError::Limited { source: Box::new(error) })
    }

    pub(crate) fn limit(&self, info: &Value, age: Duration) -> Result<Value, OpenError> {
        let mut config = info["config"].clone();
        let nanoseconds = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        config["max_age"] = json!(nanoseconds);
        if nanoseconds > 0 && count(&config, "duplicate_window") > nanoseconds {
            config["duplicate_window"] = json!(nanoseconds);
        }
        let until = Instant::now() + ANSWER_WAIT;
        let updated =
            insist(until, || self.link.api(&format!("STREAM.UPDATE.{}", self.name), &config)).and_then(|_| {
                insist(until, || match self.info()? {
                    info if info["config"]["max_age"] == config["max_age"] => Ok(info),
                    _ => Err(Failure::Unknown(
                        "the stream's leader has not applied an update of the stream's configuration".into(),
                    )),
                })
            });
        updated.map_err(|failure| self.api_error(failure))
    }

    pub(crate) fn last(&self) -> Result<u64, Failure> {
        let info = self.info()?;
        info["state"]["last_seq"].as_u64().ok_or_else(|| {
            Failure::Unknown("the stream's state in JetStream's answer has no last sequence number".into())
        })
    }

    pub(crate) fn api_error(&self, failure: Failure) -> OpenError {
        match failure {
            Failure::Refused { code: STREAM_NOT_FOUND, .. } => OpenError::Missing { stream: self.name.clone() },
            failure => OpenError::Api { stream: self.name.clone(), source: failure.into() },
        }
    }

    pub(crate) fn info(&self) -> Result<Value, Failure> {
        insist(Instant::now() + ANSWER_WAIT, || self.link.api(&format!("STREAM.INFO.{}", self.name), &json!({})))
    }

    pub(crate) fn found(&self) -> Result<Value, OpenError> {
        self.info().map_err(|failure| self.api_error(failure))
    }

    fn make(&self, wanted: &Value) -> Result<(), Failure> {
        let until = Instant::now() + ANSWER_WAIT;
        insist(until, || self.link.api(&format!("STREAM.CREATE.{}", self.name), wanted)).map(drop)
    }
}
