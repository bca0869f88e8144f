use crate::{
    merkle::{Hash, TILE_HEIGHT},
    text::{Malformed, decimal},
};
use std::{fmt, str::FromStr};

pub const TILE_WIDTH: u16 = 256;
const LEVEL_MAX: u8 = 63;

/// Path of a tile (`tile/<L>/<N>[.p/<W>]`) or of a bundle of entries (`tile/entries/<N>[.p/<W>]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    pub level: Option<u8>,
    pub index: u64,
    /// 1 to 256.
    pub width: u16,
}

impl Tile {
    #[must_use]
    pub fn is_within(&self, size: u64) -> bool {
        let held = size.checked_shr(u32::from(self.level.unwrap_or(0)) * TILE_HEIGHT).unwrap_or(0);
        u128::from(self.index) * u128::from(TILE_WIDTH) + u128::from(self.width) <= u128::from(held)
    }

    #[must_use]
    pub fn first(&self) -> u64 {
        self.index.saturating_mul(TILE_WIDTH.into())
    }

    /// Encodes entries, each preceded by its length as a two-byte big-endian integer.
    #[must_use]
    pub fn bundle(entries: &[Hash]) -> Vec<u8> {
        entries.iter().flat_map(|entry| [0, 32].into_iter().chain(*entry)).collect()
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(f, "tile/{level}/")?,
            None => f.write_str("tile/entries/")?,
        }
        let mut groups = vec![self.index % 1000];
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        while let Some(group) = groups.pop() {
            match groups.is_empty() {
                false => write!(f, "x{group:03}/")?,
                true => write!(f, "{group:03}")?,
            }
        }
        if self.width < TILE_WIDTH { write!(f, ".p/{}", self.width) } else { Ok(()) }
    }
}

impl FromStr for Tile {
    type Err = Malformed;

    fn from_str(path: &str) -> Result<Self, Malformed> {
        let read = || {
            let (level, rest) = path.strip_prefix("tile/")?.split_once('/')?;
            let level = match level {
                "entries" => None,
                level => Some(decimal(level).and_then(|level| u8::try_from(level).ok())?),
            };
            let (groups, width) = match rest.split_once(".p/") {
                Some((groups, width)) => (groups, u16::try_from(decimal(width)?).ok()?),
                None => (rest, TILE_WIDTH),
            };
            let digits: String = groups.split('/').map(|group| group.strip_prefix('x').unwrap_or(group)).collect();
            let index = digits.parse().ok()?;
            Some(Self { level, index, width })
        };
        let found = read().filter(|tile| tile.width > 0 && tile.level.is_none_or(|level| level <= LEVEL_MAX));
        found
            .filter(|tile| tile.to_string() == path)
            .ok_or(Malformed("not a tile path: expected tile/<L>/<N> or tile/entries/<N>"))
    }
}
