use super::error::ConfigError;

/// Returns an error that names the replacement if the configuration has a key or value of an earlier build.
pub(super) fn key(text: &str) -> Option<ConfigError> {
    let table: toml::Table = text.parse().ok()?;
    let ledger = |key: &str| table.get("ledger").is_some_and(|ledger| ledger.get(key).is_some());
    let replaced = [
        (ledger("writes"), "ledger.writes", "ledger.write_partitions"),
        (ledger("holds"), "ledger.holds", "ledger.read_partitions"),
        (
            table.get("verify").and_then(toml::Value::as_str) == Some("behind"),
            "verify = \"behind\"",
            "verify = \"background\"",
        ),
    ];
    let (_, old, new) = replaced.into_iter().find(|(is_used, ..)| *is_used)?;
    Some(ConfigError::Replaced { old, new })
}
