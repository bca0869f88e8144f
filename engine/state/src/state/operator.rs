use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::age::Watch;
use super::player::PlayerState;
use super::players::Players;
use super::round::OpenRound;
use super::void::VoidProposal;
use super::wallet::Wallet;
use crate::values::{Nano, PerCurrency};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Operator {
    pub totals: OperatorTotals,
    #[serde(skip)]
    pub players: Players,
    pub open: BTreeSet<(u64, SmolStr, u64)>,
    pub busy: BTreeSet<SmolStr>,
    pub owing: BTreeSet<SmolStr>,
    pub waiting: BTreeSet<(i64, SmolStr)>,
    /// Pending void proposals, as (time of lapse in Unix ms, player, round).
    pub void_proposals: BTreeSet<(i64, SmolStr, u64)>,
}

impl Operator {
    pub fn put(&mut self, name: &str, player: Arc<PlayerState>, watch: Watch) {
        let after = Arc::clone(&player);
        let before = self.players.replace(name, player, watch);
        let key = |round: &Arc<OpenRound>| (round.opened_at, SmolStr::new(name), round.started.round);
        for round in before.iter().flat_map(|before| &before.open) {
            self.open.remove(&key(round));
        }
        self.open.extend(after.open.iter().map(key));
        let before_proposals = before.as_ref().and_then(|before| before.void_proposals.as_deref());
        if before_proposals.is_some() || after.void_proposals.is_some() {
            let key = |proposal: &VoidProposal| (proposal.lapses_ms(), SmolStr::new(name), proposal.round);
            for proposal in before_proposals.into_iter().flatten() {
                self.void_proposals.remove(&key(proposal));
            }
            self.void_proposals.extend(after.void_proposals().filter(|proposal| !proposal.rejected).map(key));
        }
        let before = before.as_ref().and_then(|before| before.wallet());
        if before.is_some() || after.wallet().is_some() {
            self.put_wallet(name, before, after.wallet());
        }
    }

    fn put_wallet(&mut self, name: &str, before: Option<&Wallet>, after: Option<&Wallet>) {
        let is = |wallet: Option<&Wallet>, belongs: fn(&Wallet) -> bool| wallet.is_some_and(belongs);
        set(&mut self.busy, name, is(before, Wallet::is_busy), is(after, Wallet::is_busy));
        set(&mut self.owing, name, is(before, Wallet::is_owing), is(after, Wallet::is_owing));
        let asked_ms = |wallet: Option<&Wallet>| wallet?.waiting().map(|debit| debit.asked_ms);
        let (before, after) = (asked_ms(before), asked_ms(after));
        if before != after {
            before.map(|asked_ms| self.waiting.remove(&(asked_ms, name.into())));
            after.map(|asked_ms| self.waiting.insert((asked_ms, name.into())));
        }
    }
}

fn set(names: &mut BTreeSet<SmolStr>, name: &str, before: bool, after: bool) {
    match (before, after) {
        (false, true) => _ = names.insert(name.into()),
        (true, false) => _ = names.remove(name),
        _ => {}
    }
}

/// Balances of an operator's accounts; `players` is the sum of the players' balances.
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
