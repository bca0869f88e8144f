//! Reels. A strip is a ring, and a stop is the strip position in the top row. All stops are equally likely
//! (PL-14). Stops are drawn one reel at a time, from the left.

use crate::contract::draws::Draws;
use crate::parts::file::ModelError;

pub const REELS: usize = 5;
pub const ROWS_MAX: usize = 4;
pub const STOPS_MAX: usize = 1024;

pub const CYCLE_MAX: u64 = 1 << 36;

pub type StopsAt = [usize; REELS];

/// Symbols shown at a stop, from the top; rows below the window are 0.
pub type Column = [u8; ROWS_MAX];

#[derive(Clone, Debug)]
pub struct Reels {
    rows: usize,
    columns: [Vec<Column>; REELS],
    lengths: [u32; REELS],
}

impl Reels {
    pub fn new(strips: &[Vec<u8>], rows: usize) -> Result<Self, ModelError> {
        let bad = |what: String| ModelError::part("reels", what);
        let strips: &[Vec<u8>; REELS] =
            strips.try_into().map_err(|_| bad(format!("there are {} reel strips instead of {REELS}", strips.len())))?;
        if !(1..=ROWS_MAX).contains(&rows) {
            return Err(bad(format!("{rows} rows")));
        }
        let mut lengths = [0; REELS];
        for (length, strip) in lengths.iter_mut().zip(strips) {
            if strip.len() < rows || strip.len() > STOPS_MAX {
                return Err(bad(format!("a reel strip must have {rows} to {STOPS_MAX} stops, not {}", strip.len())));
            }
            *length = u32::try_from(strip.len()).map_err(|e| bad(e.to_string()))?;
        }
        let columns =
            strips.each_ref().map(|strip| (0..strip.len()).map(|stop| column_at(strip, stop, rows)).collect());
        let reels = Self { rows, columns, lengths };
        if reels.cycle() > CYCLE_MAX {
            return Err(bad(format!("the reels have {} stop combinations, which is too many", reels.cycle())));
        }
        Ok(reels)
    }

    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    #[must_use]
    pub fn lengths(&self) -> [u32; REELS] {
        self.lengths
    }

    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.lengths.iter().map(|&n| u64::from(n)).product()
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
    pub fn column(&self, reel: usize, stop: usize) -> Column {
        self.columns[reel][stop]
    }

    #[inline]
    #[must_use]
    pub fn window(&self, stops: &StopsAt) -> [Column; REELS] {
        let mut window = [Column::default(); REELS];
        for ((column, columns), &stop) in window.iter_mut().zip(&self.columns).zip(stops) {
            *column = columns[stop];
        }
        window
    }

    #[must_use]
    pub fn columns(&self, reel: usize) -> &[Column] {
        &self.columns[reel]
    }

    #[must_use]
    pub fn strips(&self) -> Vec<Vec<u8>> {
        self.columns.iter().map(|columns| columns.iter().map(|column| column[0]).collect()).collect()
    }

    /// Returns stop combination number `place`; combinations are ordered so that the rightmost reel changes fastest.
    #[must_use]
    pub fn stops_at(&self, place: u64) -> StopsAt {
        let mut rest = place;
        let mut stops = [0; REELS];
        for (stop, &length) in stops.iter_mut().zip(&self.lengths).rev() {
            let length = u64::from(length);
            *stop = usize::try_from(rest % length).unwrap_or(0);
            rest /= length;
        }
        stops
    }
}

fn column_at(strip: &[u8], stop: usize, rows: usize) -> Column {
    let mut column = [0; ROWS_MAX];
    for (row, cell) in column.iter_mut().take(rows).enumerate() {
        *cell = strip[(stop + row) % strip.len()];
    }
    column
}
