#![allow(clippy::cast_precision_loss, reason = "statistics")]
#![allow(clippy::cast_possible_truncation, reason = "small exponents")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::dwarf_mine::{FILE, Naive, dwarf_mine, model_of, play, seed, stake};
use motherlode_slots::contract::par::{Exact, decimal, exact, ratio};
use motherlode_slots::games::dwarf_mine::model::Model;
use motherlode_slots::games::dwarf_mine::moments::{FreeSpin, Returns};
use motherlode_slots::games::dwarf_mine::paid_spin::PaidSpin;
use motherlode_slots::games::dwarf_mine::round::DwarfMineRound;
use motherlode_slots::parts::ways::Counts;
use motherlode_slots::{Carried, Draws, Par, Terms, simulate};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use proptest::prelude::*;

static PAR: LazyLock<Par> = LazyLock::new(|| dwarf_mine().par(&stake(10_000)).unwrap());

fn toy(base: [&str; 5], free: [&str; 5], crystal: u32, weights: &[(&str, u32)]) -> String {
    let (head, _) = FILE.split_once("# tuned: begin\n").unwrap();
    let weights: Vec<String> =
        weights.iter().map(|(code, weight)| format!("{{ code = \"{code}\", weight = {weight} }}")).collect();
    let weights = weights.join(", ");
    format!(
        "{head}[reels]\nbase = {base:?}\nfree = {free:?}\n[expansion]\ncrystal = {crystal}\nsymbols = [{weights}]\n"
    )
}

const FREE: [&str; 5] = ["Pi Pi Sp Sp Ha He * Cl"; 5];

type Found = BTreeMap<(usize, usize, u64), Exact>;

struct Enumeration<'a> {
    model: &'a Model,
    weights: Vec<(u8, u64)>,
    crystal: u64,
    unit: u64,
    found: BTreeMap<(usize, usize, u64), u128>,
}

impl Enumeration<'_> {
    fn run(model: &Model, naive: &Naive, unit: u64, rows_most: usize) -> Found {
        let weights = naive.weights.iter().map(|(code, weight)| (naive.index(code), *weight)).collect();
        let mut all = Enumeration { model, weights, crystal: naive.crystal, unit, found: BTreeMap::new() };
        let stops: usize = naive.base.iter().map(Vec::len).product();
        let mut windows: BTreeMap<Vec<Vec<String>>, u128> = BTreeMap::new();
        for place in 0..stops {
            let mut rest = place;
            let window = naive.base.iter().map(|strip| {
                let stop = rest % strip.len();
                rest /= strip.len();
                let mut column: Vec<String> = (stop..stop + 4).map(|at| strip[at % strip.len()].clone()).collect();
                column.sort_unstable();
                column
            });
            *windows.entry(window.collect()).or_default() += 1;
        }
        for (window, times) in windows {
            let rows = window.iter().flatten().filter(|code| *code == "Bo").count();
            if rows <= rows_most {
                let counts = std::array::from_fn(|reel| {
                    let column: &Vec<String> = &window[reel];
                    column.iter().fold(Counts::default(), |counts, code| counts.with(naive.index(code)))
                });
                all.cells((rows, 0), 0, counts, times);
            }
        }
        let certain = |rows: usize| BigInt::from(unit).pow(5 * rows as u32) * stops;
        all.found.into_iter().map(|(of, weight)| (of, ratio(weight, certain(of.0)))).collect()
    }

    fn cells(&mut self, (rows, landed): (usize, usize), cell: usize, counts: [Counts; 5], weight: u128) {
        if cell == rows * 5 {
            let mut coins = 0;
            self.model.ways.evaluate(&counts, |win| coins += win.coins);
            *self.found.entry((rows, landed, coins)).or_insert(0) += weight;
            return;
        }
        let crystals = self.crystal * (4 - landed as u64);
        let all = self.weights.iter().map(|of| of.1).sum::<u64>() + crystals;
        assert_eq!(self.unit % all, 0);
        let one = weight * u128::from(self.unit / all);
        for place in 0..self.weights.len() {
            let (symbol, part) = self.weights[place];
            let mut counts = counts;
            counts[cell / rows] = counts[cell / rows].with(symbol);
            self.cells((rows, landed), cell + 1, counts, one * u128::from(part));
        }
        if landed < 4 {
            self.cells((rows, landed + 1), cell + 1, counts, one * u128::from(crystals));
        }
    }
}

fn sum(found: &Found, of: impl Fn(usize, usize, u64) -> Exact) -> Exact {
    found.iter().map(|(&(rows, landed, coins), chance)| of(rows, landed, coins) * chance).sum()
}

fn assert_shows(paid: &PaidSpin, found: &Found, rows_most: usize) {
    for (rows, row) in paid.shows.iter().enumerate().take(rows_most + 1) {
        for (landed, cell) in row.iter().enumerate() {
            let here = |r, l| r == rows && l == landed;
            let chance = sum(found, |r, l, _| exact(u64::from(here(r, l))));
            let coins = sum(found, |r, l, coins| exact(if here(r, l) { coins } else { 0 }));
            assert_eq!((&cell.chance, &cell.coins), (&chance, &coins), "{rows} rows, {landed} crystals");
        }
    }
}

fn close(a: f64, b: &Exact) -> bool {
    let b = b.to_f64().unwrap();
    (a - b).abs() <= 1e-11 * b.abs()
}

#[test]
fn the_paid_spin_is_what_enumeration_finds() {
    let base = ["Bo Pi Ha Sp Pi", "Pi Ha Pi Sp", "Sp Bo Ha Pi Pi", "Pi Sp Sp Ha", "Ha Pi Bo Pi Pi"];
    let text = toy(base, FREE, 1, &[("Pi", 1)]);
    let (model, naive) = (model_of(&text), Naive::read(&text));
    let (found, paid) = (Enumeration::run(&model, &naive, 60, 3), PaidSpin::new(&model));
    assert_shows(&paid, &found, 3);
    assert_eq!(sum(&found, |_, _, _| exact(1)), exact(1));
    assert!(close(paid.square, &sum(&found, |_, _, coins| exact(coins) * exact(coins))));
    let kept = |landed: usize| ratio(4u64.pow(landed as u32), 5u64.pow(landed as u32));
    let nothing = |rows, landed, coins| if coins == 0 && rows < 3 { kept(landed) } else { Exact::zero() };
    assert_eq!(paid.nothing, sum(&found, nothing));
    let highest = found.keys().map(|of| of.2).max().unwrap();
    let chance = sum(&found, |_, _, coins| exact(u64::from(coins == highest)));
    assert_eq!((paid.highest, paid.highest_chance), (highest, chance));
    let complete = found.keys().filter(|of| (of.0, of.1) == (3, 4)).map(|of| of.2).max().unwrap();
    let chance = sum(&found, |rows, landed, coins| exact(u64::from((rows, landed, coins) == (3, 4, complete))));
    assert_eq!(PaidSpin::highest_complete(&model), (complete, chance));
}

#[test]
fn expanded_cells_of_several_symbols_are_what_enumeration_finds() {
    let base = ["Bo Pi Pi Sp Ha Ha Sp", "Pi Ha Pi Sp", "Sp Ha Bo Pi Ha Pi", "Pi Sp Sp He Pi", "Ha Pi Bo Pi Sp"];
    let text = toy(base, FREE, 1, &[("Pi", 1), ("Sp", 1), ("He", 2)]);
    let (model, naive) = (model_of(&text), Naive::read(&text));
    let (found, paid) = (Enumeration::run(&model, &naive, 840, 1), PaidSpin::new(&model));
    assert_shows(&paid, &found, 1);
    assert!(found.keys().any(|&(rows, landed, coins)| rows == 1 && landed == 3 && coins > 0));
}

fn strip() -> impl Strategy<Value = String> {
    prop::sample::subsequence(vec!["Pi", "Pi", "Ha", "Ax", "He", "Di", "Cl", "Sp", "Sp", "Sp"], 7..=8)
        .prop_shuffle()
        .prop_map(|codes| format!("{} *", codes.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn free_spins_are_what_the_full_cycle_wins(free in prop::array::uniform5(strip())) {
        let base = ["Bo Pi Ha Sp Pi", "Pi Ha Pi Sp", "Sp Bo Ha Pi Pi", "Pi Sp Sp Ha", "Ha Pi Bo Pi Pi"];
        let model = model_of(&toy(base, free.each_ref().map(String::as_str), 3, &[("Pi", 5)]));
        let symbols: Vec<u8> = std::iter::once(model.super_high[2]).chain(model.regular()).collect();
        let spin = FreeSpin::new(&model, &model.collection[2], symbols);
        let reels = &model.collection[2];
        let (mut coins, mut squares, mut cycle) = (0u64, 0u64, 0u64);
        for place in 0..9usize.pow(5) {
            let stops: [usize; 5] = std::array::from_fn(|reel| place / 9usize.pow(reel as u32) % 9);
            if (0..5).all(|reel| stops[reel] < reels.columns(reel).len()) {
                let mut won = 0;
                model.ways.evaluate(&reels.window(&stops).map(|column| column.counts), |win| won += win.coins);
                coins += won;
                squares += won * won;
                cycle += 1;
            }
        }
        let mean = ratio(coins, cycle);
        prop_assert!(close(spin.variance, &(ratio(squares, cycle) - &mean * &mean)));
        prop_assert_eq!(spin.coins, mean);
    }
}

#[test]
fn dm_rtp_is_96_80_for_every_stake() {
    assert_eq!(decimal(&PAR.rtp, 4), "0.9680");
    assert!((&PAR.rtp - ratio(968, 1_000)).abs() < ratio(1, 1_000_000));
    assert_eq!(PAR.rtp, PAR.parts.iter().map(|part| part.rtp.clone()).sum::<Exact>());
    assert_eq!(PAR.rtp, PAR.rtp_without_jackpot);
    assert_eq!(PAR.parts.len(), dwarf_mine().parts().len());
    let table: toml::Table = FILE.parse().unwrap();
    assert_eq!(table["rtp"].as_str(), Some("0.9680"));
    for &value in dwarf_mine().info().limits.coin_values_micros.iter().skip(8) {
        assert_eq!(dwarf_mine().par(&stake(value)).unwrap(), *PAR);
    }
}

#[test]
fn free_spins_and_collections_return_what_symbol_counts_say() {
    let naive = Naive::read(FILE);
    let mean = |kind| {
        let strips = naive.strips(kind);
        let of = |code: &String, strip: &Vec<String>| {
            let count = |stop: usize| (stop..stop + 7).filter(|at| strip[at % strip.len()] == *code).count();
            let counts: Vec<usize> = (0..strip.len()).map(count).collect();
            let share = |n: usize| n as f64 / strip.len() as f64;
            (share(counts.iter().sum()), share(counts.iter().filter(|&&n| n == 0).count()))
        };
        let mut coins = 0.0;
        for (code, pays) in &naive.pays {
            let mut ways = 1.0;
            for reel in 0..5 {
                ways *= of(code, &strips[reel]).0;
                let ends = if reel < 4 { of(code, &strips[reel + 1]).1 } else { 1.0 };
                coins += ways * ends * pays.get(reel).map_or(0.0, |&pay| pay as f64);
            }
        }
        coins
    };
    let shows = |reel: usize| {
        let strip = &naive.base[reel];
        4.0 * strip.iter().filter(|code| *code == "Bo").count() as f64 / strip.len() as f64
    };
    let free = shows(0) * shows(2) * shows(4) * 10.0 * mean(motherlode_slots::SpinKind::Free) / 25.0;
    assert!(close(free, &PAR.part("free_spins")));
    let regular: f64 = naive.weights.values().map(|&n| n as f64).sum();
    let crystal = naive.crystal as f64;
    let mut landed = 0.0;
    for rows in 1..=3u32 {
        let chance: f64 = (0..8u32)
            .filter(|set| set.count_ones() == rows)
            .map(|set| {
                (0..3).map(|i| if set >> i & 1 == 1 { shows(2 * i) } else { 1.0 - shows(2 * i) }).product::<f64>()
            })
            .sum();
        let mut colours = [1.0, 0.0, 0.0, 0.0, 0.0];
        for _ in 0..rows * 5 {
            for n in (0..4).rev() {
                let kinds = (4 - n) as f64 * crystal;
                let more = colours[n] * kinds / (regular + kinds);
                colours[n] -= more;
                colours[n + 1] += more;
            }
        }
        landed += chance * (0..5).map(|n| n as f64 * colours[n]).sum::<f64>();
    }
    assert!((landed / 4.0 - PAR.rate("crystal").unwrap().to_f64().unwrap()).abs() < 1e-12);
    let worth: f64 = (0..4).map(|symbol| mean(motherlode_slots::SpinKind::Collection(symbol)) * 5.0 / 25.0).sum();
    let collections = landed / 4.0 / 5.0 * worth;
    assert!((collections - PAR.part("collections").to_f64().unwrap()).abs() < 1e-12);
}

#[test]
fn the_sheet_is_consistent() {
    let model = model_of(FILE);
    let naive = Naive::read(FILE);
    let rate = |key: &str| PAR.rate(key).unwrap().clone();
    assert_eq!(PAR.game, "dwarf-mine");
    assert_eq!((PAR.rules_version, PAR.bet_coins), ("1.0", 25));
    let sums: Vec<Exact> =
        PAR.reel_sets.iter().map(|set| set.combinations.iter().map(|of| of.rtp.clone()).sum()).collect();
    assert_eq!(sums[0], PAR.part("base_ways"));
    assert_eq!(&sums[1] * rate("free_spins_per_paid_spin"), PAR.part("free_spins"));
    let each = rate("crystal") / exact(5);
    assert_eq!(sums[2..].iter().sum::<Exact>() * exact(5) * each, PAR.part("collections"));
    let codes = |strips: &Vec<Vec<u8>>| -> Vec<Vec<String>> {
        strips.iter().map(|s| s.iter().map(|&of| naive.codes[usize::from(of)].clone()).collect()).collect()
    };
    assert_eq!(codes(&PAR.reel_sets[0].strips), naive.base);
    assert_eq!(codes(&PAR.reel_sets[1].strips), naive.strips(motherlode_slots::SpinKind::Free));
    for (set, symbol) in PAR.reel_sets[2..].iter().zip(model.super_high) {
        assert_eq!(codes(&set.strips), naive.strips(motherlode_slots::SpinKind::Collection(symbol)));
    }
    assert_eq!(rate("gift_worth"), rate("collection_win_red") * ratio(3, 5));
    assert!((&PAR.hit_frequency - ratio(28, 100)).abs() < ratio(1, 1_000));
    assert!(PAR.max_win_bets.is_positive() && PAR.max_win_bets < ratio(16_807 * 60, 25));
    assert!(PAR.max_win_probability.is_positive());
}

#[test]
fn playing_returns_what_the_mathematics_says() {
    let rounds = 400_000;
    let tally = simulate(dwarf_mine(), &stake(10_000), Carried::default(), rounds, seed(968)).unwrap();
    let n = rounds as f64;
    for (part, sum) in PAR.parts.iter().zip(&tally.parts) {
        let mean = sum.coins as f64 / n / 25.0;
        let deviation = (sum.squares as f64 / n / 625.0 - mean * mean).sqrt();
        let off = (mean - part.rtp.to_f64().unwrap()) / (deviation / n.sqrt());
        assert!(off.abs() < 4.0, "{}: {off} sigma", part.name.key);
    }
    let hits = PAR.hit_frequency.to_f64().unwrap();
    assert!((tally.hits as f64 / n - hits).abs() < 4.0 * (hits * (1.0 - hits) / n).sqrt());
    let total = tally.win.coins as f64 / n / 25.0;
    assert!((total - 0.968).abs() < 4.0 * PAR.std_dev / n.sqrt());
    let spins = PAR.rate("free_spins_per_paid_spin").unwrap() + PAR.rate("collection_spins_per_paid_spin").unwrap();
    let expected = spins.to_f64().unwrap();
    assert!((tally.free_spins as f64 / n - expected).abs() < 4.0 * (expected * 10.0 / n).sqrt());
}

#[test]
fn the_deviation_is_that_of_rounds_played() {
    let base = ["Bo Pi Ha Sp Pi", "Pi Ha Pi Sp", "Sp Bo Ha Pi Pi", "Pi Sp Sp Ha", "Ha Pi Bo Pi Pi"];
    let model = model_of(&toy(base, FREE, 3, &[("Pi", 5), ("Sp", 5)]));
    let returns = Returns::new(&model);
    let mut round = DwarfMineRound::new(&model, &stake(10_000), &Terms::plain(Carried::default())).unwrap();
    let (mut draws, mut carried) = (Draws::from_seed(seed(4)), Carried::default());
    let (mut sum, mut squares) = (0.0, 0.0);
    let rounds = 60_000;
    for _ in 0..rounds {
        motherlode_slots::Round::reopen(&mut round, &carried);
        let steps = play(&mut round, &mut draws);
        carried = steps[0].carried.unwrap_or(carried);
        let bets = steps.last().unwrap().round_win_coins as f64 / 25.0;
        sum += bets;
        squares += bets * bets;
    }
    let n = f64::from(rounds);
    let (mean, variance) = (sum / n, squares / n - (sum / n).powi(2));
    let exact_mean = returns.total().to_f64().unwrap();
    assert!((mean - exact_mean).abs() < 4.0 * (returns.variance() / n).sqrt(), "{mean} {exact_mean}");
    assert!((variance / returns.variance() - 1.0).abs() < 0.02, "{variance} {}", returns.variance());
    assert_eq!(returns.paid.sum(|_, _, cell| cell.chance.clone()), exact(BigInt::from(1)));
}
