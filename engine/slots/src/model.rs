//! A compiled line game: what a data file says, checked, in the form that serves players.
//!
//! Compiling proves the file: a return or a jackpot chance that differs from the promised one by
//! anything at all is a [`ModelError`]. Costs about a millisecond, once a game.

use crate::data::{self, GameData, ModelError, Role, SymbolData};
use crate::game::{GameInfo, PayRow, PrizeInfo, SymbolInfo, SymbolRole};
use crate::lines::{LineMask, LinePays, LineWin, Lines, PAYS_MAX, SYMBOLS_MAX};
use crate::outcome::CARDS_MAX;
use crate::par;
use crate::reels::{Column, REELS, Reels, StopsAt};
use crate::scatters::{Counter, Scatters};
use crate::stake::StakeLimits;
use crate::wheel::Wheel;

/// Rows of the window.
const ROWS: usize = 3;
/// Highest multiplier of free spins.
const MULTIPLIER_MAX: u32 = 100;
/// Most coins a line.
const COINS_PER_LINE_MAX: u32 = 1000;

/// A line game with scatters, free spins and a bonus wheel.
#[derive(Clone, Debug)]
pub struct Model {
    /// The reels.
    pub reels: Reels,
    /// The paylines.
    pub lines: Lines,
    /// The scatters.
    pub scatters: Scatters,
    /// Counts bonus symbols.
    pub bonus: Counter,
    /// Bonus symbols that start the bonus round.
    pub bonus_needs: u8,
    /// Vials to choose three from.
    pub vials: u8,
    /// The bonus wheel.
    pub wheel: Wheel,
    /// The progressive jackpot.
    pub jackpot: Jackpot,
    /// What line wins of free spins are multiplied by.
    pub multiplier: u32,
    /// Stakes offered.
    pub limits: StakeLimits,
    /// The symbols' names and roles.
    pub symbols: Vec<SymbolInfo>,
    /// The promised return without the jackpot, in millionths.
    pub rtp_micros: u64,
}

/// What the progressive jackpot promises; its money is kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jackpot {
    /// Paid spins to one jackpot, for each coin staked.
    pub odds: u64,
    /// The pool's seed in coins.
    pub seed_coins: u64,
    /// The part of each bet that grows the pool, in millionths.
    pub contribution_micros: u64,
    /// The coin value that the whole pool belongs to, in millionths of the major unit.
    pub base_coin_micros: u64,
}

/// What one window shows besides its line wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    /// Scatters in the window.
    pub scatters: u8,
    /// Bonus symbols in the window.
    pub bonuses: u8,
}

impl Model {
    /// Parses, compiles and proves a data file.
    ///
    /// # Errors
    /// The first part that's wrong, then a return or jackpot chance other than promised.
    pub fn compile(text: &str) -> Result<Self, ModelError> {
        let model = Self::compile_unproven(&data::parse(text)?)?;
        par::prove(&model)?;
        Ok(model)
    }

    /// Compiles without proving return and jackpot chance: for tuning a game that's not there yet.
    ///
    /// # Errors
    /// The first part that's wrong.
    pub fn compile_unproven(data: &GameData) -> Result<Self, ModelError> {
        let reels = Reels::new(&strips(data)?, ROWS)?;
        let lines = Lines::new(&reels, rows(data)?, line_pays(data)?, only(data, Role::Wild)?, on_lines(data))?;
        let limits = limits(data, lines.rows().len())?;
        let coins_max = u64::from(limits.lines.1) * u64::from(limits.coins_per_line.1);
        if data.bonus.vials < 3 || data.bonus.needs == 0 {
            return Err(ModelError::part("bonus", "fewer than three vials, or no symbols needed"));
        }
        if !(1..=MULTIPLIER_MAX).contains(&data.free_spins.multiplier) {
            return Err(ModelError::part("free_spins", "the multiplier is outside 1 to 100"));
        }
        Ok(Self {
            scatters: scatters(data, &reels)?,
            bonus: Counter::new(&reels, only(data, Role::Bonus)?)?,
            bonus_needs: data.bonus.needs,
            vials: data.bonus.vials,
            wheel: Wheel::new(&data.wheel, coins_max)?,
            jackpot: jackpot(data)?,
            multiplier: data.free_spins.multiplier,
            limits,
            symbols: data.symbols.iter().map(symbol_info).collect(),
            rtp_micros: data::micros("rtp", &data.rtp)?,
            lines,
            reels,
        })
    }

    /// Evaluates a window: hands over each line win, in the order of the lines, and counts the
    /// special symbols. The one evaluator of players' spins, of the scan and of the simulation.
    #[inline]
    pub fn evaluate(&self, stops: &StopsAt, played: LineMask, mut line_win: impl FnMut(u8, LineWin)) -> Specials {
        let mut winners = self.lines.winners(stops, played);
        if winners != 0 {
            let window: [Column; REELS] = self.reels.window(stops);
            while winners != 0 {
                let line = winners.trailing_zeros();
                winners &= winners - 1;
                #[allow(clippy::cast_possible_truncation)] // A mask has 16 bits.
                line_win(line as u8, self.lines.best(line as usize, &window));
            }
        }
        Specials { scatters: self.scatters.counter.count(stops), bonuses: self.bonus.count(stops) }
    }

    /// The description (PL-13).
    #[must_use]
    pub fn info(&self, data: &GameData) -> GameInfo {
        let money = self.wheel.weights(0).map(|(prize, _)| prize).filter(|&p| p != PrizeInfo::Jackpot);
        GameInfo {
            title: data.title.clone(),
            rules_text: data.rules.trim().to_owned(),
            reels: 5,
            rows: 3,
            symbols: self.symbols.clone(),
            paytable: self.paytable(),
            lines: self.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            limits: self.limits.clone(),
            vials: self.vials,
            prizes: std::iter::once(PrizeInfo::Jackpot).chain(money).collect(),
            jackpot: true,
            doubles_max: u32::try_from(CARDS_MAX).unwrap_or(u32::MAX),
            free_spin_multiplier: self.multiplier,
        }
    }

    /// Everything that pays, awards or starts something, symbol by symbol, most of a kind first.
    pub(crate) fn paytable(&self) -> Vec<PayRow> {
        let mut rows = Vec::new();
        for (symbol, info) in (0u8..).zip(&self.symbols) {
            for count in (1u8..=5).rev() {
                let n = usize::from(count);
                let scatter = info.role == SymbolRole::Scatter;
                let bonus = info.role == SymbolRole::Bonus && count >= self.bonus_needs;
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
}

fn symbol_info(data: &SymbolData) -> SymbolInfo {
    let role = match data.role {
        Role::Regular => SymbolRole::Regular,
        Role::Wild => SymbolRole::Wild,
        Role::Scatter => SymbolRole::Scatter,
        Role::Bonus => SymbolRole::Bonus,
    };
    SymbolInfo { name: data.name.clone(), role }
}

/// The index of a symbol by its code.
fn index_of(data: &GameData, code: &str) -> Result<u8, ModelError> {
    let found = data.symbols.iter().position(|s| s.code == code);
    let index = found.and_then(|i| u8::try_from(i).ok());
    index.ok_or_else(|| ModelError::part("reels", format!("unknown symbol `{code}`")))
}

/// The index of the only symbol of a role.
fn only(data: &GameData, role: Role) -> Result<u8, ModelError> {
    let mut of_role = data.symbols.iter().filter(|s| s.role == role);
    match (of_role.next(), of_role.next()) {
        (Some(symbol), None) => index_of(data, &symbol.code),
        _ => Err(ModelError::part("symbols", format!("there must be one {role:?} symbol"))),
    }
}

fn strips(data: &GameData) -> Result<Vec<Vec<u8>>, ModelError> {
    let codes: std::collections::BTreeSet<&str> = data.symbols.iter().map(|s| s.code.as_str()).collect();
    if codes.len() != data.symbols.len() || codes.len() > SYMBOLS_MAX {
        return Err(ModelError::part("symbols", "a code is used twice, or there are too many"));
    }
    let strip = |text: &String| text.split_whitespace().map(|code| index_of(data, code)).collect();
    data.reels.strips.iter().map(strip).collect()
}

fn rows(data: &GameData) -> Result<Vec<[u8; REELS]>, ModelError> {
    let bad = |text: &str| ModelError::part("lines", format!("`{text}` is not a digit for each reel"));
    let line = |text: &String| {
        let digits: Option<Vec<u8>> = text.bytes().map(|b| b.is_ascii_digit().then(|| b - b'0')).collect();
        digits.and_then(|d| d.try_into().ok()).ok_or_else(|| bad(text))
    };
    data.lines.rows.iter().map(line).collect()
}

fn on_lines(data: &GameData) -> [bool; SYMBOLS_MAX] {
    let pays = |s: &SymbolData| matches!(s.role, Role::Regular | Role::Wild);
    std::array::from_fn(|symbol| data.symbols.get(symbol).is_some_and(pays))
}

fn line_pays(data: &GameData) -> Result<LinePays, ModelError> {
    let mut pays = LinePays::default();
    for (symbol, pays) in data.symbols.iter().zip(&mut pays) {
        if symbol.role != Role::Scatter {
            *pays = from_none("symbols", &symbol.pays)?;
        }
        if symbol.role != Role::Scatter && !symbol.free_spins.is_empty() {
            return Err(ModelError::part("symbols", "only scatters award free spins"));
        }
    }
    Ok(pays)
}

fn scatters(data: &GameData, reels: &Reels) -> Result<Scatters, ModelError> {
    let symbol = only(data, Role::Scatter)?;
    let of = &data.symbols[usize::from(symbol)];
    if of.pays.iter().any(|&pays| pays > PAYS_MAX) {
        return Err(ModelError::part("symbols", "a scatter pays too much"));
    }
    Ok(Scatters {
        symbol,
        counter: Counter::new(reels, symbol)?,
        pays: from_none("symbols", &of.pays)?,
        free_spins: from_none("symbols", &of.free_spins)?,
    })
}

fn jackpot(data: &GameData) -> Result<Jackpot, ModelError> {
    let jackpot = Jackpot {
        odds: data.jackpot.odds,
        seed_coins: data.jackpot.seed_coins,
        contribution_micros: data::micros("jackpot", &data.jackpot.contribution)?,
        base_coin_micros: data::micros("jackpot", &data.jackpot.base_coin_value)?,
    };
    if jackpot.odds == 0 || jackpot.base_coin_micros == 0 {
        return Err(ModelError::part("jackpot", "odds and base coin value are above zero"));
    }
    Ok(jackpot)
}

/// A table for 1, 2, ... of a kind as one for 0, 1, 2, ...; left out means nothing.
fn from_none<T: Copy + Default>(part: &'static str, table: &[T]) -> Result<[T; REELS + 1], ModelError> {
    if table.len() > REELS {
        return Err(ModelError::part(part, "a table is longer than the reels are many"));
    }
    let mut all = [T::default(); REELS + 1];
    all[1..=table.len()].copy_from_slice(table);
    Ok(all)
}

fn limits(data: &GameData, lines: usize) -> Result<StakeLimits, ModelError> {
    let stake = &data.stake;
    let ascends = |(min, max): (u32, u32)| 1 <= min && min <= max;
    let fits = usize::try_from(stake.lines.1).is_ok_and(|most| most <= lines);
    if !ascends(stake.lines) || !ascends(stake.coins_per_line) || !fits || stake.coins_per_line.1 > COINS_PER_LINE_MAX {
        return Err(ModelError::part("stake", "limits out of order, or more lines than there are"));
    }
    let values = stake.coin_values.iter().map(|text| data::micros("stake", text));
    let coin_values_micros = values.collect::<Result<Vec<_>, _>>()?;
    if coin_values_micros.is_empty() || coin_values_micros.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(ModelError::part("stake", "coin values must ascend"));
    }
    Ok(StakeLimits { coin_values_micros, lines: stake.lines, coins_per_line: stake.coins_per_line })
}
