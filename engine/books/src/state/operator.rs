//! One operator: its players and the totals of its accounts.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::age::Watch;
use super::player::PlayerState;
use super::players::Players;
use super::round::OpenRound;
use crate::values::{Nano, PerCurrency};

/// One tenant: its players, and the totals of its accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Operator {
    pub totals: OperatorTotals,
    /// Those in memory. A snapshot has them beside the books.
    #[serde(skip)]
    pub players: Players,
    /// The players' open rounds: position of the bet, player, number.
    pub open: BTreeSet<(u64, SmolStr, u64)>,
    /// Players who have a debit or a credit under way with the operator's own wallet.
    pub busy: BTreeSet<SmolStr>,
}

impl Operator {
    /// Sets a player's state.
    pub fn put(&mut self, name: &str, player: Arc<PlayerState>, watch: Watch) {
        let after = Arc::clone(&player);
        let before = self.players.replace(name, player, watch);
        // Most rounds settle in the commit of their bet: there's nothing before and nothing after.
        let key = |round: &Arc<OpenRound>| (round.opened_at, SmolStr::new(name), round.started.round);
        for round in before.iter().flat_map(|before| &before.open) {
            self.open.remove(&key(round));
        }
        self.open.extend(after.open.iter().map(key));
        match (before.is_some_and(|before| before.is_busy()), after.is_busy()) {
            (false, true) => _ = self.busy.insert(name.into()),
            (true, false) => _ = self.busy.remove(name),
            _ => {}
        }
    }
}

/// An operator's totals. Players are summed, so that a trial balance costs operators, not players.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OperatorTotals {
    pub players: PerCurrency<Nano>,
    pub external: PerCurrency<Nano>,
    pub house: PerCurrency<Nano>,
    pub promotion: PerCurrency<Nano>,
    pub transit: PerCurrency<Nano>,
}

impl OperatorTotals {
    pub fn add(&mut self, other: &Self) {
        self.players.add(&other.players);
        self.external.add(&other.external);
        self.house.add(&other.house);
        self.promotion.add(&other.promotion);
        self.transit.add(&other.transit);
    }
}
