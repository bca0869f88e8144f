//! NATS client with its own thread. Its functions can be called on any thread or runtime and block until the answer arrives.

use crate::{failure::Failure, message::Message};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, HeaderMap, Request, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt;
use motherlode_runtime::config::Store as Config;
use prost_types::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant, SystemTime},
};
use tokio::runtime::{self, Handle, Runtime, RuntimeFlavor};

pub(crate) const REQUEST_WAIT: Duration = Duration::from_secs(2);
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// Ping interval; after about two missed pings the connection is closed.
const PING_EVERY: Duration = Duration::from_secs(2);
const RECONNECT_AFTER: Duration = Duration::from_millis(100);
/// Maximum number of messages per request; the client's buffer has room for 65,536.
const MESSAGES_MAX: u64 = 1024;
const BYTES_MAX: u64 = 8 << 20;

/// Error codes for account, server or storage limits that prevented a write. The code for a failed write is not listed,
/// because some replicas may have stored the message.
pub(crate) const NO_ROOM: [u64; 3] = [10_002, 10_023, 10_047];
const UNAVAILABLE: u64 = 503;

#[derive(Debug)]
pub(crate) struct Link {
    client: Client,
    runtime: Option<Runtime>,
}

impl Link {
    pub(crate) fn connect(config: &Config) -> io::Result<Self> {
        let runtime =
            runtime::Builder::new_multi_thread().worker_threads(1).thread_name("jetstream").enable_all().build()?;
        let (config, servers) = (config.clone(), config.servers());
        let connecting = async move {
            let no_credentials = config.credentials.is_none();
            let connected = options(&config).await?.connect(servers).await;
            connected.map_err(|error| match error.kind() {
                ConnectErrorKind::AuthorizationViolation if no_credentials => {
                    io::Error::other(format!("{error}; set [store] credentials"))
                }
                _ => io::Error::other(error),
            })
        };
        match wait(runtime.handle(), connecting).flatten() {
            Ok(client) => Ok(Self { client, runtime: Some(runtime) }),
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    pub(crate) fn stream_name(config: &Config, partition: u32) -> String {
        format!("{}_{partition}", config.stream)
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn handle(&self) -> Option<Handle> {
        self.runtime.as_ref().map(|runtime| runtime.handle().clone())
    }

    pub(crate) fn server(&self) -> async_nats::ServerInfo {
        self.client.server_info()
    }

    pub(crate) fn api(&self, call: &str, body: &Value) -> Result<Value, Failure> {
        let request = Request::new().payload(body.to_string().into()).timeout(Some(REQUEST_WAIT));
        self.request(format!("$JS.API.{call}"), request)
    }

    pub(crate) fn publish(
        &self,
        subject: &str,
        headers: &[(&str, String)],
        payload: &Bytes,
        after: u64,
    ) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        struct Published {
            seq: u64,
        }
        let mut all = HeaderMap::new();
        all.insert("Nats-Expected-Last-Sequence", after.to_string());
        for (name, value) in headers {
            all.insert(*name, value.as_str());
        }
        let request = Request::new().payload(payload.clone()).headers(all).timeout(Some(REQUEST_WAIT));
        let answer = self.request(subject.to_owned(), request)?;
        let published = Published::deserialize(answer).map_err(|error| Failure::Unknown(error.to_string()))?;
        Ok(published.seq)
    }

    pub(crate) fn fetch(
        &self,
        stream: &str,
        sequence: u64,
        messages: u64,
        bytes: u64,
    ) -> Result<Vec<Message>, Failure> {
        let batch = messages.clamp(1, MESSAGES_MAX);
        self.get(stream, &json!({ "seq": sequence, "batch": batch, "max_bytes": bytes.clamp(1, BYTES_MAX) }))
    }

    pub(crate) fn fetch_by_subject(&self, stream: &str, sequence: u64, subject: &str) -> Result<Vec<Message>, Failure> {
        self.get(stream, &json!({ "seq": sequence, "next_by_subj": subject, "batch": MESSAGES_MAX }))
    }

    pub(crate) fn first_time(&self, stream: &str, mut request: Value) -> Result<(u64, SystemTime), Failure> {
        request["batch"] = json!(1);
        let answers = self.answers(stream, &request)?;
        let found = answers.first().and_then(|answer| {
            let header = |name: &str| answer.headers.as_ref()?.get_last(name).map(|value| value.as_str());
            let time: Timestamp = header("Nats-Time-Stamp")?.parse().ok()?;
            Some((header("Nats-Sequence")?.parse().ok()?, SystemTime::try_from(time).ok()?))
        });
        found.ok_or_else(|| {
            Failure::Unknown(
                "the NATS server returned no message, or one that lacks a sequence number or a timestamp".into(),
            )
        })
    }

    fn get(&self, stream: &str, request: &Value) -> Result<Vec<Message>, Failure> {
        self.answers(stream, request)?.into_iter().map(|answer| Message::new(stream, answer)).collect()
    }

    fn answers(&self, stream: &str, request: &Value) -> Result<Vec<async_nats::Message>, Failure> {
        let (subject, body) = (format!("$JS.API.DIRECT.GET.{stream}"), request.to_string());
        let client = self.client.clone();
        self.wait(async move {
            let unknown = |error: &dyn std::fmt::Display| Failure::Unknown(error.to_string());
            let inbox = client.new_inbox();
            let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| unknown(&error))?;
            client.publish_with_reply(subject, inbox, body.into()).await.map_err(|error| unknown(&error))?;
            let mut fetched = vec![];
            loop {
                let answer = tokio::time::timeout(REQUEST_WAIT, answers.next()).await;
                let answer = answer.map_err(|_| Failure::Unknown("the request to NATS timed out".into()))?;
                let answer = answer.ok_or_else(|| Failure::Unknown("the connection to NATS has ended".into()))?;
                match answer.status.map(|status| status.as_u16()) {
                    None | Some(200) => fetched.push(answer),
                    Some(204 | 404) => return Ok(fetched),
                    Some(status) => return Err(Failure::Unknown(format!("status {status}"))),
                }
            }
        })?
    }

    pub(crate) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Failure> {
        let runtime =
            self.runtime.as_ref().ok_or_else(|| Failure::Unknown("the connection to NATS is closed".into()))?;
        wait(runtime.handle(), future).map_err(|error| Failure::Unknown(error.to_string()))
    }

    fn request(&self, subject: String, request: Request) -> Result<Value, Failure> {
        let client = self.client.clone();
        let answer = self.wait(async move { client.send_request(subject, request).await })?;
        answered(&answer.map_err(|error| Failure::Unknown(error.to_string()))?)
    }
}

pub(crate) fn answered(answer: &async_nats::Message) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Refusal {
        code: u64,
        err_code: u64,
        description: String,
    }
    if let Some(status) = answer.status.filter(|status| *status != StatusCode::OK) {
        return Err(Failure::Unknown(format!("status {}", status.as_u16())));
    }
    let mut answer: Value =
        serde_json::from_slice(&answer.payload).map_err(|error| Failure::Unknown(error.to_string()))?;
    match answer.get_mut("error").map(Value::take).map(Refusal::deserialize) {
        None => Ok(answer),
        Some(Ok(Refusal { code: UNAVAILABLE, err_code, description })) if !NO_ROOM.contains(&err_code) => {
            Err(Failure::Unknown(description))
        }
        Some(Ok(Refusal { err_code, description, .. })) => Err(Failure::Refused { code: err_code, description }),
        Some(Err(error)) => Err(Failure::Unknown(error.to_string())),
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) fn insist<T>(until: Instant, mut attempt: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    loop {
        match attempt() {
            Err(Failure::Unknown(_)) if Instant::now() < until => std::thread::sleep(PAUSE),
            decided => return decided,
        }
    }
}

fn wait<T: Send + 'static>(runtime: &Handle, future: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (answer, answered) = mpsc::sync_channel(1);
    runtime.spawn(async move { drop(answer.send(future.await)) });
    let receive = || answered.recv().map_err(|_| io::Error::other("the connection to NATS has ended"));
    match Handle::try_current().map(|here| here.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(receive),
        _ => receive(),
    }
}

pub(crate) async fn options(config: &Config) -> io::Result<ConnectOptions> {
    let mut options = ConnectOptions::new()
        .name("motherlode")
        .ping_interval(PING_EVERY)
        .connection_timeout(REQUEST_WAIT)
        .reconnect_delay_callback(|_| RECONNECT_AFTER);
    if let Some(file) = &config.credentials {
        options = options.credentials_file(file).await?;
    }
    if let Some(tls) = &config.tls {
        options = options.require_tls(true);
        if let Some(ca) = &tls.ca {
            options = options.add_root_certificates(readable(ca)?);
        }
        if let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) {
            options = options.add_client_certificate(readable(certificate)?, readable(key)?);
        }
    }
    Ok(options)
}

fn readable(file: &Path) -> io::Result<PathBuf> {
    match File::open(file) {
        Ok(_) => Ok(file.to_owned()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", file.display()))),
    }
}
