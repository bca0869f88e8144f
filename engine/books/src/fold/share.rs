//! Some of the players, folded apart from the others.
//!
//! A player's commit is judged by the player's own state and by what commits of other streams alone change: pools' terms, awards,
//! rates, switches. So players can be folded on as many threads as there are shares of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;

use super::decide::{decide, decide_on};
use super::delta::{Delta, Left};
use crate::events::{Commit, Event, MirroredAward, PoolStatus, Refused, SettledRound};
use crate::state::{
    AwardKey, Books, CurrentRates, Generations, OperatorTotals, PlayerState, PoolState, System, UnpaidAward,
};
use crate::values::{End, Nano, PerCurrency, RecordHash, StreamId};

/// The books of some of the players, beside the books of everything else. The players themselves are with who judges them.
///
/// A share judges the commits of its players. The [`Books`] judge those of other streams, take up what each player's commit has
/// [left](Left) in the log's order, and the shares' [`Totals`]. Where a commit of another stream has changed what players are judged
/// by, each share [follows](Share::follow) it before it goes on.
///
/// The same as [`Books::apply_recorded`] of all commits, except that of a commit with several faults another may be found.
#[derive(Debug, Default)]
pub struct Share(Books);

/// The state that all players are judged by.
#[derive(Debug, Clone)]
pub struct Shared {
    pools: BTreeMap<Arc<str>, PoolState>,
    unpaid: BTreeMap<AwardKey, UnpaidAward>,
    rates: CurrentRates,
    system: System,
}

/// The changes that the commits of a share's players have made of the holdings of all.
#[derive(Debug, Clone)]
pub struct Totals {
    operators: Vec<(SmolStr, OperatorTotals)>,
    exchange: PerCurrency<Nano>,
    transfer: Nano,
    interpartition: Nano,
}

impl Shared {
    /// Whether a commit may change it. What pools take up changes no terms and no awards.
    #[must_use]
    pub fn is_changed_by(commit: &Commit) -> bool {
        let takes_up = |event: &Event| {
            matches!(
                event,
                Event::ContributionsPooled { .. }
                    | Event::ContributionTakenBack { .. }
                    | Event::ContributionsReturned { .. }
                    | Event::AwardReversed { .. }
                    | Event::PartitionReported(_)
            )
        };
        let is_player = matches!(commit.stream, StreamId::Player { .. });
        !is_player && !commit.events.iter().all(takes_up)
    }
}

impl Share {
    /// Generations of draws (PL-40).
    #[must_use]
    pub fn generations(&self) -> &Generations {
        self.0.generations()
    }

    /// Applies a durable commit to its player, in place. Once it is found right, `record` gives the hash of its record, and sees the
    /// player as that is after it.
    ///
    /// # Errors
    /// The first invariant that it breaks; the share is then as before, and the player is lost. Its place among all is for
    /// [`Books::take_left`] to judge.
    pub fn apply_recorded(
        &mut self,
        player: &mut PlayerState,
        commit: &Commit,
        recalled: Option<&SettledRound>,
        record: impl FnOnce(&PlayerState) -> RecordHash,
    ) -> Result<Left, Refused> {
        let Self(books) = self;
        if !matches!(commit.stream, StreamId::Player { .. }) {
            return Err(Refused::WrongStream);
        }
        books.ends.insert(commit.partition, End { position: commit.position.saturating_sub(1), ..End::EMPTY });
        let mut delta = Delta { player: Some(std::mem::take(player)), ..Delta::default() };
        decide_on(books.view(), commit, recalled, &mut delta)?;
        let hash = record(delta.player.get_or_insert_default());
        delta.recorded(hash);
        *player = delta.player.take().unwrap_or_default();
        let left = delta.merge_player(books, commit);
        left.note_awards(books);
        Ok(left)
    }

    /// Goes on from what all players are judged by as of a commit of another stream.
    pub fn follow(&mut self, shared: &Shared) {
        let Self(books) = self;
        let Shared { pools, unpaid, rates, system } = shared.clone();
        (books.pools, books.unpaid, books.rates, books.system) = (pools, unpaid, rates, system);
    }

    /// Updates the state shared by all players from a commit of another stream, for a share without the [`Books`] of the whole log.
    /// Rates and the system are folded as in the books. The figures of a pool depend on the commits of all players, and are neither
    /// judged nor kept. `is_kept` selects the players whose awards are kept.
    ///
    /// # Errors
    /// The first invariant broken by a commit of the rates or the system.
    pub fn take_over(&mut self, commit: &Commit, is_kept: impl Fn(&StreamId) -> bool) -> Result<(), Refused> {
        let Self(books) = self;
        let StreamId::Pool(name) = &commit.stream else {
            if matches!(commit.stream, StreamId::Player { .. }) {
                return Err(Refused::WrongStream);
            }
            books.ends.insert(commit.partition, End { position: commit.position.saturating_sub(1), ..End::EMPTY });
            let mut delta = Delta::default();
            decide(books.view(), commit, None, &mut delta)?;
            delta.merge_into(books, commit);
            return Ok(());
        };
        for event in &commit.events {
            books.take_over_pool(name, commit, event, &is_kept);
        }
        Ok(())
    }

    /// The first part of the shared state that differs from `shared`, of the parts kept by [`take_over`](Self::take_over).
    #[must_use]
    pub fn difference(&self, shared: &Shared, is_kept: impl Fn(&StreamId) -> bool) -> Option<&'static str> {
        let Self(books) = self;
        let awards = shared.unpaid.iter().filter(|(_, award)| is_kept(&award.stream));
        let kept = books.unpaid.iter().filter(|(_, award)| is_kept(&award.stream));
        let terms = |pool: &PoolState| (pool.name.clone(), pool.terms.clone(), pool.status.clone());
        [
            ("the rates", books.rates == shared.rates),
            ("the state of the system", books.system == shared.system),
            ("the terms of pools", books.pools.values().map(terms).eq(shared.pools.values().map(terms))),
            ("the unpaid awards", kept.eq(awards)),
        ]
        .into_iter()
        .find_map(|(what, is_same)| (!is_same).then_some(what))
    }

    /// Takes out what its commits have changed of the holdings of all, since the last call.
    pub fn take_totals(&mut self) -> Totals {
        let Self(books) = self;
        let operators = books.operators.iter_mut();
        let operators =
            operators.map(|(name, operator)| (name.clone(), std::mem::take(&mut operator.totals))).collect();
        Totals {
            operators,
            exchange: std::mem::take(&mut books.exchange),
            transfer: std::mem::take(&mut books.transfer),
            interpartition: std::mem::take(&mut books.interpartition),
        }
    }
}

impl Books {
    /// Takes over the part of a pool's event by which players are judged.
    fn take_over_pool(&mut self, name: &str, commit: &Commit, event: &Event, is_kept: impl Fn(&StreamId) -> bool) {
        let Self { pools, unpaid, system, .. } = self;
        let mut award = |name: &Arc<str>, award: MirroredAward| {
            if is_kept(&award.stream) {
                unpaid.insert((commit.partition, award.hit), UnpaidAward::new(&award, Arc::clone(name)));
            }
        };
        match event {
            Event::ChangeApproved { change, .. } => _ = system.changes.take(*change, commit.time_ms),
            Event::PoolOpened { terms, .. } => {
                let name = Arc::from(name);
                pools.insert(Arc::clone(&name), PoolState::new(name, commit.head(), terms.clone()));
            }
            Event::PoolMirrored(mirrored) => {
                let new = || PoolState::new(Arc::from(name), commit.head(), mirrored.terms.clone());
                let pool = pools.entry(Arc::from(name)).or_insert_with(new);
                pool.terms.clone_from(&mirrored.terms);
                pool.status.clone_from(&mirrored.status);
                mirrored.awards.iter().for_each(|of| award(&pool.name, of.clone()));
            }
            _ => {}
        }
        let Some(pool) = pools.get_mut(name) else { return };
        match event {
            Event::JackpotAwarded(of) => {
                if let Some(terms) = pool.pending_terms.take() {
                    pool.terms = terms;
                }
                if of.partition == commit.partition {
                    award(&pool.name, MirroredAward::of(of));
                }
            }
            Event::PoolTermsChanged { terms } => pool.pending_terms = Some(terms.clone()),
            Event::PoolSuspended { .. } => pool.status = PoolStatus::Suspended,
            Event::PoolResumed { .. } => pool.status = PoolStatus::Active,
            Event::PoolRetired { into, increments, reserve, .. } => {
                let (into, increments, reserve) = (into.clone(), *increments, *reserve);
                pool.status = PoolStatus::Retired { into, increments, reserve };
            }
            _ => {}
        }
    }

    /// The state that all players are judged by as of now.
    #[must_use]
    pub fn shared(&self) -> Shared {
        let Self { pools, unpaid, rates, system, .. } = self;
        Shared { pools: pools.clone(), unpaid: unpaid.clone(), rates: rates.clone(), system: system.clone() }
    }

    /// Takes up what a player's commit has left, at its place in the log.
    ///
    /// # Errors
    /// It is not the next one, or the time ran back.
    pub fn take_left(&mut self, commit: &Commit, left: &Left) -> Result<(), Refused> {
        let end = self.end(commit.partition);
        let expected = end.position + 1;
        if commit.position != expected {
            return Err(Refused::WrongPosition { expected, found: commit.position });
        }
        if commit.time_ms < end.time_ms {
            return Err(Refused::TimeRanBack { latest: end.time_ms, found: commit.time_ms });
        }
        self.ends.insert(commit.partition, End { position: commit.position, time_ms: commit.time_ms });
        left.merge_into(self);
        Ok(())
    }

    /// Takes up the totals of a share.
    pub fn take_totals(&mut self, totals: &Totals) {
        for (name, totals) in &totals.operators {
            self.operators.entry(name.clone()).or_default().totals.add(totals);
        }
        self.exchange.add(&totals.exchange);
        self.transfer.0 += totals.transfer.0;
        self.interpartition.0 += totals.interpartition.0;
    }

    /// Takes over a player that a share has judged, once the share's totals were taken up.
    pub fn join(&mut self, stream: StreamId, player: PlayerState) {
        if let StreamId::Player { operator, player: name } = stream {
            self.operators.entry(operator).or_default().put(&name, Arc::new(player), self.watch);
        }
    }
}
