//! Superseded rules versions (PL-41): they finish their open rounds, repeated requests and granted campaigns, and take no
//! other new bets unless the configuration enables them by name.

use crate::bet::Bet;
use motherlode_runtime::{Refusal, config::Rules};
use motherlode_slots::{game, latest};
use std::{collections::BTreeSet, sync::Arc};

/// Superseded rules versions that take new bets.
#[derive(Debug, Clone, Default)]
pub struct SupersededRules(Arc<BTreeSet<(String, String)>>);

/// The configuration enables a rules version that does not exist, or that is not superseded.
#[derive(Debug, thiserror::Error)]
#[error("rules: {0:?} is not the name of a game and of a superseded version of its rules, with a space between")]
pub struct UnknownRules(String);

impl SupersededRules {
    /// The versions that a configuration enables.
    ///
    /// # Errors
    /// The first name without a superseded version.
    pub fn new(rules: &Rules) -> Result<Self, UnknownRules> {
        let named = rules.superseded_enabled.iter().map(|text| {
            let (name, version) = text.split_once(' ').unwrap_or((text, ""));
            let known = game(name, version).filter(|game| is_superseded(game.name(), game.rules_version()));
            known.map(|_| (name.to_owned(), version.to_owned())).ok_or_else(|| UnknownRules(text.clone()))
        });
        Ok(Self(Arc::new(named.collect::<Result<_, _>>()?)))
    }

    /// Refuses a new bet on a superseded version; free rounds of granted campaigns are let through.
    pub(crate) fn check(&self, bet: &Bet) -> Result<(), Refusal> {
        let (name, version) = (bet.game.name(), bet.game.rules_version());
        if bet.campaign.is_some() || !is_superseded(name, version) {
            return Ok(());
        }
        if self.0.iter().any(|(game, enabled)| (game.as_str(), enabled.as_str()) == (name, version)) {
            return Ok(());
        }
        let latest = latest(name).map_or("", |game| game.rules_version());
        let message = format!("rules version {version} of {name} is superseded by {latest} and takes no new bets");
        Err(Refusal::precondition("RULES_VERSION_SUPERSEDED", message)
            .with("game", name)
            .with("rules_version", version)
            .with("latest_rules_version", latest))
    }
}

fn is_superseded(name: &str, version: &str) -> bool {
    latest(name).is_some_and(|game| game.rules_version() != version)
}
