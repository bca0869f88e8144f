//! Wins in games with ways instead of lines (DM-02, DM-03).

use crate::contract::draws::Draws;
use crate::parts::file::ModelError;
use crate::parts::lines::PAYS_MAX;
use crate::parts::reels::{REELS, STOPS_MAX, StopsAt};

/// Symbols with this index or a higher index are not counted.
pub const WAYS_SYMBOLS_MAX: usize = 16;
pub const WAYS_ROWS_MAX: usize = 7;

const LOWEST: u64 = 0x1111_1111_1111_1111;

/// Pays of each symbol per way, in coins, for 0 to 5 reels that show the symbol.
pub type WaysPays = [[u64; REELS + 1]; WAYS_SYMBOLS_MAX];

/// Number of each symbol on a reel, at most 7, in four bits per symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(u64);

impl Counts {
    #[inline]
    #[must_use]
    pub fn with(self, symbol: u8) -> Self {
        Self(self.0.wrapping_add(1u64.checked_shl(4 * u32::from(symbol)).unwrap_or(0)))
    }

    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn count(self, symbol: u8) -> u8 {
        (self.0.checked_shr(4 * u32::from(symbol)).unwrap_or(0) & 15) as u8
    }

    #[inline]
    fn there(self) -> u64 {
        (self.0 | self.0 >> 1 | self.0 >> 2 | self.0 >> 3) & LOWEST
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaysWin {
    pub symbol: u8,
    pub count: u8,
    pub ways: u32,
    pub coins: u64,
}

#[derive(Clone, Debug)]
pub struct Ways {
    pays: WaysPays,
    from_two: u64,
}

impl Ways {
    /// Fails unless each symbol's pays start at two or three reels and ascend.
    pub fn new(pays: WaysPays) -> Result<Self, ModelError> {
        let mut from_two = 0;
        for (symbol, pays) in pays.iter().enumerate().filter(|(_, pays)| pays.iter().any(|&pay| pay > 0)) {
            if pays[1] > 0 || pays[3] == 0 || pays[REELS] > PAYS_MAX || !pays.is_sorted() {
                return Err(ModelError::part(
                    "ways",
                    format!("symbol {symbol} pays {pays:?}, not ascending amounts from two or three reels"),
                ));
            }
            from_two |= u64::from(pays[2] > 0) << (4 * symbol);
        }
        Ok(Self { pays, from_two })
    }

    #[must_use]
    pub fn pays(&self) -> &WaysPays {
        &self.pays
    }

    /// Calls `win` for each win, in ascending order of symbol index.
    #[inline]
    pub fn evaluate(&self, counts: &[Counts; REELS], mut win: impl FnMut(WaysWin)) {
        let mut running = counts[0].there() & counts[1].there() & (counts[2].there() | self.from_two);
        while running != 0 {
            let at = running.trailing_zeros();
            running &= running - 1;
            let (mut ways, mut count) = (1, 0);
            while count < REELS && (counts[count].0 >> at) & 15 > 0 {
                ways *= (counts[count].0 >> at) & 15;
                count += 1;
            }
            let pay = self.pays[at as usize / 4][count];
            if pay > 0 {
                #[allow(clippy::cast_possible_truncation)]
                win(WaysWin { symbol: (at / 4) as u8, count: count as u8, ways: ways as u32, coins: pay * ways });
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaysColumn {
    pub cells: [u8; WAYS_ROWS_MAX],
    pub counts: Counts,
}

#[derive(Clone, Debug)]
pub struct WaysReels {
    rows: usize,
    columns: [Vec<WaysColumn>; REELS],
    lengths: [u32; REELS],
}

impl WaysReels {
    pub fn new(strips: &[Vec<u8>], rows: usize) -> Result<Self, ModelError> {
        let bad = |what: String| ModelError::part("reels", what);
        let strips: &[Vec<u8>; REELS] =
            strips.try_into().map_err(|_| bad(format!("there are {} reel strips instead of {REELS}", strips.len())))?;
        if !(1..=WAYS_ROWS_MAX).contains(&rows) {
            return Err(bad(format!("{rows} rows")));
        }
        if let Some(strip) = strips.iter().find(|strip| strip.len() < rows || strip.len() > STOPS_MAX) {
            return Err(bad(format!("a reel strip must have {rows} to {STOPS_MAX} stops, not {}", strip.len())));
        }
        let columns = strips.each_ref().map(|strip| (0..strip.len()).map(|stop| column(strip, stop, rows)).collect());
        let lengths = strips.each_ref().map(|strip| u32::try_from(strip.len()).unwrap_or(u32::MAX));
        Ok(Self { rows, columns, lengths })
    }

    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    #[must_use]
    pub fn columns(&self, reel: usize) -> &[WaysColumn] {
        &self.columns[reel]
    }

    #[inline]
    pub fn spin(&self, draws: &mut Draws) -> StopsAt {
        let mut stops = [0; REELS];
        for (stop, &length) in stops.iter_mut().zip(&self.lengths) {
            *stop = draws.below(length) as usize;
        }
        stops
    }

    #[inline]
    #[must_use]
    pub fn window(&self, stops: &StopsAt) -> [WaysColumn; REELS] {
        let mut window = [WaysColumn::default(); REELS];
        for ((column, columns), &stop) in window.iter_mut().zip(&self.columns).zip(stops) {
            *column = columns[stop];
        }
        window
    }
}

fn column(strip: &[u8], stop: usize, rows: usize) -> WaysColumn {
    let mut column = WaysColumn::default();
    for (row, cell) in column.cells.iter_mut().take(rows).enumerate() {
        *cell = strip[(stop + row) % strip.len()];
        column.counts = column.counts.with(*cell);
    }
    column
}
