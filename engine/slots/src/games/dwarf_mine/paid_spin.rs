//! Exact mathematics of the paid spin. Bonus symbols enlarge its window by rows of randomly drawn symbols.
//!
//! Spins are classified by the set of reels that show a Bonus and by the number of crystals in each reel's added cells.
//! In each class, the reels are independent, so [`crate::math::ways_moments`] can sum the wins.
//!
//! ```text
//! T(n) = W + (4 - n) c      weight from which a cell is drawn after n crystals; W: of all symbols, c: of a crystal
//! sums are multiples of the weight of a combination of stops, divided by (T(0) T(1) ... T(4))^cells
//! ```

use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::model::{BONUS_REELS, Model, ROWS};
use crate::contract::par::{Exact, exact, float};
use crate::math::ways_moments::{self, Law, Paying, Sums};
use crate::parts::expansion::CRYSTALS;
use crate::parts::reels::REELS;

const NEW_ROWS_MAX: usize = BONUS_REELS.len();

#[derive(Clone, Debug)]
pub struct PaidSpin {
    pub ways: Vec<[Exact; REELS + 1]>,
    pub shows: [[Cell; CRYSTALS + 1]; NEW_ROWS_MAX + 1],
    pub nothing: Exact,
    pub square: f64,
    pub highest: u64,
    pub highest_chance: Exact,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub chance: Exact,
    /// Contribution of this class's windows to the mean win of a spin, in coins.
    pub coins: Exact,
}

impl PaidSpin {
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let symbols = model.regular();
        let paying = Paying { symbols: &symbols, pays: model.ways.pays() };
        let laws = Laws::new(model, &symbols);
        let mut all = Self {
            ways: vec![std::array::from_fn(|_| Exact::zero()); symbols.len()],
            shows: Default::default(),
            nothing: Exact::zero(),
            square: 0.0,
            highest: 0,
            highest_chance: Exact::zero(),
        };
        for rows in (0..=NEW_ROWS_MAX).rev() {
            all.add(model, &paying, &laws, rows);
        }
        all
    }

    #[must_use]
    pub fn highest_complete(model: &Model) -> (u64, Exact) {
        let symbols = model.regular();
        let paying = Paying { symbols: &symbols, pays: model.ways.pays() };
        let laws = Laws::new(model, &symbols);
        let draws = CellDraws::new(model, NEW_ROWS_MAX);
        let stops: BigInt = (0..REELS).map(|reel| BigInt::from(model.base.columns(reel).len())).product();
        let (mut best, mut sum) = (0, BigInt::zero());
        for (crystals, times) in draws.patterns() {
            if crystals.iter().sum::<usize>() < CRYSTALS {
                continue;
            }
            for bonus in bonuses(NEW_ROWS_MAX) {
                let reels = std::array::from_fn(|reel| laws.at(reel, bonus[reel], NEW_ROWS_MAX - crystals[reel]));
                let Some((coins, weight)) = ways_moments::highest(reels, &paying, best.max(1)) else { continue };
                if coins > best {
                    (best, sum) = (coins, BigInt::zero());
                }
                sum += weight * &times;
            }
        }
        (best, Exact::new(sum, draws.unit() * stops))
    }

    fn add(&mut self, model: &Model, paying: &Paying, laws: &Laws, rows: usize) {
        let draws = CellDraws::new(model, rows);
        let stops: BigInt = (0..REELS).map(|reel| BigInt::from(model.base.columns(reel).len())).product();
        let unit = draws.unit() * stops;
        let needs = BigInt::from(model.needs);
        let mut ways = vec![[(); REELS + 1].map(|()| BigInt::zero()); paying.symbols.len()];
        let mut nothing = BigInt::zero();
        for (crystals, times) in draws.patterns() {
            let landed: usize = crystals.iter().sum();
            let (mut chance, mut coins) = (BigInt::zero(), BigInt::zero());
            for bonus in bonuses(rows) {
                let reels: [&Sums; REELS] =
                    std::array::from_fn(|reel| laws.at(reel, bonus[reel], rows - crystals[reel]));
                let weight = reels.iter().map(|sums| &sums.all).product::<BigInt>();
                for (place, ways) in ways.iter_mut().enumerate() {
                    for (count, ways) in ways.iter_mut().enumerate().skip(3) {
                        let more = ways_moments::ways(reels, place, count);
                        coins += &more * paying.pays[usize::from(paying.symbols[place])][count];
                        *ways += more * &times;
                    }
                }
                if rows < NEW_ROWS_MAX {
                    let kept = (&needs - 1u32).pow(to_u32(landed)) * needs.pow(to_u32(CRYSTALS - landed));
                    nothing += ways_moments::without_three(reels) * kept * &times;
                }
                let share = Exact::new(&weight * &times, unit.clone());
                self.square += float(&share) * ways_moments::square(reels, paying);
                if let Some((coins, weight)) = ways_moments::highest(reels, paying, self.highest.max(1)) {
                    self.top(coins, Exact::new(weight * &times, unit.clone()));
                }
                chance += weight;
            }
            let cell = &mut self.shows[rows][landed];
            cell.chance += Exact::new(chance * &times, unit.clone());
            cell.coins += Exact::new(coins * &times, unit.clone());
        }
        for (sum, more) in self.ways.iter_mut().flatten().zip(ways.into_iter().flatten()) {
            *sum += Exact::new(more, unit.clone());
        }
        self.nothing += Exact::new(nothing, unit * needs.pow(to_u32(CRYSTALS)));
    }

    fn top(&mut self, coins: u64, chance: Exact) {
        if coins > self.highest {
            (self.highest, self.highest_chance) = (coins, Exact::zero());
        }
        self.highest_chance += chance;
    }

    pub fn sum(&self, of: impl Fn(usize, usize, &Cell) -> Exact) -> Exact {
        let cells = self.shows.iter().enumerate();
        let cells = cells.flat_map(|(bonuses, row)| row.iter().enumerate().map(move |(n, cell)| (bonuses, n, cell)));
        cells.map(|(bonuses, crystals, cell)| of(bonuses, crystals, cell)).sum()
    }

    #[must_use]
    pub fn coins(&self) -> Exact {
        self.sum(|_, _, cell| cell.coins.clone())
    }

    #[must_use]
    pub fn bonuses(&self, number: usize) -> Exact {
        self.sum(|bonuses, _, cell| if bonuses == number { cell.chance.clone() } else { Exact::zero() })
    }

    #[must_use]
    pub fn crystal(&self) -> Exact {
        self.sum(|_, crystals, cell| &cell.chance * exact(crystals)) / exact(CRYSTALS)
    }
}

struct Laws(Vec<[Vec<Sums>; 2]>);

impl Laws {
    fn new(model: &Model, symbols: &[u8]) -> Self {
        let weights: Vec<(u8, u32)> = model.expansion.weights().collect();
        let reel = |reel: usize| {
            [false, true].map(|bonus| {
                let columns = model.base.columns(reel).iter().map(|column| &column.cells[..ROWS]);
                let columns = columns.filter(|cells| cells.contains(&model.bonus) == bonus);
                let strip = Law::new(columns.map(|cells| (Law::shown(cells), 1)));
                let laws = std::iter::successors(Some(strip), |law| Some(law.and_cell(&weights)));
                laws.take(NEW_ROWS_MAX + 1).map(|law| Sums::new(law, symbols)).collect()
            })
        };
        Self((0..REELS).map(reel).collect())
    }

    fn at(&self, reel: usize, bonus: bool, cells: usize) -> &Sums {
        &self.0[reel][usize::from(bonus)][cells]
    }
}

fn bonuses(rows: usize) -> impl Iterator<Item = [bool; REELS]> {
    let sets = (0..1usize << BONUS_REELS.len()).filter(move |set| set.count_ones() as usize == rows);
    sets.map(|set| {
        let mut shows = [false; REELS];
        for (place, &reel) in BONUS_REELS.iter().enumerate() {
            shows[reel] = set >> place & 1 == 1;
        }
        shows
    })
}

struct CellDraws {
    rows: usize,
    crystal: BigInt,
    /// `T(n)`.
    totals: [BigInt; CRYSTALS + 1],
}

impl CellDraws {
    fn new(model: &Model, rows: usize) -> Self {
        let symbols: BigInt = model.expansion.weights().map(|(_, weight)| BigInt::from(weight)).sum();
        let crystal = BigInt::from(model.expansion.crystal());
        let totals = std::array::from_fn(|landed| &symbols + &crystal * (CRYSTALS - landed));
        Self { rows, crystal, totals }
    }

    fn unit(&self) -> BigInt {
        self.totals.iter().product::<BigInt>().pow(to_u32(self.rows * REELS))
    }

    fn patterns(&self) -> Vec<([usize; REELS], BigInt)> {
        let mut patterns = vec![([0; REELS], 0, BigInt::one())];
        for reel in 0..REELS {
            let mut next = Vec::new();
            for (crystals, landed, weight) in &patterns {
                for more in 0..=self.rows.min(CRYSTALS - landed) {
                    let mut crystals = *crystals;
                    crystals[reel] = more;
                    next.push((crystals, landed + more, weight * self.reel(self.rows, *landed, more)));
                }
            }
            patterns = next;
        }
        patterns.into_iter().map(|(crystals, _, weight)| (crystals, weight)).collect()
    }

    fn reel(&self, cells: usize, landed: usize, more: usize) -> BigInt {
        if cells == 0 {
            return if more == 0 { BigInt::one() } else { BigInt::zero() };
        }
        let mut sum = if more < cells { self.reel(cells - 1, landed, more) } else { BigInt::zero() };
        if more > 0 {
            let kinds = CRYSTALS - landed;
            sum += &self.crystal * kinds * self.reel(cells - 1, landed + 1, more - 1);
        }
        let others = self.totals.iter().enumerate().filter(|(n, _)| *n != landed).map(|(_, total)| total);
        sum * others.product::<BigInt>()
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
