//! TLS handshakes: how many are under way at one time, whose they are, and where they are computed.
//!
//! A handshake costs the service a signature, and whoever begins one pays next to nothing. So they are computed by one
//! thread of their own, to which the system's scheduler gives less than to those that answer calls; and so many at the most
//! are under way. Where there are as many, a newcomer takes the place of the oldest of the address that has the most, if its
//! own has fewer; else it waits for a place, and places go to the addresses that have the fewest. Whoever has said nothing
//! yet has no place. All of it within the time that a connection has for its handshakes.
//!
//! Cost: one that comes, and one that ends, walk all that are under way or wait, which are connections and so bounded.

use super::{table::network, tls::Acceptor};
use crate::reads::be_nicer;
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

/// How often it's said that handshakes make way.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Why a handshake did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unshaken {
    /// The peer's doing.
    Failed,
    /// Its time is over.
    Late,
    /// It made way for another.
    Displaced,
}

/// The handshakes of one server.
pub(super) struct Handshakes {
    places: Places,
    /// Runs the thread for as long as it's held. None where there could be none: then it's the caller's runtime.
    thread: Option<(Handle, oneshot::Sender<()>)>,
    counter: Counter<u64>,
}

impl Handshakes {
    /// So many at one time.
    pub(super) fn new(most: usize) -> Self {
        let meter = global::meter("motherlode");
        let counter = meter.u64_counter("motherlode.tls.handshakes");
        let counter = counter.with_description("TLS handshakes that ended, by how they did.").build();
        // There from the start: a rate begins at nothing.
        ["done", "failed", "late", "displaced"]
            .iter()
            .for_each(|how| counter.add(0, &[KeyValue::new("outcome", *how)]));
        let places = Places(Arc::new(Shared { most, state: Mutex::default() }));
        let observed = Arc::downgrade(&places.0);
        meter
            .u64_observable_gauge("motherlode.tls.handshakes_waiting")
            .with_description("TLS handshakes that wait for a place.")
            .with_callback(move |seen| {
                if let Some(shared) = observed.upgrade() {
                    seen.observe(shared.state.lock().waiting.len() as u64, &[]);
                }
            })
            .build();
        Self { places, thread: computing(), counter }
    }

    /// Makes TLS of what a peer sends, when there's a place for it and until its time is over.
    pub(super) async fn shake(
        &self,
        acceptor: Acceptor,
        stream: TcpStream,
        peer: IpAddr,
        by: tokio::time::Instant,
    ) -> Result<TlsStream<TcpStream>, Unshaken> {
        let shaking = async {
            stream.readable().await.map_err(|_| Unshaken::Failed)?;
            let place = self.places.take(peer).await.ok_or(Unshaken::Failed)?;
            let thread = self.thread.as_ref().map_or_else(Handle::current, |(thread, _)| thread.clone());
            // Given up when this is dropped.
            let mut computed = JoinSet::new();
            computed.spawn_on(acceptor.accept(stream), &thread);
            tokio::select! {
                biased;
                () = place.displaced.notified() => Err(Unshaken::Displaced),
                shaken = computed.join_next() => match shaken {
                    Some(Ok(Ok(stream))) => Ok(stream),
                    _ => Err(Unshaken::Failed),
                },
            }
        };
        let shaken = timeout_at(by, shaking).await.unwrap_or(Err(Unshaken::Late));
        let how = match &shaken {
            Ok(_) => "done",
            Err(Unshaken::Failed) => "failed",
            Err(Unshaken::Late) => "late",
            Err(Unshaken::Displaced) => "displaced",
        };
        self.counter.add(1, &[KeyValue::new("outcome", how)]);
        shaken
    }
}

/// The thread that computes handshakes, until what is given is dropped.
fn computing() -> Option<(Handle, oneshot::Sender<()>)> {
    let ((sender, ended), (made, handle)) = (oneshot::channel::<()>(), mpsc::channel());
    let compute = move || {
        be_nicer();
        let Ok(runtime) = runtime::Builder::new_current_thread().build() else { return };
        if made.send(runtime.handle().clone()).is_ok() {
            // Nobody sends anything: the sender is dropped.
            let _ = runtime.block_on(ended);
        }
    };
    thread::Builder::new().name("handshakes".to_owned()).spawn(compute).ok()?;
    Some((handle.recv().ok()?, sender))
}

/// Who may be under way.
#[derive(Clone)]
struct Places(Arc<Shared>);

struct Shared {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// By age.
    under_way: BTreeMap<u64, UnderWay>,
    /// In the order of coming.
    waiting: VecDeque<(IpAddr, oneshot::Sender<Place>)>,
    said: Option<Instant>,
}

struct UnderWay {
    peer: IpAddr,
    displaced: Arc<Notify>,
}

/// A place, given back when it's dropped.
struct Place {
    id: u64,
    displaced: Arc<Notify>,
    places: Places,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.give_back(self.id);
    }
}

impl Places {
    /// Waits for a place.
    async fn take(&self, peer: IpAddr) -> Option<Place> {
        let peer = network(peer);
        let waiting = {
            let mut state = self.0.state.lock();
            if state.under_way.len() < self.0.most || state.displace(peer) {
                return Some(self.enter(&mut state, peer));
            }
            let (sender, place) = oneshot::channel();
            state.waiting.push_back((peer, sender));
            place
        };
        waiting.await.ok()
    }

    fn enter(&self, state: &mut State, peer: IpAddr) -> Place {
        let (id, displaced) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.under_way.insert(id, UnderWay { peer, displaced: Arc::clone(&displaced) });
        Place { id, displaced, places: self.clone() }
    }

    /// Gives a place to the one that waits whose address has the fewest.
    fn give_back(&self, id: u64) {
        let given = {
            let mut state = self.0.state.lock();
            // Who was displaced has none any more.
            if state.under_way.remove(&id).is_none() {
                return;
            }
            state.waiting.retain(|(_, sender)| !sender.is_closed());
            let counts = state.counts();
            let fewest = state.waiting.iter().enumerate();
            let fewest = fewest.min_by_key(|(_, (peer, _))| counts.get(peer).copied().unwrap_or(0));
            let fewest = fewest.map(|(index, _)| index).and_then(|index| state.waiting.remove(index));
            fewest.map(|(peer, sender)| (sender, self.enter(&mut state, peer)))
        };
        // Unlocked: who has gone away meanwhile gives it back at once.
        if let Some((sender, place)) = given {
            drop(sender.send(place));
        }
    }
}

impl State {
    fn counts(&self) -> HashMap<IpAddr, usize> {
        let mut counts = HashMap::new();
        for one in self.under_way.values() {
            *counts.entry(one.peer).or_insert(0) += 1;
        }
        counts
    }

    /// Has the oldest of the address with the most make way for one of an address that has fewer; false where none has more.
    fn displace(&mut self, peer: IpAddr) -> bool {
        let counts = self.counts();
        let own = counts.get(&peer).copied().unwrap_or(0);
        let count = |one: &UnderWay| counts.get(&one.peer).copied().unwrap_or(0);
        // Of several that are the most, the first is the oldest.
        let most = self.under_way.iter().rev().max_by_key(|(_, one)| count(one));
        let Some(id) = most.filter(|(_, one)| count(one) > own).map(|(id, _)| *id) else { return false };
        let Some(displaced) = self.under_way.remove(&id) else { return false };
        displaced.displaced.notify_one();
        let now = Instant::now();
        if self.said.is_none_or(|said| now > said + SAY_EVERY) {
            self.said = Some(now);
            let (peer, waiting) = (displaced.peer, self.waiting.len());
            tracing::warn!(%peer, waiting, "a TLS handshake makes way for another: there are too many");
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

    type Taking<'a> = Pin<Box<dyn Future<Output = Option<Place>> + 'a>>;

    /// A place, or what waits for one.
    fn take(places: &Places, from: u8) -> Result<Place, Taking<'_>> {
        let mut taking: Taking<'_> = Box::pin(places.take(peer(from)));
        match taking.as_mut().now_or_never() {
            Some(place) => Ok(place.unwrap()),
            None => Err(taking),
        }
    }

    fn places(most: usize) -> Places {
        Places(Arc::new(Shared { most, state: Mutex::default() }))
    }

    fn displaced(place: &Place) -> bool {
        place.displaced.notified().now_or_never().is_some()
    }

    fn under_way(places: &Places) -> usize {
        places.0.state.lock().under_way.len()
    }

    #[test]
    fn uf_02_no_more_handshakes_are_under_way_than_may_be_and_one_address_makes_way_for_the_others() {
        let places = places(4);
        let many: Vec<_> = (0..4).map(|_| take(&places, 1).ok().unwrap()).collect();
        let Err(mut fifth) = take(&places, 1) else { panic!("there are four") };
        let other = take(&places, 2).ok().unwrap();
        assert_eq!(many.iter().map(displaced).collect::<Vec<_>>(), [true, false, false, false], "the oldest");
        let _third = take(&places, 3).ok().unwrap();
        assert_eq!(many.iter().map(displaced).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(!displaced(&other));
        assert_eq!(under_way(&places), 4);
        let mut many = many.into_iter();
        drop((many.next(), many.next()));
        assert!(fifth.as_mut().now_or_never().is_none(), "who was displaced has no place to give");
        drop(many.next());
        assert!(fifth.as_mut().now_or_never().unwrap().is_some());
        assert_eq!(under_way(&places), 3);
    }

    #[test]
    fn uf_02_a_place_goes_to_the_address_that_has_the_fewest_and_to_nobody_who_has_gone() {
        let places = places(3);
        let (first, second, other) =
            (take(&places, 1).ok().unwrap(), take(&places, 1).ok().unwrap(), take(&places, 2).ok().unwrap());
        let (Err(mut mine), Err(gone)) = (take(&places, 1), take(&places, 1)) else { panic!("there are three") };
        drop(gone);
        let Ok(third) = take(&places, 3) else { panic!("it has none") };
        assert!(displaced(&first) && !displaced(&second) && !displaced(&other));
        let Err(mut theirs) = take(&places, 3) else { panic!("nobody has more than one") };
        drop(other);
        let mine_first = mine.as_mut().now_or_never();
        assert!(mine_first.is_some_and(|place| place.is_some()), "both have one: who came first");
        drop((second, third));
        assert!(theirs.as_mut().now_or_never().unwrap().is_some());
        assert_eq!(places.0.state.lock().waiting.len(), 0);
    }
}
