//! Built-in and configured jurisdiction profiles, and their selection (PL-26).
//!
//! ```toml
//! [jurisdictions]
//! default = "uk"                  # for operators without a profile
//! profiles.mga = { autoplay = false }
//! profiles.uk = { gamble = false }        # in addition to the compiled profile
//! operators.acme = { profile = "se", limits = { reality_check_ms = 3_600_000 } }
//! ```
//!
//! A configured profile with the name of a built-in profile can only add restrictions to the built-in profile. An
//! operator's own limits can only add restrictions.

use crate::config::error::ConfigError;
use motherlode_state::Profile;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

pub const UNRESTRICTED: &str = "default";

const COMPILED: [(&str, &str); 6] = [
    (UNRESTRICTED, include_str!("../profiles/default.toml")),
    ("de", include_str!("../profiles/de.toml")),
    ("es", include_str!("../profiles/es.toml")),
    ("on", include_str!("../profiles/on.toml")),
    ("se", include_str!("../profiles/se.toml")),
    ("uk", include_str!("../profiles/uk.toml")),
];

/// Jurisdictions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Jurisdictions {
    /// Profile of operators that name no profile.
    pub default: String,
    /// Additional profiles, and additional restrictions for built-in profiles.
    pub profiles: BTreeMap<String, Profile>,
    /// Maps operators to their settings.
    pub operators: BTreeMap<String, Operator>,
}

/// Profile and limits of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Operator {
    /// Profile of bets that name no jurisdiction; default: the profile in `default`.
    pub profile: String,
    /// Operator's limits in all jurisdictions.
    pub limits: Profile,
}

impl Default for Jurisdictions {
    fn default() -> Self {
        Self { default: UNRESTRICTED.to_owned(), profiles: BTreeMap::new(), operators: BTreeMap::new() }
    }
}

/// Profiles by name, and the operators' settings. A reload of the configuration replaces both in all clones (PL-27).
#[derive(Debug, Clone, Default)]
pub struct Profiles(Arc<RwLock<Table>>);

#[derive(Debug, Clone)]
struct Table {
    profiles: BTreeMap<String, Profile>,
    default: String,
    operators: BTreeMap<String, Operator>,
}

impl Default for Table {
    fn default() -> Self {
        let profiles = BTreeMap::from([(UNRESTRICTED.to_owned(), Profile::default())]);
        Self { profiles, default: UNRESTRICTED.to_owned(), operators: BTreeMap::new() }
    }
}

impl Profiles {
    pub fn new(configured: &Jurisdictions) -> Result<Self, ConfigError> {
        let mut profiles = configured.profiles.clone();
        for (name, text) in COMPILED {
            let compiled = toml::from_str::<Profile>(text)?;
            let profile = profiles.entry(name.to_owned()).or_default();
            *profile = profile.strictest(compiled);
        }
        let mut operators = configured.operators.clone();
        for operator in operators.values_mut().filter(|operator| operator.profile.is_empty()) {
            operator.profile.clone_from(&configured.default);
        }
        let named = |operator: &Operator| operator.profile.clone();
        let used: Vec<_> = operators.values().map(named).chain([configured.default.clone()]).collect();
        match used.into_iter().find(|name| !profiles.contains_key(name)) {
            Some(name) => Err(ConfigError::UnknownProfile { name }),
            None => Ok(Self(Arc::new(RwLock::new(Table { profiles, default: configured.default.clone(), operators })))),
        }
    }

    pub fn replace(&self, new: &Self) {
        let table = new.0.read().clone();
        *self.0.write() = table;
    }

    /// An empty jurisdiction selects the operator's own profile.
    #[must_use]
    pub fn find(&self, operator: &str, jurisdiction: &str) -> Option<(String, Profile)> {
        let table = self.0.read();
        let operator = table.operators.get(operator);
        let name = match (jurisdiction, operator) {
            ("", Some(operator)) => &operator.profile,
            ("", None) => &table.default,
            (name, _) => name,
        };
        let (name, profile) = table.profiles.get_key_value(name)?;
        Some((name.clone(), operator.map_or(*profile, |operator| profile.strictest(operator.limits))))
    }

    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.read().profiles.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn profiles(text: &str) -> Result<Profiles, ConfigError> {
        Profiles::new(&toml::from_str(text).unwrap())
    }

    #[test]
    fn pl_26_the_compiled_profiles_have_the_seconds_a_round_of_the_rule() {
        let profiles = profiles("").unwrap();
        let seconds = |name| profiles.find("acme", name).unwrap().1.round_ms_min;
        assert_eq!((seconds("uk"), seconds("se"), seconds("de")), (2_500, 3_000, 5_000));
        assert_eq!(profiles.names(), ["de", "default", "es", "on", "se", "uk"]);
        assert_eq!(profiles.find("acme", "default"), Some(("default".to_owned(), Profile::default())));
        assert_eq!(profiles.find("acme", "atlantis"), None);
    }

    #[test]
    fn pl_08_autoplay_is_off_where_each_game_is_committed_to() {
        let profiles = profiles("").unwrap();
        let autoplay =
            ["uk", "de", "on", "se", "es", "default"].map(|name| profiles.find("acme", name).unwrap().1.autoplay);
        assert_eq!(autoplay, [false, false, false, true, true, true]);
    }

    #[test]
    fn pl_26_the_compiled_profiles_have_what_a_round_may_cost_and_where_jackpots_are_forbidden() {
        let profiles = profiles("").unwrap();
        let of = |name| {
            let (_, profile) = profiles.find("acme", name).unwrap();
            (profile.bet_eur_max.map(NonZeroU32::get), profile.jackpot, profile.limits_by_player)
        };
        assert_eq!((of("de"), of("uk")), ((Some(1), false, false), (Some(5), true, false)));
        assert_eq!((of("es"), of("se"), of("on")), ((None, true, true), (None, true, false), (None, true, false)));
    }

    #[test]
    fn pl_26_an_operator_has_its_own_profile_and_its_own_limits_everywhere() {
        let text = "default = 'uk'\noperators.acme = { profile = 'se', limits = { gamble = false, round_ms_min = 2_750 } }\n\
                    operators.plain = {}";
        let profiles = profiles(text).unwrap();
        let of = |operator, jurisdiction| {
            let (name, profile) = profiles.find(operator, jurisdiction).unwrap();
            (name, profile.round_ms_min, profile.gamble)
        };
        assert_eq!(of("acme", ""), ("se".to_owned(), 3_000, false), "the jurisdiction's limit is stricter");
        assert_eq!(of("acme", "uk"), ("uk".to_owned(), 2_750, false), "the operator's limit is stricter");
        assert_eq!(of("other", ""), ("uk".to_owned(), 2_500, true));
        assert_eq!(of("plain", ""), ("uk".to_owned(), 2_500, true));
    }

    #[test]
    fn pl_26_the_configuration_restricts_compiled_profiles_and_never_loosens_them() {
        let text = "profiles.uk = { autoplay = true, round_ms_min = 100, gamble = false, bet_eur_max = 2 }\n\
                    profiles.de = { jackpot = true, bet_eur_max = 3 }\nprofiles.es = { limits_by_player = false }";
        let profiles = profiles(text).unwrap();
        let of = |name| profiles.find("acme", name).unwrap().1;
        let (uk, de) = (of("uk"), of("de"));
        assert_eq!((uk.autoplay, uk.round_ms_min, uk.gamble), (false, 2_500, false));
        assert_eq!((uk.bet_eur_max, de.bet_eur_max), (NonZeroU32::new(2), NonZeroU32::new(1)));
        assert!(!de.jackpot && of("es").limits_by_player);
    }

    #[test]
    fn pl_26_an_unknown_profile_is_refused_by_name() {
        for text in ["default = 'atlantis'", "operators.acme = { profile = 'atlantis' }"] {
            assert!(profiles(text).unwrap_err().to_string().contains("atlantis"));
        }
        assert!(toml::from_str::<Jurisdictions>("profiles.x = { autoply = false }").is_err());
        assert!(toml::from_str::<Jurisdictions>("profiles.x = { reality_check_ms = 0 }").is_err());
    }
}
