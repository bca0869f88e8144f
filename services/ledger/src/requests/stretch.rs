//! Hash table of the requests of consecutive commits, with 16 bytes per request. Memory is allocated in advance, so no
//! bet waits for a reallocation.

use super::name::Name;
use motherlode_log::Position;

#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) from: Position,
    names: Vec<Name>,
    /// A slot contains a 1-based index into `names`, or 0 if it is empty.
    slots: Vec<u32>,
    most: usize,
}

impl Stretch {
    pub(super) fn after(from: Position, most: usize) -> Self {
        let most = most.clamp(1, 1 << 24);
        Self { from, names: Vec::with_capacity(most), slots: vec![0; most * 2], most }
    }

    pub(super) fn to(&self) -> Position {
        self.from + self.names.len() as u64
    }

    pub(super) fn is_full(&self) -> bool {
        self.names.len() >= self.most
    }

    pub(super) fn names(&self) -> &[Name] {
        &self.names
    }

    pub(super) fn push(&mut self, name: Name) {
        if self.is_full() {
            return;
        }
        self.names.push(name);
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let free = self.probe(name).find(|slot| self.slots[*slot] == 0);
        if let Some(free) = free {
            self.slots[free] = number;
        }
    }

    pub(super) fn find(&self, name: Name, found: &mut Vec<Position>) {
        let numbers = self.probe(name).map(|slot| self.slots[slot]).take_while(|number| *number != 0);
        let alike = numbers.filter(|number| self.names.get(*number as usize - 1) == Some(&name));
        found.extend(alike.map(|number| self.from + u64::from(number)));
    }

    pub(super) fn after_position(&self, position: Position) -> Self {
        let mut rest = Self::after(position.max(self.from), self.most);
        let skip = usize::try_from(rest.from - self.from).unwrap_or(usize::MAX);
        self.names.iter().skip(skip).for_each(|name| rest.push(*name));
        rest
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.names.capacity() * size_of::<Name>() + self.slots.capacity() * size_of::<u32>()) as u64
    }

    fn probe(&self, name: Name) -> impl Iterator<Item = usize> + use<> {
        let length = self.slots.len();
        let first = usize::try_from(name.place(length as u64)).unwrap_or_default();
        (first..length).chain(0..first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stretch: &Stretch, name: Name) -> Vec<Position> {
        let mut found = vec![];
        stretch.find(name, &mut found);
        found
    }

    #[test]
    fn pl_11_every_request_is_found_until_the_stretch_is_full() {
        for name in [|number: u64| Name(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)), Name] {
            let mut stretch = Stretch::after(100, 1_000);
            let mut number = 0;
            while !stretch.is_full() {
                number += 1;
                stretch.push(name(number));
                assert_eq!(stretch.to(), 100 + number);
            }
            assert_eq!(number, 1_000);
            for number in 1..=1_000 {
                assert_eq!(found(&stretch, name(number)), [100 + number]);
            }
            assert!(found(&stretch, name(1_001)).is_empty());
            let rest = stretch.after_position(1_090);
            assert_eq!((rest.from, rest.to(), found(&rest, name(991))), (1_090, 1_100, vec![1_091]));
            assert!(found(&rest, name(990)).is_empty());
        }
    }

    #[test]
    fn pl_11_names_with_the_same_hash_are_all_places_to_look() {
        let mut stretch = Stretch::after(0, 4);
        for name in [7, 8, 7, 7] {
            stretch.push(Name(name));
        }
        assert_eq!(found(&stretch, Name(7)), [1, 3, 4]);
        assert_eq!(found(&stretch, Name(8)), [2]);
        assert!(found(&stretch, Name(9)).is_empty(), "probing must end although other names fill all slots");
    }
}
