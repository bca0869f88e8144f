//! Standbys report their positions to the log's writer, which only displays them. Each standby sends one message per second
//! and partition on a subject outside the streams.

use crate::{following::Following, presence::Presence};
use futures_util::{StreamExt, stream::SelectAll};
use motherlode_log::Position;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const PAUSE: Duration = Duration::from_secs(1);
const NAME_MAX: usize = 64;

fn subject(stream: &str) -> String {
    format!("{stream}-standby")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandbyReport {
    pub partition: u32,
    pub name: String,
    pub position: Position,
}

impl StandbyReport {
    fn parse(partition: u32, payload: &[u8]) -> Option<Self> {
        motherlode_runtime::json::check_members(payload).ok()?;
        let told: Value = serde_json::from_slice(payload).ok()?;
        let name = told["name"].as_str().filter(|name| !name.is_empty() && name.len() <= NAME_MAX)?;
        let position = told["position"].as_u64()?;
        name.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Self { partition, name: name.to_owned(), position })
    }
}

impl Following {
    /// Publishes this process's position without acknowledgement. `port` is the port on which this process accepts
    /// calls.
    pub fn tell(&self, port: u16) {
        let stream = self.stream();
        let (client, Some(thread)) = (stream.link.client(), stream.link.handle()) else { return };
        let name = format!("{}:{port}", client.server_info().client_ip);
        let told = json!({ "name": name, "position": self.verified().0 }).to_string();
        let subject = subject(&stream.name);
        thread.spawn(async move { drop(client.publish(subject, told.into()).await) });
    }
}

impl Presence {
    pub async fn hear_standbys(&self, mut heard: impl FnMut(StandbyReport) + Send) {
        loop {
            let mut all = SelectAll::new();
            for (partition, stream) in self.streams() {
                match stream.link.client().subscribe(subject(&stream.name)).await {
                    Ok(told) => all.push(told.map(move |told| (partition, told.payload)).boxed()),
                    Err(error) => {
                        tracing::warn!(%error, partition, "failed to subscribe to the reports of standbys: their positions are not shown")
                    }
                }
            }
            while let Some((partition, payload)) = all.next().await {
                StandbyReport::parse(partition, &payload).into_iter().for_each(&mut heard);
            }
            sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_30_what_a_standby_tells_is_read_and_what_makes_no_sense_is_not() {
        let told = StandbyReport { partition: 3, name: "10.0.0.7:50051".into(), position: 42 };
        assert_eq!(StandbyReport::parse(3, br#"{"name":"10.0.0.7:50051","position":42}"#), Some(told));
        let long = format!(r#"{{"name":"{}","position":42}}"#, "a".repeat(NAME_MAX + 1));
        for none in [
            "",
            "[]",
            r#"{"name":"","position":42}"#,
            r#"{"name":"a b","position":42}"#,
            r#"{"name":"a","position":-1}"#,
            r#"{"name":"a"}"#,
            r#"{"name":"a","position":42,"position":43}"#,
            &long,
        ] {
            assert_eq!(StandbyReport::parse(3, none.as_bytes()), None, "{none}");
        }
    }
}
