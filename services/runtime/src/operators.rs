//! Settings of the configured operators. A reload of the configuration replaces the settings (PL-27).

use crate::config::{Config, Operator, PLATFORM, PlayerIds, WalletKind};
use motherlode_state::{Nano, StreamId, is_opaque_id};
use parking_lot::RwLock;
use std::{collections::BTreeMap, sync::Arc};

/// An unknown operator has the default settings.
#[derive(Debug, Clone, Default)]
pub struct Operators(Arc<RwLock<BTreeMap<String, Settings>>>);

#[derive(Debug, Clone, Copy)]
struct Settings {
    weight: u32,
    campaign_cap: Option<Nano>,
    is_seamless: bool,
    has_opaque_ids: bool,
    person_keep_days: u32,
}

impl Operators {
    #[must_use]
    pub fn of_config(config: &Config) -> Self {
        let operators = Self::default();
        operators.replace(config);
        operators
    }

    pub fn replace(&self, config: &Config) {
        let settings = |operator: &Operator| Settings {
            weight: operator.weight,
            campaign_cap: operator.campaign_liability_eur_max.map(|eur| Nano::major(eur.into())),
            is_seamless: operator.wallet == WalletKind::Seamless,
            has_opaque_ids: operator.player_ids == PlayerIds::Opaque,
            person_keep_days: operator.person_keep_days,
        };
        *self.0.write() = config
            .operators
            .iter()
            .chain(&config.wallets_beside)
            .map(|operator| (operator.id.clone(), settings(operator)))
            .collect();
    }

    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.0.read().keys().filter(|operator| *operator != PLATFORM).cloned().collect()
    }

    #[must_use]
    pub fn contains(&self, operator: &str) -> bool {
        operator != PLATFORM && self.0.read().contains_key(operator)
    }

    #[must_use]
    pub fn weight(&self, operator: &str) -> u32 {
        self.settings(operator).map_or(1, |settings| settings.weight)
    }

    #[must_use]
    pub fn weight_max(&self) -> u32 {
        self.0.read().values().map(|settings| settings.weight).max().unwrap_or(1)
    }

    #[must_use]
    pub fn campaign_cap(&self, operator: &str) -> Option<Nano> {
        self.settings(operator)?.campaign_cap
    }

    /// Returns whether new players use the operator's seamless wallet (PL-31).
    #[must_use]
    pub fn is_seamless(&self, operator: &str) -> bool {
        self.settings(operator).is_some_and(|settings| settings.is_seamless)
    }

    #[must_use]
    pub fn allows_new(&self, stream: &StreamId) -> bool {
        let StreamId::Player { operator, player } = stream else { return true };
        !self.settings(operator).is_some_and(|settings| settings.has_opaque_ids) || is_opaque_id(player)
    }

    #[must_use]
    pub fn person_keep_days(&self, operator: &str) -> u32 {
        self.settings(operator).map_or(0, |settings| settings.person_keep_days)
    }

    fn settings(&self, operator: &str) -> Option<Settings> {
        self.0.read().get(operator).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_clones_have_the_settings_of_the_latest_reload() {
        let config = |text: &str| Config::parse(&format!("[[operators]]\n{text}")).unwrap();
        let operators = Operators::of_config(&config("id = 'acme'"));
        let clone = operators.clone();
        assert_eq!((clone.weight("acme"), clone.weight_max(), clone.campaign_cap("acme")), (1, 1, None));
        operators.replace(&config(
            "id = 'acme'\nweight = 3\ncampaign_liability_eur_max = 2\n[[operators]]\nid = 'platform'",
        ));
        assert_eq!((clone.weight("acme"), clone.weight_max()), (3, 3));
        assert_eq!(clone.campaign_cap("acme"), Some(Nano::major(2)));
        assert_eq!(clone.ids(), ["acme"], "the platform has no players");
        operators.replace(&config("id = 'acme'\nplayer_ids = 'opaque'"));
        let allows = |operator, player| clone.allows_new(&StreamId::player(operator, player));
        assert_eq!(
            [allows("acme", "anna"), allows("acme", &"7".repeat(32)), allows("beta", "anna")],
            [false, true, true]
        );
        operators.replace(&config("id = 'beta'\nseamless = { url = 'http://127.0.0.1:1' }\nwallet = 'seamless'"));
        assert!(clone.is_seamless("beta") && clone.contains("beta") && !clone.contains("acme"));
        assert_eq!(
            (clone.weight("acme"), clone.campaign_cap("acme")),
            (1, None),
            "an unknown operator has the defaults"
        );
    }
}
