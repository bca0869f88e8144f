//! Tasks of competing operators on one thread.
//!
//! A thread runs ready tasks in the order in which they became ready: an operator with a thousand calls, streams and series would delay
//! another one's only call by all of them. While operators compete, each task of a connection has to be let in. In a round, an operator is
//! let in for as much work as its weight allows; its other tasks wait, oldest first. The round ends when no ready task is left and the
//! sockets have been polled.
//!
//! Cost while operators compete: a look-up per poll of a task, and a poll of the sockets per round.

use super::table::Connection;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use tokio::task::yield_now;

thread_local! {
    static ROUND: RefCell<Round> = const { RefCell::new(Round::new()) };
}

/// A thread's current round.
struct Round {
    /// Operators with work in it, by the number of their share.
    lanes: BTreeMap<usize, Lane>,
    /// Age of the newest waiting task.
    newest: u64,
}

/// The tasks of one operator.
struct Lane {
    /// Work of the operator in each round.
    most: usize,
    /// Work left in this round.
    left: usize,
    /// Tasks that wait, by age.
    waiting: BTreeMap<u64, Waker>,
}

/// Place of a task that waits.
#[derive(Clone, Copy)]
struct Place {
    share: usize,
    age: u64,
}

impl Round {
    const fn new() -> Self {
        Self { lanes: BTreeMap::new(), newest: 0 }
    }

    /// Lets a task in, or keeps its waker. Returns whether it was let in.
    fn enter(&mut self, (share, most): (usize, usize), place: &mut Option<Place>, waker: &Waker) -> bool {
        // The caller of its connection may have become known.
        if let Some(other) = place.take_if(|place| place.share != share) {
            self.leave(other);
        }
        let lane = self.lanes.entry(share).or_insert_with(|| Lane { most, left: most, waiting: BTreeMap::new() });
        if lane.left > 0 {
            lane.left -= 1;
            if let Some(place) = place.take() {
                lane.waiting.remove(&place.age);
            }
            return true;
        }
        let place = place.get_or_insert_with(|| {
            self.newest += 1;
            Place { share, age: self.newest }
        });
        lane.waiting.insert(place.age, waker.clone());
        false
    }

    /// Forgets a task that waits.
    fn leave(&mut self, place: Place) {
        if let Some(lane) = self.lanes.get_mut(&place.share) {
            lane.waiting.remove(&place.age);
        }
    }

    /// Ends the round: wakes the oldest tasks of each operator. Returns whether there were any.
    fn end(&mut self) -> bool {
        self.lanes.retain(|_, lane| !lane.waiting.is_empty());
        for lane in self.lanes.values_mut() {
            lane.left = lane.most;
            for _ in 0..lane.most {
                let Some((_, waker)) = lane.waiting.pop_first() else { break };
                waker.wake();
            }
        }
        !self.lanes.is_empty()
    }
}

/// Work that an operator has left in the thread's current round.
pub(super) fn left(share: usize) -> Option<usize> {
    ROUND.with_borrow(|round| round.lanes.get(&share).map(|lane| lane.left))
}

/// Counts work of an operator.
pub(super) fn spend(share: usize, work: usize) {
    ROUND.with_borrow_mut(|round| {
        if let Some(lane) = round.lanes.get_mut(&share) {
            lane.left = lane.left.saturating_sub(work);
        }
    });
}

/// Polls a task of a connection in its operator's turns.
pub(super) struct InTurn {
    connection: Arc<Connection>,
    place: Option<Place>,
}

impl InTurn {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, place: None }
    }

    /// Does the task's work, unless it has to wait.
    pub(super) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        work: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if let Some(share) = self.connection.competes() {
            let (entered, begins) = ROUND.with_borrow_mut(|round| {
                let begins = round.lanes.is_empty();
                (round.enter(share, &mut self.place, context.waker()), begins)
            });
            if begins {
                tokio::spawn(rounds());
            }
            if !entered {
                return Poll::Pending;
            }
        }
        work(context)
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // A thread that ends has no round any more.
            let _ = ROUND.try_with(|round| round.borrow_mut().leave(place));
        }
    }
}

/// Ends rounds until no task waits.
async fn rounds() {
    loop {
        // Resumed behind all ready tasks, once the sockets have been polled.
        yield_now().await;
        if !ROUND.with_borrow_mut(Round::end) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::table::{Admitted, Bounds, Table},
        *,
    };
    use crate::config::Limits;
    use parking_lot::Mutex;
    use std::{future::poll_fn, net::Ipv4Addr};
    use tokio::task::JoinSet;

    /// Connections of operators that compete; the first one has twice the weight of the second.
    fn competing() -> [Admitted; 2] {
        let weights = [("acme".to_owned(), 2)].into();
        let table = Table::new(Bounds { weights, ..Bounds::of(&Limits::default(), 1 << 20) });
        ["acme", "other"].map(|operator| {
            let admitted = table.admit(Ipv4Addr::LOCALHOST.into()).unwrap();
            admitted.0.belongs_to(Some((operator, "key"))).unwrap();
            admitted.0.called();
            admitted
        })
    }

    /// Names of tasks in the order of their work.
    type Order = Arc<Mutex<Vec<&'static str>>>;

    /// Spawns tasks that each do `work` in one poll.
    fn spawn(
        tasks: &mut JoinSet<()>,
        order: &Order,
        connection: &Admitted,
        name: &'static str,
        count: u32,
        work: usize,
    ) {
        for _ in 0..count {
            let (order, connection) = (Arc::clone(order), Arc::clone(&connection.0));
            let mut turn = InTurn::new(Arc::clone(&connection));
            tasks.spawn(poll_fn(move |context| {
                turn.poll(context, |_| {
                    connection.spend(work);
                    order.lock().push(name);
                    Poll::Ready(())
                })
            }));
        }
    }

    fn count(order: &[&str], name: &str) -> usize {
        order.iter().filter(|one| **one == name).count()
    }

    #[tokio::test]
    async fn at_b3_a_task_waits_for_one_round_of_another_operators_tasks_whatever_their_number() {
        let [acme, other] = competing();
        let (mut tasks, order) = (JoinSet::new(), Order::default());
        spawn(&mut tasks, &order, &acme, "acme", 1_000, 0);
        spawn(&mut tasks, &order, &other, "other", 1, 0);
        while tasks.join_next().await.is_some() {}
        let order = order.lock();
        assert_eq!((order.len(), order.iter().position(|name| *name == "other")), (1_001, Some(16)));
    }

    #[tokio::test]
    async fn at_b3_operators_do_work_by_weight_in_each_round() {
        let [acme, other] = competing();
        let (mut tasks, order) = (JoinSet::new(), Order::default());
        spawn(&mut tasks, &order, &acme, "acme", 100, 0);
        spawn(&mut tasks, &order, &other, "other", 100, 0);
        while tasks.join_next().await.is_some() {}
        for round in order.lock().chunks_exact(16 + 8).take(100 / 16) {
            assert_eq!([count(round, "acme"), count(round, "other")], [16, 8], "{round:?}");
        }
    }

    #[tokio::test]
    async fn at_b3_the_calls_that_a_task_begins_are_work() {
        let [acme, other] = competing();
        let (mut tasks, order) = (JoinSet::new(), Order::default());
        spawn(&mut tasks, &order, &acme, "acme", 10, 64);
        spawn(&mut tasks, &order, &other, "other", 10, 1);
        while tasks.join_next().await.is_some() {}
        assert_eq!(count(&order.lock()[..5], "acme"), 1, "one task began more calls than a round has");
        assert_eq!(order.lock().len(), 20);
    }

    #[test]
    fn at_b3_a_task_whose_caller_becomes_known_waits_among_the_callers_tasks() {
        let (mut round, waker) = (Round::new(), Waker::noop());
        let [mut first, mut second] = [None, None];
        assert!(round.enter((0, 1), &mut first, waker));
        assert!(!round.enter((0, 1), &mut second, waker));
        assert!(round.enter((7, 1), &mut second, waker), "the caller has work left");
        assert_eq!((second.is_none(), round.lanes[&0].waiting.len()), (true, 0));
    }

    #[tokio::test]
    async fn at_b3_a_task_that_is_dropped_waits_no_longer() {
        let [_acme, other] = competing();
        let mut turns = [(); 10].map(|()| InTurn::new(Arc::clone(&other.0)));
        let mut context = Context::from_waker(Waker::noop());
        let entered = turns.each_mut().map(|turn| turn.poll(&mut context, |_| Poll::Ready(())).is_ready());
        assert_eq!(entered.map(usize::from).iter().sum::<usize>(), 8);
        let waiting = || ROUND.with_borrow(|round| round.lanes.values().map(|lane| lane.waiting.len()).sum::<usize>());
        assert_eq!(waiting(), 2);
        drop(turns);
        assert_eq!(waiting(), 0);
    }

    #[tokio::test]
    async fn at_b3_an_operator_that_calls_alone_has_no_rounds() {
        let table = Table::new(Bounds::of(&Limits::default(), 1 << 20));
        let alone = table.admit(Ipv4Addr::LOCALHOST.into()).unwrap();
        alone.0.belongs_to(Some(("acme", "key"))).unwrap();
        assert_eq!((alone.0.competes(), alone.0.turn(64)), (None, 64));
    }
}
