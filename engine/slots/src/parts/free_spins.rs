//! Free spins won and not yet played (BW-07 to BW-09).
//!
//! Retriggered spins queue behind the original ones. All are played alike, at the same stake and
//! multiplier, so the queue is a number.

/// Most free spins of one step: a step's outcome stays of bounded size, the series doesn't.
pub const FREE_SPINS_PER_STEP: u32 = 100;

/// The queue of free spins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeSpins {
    left: u32,
}

impl FreeSpins {
    /// Adds spins behind those waiting.
    #[inline]
    pub fn award(&mut self, spins: u32) {
        self.left = self.left.saturating_add(spins);
    }

    /// Takes the next one, if any waits.
    #[inline]
    pub fn take(&mut self) -> bool {
        let any = self.left > 0;
        self.left = self.left.saturating_sub(1);
        any
    }

    /// How many wait.
    #[inline]
    #[must_use]
    pub fn left(&self) -> u32 {
        self.left
    }
}
