//! Computes how rounding changes the return at a constant coin value (DM-17, DM-19), from the distribution of all
//! spins' wins modulo the coin's denominator (see `math/ways_residues.rs`).

use std::sync::OnceLock;

use super::model::{BET_COINS, BONUS_REELS, Model, ROWS};
use super::moments::Returns;
use crate::contract::par::{Exact, exact, float, ratio};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::math::ways_moments::{Law, Paying};
use crate::math::ways_residues::{ReelShows, residues};
use crate::parts::expansion::CRYSTALS;
use crate::parts::reels::REELS;
use crate::parts::ways::WaysReels;
use crate::parts::worth::half_even;

const FLOAT: f64 = 1e-12;
const BET: u64 = BET_COINS as u64;
const MODULI: [u8; 2] = [5, 25];

#[derive(Debug, Default)]
pub(crate) struct Cash {
    residues: [OnceLock<Residues>; MODULI.len()],
    often: OnceLock<Often>,
}

#[derive(Debug)]
struct Residues {
    paid: Vec<f64>,
    free: Vec<f64>,
    collection: [Vec<f64>; CRYSTALS],
}

#[derive(Debug)]
struct Often {
    free: f64,
    collection: f64,
    spins_at_once: f64,
    rtp: Exact,
}

impl Cash {
    /// Returns `None` if no bet at this coin value is a whole number of minor units.
    pub(crate) fn rounding<'a>(
        &self,
        model: &'a Model,
        returns: impl FnOnce() -> Returns<'a>,
        coin: CoinFraction,
    ) -> Option<Rounding> {
        let often = self.often.get_or_init(|| Often::new(&returns()));
        let place = MODULI.iter().position(|modulus| u64::from(*modulus) == coin.denominator);
        let (own, collected, doubt, spins) = match place {
            None if coin.denominator > 1 => return None,
            None => (0.0, 0.0, 0.0, 0.0),
            Some(place) => {
                let residues = self.residues[place].get_or_init(|| Residues::new(model, MODULI[place]));
                let (own, collected) = residues.added(coin, often);
                (own, collected, residues.doubt(often), often.spins_at_once)
            }
        };
        let bets =
            |minor: f64| Exact::from_float(minor).unwrap_or_default() * ratio(coin.denominator, coin.numerator * BET);
        Some(Rounding {
            rtp: often.rtp.clone(),
            adds: bets(own + collected),
            adds_to_own: bets(own),
            spread_at_most: spins / 2.0 * coin.denominator as f64 / (coin.numerator * BET) as f64,
            within: bets(doubt),
            // Half a minor unit for each Collection Free Spin.
            mixed_at_most: bets(often.collection * CRYSTALS as f64 / 2.0),
            published: ratio(model.rtp_micros, 1_000_000),
        })
    }
}

impl Often {
    fn new(returns: &Returns<'_>) -> Self {
        let model = returns.model;
        let free = float(&(returns.paid.bonuses(BONUS_REELS.len()) * exact(model.free_spins)));
        let collection = float(&(returns.paid.crystal() * ratio(model.collection_spins, model.needs)));
        let root = |mean: f64, spins: f64| (mean * spins).sqrt();
        let series =
            root(free, model.free_spins.into()) + CRYSTALS as f64 * root(collection, model.collection_spins.into());
        Self { free, collection, spins_at_once: 1.0 + series, rtp: returns.total() }
    }
}

impl Residues {
    fn new(model: &Model, modulus: u8) -> Self {
        let collection = std::array::from_fn(|colour: usize| {
            let symbols: Vec<u8> = std::iter::once(model.super_high[colour]).chain(model.regular()).collect();
            of_free(model, &model.collection[colour], &symbols, modulus)
        });
        Self { paid: of_paid(model, modulus), free: of_free(model, &model.free, &model.regular(), modulus), collection }
    }

    fn added(&self, coin: CoinFraction, often: &Often) -> (f64, f64) {
        let mean = |residues: &[f64]| {
            residues.iter().zip(0..).map(|(chance, coins)| chance * rounded(coins, coin)).sum::<f64>()
        };
        let collections = self.collection.iter().map(|residues| mean(residues)).sum::<f64>();
        (mean(&self.paid) + often.free * mean(&self.free), often.collection * collections)
    }

    fn doubt(&self, often: &Often) -> f64 {
        let lacks = |residues: &[f64]| (1.0 - residues.iter().sum::<f64>()).max(0.0) / 2.0 + FLOAT;
        let collections = self.collection.iter().map(|residues| lacks(residues)).sum::<f64>();
        lacks(&self.paid) + often.free * lacks(&self.free) + often.collection * collections
    }
}

/// Returns the amount by which rounding changes a win. `coin.denominator` is odd, so no amount is exactly half a minor unit
/// above a whole one.
fn rounded(coins: u64, coin: CoinFraction) -> f64 {
    let exactly = coins * coin.numerator;
    let paid = half_even(exactly.into(), coin.denominator.into());
    (paid as f64).mul_add(coin.denominator as f64, -(exactly as f64)) / coin.denominator as f64
}

fn of_free(model: &Model, reels: &WaysReels, symbols: &[u8], modulus: u8) -> Vec<f64> {
    let law = |reel| Law::new(reels.columns(reel).iter().map(|column| (Law::shown(&column.cells), 1)));
    let laws: [Law; REELS] = std::array::from_fn(law);
    residues(
        &laws.each_ref().map(ReelShows::plain),
        &Paying { symbols, pays: model.ways.pays() },
        modulus,
        1.0,
        least(modulus),
    )
}

fn of_paid(model: &Model, modulus: u8) -> Vec<f64> {
    let symbols = model.regular();
    let paying = Paying { symbols: &symbols, pays: model.ways.pays() };
    let weights: Vec<(u8, u32)> = model.expansion.weights().collect();
    let mut all = vec![0.0; usize::from(modulus)];
    for set in 0..1_u32 << BONUS_REELS.len() {
        let rows = set.count_ones() as usize;
        let mut chance = 1.0;
        let laws: [Vec<Law>; REELS] = std::array::from_fn(|reel| {
            let place = BONUS_REELS.iter().position(|&of| of == reel);
            let bonus = place.is_some_and(|place| set >> place & 1 == 1);
            let columns = model.base.columns(reel);
            let cells = || columns.iter().map(|column| &column.cells[..ROWS]);
            let shown = || cells().filter(|cells| cells.contains(&model.bonus) == bonus);
            chance *= shown().count() as f64 / columns.len() as f64;
            let strip = Law::new(shown().map(|cells| (Law::shown(cells), 1)));
            let mut laws: Vec<Law> =
                std::iter::successors(Some(strip), |law| Some(law.and_cell(&weights))).take(rows + 1).collect();
            laws.reverse();
            laws
        });
        let landing = landing(model, rows);
        let shows = laws.each_ref().map(|laws| ReelShows { laws: laws.iter().collect(), landing: landing.clone() });
        for (sum, more) in all.iter_mut().zip(residues(&shows, &paying, modulus, chance, least(modulus))) {
            *sum += more;
        }
    }
    all
}

fn least(modulus: u8) -> f64 {
    if modulus > 5 { 1e-8 } else { 0.0 }
}

fn landing(model: &Model, cells: usize) -> [Vec<f64>; CRYSTALS + 1] {
    let symbols: f64 = model.expansion.weights().map(|(_, weight)| f64::from(weight)).sum();
    let crystal = f64::from(model.expansion.crystal());
    std::array::from_fn(|before| {
        let mut chances = vec![1.0];
        for _ in 0..cells {
            let mut next = vec![0.0; chances.len() + 1];
            for (more, chance) in chances.iter().enumerate() {
                let left = CRYSTALS.saturating_sub(before + more) as f64 * crystal;
                next[more] += chance * symbols / (symbols + left);
                next[more + 1] += chance * left / (symbols + left);
            }
            chances = next;
        }
        chances
    })
}
