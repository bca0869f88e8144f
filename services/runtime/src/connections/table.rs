use super::{
    rounds,
    turns::{Share, Turns},
};
use crate::{config::Limits, operators::Operators, reason::Reason, refusal::Refusal};
use parking_lot::Mutex;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

const CANCELLED_WINDOW: Duration = Duration::from_secs(10);
const WARN_EVERY: Duration = Duration::from_secs(10);
/// Age at which a connection with an incomplete handshake becomes [`Kind::Ungreeted`].
const YOUNG: Duration = Duration::from_secs(1);
const READ_MAX: Duration = Duration::from_millis(300);

#[derive(Debug, Clone)]
pub struct Bounds {
    pub all: usize,
    pub per_peer: usize,
    pub peers: BTreeMap<IpAddr, usize>,
    pub per_operator: usize,
    pub tls_handshakes: usize,
    pub handshake: Duration,
    pub idle: Duration,
    pub keep_alive: Duration,
    pub keep_alive_answer: Duration,
    pub calls: u32,
    pub header_bytes: u32,
    pub cancelled: u32,
    pub control_frames: u32,
    pub operators: Operators,
}

impl Bounds {
    #[must_use]
    pub fn for_limits(limits: &Limits, descriptors: u64) -> Self {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let reserve = limits.descriptors_reserved.min(descriptors / 2);
        let all = limits.connections_max.min(descriptors - reserve);
        if all < limits.connections_max {
            let wanted = limits.connections_max;
            tracing::warn!(
                descriptors,
                reserve,
                wanted,
                all,
                "too few file descriptors for the configured number of connections: raise the limit of open files, or lower limits.connections_max"
            );
        } else {
            tracing::info!(descriptors, reserve, all, "connection limit set");
        }
        Self::new(limits, all)
    }

    #[must_use]
    pub fn new(limits: &Limits, all: usize) -> Self {
        let ms = Duration::from_millis;
        Self {
            all,
            per_peer: limits.connections_per_peer_max,
            peers: limits.connections_of_peers.iter().map(|(peer, bound)| (network(*peer), *bound)).collect(),
            per_operator: limits.connections_per_operator_max,
            tls_handshakes: limits.tls_handshakes_max,
            handshake: ms(limits.handshake_ms_max),
            idle: ms(limits.connection_idle_ms_max),
            keep_alive: ms(limits.keep_alive_ms),
            keep_alive_answer: ms(limits.keep_alive_answer_ms_max),
            calls: limits.concurrent_requests_max,
            header_bytes: limits.header_bytes_max,
            cancelled: limits.cancelled_calls_max,
            control_frames: limits.control_frames_per_second_max,
            operators: Operators::default(),
        }
    }
}

/// Returns the network that counts as one peer: an IPv4 address, or an IPv6 /64.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => Ipv6Addr::from(u128::from(six) & !u128::from(u64::MAX)).into(),
        four => four,
    }
}

/// Connections of all listeners of a process; clones share them.
///
/// When a limit is reached, one connection is closed to make room. Connections with incomplete handshakes are closed
/// first, then connections without a known caller, then connections without a call in progress. Within one of these
/// kinds, the oldest connection of the address with the most connections is closed. A connection of another address
/// is closed only if that address has more connections than the new connection's address (at least two more if the
/// connection has calls in progress). At an operator's limit, one of the operator's connections is closed by the same
/// rules, with credentials instead of addresses.
#[derive(Clone)]
pub struct Table(Arc<TableInner>);

struct TableInner {
    turns: Turns,
    bounds: Bounds,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    connections: BTreeMap<u64, Arc<Connection>>,
    shares: BTreeMap<String, Arc<Share>>,
    warned: Option<Instant>,
}

pub struct Connection {
    id: u64,
    peer: IpAddr,
    table: Arc<TableInner>,
    greeted: AtomicBool,
    began: Instant,
    /// Operator and credential of the first admitted call; `None` if no operators are configured.
    known: OnceLock<Option<Holder>>,
    share: OnceLock<Arc<Share>>,
    calls: AtomicU32,
    unread: AtomicU32,
    /// Time when the connection became idle, in milliseconds since the table's creation.
    rests_since: AtomicU64,
    cancelled: Mutex<Option<(Instant, u32)>>,
    shed: Notify,
    exceeded: Notify,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Holder {
    operator: String,
    credential: String,
}

pub(super) struct Admitted(pub(super) Arc<Connection>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.table.state.lock().connections.remove(&self.0.id);
    }
}

impl Table {
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let turns = Turns::new(bounds.operators.weight_max());
        Self(Arc::new(TableInner { turns, bounds, began: Instant::now(), state: Mutex::default() }))
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.0.state.lock().connections.len()
    }

    pub(super) fn reweigh(&self) {
        let (operators, state) = (&self.0.bounds.operators, self.0.state.lock());
        self.0.turns.set_weight_max(operators.weight_max());
        state.shares.iter().for_each(|(operator, share)| share.set_weight(operators.weight(operator)));
    }

    pub(super) fn admit(&self, peer: IpAddr) -> Option<Admitted> {
        let (peer, bounds) = (network(peer), &self.0.bounds);
        let mut state = self.0.state.lock();
        let own = state.connections.values().filter(|one| one.peer == peer).count();
        if own >= bounds.peers.get(&peer).copied().unwrap_or(bounds.per_peer) {
            state.shed_where(|one| one.peer == peer && one.kind() < Kind::Busy)?;
        } else if state.connections.len() >= bounds.all {
            state.make_way(peer, own)?;
        }
        state.next += 1;
        let connection = Arc::new(Connection {
            id: state.next,
            peer,
            table: Arc::clone(&self.0),
            greeted: AtomicBool::new(false),
            began: Instant::now(),
            known: OnceLock::new(),
            share: OnceLock::new(),
            calls: AtomicU32::new(0),
            unread: AtomicU32::new(0),
            rests_since: AtomicU64::new(self.0.now()),
            cancelled: Mutex::new(None),
            shed: Notify::new(),
            exceeded: Notify::new(),
        });
        state.connections.insert(connection.id, Arc::clone(&connection));
        Some(Admitted(connection))
    }

    pub(super) fn make_way(&self) {
        let _ = self.0.state.lock().make_way(Ipv6Addr::UNSPECIFIED.into(), 0);
    }

    pub(super) fn say_refused(&self, peer: IpAddr) {
        let mut state = self.0.state.lock();
        let now = Instant::now();
        if state.warned.is_none_or(|warned| now > warned + WARN_EVERY) {
            state.warned = Some(now);
            let connections = state.connections.len();
            tracing::warn!(%peer, connections, "a connection was refused: the connection limit was reached");
        }
    }
}

impl State {
    fn make_way(&mut self, peer: IpAddr, own: usize) -> Option<()> {
        let mut counts = HashMap::new();
        for one in self.connections.values() {
            *counts.entry(one.peer).or_insert(0_usize) += 1;
        }
        let count = |one: &Connection| counts.get(&one.peer).copied().unwrap_or(0);
        let may = |one: &&Arc<Connection>| match one.kind() {
            Kind::Busy => count(one) >= own + 2,
            _ => one.peer == peer || count(one) > own,
        };
        let least = self.connections.values().filter(may).min_by_key(|one| {
            let kind = one.kind();
            // Of the connections with calls in progress, the youngest is closed, because this loses the least work.
            let age = if kind == Kind::Busy { u64::MAX - one.id } else { one.id };
            (kind, Reverse(count(one)), age)
        });
        let id = least?.id;
        self.shed(id)
    }

    fn make_way_for(&mut self, holder: &Holder) -> Option<()> {
        let theirs = |one: &&Arc<Connection>| one.holder().is_some_and(|other| other.operator == holder.operator);
        let mut counts = HashMap::new();
        for one in self.connections.values().filter(theirs) {
            *counts.entry(one.holder()).or_insert(0_usize) += 1;
        }
        let count = |one: &Connection| counts.get(&one.holder()).copied().unwrap_or(0);
        let own = counts.get(&Some(holder)).copied().unwrap_or(0);
        let may = |one: &&Arc<Connection>| one.kind() < Kind::Busy || count(one) >= own + 2;
        let least = self.connections.values().filter(theirs).filter(may).min_by_key(|one| {
            let is_busy = one.kind() == Kind::Busy;
            (is_busy, Reverse(count(one)), if is_busy { u64::MAX - one.id } else { one.id })
        });
        let id = least?.id;
        self.shed(id)
    }

    fn shed_where(&mut self, of: impl Fn(&Connection) -> bool) -> Option<()> {
        let least = self.connections.values().filter(|one| of(one)).min_by_key(|one| (one.kind(), one.id))?;
        let id = least.id;
        self.shed(id)
    }

    fn shed(&mut self, id: u64) -> Option<()> {
        self.connections.remove(&id)?.shed.notify_one();
        Some(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The handshakes, or the head of the first HTTP/1.1 request, have been incomplete for longer than [`YOUNG`].
    Ungreeted,
    /// The connection has had no admitted call, and no call is in progress.
    Unknown,
    /// The connection has had no admitted call, but a call that needs no credential, such as a health check, is in
    /// progress.
    Watched,
    Idle,
    Busy,
}

impl TableInner {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Connection {
    fn kind(&self) -> Kind {
        let at_rest = self.calls.load(Ordering::Relaxed) == 0;
        match (self.greeted.load(Ordering::Relaxed), self.is_known()) {
            // A connection this young may belong to an honest client with a slow handshake.
            (false, _) if self.began.elapsed() < YOUNG => Kind::Unknown,
            (false, _) => Kind::Ungreeted,
            (true, false) if at_rest => Kind::Unknown,
            (true, false) => Kind::Watched,
            (true, true) if at_rest => Kind::Idle,
            (true, true) => Kind::Busy,
        }
    }

    fn holder(&self) -> Option<&Holder> {
        self.known.get().and_then(Option::as_ref)
    }

    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known.get().is_some()
    }

    /// Assigns the connection to the operator and credential of its first admitted call. Fails with RESOURCE_EXHAUSTED,
    /// TOO_MANY_CONNECTIONS if the operator has reached its limit and none of its connections can be closed.
    pub fn belongs_to(&self, holder: Option<(&str, &str)>) -> Result<(), Refusal> {
        if self.is_known() {
            return Ok(());
        }
        let holder =
            holder.map(|(operator, credential)| Holder { operator: operator.into(), credential: credential.into() });
        let mut state = self.table.state.lock();
        if let Some(holder) = &holder {
            let most = self.table.bounds.per_operator;
            let theirs = |one: &Connection| one.holder().is_some_and(|other| other.operator == holder.operator);
            let count = state.connections.values().filter(|one| theirs(one)).count();
            if count >= most && state.make_way_for(holder).is_none() {
                let message = "the operator's number of connections is at its limit";
                return Err(
                    Refusal::new(Reason::TooManyConnections, message).with("connections_per_operator_max", most)
                );
            }
        }
        if let Some(Holder { operator, .. }) = &holder {
            let number = state.shares.len() + 1;
            let share = state.shares.entry(operator.clone());
            let share = Arc::clone(
                share.or_insert_with(|| Arc::new(Share::new(number, self.table.bounds.operators.weight(operator)))),
            );
            let _ = self.share.set(share);
        }
        let _ = self.known.set(holder);
        Ok(())
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.table.bounds
    }

    pub(super) fn greet(&self) {
        self.greeted.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.greeted.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.called();
    }

    pub fn called(&self) {
        self.table.turns.called(self.share(), || self.table.now());
    }

    fn share(&self) -> &Share {
        self.share.get().unwrap_or_else(|| self.table.turns.unknown())
    }

    /// Returns the number of calls that the connection may start in its turn: while operators compete, the operator's
    /// remaining work units in the scheduling round (at least 1), otherwise `alone`.
    pub fn turn(&self, alone: usize) -> usize {
        match self.competes() {
            Some((share, most)) => rounds::left(share).unwrap_or(most).max(1),
            None => alone,
        }
    }

    pub fn spend(&self, calls: usize) {
        rounds::spend(self.share().number, calls);
    }

    pub(super) fn competes(&self) -> Option<(usize, usize)> {
        let share = self.share();
        self.table.turns.work(share, || self.table.now()).map(|work| (share.number, work))
    }

    pub(super) fn end(&self, answered: bool) {
        self.rests_since.store(self.table.now(), Ordering::Relaxed);
        self.calls.fetch_sub(1, Ordering::Relaxed);
        if answered {
            return;
        }
        let now = Instant::now();
        let mut cancelled = self.cancelled.lock();
        let (since, count) = cancelled.filter(|(since, _)| now < *since + CANCELLED_WINDOW).unwrap_or((now, 0));
        *cancelled = Some((since, count + 1));
        if count >= self.table.bounds.cancelled {
            self.shed.notify_one();
        }
    }

    pub(super) fn wait_for_reader(self: &Arc<Self>) -> Unread {
        self.rests_since.store(self.table.now(), Ordering::Relaxed);
        self.unread.fetch_add(1, Ordering::Relaxed);
        Unread(Arc::clone(self))
    }

    /// Returns the time until the connection is closed after a stop, at most [`READ_MAX`]; `None` while a known caller's
    /// call is in progress.
    pub(super) fn closes_in(&self, stopped: Instant) -> Option<Duration> {
        let (calls, unread) = (self.calls.load(Ordering::Relaxed), self.unread.load(Ordering::Relaxed));
        if calls > unread && self.is_known() {
            return None;
        }
        let rests_since = self.table.began + Duration::from_millis(self.rests_since.load(Ordering::Relaxed));
        Some((stopped.max(rests_since) + READ_MAX).saturating_duration_since(Instant::now()))
    }

    pub(super) fn exceed(&self) {
        self.exceeded.notify_one();
    }

    pub(super) async fn exceeded(&self) {
        self.exceeded.notified().await;
    }

    pub(super) async fn shed(&self) {
        self.shed.notified().await;
    }

    pub(super) fn left(&self) -> Option<Duration> {
        let idle = self.table.bounds.idle;
        if self.calls.load(Ordering::Relaxed) > 0 {
            return Some(idle);
        }
        let rested = Duration::from_millis(self.table.now().saturating_sub(self.rests_since.load(Ordering::Relaxed)));
        idle.checked_sub(rested).filter(|left| !left.is_zero())
    }
}

pub(super) struct Unread(Arc<Connection>);

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.rests_since.store(self.0.table.now(), Ordering::Relaxed);
        self.0.unread.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
