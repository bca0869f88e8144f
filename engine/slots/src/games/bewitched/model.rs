//! Compiled data file of Bewitched. Compilation checks the published return and jackpot odds exactly.

use super::data::GameData;
use crate::contract::info::{GameInfo, PayRow, PrizeInfo, SymbolInfo, SymbolRole};
use crate::contract::par::{PartName, decimal, ratio};
use crate::contract::stake::StakeLimits;
use crate::parts::data;
use crate::parts::file::{self, ModelError};
use crate::parts::reels::Reels;
use crate::parts::scatters::{Counter, Scatters};
use crate::parts::wheel::Wheel;
use crate::parts::windows::Windows;

pub(super) const BASE_LINES: usize = 0;
pub(super) const SCATTER: usize = 1;
pub(super) const BONUS: usize = 2;
pub(super) const FREE_SPINS: usize = 3;
pub(super) const PARTS: [PartName; 4] = [
    PartName::cash("base_lines", "line wins of the paid spin"),
    PartName::cash("scatter", "scatter wins of the paid spin"),
    PartName::cash("bonus", "money prizes won in bonuses of the paid spin"),
    PartName::cash("free_spins", "all wins in free spins, including their bonuses"),
];

const SHORT_NAMES: [(&str, &str); 2] = [("Witches' Battle", "Battle"), ("Purple Potion", "Purple")];
const ROWS: usize = 3;
const MULTIPLIER_MAX: u32 = 100;
pub(crate) const VIALS_PICKED: u8 = 3;
pub(crate) const DOUBLES_MAX: u8 = 5;

#[derive(Clone, Debug)]
pub struct Model {
    pub windows: Windows,
    pub vials: u8,
    pub wheel: Wheel,
    pub jackpot: Jackpot,
    pub multiplier: u32,
    pub limits: StakeLimits,
    pub symbols: Vec<SymbolInfo>,
    pub rtp_micros: u64,
    pub rtp_span_micros: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jackpot {
    pub odds: u64,
    pub seed_coins: u64,
    pub contribution_micros: u64,
    /// In millionths.
    pub base_coin_micros: u64,
}

impl Model {
    /// Compiles a data file without checking its published return.
    pub fn new(data: &GameData) -> Result<Self, ModelError> {
        let reels = Reels::new(&data::strips(&data.symbols, &data.reels.strips)?, ROWS)?;
        let lines = data::lines(&reels, &data.symbols, &data.lines)?;
        let limits = data::limits(&data.stake, lines.rows().len())?;
        let coins_max = u64::from(limits.lines.1) * u64::from(limits.coins_per_line.1);
        if data.bonus.vials < 3 || data.bonus.needs == 0 {
            return Err(ModelError::part(
                "bonus",
                "there must be at least three vials, and a bonus must need at least one symbol",
            ));
        }
        if !(1..=MULTIPLIER_MAX).contains(&data.free_spins.multiplier) {
            return Err(ModelError::part("free_spins", "the multiplier must be 1 to 100"));
        }
        Ok(Self {
            windows: Windows {
                scatters: Scatters::new(&data.symbols, &reels)?,
                bonus: Counter::new(&reels, data::only(&data.symbols, SymbolRole::Bonus)?)?,
                bonus_needs: data.bonus.needs,
                lines,
                reels,
            },
            vials: data.bonus.vials,
            wheel: Wheel::new(&data.wheel, coins_max)?,
            jackpot: jackpot(data)?,
            multiplier: data.free_spins.multiplier,
            limits,
            symbols: data::symbol_infos(&data.symbols, &SHORT_NAMES),
            rtp_micros: file::micros("rtp", &data.rtp)?,
            rtp_span_micros: span(data)?,
        })
    }

    fn jackpot_assumes(&self) -> String {
        let Jackpot { odds, seed_coins, contribution_micros, base_coin_micros } = self.jackpot;
        let seed = seed_coins * base_coin_micros / 1_000_000;
        let percent = decimal(&ratio(contribution_micros, 10_000), 2);
        format!(
            "the pool is active, its seed is {seed} EUR, and it grows by {percent} % of every bet; each coin of a bet wins \
             the jackpot once in {odds} spins on average; the jackpot is proportional to the coin value, and a coin \
             value of {} EUR wins the whole pool. While the pool is suspended, the jackpot cannot be won, and the \
             return without the jackpot applies",
            base_coin_micros / 1_000_000
        )
    }

    #[must_use]
    pub fn info(&self, data: &GameData) -> GameInfo {
        let money = self.wheel.weights(0).map(|(prize, _)| prize).filter(|&p| p != PrizeInfo::Jackpot);
        GameInfo {
            rows: 3,
            paytable: self.paytable(),
            lines: self.windows.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            rows_max: 3,
            picks_of: self.vials,
            picks: (VIALS_PICKED, VIALS_PICKED),
            rtp_span_micros: self.rtp_span_micros,
            jackpot_assumes: self.jackpot_assumes(),
            prizes: std::iter::once(PrizeInfo::Jackpot).chain(money).collect(),
            jackpot: true,
            companions: &["white witch", "dark witch"],
            doubles_max: u32::from(DOUBLES_MAX),
            free_spin_multiplier: self.multiplier,
            ..data.info(&self.symbols, &self.limits)
        }
    }

    pub(crate) fn paytable(&self) -> Vec<PayRow> {
        self.windows.paytable(&self.symbols, self.windows.bonus_needs)
    }
}

/// Fails unless the published range of returns equals the computed range.
fn span(data: &GameData) -> Result<Option<(u64, u64)>, ModelError> {
    let Some((least, most)) = &data.jackpot.rtp_span else { return Ok(None) };
    let span = (file::micros("jackpot", least)?, file::micros("jackpot", most)?);
    let jackpot = jackpot(data)?;
    let seed = ratio(jackpot.seed_coins, jackpot.odds);
    let lowest = ratio(file::micros("rtp", &data.rtp)?, 1_000_000) + seed;
    let highest = &lowest + ratio(jackpot.contribution_micros, 1_000_000);
    if (lowest, highest) != (ratio(span.0, 1_000_000), ratio(span.1, 1_000_000)) {
        return Err(ModelError::part(
            "jackpot",
            "the published range of returns differs from the range of the computed returns",
        ));
    }
    Ok(Some(span))
}

fn jackpot(data: &GameData) -> Result<Jackpot, ModelError> {
    let jackpot = Jackpot {
        odds: data.jackpot.odds,
        seed_coins: data.jackpot.seed_coins,
        contribution_micros: file::micros("jackpot", &data.jackpot.contribution)?,
        base_coin_micros: file::micros("jackpot", &data.jackpot.base_coin_value)?,
    };
    if jackpot.odds == 0 || jackpot.base_coin_micros == 0 {
        return Err(ModelError::part("jackpot", "the jackpot's odds and base coin value must be above 0"));
    }
    Ok(jackpot)
}
