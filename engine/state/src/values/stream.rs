use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use smol_str::SmolStr;

use super::name::is_id;

/// Partition with the streams of exchange rates, switches and pools.
pub const HOME: u32 = 0;

/// Stream to which a commit belongs, such as `player/acme/alice`, `pool/lantern`, `rates` or `system`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StreamId {
    Player { operator: SmolStr, player: SmolStr },
    Pool(SmolStr),
    Rates,
    System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a stream: expected player/<operator>/<player>, pool/<pool>, rates or system; \
     ids have 1 to 64 characters of [A-Za-z0-9._~-]"
)]
pub struct NotAStream;

impl StreamId {
    pub fn player(operator: impl Into<SmolStr>, player: impl Into<SmolStr>) -> Self {
        Self::Player { operator: operator.into(), player: player.into() }
    }

    /// Returns whether all records of the stream concern the operator, or `None` if `Commit::concerns` must check each
    /// record's events.
    #[must_use]
    pub fn concerns(&self, operator: &str) -> Option<bool> {
        match self {
            Self::Player { operator: of, .. } => Some(of == operator),
            Self::Rates => Some(true),
            Self::Pool(_) => Some(false),
            Self::System => None,
        }
    }

    pub fn pool(pool: impl Into<SmolStr>) -> Self {
        Self::Pool(pool.into())
    }

    /// For a player, returns the first 8 bytes, big-endian, of the SHA-256 of the operator, a zero byte and the player,
    /// modulo `partitions`; for another stream, returns [`HOME`].
    #[must_use]
    pub fn partition(&self, partitions: u32) -> u32 {
        let Self::Player { operator, player } = self else { return HOME };
        if partitions <= 1 {
            return HOME;
        }
        let digest = Sha256::new().chain_update(operator).chain_update([0]).chain_update(player).finalize();
        let first = digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        u32::try_from(first % u64::from(partitions)).unwrap_or(HOME)
    }

    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Player { operator, player } => is_id(operator) && is_id(player),
            Self::Pool(pool) => is_id(pool),
            Self::Rates | Self::System => true,
        }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Player { operator, player } => write!(f, "player/{operator}/{player}"),
            Self::Pool(pool) => write!(f, "pool/{pool}"),
            Self::Rates => f.write_str("rates"),
            Self::System => f.write_str("system"),
        }
    }
}

impl FromStr for StreamId {
    type Err = NotAStream;

    fn from_str(text: &str) -> Result<Self, NotAStream> {
        let mut parts = text.split('/');
        let stream = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("player"), Some(operator), Some(player), None) => Self::player(operator, player),
            (Some("pool"), Some(pool), None, None) => Self::pool(pool),
            (Some("rates"), None, None, None) => Self::Rates,
            (Some("system"), None, None, None) => Self::System,
            _ => return Err(NotAStream),
        };
        if stream.is_valid() { Ok(stream) } else { Err(NotAStream) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_are_placed_by_the_documented_hash() {
        let counts = [1, 2, 3, 4, 7];
        for (operator, player, partitions) in [
            ("acme", "alice", [0, 1, 2, 3, 5]),
            ("acme", "bob", [0, 1, 1, 1, 2]),
            ("demo", "alice", [0, 1, 0, 1, 2]),
            ("a", "b.c", [0, 1, 2, 1, 2]),
            ("nordic", "~x-1", [0, 1, 2, 1, 4]),
        ] {
            let stream = StreamId::player(operator, player);
            assert_eq!(counts.map(|count| stream.partition(count)), partitions, "{stream}");
        }
        for elsewhere in [StreamId::pool("bewitched"), StreamId::Rates, StreamId::System] {
            assert_eq!(counts.map(|count| elsewhere.partition(count)), [HOME; 5]);
        }
    }
}
