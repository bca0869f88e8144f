//! Changes of the configuration that a running service applies (PL-27).

use super::{Config, Operator, error::NeedsRestart};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

impl Config {
    /// Checks that a running service can take `new`: only operators may differ, and not in their wallet.
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
            let fixed =
                |config: &Self| tree(&fixed_part(id, config.operators.iter().find(|operator| operator.id == *id)));
            differences(&format!("operators.{id}"), &fixed(self), &fixed(new), &mut keys);
        }
        if self.operators.is_empty() != new.operators.is_empty() {
            keys.push("operators (the first or the last one)".to_owned());
        }
        if keys.is_empty() { Ok(()) } else { Err(NeedsRestart(keys)) }
    }
}

/// Returns the wallet, which cannot change; an unknown operator has the default one.
fn fixed_part(id: &str, operator: Option<&Operator>) -> Operator {
    Operator {
        id: id.to_owned(),
        calls_per_second_max: None,
        calls_burst_max: None,
        weight: 1,
        campaign_liability_eur_max: None,
        wallet: operator.map(|operator| operator.wallet).unwrap_or_default(),
        seamless: operator.and_then(|operator| operator.seamless.clone()),
        credentials: vec![],
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
        for (new, keys) in [
            (format!("partitions = 2\n{ONE}"), "partitions"),
            (format!("[limits]\nqueue_length_max = 7\n{ONE}"), "limits.queue_length_max"),
            (
                format!("{ONE}wallet = 'seamless'\n[operators.seamless]\nurl = 'http://127.0.0.1:1'"),
                "operators.acme.seamless",
            ),
            (String::new(), "operators (the first or the last one)"),
        ] {
            assert_eq!(check(ONE, &new), format!("{keys} cannot change while the service runs: restart it"));
        }
    }
}
