use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::view::View;
use crate::events::{Commit, Decision};
use crate::state::{
    AwardKey, Books, CurrentRates, Operator, OperatorTotals, PendingTotals, PendingVoid, PlayerState, PoolState,
    System, UnpaidAward, VoidKey, VoidSum,
};
use crate::values::{Currency, End, Head, Nano, PerCurrency, RecordHash, StreamId};

#[derive(Default)]
pub(super) struct Delta {
    pub end: End,
    pub player: Option<PlayerState>,
    pub sealed: bool,
    pub pool: Option<Box<PoolState>>,
    pub rates: Option<Box<CurrentRates>>,
    pub system: Option<Box<System>>,
    pub pending: PendingDeltas,
    pub awarded: Vec<(AwardKey, UnpaidAward)>,
    pub paid: Vec<AwardKey>,
    pub void_sums: BTreeMap<VoidKey, VoidSum>,
    pub returned: Vec<VoidKey>,
    pub operator: OperatorTotals,
    /// In EUR.
    pub houses: Vec<(SmolStr, Nano)>,
    pub exchange: PerCurrency<Nano>,
    pub transfer: Nano,
    pub interpartition: Nano,
}

#[derive(Debug, Clone, Default)]
pub struct Left {
    pub(super) pending: PendingDeltas,
    pub(super) awarded: Vec<(AwardKey, UnpaidAward)>,
    pub(super) paid: Vec<AwardKey>,
}

pub(super) type PendingDeltas = SmallVec<[PendingDelta; 1]>;

#[derive(Debug, Clone)]
pub(super) struct PendingDelta {
    /// The name is copied instead of shared, because threads would contend for the reference count.
    pub pool: SmolStr,
    pub totals: PendingTotals,
    /// Contribution to the pool, as (partition, position, amount).
    pub contribution: Option<(u32, u64, Nano)>,
    pub decision: Option<Box<Decision>>,
    pub voids: Vec<PendingVoid>,
}

impl Delta {
    pub fn copy(&mut self, view: View<'_>, stream: &StreamId) {
        match stream {
            StreamId::Player { .. } => self.player = Some(view.player(stream).cloned().unwrap_or_default()),
            StreamId::Pool(name) => self.pool = view.pool(name).cloned().map(Box::new),
            StreamId::Rates => self.rates = Some(Box::new(view.rates().clone())),
            StreamId::System => self.system = Some(Box::new(view.system().clone())),
        }
    }

    pub fn head_mut(&mut self) -> Option<&mut Head> {
        let Self { player, pool, rates, system, .. } = self;
        let player = player.as_mut().map(|player| &mut player.head);
        player
            .or(pool.as_mut().map(|pool| &mut pool.head))
            .or(rates.as_mut().map(|rates| &mut rates.head))
            .or(system.as_mut().map(|system| &mut system.head))
    }

    pub fn recorded(&mut self, hash: RecordHash) {
        if self.sealed
            && let Some(draw) = self.player.as_mut().and_then(|player| player.draw.as_mut())
        {
            draw.sealed_by = Some(hash);
        }
    }

    pub fn merge_into(mut self, books: &mut Books, commit: &Commit) {
        books.ends.insert(commit.partition, self.end);
        if let Some(rates) = self.rates.take() {
            books.rates = *rates;
        }
        if let Some(system) = self.system.take() {
            books.system = *system;
        }
        let pool = self.pool.take();
        for (operator, amount) in std::mem::take(&mut self.houses) {
            books.operators.entry(operator).or_default().totals.house.post(Currency::EUR, amount);
        }
        books.void_sums.append(&mut self.void_sums);
        for key in &self.returned {
            books.void_sums.remove(key);
        }
        self.merge_player(books, commit).merge_into(books);
        if let Some(pool) = pool {
            books.put_pool(*pool);
        }
    }

    pub fn merge_player(self, books: &mut Books, commit: &Commit) -> Left {
        if let StreamId::Player { operator, player: name } = &commit.stream {
            if !books.operators.contains_key(operator) {
                books.operators.insert(operator.clone(), Operator::default());
            }
            if let Some(operator) = books.operators.get_mut(operator) {
                operator.totals.add(&self.operator);
                if let Some(player) = self.player {
                    operator.put(name, Arc::new(player), books.watch);
                }
            }
        }
        books.exchange.add(&self.exchange);
        books.transfer.0 += self.transfer.0;
        books.interpartition.0 += self.interpartition.0;
        Left { pending: self.pending, awarded: self.awarded, paid: self.paid }
    }
}

impl Left {
    pub(super) fn merge_into(&self, books: &mut Books) {
        for delta in &self.pending {
            let pending = match books.pending.get_mut(&*delta.pool) {
                Some(pending) => pending,
                None => books.pending.entry(Arc::from(&*delta.pool)).or_default(),
            };
            pending.totals.add(delta.totals);
            if let Some((partition, position, amount)) = delta.contribution {
                pending.contributions.entry(partition).or_default().push_back((position, amount));
            }
            if let Some(decision) = &delta.decision {
                pending.decisions.entry(decision.partition()).or_default().push_back((**decision).clone());
            }
            for void in &delta.voids {
                pending.voids.entry(void.partition).or_default().push_back(void.clone());
            }
        }
        self.note_awards(books);
    }

    pub(super) fn note_awards(&self, books: &mut Books) {
        books.unpaid.extend(self.awarded.iter().cloned());
        for key in &self.paid {
            books.unpaid.remove(key);
        }
    }
}
