//! How long rounds wait for their players (PL-03).

use motherlode_books::{OpenRound, RoundStarted};
use motherlode_runtime::{Interruption, Profiles, UNRESTRICTED};
use motherlode_slots::{game, latest};
use std::{collections::BTreeMap, time::Duration};

/// How long rounds wait for their players: as the rules of their games say, or as the configuration says instead.
#[derive(Debug, Clone, Default)]
pub struct Waits(Interruption);

/// The configuration of interruptions names something that there is not.
#[derive(Debug, thiserror::Error)]
#[error("interruption names the {0} {1}, which does not exist")]
pub struct UnknownName(&'static str, String);

impl Waits {
    /// With other hours than their rules' for some games, everywhere or by jurisdiction.
    ///
    /// # Errors
    /// The first game or jurisdiction that there is not.
    pub fn new(config: &Interruption, profiles: &Profiles) -> Result<Self, UnknownName> {
        let mut games = config.hours.keys().chain(config.jurisdictions.values().flat_map(BTreeMap::keys));
        if let Some(game) = games.find(|name| latest(name).is_none()) {
            return Err(UnknownName("game", game.clone()));
        }
        let unknown = |name: &&String| profiles.names().all(|known| known != name.as_str());
        match config.jurisdictions.keys().find(unknown) {
            Some(name) => Err(UnknownName("jurisdiction", name.clone())),
            None => Ok(Self(config.clone())),
        }
    }

    /// How long a round waits after its latest step; `None` where it waits for as long as it takes. What the
    /// configuration says of its jurisdiction comes first, then what it says of all, then the rules of its game.
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

    /// When an open round is resolved, Unix milliseconds; `None` where it waits for as long as it takes.
    pub(crate) fn resolve_ms(&self, open: &OpenRound) -> Option<i64> {
        let after = self.resolve_after(&open.started)?;
        Some(open.last_ms.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)))
    }
}
