//! Staging: commits that are decided but not durable yet.

use super::decide::decide;
use super::view::{Overlay, View};
use crate::events::{Commit, Refused};
use crate::state::{Books, PlayerState, SettledRound};
use crate::values::{End, Head, Posting, StreamId};

/// A batch of commits that are decided but not durable yet, over durable books.
///
/// Readers see durable state only. So the one writer of a partition stages a batch over the durable [`Books`], makes it
/// durable, and only then lets the books absorb it. When the write fails the stage is dropped, and nothing has happened.
///
/// ```
/// # use motherlode_books::{Books, Commit, Refused, Stage};
/// fn write(books: &mut Books, batch: &[Commit]) -> Result<(), Refused> {
///     let mut stage = Stage::new();
///     for commit in batch {
///         stage.apply(books, commit)?; // a refusal leaves the stage as it was
///     }
///     // ... append and sync the batch here ...
///     books.absorb(stage);
///     Ok(())
/// }
/// ```
///
/// Cost: a stage holds copies of the players and pools that the batch touches, and additions to everything else.
#[derive(Debug, Clone, Default)]
pub struct Stage(Overlay);

impl Stage {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn over<'a>(&'a self, books: &'a Books) -> View<'a> {
        View { durable: books, over: Some(&self.0) }
    }

    /// Adds a commit to the batch.
    ///
    /// # Errors
    /// The first invariant that it breaks; the stage is then as before.
    pub fn apply(&mut self, books: &Books, commit: &Commit) -> Result<(), Refused> {
        self.apply_recalling(books, commit, None)
    }

    /// Adds a commit that voids a settled round. `recalled` is that round, read back from the log (see
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
        let (delta, _) = decide(self.over(books), commit, recalled)?;
        let over = &mut self.0;
        over.rates_changed |= delta.rates.is_some();
        over.system_changed |= delta.system.is_some();
        over.paid.extend(&delta.paid);
        delta.merge_into(&mut over.books, commit);
        Ok(())
    }

    /// The end of a partition's log after the batch.
    #[must_use]
    pub fn end(&self, books: &Books, partition: u32) -> End {
        self.over(books).end(partition)
    }

    /// Whether the batch leaves hits or voids for pools to decide on.
    #[must_use]
    pub fn leaves_decisions(&self) -> bool {
        self.0.books.pending.values().any(|pending| pending.decisions.values().any(|waiting| !waiting.is_empty()))
    }

    /// A player after the batch.
    #[must_use]
    pub fn player<'a>(&'a self, books: &'a Books, stream: &StreamId) -> Option<&'a PlayerState> {
        self.over(books).player(stream)
    }

    /// The head of a stream after the batch.
    #[must_use]
    pub fn head(&self, books: &Books, stream: &StreamId) -> Head {
        self.over(books).head(stream)
    }
}

impl Books {
    pub(super) fn view(&self) -> View<'_> {
        View { durable: self, over: None }
    }

    /// Takes over a batch that has become durable. The stage must have been built over these books, unchanged since.
    pub fn absorb(&mut self, stage: Stage) {
        let Overlay { books: over, rates_changed, system_changed, paid } = stage.0;
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
        for pool in over.pools.into_values() {
            self.put_pool(pool);
        }
        self.unpaid.extend(over.unpaid);
        for key in &paid {
            self.unpaid.remove(key);
        }
        if rates_changed {
            self.rates = over.rates;
        }
        if system_changed {
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
        let (delta, _) = decide(self.view(), commit, recalled)?;
        delta.merge_into(self, commit);
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
        Ok(decide(self.view(), commit, recalled)?.1)
    }
}
