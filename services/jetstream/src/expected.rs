//! Checks repeatedly that a stream in use was neither reconfigured nor recreated. Otherwise, the writer stops writing.

use crate::check::{self, count, is_contiguous};
use motherlode_runtime::config::Store as Config;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(crate) struct Expected {
    wanted: Value,
    created: Value,
    replicas: u64,
    storage: Value,
    is_limited: AtomicBool,
}

impl Expected {
    pub(crate) fn new(stream: &str, config: &Config, info: &Value) -> Self {
        let found = &info["config"];
        let replicas = found["num_replicas"].as_u64().unwrap_or_default();
        let (created, storage) = (info["created"].clone(), found["storage"].clone());
        Self { wanted: check::wanted(stream, config), created, replicas, storage, is_limited: AtomicBool::new(false) }
    }

    pub(crate) fn expect_limit(&self) {
        self.is_limited.store(true, Ordering::Release);
    }

    pub(crate) fn deviation(&self, info: &Value, start: u64, last: u64) -> Option<String> {
        let (config, state) = (&info["config"], &info["state"]);
        let is_limited = config["max_age"] != 0 && self.is_limited.load(Ordering::Acquire);
        if let Err(fault) = check::stream(config, &self.wanted)
            && !is_limited
        {
            return Some(fault);
        }
        let replicas = config["num_replicas"].as_u64().unwrap_or_default();
        if replicas < self.replicas {
            return Some(format!(
                "num_replicas is {replicas}, but was {} when the writer opened the stream",
                self.replicas
            ));
        }
        if config["storage"] != self.storage {
            return Some(format!(
                "storage is {}, but was {} when the writer opened the stream",
                config["storage"], self.storage
            ));
        }
        if info["created"] != self.created {
            return Some(format!(
                "the stream was created at {}, but the writer opened a stream that was created at {}",
                info["created"], self.created
            ));
        }
        if !is_contiguous(state) || count(state, "first_seq") > start {
            return Some(format!("messages are missing from the stream: {state}"));
        }
        let found = count(state, "last_seq");
        (found < last).then(|| format!("the last message is number {found}, but was number {last} earlier"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mf_e4_a_stream_that_was_changed_behind_its_writer_is_noticed() {
        let config = Config { replicas: 3, ..Config::default() };
        let state = json!({ "messages": 9, "first_seq": 1, "last_seq": 9 });
        let good =
            json!({ "config": check::wanted("S_0", &config), "state": state, "created": "2026-11-26T12:00:00Z" });
        let expected = Expected::new("S_0", &config, &good);
        assert_eq!(expected.deviation(&good, 1, 9), None);
        for (part, key, value) in [
            ("config", "max_msgs", json!(5)),
            ("config", "max_age", json!(1_000_000_000)),
            ("config", "republish", json!({ "src": ">", "dest": "out.>" })),
            ("config", "subjects", json!(["S_0.>", "others"])),
            ("config", "sources", json!([{ "name": "OTHER" }])),
            ("config", "deny_purge", json!(false)),
            ("config", "num_replicas", json!(1)),
            ("config", "storage", json!("memory")),
            ("state", "first_seq", json!(4)),
            ("state", "messages", json!(8)),
        ] {
            let mut found = good.clone();
            found[part][key] = value;
            let deviation = expected.deviation(&found, 1, 9).unwrap();
            assert!(deviation.contains(key) || deviation.contains("missing"), "{deviation}");
        }
        assert!(expected.deviation(&good, 1, 10).unwrap().contains("the last message is number 9"));
        let mut pruned = good.clone();
        pruned["state"] = json!({ "messages": 6, "first_seq": 4, "last_seq": 9 });
        assert!(expected.deviation(&pruned, 3, 9).unwrap().contains("missing"));
        assert_eq!(expected.deviation(&pruned, 4, 9), None);
        pruned["config"]["max_age"] = json!(1_000);
        assert!(expected.deviation(&pruned, 4, 9).unwrap().starts_with("max_age"));
        expected.expect_limit();
        assert_eq!(expected.deviation(&pruned, 4, 9), None);
        let mut other = good;
        other["created"] = json!("2026-11-26T13:00:00Z");
        assert!(expected.deviation(&other, 1, 9).unwrap().contains("the writer opened a stream that was created at"));
    }
}
