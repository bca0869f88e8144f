//! Symbols that count anywhere in the window: scatters and bonus symbols (BW-04, BW-06).

use crate::contract::info::SymbolRole;
use crate::parts::data::{self, SymbolData};
use crate::parts::file::ModelError;
use crate::parts::lines::PAYS_MAX;
use crate::parts::reels::{REELS, Reels, StopsAt};

/// Counts one symbol in the window. At most one shows on a reel, so there are at most five.
#[derive(Clone, Debug)]
pub struct Counter {
    shows: [Vec<u8>; REELS],
}

impl Counter {
    /// A counter of `symbol`.
    ///
    /// # Errors
    /// Two of it can show on one reel.
    pub fn new(reels: &Reels, symbol: u8) -> Result<Self, ModelError> {
        let shows = std::array::from_fn(|reel| {
            let columns = reels.columns(reel).iter();
            columns.map(|c| c.iter().take(reels.rows()).map(|&s| u8::from(s == symbol)).sum()).collect()
        });
        if shows.iter().flatten().any(|&n: &u8| n > 1) {
            let what = format!("two of symbol {symbol} show in one window of a reel");
            return Err(ModelError::part("reels", what));
        }
        Ok(Self { shows })
    }

    /// How many show at these stops.
    #[inline]
    #[must_use]
    pub fn count(&self, stops: &StopsAt) -> u8 {
        (0..REELS).map(|reel| self.shows[reel][stops[reel]]).sum()
    }

    /// Whether one shows on a reel at a stop.
    #[must_use]
    pub fn shows(&self, reel: usize, stop: usize) -> bool {
        self.shows[reel][stop] > 0
    }
}

/// Scatters: what they count to, pay and award.
#[derive(Clone, Debug)]
pub struct Scatters {
    /// The symbol's index.
    pub symbol: u8,
    /// Counts it.
    pub counter: Counter,
    /// The pays of 0, 1, ... 5, times the total bet.
    pub pays: [u64; REELS + 1],
    /// Free spins that 0, 1, ... 5 award.
    pub free_spins: [u32; REELS + 1],
}

impl Scatters {
    /// The only scatter of these symbols.
    ///
    /// # Errors
    /// None or several, tables that are too long, a pay beyond [`PAYS_MAX`], or two that show on one reel.
    pub fn new(symbols: &[SymbolData], reels: &Reels) -> Result<Self, ModelError> {
        let symbol = data::only(symbols, SymbolRole::Scatter)?;
        let of = &symbols[usize::from(symbol)];
        if of.pays.iter().any(|&pays| pays > PAYS_MAX) {
            return Err(ModelError::part("symbols", "a scatter pays too much"));
        }
        Ok(Self {
            symbol,
            counter: Counter::new(reels, symbol)?,
            pays: data::from_none("symbols", &of.pays)?,
            free_spins: data::from_none("symbols", &of.free_spins)?,
        })
    }
}
