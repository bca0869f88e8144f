//! The win of a window in a ways game, modulo a small number: all that the rounding of its win to whole minor units
//! depends on (DM-17).
//!
//! A coin worth `p / q` of a minor unit makes `coins x p / q` of them, and how that is rounded follows from the coins
//! modulo `q` (modulo `2 q` where halves can be: their even neighbour has to be known). The windows are gone through
//! reel by reel, and those that have come to the same residues are one from there on: the ways that each symbol runs
//! on, and the coins won by those that have ended. A symbol whose pays are multiples of the modulus leaves no trace.
//!
//! Chances are floats: sums and products of positive numbers, some hundred roundings deep, so that each is right within
//! 1e-13 of itself. The evaluator is not used: windows and residues prove each other.

use crate::math::ways_moments::{Law, Paying};
use crate::parts::expansion::CRYSTALS;
use crate::parts::reels::REELS;

/// Bits of a residue in a [`State`], so that moduli are at most 32.
const BITS: u32 = 5;
/// Most symbols that can matter: what a state has room for beside the coins won.
const SYMBOLS: usize = 11;
/// Where the coins won stand in a state.
const WON: u32 = BITS * 11;

/// The chance of each number of crystals that have landed.
type Chances = [f64; CRYSTALS + 1];

/// The contents of one reel.
#[derive(Clone, Debug)]
pub struct ReelShows<'a> {
    /// Its contents, by the crystals among its cells.
    pub laws: Vec<&'a Law>,
    /// By crystals that landed before, the chance of so many more on this reel.
    pub landing: [Vec<f64>; CRYSTALS + 1],
}

impl<'a> ReelShows<'a> {
    /// A reel without crystals.
    #[must_use]
    pub fn plain(law: &'a Law) -> Self {
        Self { laws: vec![law], landing: std::array::from_fn(|_| vec![1.0]) }
    }
}

/// Where windows are after some reels, as residues of five bits each: the ways that each symbol that matters runs on, 0
/// where it has ended or can't make a difference any more; above them the coins won by those that ended.
type State = u64;

/// The chance of each residue of a window's win in coins, of windows that come with a chance.
///
/// States that are less likely than `least` are left out, with all that would come of them: what the chances lack of
/// that of the windows says how much that was. Nothing is left out below 0.
///
/// # Panics
/// For a modulus of 0 or above 32, or more paying symbols than any game has.
#[must_use]
pub fn residues(reels: &[ReelShows<'_>; REELS], paying: &Paying<'_>, modulus: u8, chance: f64, least: f64) -> Vec<f64> {
    assert!((1..=1 << BITS).contains(&modulus), "a modulus of {modulus}");
    let n = u64::from(modulus);
    let pays = paying.symbols.iter().map(|&symbol| (symbol, paying.pays[usize::from(symbol)].map(|pay| pay % n)));
    let pays: Vec<_> = pays.filter(|(_, pays)| pays.iter().any(|pay| *pay > 0)).collect();
    assert!(pays.len() <= SYMBOLS, "{} symbols", pays.len());
    let all_run = (0..pays.len()).map(|place| (1 % n) << shift(place)).sum();
    let mut states: Vec<(State, Chances)> = vec![(all_run, [chance, 0.0, 0.0, 0.0, 0.0])];
    for (reel, shows) in reels.iter().enumerate() {
        let mut next = Sums::default();
        // States that the same symbols run in see the same contents.
        let mut contents: Vec<(u64, Vec<Content>)> = Vec::new();
        for (state, chances) in &states {
            let running = running(*state, pays.len());
            let place = contents.binary_search_by_key(&running, |(set, _)| *set).unwrap_or_else(|place| {
                contents.insert(place, (running, projected(shows, running, &pays, n)));
                place
            });
            for content in &contents[place].1 {
                next.add(after(*state, content, running, reel, &pays, n), chances, shows, content);
            }
        }
        states = next.sorted();
        states.retain(|(_, chances)| chances.iter().sum::<f64>() >= least);
    }
    let mut chances = vec![0.0; usize::from(modulus)];
    for (state, landed) in states {
        let running = pays.iter().enumerate().map(|(place, (_, pays))| residue(state, shift(place)) * pays[REELS]);
        let won = (residue(state, WON) + running.sum::<u64>()) % n;
        chances[usize::try_from(won).unwrap_or_default()] += landed.iter().sum::<f64>();
    }
    chances
}

fn shift(place: usize) -> u32 {
    BITS * u32::try_from(place).unwrap_or(WON)
}

fn residue(state: State, shift: u32) -> u64 {
    state >> shift & ((1 << BITS) - 1)
}

/// The symbols that run, a bit each.
fn running(state: State, symbols: usize) -> u64 {
    (0..symbols).map(|place| u64::from(residue(state, shift(place)) > 0) << place).sum()
}

/// The symbols of one reel that run on.
struct Content {
    /// Crystals among its cells.
    crystals: usize,
    /// The symbols that it shows, a bit each.
    shows: u64,
    /// How many of each, as residues.
    counts: State,
    chance: f64,
}

/// A reel's contents by the symbols that run; the others are as one.
fn projected(shows: &ReelShows<'_>, running: u64, pays: &[(u8, [u64; REELS + 1])], n: u64) -> Vec<Content> {
    let mut all: Vec<Content> = Vec::new();
    for (crystals, law) in shows.laws.iter().enumerate() {
        let mut contents: Vec<((u64, State), f64)> = law
            .contents()
            .map(|(shown, chance)| {
                let of = pays.iter().enumerate().filter(|(place, _)| running >> place & 1 == 1);
                let counts = of.map(|(place, (symbol, _))| (place, u64::from(shown[usize::from(*symbol)])));
                let key = counts.fold((0, 0), |(set, sum), (place, count)| {
                    (set | u64::from(count > 0) << place, sum | (count % n) << shift(place))
                });
                (key, chance)
            })
            .collect();
        contents.sort_by_key(|(key, _)| *key);
        for ((shows, counts), chance) in contents {
            match all.last_mut().filter(|last| (last.crystals, last.shows, last.counts) == (crystals, shows, counts)) {
                Some(last) => last.chance += chance,
                None => all.push(Content { crystals, shows, counts, chance }),
            }
        }
    }
    all
}

/// A state after one more reel.
fn after(state: State, content: &Content, running: u64, reel: usize, pays: &[(u8, [u64; REELS + 1])], n: u64) -> State {
    let mut won = residue(state, WON);
    let mut next = 0;
    let mut left = running;
    while left > 0 {
        let place = left.trailing_zeros() as usize;
        left &= left - 1;
        let (ways, pays) = (residue(state, shift(place)), &pays[place].1);
        if content.shows >> place & 1 == 0 {
            won += ways * pays[reel];
        } else if pays[reel + 1..].iter().any(|pay| *pay > 0) {
            // What pays nothing from here on is as good as ended.
            next |= (ways * residue(content.counts, shift(place)) % n) << shift(place);
        }
    }
    next | ((won % n) << WON)
}

/// Chances by state: a table of open places, so that each sum is made in the order in which it's asked for.
#[derive(Default)]
struct Sums {
    all: Vec<(State, Chances)>,
    /// Where in `all` a state stands, from 1 on; 0 for nobody. A power of two of places.
    places: Vec<u32>,
}

impl Sums {
    fn add(&mut self, state: State, before: &Chances, shows: &ReelShows<'_>, content: &Content) {
        let place = self.place(state);
        let sums = &mut self.all[place].1;
        for (landed, chance) in before.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
            let more = shows.landing[landed].get(content.crystals);
            if let (Some(sum), Some(more)) = (sums.get_mut(landed + content.crystals), more) {
                *sum += chance * more * content.chance;
            }
        }
    }

    fn place(&mut self, state: State) -> usize {
        if self.all.len() * 2 >= self.places.len() {
            let size = (self.places.len() * 4).max(1 << 10);
            self.places = vec![0; size];
            for (number, (state, _)) in (1..).zip(&self.all) {
                let mut at = Self::start(*state, size);
                while self.places[at] != 0 {
                    at = (at + 1) & (size - 1);
                }
                self.places[at] = number;
            }
        }
        let size = self.places.len();
        let mut at = Self::start(state, size);
        loop {
            match self.places[at] as usize {
                0 => break,
                number if self.all[number - 1].0 == state => return number - 1,
                _ => at = (at + 1) & (size - 1),
            }
        }
        self.all.push((state, Chances::default()));
        self.places[at] = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.len() - 1
    }

    fn start(state: State, size: usize) -> usize {
        // The golden ratio spreads neighbours; its high bits are the best.
        (state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (size - 1)
    }

    fn sorted(mut self) -> Vec<(State, Chances)> {
        self.all.sort_by_key(|(state, _)| *state);
        self.all
    }
}
