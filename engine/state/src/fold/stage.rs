use std::collections::VecDeque;

use super::decide::{decide, decide_on};
use super::delta::Delta;
use super::view::{NOTHING, Overlay, View};
use crate::events::{Commit, Refused, SettledRound};
use crate::state::{Books, PlayerState};
use crate::values::{End, Head, Posting, RecordHash, StreamId};

/// Groups of accepted commits that are not durable yet. The oldest group was checked against the durable [`Books`], and
/// each later group against the state after the previous group. After a failed write, the stage is invalid.
///
/// ```
/// # use motherlode_state::{Books, Commit, Refused, Stage};
/// fn write(books: &mut Books, groups: &[Vec<Commit>]) -> Result<(), Refused> {
///     let mut stage = Stage::new();
///     for group in groups {
///         for commit in group {
///             stage.apply(books, commit)?; // a refusal leaves the stage unchanged
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
#[derive(Debug, Clone, Default)]
pub struct Stage {
    groups: VecDeque<Overlay>,
    sealed: bool,
}

#[derive(Default)]
pub struct Subject(pub(super) Delta);

impl Subject {
    pub fn head(&mut self) -> Head {
        self.0.head_mut().copied().unwrap_or_default()
    }
}

impl Stage {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn over<'a>(&'a self, books: &'a Books) -> View<'a> {
        View { durable: books, over: &self.groups }
    }

    pub fn seal(&mut self) {
        self.sealed = true;
    }

    pub fn apply(&mut self, books: &Books, commit: &Commit) -> Result<(), Refused> {
        self.apply_recalling(books, commit, None)
    }

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

    pub fn copy(&self, books: &Books, stream: &StreamId, subject: &mut Subject) {
        subject.0.copy(self.over(books), stream);
    }

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

    /// Same as [`Stage::apply_recorded`], but takes the copy of the stream's state that [`Stage::copy`] just made.
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

    #[must_use]
    pub fn end(&self, books: &Books, partition: u32) -> End {
        self.over(books).end(partition)
    }

    #[must_use]
    pub fn leaves_decisions(&self) -> bool {
        let mut left = self.groups.front().into_iter().flat_map(|group| group.books.pending.values());
        left.any(|pending| pending.decisions.values().any(|waiting| !waiting.is_empty()))
    }

    #[must_use]
    pub fn player<'a>(&'a self, books: &'a Books, stream: &StreamId) -> Option<&'a PlayerState> {
        self.over(books).player(stream)
    }

    #[must_use]
    pub fn head(&self, books: &Books, stream: &StreamId) -> Head {
        self.over(books).head(stream)
    }
}

impl Books {
    pub(super) fn view(&self) -> View<'_> {
        View { durable: self, over: &NOTHING }
    }

    pub fn absorb(&mut self, mut stage: Stage) {
        while !stage.groups.is_empty() {
            self.absorb_oldest(&mut stage);
        }
    }

    /// Applies the oldest group of a stage; the group must be durable.
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

    pub fn apply(&mut self, commit: &Commit) -> Result<(), Refused> {
        self.apply_recalling(commit, None)
    }

    pub fn apply_recalling(&mut self, commit: &Commit, recalled: Option<&SettledRound>) -> Result<(), Refused> {
        let mut delta = Delta::default();
        decide(self.view(), commit, recalled, &mut delta)?;
        delta.merge_into(self, commit);
        Ok(())
    }

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

    pub fn postings<'a>(
        &'a self,
        commit: &'a Commit,
        recalled: Option<&'a SettledRound>,
    ) -> Result<Vec<Posting<'a>>, Refused> {
        decide(self.view(), commit, recalled, &mut Delta::default())
    }
}
