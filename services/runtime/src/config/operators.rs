//! Operators and their credentials (PL-27).
//!
//! The configuration contains digests of tokens and certificates but no secrets. Several credentials can be valid at
//! once, so that one can be replaced without a gap.

use super::{
    error::ConfigError,
    seamless::{Seamless, WalletKind},
};
use crate::roles::Roles;
use motherlode_state::{date, is_name};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, fmt};
use toml::value::{Datetime, Offset};

/// Operator without players. Its `admin` role can change pools, rates and all switches.
pub const PLATFORM: &str = "platform";

/// A tenant that owns players.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// Name, which is also the first part of player and round names.
    pub id: String,
    /// Maximum average calls per second; default: unlimited. A message on PlayStream counts as a call.
    pub calls_per_second_max: Option<u32>,
    /// Maximum burst of calls; default: the number of calls allowed per second.
    pub calls_burst_max: Option<u32>,
    /// Operator's weight, 1 to 100, when operators compete for calls, log bytes and the append queue.
    #[serde(default = "one")]
    pub weight: u32,
    /// Maximum total cost of open campaigns, in whole EUR (PL-36); default: unlimited.
    pub campaign_liability_eur_max: Option<u32>,
    /// Required form of new players' ids (PL-37).
    #[serde(default)]
    pub player_ids: PlayerIds,
    /// Days after a player's last record during which ErasePerson is refused for the player; at most 36,500.
    #[serde(default)]
    pub person_keep_days: u32,
    /// Kind of wallet (PL-31). A player keeps the kind that was configured when the player's first account was opened.
    #[serde(default)]
    pub wallet: WalletKind,
    /// Settings of a seamless wallet.
    pub seamless: Option<Seamless>,
    /// Credentials.
    #[serde(default)]
    pub credentials: Vec<Credential>,
}

/// Required form of new players' ids. Existing players keep their ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlayerIds {
    /// Any names of 1 to 64 characters.
    #[default]
    Names,
    /// UUIDs, ULIDs, and ids of 32 to 64 hexadecimal digits.
    Opaque,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    /// Name, recorded as the actor of commits. Credentials with equal names count as one actor, so the approver's name must
    /// differ from the proposer's (PL-27).
    pub name: String,
    /// SHA-256 of a bearer token; not allowed with `certificate_sha256`.
    pub token_sha256: Option<Digest>,
    /// SHA-256 of a client certificate in DER; not allowed with `token_sha256`.
    pub certificate_sha256: Option<Digest>,
    /// Roles.
    pub roles: Roles,
    /// Other operators for which the credential may call; each such call names its operator in the header
    /// `motherlode-operator`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<String>,
    /// Expiry in Unix milliseconds; in the configuration file, a date and time with offset.
    #[serde(default, rename = "expires", deserialize_with = "time_ms")]
    pub expires_ms: Option<i64>,
}

/// SHA-256 digest, 64 hexadecimal digits in the configuration file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let pairs = text.as_bytes().chunks_exact(2);
        let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        let bytes: Option<Vec<u8>> = bytes.collect();
        let digest = bytes.filter(|_| text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let digest = digest.and_then(|bytes| bytes.try_into().ok()).map(Self);
        digest.ok_or_else(|| de::Error::custom("must be 64 hexadecimal digits"))
    }
}

fn one() -> u32 {
    1
}

fn time_ms<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let ms = unix_ms(&Datetime::deserialize(from)?);
    ms.map(Some)
        .ok_or_else(|| de::Error::custom("must be a date and time with its offset, such as 2027-01-31T00:00:00Z"))
}

fn unix_ms(time: &Datetime) -> Option<i64> {
    let (day, clock) = (date::parse(&time.date?.to_string())?, time.time?);
    let offset_minutes = match time.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let minutes = i64::from(clock.hour) * 60 + i64::from(clock.minute) - offset_minutes;
    let seconds = minutes * 60 + i64::from(clock.second.unwrap_or(0));
    Some(day * date::DAY_MS + seconds * 1_000 + i64::from(clock.nanosecond.unwrap_or(0) / 1_000_000))
}

pub(super) fn check(operators: &[Operator], client_certificates: bool) -> Result<(), ConfigError> {
    let refuse = |operator: &Operator, fault: &str| {
        Err(ConfigError::Operator { operator: operator.id.clone(), fault: fault.to_owned() })
    };
    let (mut ids, mut digests) = (BTreeSet::new(), BTreeSet::new());
    for operator in operators {
        if !is_name(&operator.id) {
            return refuse(operator, "id must be 1 to 64 characters of [A-Za-z0-9._~-], not only dots");
        }
        if !ids.insert(&operator.id) {
            return refuse(operator, "is configured twice");
        }
        if operator.calls_per_second_max == Some(0) || operator.calls_burst_max == Some(0) {
            return refuse(operator, "calls_per_second_max and calls_burst_max must be above 0");
        }
        if operator.calls_burst_max.is_some() && operator.calls_per_second_max.is_none() {
            return refuse(operator, "calls_burst_max needs calls_per_second_max");
        }
        if !(1..=100).contains(&operator.weight) {
            return refuse(operator, "weight must be 1 to 100");
        }
        if operator.campaign_liability_eur_max == Some(0) {
            return refuse(operator, "campaign_liability_eur_max must be above 0");
        }
        if operator.person_keep_days > 36_500 {
            return refuse(operator, "person_keep_days must be at most 36500");
        }
        match (operator.wallet, &operator.seamless) {
            (WalletKind::Seamless, None) => return refuse(operator, "wallet = \"seamless\" needs operators.seamless"),
            (_, Some(_)) if operator.id == PLATFORM => {
                return refuse(
                    operator,
                    "the reserved operator platform has no players: remove its operators.seamless",
                );
            }
            (_, Some(wallet)) if wallet.answer_ms_max == 0 || wallet.bets_max == 0 || wallet.credits_max == 0 => {
                return refuse(operator, "answer_ms_max, bets_max and credits_max of the wallet must be above 0");
            }
            (_, Some(wallet)) if !wallet.is_private() => {
                return refuse(operator, "plain http is only for a wallet on this machine; use https");
            }
            (_, Some(wallet)) if let Some(mismatch) = wallet.mismatch() => return refuse(operator, mismatch),
            _ => {}
        }
        for credential in &operator.credentials {
            if !is_name(&credential.name) {
                return refuse(
                    operator,
                    "credentials need a name of 1 to 64 characters of [A-Za-z0-9._~-], not only dots",
                );
            }
            if credential.roles == Roles::NONE {
                return refuse(operator, "each credential must have at least one role");
            }
            let digest = match (credential.token_sha256, credential.certificate_sha256) {
                (Some(token), None) if is_blank(&token) => {
                    return refuse(operator, "token_sha256 is the digest of an empty or blank token");
                }
                (Some(token), None) => token,
                (None, Some(certificate)) if client_certificates => certificate,
                (None, Some(_)) => return refuse(operator, "certificate_sha256 needs tls.client_ca"),
                _ => {
                    return refuse(
                        operator,
                        "each credential must have either token_sha256 or certificate_sha256, not both",
                    );
                }
            };
            if !digests.insert(digest) {
                return refuse(operator, "two credentials have the same digest");
            }
            check_served(operators, operator, credential).or_else(|fault| refuse(operator, fault))?;
        }
    }
    Ok(())
}

impl Credential {
    pub fn serves<'a>(&'a self, own: &'a Operator) -> impl Iterator<Item = &'a String> {
        [&own.id].into_iter().chain(&self.operators)
    }
}

fn check_served(operators: &[Operator], own: &Operator, credential: &Credential) -> Result<(), &'static str> {
    let served = &credential.operators;
    if served.iter().collect::<BTreeSet<_>>().len() < served.len() || served.contains(&own.id) {
        return Err("a credential's operators must not include its own operator, nor list an operator twice");
    }
    if credential.serves(own).any(|id| id == PLATFORM) && !served.is_empty() {
        return Err(
            "a credential of the platform must not serve other operators, and no operator's credential may serve \
             the platform",
        );
    }
    if !served.iter().all(|id| operators.iter().any(|operator| operator.id == *id)) {
        return Err("each operator that a credential serves must be configured");
    }
    // Credentials of the same name that serve the same operator would be one actor with the roles of both.
    let is_same = |of: &Operator, other: &Credential| {
        other.name == credential.name && other.serves(of).any(|id| served.contains(id))
    };
    let mut others = operators.iter().filter(|of| of.id != own.id);
    if others.any(|of| of.credentials.iter().any(|other| is_same(of, other))) {
        return Err("an operator that this credential serves has another credential with the same name");
    }
    Ok(())
}

/// Returns whether this is the digest of a blank token. A blank token cannot authenticate, because whitespace is
/// trimmed from headers.
fn is_blank(token: &Digest) -> bool {
    [" ", "\t", "\n", "\r\n"]
        .iter()
        .any(|blank| (0..=8).any(|times| <[u8; 32]>::from(Sha256::digest(blank.repeat(times))) == token.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_unix_clock() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-12-31T23:59:59Z", 1_798_761_599),
            ("2027-01-01T01:00:00+01:00", 1_798_761_600),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(unix_ms(&text.parse().unwrap()), Some(seconds * 1000), "{text}");
        }
        for partial in ["2027-01-01", "2027-01-01T00:00:00"] {
            assert_eq!(unix_ms(&partial.parse().unwrap()), None, "{partial}");
        }
    }
}
