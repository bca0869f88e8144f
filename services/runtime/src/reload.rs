//! Changes of the configuration that a running service applies (PL-27).

use crate::{
    config::{Config, NeedsRestart, Operator, Telemetry},
    jurisdiction::Jurisdictions,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadedKeys {
    /// Changed configuration keys, such as `operators.acme.weight`; `operators.acme` for an added or removed operator.
    pub keys: Vec<String>,
    pub removed_wallets: Vec<String>,
}

impl Config {
    /// Checks that a running service can apply `new`: only operators, jurisdictions and the log filter may differ.
    pub fn check_reload(&self, new: &Self) -> Result<ReloadedKeys, NeedsRestart> {
        let mut keys = vec![];
        differences("", &self.fixed(), &new.fixed(), &mut keys);
        if self.operators.is_empty() != new.operators.is_empty() {
            keys.push("operators (the first was added, or the last was removed)".to_owned());
        }
        if keys.is_empty() { Ok(self.changed_keys(new)) } else { Err(NeedsRestart(keys)) }
    }

    fn fixed(&self) -> Value {
        let telemetry = Telemetry { filter: String::new(), ..self.telemetry.clone() };
        tree(&Self { operators: vec![], jurisdictions: Jurisdictions::default(), telemetry, ..self.clone() })
    }

    fn changed_keys(&self, new: &Self) -> ReloadedKeys {
        let mut reloaded = ReloadedKeys::default();
        differences("jurisdictions", &tree(&self.jurisdictions), &tree(&new.jurisdictions), &mut reloaded.keys);
        differences("telemetry", &tree(&self.telemetry), &tree(&new.telemetry), &mut reloaded.keys);
        let by_id = |config: &Self| -> BTreeMap<String, Operator> {
            config.operators.iter().map(|operator| (operator.id.clone(), operator.clone())).collect()
        };
        let (old, new) = (by_id(self), by_id(new));
        for id in old.keys().chain(new.keys().filter(|id| !old.contains_key(*id))) {
            let (old, new) = (old.get(id), new.get(id));
            match (old, new) {
                (Some(old), Some(new)) => {
                    differences(&format!("operators.{id}"), &tree(old), &tree(new), &mut reloaded.keys);
                }
                _ => reloaded.keys.push(format!("operators.{id}")),
            }
            let has_wallet = |operator: Option<&Operator>| operator.is_some_and(|operator| operator.seamless.is_some());
            if has_wallet(old) && !has_wallet(new) {
                reloaded.removed_wallets.push(id.clone());
            }
        }
        reloaded
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
        old.check_reload(&new).map_or_else(|refused| refused.to_string(), |_| String::new())
    }

    #[test]
    fn pl_27_a_reload_takes_operators_and_credentials_and_names_other_keys() {
        let credential = "credentials = [{ name = 'a', token_sha256 = '5f16f4c7f149ac4f9510d9cf8cf384038ad348b3bcdc01915f95de12df9d1b02', roles = ['play'] }]\n";
        for new in [
            ONE.to_owned(),
            format!("{ONE}calls_per_second_max = 5\n{credential}"),
            format!("{ONE}weight = 2\ncampaign_liability_eur_max = 2"),
            format!("{ONE}[[operators]]\nid = 'beta'\nweight = 3\n{credential}"),
            format!("{ONE}[telemetry]\nfilter = 'debug'"),
            format!("{ONE}[jurisdictions]\ndefault = 'uk'\noperators.acme = {{ profile = 'se' }}"),
        ] {
            assert_eq!(check(ONE, &new), "");
            assert_eq!(check(&new, ONE), "");
        }
        let seamless = format!("{ONE}wallet = 'seamless'\nseamless = {{ url = 'http://127.0.0.1:1' }}\n");
        let other = seamless.replace("127.0.0.1:1", "127.0.0.1:2");
        assert_eq!([check(ONE, &seamless), check(&seamless, &other)], ["", ""]);
        assert_eq!(check(&seamless, ONE), "", "the service refuses it while the wallet is in use");
        for (new, keys) in [
            (format!("partitions = 2\n{ONE}"), "partitions"),
            (format!("[limits]\nqueue_length_max = 7\n{ONE}"), "limits.queue_length_max"),
            (format!("[telemetry]\nfilter = 'warn'\nmetrics_seconds = 9\n{ONE}"), "telemetry.metrics_seconds"),
            (String::new(), "operators (the first was added, or the last was removed)"),
        ] {
            assert_eq!(check(ONE, &new), format!("{keys} cannot change while the service runs: restart the service"));
        }
    }

    #[test]
    fn pl_27_a_reload_names_each_changed_key_of_an_operator_and_removed_wallets() {
        let seamless = "wallet = 'seamless'\nseamless = { url = 'http://127.0.0.1:1' }\n";
        let [old, new] = [
            format!("{ONE}weight = 2\n{seamless}[[operators]]\nid = 'gone'\n{seamless}"),
            format!(
                "jurisdictions.default = 'uk'\n{ONE}weight = 3\n{}[[operators]]\nid = 'new'\n",
                seamless.replace(":1'", ":2'")
            ),
        ]
        .map(|text| Config::parse(&text).unwrap());
        let ReloadedKeys { keys, removed_wallets } = old.check_reload(&new).unwrap();
        let named = [
            "jurisdictions.default",
            "operators.acme.seamless.url",
            "operators.acme.weight",
            "operators.gone",
            "operators.new",
        ];
        assert_eq!(keys, named);
        assert_eq!(removed_wallets, ["gone"]);
        assert_eq!(old.check_reload(&old), Ok(ReloadedKeys::default()));
    }
}
