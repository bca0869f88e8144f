//! Staging: commits that are decided but not durable yet.

use std::collections::VecDeque;

use super::decide::{decide, decide_on};
use super::delta::Delta;
use super::view::{NOTHING, Overlay, View};
use crate::events::{Commit, Refused, SettledRound};
use crate::state::{Books, PlayerState};
use crate::values::{End, Head, Posting, RecordHash, StreamId};

/// Commits that are decided but not durable yet, over durable books, in groups that become durable one after the other.
///
/// Readers see durable state only. So the one writer of a partition stages commits over the durable [`Books`], makes each
/// group durable, and only then lets the books absorb it; meanwhile the next group is staged over both. When a write fails
/// the stage is dropped with all its groups, and nothing has happened.
///
/// ```
/// # use motherlode_books::{Books, Commit, Refused, Stage};
/// fn write(books: &mut Books, groups: &[Vec<Commit>]) -> Result<(), Refused> {
///     let mut stage = Stage::new();
///     for group in groups {
///         for commit in group {
///             stage.apply(books, commit)?; // a refusal leaves the stage as it was
///         }
///         stage.seal();
///     }
///     for group in groups {
///         // ... append and sync the group here ...
///         books.absorb_oldest(&mut stage);
///     }
///     Ok(())
/// }
/// ```
///
/// Cost: a group holds copies of the players and pools that it touches, and additions to everything else. A look-up asks
/// each group before it asks the books.
#[derive(Debug, Clone, Default)]
pub struct Stage {
    /// The oldest first.
    groups: VecDeque<Overlay>,
    /// Whether the next commit begins a group.
    sealed: bool,
}

/// The state of a stream after all groups of a stage, copied to work a commit out on. It's looked for once.
#[derive(Default)]
pub struct Subject(pub(super) Delta);

impl Subject {
    /// The stream's head.
    pub fn head(&mut self) -> Head {
        self.0.head_mut().copied().unwrap_or_default()
    }
}

impl Stage {
    /// No commits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn over<'a>(&'a self, books: &'a Books) -> View<'a> {
        View { durable: books, over: &self.groups }
    }

    /// Ends the youngest group: the next commit begins another.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// Adds a commit to the youngest group.
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
        let mut delta = Delta::default();
        decide(self.over(books), commit, recalled, &mut delta)?;
        self.take(delta, commit);
        Ok(())
    }

    /// Copies the state of a stream after all groups.
    pub fn copy(&self, books: &Books, stream: &StreamId, subject: &mut Subject) {
        subject.0.copy(self.over(books), stream);
    }

    /// Adds a commit as [`Stage::apply_recalling`] does, with its record. Once the commit is found right, `record` makes its record
    /// from the player of its stream, as that is after it, and gives the record's hash.
    ///
    /// # Errors
    /// As [`Stage::apply`]; no record is made then.
    pub fn apply_recorded(
        &mut self,
        books: &Books,
        commit: &Commit,
        recalled: Option<&SettledRound>,
        record: impl FnOnce(Option<&PlayerState>) -> RecordHash,
    ) -> Result<(), Refused> {
        let mut subject = Subject::default();
        self.copy(books, &commit.stream, &mut subject);
        self.apply_to(subject, books, commit, recalled, record)
    }

    /// The same on a copy of the commit's stream that was made since the last commit.
    ///
    /// # Errors
    /// As [`Stage::apply_recorded`].
    pub fn apply_to(
        &mut self,
        Subject(mut delta): Subject,
        books: &Books,
        commit: &Commit,
        recalled: Option<&SettledRound>,
        record: impl FnOnce(Option<&PlayerState>) -> RecordHash,
    ) -> Result<(), Refused> {
        decide_on(self.over(books), commit, recalled, &mut delta)?;
        delta.recorded(record(delta.player.as_ref()));
        self.take(delta, commit);
        Ok(())
    }

    fn take(&mut self, delta: Delta, commit: &Commit) {
        if self.sealed || self.groups.is_empty() {
            self.groups.push_back(Overlay::default());
            self.sealed = false;
        }
        let Some(over) = self.groups.back_mut() else { return };
        over.rates_changed |= delta.rates.is_some();
        over.system_changed |= delta.system.is_some();
        over.paid.extend(&delta.paid);
        for key in delta.void_sums.keys() {
            over.returned.remove(key);
        }
        over.returned.extend(delta.returned.iter().cloned());
        delta.merge_into(&mut over.books, commit);
    }

    /// The end of a partition's log after all groups.
    #[must_use]
    pub fn end(&self, books: &Books, partition: u32) -> End {
        self.over(books).end(partition)
    }

    /// Whether the oldest group leaves hits or voids for pools to decide on.
    #[must_use]
    pub fn leaves_decisions(&self) -> bool {
        let mut left = self.groups.front().into_iter().flat_map(|group| group.books.pending.values());
        left.any(|pending| pending.decisions.values().any(|waiting| !waiting.is_empty()))
    }

    /// A player after all groups.
    #[must_use]
    pub fn player<'a>(&'a self, books: &'a Books, stream: &StreamId) -> Option<&'a PlayerState> {
        self.over(books).player(stream)
    }

    /// The head of a stream after all groups.
    #[must_use]
    pub fn head(&self, books: &Books, stream: &StreamId) -> Head {
        self.over(books).head(stream)
    }
}

impl Books {
    pub(super) fn view(&self) -> View<'_> {
        View { durable: self, over: &NOTHING }
    }

    /// Takes over all groups of a stage, once they have become durable. The stage must have been built over these books, unchanged
    /// since.
    pub fn absorb(&mut self, mut stage: Stage) {
        while !stage.groups.is_empty() {
            self.absorb_oldest(&mut stage);
        }
    }

    /// Takes over the oldest group of a stage, once it has become durable; the groups after it stay over these books. The stage
    /// must have been built over them, unchanged since but for groups absorbed before.
    pub fn absorb_oldest(&mut self, stage: &mut Stage) {
        let Some(Overlay { books: over, rates_changed, system_changed, paid, returned }) = stage.groups.pop_front()
        else {
            return;
        };
        self.ends.extend(over.ends);
        for (name, staged) in over.operators {
            let operator = self.operators.entry(name).or_default();
            operator.totals.add(&staged.totals);
            for (name, player) in staged.players.into_states() {
                operator.put(&name, player, self.watch);
            }
        }
        for (name, pending) in over.pending {
            self.pending.entry(name).or_default().join(pending);
        }
        self.void_sums.extend(over.void_sums);
        for key in &returned {
            self.void_sums.remove(key);
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
        let mut delta = Delta::default();
        decide(self.view(), commit, recalled, &mut delta)?;
        delta.merge_into(self, commit);
        Ok(())
    }

    /// Applies one durable commit, whose record has this hash.
    ///
    /// # Errors
    /// As [`Books::apply`].
    pub fn apply_recorded(
        &mut self,
        commit: &Commit,
        recalled: Option<&SettledRound>,
        record: RecordHash,
    ) -> Result<(), Refused> {
        let mut delta = Delta::default();
        decide(self.view(), commit, recalled, &mut delta)?;
        delta.recorded(record);
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
        decide(self.view(), commit, recalled, &mut Delta::default())
    }
}
