use crate::contract::draws::Draws;
use crate::contract::info::{PayRow, SymbolInfo, SymbolRole};
use crate::contract::outcome::{CELLS_MAX, Outcome, Spin, SpinKind, Stops, Win, WinKind};
use crate::contract::round::Terms;
use crate::contract::stake::Stake;
use crate::parts::lines::{LineMask, LineWin, Lines, SYMBOLS_MAX};
use crate::parts::reels::{Column, REELS, ROWS_MAX, Reels, StopsAt};
use crate::parts::scatters::{Counter, Scatters};
use crate::parts::worth::CoinWorth;

#[derive(Clone, Debug)]
pub struct Windows {
    pub reels: Reels,
    pub lines: Lines,
    pub scatters: Scatters,
    pub bonus: Counter,
    pub bonus_needs: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    pub scatters: u8,
    pub bonuses: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineBet {
    pub lines: LineMask,
    pub coins_per_line: u64,
    pub bet_coins: u64,
    pub worth: CoinWorth,
}

impl LineBet {
    #[must_use]
    pub fn new(stake: &Stake, terms: &Terms, bet_coins: u64) -> Self {
        Self {
            lines: Lines::first(stake.lines),
            coins_per_line: u64::from(stake.coins_per_line),
            bet_coins,
            worth: CoinWorth::new(stake.coin_value_micros, terms.minor_micros),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Line wins, including the multiplier.
    pub line_coins: u64,
    pub scatter_coins: u64,
    pub free_spins_won: u32,
    pub bonus: bool,
}

impl Shown {
    #[inline]
    #[must_use]
    pub fn win_coins(&self) -> u64 {
        self.line_coins + self.scatter_coins
    }
}

impl Windows {
    pub fn of_lines(reels: Reels, lines: Lines) -> Result<Self, crate::parts::file::ModelError> {
        let nothing = u8::try_from(SYMBOLS_MAX).unwrap_or(u8::MAX);
        let counter = Counter::new(&reels, nothing)?;
        let scatters =
            Scatters { symbol: nothing, counter: counter.clone(), pays: [0; REELS + 1], free_spins: [0; REELS + 1] };
        Ok(Self { reels, lines, scatters, bonus: counter, bonus_needs: u8::MAX })
    }

    #[inline]
    pub fn spin(&self, bet: &LineBet, multiplier: u64, kind: SpinKind, draws: &mut Draws, out: &mut Outcome) -> Shown {
        let stops = self.reels.spin(draws);
        let wins_from = out.wins.len();
        let mut line_coins = 0;
        let specials = self.evaluate(&stops, bet.lines, |line, win| {
            let coins = win.pays * bet.coins_per_line * multiplier;
            line_coins += coins;
            out.wins.push(Win { kind: WinKind::Line(line), symbol: win.symbol, count: win.count, coins });
        });
        let of_scatters = usize::from(specials.scatters);
        let scatter_coins = self.scatters.pays[of_scatters] * bet.bet_coins;
        if scatter_coins > 0 {
            let (symbol, count) = (self.scatters.symbol, specials.scatters);
            out.wins.push(Win { kind: WinKind::Scatter, symbol, count, coins: scatter_coins });
        }
        let free_spins_won = self.scatters.free_spins[of_scatters];
        let bonus = specials.bonuses >= self.bonus_needs;
        let shown = Shown { line_coins, scatter_coins, free_spins_won, bonus };
        out.spins.push(Spin {
            kind,
            stops: stops_of(&stops),
            reels: index8(REELS),
            rows: index8(self.reels.rows()),
            cells: self.cells(&stops),
            multiplier: u32::try_from(multiplier).unwrap_or(u32::MAX),
            wins: index(wins_from)..index(out.wins.len()),
            marks: 0..0,
            win_coins: shown.win_coins(),
            win_minor: bet.worth.minor(shown.win_coins()),
            free_spins_won,
            bonus,
        });
        shown
    }

    #[must_use]
    pub fn paytable(&self, symbols: &[SymbolInfo], bonus_needs: u8) -> Vec<PayRow> {
        let mut rows = Vec::new();
        for (symbol, info) in (0u8..).zip(symbols) {
            for count in (1u8..=5).rev() {
                let n = usize::from(count);
                let scatter = info.role == SymbolRole::Scatter;
                let bonus = info.role == SymbolRole::Bonus && count >= bonus_needs;
                let (pays, free_spins) = if scatter {
                    (self.scatters.pays[n], self.scatters.free_spins[n])
                } else {
                    (self.lines.pays()[usize::from(symbol)][n], 0)
                };
                if pays > 0 || free_spins > 0 || bonus {
                    rows.push(PayRow { symbol, count, pays, free_spins, scatter, bonus });
                }
            }
        }
        rows
    }

    fn cells(&self, stops: &StopsAt) -> [u8; CELLS_MAX] {
        let mut cells = [0; CELLS_MAX];
        let rows = self.reels.rows();
        for (reel, column) in self.reels.window(stops).iter().enumerate() {
            cells[reel * rows..][..ROWS_MAX].copy_from_slice(column);
        }
        cells[REELS * rows..].fill(0);
        cells
    }

    #[inline]
    pub fn evaluate(&self, stops: &StopsAt, played: LineMask, mut line_win: impl FnMut(u8, LineWin)) -> Specials {
        let mut winners = self.lines.winners(stops, played);
        if winners != 0 {
            let window: [Column; REELS] = self.reels.window(stops);
            while winners != 0 {
                let line = winners.trailing_zeros();
                winners &= winners - 1;
                #[allow(clippy::cast_possible_truncation)]
                line_win(line as u8, self.lines.best(line as usize, &window));
            }
        }
        Specials { scatters: self.scatters.counter.count(stops), bonuses: self.bonus.count(stops) }
    }
}

pub(crate) fn stops_of(stops: &StopsAt) -> Stops {
    let mut all = Stops::default();
    for &stop in stops {
        all.push(u16::try_from(stop).unwrap_or(u16::MAX));
    }
    all
}

/// Cannot overflow: there are at most 100 windows with 65 wins each.
#[allow(clippy::cast_possible_truncation)]
pub(crate) const fn index(of: usize) -> u32 {
    of as u32
}

/// Cannot truncate: the number is at most five.
#[allow(clippy::cast_possible_truncation)]
pub(crate) const fn index8(of: usize) -> u8 {
    of as u8
}
