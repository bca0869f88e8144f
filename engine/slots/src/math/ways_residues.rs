//! Win of a spin in a ways game, modulo a small number. The residue determines how the win is rounded to minor units
//! (DM-17).
//!
//! For a coin worth `p / q` of a minor unit, the modulus is `q`, or `2 q` if a win can end in half a minor unit.
//! Probabilities have a relative error of at most 1e-13.

use crate::math::ways_moments::{Law, Paying};
use crate::parts::expansion::CRYSTALS;
use crate::parts::reels::REELS;

/// Bits per residue.
const BITS: u32 = 5;
/// Maximum number of paying symbols.
const SYMBOLS: usize = 11;
const WON: u32 = BITS * 11;

type Chances = [f64; CRYSTALS + 1];

#[derive(Clone, Debug)]
pub struct ReelShows<'a> {
    pub laws: Vec<&'a Law>,
    pub landing: [Vec<f64>; CRYSTALS + 1],
}

impl<'a> ReelShows<'a> {
    #[must_use]
    pub fn plain(law: &'a Law) -> Self {
        Self { laws: vec![law], landing: std::array::from_fn(|_| vec![1.0]) }
    }
}

type State = u64;

/// Returns the probability of each residue; the sum of the probabilities is `chance`. Intermediate states whose probability
/// is below `least` are dropped. Panics if the modulus is not 1 to 32, or if more than 11 symbols pay.
#[must_use]
pub fn residues(reels: &[ReelShows<'_>; REELS], paying: &Paying<'_>, modulus: u8, chance: f64, least: f64) -> Vec<f64> {
    assert!((1..=1 << BITS).contains(&modulus), "modulus {modulus} is out of range");
    let n = u64::from(modulus);
    let pays = paying.symbols.iter().map(|&symbol| (symbol, paying.pays[usize::from(symbol)].map(|pay| pay % n)));
    let pays: Vec<_> = pays.filter(|(_, pays)| pays.iter().any(|pay| *pay > 0)).collect();
    assert!(pays.len() <= SYMBOLS, "{} symbols", pays.len());
    let all_run = (0..pays.len()).map(|place| (1 % n) << shift(place)).sum();
    let mut states: Vec<(State, Chances)> = vec![(all_run, [chance, 0.0, 0.0, 0.0, 0.0])];
    for (reel, shows) in reels.iter().enumerate() {
        let mut next = Sums::default();
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

fn running(state: State, symbols: usize) -> u64 {
    (0..symbols).map(|place| u64::from(residue(state, shift(place)) > 0) << place).sum()
}

struct Content {
    crystals: usize,
    shows: u64,
    counts: State,
    chance: f64,
}

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
            next |= (ways * residue(content.counts, shift(place)) % n) << shift(place);
        }
    }
    next | ((won % n) << WON)
}

/// Hash table that accumulates probabilities per state in a deterministic order.
#[derive(Default)]
struct Sums {
    all: Vec<(State, Chances)>,
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
        (state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (size - 1)
    }

    fn sorted(mut self) -> Vec<(State, Chances)> {
        self.all.sort_by_key(|(state, _)| *state);
        self.all
    }
}
