//! Symbols that pay in any position on the reels (BW-04, BW-06).

use crate::contract::info::SymbolRole;
use crate::parts::data::{self, SymbolData};
use crate::parts::file::ModelError;
use crate::parts::lines::PAYS_MAX;
use crate::parts::reels::{REELS, Reels, StopsAt};

#[derive(Clone, Debug)]
pub struct Counter {
    shows: [Vec<u8>; REELS],
}

impl Counter {
    pub fn new(reels: &Reels, symbol: u8) -> Result<Self, ModelError> {
        let shows = std::array::from_fn(|reel| {
            let columns = reels.columns(reel).iter();
            columns.map(|c| c.iter().take(reels.rows()).map(|&s| u8::from(s == symbol)).sum()).collect()
        });
        if shows.iter().flatten().any(|&n: &u8| n > 1) {
            let what = format!("scatter symbol {symbol} must not be visible twice on a reel at the same stop");
            return Err(ModelError::part("reels", what));
        }
        Ok(Self { shows })
    }

    #[inline]
    #[must_use]
    pub fn count(&self, stops: &StopsAt) -> u8 {
        (0..REELS).map(|reel| self.shows[reel][stops[reel]]).sum()
    }

    #[must_use]
    pub fn shows(&self, reel: usize, stop: usize) -> bool {
        self.shows[reel][stop] > 0
    }
}

#[derive(Clone, Debug)]
pub struct Scatters {
    pub symbol: u8,
    pub counter: Counter,
    /// Pays for 0 to 5 scatters, as multiples of the total bet.
    pub pays: [u64; REELS + 1],
    pub free_spins: [u32; REELS + 1],
}

impl Scatters {
    pub fn new(symbols: &[SymbolData], reels: &Reels) -> Result<Self, ModelError> {
        let symbol = data::only(symbols, SymbolRole::Scatter)?;
        let of = &symbols[usize::from(symbol)];
        if of.pays.iter().any(|&pays| pays > PAYS_MAX) {
            return Err(ModelError::part("symbols", "a scatter's pay exceeds the maximum pay"));
        }
        Ok(Self {
            symbol,
            counter: Counter::new(reels, symbol)?,
            pays: data::from_none("symbols", &of.pays)?,
            free_spins: data::from_none("symbols", &of.free_spins)?,
        })
    }
}
