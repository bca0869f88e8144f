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

/// State of some of the players, so that several threads can fold a log.
///
/// The main [`Books`] fold all streams except players' streams. For each commit of a player, in log order, the main
/// books apply the [`Left`] that the player's share returned; at the end they apply the [`Totals`] of all shares.
/// [`Share::follow`] copies pools, unpaid awards, rates and the system state to a share. The result is the same as that
/// of applying each commit with [`Books::apply_recorded`].
#[derive(Debug, Default)]
pub struct Share(Books);

#[derive(Debug, Clone)]
pub struct CommonState {
    pools: BTreeMap<Arc<str>, PoolState>,
    unpaid: BTreeMap<AwardKey, UnpaidAward>,
    rates: CurrentRates,
    system: System,
}

#[derive(Debug, Clone)]
pub struct Totals {
    operators: Vec<(SmolStr, OperatorTotals)>,
    exchange: PerCurrency<Nano>,
    transfer: Nano,
    interpartition: Nano,
}

impl CommonState {
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
    #[must_use]
    pub fn generations(&self) -> &Generations {
        self.0.generations()
    }

    /// Applies a durable commit to the commit's player, changing `player` in place. `record` returns the hash of the
    /// commit's record. After an error, `player` is invalid. [`Books::take_left`], not this function, checks the order of
    /// commits.
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

    pub fn follow(&mut self, shared: &CommonState) {
        let Self(books) = self;
        let CommonState { pools, unpaid, rates, system } = shared.clone();
        (books.pools, books.unpaid, books.rates, books.system) = (pools, unpaid, rates, system);
    }

    /// Applies a commit of a non-player stream to the common state, but not to pool amounts. `is_kept` returns whether
    /// a player's unpaid awards belong to this share.
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

    #[must_use]
    pub fn difference(&self, shared: &CommonState, is_kept: impl Fn(&StreamId) -> bool) -> Option<&'static str> {
        let Self(books) = self;
        let awards = shared.unpaid.iter().filter(|(_, award)| is_kept(&award.stream));
        let kept = books.unpaid.iter().filter(|(_, award)| is_kept(&award.stream));
        let terms = |pool: &PoolState| (pool.name.clone(), pool.terms.clone(), pool.status.clone());
        [
            ("the rates differ from the log", books.rates == shared.rates),
            ("the state of the system stream differs from the log", books.system == shared.system),
            (
                "the pools' terms or statuses differ from the log",
                books.pools.values().map(terms).eq(shared.pools.values().map(terms)),
            ),
            ("the unpaid awards differ from the log", kept.eq(awards)),
        ]
        .into_iter()
        .find_map(|(what, is_same)| (!is_same).then_some(what))
    }

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
                    award(&pool.name, MirroredAward::from_award(of));
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

    #[must_use]
    pub fn common(&self) -> CommonState {
        let Self { pools, unpaid, rates, system, .. } = self;
        CommonState { pools: pools.clone(), unpaid: unpaid.clone(), rates: rates.clone(), system: system.clone() }
    }

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

    pub fn take_totals(&mut self, totals: &Totals) {
        for (name, totals) in &totals.operators {
            self.operators.entry(name.clone()).or_default().totals.add(totals);
        }
        self.exchange.add(&totals.exchange);
        self.transfer.0 += totals.transfer.0;
        self.interpartition.0 += totals.interpartition.0;
    }

    pub fn join(&mut self, stream: StreamId, player: PlayerState) {
        if let StreamId::Player { operator, player: name } = stream {
            self.operators.entry(operator).or_default().put(&name, Arc::new(player), self.watch);
        }
    }
}
