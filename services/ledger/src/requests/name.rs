//! The names of requests as the table knows them: 64 bits of a hash whose key is the folder's own.

use motherlode_books::StreamId;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// A request's name, hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Name(pub(crate) u64);

impl Name {
    /// Its place among so many: names in order have places in order, and all places get about as many names.
    pub(crate) fn place(self, of: u64) -> u64 {
        let place = (u128::from(self.0) * u128::from(of)) >> u64::BITS;
        u64::try_from(place).unwrap_or_default()
    }
}

/// The key of the hash. It's random, so nobody can choose names that collide; files of another key are of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key(pub(crate) [u8; 16]);

impl Key {
    pub(crate) fn random() -> Self {
        let mut key = [0; 16];
        // Without the system's entropy nothing is dealt either. Names are compared anyway: a known key costs time only.
        if let Err(error) = getrandom::fill(&mut key) {
            tracing::warn!(%error, "no entropy for the table of requests");
        }
        Self(key)
    }

    /// The name of a player's stream itself.
    pub(crate) fn player(&self, operator: &str, player: &str) -> Name {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(operator.as_bytes());
        hasher.write(&[0]);
        hasher.write(player.as_bytes());
        Name(hasher.finish())
    }

    /// The name of a request on a stream.
    pub(crate) fn name(&self, stream: &StreamId, request_id: &str) -> Name {
        let mut hasher = SipHasher13::new_with_key(&self.0);
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
    fn pl_11_names_in_order_have_places_in_order() {
        for of in [1, 3, 1_000] {
            let places: Vec<_> = (0..64).map(|bit| Name((1 << bit) - 1).place(of)).collect();
            assert!(places.is_sorted() && places.iter().all(|place| *place < of), "{of}");
            assert_eq!(Name(u64::MAX).place(of), of - 1);
        }
    }
}
