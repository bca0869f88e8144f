/// Maximum number of free spins in a step; the next step contains further free spins.
pub const FREE_SPINS_PER_STEP: u32 = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeSpins {
    left: u32,
}

impl FreeSpins {
    #[inline]
    pub fn award(&mut self, spins: u32) {
        self.left = self.left.saturating_add(spins);
    }

    #[inline]
    pub fn take(&mut self) -> bool {
        let any = self.left > 0;
        self.left = self.left.saturating_sub(1);
        any
    }

    #[inline]
    #[must_use]
    pub fn left(&self) -> u32 {
        self.left
    }
}
