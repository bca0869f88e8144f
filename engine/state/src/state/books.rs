use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::age::Watch;
use super::base::Bases;
use super::changes::{Changes, PendingChange};
use super::generation::Generations;
use super::liability::Liabilities;
use super::operator::{Operator, OperatorTotals};
use super::pending::{Pending, UnpaidAward};
use super::player::PlayerState;
use super::players::Name;
use super::pool::PoolState;
use super::restore::Restores;
use super::round::OpenRound;
use super::switches::{SwitchedOff, Switches};
use super::void_sums::{VoidKey, VoidSum};
use crate::events::{BaseTaken, Decision, Hit, ReportedVoids};
use crate::values::{Account, Currency, End, FxRate, Head, Minor, Nano, PerCurrency, StreamId, Switch};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CurrentRates {
    pub head: Head,
    pub current: PerCurrency<FxRate>,
}

impl CurrentRates {
    /// Returns EUR per major unit of a currency; 1 for EUR and play money.
    pub fn rate(&self, currency: Currency) -> Option<FxRate> {
        match currency {
            Currency::EUR | Currency::PLAY => Some(FxRate::ONE),
            _ => self.current.get(currency).copied(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct System {
    pub head: Head,
    pub switches: Switches,
    pub changes: Changes,
    pub liabilities: Liabilities,
    pub generations: Arc<Generations>,
    pub log_damaged: bool,
    pub bases: Bases,
    pub restores: Arc<Restores>,
}

pub(crate) type AwardKey = (u32, u64);

/// State of one partition's log. The size of the state does not grow with the log.
///
/// Players are serialized separately, by [`Books::freeze`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    pub(crate) ends: BTreeMap<u32, End>,
    pub(crate) operators: BTreeMap<SmolStr, Operator>,
    pub(crate) pools: BTreeMap<Arc<str>, PoolState>,
    pub(crate) pending: BTreeMap<Arc<str>, Pending>,
    pub(crate) unpaid: BTreeMap<AwardKey, UnpaidAward>,
    /// Contributions of voided rounds; only in partition 0.
    pub(crate) void_sums: BTreeMap<VoidKey, VoidSum>,
    pub(crate) rates: CurrentRates,
    pub(crate) system: System,
    pub(crate) exchange: PerCurrency<Nano>,
    pub(crate) transfer: Nano,
    pub(crate) interpartition: Nano,
    #[serde(skip)]
    pub(crate) watch: Watch,
}

impl Books {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn put_pool(&mut self, pool: PoolState) {
        if let Some(pending) = self.pending.get_mut(&pool.name) {
            pending.forget(&pool);
        }
        let first = VoidKey::first(&pool.name, 0);
        let old = self.void_sums.range(first..VoidKey::first(&pool.name, pool.returns_from));
        for key in old.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.void_sums.remove(&key);
        }
        self.pools.insert(Arc::clone(&pool.name), pool);
    }

    #[must_use]
    pub fn end(&self, partition: u32) -> End {
        self.ends.get(&partition).copied().unwrap_or(End::EMPTY)
    }

    #[must_use]
    pub fn head(&self, stream: &StreamId) -> Head {
        match stream {
            StreamId::Player { .. } => self.player(stream).map(|player| player.head),
            StreamId::Pool(pool) => self.pool(pool).map(|pool| pool.head),
            StreamId::Rates => Some(self.rates.head),
            StreamId::System => Some(self.system.head),
        }
        .unwrap_or_default()
    }

    #[must_use]
    pub fn player(&self, stream: &StreamId) -> Option<&PlayerState> {
        self.shared_player(stream).map(AsRef::as_ref)
    }

    #[must_use]
    pub fn shared_player(&self, stream: &StreamId) -> Option<&Arc<PlayerState>> {
        match stream {
            StreamId::Player { operator, player } => self.operators.get(operator)?.players.get(Name::new(player)),
            _ => None,
        }
    }

    pub fn players(&self) -> impl Iterator<Item = (&str, &str, &PlayerState)> {
        self.operators.iter().flat_map(|(name, operator)| {
            operator.players.by_name().map(move |(player, state)| (name.as_str(), player, state))
        })
    }

    pub fn players_after(
        &self,
        operator: &str,
        prefix: &str,
        after: &str,
    ) -> impl Iterator<Item = (&str, &PlayerState)> {
        self.operators.get(operator).into_iter().flat_map(move |operator| operator.players.after(prefix, after))
    }

    pub fn open_rounds(&self, operator: &str, after: u64) -> impl Iterator<Item = (&str, &OpenRound)> {
        self.open_names(operator, after).filter_map(move |(_, name, number)| {
            Some((name, self.operators.get(operator)?.players.get(Name::new(name))?.open_round(number)?))
        })
    }

    #[must_use]
    pub fn open_count(&self, operator: &str) -> usize {
        self.operators.get(operator).map_or(0, |operator| operator.open.len())
    }

    /// Returns the position, player and number of each [open round](Self::open_rounds), including rounds of evicted
    /// players.
    pub fn open_names(&self, operator: &str, after: u64) -> impl Iterator<Item = (u64, &str, u64)> {
        let operator = self.operators.get(operator).into_iter();
        let listed =
            operator.flat_map(move |operator| operator.open.range((after.saturating_add(1), SmolStr::default(), 0)..));
        listed.map(|(at, name, number)| (*at, name.as_str(), *number))
    }

    /// Position of the oldest open round's bet, including rounds of evicted players.
    #[must_use]
    pub fn first_open_round(&self) -> Option<u64> {
        self.operators.values().filter_map(|operator| operator.open.first().map(|(at, ..)| *at)).min()
    }

    pub fn busy_players(&self, operator: &str, after: &str) -> impl Iterator<Item = &str> {
        let after = (Bound::Excluded(SmolStr::new(after)), Bound::Unbounded);
        let operator = self.operators.get(operator).into_iter();
        operator.flat_map(move |operator| operator.busy.range(after.clone())).map(SmolStr::as_str)
    }

    pub fn owing_players(&self, operator: &str, after: &str) -> impl Iterator<Item = &str> {
        let after = (Bound::Excluded(SmolStr::new(after)), Bound::Unbounded);
        let operator = self.operators.get(operator).into_iter();
        operator.flat_map(move |operator| operator.owing.range(after.clone())).map(SmolStr::as_str)
    }

    /// Returns the start time (Unix ms) and the player of each debit whose bet is not in the log yet, oldest first.
    pub fn waiting_debits(&self, operator: &str) -> impl Iterator<Item = (i64, &str)> {
        let operator = self.operators.get(operator).into_iter();
        operator.flat_map(|operator| &operator.waiting).map(|(asked_ms, name)| (*asked_ms, name.as_str()))
    }

    #[must_use]
    pub fn pool(&self, pool: &str) -> Option<&PoolState> {
        self.pools.get(pool)
    }

    pub fn pools(&self) -> impl Iterator<Item = &PoolState> {
        self.pools.values()
    }

    #[must_use]
    pub fn rate(&self, currency: Currency) -> Option<FxRate> {
        self.rates.rate(currency)
    }

    /// Returns the EUR reserved for the operator's campaigns (PL-36). The full amount of a campaign is reserved until the
    /// end of its expiry day.
    #[must_use]
    pub fn open_liability(&self, operator: &str, now_ms: i64) -> Nano {
        self.system.liabilities.open(operator, now_ms)
    }

    #[must_use]
    pub fn generations(&self) -> &Arc<Generations> {
        &self.system.generations
    }

    #[must_use]
    pub fn restores(&self) -> &Arc<Restores> {
        &self.system.restores
    }

    #[must_use]
    pub fn is_log_damaged(&self) -> bool {
        self.system.log_damaged
    }

    #[must_use]
    pub fn base(&self) -> Option<&BaseTaken> {
        self.system.bases.taken.as_deref()
    }

    #[must_use]
    pub fn confirmed_base(&self) -> Option<&BaseTaken> {
        self.system.bases.confirmed.as_deref()
    }

    pub fn switched_off(&self) -> impl Iterator<Item = (&Switch, &SwitchedOff)> {
        self.system.switches.off()
    }

    #[must_use]
    pub fn switched_off_for(&self, operator: &str, game: &str, rules_version: &str) -> Option<(&Switch, &SwitchedOff)> {
        self.system.switches.against(operator, game, rules_version)
    }

    pub fn pending_changes(&self) -> impl Iterator<Item = (u64, &PendingChange)> {
        self.system.changes.pending()
    }

    pub fn pending_decisions(&self, pool: &str) -> impl Iterator<Item = &Decision> {
        self.pending.get(pool).into_iter().flat_map(|pending| pending.decisions.values().flatten())
    }

    pub fn pending_hits(&self, pool: &str) -> impl Iterator<Item = &Hit> {
        self.pending_decisions(pool).filter_map(|decision| match decision {
            Decision::Hit(hit) => Some(hit),
            Decision::TakeBack(_) | Decision::Reversal(_) => None,
        })
    }

    #[must_use]
    pub fn pending_contributions(&self, pool: &str, partition: u32, to: u64) -> Nano {
        let from = self.pool(pool).map_or(0, |pool| pool.pooled_position(partition)) + 1;
        let pending = self.pending.get(pool);
        Nano(pending.map_or(0, |p| p.contributions(partition, from, to).map(|amount| amount.0).sum()))
    }

    #[must_use]
    pub fn contributing_rounds(&self, pool: &str) -> u64 {
        let totals = self.pending.get(pool).map(|pending| pending.totals).unwrap_or_default();
        u64::try_from(totals.open_rounds).unwrap_or_default()
    }

    pub fn unpaid_awards(&self) -> impl Iterator<Item = (u32, u64, &UnpaidAward)> {
        self.unpaid.iter().map(|((partition, hit), award)| (*partition, *hit, award))
    }

    #[must_use]
    pub fn unpaid_award(&self, partition: u32, hit: u64) -> Option<&UnpaidAward> {
        self.unpaid.get(&(partition, hit))
    }

    #[must_use]
    pub fn void_at(&self, pool: &str, position: u64) -> Option<ReportedVoids> {
        let pending = self.pending.get(pool)?;
        let mut latest = pending.voids.values().filter_map(VecDeque::back);
        let void = latest.find(|void| void.position == position)?;
        Some(ReportedVoids {
            operator: void.operator.clone(),
            game: void.game.clone(),
            rules_version: void.rules_version.clone(),
            minute: void.minute,
            voids: void.voids,
            in_stretch: void.amount,
            in_cycle: Nano::ZERO,
            earlier: Nano::ZERO,
        })
    }

    /// Returns, per operator, the contributions that the pool keeps although their rounds were voided (PL-38).
    #[must_use]
    pub fn voids_not_returned(&self, pool: &str) -> BTreeMap<SmolStr, VoidSum> {
        let mut sums = BTreeMap::<_, VoidSum>::new();
        for (key, sum) in self.void_sums.iter().filter(|(key, _)| &*key.pool == pool) {
            sums.entry(key.operator.clone()).or_default().join(*sum, 0);
        }
        sums
    }

    pub fn proposed_voids(&self, operator: &str, now_ms: i64) -> impl Iterator<Item = (&str, u64)> {
        let operator = self.operators.get(operator).into_iter();
        let after = (now_ms.saturating_add(1), SmolStr::default(), 0);
        let waiting = operator.flat_map(move |operator| operator.void_proposals.range(after.clone()..));
        waiting.map(|(_, player, round)| (player.as_str(), *round))
    }

    #[must_use]
    pub fn holding(&self, account: Account<'_>, currency: Currency) -> Nano {
        let of = |name: &str, holding: fn(&OperatorTotals) -> &PerCurrency<Nano>| {
            self.operators.get(name).map_or(Nano::ZERO, |operator| holding(&operator.totals).amount(currency))
        };
        let eur = |figure: Option<Nano>| match currency {
            Currency::EUR => figure.unwrap_or_default(),
            _ => Nano::ZERO,
        };
        let waiting = |name: &str| self.pending.get(name).map(|pending| pending.totals);
        match account {
            Account::Player { operator, player } => {
                let player = self.operators.get(operator).and_then(|operator| operator.players.get(Name::new(player)));
                player.and_then(|player| player.balance(currency)).unwrap_or(Minor::ZERO).to_nano(currency)
            }
            Account::External(name) => of(name, |totals| &totals.external),
            Account::House(name) => of(name, |totals| &totals.house),
            Account::Promotion(name) => of(name, |totals| &totals.promotion),
            Account::Transit(name) => of(name, |totals| &totals.transit),
            Account::ContributionsDue(name) => eur(waiting(name).map(|totals| totals.due)),
            Account::JackpotPayable(name) => eur(waiting(name).map(|totals| totals.payable)),
            Account::Increments(name) => eur(self.pool(name).map(|pool| pool.increments)),
            Account::Reserve(name) => eur(self.pool(name).map(|pool| pool.reserve)),
            Account::SeedFunding(name) => eur(self.pool(name).map(|pool| -pool.house_funding)),
            Account::Exchange => self.exchange.amount(currency),
            Account::Transfer => eur(Some(self.transfer)),
            Account::Interpartition => eur(Some(self.interpartition)),
        }
    }

    #[must_use]
    pub fn players_total(&self, operator: &str, currency: Currency) -> Nano {
        let operator = self.operators.get(operator);
        operator.map_or(Nano::ZERO, |operator| operator.totals.players.amount(currency))
    }

    #[must_use]
    pub fn activity(&self, operator: &str) -> (usize, usize) {
        self.operators.get(operator).map_or((0, 0), |of| (of.players.count(), of.open.len()))
    }

    pub fn operators(&self) -> impl Iterator<Item = &str> {
        self.operators.keys().map(SmolStr::as_str)
    }

    /// Returns each currency in which the sum of all accounts is not zero, with that sum. If the state is correct, there are
    /// no such currencies (PL-09).
    #[must_use]
    pub fn trial_balance(&self) -> PerCurrency<Nano> {
        let mut sums = self.exchange.clone();
        for Operator { totals, .. } in self.operators.values() {
            sums.add(&totals.players);
            sums.add(&totals.external);
            sums.add(&totals.house);
            sums.add(&totals.promotion);
            sums.add(&totals.transit);
        }
        let mut eur = self.transfer.0 + self.interpartition.0;
        for pending in self.pending.values() {
            eur += pending.totals.due.0 + pending.totals.payable.0;
        }
        for pool in self.pools.values() {
            eur += pool.increments.0 + pool.reserve.0 - pool.house_funding.0;
        }
        sums.post(Currency::EUR, Nano(eur));
        sums
    }
}
