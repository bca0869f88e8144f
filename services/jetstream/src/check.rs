//! Checks that servers and streams cannot lose acknowledged rounds. A server's sync settings are visible only on its
//! monitoring page (`/varz`).

use crate::{failure::Failure, link::Link};
use motherlode_runtime::config::{AllowUnsafe, Store as Config};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Oldest NATS server version without known losses of messages.
const VERSION_MIN: [u64; 3] = [2, 15, 1];
/// Message size that servers must permit, because a group commit is sent as one message.
pub(crate) const MAX_PAYLOAD_MIN: u64 = 8 << 20;
/// With fewer replicas, messages could be lost if a disk fails while another server is down.
const REPLICAS_MIN: u64 = 3;
const PAGE_WAIT: Duration = Duration::from_secs(5);
const PAGE_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "acknowledged rounds could be lost: {what}. Remove this cause, or accept the risk with [store.allow_unsafe] {key} = true"
)]
pub struct Unsafe {
    pub what: String,
    pub key: &'static str,
}

fn refuse(allowed: bool, key: &'static str, what: impl FnOnce() -> String) -> Result<(), Unsafe> {
    if allowed {
        return Ok(());
    }
    Err(Unsafe { what: what(), key })
}

pub(crate) fn count(state: &Value, key: &str) -> u64 {
    state[key].as_u64().unwrap_or_default()
}

pub(crate) fn is_contiguous(state: &Value) -> bool {
    count(state, "messages") == (count(state, "last_seq") + 1).saturating_sub(count(state, "first_seq").max(1))
}

pub(crate) fn wanted(stream: &str, config: &Config) -> Value {
    json!({
        "name": stream,
        "subjects": [format!("{stream}.>")],
        "storage": "file",
        "num_replicas": config.replicas,
        "retention": "limits",
        "discard": "new",
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "deny_delete": true,
        "deny_purge": true,
        "allow_direct": true,
    })
}

pub(crate) fn stream(found: &Value, wanted: &Value) -> Result<(), String> {
    let otherwise = |key: &str| Err(format!("{key} is {}, but must be {}", found[key], wanted[key]));
    let must = wanted
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !["num_replicas", "storage"].contains(&key.as_str()));
    for (key, value) in must {
        if found[key] != *value {
            return otherwise(key);
        }
    }
    let absent = ["mirror", "sources", "republish", "subject_transform", "subject_delete_marker_ttl"];
    if let Some(key) = absent.into_iter().find(|key| !found[*key].is_null()) {
        return otherwise(key);
    }
    let off = ["sealed", "no_ack", "allow_rollup_hdrs", "allow_msg_ttl", "allow_msg_schedules", "allow_msg_counter"];
    if let Some(key) = off.into_iter().find(|key| found[*key].as_bool() == Some(true)) {
        return otherwise(key);
    }
    if found["persist_mode"].as_str().is_some_and(|mode| mode == "async") {
        return otherwise("persist_mode");
    }
    Ok(())
}

pub(crate) fn server(link: &Link, config: &Config) -> Result<(), Unsafe> {
    let info = link.server();
    let allow = config.allow_unsafe;
    version(&info.server_name, &info.version, allow)?;
    let bytes = info.max_payload as u64;
    refuse(allow.max_payload || bytes >= MAX_PAYLOAD_MIN, "max_payload", || {
        format!(
            "server {} accepts messages of at most {bytes} bytes; its max_payload must be at least {MAX_PAYLOAD_MIN}",
            info.server_name
        )
    })?;
    replicas(config.replicas.into(), allow)
}

pub(crate) fn unsigned(config: &Config) -> Result<(), Unsafe> {
    refuse(config.allow_unsafe.unsigned, "unsigned", || {
        let own = config.own_key_file.iter().map(|own| format!(", and {} is missing", own.display()));
        format!(
            "there is no stream key: [store] key_file is not set{}. Set key_file to the stream key of the \
             process that created the log: keys/stream in that process's data folder. If the log was \
             written without a key, create a key, and set [store.unsigned_up_to] to the number of the last message. \
             Without a key, every NATS user with write access to the stream can forge records",
            own.collect::<String>()
        )
    })
}

pub(crate) fn check_settings(link: &Link, config: &Config, info: &Value) -> Result<(), Unsafe> {
    let allow = config.allow_unsafe;
    let of = &info["config"];
    let (name, copies) = (of["name"].as_str().unwrap_or_default(), of["num_replicas"].as_u64().unwrap_or_default());
    replicas(copies, allow)?;
    refuse(allow.replicas || copies >= config.replicas.into(), "replicas", || {
        format!("stream {name} has {copies} replicas, but {} are configured", config.replicas)
    })?;
    refuse(allow.storage || of["storage"] == "file", "storage", || {
        format!("stream {name} is stored in {}, but must be stored in files", of["storage"])
    })?;
    if allow.sync_interval {
        return Ok(());
    }
    let unsafe_sync = |what| Unsafe { what, key: "sync_interval" };
    let (pages, unread) = pages(link, config).map_err(unsafe_sync)?;
    let cluster = &info["cluster"];
    let others = cluster["replicas"].as_array().into_iter().flatten().map(|replica| &replica["name"]);
    let (mut seen, mut unseen) = (0, None);
    for server in std::iter::once(&cluster["leader"]).chain(others).filter_map(Value::as_str) {
        let Some(page) = pages.get(server) else {
            unseen = Some(server);
            continue;
        };
        version(server, &page.version, allow)?;
        if !page.sync_always {
            return Err(unsafe_sync(format!(
                "server {server} does not sync each message (jetstream.sync_interval must be always)"
            )));
        }
        seen += 1;
    }
    // An unreachable server is accepted if a majority of the servers passed the checks and the monitoring pages of all
    // servers are configured.
    let named = config.monitor.len() as u64 >= copies;
    match (unseen, unread) {
        (None, _) => Ok(()),
        (Some(server), Some(why)) if named && seen > copies / 2 => {
            tracing::warn!(server, why, "cannot check how a server syncs, because its monitoring page is unreachable");
            Ok(())
        }
        (Some(_), Some(why)) => Err(unsafe_sync(why)),
        (Some(server), None) => {
            let hint = "list the monitoring addresses of all NATS servers in [store] monitor";
            Err(unsafe_sync(format!("cannot check how server {server} syncs: {hint}")))
        }
    }
}

fn version(server: &str, found: &str, allow: AllowUnsafe) -> Result<(), Unsafe> {
    let core = found.split(['-', '+']).next().unwrap_or_default();
    let parts: Option<Vec<u64>> = core.split('.').map(|part| part.parse().ok()).collect();
    let new = parts.is_some_and(|parts| parts.as_slice() >= VERSION_MIN.as_slice());
    refuse(allow.version || new, "version", || {
        format!("server {server} has version {found}; it must be 2.15.1 or newer")
    })
}

fn replicas(copies: u64, allow: AllowUnsafe) -> Result<(), Unsafe> {
    refuse(allow.replicas || copies >= REPLICAS_MIN, "replicas", || {
        format!("the stream has {copies} replicas; it must have at least 3")
    })
}

struct Page {
    version: String,
    sync_always: bool,
}

fn pages(link: &Link, config: &Config) -> Result<(BTreeMap<String, Page>, Option<String>), String> {
    #[derive(Deserialize)]
    struct Varz {
        server_name: String,
        version: String,
        #[serde(default)]
        jetstream: Value,
    }
    let (mut pages, mut unread) = (BTreeMap::new(), None);
    for address in &config.monitor {
        let host = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let read = link.wait(async move { tokio::time::timeout(PAGE_WAIT, page(&host)).await });
        let body = match read {
            Ok(Ok(Ok(body))) => body,
            Ok(Ok(Err(error))) => {
                unread = Some(format!("{address}/varz: {error}"));
                continue;
            }
            Ok(Err(_)) => {
                unread = Some(format!("{address}/varz: no answer"));
                continue;
            }
            Err(Failure::Refused { description: why, .. } | Failure::Unknown(why)) => return Err(why),
        };
        let varz: Varz = serde_json::from_slice(&body).map_err(|error| format!("{address}/varz: {error}"))?;
        let sync_always = varz.jetstream["config"]["sync_always"] == true;
        pages.insert(varz.server_name, Page { version: varz.version, sync_always });
    }
    Ok((pages, unread))
}

async fn page(host: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(format!("GET /varz HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await?;
    let mut answer = vec![];
    stream.take(PAGE_MAX).read_to_end(&mut answer).await?;
    let blank = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let body = blank.filter(|_| answer.starts_with(b"HTTP/1.0 200") || answer.starts_with(b"HTTP/1.1 200"));
    let body = body.ok_or_else(|| std::io::Error::other("the monitoring page did not answer with status 200"))?;
    Ok(answer.split_off(body + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_part_by_part() {
        let ok = |found| version("s", found, AllowUnsafe::default()).is_ok();
        assert!(ok("2.15.1") && ok("2.16.0") && ok("3.0.0") && ok("2.15.10-RC.1"));
        assert!(!ok("2.15.0") && !ok("2.9.99") && !ok("1.99.99") && !ok("") && !ok("2.x.1"));
        assert!(version("s", "2.0.0", AllowUnsafe { version: true, ..AllowUnsafe::default() }).is_ok());
        let refused = version("s", "2.0.0", AllowUnsafe::default()).unwrap_err();
        assert!(refused.to_string().ends_with("[store.allow_unsafe] version = true"), "{refused}");
    }

    #[test]
    fn a_stream_that_could_lose_messages_is_told_by_its_setting() {
        let wanted = wanted("S_0", &Config::default());
        assert_eq!(stream(&wanted, &wanted), Ok(()));
        for (key, value) in [
            ("max_age", json!(1)),
            ("max_msgs", json!(1000)),
            ("max_bytes", json!(1 << 30)),
            ("discard", json!("old")),
            ("retention", json!("workqueue")),
            ("deny_delete", json!(false)),
            ("deny_purge", Value::Null),
            ("sealed", json!(true)),
            ("mirror", json!({ "name": "other" })),
            ("persist_mode", json!("async")),
            ("subjects", json!(["S_0.>", "others"])),
        ] {
            let mut found = wanted.clone();
            found[key] = value;
            let said = stream(&found, &wanted).unwrap_err();
            assert!(said.starts_with(key), "{said}");
        }
    }
}
