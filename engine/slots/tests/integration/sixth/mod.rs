use motherlode_slots::contract::game::{Edition, RulesVersion};
use motherlode_slots::contract::highest_win::HighestWin;
use motherlode_slots::contract::info::GameInfo;
use motherlode_slots::contract::par::{Exact, Par, PartName, ReelSet, ReturnPart, exact, ratio};
use motherlode_slots::math::highest::{exponent, log_chance};
use motherlode_slots::math::moments;
use motherlode_slots::parts::data::{self, LinesData, ReelsData, StakeData, SymbolData};
use motherlode_slots::parts::file::{self, ModelError};
use motherlode_slots::parts::gamble::Gamble;
use motherlode_slots::parts::reels::Reels;
use motherlode_slots::parts::windows::{LineBet, Windows};
use motherlode_slots::{
    Awaiting, Card, Carried, CarriedScope, Carries, Choice, ChoiceRefused, Draws, Game, Nature, Outcome, Round, Source,
    SpinKind, Stake, StakeRefused, Terms,
};
use num_traits::ToPrimitive;
use serde::Deserialize;

pub const LANTERN: RulesVersion = RulesVersion { name: "1.0", date: "2026-11-21", file: include_str!("lantern.toml") };

const PARTS: [PartName; 2] =
    [PartName::cash("base_lines", "line wins"), PartName::collected("lantern", "the lit lantern")];
const CARRIES: Carries = Carries { keys: &["sparks"], scope: CarriedScope::Currency, shared: &[] };
const DOUBLES_MAX: u8 = 2;

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
    sparks: SparksData,
    jackpot: JackpotData,
    lines: LinesData,
    reels: ReelsData,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct SparksData {
    needs: u32,
    pays_bets: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JackpotData {
    one_in: u32,
}

pub struct Lantern {
    edition: Edition,
    windows: Windows,
    sparks: SparksData,
    one_in: u32,
}

impl Lantern {
    pub fn new(version: &'static RulesVersion) -> Result<Self, ModelError> {
        let data: Data = file::parse(version.file)?;
        let said = (data.name.as_str(), data.rules_version.as_str(), data.rules_date.as_str());
        assert_eq!(said, ("lantern", version.name, version.date));
        let reels = Reels::new(&data::strips(&data.symbols, &data.reels.strips)?, 1)?;
        let lines = data::lines(&reels, &data.symbols, &data.lines)?;
        let limits = data::limits(&data.stake, lines.rows().len())?;
        let windows = Windows::of_lines(reels, lines)?;
        let (actual, promised) = (
            lines_mean(&windows) + lantern_mean(&windows, data.sparks),
            ratio(file::micros("rtp", &data.rtp)?, 1_000_000),
        );
        if actual != promised {
            return Err(ModelError::Return { actual: actual.to_string(), promised: promised.to_string() });
        }
        let info = GameInfo {
            title: data.title,
            rules_text: data.rules,
            reels: 5,
            rows: 1,
            rows_max: 1,
            symbols: data::symbol_infos(&data.symbols, &[]),
            lines: windows.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            limits,
            jackpot: true,
            doubles_max: u32::from(DOUBLES_MAX),
            free_spin_multiplier: 1,
            ..GameInfo::default()
        };
        let edition = Edition::new("lantern", version, &PARTS, &[], info);
        Ok(Self { edition, windows, sparks: data.sparks, one_in: data.jackpot.one_in })
    }
}

fn hits(windows: &Windows) -> Exact {
    exact(moments::hits(windows, 1)) / exact(windows.reels.cycle())
}

fn lantern_mean(windows: &Windows, sparks: SparksData) -> Exact {
    hits(windows) * ratio(sparks.pays_bets, sparks.needs)
}

fn lines_mean(windows: &Windows) -> Exact {
    let table = moments::spin_table(windows, 1);
    exact(table.line_coins.iter().flatten().sum::<u64>()) / exact(windows.reels.cycle())
}

impl Game for Lantern {
    fn edition(&self) -> &Edition {
        &self.edition
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        let bet_coins = u64::from(self.check_stake(stake)?);
        let bet = LineBet::new(stake, terms, bet_coins);
        Ok(Box::new(LanternRound {
            game: self,
            bet,
            bet_coins,
            terms: *terms,
            awaiting: Awaiting::Spin,
            gamble: Gamble::default(),
            win_coins: 0,
        }))
    }

    fn carries(&self) -> Carries {
        CARRIES
    }

    fn nature(&self, source: Source) -> Nature {
        if source == Source::BesideWindows { Nature::Collected } else { Nature::Cash }
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        let bet_coins = u64::from(self.check_stake(stake)?);
        let (lines, lantern) = (lines_mean(&self.windows), lantern_mean(&self.windows, self.sparks));
        let (rtp, cycle) = (&lines + &lantern, exact(self.windows.reels.cycle()));
        let table = moments::spin_table(&self.windows, 1);
        let (lit, pays) = (ratio(1, self.sparks.needs), exact(self.sparks.pays_bets));
        let squared = exact(table.line_coins_squared) / &cycle + exact(2) * &lines * &lit * &pays + &lantern * &pays;
        let variance = squared - &rtp * &rtp;
        let (max_win, max_windows) = moments::max_win(&self.windows, 1);
        Ok(Par {
            game: self.name(),
            rules_version: self.rules_version(),
            model_hash: self.model_hash(),
            bet_coins,
            rtp: rtp.clone(),
            rtp_without_jackpot: rtp.clone(),
            parts: vec![ReturnPart { name: PARTS[0], rtp: lines }, ReturnPart { name: PARTS[1], rtp: lantern }],
            hit_frequency: hits(&self.windows),
            std_dev: variance.to_f64().map_or(f64::NAN, f64::sqrt),
            max_win_bets: exact(max_win) + pays,
            max_win_probability: exact(max_windows) / &cycle * lit,
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
        let chance = exact(max_windows) / exact(self.windows.reels.cycle()) * ratio(1, self.sparks.needs);
        let bets = exact(max_win) + exact(self.sparks.pays_bets);
        Ok(HighestWin::new(bets, exponent(log_chance(&chance)), false))
    }
}

struct LanternRound {
    game: &'static Lantern,
    bet: LineBet,
    bet_coins: u64,
    terms: Terms,
    awaiting: Awaiting,
    gamble: Gamble,
    win_coins: u64,
}

impl LanternRound {
    fn spark(&self, out: &mut Outcome) -> u64 {
        let SparksData { needs, pays_bets } = self.game.sparks;
        let mut carried = self.terms.carried;
        carried.0[0] += 1;
        let lit = carried.0[0] >= i64::from(needs);
        if lit {
            carried.0[0] = 0;
        }
        out.carried = Some(carried);
        if lit { self.bet_coins * u64::from(pays_bets) } else { 0 }
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
                if self.win_coins > 0 {
                    out.part_coins[1] = self.spark(out);
                    self.win_coins += out.part_coins[1];
                }
                out.jackpot = self.terms.jackpot && draws.below(self.game.one_in) == 0;
                self.gamble = Gamble::new(self.bet.worth.minor(self.win_coins), DOUBLES_MAX);
                self.awaiting =
                    if self.terms.double && self.win_coins > 0 { Awaiting::Double } else { Awaiting::Nothing };
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

    fn reopen(&mut self, carried: &Carried) {
        self.terms.carried = *carried;
        (self.awaiting, self.gamble, self.win_coins) = (Awaiting::Spin, Gamble::default(), 0);
    }
}
