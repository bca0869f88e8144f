use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};
use smol_str::SmolStr;

use super::books::{AwardKey, Books, CurrentRates, System};
use super::canonical::{NotCanonical, encode};
use super::operator::OperatorTotals;
use super::pending::{Pending, PendingTotals, UnpaidAward};
use super::player::PlayerState;
use super::pool::PoolState;
use super::void_sums::{PendingVoid, VoidKey, VoidSum};
use crate::events::Decision;
use crate::values::{End, Nano, PerCurrency};

/// Digest of a log's state (PL-37): SHA-256 of the players, sorted by operator and name, and of the rest of the state.
///
/// While `FORM` is unchanged, the digest of an old log must not change. A field can be added to the state, because default
/// values are not encoded, but no field can be renamed or removed.
#[derive(Debug, Clone, Default)]
pub struct StateDigest {
    players: Sha256,
    count: u64,
}

impl StateDigest {
    pub const FORM: u32 = 1;

    pub fn player(operator: &str, player: &str, state: &PlayerState) -> Result<[u8; 32], NotCanonical> {
        digest("motherlode/base/v1/player", &(operator, player, state))
    }

    pub fn add(&mut self, player: &[u8; 32]) {
        self.players.update(player);
        self.count += 1;
    }

    pub fn finish(self, books: &Books) -> Result<[u8; 32], NotCanonical> {
        let players: [u8; 32] = self.players.finalize().into();
        digest("motherlode/base/v1", &(self.count, players, Shared::of_books(books)))
    }
}

/// State without players and without the operators' indexes of players.
#[derive(Serialize)]
struct Shared<'a> {
    ends: &'a BTreeMap<u32, End>,
    operators: BTreeMap<&'a SmolStr, &'a OperatorTotals>,
    pools: &'a BTreeMap<Arc<str>, PoolState>,
    pending: BTreeMap<&'a Arc<str>, Waiting<'a>>,
    unpaid: &'a BTreeMap<AwardKey, UnpaidAward>,
    void_sums: &'a BTreeMap<VoidKey, VoidSum>,
    rates: &'a CurrentRates,
    system: &'a System,
    exchange: &'a PerCurrency<Nano>,
    transfer: Nano,
    interpartition: Nano,
}

/// [`Pending`] without empty queues, because their presence depends on how commits were grouped.
#[derive(Default, PartialEq, Serialize)]
struct Waiting<'a> {
    totals: PendingTotals,
    contributions: BTreeMap<u32, &'a VecDeque<(u64, Nano)>>,
    decisions: BTreeMap<u32, &'a VecDeque<Decision>>,
    voids: BTreeMap<u32, &'a VecDeque<PendingVoid>>,
}

impl<'a> Waiting<'a> {
    fn of_pool(pending: &'a Pending) -> Self {
        let Pending { totals, contributions, decisions, voids } = pending;
        Self {
            totals: *totals,
            contributions: filled(contributions),
            decisions: filled(decisions),
            voids: filled(voids),
        }
    }
}

fn filled<T>(queues: &BTreeMap<u32, VecDeque<T>>) -> BTreeMap<u32, &VecDeque<T>> {
    queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(partition, queue)| (*partition, queue)).collect()
}

impl<'a> Shared<'a> {
    fn of_books(books: &'a Books) -> Self {
        let Books {
            ends,
            operators,
            pools,
            pending,
            unpaid,
            void_sums,
            rates,
            system,
            exchange,
            transfer,
            interpartition,
            watch: _,
        } = books;
        let totals = operators.iter().map(|(name, operator)| (name, &operator.totals));
        let waiting = pending.iter().map(|(pool, pending)| (pool, Waiting::of_pool(pending)));
        Self {
            ends,
            operators: totals.filter(|(_, totals)| **totals != OperatorTotals::default()).collect(),
            pools,
            pending: waiting.filter(|(_, waiting)| *waiting != Waiting::default()).collect(),
            unpaid,
            void_sums,
            rates,
            system,
            exchange,
            transfer: *transfer,
            interpartition: *interpartition,
        }
    }
}

impl Books {
    pub fn digest(&self) -> Result<[u8; 32], NotCanonical> {
        let mut digest = StateDigest::default();
        for (operator, player, state) in self.players() {
            digest.add(&StateDigest::player(operator, player, state)?);
        }
        digest.finish(self)
    }
}

fn digest(name: &str, value: &impl Serialize) -> Result<[u8; 32], NotCanonical> {
    let mut hash = Sha256::new();
    hash.update(name);
    hash.update([0]);
    hash.update(encode(value)?);
    Ok(hash.finalize().into())
}
