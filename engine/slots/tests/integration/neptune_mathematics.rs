#![allow(clippy::cast_precision_loss, reason = "statistics")]

use crate::common::{Naive, seed, stake};
use motherlode_slots::contract::par::{Exact, exact, ratio};
use motherlode_slots::games::neptune::data::GameData;
use motherlode_slots::games::neptune::model::Model;
use motherlode_slots::games::neptune::moments::{Amount, RoundMoments, Window};
use motherlode_slots::games::neptune::treasure::{TreasureTable, treasure_table};
use motherlode_slots::math::moments;
use motherlode_slots::math::scan::scan;
use motherlode_slots::parts::file;
use motherlode_slots::parts::lines::{LINES_MAX, Lines};
use motherlode_slots::{Carried, Stake, latest, simulate};
use num_traits::ToPrimitive;
use proptest::prelude::*;

const FILE: &str = include_str!("../../golden/neptune/1.0.toml");

fn each_window(model: &Model, lines: u32, wanted: impl Fn([u16; 3]) -> bool, mut each: impl FnMut(usize, u64, &[u8])) {
    let played = Lines::first(lines);
    let reels = &model.windows.reels;
    let rest: u64 = reels.lengths()[3..].iter().map(|&n| u64::from(n)).product();
    let mut runs = [0; LINES_MAX];
    for block in 0..reels.cycle() / rest {
        let [one, two, three, ..] = reels.stops_at(block * rest).map(|stop| u16::try_from(stop).unwrap());
        if !wanted([one, two, three]) {
            continue;
        }
        for place in block * rest..(block + 1) * rest {
            let stops = reels.stops_at(place);
            let mut coins = 0;
            let specials = model.windows.evaluate(&stops, played, |_, win| coins += win.pays);
            let mut count = 0;
            for needs in model.treasures.at(&stops.map(|stop| u16::try_from(stop).unwrap()), played) {
                runs[count] = needs;
                count += 1;
            }
            each(usize::from(specials.scatters), coins, &runs[..count]);
        }
    }
}

fn counted(model: &Model, lines: u32, wanted: impl Fn([u16; 3]) -> bool) -> (TreasureTable, u64) {
    let mut table = TreasureTable::default();
    let mut alone = 0;
    each_window(model, lines, wanted, |scatters, coins, runs| {
        let objects: u64 = runs.iter().map(|&n| u64::from(n)).sum();
        table.objects[scatters] += objects;
        table.objects_squared += u128::from(objects * objects);
        table.objects_line_coins += u128::from(objects * coins);
        table.windows += u64::from(objects > 0);
        for &run in runs {
            table.runs[usize::from(run)] += 1;
        }
        alone += u64::from(objects > 0 && coins + model.windows.scatters.pays[scatters] == 0);
    });
    (table, alone)
}

fn derived(model: &Model, lines: u32) -> TreasureTable {
    let table = treasure_table(model, lines);
    TreasureTable { runs: table.runs.map(|ways| ways * u64::from(lines)), ..table }
}

#[test]
fn np_rtp_the_full_cycle_is_what_the_mathematics_says() {
    let model = Model::new(&file::parse(FILE).unwrap()).unwrap();
    let naive = Naive::new(FILE);
    let shows = |reel: usize, stop: u16| (0..3).any(|row| naive.cell(reel, usize::from(stop), row) == 2);
    let may_start = |stops: [u16; 3]| (0..3).all(|reel| shows(reel, stops[reel]));
    let (counted, alone) = counted(&model, 15, may_start);
    assert_eq!(counted, derived(&model, 15));
    let par = latest("neptune").unwrap().par(&stake(15, 1)).unwrap();
    assert_eq!(*par.rate("treasure").unwrap(), ratio(counted.windows, 1u64 << 25));
    let scan = std::thread::scope(|scope| {
        let second = scope.spawn(|| scan(&model.windows, 15, 1 << 24..1 << 25));
        let mut totals = scan(&model.windows, 15, 0..1 << 24);
        totals.merge(&second.join().unwrap());
        totals
    });
    assert_eq!(par.hit_frequency, ratio(scan.hits + alone, 1u64 << 25));
    assert_eq!(scan.table, moments::spin_table(&model.windows, 15));
    assert_eq!(par.part("base_lines"), ratio(scan.table.line_coins.iter().flatten().sum::<u64>(), 15u64 << 25));
    assert_eq!(par.max_win_bets, ratio(scan.max_win_coins, 15u64));
    assert_eq!(par.max_win_probability, ratio(scan.max_win_windows, 1u64 << 25));
}

fn strip() -> impl Strategy<Value = String> {
    let codes = prop::sample::subsequence(vec!["Ne", "Mm", "Tr", "Ga", "Do", "Oc", "Tr", "Ne", "Tr", "Ga"], 4..=7);
    codes.prop_shuffle().prop_map(|codes| codes.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn np_09_any_full_cycle_is_what_the_mathematics_says(strips in prop::array::uniform5(strip()), lines in 1u32..=15) {
        let mut data: GameData = file::parse(FILE).unwrap();
        data.reels.strips = strips.to_vec();
        let model = Model::new(&data).unwrap();
        prop_assert_eq!(counted(&model, lines, |_| true).0, derived(&model, lines));
    }
}

#[test]
fn np_rtp_is_exact_for_every_lines_coins_and_coin_value() {
    let game = latest("neptune").unwrap();
    let model = Model::new(&file::parse(FILE).unwrap()).unwrap();
    let amount = Amount::new(&model.objects);
    for lines in 1..=15 {
        let window = Window::new(&model, lines);
        assert_eq!(RoundMoments::new(&model, &window, &amount).mean, ratio(96, 100), "{lines} lines");
    }
    let mut pars = Vec::new();
    for coins_per_line in 1..=5 {
        for &coin_value_micros in &game.info().limits.coin_values_micros {
            let par = game.par(&Stake { coin_value_micros, lines: 3, coins_per_line, buy_feature: false }).unwrap();
            assert_eq!(par.rtp, ratio(96, 100));
            pars.push(par.parts);
        }
    }
    assert!(pars.len() == 35 && pars.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn np_rtp_equals_the_sum_over_symbol_counts() {
    let naive = Naive::new(FILE);
    let n = naive.codes.len();
    let cycle: u64 = naive.strips.iter().map(|strip| strip.len() as u64).product();
    let counts = |reel: usize, symbol: usize| naive.strips[reel].iter().filter(|&&s| s == symbol).count() as u64;
    let one_row = Naive { strips: vec![(0..n).collect(); 5], lines: vec![vec![0; 5]], ..Naive::new(FILE) };
    let (mut coins, mut objects) = (0, 0);
    for place in 0..n.pow(5) {
        let cells: Vec<usize> = (0..5u32).map(|reel| place / n.pow(reel) % n).collect();
        let ways: u64 = (0..5).map(|reel| counts(reel, cells[reel])).product();
        let run = cells.iter().take_while(|&&cell| naive.roles[cell] == "bonus").count() as u64;
        objects += if run >= 3 { run * ways } else { 0 };
        // The first two symbols of a line win are equal or include a Wild.
        if ways > 0 && (cells[0] == cells[1] || cells[0] == 0 || cells[1] == 0) {
            coins += ways * one_row.line(0, &cells);
        }
    }
    let mermaids = |count: u32| -> u64 {
        let of = |set: u32| {
            (0..5).map(|r| if set >> r & 1 == 1 { 3 } else { naive.strips[r].len() as u64 - 3 }).product::<u64>()
        };
        (0..32u32).filter(|set| set.count_ones() == count).map(of).sum()
    };
    let scatter: u64 = (1..=5).map(|count| mermaids(count) * naive.pays[1][count as usize - 1]).sum();
    let phi = ratio(10 * (mermaids(3) + mermaids(4) + mermaids(5)), cycle);
    let table: toml::Table = FILE.parse().unwrap();
    let number = |value: &toml::Value| u64::try_from(value.as_integer().unwrap()).unwrap();
    let amounts = table["treasure"]["amounts"].as_array().unwrap();
    let total: u64 = amounts.iter().map(|a| number(&a["weight"])).sum();
    let sum: u128 = amounts.iter().map(|a| u128::from(number(&a["weight"])) * u128::from(number(&a["coins"]))).sum();
    let treasure = ratio(objects, cycle) * ratio(sum, total);
    let (lines, scatter) = (ratio(coins, cycle), ratio(scatter, cycle));
    let paid = &lines + &scatter + &treasure;
    let free = exact(3) * &lines + &scatter + &treasure;
    assert_eq!(paid + &phi / (exact(1) - &phi) * free, ratio(96, 100));
    let par = latest("neptune").unwrap().par(&stake(15, 1)).unwrap();
    assert_eq!((par.part("base_lines"), par.part("scatter"), par.part("treasure")), (lines, scatter, treasure));
}

#[test]
fn np_the_variance_is_that_of_every_window_and_amount() {
    let mut data: GameData = file::parse(FILE).unwrap();
    data.reels.strips = vec!["Ne Tr Mm Tr Ga Pe St Lo".to_owned(); 5];
    data.symbols[1].free_spins = vec![0, 0, 0, 1, 2];
    let model = Model::new(&data).unwrap();
    let lines = 4;
    let amount = Amount::new(&model.objects);
    let spread = &amount.squared - &amount.mean * &amount.mean;
    let cycle = exact(model.windows.reels.cycle());
    let bets = exact(lines);
    let sums = |k: u64| {
        let mut sums: [Exact; 5] = std::array::from_fn(|_| exact(0));
        let mut shown = std::collections::BTreeMap::new();
        each_window(
            &model,
            lines,
            |_| true,
            |scatters, coins, runs| {
                let objects: u64 = runs.iter().map(|&n| u64::from(n)).sum();
                *shown.entry((scatters, coins, objects)).or_insert(0u64) += 1;
            },
        );
        for ((scatters, coins, objects), times) in shown {
            let chance = exact(times) / &cycle;
            let a = (exact(coins * k) + exact(objects) * &amount.mean) / &bets
                + exact(model.windows.scatters.pays[scatters]);
            let noise = exact(objects) * &spread / (&bets * &bets);
            let spins = exact(model.windows.scatters.free_spins[scatters]);
            let values = [a.clone(), &a * &a + noise, &a * &spins, spins.clone(), &spins * &spins];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value * &chance;
            }
        }
        sums
    };
    let two = exact(2);
    let [a, aa, ak, phi, kk] = sums(3);
    let dies = exact(1) - &phi;
    let mu = a / &dies;
    let v = (aa + &two * &mu * ak + &mu * &mu * kk - &mu * &mu) / &dies;
    let [a, aa, ak, phi, kk] = sums(1);
    let mean = a + &phi * &mu;
    let variance = aa + &two * &mu * ak + &mu * &mu * kk + phi * v - &mean * &mean;
    let round = RoundMoments::new(&model, &Window::new(&model, lines), &amount);
    assert_eq!((round.mean, round.variance), (mean, variance));
}

#[test]
fn np_the_par_sheet_is_consistent() {
    let game = latest("neptune").unwrap();
    let par = game.par(&stake(15, 5)).unwrap();
    assert_eq!(par.parts.iter().map(|part| &part.rtp).sum::<Exact>(), par.rtp);
    assert!(par.parts.iter().map(|part| part.name).eq(game.parts().iter().copied()));
    let [set] = par.reel_sets.as_slice() else { panic!("one set of reels") };
    let rows: Exact = set.combinations.iter().map(|row| &row.rtp).sum();
    assert_eq!(rows, par.part("base_lines") + par.part("scatter") + par.part("treasure"));
    let chances: Exact = par.rates.iter().filter(|rate| rate.key.starts_with("object_")).map(|rate| &rate.value).sum();
    assert_eq!(chances, exact(1));
}

#[test]
fn np_played_rounds_return_what_the_mathematics_says() {
    for (lines, coins, number) in [(15, 1, 1), (4, 5, 2)] {
        let (game, stake, rounds) = (latest("neptune").unwrap(), stake(lines, coins), 200_000);
        let par = game.par(&stake).unwrap();
        let tally = simulate(game, &stake, Carried::default(), rounds, seed(number)).unwrap();
        let (n, bet) = (rounds as f64, f64::from(lines * coins));
        let close = |what: &str, mean: f64, expected: &Exact, variance: f64| {
            let (off, sigma) = ((mean - expected.to_f64().unwrap()).abs(), (variance / n).sqrt());
            assert!(sigma > 0.0 && off < 4.0 * sigma, "{what}: off by {off}, sigma {sigma}");
        };
        let mean_of = |coins: u128| coins as f64 / n / bet;
        close("all", mean_of(tally.win.coins), &par.rtp, par.std_dev.powi(2));
        for (part, sum) in par.parts.iter().zip(&tally.parts) {
            let mean = mean_of(sum.coins);
            close(part.name.key, mean, &part.rtp, sum.squares as f64 / n / bet / bet - mean * mean);
        }
        let hits = tally.hits as f64 / n;
        close("hits", hits, &par.hit_frequency, hits * (1.0 - hits));
        let treasures = tally.bonuses as f64 / n;
        close("treasures", treasures, par.rate("treasures_per_paid_spin").unwrap(), 1.5 * treasures);
    }
}
