use super::data::{ChanceData, GameData};
use super::potions::Potion;
use crate::contract::draws::Draws;
use crate::contract::info::{Autoplay, AutoplayLoss, FeatureCombination, GameInfo, PayRow, SymbolInfo, SymbolRole};
use crate::contract::par::PartName;
use crate::contract::stake::StakeLimits;
use crate::parts::data;
use crate::parts::file::{self, ModelError};
use crate::parts::placed::Window;
use crate::parts::reels::{Column, REELS, Reels};
use crate::parts::scatters::{Counter, Scatters};
use crate::parts::weights::Weights;
use crate::parts::windows::Windows;

pub(super) const BASE_LINES: usize = 0;
pub(super) const HIGH_SYMBOLS: usize = 1;
pub(super) const RANDOM_WILDS: usize = 2;
pub(super) const MULTIPLIER: usize = 3;
pub(super) const MEGA_WILD: usize = 4;
pub(super) const EXPLOSION: usize = 5;
pub(super) const FREE_SPINS: usize = 6;
pub(super) const PARTS: [PartName; 7] = [
    PartName::cash("base_lines", "line wins of the paid spin"),
    PartName::collected("high_symbols", "High Symbols Respin"),
    PartName::collected("random_wilds", "Random Wilds Respin"),
    PartName::collected("multiplier", "Multiplier Respin"),
    PartName::collected("mega_wild", "Mega Wild Respin"),
    PartName::collected("explosion", "Explosion"),
    PartName::cash("free_spins", "all wins in free spins, including their features"),
];

const SHORT_NAMES: [(&str, &str); 1] = [("Question mark", "Question")];
pub const ROWS: usize = 4;
pub const CELLS: usize = REELS * ROWS;
pub const FREE_SPINS_NEED: u8 = 2;

/// Probability as a fraction; numerator and denominator are below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    pub times: u64,
    pub of: u64,
}

impl Chance {
    fn new(part: &'static str, data: ChanceData) -> Result<Self, ModelError> {
        let ChanceData { times, of } = data;
        if of == 0 || times > of {
            return Err(ModelError::part(part, format!("the chance {times} in {of} is not a probability")));
        }
        Ok(Self { times, of })
    }

    #[inline]
    pub fn draw(self, draws: &mut Draws) -> bool {
        draws.below_u64(self.of) < self.times
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeFeature {
    Respin {
        respin: Respin,
        multiplied: bool,
    },
    /// Respins until one wins; this win is multiplied.
    Multiplier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Respin {
    HighSymbols,
    RandomWilds,
    MegaWild,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MegaWilds {
    /// Bit mask of the covered cells.
    pub cells: u32,
    pub corners: [Option<u8>; 2],
    pub side: u32,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub base: Windows,
    pub respin: Windows,
    pub free: Windows,
    pub limits: StakeLimits,
    pub symbols: Vec<SymbolInfo>,
    pub wild: u8,
    pub potions: [u8; 3],
    /// Per reel.
    pub potion_chance: Chance,
    pub colours: Weights<Potion>,
    pub high_symbols: Weights<u8>,
    pub random_wilds: Weights<u32>,
    pub multipliers: Weights<u32>,
    pub one_mega_wild: Weights<bool>,
    pub three_by_three: Vec<MegaWilds>,
    pub two_by_two: Vec<MegaWilds>,
    pub question_marks: Weights<u32>,
    pub explosion: Chance,
    pub free_spins: u32,
    pub free_feature_chance: Chance,
    pub free_features: Weights<FreeFeature>,
    pub rtp_micros: u64,
}

impl Model {
    /// Compiles a data file; [`super::par::prove`] proves its return.
    pub fn new(data: &GameData) -> Result<Self, ModelError> {
        let base = windows(data, &data.reels.strips, [0, 0, data.free_spins.awarded])?;
        let respin = windows(data, &data.respin_reels.strips, [0; 3])?;
        let free = windows(data, &data.free_reels.strips, [0, data.free_spins.one, data.free_spins.both])?;
        let only_outside = [1, 2, 3].into_iter().any(|reel| {
            [&base, &free]
                .iter()
                .any(|of| (0..of.reels.columns(reel).len()).any(|stop| of.scatters.counter.shows(reel, stop)))
        });
        if only_outside {
            return Err(ModelError::part("reels", "Free Spins symbols are allowed on reels 1 and 5 only"));
        }
        if (0..REELS)
            .any(|reel| (0..respin.reels.columns(reel).len()).any(|stop| respin.scatters.counter.shows(reel, stop)))
        {
            return Err(ModelError::part("respin_reels", "respin reels must not have Free Spins symbols"));
        }
        let code = |code: &(String, u32)| data::index_of(&data.symbols, &code.0).map(|symbol| (symbol, code.1));
        let high = data.high_symbols.symbols.iter().map(code).collect::<Result<Vec<_>, _>>()?;
        if high.iter().any(|&(symbol, _)| !base.lines.on_lines(symbol)) {
            return Err(ModelError::part("high_symbols", "every high symbol must pay on lines"));
        }
        let counts = |part, of: &[(u32, u32)], most: u32| {
            if of.iter().any(|&(n, _)| !(1..=most).contains(&n)) {
                return Err(ModelError::part(part, format!("each count in the feature's table must be 1 to {most}")));
            }
            Weights::new(part, of.to_vec())
        };
        let cells = u32::try_from(CELLS).unwrap_or(u32::MAX);
        let [red, blue, green] = data.potions.colours;
        let mega = data.mega_wild;
        let (three_by_three, two_by_two) = (mega_wilds(3, 1), mega_wilds(2, 2));
        Ok(Self {
            limits: data::limits(&data.stake, base.lines.rows().len())?,
            symbols: data::symbol_infos(&data.symbols, &SHORT_NAMES),
            wild: base.lines.wild(),
            potions: collected(data)?,
            potion_chance: Chance::new("potions", data.potions.chance)?,
            colours: Weights::new("potions", vec![(Potion::Red, red), (Potion::Blue, blue), (Potion::Green, green)])?,
            high_symbols: Weights::new("high_symbols", high)?,
            random_wilds: counts("random_wilds", &data.random_wilds.counts, cells)?,
            multipliers: counts("multiplier", &data.multiplier.counts, 100)?,
            one_mega_wild: Weights::new("mega_wild", vec![(true, mega.one_of_three), (false, mega.two_of_two)])?,
            three_by_three,
            two_by_two,
            question_marks: counts("explosion", &data.explosion.counts, cells)?,
            explosion: Chance::new("explosion_chance", data.explosion_chance)?,
            free_spins: data.free_spins.awarded,
            free_feature_chance: Chance::new("free_spins", data.free_spins.feature_chance)?,
            free_features: free_features(data.free_spins.features)?,
            rtp_micros: file::micros("rtp", &data.rtp)?,
            base,
            respin,
            free,
        })
    }

    #[inline]
    pub fn high_window(&self, draws: &mut Draws) -> Window {
        let mut window = [Column::default(); REELS];
        for cell in window.iter_mut().flatten() {
            *cell = self.high_symbols.draw(draws);
        }
        window
    }

    #[must_use]
    pub fn info(&self, data: &GameData) -> GameInfo {
        GameInfo {
            rows: 4,
            rows_max: 4,
            paytable: self.paytable(),
            lines: self.base.lines.rows().iter().map(|rows| rows.to_vec()).collect(),
            multipliers: self.multipliers.items().iter().map(|of| of.0).collect(),
            combinations: self.combinations(),
            autoplay: Autoplay { loss: AutoplayLoss::Reached, ends_above_win: false },
            free_spin_multiplier: 1,
            ..data.info(&self.symbols, &self.limits)
        }
    }

    fn combinations(&self) -> Vec<FeatureCombination> {
        use Potion::{Blue, Green, Red};
        let combinations = [
            ("high_symbols", [Red, Blue, Green]),
            ("random_wilds", [Red, Blue, Blue]),
            ("multiplier", [Red, Green, Green]),
            ("mega_wild", [Blue, Blue, Green]),
        ];
        let combination = |(feature, potions): (&'static str, [Potion; 3])| FeatureCombination {
            feature,
            symbols: potions.iter().map(|potion| self.potions[*potion as usize - 1]).collect(),
        };
        combinations.into_iter().map(combination).collect()
    }

    pub(crate) fn paytable(&self) -> Vec<PayRow> {
        let mut rows = Vec::new();
        for (symbol, pays) in (0u8..).zip(self.base.lines.pays()) {
            for count in (1u8..=5).rev().filter(|&count| pays[usize::from(count)] > 0) {
                let pays = pays[usize::from(count)];
                rows.push(PayRow { symbol, count, pays, free_spins: 0, scatter: false, bonus: false });
            }
        }
        let symbol = self.base.scatters.symbol;
        let free_spins = self.free_spins;
        rows.push(PayRow { symbol, count: FREE_SPINS_NEED, pays: 0, free_spins, scatter: true, bonus: false });
        rows
    }
}

fn windows(data: &GameData, strips: &[String], awards: [u32; 3]) -> Result<Windows, ModelError> {
    let reels = Reels::new(&data::strips(&data.symbols, strips)?, ROWS)?;
    let lines = data::lines(&reels, &data.symbols, &data.lines)?;
    let symbol = data::only(&data.symbols, SymbolRole::FreeSpins)?;
    let [none, one, both] = awards;
    let free_spins = [none, one, both, both, both, both];
    let scatters = Scatters { symbol, counter: Counter::new(&reels, symbol)?, pays: [0; REELS + 1], free_spins };
    Ok(Windows { scatters, ..Windows::of_lines(reels, lines)? })
}

fn collected(data: &GameData) -> Result<[u8; 3], ModelError> {
    let potions = (0u8..).zip(&data.symbols).filter(|(_, of)| of.role == SymbolRole::Collected).map(|(index, _)| index);
    let wrong = |_| ModelError::part("symbols", "there must be three Potions: Red, Blue and Green");
    potions.collect::<Vec<_>>().try_into().map_err(wrong)
}

fn mega_wilds(side: usize, wilds: usize) -> Vec<MegaWilds> {
    let corners = (0..=REELS - side).flat_map(|reel| (0..=ROWS - side).map(move |row| reel * ROWS + row));
    let covered = |corner: usize| {
        let cells = (0..side).flat_map(|reel| (0..side).map(move |row| corner + reel * ROWS + row));
        cells.fold(0u32, |mask, cell| mask | 1 << cell)
    };
    let all: Vec<(u32, Option<u8>)> = corners.map(|corner| (covered(corner), u8::try_from(corner).ok())).collect();
    let side = u32::try_from(side).unwrap_or_default();
    let one = all.iter().map(|&(cells, corner)| MegaWilds { cells, corners: [corner, None], side });
    if wilds == 1 {
        return one.collect();
    }
    let pairs = all.iter().enumerate().flat_map(|(place, one)| all[place + 1..].iter().map(move |other| (one, other)));
    let apart = pairs.filter(|(one, other)| one.0 & other.0 == 0);
    apart.map(|(one, other)| MegaWilds { cells: one.0 | other.0, corners: [one.1, other.1], side }).collect()
}

fn free_features(weights: [u32; 7]) -> Result<Weights<FreeFeature>, ModelError> {
    let respin = |respin, multiplied| FreeFeature::Respin { respin, multiplied };
    let all = [
        respin(Respin::HighSymbols, false),
        respin(Respin::RandomWilds, false),
        FreeFeature::Multiplier,
        respin(Respin::MegaWild, false),
        respin(Respin::HighSymbols, true),
        respin(Respin::RandomWilds, true),
        respin(Respin::MegaWild, true),
    ];
    Weights::new("free_spins", all.into_iter().zip(weights).collect())
}
