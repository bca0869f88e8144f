use super::data::{GameData, MysteryData};
use crate::contract::info::{
    Autoplay, AutoplayLoss, Fact, GameInfo, PayRow, PrizeInfo, SpecialInfo, SymbolInfo, SymbolRole, ValueSet,
};
use crate::contract::par::{PartName, decimal, exact};
use crate::contract::stake::{Stake, StakeLimits, StakeRefused};
use crate::math::moments;
use crate::parts::data;
use crate::parts::file::{self, ModelError};
use crate::parts::gamble::ColourRules;
use crate::parts::hold_and_win::{Bonus, CELLS, FACTOR_BESIDE_GRAND, HoldAndWin, ROWS, VALUE_MAX};
use crate::parts::reels::Reels;
use crate::parts::weights::Weights;
use crate::parts::windows::Windows;

pub(super) const BASE_LINES: usize = 0;
pub(super) const HOLD_AND_WIN: usize = 1;
pub(super) const PARTS: [PartName; 2] =
    [PartName::cash("base_lines", "line wins of the paid spin"), PartName::cash("hold_and_win", "Hold and Win")];

pub(crate) const GAMBLES_MAX: u8 = 10;
/// Highest special prize, as a multiple of the total bet. The limit keeps the feature's win within 32 bits.
const SPECIAL_MAX: u32 = 10_000;
const FACTOR_MAX: u32 = 10;
const BUY_BETS_MAX: u32 = 1000;

#[derive(Clone, Debug)]
pub struct Model {
    pub windows: Windows,
    pub bought: Windows,
    pub hold_and_win: HoldAndWin,
    pub buy_bets: u32,
    pub buy_rtp: String,
    pub gamble: ColourRules,
    pub limits: StakeLimits,
    pub symbols: Vec<SymbolInfo>,
    pub rtp_micros: u64,
}

impl Model {
    pub fn new(data: &GameData) -> Result<Self, ModelError> {
        let windows = windows(data, &data.reels.strips)?;
        let hold_and_win = hold_and_win(data)?;
        let bought = windows_bought(data)?;
        let limits = data::limits(&data.stake, windows.lines.rows().len())?;
        if !(1..=BUY_BETS_MAX).contains(&data.buy.bets) {
            return Err(ModelError::part("buy", "the price of the feature is out of range"));
        }
        Ok(Self {
            windows,
            bought,
            hold_and_win,
            buy_bets: data.buy.bets,
            buy_rtp: data.buy.rtp.clone(),
            gamble: data.gamble,
            limits,
            symbols: data::symbol_infos(&data.symbols, &[]),
            rtp_micros: file::micros("rtp", &data.rtp)?,
        })
    }

    /// Returns the coins bet and the coins charged, which differ if the feature is bought (ME-18).
    pub fn check(&self, stake: &Stake) -> Result<(u32, u32), StakeRefused> {
        let bet = self.limits.check(&Stake { buy_feature: false, ..*stake })?;
        Ok((bet, if stake.buy_feature { bet * self.buy_bets } else { bet }))
    }

    #[must_use]
    pub fn info(&self, data: &GameData) -> GameInfo {
        let specials = self.hold_and_win.mysteries.items().iter().rev();
        GameInfo {
            rows: 3,
            paytable: self.paytable(),
            lines: self.windows.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            rows_max: 3,
            buy_feature_bets: Some(self.buy_bets),
            multipliers: self.hold_and_win.factors.items().iter().map(|of| of.0).collect(),
            prizes: specials.map(|&(bets, _)| PrizeInfo::Multiple(bets)).collect(),
            specials: named(data),
            values: vec![ValueSet {
                key: "bonus",
                title: "value of a Bonus symbol, in total bets",
                values: self.hold_and_win.values.items().iter().map(|of| of.0.into()).collect(),
            }],
            doubles_max: u32::from(GAMBLES_MAX),
            halve: true,
            autoplay: Autoplay { loss: AutoplayLoss::Passed, ends_above_win: true },
            free_spin_multiplier: 1,
            ..data.info(&self.symbols, &self.limits)
        }
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        let (max_win, windows) = moments::max_win(&self.windows, u32::MAX);
        let bets = exact(max_win) / exact(self.windows.lines.rows().len());
        let odds = exact(self.windows.reels.cycle()) / exact(windows.max(1));
        let bought = self.buy_rtp.clone();
        vec![
            Fact { key: "max_win_bets", title: "highest line win of a paid spin, in bets", value: decimal(&bets, 2) },
            Fact {
                key: "max_win_odds",
                title: "mean number of paid spins until the highest line win occurs",
                value: decimal(&odds, 0),
            },
            Fact {
                key: "buy_feature_rtp",
                title: "return of the bought feature, as a share of its price",
                value: bought,
            },
        ]
    }

    pub(crate) fn paytable(&self) -> Vec<PayRow> {
        let mut rows = Vec::new();
        for (symbol, info) in (0u8..).zip(&self.symbols) {
            let row = |count, pays, bonus| PayRow { symbol, count, pays, free_spins: 0, scatter: false, bonus };
            if info.role == SymbolRole::Bonus {
                rows.extend((self.hold_and_win.needs..=15).rev().map(|count| row(count, 0, true)));
            } else {
                let pays = self.windows.lines.pays()[usize::from(symbol)];
                let paying = (1u8..=5).rev().zip(pays.into_iter().rev()).filter(|(_, pays)| *pays > 0);
                rows.extend(paying.map(|(count, pays)| row(count, pays, false)));
            }
        }
        rows
    }
}

fn named(data: &GameData) -> Vec<SpecialInfo> {
    let special = |of: &MysteryData| SpecialInfo { name: of.name.clone(), bets: of.bets };
    let mut specials: Vec<_> = data.mysteries.iter().map(special).collect();
    specials.sort_by_key(|of| of.bets);
    specials
}

fn windows(data: &GameData, strips: &[String]) -> Result<Windows, ModelError> {
    let reels = Reels::new(&data::strips(&data.symbols, strips)?, ROWS)?;
    let lines = data::lines(&reels, &data.symbols, &data.lines)?;
    Windows::of_lines(reels, lines)
}

fn windows_bought(data: &GameData) -> Result<Windows, ModelError> {
    let windows = windows(data, &data.buy.strips)?;
    let bonus = data::only(&data.symbols, SymbolRole::Bonus)?;
    let fewest = |reel| {
        let columns = windows.reels.columns(reel).iter();
        columns.map(|column| column[..ROWS].iter().filter(|&&cell| cell == bonus).count()).min().unwrap_or(0)
    };
    if (0..5).map(fewest).sum::<usize>() < usize::from(data.feature.needs) {
        return Err(ModelError::part(
            "buy",
            "a bought spin must always show enough Bonus symbols to start the feature",
        ));
    }
    Ok(windows)
}

fn hold_and_win(data: &GameData) -> Result<HoldAndWin, ModelError> {
    let bad = |part, what: &str| Err(ModelError::part(part, what));
    let symbol = data::only(&data.symbols, SymbolRole::Bonus)?;
    let strip = data::strips(&data.symbols, std::slice::from_ref(&data.feature.strip))?.swap_remove(0);
    if !strip.contains(&symbol) || strip.len() > crate::parts::reels::STOPS_MAX {
        return bad("feature", "the feature's strip has no Bonus symbol, or is too long");
    }
    let (needs, respins) = (data.feature.needs, data.feature.respins);
    if !(1..CELLS).contains(&usize::from(needs)) || !(1..=10).contains(&respins) {
        return bad("feature", "the number of required symbols or of respins is out of range");
    }
    if data.bonus.values.len() != VALUE_MAX as usize {
        return bad("bonus", "there must be a weight for each of the values 1 to 18");
    }
    if data.mysteries.iter().any(|m| !(1..=SPECIAL_MAX).contains(&m.bets)) {
        return bad("mysteries", "a special win is 0 or too high");
    }
    if data.factors.iter().any(|f| !(2..=FACTOR_MAX).contains(&f.times)) {
        return bad("factors", "a factor is below 2 or too high");
    }
    let values: Vec<(u32, u32)> = (1..).zip(data.bonus.values.iter().copied()).collect();
    let mut carried: Vec<(Bonus, u32)> = values.iter().map(|&(bets, weight)| (Bonus::Value(bets), weight)).collect();
    carried.push((Bonus::Mystery(0), data.bonus.mystery));
    let outer = Weights::new("bonus", carried.clone())?;
    carried.push((Bonus::Multiplying(0), data.bonus.multiplying));
    let factors: Vec<(u32, u32)> = data.factors.iter().map(|f| (f.times, f.weight)).collect();
    let beside_grand = factors.iter().copied().filter(|f| f.0 <= FACTOR_BESIDE_GRAND).collect();
    Ok(HoldAndWin {
        symbol,
        needs,
        respins,
        strip,
        outer,
        middle: Weights::new("bonus", carried)?,
        values: Weights::new("bonus", values)?,
        grand: data.mysteries.iter().map(|m| m.bets).max().unwrap_or(0),
        mysteries: Weights::new("mysteries", data.mysteries.iter().map(|m| (m.bets, m.weight)).collect())?,
        factors: Weights::new("factors", factors)?,
        factors_beside_grand: Weights::new("factors", beside_grand)?,
    })
}
