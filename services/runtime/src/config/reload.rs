//! Changes of the configuration that a running service applies (PL-27).

use super::{Config, error::NeedsRestart};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

impl Config {
    /// Checks that a running service can apply `new`: only operators may differ. A seamless wallet cannot be removed, because
    /// the service may still owe it credits.
    pub fn check_reload(&self, new: &Self) -> Result<(), NeedsRestart> {
        let mut keys = vec![];
        differences(
            "",
            &tree(&Self { operators: vec![], ..self.clone() }),
            &tree(&Self { operators: vec![], ..new.clone() }),
            &mut keys,
        );
        let ids: BTreeSet<_> = self.operators.iter().chain(&new.operators).map(|operator| &operator.id).collect();
        for id in ids {
            let has_wallet = |config: &Self| {
                config.operators.iter().any(|operator| operator.id == *id && operator.seamless.is_some())
            };
            if has_wallet(self) && !has_wallet(new) {
                keys.push(format!("operators.{id}.seamless"));
            }
        }
        if self.operators.is_empty() != new.operators.is_empty() {
            keys.push("operators (adding the first or removing the last)".to_owned());
        }
        if keys.is_empty() { Ok(()) } else { Err(NeedsRestart(keys)) }
    }
}

fn tree(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

fn differences(path: &str, old: &Value, new: &Value, keys: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        if old != new {
            keys.push(path.to_owned());
        }
        return;
    };
    let at = |map: &Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or_default();
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        differences(&path, &at(old, key), &at(new, key), keys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[operators]]\nid = 'acme'\n";

    fn check(old: &str, new: &str) -> String {
        let [old, new] = [old, new].map(|text| Config::parse(text).unwrap());
        old.check_reload(&new).map_or_else(|refused| refused.to_string(), |()| String::new())
    }

    #[test]
    fn pl_27_a_reload_takes_operators_and_credentials_and_names_other_keys() {
        let credential = "credentials = [{ name = 'a', token_sha256 = '5f16f4c7f149ac4f9510d9cf8cf384038ad348b3bcdc01915f95de12df9d1b02', roles = ['play'] }]\n";
        for new in [
            ONE.to_owned(),
            format!("{ONE}calls_per_second_max = 5\n{credential}"),
            format!("{ONE}weight = 2\ncampaign_liability_eur_max = 2"),
            format!("{ONE}[[operators]]\nid = 'beta'\nweight = 3\n{credential}"),
        ] {
            assert_eq!(check(ONE, &new), "");
            assert_eq!(check(&new, ONE), "");
        }
        let seamless = format!("{ONE}wallet = 'seamless'\nseamless = {{ url = 'http://127.0.0.1:1' }}\n");
        let other = seamless.replace("127.0.0.1:1", "127.0.0.1:2");
        assert_eq!([check(ONE, &seamless), check(&seamless, &other)], ["", ""]);
        assert!(check(&seamless, ONE).starts_with("operators.acme.seamless cannot change"));
        for (new, keys) in [
            (format!("partitions = 2\n{ONE}"), "partitions"),
            (format!("[limits]\nqueue_length_max = 7\n{ONE}"), "limits.queue_length_max"),
            (String::new(), "operators (adding the first or removing the last)"),
        ] {
            assert_eq!(check(ONE, &new), format!("{keys} cannot change while the service runs: restart the service"));
        }
    }
}
