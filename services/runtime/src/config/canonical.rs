//! The canonical form of a configuration, identified by its digest (PL-29).
//!
//! The form is one line of JSON with sorted keys, without the keys in [`ELSEWHERE`]
//! (`docs/reference/configuration-digest.md`). Each credential's roles are in the order `play`, `wallet`, `support`,
//! `audit`, `admin`, `node`; operators and credentials are in file order. The form contains no secrets.

use super::Config;
use serde_json::Value;

/// Keys omitted from the canonical form, because they describe the machine and not the rules of play.
pub const ELSEWHERE: [&str; 11] =
    ["listen", "data", "store", "role", "ledger", "verify", "draws", "proofs", "archive", "console", "telemetry"];

impl Config {
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(keys) = &mut value {
            keys.retain(|key, _| !ELSEWHERE.contains(&key.as_str()));
        }
        value.sort_all_objects();
        format!("{value}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_09_the_same_configuration_has_one_form_however_it_is_written() {
        let one = "partitions = 2\nlisten = '127.0.0.1:1'\n[limits]\nqueue_length_max = 77\n[jurisdictions.profiles.\"z\\n\"]\n\
                   gamble = false\n[jurisdictions.profiles.\"ä\"]\n[demo]\nbalance_minor = 100_000";
        let other = "data = \"elsewhere\"\njurisdictions.profiles = { \"\\u00e4\" = {}, \"z\\u000a\" = { gamble = false } }\n\
                     limits.queue_length_max = 0x4d\npartitions = 2\nrole = 'ledger'\n[store]\nreplicas = 1";
        let canonical = |text: &str| Config::parse(text).unwrap().canonical();
        assert_eq!(canonical(one), canonical(other));
        assert_ne!(canonical(one), canonical(""));
        assert!(canonical(one).contains(r#""profiles":{"z\n":{"autoplay":true"#), "{}", canonical(one));
    }

    #[test]
    fn uf_09_the_form_is_one_line_of_sorted_json_without_what_differs_by_machine() {
        let digest = "9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let text = format!(
            "[[operators]]\nid = \"acme\"\n[[operators.credentials]]\nname = \"one\"\ntoken_sha256 = \"{digest}\"\n\
             roles = [\"wallet\", \"play\"]\nexpires = 2027-01-01T01:00:00+01:00"
        );
        let canonical = Config::parse(&text).unwrap().canonical();
        assert!(
            canonical.starts_with(r#"{"allow_beyond_loopback":{"anyone":false,"plaintext":false,"telemetry":false},"#),
            "{canonical}"
        );
        assert!(canonical.ends_with("}\n") && canonical.trim_end().lines().count() == 1);
        assert!(canonical.contains(&format!(
            r#""operators":[{{"calls_burst_max":null,"calls_per_second_max":null,"campaign_liability_eur_max":null,"credentials":[{{"certificate_sha256":null,"expires":1798761600000,"name":"one","roles":["play","wallet"],"token_sha256":"{}"}}],"id":"acme","person_keep_days":0,"player_ids":"names","seamless":null,"wallet":"transfer","weight":1}}]"#,
            digest.to_lowercase()
        )), "{canonical}");
        let value: Value = serde_json::from_str(&canonical).unwrap();
        for key in ELSEWHERE {
            assert!(value.get(key).is_none(), "{key}");
        }
    }
}
