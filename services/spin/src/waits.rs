use motherlode_runtime::{Interruption, Profiles, UNRESTRICTED};
use motherlode_slots::{game, latest};
use motherlode_state::{OpenRound, RoundStarted};
use std::{collections::BTreeMap, time::Duration};

#[derive(Debug, Clone, Default)]
pub struct Waits(Interruption);

#[derive(Debug, thiserror::Error)]
#[error("[interruption] names an unknown {0}, {1}")]
pub struct UnknownName(&'static str, String);

impl Waits {
    pub fn new(config: &Interruption, profiles: &Profiles) -> Result<Self, UnknownName> {
        let mut games = config.hours.keys().chain(config.jurisdictions.values().flat_map(BTreeMap::keys));
        if let Some(game) = games.find(|name| latest(name).is_none()) {
            return Err(UnknownName("game", game.clone()));
        }
        let known = profiles.names();
        match config.jurisdictions.keys().find(|name| !known.contains(name)) {
            Some(name) => Err(UnknownName("jurisdiction", name.clone())),
            None => Ok(Self(config.clone())),
        }
    }

    /// Returns how long after its latest step an abandoned round is resolved; `None` if never. The jurisdiction's
    /// configured hours take precedence over the game's configured hours, and these over the game's rules.
    #[must_use]
    pub fn resolve_after(&self, started: &RoundStarted) -> Option<Duration> {
        let RoundStarted { game: name, rules_version, jurisdiction, .. } = started;
        let name = name.as_str();
        let jurisdiction = if jurisdiction.is_empty() { UNRESTRICTED } else { jurisdiction };
        let here = self.0.jurisdictions.get(jurisdiction).and_then(|hours| hours.get(name));
        let by_rules = || game(name, rules_version)?.interruption_hours();
        let hours = here.or_else(|| self.0.hours.get(name)).copied().or_else(by_rules)?;
        Some(Duration::from_secs(u64::from(hours) * 3600))
    }

    /// Returns the time at which the round is resolved, in Unix milliseconds; `None` if never.
    pub(crate) fn resolve_ms(&self, open: &OpenRound) -> Option<i64> {
        let after = self.resolve_after(&open.started)?;
        Some(open.last_ms.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)))
    }
}
