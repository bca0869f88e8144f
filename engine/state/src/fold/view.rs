use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::state::{
    AwardKey, Books, CurrentRates, Name, Pending, PlayerState, PoolState, System, UnpaidAward, VoidKey, VoidSum,
};
use crate::values::{End, Head, StreamId};

#[derive(Debug, Clone, Default)]
pub(super) struct Overlay {
    pub books: Books,
    pub rates_changed: bool,
    pub system_changed: bool,
    pub paid: BTreeSet<AwardKey>,
    pub returned: BTreeSet<VoidKey>,
}

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub durable: &'a Books,
    /// Groups of commits that are not durable, oldest first.
    pub over: &'a VecDeque<Overlay>,
}

pub(super) static NOTHING: VecDeque<Overlay> = VecDeque::new();

impl<'a> View<'a> {
    fn groups(self) -> impl Iterator<Item = &'a Overlay> {
        self.over.iter().rev()
    }

    fn staged(self) -> impl Iterator<Item = &'a Books> {
        self.groups().map(|group| &group.books)
    }

    pub fn end(self, partition: u32) -> End {
        let staged = self.staged().find_map(|books| books.ends.get(&partition));
        staged.copied().unwrap_or_else(|| self.durable.end(partition))
    }

    pub fn head(self, stream: &StreamId) -> Head {
        match stream {
            StreamId::Player { .. } => self.player(stream).map(|player| player.head).unwrap_or_default(),
            StreamId::Pool(pool) => self.pool(pool).map(|pool| pool.head).unwrap_or_default(),
            StreamId::Rates => self.rates().head,
            StreamId::System => self.system().head,
        }
    }

    pub fn player(self, stream: &StreamId) -> Option<&'a PlayerState> {
        let StreamId::Player { operator, player } = stream else { return None };
        let name = Name::new(player);
        let in_books = |books: &'a Books| books.operators.get(operator)?.players.get(name);
        self.staged().find_map(in_books).or_else(|| in_books(self.durable)).map(AsRef::as_ref)
    }

    pub fn pool(self, pool: &str) -> Option<&'a PoolState> {
        self.staged().find_map(|books| books.pool(pool)).or_else(|| self.durable.pool(pool))
    }

    /// Returns each pool in its newest version. The result can contain duplicates.
    pub fn pools(self) -> impl Iterator<Item = &'a PoolState> {
        let names = self.durable.pools.keys().chain(self.staged().flat_map(|books| books.pools.keys()));
        names.filter_map(move |name| self.pool(name))
    }

    pub fn rates(self) -> &'a CurrentRates {
        let staged = self.groups().find(|group| group.rates_changed);
        staged.map_or(&self.durable.rates, |group| &group.books.rates)
    }

    pub fn system(self) -> &'a System {
        let staged = self.groups().find(|group| group.system_changed);
        staged.map_or(&self.durable.system, |group| &group.books.system)
    }

    pub fn unpaid(self, key: AwardKey) -> Option<&'a UnpaidAward> {
        for group in self.groups() {
            if group.paid.contains(&key) {
                return None;
            }
            if let Some(award) = group.books.unpaid.get(&key) {
                return Some(award);
            }
        }
        self.durable.unpaid.get(&key)
    }

    pub fn void_sum(self, key: &VoidKey) -> Option<VoidSum> {
        for group in self.groups() {
            if group.returned.contains(key) {
                return None;
            }
            if let Some(sum) = group.books.void_sums.get(key) {
                return Some(*sum);
            }
        }
        self.durable.void_sums.get(key).copied()
    }

    pub fn void_keys(self, pool: &Arc<str>, (first, last): (i64, i64)) -> BTreeSet<&'a VoidKey> {
        let range = VoidKey::first(pool, first)..VoidKey::first(pool, last.max(first));
        let all = self.staged().chain([self.durable]);
        all.flat_map(|books| books.void_sums.range(range.clone())).map(|(key, _)| key).collect()
    }

    pub fn durable_pending(self, pool: &str) -> Option<&'a Pending> {
        self.durable.pending.get(pool)
    }

    /// Returns the last position whose contributions can be added to the pool. In the pool's own partition, this is the
    /// durable end of the log; for another partition, the end of its latest report.
    pub fn durable_end(self, pool: &PoolState, partition: u32) -> u64 {
        if partition == pool.head.partition {
            return self.durable.end(partition).position;
        }
        self.durable.pool(&pool.name).map_or(0, |pool| pool.reported_to(partition))
    }

    pub fn outstanding(self, pool: &PoolState) -> bool {
        let pending = || self.staged().chain([self.durable]).filter_map(|books| books.pending.get(&pool.name));
        let open_rounds: i64 = pending().map(|pending| pending.totals.open_rounds).sum();
        open_rounds != 0
            || pool.reports.values().any(|reported| reported.outstanding(pool.suspended_at))
            || pending().any(|pending| pending.waits(pool))
    }
}
