//! Lantern: a whole game in one short module, for the page on adding one in engine/README.md. It composes reels, lines
//! and the gamble; its data are beside it.

use motherlode_slots::contract::game::{Edition, RulesVersion};
use motherlode_slots::contract::highest_win::HighestWin;
use motherlode_slots::contract::info::GameInfo;
use motherlode_slots::contract::par::{Exact, Par, Part, PartName, ReelSet, exact, ratio};
use motherlode_slots::math::highest::{exponent, log_chance};
use motherlode_slots::math::moments;
use motherlode_slots::parts::data::{self, LinesData, ReelsData, StakeData, SymbolData};
use motherlode_slots::parts::file::{self, ModelError};
use motherlode_slots::parts::gamble::Gamble;
use motherlode_slots::parts::reels::Reels;
use motherlode_slots::parts::windows::{LineBet, Windows};
use motherlode_slots::{
    Awaiting, Card, Carried, Choice, ChoiceRefused, Draws, Game, Outcome, Round, SpinKind, Stake, StakeRefused, Terms,
};
use num_traits::ToPrimitive;
use serde::Deserialize;

pub const LANTERN: RulesVersion = RulesVersion { name: "1.0", date: "2026-11-21", file: include_str!("lantern.toml") };

const PARTS: [PartName; 1] = [PartName { key: "base_lines", title: "line wins" }];
const DOUBLES_MAX: u8 = 2;

/// The data file: sections that games share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    name: String,
    title: String,
    rules_version: String,
    rules_date: String,
    rtp: String,
    rules: String,
    stake: StakeData,
    symbols: Vec<SymbolData>,
    lines: LinesData,
    reels: ReelsData,
}

/// The game: what the data file says, checked and compiled.
pub struct Lantern {
    edition: Edition,
    windows: Windows,
}

impl Lantern {
    pub fn of(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data: Data = file::parse(version.file)?;
        let said = (data.name.as_str(), data.rules_version.as_str(), data.rules_date.as_str());
        assert_eq!(said, ("lantern", version.name, version.date));
        let reels = Reels::new(&data::strips(&data.symbols, &data.reels.strips)?, 1)?;
        let lines = data::lines(&reels, &data.symbols, &data.lines)?;
        let limits = data::limits(&data.stake, lines.rows().len())?;
        let windows = Windows::of_lines(reels, lines)?;
        let (actual, promised) = (mean(&windows), ratio(file::micros("rtp", &data.rtp)?, 1_000_000));
        if actual != promised {
            return Err(ModelError::Return { actual: actual.to_string(), promised: promised.to_string() });
        }
        let info = GameInfo {
            title: data.title,
            rules_text: data.rules,
            reels: 5,
            rows: 1,
            rows_max: 1,
            symbols: data::symbol_infos(&data.symbols),
            lines: windows.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            limits,
            doubles_max: u32::from(DOUBLES_MAX),
            free_spin_multiplier: 1,
            ..GameInfo::default()
        };
        Ok(Self { edition: Edition::new("lantern", version, &PARTS, info), windows })
    }
}

/// The exact return of the one line.
fn mean(windows: &Windows) -> Exact {
    let table = moments::spin_table(windows, 1);
    exact(table.line_coins.iter().flatten().sum::<u64>()) / exact(windows.reels.cycle())
}

impl Game for Lantern {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        let bet = LineBet::new(stake, terms, u64::from(self.check_stake(stake)?));
        Ok(Box::new(LanternRound { double: terms.double, ..LanternRound::of(self, bet) }))
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        let bet_coins = u64::from(self.check_stake(stake)?);
        let (rtp, cycle) = (mean(&self.windows), exact(self.windows.reels.cycle()));
        let table = moments::spin_table(&self.windows, 1);
        let variance = exact(table.line_coins_squared) / &cycle - &rtp * &rtp;
        let (max_win, max_windows) = moments::max_win(&self.windows, 1);
        Ok(Par {
            game: self.name(),
            rules_version: self.rules_version(),
            model_hash: self.model_hash(),
            bet_coins,
            rtp: rtp.clone(),
            rtp_without_jackpot: rtp.clone(),
            parts: vec![Part { name: PARTS[0], rtp }],
            hit_frequency: exact(moments::hits(&self.windows, 1)) / &cycle,
            std_dev: variance.to_f64().map_or(f64::NAN, f64::sqrt),
            max_win_bets: exact(max_win),
            max_win_probability: exact(max_windows) / &cycle,
            reel_sets: vec![ReelSet {
                title: "all spins",
                strips: self.windows.reels.strips(),
                combinations: Vec::new(),
            }],
            rates: Vec::new(),
            conditional_rtps: Vec::new(),
            exactness: "exact fractions",
        })
    }

    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused> {
        self.check_stake(stake)?;
        let (max_win, max_windows) = moments::max_win(&self.windows, 1);
        let chance = exact(max_windows) / exact(self.windows.reels.cycle());
        Ok(HighestWin { bets: exact(max_win), chance_exponent: exponent(log_chance(&chance)), unlimited: false })
    }
}

/// A round: the spin, then the gamble where the terms keep it open.
struct LanternRound {
    game: &'static Lantern,
    bet: LineBet,
    double: bool,
    awaiting: Awaiting,
    gamble: Gamble,
    win_coins: u64,
}

impl LanternRound {
    fn of(game: &'static Lantern, bet: LineBet) -> Self {
        Self { game, bet, double: false, awaiting: Awaiting::Spin, gamble: Gamble::default(), win_coins: 0 }
    }
}

impl Round for LanternRound {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        match (self.awaiting, *choice) {
            (Awaiting::Spin, Choice::Spin) => {
                let shown = self.game.windows.spin(&self.bet, 1, SpinKind::Base, draws, out);
                out.part_coins[0] = shown.line_coins;
                self.win_coins = shown.win_coins();
                self.gamble = Gamble::of(self.bet.worth.minor(self.win_coins), DOUBLES_MAX);
                self.awaiting = if self.double && self.win_coins > 0 { Awaiting::Double } else { Awaiting::Nothing };
            }
            (Awaiting::Double, Choice::Double(guess @ (Card::RedHeart | Card::BlackSpade))) => {
                out.card = Some(self.gamble.turn(guess, draws));
                self.awaiting = if self.gamble.open() { Awaiting::Double } else { Awaiting::Nothing };
            }
            (Awaiting::Double, Choice::Collect) => self.awaiting = Awaiting::Nothing,
            (awaiting, _) => return Err(ChoiceRefused::NotAwaited { awaiting }),
        }
        out.awaiting = self.awaiting;
        out.double_strip = self.gamble.strip();
        out.round_win_coins = self.win_coins;
        out.round_win_minor = self.gamble.at_risk();
        Ok(())
    }

    fn reopen(&mut self, _carried: &Carried) {
        *self = Self { double: self.double, ..Self::of(self.game, self.bet) };
    }
}
