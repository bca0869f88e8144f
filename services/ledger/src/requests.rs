//! The table of requests: which request made which commit, so that a repetition is told from a new request, for ever.
//!
//! It is in memory, folded from the whole log at the start. It holds 40 bits of each name's hash beside the position of
//! its commit, so its answer is a position to look at. The caller reads the commit there and compares stream and
//! request id: equal hashes cost a read of the log and never a wrong answer. The hash (SipHash) is keyed at random, so
//! nobody can choose names that collide. Table and key go into snapshots together.
//!
//! Costs: 9 to 14 bytes a commit; one or two cache misses a question; a wrong place to look in one of 1,000 questions
//! at a thousand million commits. Growing moves one part of 65,536 at a time, so that it's never felt.

use motherlode_books::StreamId;
use motherlode_log::Position;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Bits of the hash that choose a name's part of the table.
const PART_BITS: u32 = 16;
/// Bits of the hash kept beside the position.
const TAG_BITS: u32 = 24;
/// Bits for the position: a log that fills them has a table of 10 TB.
const POSITION_BITS: u32 = u64::BITS - TAG_BITS;

/// A request's name, hashed with a table's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(u64);

/// The table.
#[derive(Serialize, Deserialize)]
pub(crate) struct Requests {
    key: [u8; 16],
    parts: Vec<Part>,
}

/// Open addressing, probed onwards from where the tag says; 0 is a free slot, as no commit has position 0.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Part {
    slots: Vec<u64>,
    used: usize,
}

impl Default for Requests {
    fn default() -> Self {
        let mut key = [0; 16];
        // Without the system's entropy nothing is dealt either. Names are compared anyway: a known key costs time only.
        if let Err(error) = getrandom::fill(&mut key) {
            tracing::warn!(%error, "no entropy for the table of requests");
        }
        Self { key, parts: vec![Part::default(); 1 << PART_BITS] }
    }
}

impl Requests {
    /// The name of a request on a stream.
    pub(crate) fn name(&self, stream: &StreamId, request_id: &str) -> Name {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        let mut part = |bytes: &[u8]| {
            hasher.write(bytes);
            // In no name.
            hasher.write(&[0]);
        };
        match stream {
            StreamId::Player { operator, player } => {
                part(operator.as_bytes());
                part(player.as_bytes());
            }
            StreamId::Pool(pool) => part(pool.as_bytes()),
            StreamId::Rates | StreamId::System => part(b""),
        }
        part(request_id.as_bytes());
        Name(hasher.finish())
    }

    /// A table of few parts with a known key, as a fuzz target's input has it: a whole one is 128 KiB of nothing.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn small() -> Self {
        Self { key: [7; 16], parts: vec![Part::default(); 2] }
    }

    /// Panics where a request that is put into the first part is not found there.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn try_out(&mut self) {
        if !self.parts.is_empty() {
            self.insert(Name(7), 9);
            assert!(self.candidates(Name(7)).contains(&9), "a request is lost");
        }
    }

    /// Whether the table is sound enough to be used: one that was read from a snapshot may be anything.
    pub(crate) fn is_sound(&self) -> bool {
        let whole = self.parts.len() == 1 << PART_BITS || cfg!(feature = "fuzzing");
        whole && self.parts.iter().all(Part::is_sound)
    }

    /// Notes that a commit was made by a request.
    pub(crate) fn insert(&mut self, name: Name, position: Position) {
        if let Some(part) = self.parts.get_mut(name.part()) {
            part.insert((name.tag() << POSITION_BITS) | position);
        }
    }

    /// Where the request's commit is, if it made one: at one of these positions or nowhere.
    pub(crate) fn candidates(&self, name: Name) -> Vec<Position> {
        let slots = self.parts.get(name.part()).map_or(&[][..], |part| &part.slots);
        let found = probe(slots, name.tag()).map(|index| slots[index]).take_while(|slot| *slot != 0);
        found.filter(|slot| slot >> POSITION_BITS == name.tag()).map(|slot| slot & (u64::MAX >> TAG_BITS)).collect()
    }
}

impl Name {
    fn part(self) -> usize {
        usize::try_from(self.0 >> (u64::BITS - PART_BITS)).unwrap_or_default()
    }

    fn tag(self) -> u64 {
        self.0 << PART_BITS >> POSITION_BITS
    }
}

impl Part {
    fn is_sound(&self) -> bool {
        // Probing ends at a free slot, and a part grows before there is none.
        self.slots.iter().filter(|slot| **slot != 0).count() == self.used && self.used * 8 <= self.slots.len() * 7
    }

    fn insert(&mut self, slot: u64) {
        // An eighth stays free, so that probing ends soon.
        if (self.used + 1) * 8 > self.slots.len() * 7 {
            let larger = vec![0; (self.slots.len() + self.slots.len() / 2).max(8)];
            for slot in std::mem::replace(&mut self.slots, larger) {
                self.place(slot);
            }
        }
        self.place(slot);
        self.used += 1;
    }

    fn place(&mut self, slot: u64) {
        let free = probe(&self.slots, slot >> POSITION_BITS).find(|index| self.slots[*index] == 0);
        if let Some(free) = free.filter(|_| slot != 0) {
            self.slots[free] = slot;
        }
    }
}

/// All slots, from the tag's own on and round.
fn probe(slots: &[u64], tag: u64) -> impl Iterator<Item = usize> + use<> {
    let length = slots.len();
    let first = usize::try_from((tag * length as u64) >> TAG_BITS).unwrap_or_default();
    (first..length).chain(0..first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_11_every_request_is_found_however_the_table_grows() {
        let mut requests = Requests::default();
        // All in a few parts, so that these grow many times and tags meet.
        let name = |number: u64| Name(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 14);
        for number in 1..=200_000 {
            requests.insert(name(number), number);
        }
        for number in 1..=200_000 {
            assert!(requests.candidates(name(number)).contains(&number), "{number}");
        }
    }

    #[test]
    fn uf_11_a_table_whose_counts_contradict_what_it_holds_is_not_sound() {
        let mut requests = Requests::default();
        for number in 1..=1_000 {
            requests.insert(Name(number), number);
        }
        assert!(requests.is_sound());
        // A count too high would overflow, one too low would fill the part, and what comes then would be lost.
        for used in [0, 999, 1_001, usize::MAX] {
            let mut wrong = Requests { key: requests.key, parts: requests.parts.clone() };
            wrong.parts[0].used = used;
            assert!(!wrong.is_sound(), "{used}");
        }
        let mut full = Requests::default();
        full.parts[0] = Part { slots: vec![1; 8], used: 8 };
        assert!(!full.is_sound());
    }

    #[test]
    #[cfg(not(feature = "fuzzing"))]
    fn uf_11_a_table_that_lacks_parts_is_not_sound() {
        let mut requests = Requests::default();
        requests.parts.pop();
        assert!(!requests.is_sound());
    }

    #[test]
    fn pl_11_names_with_the_same_hash_are_all_places_to_look() {
        let mut requests = Requests::default();
        for position in [3, 5, 1 << 39] {
            requests.insert(Name(7), position);
        }
        assert_eq!(requests.candidates(Name(7)), [3, 5, 1 << 39]);
        assert!(requests.candidates(Name(7 << 60)).is_empty());
    }

    #[test]
    fn pl_11_stream_and_request_id_make_the_name() {
        let requests = Requests::default();
        let (alice, bob) = (StreamId::player("acme", "alice"), StreamId::player("acme", "bob"));
        assert_eq!(requests.name(&alice, "r-1"), requests.name(&alice, "r-1"));
        assert_ne!(requests.name(&alice, "r-1"), requests.name(&bob, "r-1"));
        assert_ne!(requests.name(&alice, "r-1"), requests.name(&alice, "r-2"));
    }
}
