//! A request's name is a 64-bit hash, keyed with the data folder's random key.

use motherlode_log::Position;
use motherlode_state::StreamId;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Name(pub(crate) u64);

impl Name {
    pub(crate) fn place(self, of: u64) -> u64 {
        let place = (u128::from(self.0) * u128::from(of)) >> u64::BITS;
        u64::try_from(place).unwrap_or_default()
    }
}

pub(super) const PREFIX: usize = 7;
pub(super) const ENTRY: usize = 12;

impl Name {
    pub(super) fn prefix(self) -> [u8; PREFIX] {
        let [prefix @ .., _] = self.0.to_be_bytes();
        prefix
    }

    pub(super) fn entry(self, position: Position) -> Option<[u8; ENTRY]> {
        let [0, 0, 0, position @ ..] = position.to_be_bytes() else { return None };
        let mut entry = [0; ENTRY];
        entry[..PREFIX].copy_from_slice(&self.prefix());
        entry[PREFIX..].copy_from_slice(&position);
        Some(entry)
    }
}

pub(super) fn position(entry: &[u8]) -> Position {
    let position = entry.iter().skip(PREFIX).take(ENTRY - PREFIX);
    position.fold(0, |position, byte| position << 8 | u64::from(*byte))
}

/// Random key, so that clients cannot choose colliding names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key(pub(crate) [u8; 16]);

impl Key {
    pub(crate) fn random() -> Self {
        let mut key = [0; 16];
        // A predictable key can only slow lookups, because each lookup compares the request itself.
        if let Err(error) = getrandom::fill(&mut key) {
            tracing::warn!(%error, "the operating system returned no random bytes: request names are hashed with a fixed key");
        }
        Self(key)
    }

    pub(crate) fn name(&self, stream: &StreamId, request_id: &str) -> Name {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        let mut part = |bytes: &[u8]| {
            hasher.write(bytes);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_11_stream_and_request_id_make_the_name() {
        let key = Key([7; 16]);
        let (alice, bob) = (StreamId::player("acme", "alice"), StreamId::player("acme", "bob"));
        assert_eq!(key.name(&alice, "r-1"), key.name(&alice, "r-1"));
        assert_ne!(key.name(&alice, "r-1"), key.name(&bob, "r-1"));
        assert_ne!(key.name(&alice, "r-1"), key.name(&alice, "r-2"));
        assert_ne!(key.name(&alice, "r-1"), Key([8; 16]).name(&alice, "r-1"));
    }

    #[test]
    fn pl_11_an_entry_has_the_bytes_of_its_version() {
        let name = Key([7; 16]).name(&StreamId::player("acme", "alice"), "r-1");
        assert_eq!(name, Name(0x0246_1a6b_b13a_386c));
        let entry = Name(0x0102_0304_0506_0708).entry(0xA1_A2A3_A4A5).unwrap();
        assert_eq!(entry, [1, 2, 3, 4, 5, 6, 7, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5]);
        assert_eq!(position(&entry), 0xA1_A2A3_A4A5);
        assert_eq!(name.entry(1 << 40), None);
    }

    #[test]
    fn pl_11_names_in_order_have_places_in_order() {
        for of in [1, 3, 1_000] {
            let places: Vec<_> = (0..64).map(|bit| Name((1 << bit) - 1).place(of)).collect();
            assert!(places.is_sorted() && places.iter().all(|place| *place < of), "{of}");
            assert_eq!(Name(u64::MAX).place(of), of - 1);
        }
    }
}
