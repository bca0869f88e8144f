//! TLS handshakes, limited in number and shared fairly between addresses.
//!
//! A handshake costs the service far more than the client, so all handshakes run on one thread of low priority. If all
//! slots are taken, a new handshake displaces the oldest handshake of the busiest address, or waits if no address has
//! more handshakes than its own.

use super::{table::network, tls::Acceptor};
use crate::priority::lower_priority;
use opentelemetry::{KeyValue, global, metrics::Counter};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};
use tokio::{
    net::TcpStream,
    runtime::{self, Handle},
    sync::{Notify, oneshot},
    task::JoinSet,
    time::timeout_at,
};
use tokio_rustls::server::TlsStream;

const WARN_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeError {
    Failed,
    Late,
    Displaced,
}

pub(super) struct Handshakes {
    slots: Slots,
    /// Thread that computes handshakes; if `None`, the caller's runtime computes them.
    thread: Option<(Handle, oneshot::Sender<()>)>,
    counter: Counter<u64>,
}

impl Handshakes {
    pub(super) fn new(most: usize) -> Self {
        let meter = global::meter("motherlode");
        let counter = meter.u64_counter("motherlode.tls.handshakes");
        let counter = counter.with_description("Number of finished TLS handshakes, by outcome.").build();
        ["done", "failed", "late", "displaced"]
            .iter()
            .for_each(|how| counter.add(0, &[KeyValue::new("outcome", *how)]));
        let slots = Slots(Arc::new(SlotPool { most, state: Mutex::default() }));
        let observed = Arc::downgrade(&slots.0);
        meter
            .u64_observable_gauge("motherlode.tls.handshakes_waiting")
            .with_description("Number of TLS handshakes that wait for a slot.")
            .with_callback(move |seen| {
                if let Some(shared) = observed.upgrade() {
                    seen.observe(shared.state.lock().waiting.len() as u64, &[]);
                }
            })
            .build();
        Self { slots, thread: computing(), counter }
    }

    pub(super) async fn handshake(
        &self,
        acceptor: Acceptor,
        stream: TcpStream,
        peer: IpAddr,
        by: tokio::time::Instant,
    ) -> Result<TlsStream<TcpStream>, HandshakeError> {
        let handshake = async {
            stream.readable().await.map_err(|_| HandshakeError::Failed)?;
            let slot = self.slots.take(peer).await.ok_or(HandshakeError::Failed)?;
            let thread = self.thread.as_ref().map_or_else(Handle::current, |(thread, _)| thread.clone());
            let mut computed = JoinSet::new();
            computed.spawn_on(acceptor.accept(stream), &thread);
            tokio::select! {
                biased;
                () = slot.displaced.notified() => Err(HandshakeError::Displaced),
                result = computed.join_next() => match result {
                    Some(Ok(Ok(stream))) => Ok(stream),
                    _ => Err(HandshakeError::Failed),
                },
            }
        };
        let result = timeout_at(by, handshake).await.unwrap_or(Err(HandshakeError::Late));
        let how = match &result {
            Ok(_) => "done",
            Err(HandshakeError::Failed) => "failed",
            Err(HandshakeError::Late) => "late",
            Err(HandshakeError::Displaced) => "displaced",
        };
        self.counter.add(1, &[KeyValue::new("outcome", how)]);
        result
    }
}

fn computing() -> Option<(Handle, oneshot::Sender<()>)> {
    let ((sender, ended), (made, handle)) = (oneshot::channel::<()>(), mpsc::channel());
    let compute = move || {
        lower_priority();
        let Ok(runtime) = runtime::Builder::new_current_thread().build() else { return };
        if made.send(runtime.handle().clone()).is_ok() {
            let _ = runtime.block_on(ended);
        }
    };
    thread::Builder::new().name("handshakes".to_owned()).spawn(compute).ok()?;
    Some((handle.recv().ok()?, sender))
}

#[derive(Clone)]
struct Slots(Arc<SlotPool>);

struct SlotPool {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    active: BTreeMap<u64, Active>,
    waiting: VecDeque<(IpAddr, oneshot::Sender<Slot>)>,
    warned: Option<Instant>,
}

struct Active {
    peer: IpAddr,
    displaced: Arc<Notify>,
}

struct Slot {
    id: u64,
    displaced: Arc<Notify>,
    slots: Slots,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.give_back(self.id);
    }
}

impl Slots {
    async fn take(&self, peer: IpAddr) -> Option<Slot> {
        let peer = network(peer);
        let waiting = {
            let mut state = self.0.state.lock();
            if state.active.len() < self.0.most || state.displace(peer) {
                return Some(self.enter(&mut state, peer));
            }
            let (sender, slot) = oneshot::channel();
            state.waiting.push_back((peer, sender));
            slot
        };
        waiting.await.ok()
    }

    fn enter(&self, state: &mut State, peer: IpAddr) -> Slot {
        let (id, displaced) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.active.insert(id, Active { peer, displaced: Arc::clone(&displaced) });
        Slot { id, displaced, slots: self.clone() }
    }

    fn give_back(&self, id: u64) {
        let given = {
            let mut state = self.0.state.lock();
            if state.active.remove(&id).is_none() {
                return;
            }
            state.waiting.retain(|(_, sender)| !sender.is_closed());
            let counts = state.counts();
            let fewest = state.waiting.iter().enumerate();
            let fewest = fewest.min_by_key(|(_, (peer, _))| counts.get(peer).copied().unwrap_or(0));
            let fewest = fewest.map(|(index, _)| index).and_then(|index| state.waiting.remove(index));
            fewest.map(|(peer, sender)| (sender, self.enter(&mut state, peer)))
        };
        if let Some((sender, slot)) = given {
            drop(sender.send(slot));
        }
    }
}

impl State {
    fn counts(&self) -> HashMap<IpAddr, usize> {
        let mut counts = HashMap::new();
        for one in self.active.values() {
            *counts.entry(one.peer).or_insert(0) += 1;
        }
        counts
    }

    fn displace(&mut self, peer: IpAddr) -> bool {
        let counts = self.counts();
        let own = counts.get(&peer).copied().unwrap_or(0);
        let count = |one: &Active| counts.get(&one.peer).copied().unwrap_or(0);
        let most = self.active.iter().rev().max_by_key(|(_, one)| count(one));
        let Some(id) = most.filter(|(_, one)| count(one) > own).map(|(id, _)| *id) else { return false };
        let Some(displaced) = self.active.remove(&id) else { return false };
        displaced.displaced.notify_one();
        let now = Instant::now();
        if self.warned.is_none_or(|warned| now > warned + WARN_EVERY) {
            self.warned = Some(now);
            let (peer, waiting) = (displaced.peer, self.waiting.len());
            tracing::warn!(%peer, waiting, "all slots were taken, so a TLS handshake was displaced by a handshake of another peer");
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::pin::Pin;

    fn peer(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    type Taking<'a> = Pin<Box<dyn Future<Output = Option<Slot>> + 'a>>;

    fn take(slots: &Slots, from: u8) -> Result<Slot, Taking<'_>> {
        let mut taking: Taking<'_> = Box::pin(slots.take(peer(from)));
        match taking.as_mut().now_or_never() {
            Some(slot) => Ok(slot.unwrap()),
            None => Err(taking),
        }
    }

    fn slots(most: usize) -> Slots {
        Slots(Arc::new(SlotPool { most, state: Mutex::default() }))
    }

    fn displaced(slot: &Slot) -> bool {
        slot.displaced.notified().now_or_never().is_some()
    }

    fn active(slots: &Slots) -> usize {
        slots.0.state.lock().active.len()
    }

    #[test]
    fn uf_02_no_more_handshakes_are_under_way_than_may_be_and_one_address_makes_way_for_the_others() {
        let slots = slots(4);
        let many: Vec<_> = (0..4).map(|_| take(&slots, 1).ok().unwrap()).collect();
        let Err(mut fifth) = take(&slots, 1) else { panic!("a fifth handshake got a slot") };
        let other = take(&slots, 2).ok().unwrap();
        assert_eq!(
            many.iter().map(displaced).collect::<Vec<_>>(),
            [true, false, false, false],
            "the oldest handshake is displaced"
        );
        let _third = take(&slots, 3).ok().unwrap();
        assert_eq!(many.iter().map(displaced).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(!displaced(&other));
        assert_eq!(active(&slots), 4);
        let mut many = many.into_iter();
        drop((many.next(), many.next()));
        assert!(fifth.as_mut().now_or_never().is_none(), "a displaced handshake frees no slot");
        drop(many.next());
        assert!(fifth.as_mut().now_or_never().unwrap().is_some());
        assert_eq!(active(&slots), 3);
    }

    #[test]
    fn uf_02_a_place_goes_to_the_address_that_has_the_fewest_and_to_nobody_who_has_gone() {
        let slots = slots(3);
        let (first, second, other) =
            (take(&slots, 1).ok().unwrap(), take(&slots, 1).ok().unwrap(), take(&slots, 2).ok().unwrap());
        let (Err(mut mine), Err(gone)) = (take(&slots, 1), take(&slots, 1)) else {
            panic!("a fourth handshake got a slot")
        };
        drop(gone);
        let Ok(third) = take(&slots, 3) else { panic!("address 3 got no slot") };
        assert!(displaced(&first) && !displaced(&second) && !displaced(&other));
        let Err(mut theirs) = take(&slots, 3) else { panic!("a second handshake of address 3 got a slot") };
        drop(other);
        let mine_first = mine.as_mut().now_or_never();
        assert!(
            mine_first.is_some_and(|place| place.is_some()),
            "both addresses have one handshake, so the first waiter gets the slot"
        );
        drop((second, third));
        assert!(theirs.as_mut().now_or_never().unwrap().is_some());
        assert_eq!(slots.0.state.lock().waiting.len(), 0);
    }
}
