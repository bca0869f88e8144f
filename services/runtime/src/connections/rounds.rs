//! Fair scheduling of tasks on one thread while several operators make calls.
//!
//! If tasks ran in the order in which they became ready, a single call would wait for a thousand calls of another operator.
//! Each scheduling round gives every operator an amount of work in proportion to its weight.
//! Tasks beyond this amount wait in order. A round ends when no task is ready and the sockets have been polled.

use std::{cell::RefCell, collections::BTreeMap, task::Waker};
use tokio::task::yield_now;

thread_local! {
    static ROUND: RefCell<Round> = const { RefCell::new(Round::new()) };
}

struct Round {
    /// Operators with work in this scheduling round, keyed by [`Share::number`](super::turns::Share).
    lanes: BTreeMap<usize, Lane>,
    newest: u64,
}

struct Lane {
    most: usize,
    left: usize,
    waiting: BTreeMap<u64, Waker>,
}

#[derive(Clone, Copy)]
pub(super) struct Ticket {
    share: usize,
    age: u64,
}

impl Round {
    const fn new() -> Self {
        Self { lanes: BTreeMap::new(), newest: 0 }
    }

    /// Admits a task and returns true if its operator has work units left in this round; otherwise, keeps the task's waker.
    fn enter(&mut self, (share, most): (usize, usize), place: &mut Option<Ticket>, waker: &Waker) -> bool {
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
            Ticket { share, age: self.newest }
        });
        lane.waiting.insert(place.age, waker.clone());
        false
    }

    fn leave(&mut self, place: Ticket) {
        if let Some(lane) = self.lanes.get_mut(&place.share) {
            lane.waiting.remove(&place.age);
        }
    }

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

pub(super) fn left(share: usize) -> Option<usize> {
    ROUND.with_borrow(|round| round.lanes.get(&share).map(|lane| lane.left))
}

pub(super) fn spend(share: usize, work: usize) {
    ROUND.with_borrow_mut(|round| {
        if let Some(lane) = round.lanes.get_mut(&share) {
            lane.left = lane.left.saturating_sub(work);
        }
    });
}

pub(super) fn enter((share, most): (usize, usize), place: &mut Option<Ticket>, waker: &Waker) -> bool {
    let (entered, begins) = ROUND.with_borrow_mut(|round| {
        let begins = round.lanes.is_empty();
        (round.enter((share, most), place, waker), begins)
    });
    if begins {
        tokio::spawn(rounds());
    }
    entered
}

pub(super) fn leave(place: Ticket) {
    let _ = ROUND.try_with(|round| round.borrow_mut().leave(place));
}

async fn rounds() {
    loop {
        yield_now().await;
        if !ROUND.with_borrow_mut(Round::end) {
            return;
        }
    }
}

#[cfg(test)]
pub(super) fn waiting() -> usize {
    ROUND.with_borrow(|round| round.lanes.values().map(|lane| lane.waiting.len()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_b3_a_task_whose_caller_becomes_known_waits_among_the_callers_tasks() {
        let (mut round, waker) = (Round::new(), Waker::noop());
        let [mut first, mut second] = [None, None];
        assert!(round.enter((0, 1), &mut first, waker));
        assert!(!round.enter((0, 1), &mut second, waker));
        assert!(round.enter((7, 1), &mut second, waker), "the operator has work left");
        assert_eq!((second.is_none(), round.lanes[&0].waiting.len()), (true, 0));
    }
}
