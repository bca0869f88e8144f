use crate::{reason::Reason, refusal::Refusal};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

/// Bytes reserved per call for its task and I/O buffers.
pub const CALL_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub struct Budget {
    own: usize,
    most: usize,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    common: usize,
    pub(super) taken: BTreeMap<Arc<str>, usize>,
}

impl Budget {
    /// `all` is the budget in bytes; `most` limits the bytes of one operator.
    #[must_use]
    pub fn new(all: usize, most: usize, operators: usize) -> Arc<Self> {
        let common = all / 2;
        let state = State { common, taken: BTreeMap::new() };
        Arc::new(Self { own: (all - common) / operators.max(1), most, state: Mutex::new(state) })
    }

    pub(super) fn take(self: &Arc<Self>, operator: &Arc<str>, bytes: usize) -> Result<Share, Full> {
        let mut share = Share { budget: Arc::clone(self), operator: Arc::clone(operator), bytes: 0 };
        share.grow(bytes)?;
        Ok(share)
    }

    fn of_common(&self, taken: usize) -> usize {
        taken.saturating_sub(self.own)
    }

    fn add(&self, operator: &Arc<str>, bytes: usize) -> Result<(), Full> {
        let mut state = self.state.lock();
        let had = state.taken.get(operator).copied().unwrap_or(0);
        let has = had.saturating_add(bytes);
        let more = self.of_common(has) - self.of_common(had);
        if has > self.most.max(self.own) || more > state.common {
            return Err(Full { has: had, asked: bytes });
        }
        state.common -= more;
        state.taken.insert(Arc::clone(operator), has);
        Ok(())
    }

    fn give_back(&self, operator: &Arc<str>, bytes: usize) {
        let mut state = self.state.lock();
        let had = state.taken.get(operator).copied().unwrap_or(0);
        let has = had.saturating_sub(bytes);
        state.common += self.of_common(had) - self.of_common(has);
        match has {
            0 => state.taken.remove(operator),
            has => state.taken.insert(Arc::clone(operator), has),
        };
    }
}

#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    operator: Arc<str>,
    pub(super) bytes: usize,
}

impl Share {
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        self.budget.add(&self.operator, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    pub(super) fn take_more(&self, bytes: usize) -> Result<Self, Full> {
        self.budget.take(&self.operator, bytes)
    }

    pub(super) fn split(&mut self, bytes: usize) -> Option<Self> {
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(Self { budget: Arc::clone(&self.budget), operator: Arc::clone(&self.operator), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(&self.operator, self.bytes);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full {
    has: usize,
    asked: usize,
}

impl Full {
    pub(super) fn refused(self) -> Refusal {
        self.because("the operator's buffers are full; the call had no effect")
    }

    pub(super) fn unsent(self) -> Refusal {
        self.because(
            "the operator's send buffers are full; the call may have had an effect: retry with the same request id",
        )
    }

    fn because(self, message: &str) -> Refusal {
        Refusal::new(Reason::BuffersFull, message).with("waiting_bytes", self.has).with("asked_bytes", self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [Arc<str>; 2] {
        ["a", "b"].map(Arc::from)
    }

    #[test]
    fn uf_04_what_one_operator_leaves_waiting_takes_nothing_of_anothers_own_part() {
        let budget = Budget::new(100, 60, 2);
        let [a, b] = names();
        let mut first = budget.take(&a, 60).unwrap();
        assert_eq!(first.grow(1), Err(Full { has: 60, asked: 1 }));
        let second = budget.take(&b, 40).unwrap();
        assert_eq!(budget.take(&b, 1).unwrap_err(), Full { has: 40, asked: 1 });
        drop(first);
        let more = budget.take(&b, 20).unwrap();
        assert_eq!(budget.take(&a, 41).unwrap_err(), Full { has: 0, asked: 41 });
        let own = budget.take(&a, 40).unwrap();
        drop((second, more, own));
        let state = budget.state.lock();
        assert_eq!((state.common, state.taken.len()), (50, 0), "all bytes are returned");
    }

    #[test]
    fn uf_04_a_part_that_was_split_off_is_given_back_once() {
        let budget = Budget::new(100, 100, 1);
        let [a, _] = names();
        let mut share = budget.take(&a, 30).unwrap();
        let part = share.split(10).unwrap();
        assert!(share.split(21).is_none());
        let beside = share.take_more(70).unwrap();
        assert!(part.take_more(1).is_err());
        drop(share);
        assert_eq!(budget.state.lock().taken[&a], 80);
        drop((part, beside));
        assert!(budget.state.lock().taken.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn uf_04_the_budget_is_kept_and_what_is_ones_own_is_there(steps in proptest::collection::vec((0..3_usize, 0..120_usize), 1..80)) {
            let budget = Budget::new(300, 200, 3);
            let names: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).into();
            let mut held: Vec<Vec<Share>> = vec![vec![], vec![], vec![]];
            for (who, bytes) in steps {
                let has: usize = held[who].iter().map(|share| share.bytes).sum();
                match budget.take(&names[who], bytes) {
                    Ok(share) => held[who].push(share),
                    Err(_) => {
                        proptest::prop_assert!(has + bytes > 50, "bytes within the operator's own part were refused");
                        held[who].pop();
                    }
                }
                let all: usize = held.iter().flatten().map(|share| share.bytes).sum();
                proptest::prop_assert!(all <= 300);
                proptest::prop_assert!(held.iter().all(|of| of.iter().map(|share| share.bytes).sum::<usize>() <= 200));
            }
        }
    }
}
