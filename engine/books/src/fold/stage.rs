//! Staging: commits that are decided but not durable yet.
//!
//! Only durable state may be read, so the one writer of a partition stages a batch over the durable [`Books`], makes it
//! durable, and only then lets the books absorb it; a failed write drops the stage and nothing has happened.
//!
//! ```
//! # use motherlode_books::{Books, Commit, Refused, Stage};
//! fn write(books: &mut Books, batch: &[Commit]) -> Result<(), Refused> {
//!     let mut stage = Stage::new();
//!     for commit in batch {
//!         stage.apply(books, commit)?; // a refusal leaves the stage as it was
//!     }
//!     // ... append and sync the batch here ...
//!     books.absorb(stage);
//!     Ok(())
//! }
//! ```
//!
//! Cost: a stage holds copies of the players and pools that the batch touches, and additions to everything else.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::events::commit::Commit;
use crate::events::refused::Refused;
use crate::fold::transition::{Change, Delta};
use crate::state::books::{AwardKey, Books, End, Head, Operator, Rates, System};
use crate::state::player::{PlayerState, SettledRound};
use crate::state::pool::{Pending, PoolState, UnpaidAward};
use crate::values::account::Posting;
use crate::values::stream::StreamId;

/// A batch over durable books (see the [module](self)).
#[derive(Debug, Clone, Default)]
pub struct Stage {
    /// Players, pools, rates, switches and ends as the batch leaves them; totals and pending as what it adds to them.
    over: Books,
    rates_changed: bool,
    system_changed: bool,
    paid: BTreeSet<AwardKey>,
}

impl Stage {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a commit to the batch.
    ///
    /// # Errors
    /// The first invariant that it breaks; the stage is then as before.
    pub fn apply(&mut self, books: &Books, commit: &Commit) -> Result<(), Refused> {
        self.apply_recalling(books, commit, None)
    }

    /// Adds a commit that voids a settled round, with what the log says about that round (see
    /// [`Refused::RecallNeeded`]).
    ///
    /// # Errors
    /// As [`Stage::apply`].
    pub fn apply_recalling(
        &mut self,
        books: &Books,
        commit: &Commit,
        recalled: Option<&SettledRound>,
    ) -> Result<(), Refused> {
        let view = View { books, stage: Some(self) };
        let (delta, _) = Change::decide(view, commit, recalled)?;
        self.rates_changed |= delta.rates.is_some();
        self.system_changed |= delta.system.is_some();
        self.paid.extend(&delta.paid);
        self.over.merge(commit, delta);
        Ok(())
    }

    /// Where a partition stands after the batch.
    #[must_use]
    pub fn end(&self, books: &Books, partition: u32) -> End {
        View { books, stage: Some(self) }.end(partition)
    }

    /// Whether the batch leaves hits or voids for pools to decide on.
    #[must_use]
    pub fn leaves_decisions(&self) -> bool {
        self.over.pending.values().any(|pending| pending.decisions.values().any(|waiting| !waiting.is_empty()))
    }

    /// A player after the batch.
    #[must_use]
    pub fn player<'a>(&'a self, books: &'a Books, stream: &StreamId) -> Option<&'a PlayerState> {
        View { books, stage: Some(self) }.player(stream)
    }

    /// Where a stream stands after the batch: what the next commit of it must build on.
    #[must_use]
    pub fn head(&self, books: &Books, stream: &StreamId) -> Head {
        View { books, stage: Some(self) }.head(stream)
    }
}

impl Books {
    /// Takes over a batch that has become durable. The stage must have been built over these books, unchanged since.
    pub fn absorb(&mut self, stage: Stage) {
        let over = stage.over;
        self.ends.extend(over.ends);
        for (name, staged) in over.operators {
            let operator = self.operators.entry(name).or_default();
            operator.totals.add(&staged.totals);
            for (name, player) in staged.players {
                operator.put(&name, player);
            }
        }
        for (name, pending) in over.pending {
            self.pending.entry(name).or_default().join(pending);
        }
        for (name, pool) in over.pools {
            if let Some(pending) = self.pending.get_mut(&name) {
                pending.forget(&pool);
            }
            self.pools.insert(name, pool);
        }
        self.unpaid.extend(over.unpaid);
        for key in &stage.paid {
            self.unpaid.remove(key);
        }
        if stage.rates_changed {
            self.rates = over.rates;
        }
        if stage.system_changed {
            self.system = over.system;
        }
        self.exchange.add(&over.exchange);
        self.transfer.0 += over.transfer.0;
        self.interpartition.0 += over.interpartition.0;
    }

    /// Applies one durable commit: a replay's step, the same as staging and absorbing it alone.
    ///
    /// # Errors
    /// The first invariant that it breaks; the books are then as before.
    pub fn apply(&mut self, commit: &Commit) -> Result<(), Refused> {
        self.apply_recalling(commit, None)
    }

    /// Applies one durable commit that voids a settled round (see [`Stage::apply_recalling`]).
    ///
    /// # Errors
    /// As [`Books::apply`].
    pub fn apply_recalling(&mut self, commit: &Commit, recalled: Option<&SettledRound>) -> Result<(), Refused> {
        let view = View { books: self, stage: None };
        let (delta, _) = Change::decide(view, commit, recalled)?;
        self.merge(commit, delta);
        Ok(())
    }

    /// The postings that a commit would make, without making them.
    ///
    /// # Errors
    /// As [`Books::apply`].
    pub fn postings<'a>(
        &'a self,
        commit: &'a Commit,
        recalled: Option<&'a SettledRound>,
    ) -> Result<Vec<Posting<'a>>, Refused> {
        let view = View { books: self, stage: None };
        Ok(Change::decide(view, commit, recalled)?.1)
    }

    /// Writes one decided commit into these books, or into the overlay of a stage.
    fn merge(&mut self, commit: &Commit, delta: Delta) {
        self.ends.insert(commit.partition, delta.end);
        if let (StreamId::Player { operator, player: name }, Some(player)) = (&commit.stream, delta.player) {
            if !self.operators.contains_key(operator) {
                self.operators.insert(operator.clone(), Operator::default());
            }
            if let Some(operator) = self.operators.get_mut(operator) {
                operator.totals.add(&delta.operator);
                operator.put(name, player);
            }
        }
        for change in delta.pending {
            let pending = match self.pending.get_mut(&change.pool) {
                Some(pending) => pending,
                None => self.pending.entry(change.pool).or_default(),
            };
            pending.totals.add(change.totals);
            if let Some((partition, position, amount)) = change.contribution {
                pending.contributions.entry(partition).or_default().push_back((position, amount));
            }
            if let Some(decision) = change.decision {
                pending.decisions.entry(decision.partition()).or_default().push_back(decision);
            }
        }
        if let Some(pool) = delta.pool {
            let pool = *pool;
            if let Some(pending) = self.pending.get_mut(&pool.name) {
                pending.forget(&pool);
            }
            self.pools.insert(Arc::clone(&pool.name), pool);
        }
        self.unpaid.extend(delta.awarded);
        for key in &delta.paid {
            self.unpaid.remove(key);
        }
        if let Some(rates) = delta.rates {
            self.rates = rates;
        }
        if let Some(system) = delta.system {
            self.system = system;
        }
        self.exchange.add(&delta.exchange);
        self.transfer.0 += delta.transfer.0;
        self.interpartition.0 += delta.interpartition.0;
    }
}

/// The state that a commit is judged by: the durable books, and over them the batch before it, if it is part of one.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub books: &'a Books,
    pub stage: Option<&'a Stage>,
}

impl<'a> View<'a> {
    fn over(self) -> Option<&'a Books> {
        self.stage.map(|stage| &stage.over)
    }

    pub fn end(self, partition: u32) -> End {
        let staged = self.over().and_then(|over| over.ends.get(&partition));
        staged.copied().unwrap_or_else(|| self.books.end(partition))
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
        let staged = self.over().and_then(|over| over.player(stream));
        staged.or_else(|| self.books.player(stream))
    }

    pub fn pool(self, pool: &str) -> Option<&'a PoolState> {
        let staged = self.over().and_then(|over| over.pool(pool));
        staged.or_else(|| self.books.pool(pool))
    }

    /// Every pool, as the batch leaves it.
    pub fn pools(self) -> impl Iterator<Item = &'a PoolState> {
        let names = self.books.pools.keys().chain(self.over().into_iter().flat_map(|over| over.pools.keys()));
        names.filter_map(move |name| self.pool(name))
    }

    pub fn rates(self) -> &'a Rates {
        let staged = self.stage.filter(|stage| stage.rates_changed);
        staged.map_or(&self.books.rates, |stage| &stage.over.rates)
    }

    pub fn system(self) -> &'a System {
        let staged = self.stage.filter(|stage| stage.system_changed);
        staged.map_or(&self.books.system, |stage| &stage.over.system)
    }

    pub fn unpaid(self, key: AwardKey) -> Option<&'a UnpaidAward> {
        if self.stage.is_some_and(|stage| stage.paid.contains(&key)) {
            return None;
        }
        let staged = self.over().and_then(|over| over.unpaid.get(&key));
        staged.or_else(|| self.books.unpaid.get(&key))
    }

    /// What waited for a pool before the batch: only durable contributions and decisions are taken up.
    pub fn durable_pending(self, pool: &str) -> Option<&'a Pending> {
        self.books.pending.get(pool)
    }

    /// How far a pool can be told of a partition: to the durable end of its own, to the last durable report of another.
    pub fn durable_end(self, pool: &PoolState, partition: u32) -> u64 {
        if partition == pool.head.partition {
            return self.books.end(partition).position;
        }
        self.books.pool(&pool.name).map_or(0, |pool| pool.reported_to(partition))
    }

    /// Whether open rounds, contributions or decisions of a pool are outstanding in any partition, durable or not.
    pub fn outstanding(self, pool: &PoolState) -> bool {
        let of = |books: &'a Books| books.pending.get(&pool.name);
        let pending = [of(self.books), self.over().and_then(of)];
        let open_rounds: i64 = pending.iter().flatten().map(|pending| pending.totals.open_rounds).sum();
        open_rounds != 0
            || pool.reports.values().any(|reported| reported.outstanding(pool.suspended_at))
            || pending.iter().flatten().any(|pending| pending.waits(pool))
    }
}
