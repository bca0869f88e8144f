//! Checks that bets use a current rules version, or a superseded one permitted by the configuration (PL-41).

use crate::append::AppendError;
use motherlode_runtime::{Reason, config::Rules};
use motherlode_slots::{game, latest};
use motherlode_state::Event;
use std::{collections::BTreeSet, sync::Arc};

#[derive(Debug, Clone, Default)]
pub struct SupersededRules(Arc<BTreeSet<(String, String)>>);

#[derive(Debug, thiserror::Error)]
#[error("rules: {0:?} must be a game's name, a space, and a superseded rules version of that game")]
pub struct UnknownRules(String);

impl SupersededRules {
    pub fn new(rules: &Rules) -> Result<Self, UnknownRules> {
        let named = rules.superseded_enabled.iter().map(|text| {
            let (name, version) = text.split_once(' ').unwrap_or((text, ""));
            let known = game(name, version).filter(|game| is_superseded(game.name(), game.rules_version()));
            known.map(|_| (name.to_owned(), version.to_owned())).ok_or_else(|| UnknownRules(text.clone()))
        });
        Ok(Self(Arc::new(named.collect::<Result<_, _>>()?)))
    }

    #[must_use]
    pub fn takes_bets(&self, name: &str, version: &str) -> bool {
        !is_superseded(name, version)
            || self.0.iter().any(|(game, enabled)| (game.as_str(), enabled.as_str()) == (name, version))
    }

    pub(super) fn check_events(&self, events: &[Event]) -> Result<(), AppendError> {
        let refused = events.iter().find_map(|event| match event {
            Event::RoundStarted(bet) if bet.campaign.is_none() && !self.takes_bets(&bet.game, &bet.rules_version) => {
                Some(bet)
            }
            _ => None,
        });
        match refused {
            None => Ok(()),
            Some(bet) => {
                let reason = format!(
                    "rules version {} of game {} is superseded and accepts no new bets",
                    bet.rules_version, bet.game
                );
                Err(AppendError::not_allowed(Reason::RulesVersionSuperseded, reason))
            }
        }
    }
}

fn is_superseded(name: &str, version: &str) -> bool {
    latest(name).is_some_and(|game| game.rules_version() != version)
}
