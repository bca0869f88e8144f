use crate::contract::par::Exact;

/// Highest win of a round, excluding the jackpot.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestWin {
    /// Upper bound on the highest win, as a multiple of the total bet.
    pub bets: Exact,
    /// Decimal exponent of an upper bound on the probability of this win.
    pub chance_exponent: i32,
    /// Whether free spins can award free spins without limit. If true, `bets` is the highest win of rounds in which free
    /// spins award no free spins.
    pub unlimited: bool,
    /// Highest wins per spin, if the game pays some spins at the mean coin value of several rounds. `bets` assumes a
    /// constant coin value; this field gives the highest win if the coin value changes.
    pub collected: Option<CollectedTop>,
    pub gamble: Option<GambleTop>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CollectedTop {
    pub own: Vec<TopWindows>,
    pub collected: Vec<TopWindows>,
    /// Number of earlier rounds whose coin values are averaged with the current round's.
    pub earlier: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TopWindows {
    pub windows: u32,
    pub coins: u64,
    /// Decimal logarithm of an upper bound on the probability that a spin wins `coins`.
    pub log_chance: f64,
    pub log_chance_rounded: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GambleTop {
    Lines { bets: Exact, turns: u8 },
    Win { turns: u8, limit_on_result: bool },
}

impl HighestWin {
    #[must_use]
    pub fn new(bets: Exact, chance_exponent: i32, unlimited: bool) -> Self {
        Self { bets, chance_exponent, unlimited, collected: None, gamble: None }
    }

    #[must_use]
    pub fn definition(&self) -> &'static str {
        match (self.unlimited, self.collected.is_some()) {
            (true, _) => {
                "highest win of a round in which no free spins are retriggered; a round with retriggers can win more, \
                 because their number is unlimited. The maximum chance covers wins of this amount or more, \
                 without the jackpot"
            }
            (false, true) => {
                "upper bound of a round's win, including crystals collected in earlier rounds at the currency's highest \
                 coin value"
            }
            (false, false) => "upper bound of a round's win",
        }
    }

    #[must_use]
    pub fn chance(&self) -> String {
        format!("1e{}", self.chance_exponent)
    }
}
