//! Keys that a reload applies, and those that need a restart.

use super::Config;
use serde_json::Value;

/// Keys of an operator that a reload applies.
const RELOADED: [&str; 3] = ["credentials", "calls_per_second_max", "calls_burst_max"];

impl Config {
    /// Returns the keys whose change needs a restart.
    #[must_use]
    pub fn restart_keys(&self, changed: &Self) -> Vec<String> {
        let mut keys = vec![];
        differences("", &fixed(self), &fixed(changed), &mut keys);
        keys
    }
}

/// Operators by name, so that their order does not matter.
fn fixed(config: &Config) -> Value {
    let mut value = serde_json::to_value(config).unwrap_or_default();
    let operators = value.get_mut("operators").map(Value::take);
    let mut by_name = serde_json::Map::new();
    for mut operator in operators.into_iter().flat_map(|all| all.as_array().cloned().unwrap_or_default()) {
        if let Some(keys) = operator.as_object_mut() {
            keys.retain(|key, _| !RELOADED.contains(&key.as_str()));
        }
        let name = operator["id"].as_str().unwrap_or_default().to_owned();
        by_name.insert(name, operator);
    }
    if let Some(keys) = value.as_object_mut() {
        keys.insert("operators".to_owned(), Value::Object(by_name));
    }
    value
}

fn differences(path: &str, one: &Value, other: &Value, keys: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                differences(&path, &of(one), &of(other), keys);
            }
        }
        _ if one == other => {}
        _ => keys.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_rates_are_reloaded_and_all_other_keys_need_a_restart() {
        let acme = |more: &str, token: char| {
            let token = token.to_string().repeat(64);
            format!(
                "[[operators]]\nid = \"acme\"\n{more}\n[[operators.credentials]]\nname = \"a\"\ntoken_sha256 = \"{token}\"\nroles = [\"play\"]\n"
            )
        };
        let config = |text: &str| Config::parse(text).unwrap();
        let before = config(&acme("", '1'));
        let keys = |text: &str| before.restart_keys(&config(text));
        assert_eq!(keys(&acme("calls_per_second_max = 5\ncalls_burst_max = 9", '2')), [""; 0]);
        assert_eq!(keys(&(acme("", '1') + "[limits]\nqueue_length_max = 77")), ["limits.queue_length_max"]);
        assert_eq!(keys(&acme("weight = 3", '1')), ["operators.acme.weight"]);
        let two = acme("", '1') + &acme("", '2').replace("acme", "bravo");
        assert_eq!(keys(&two), ["operators.bravo"]);
        assert_eq!(config(&two).restart_keys(&before), ["operators.bravo"]);
    }
}
