#![allow(clippy::cast_precision_loss, reason = "statistics")]

use crate::common::seed;
use motherlode_slots::contract::par::{Exact, ratio};
use motherlode_slots::games::witch_feature::data::GameData;
use motherlode_slots::games::witch_feature::model::Model;
use motherlode_slots::games::witch_feature::moments::Means;
use motherlode_slots::games::witch_feature::par;
use motherlode_slots::math::{moments, scan};
use motherlode_slots::parts::file::{self, ModelError};
use motherlode_slots::{Carried, Game, Stake, Tally, latest, simulate};
use num_traits::{Signed, ToPrimitive};

const FILE: &str = include_str!("../../golden/witch-feature/1.0.toml");

fn witch_feature() -> &'static dyn Game {
    latest("witch-feature").unwrap()
}

fn model() -> Model {
    Model::new(&file::parse::<GameData>(FILE).unwrap()).unwrap()
}

fn stake(coin_value_micros: u64, coins_per_line: u32) -> Stake {
    Stake { coin_value_micros, lines: 50, coins_per_line, buy_feature: false }
}

fn unlocked() -> Carried {
    let mut carried = Carried::default();
    carried.0[2] = 4;
    carried
}

#[test]
fn wf_21_the_long_run_return_is_the_published_one() {
    let model = model();
    par::prove(&model).unwrap();
    let rtp = Means::new(&model).rtp(&model, 4);
    assert!((rtp - ratio(9402, 10_000)).abs() < ratio(1, 1_000_000_000_000_000u64));
    for broken in
        [("rtp = \"0.9402\"", "rtp = \"0.9403\""), ("pays = [0, 0, 20, 100, 500]", "pays = [0, 0, 20, 100, 501]")]
    {
        let data: GameData = file::parse(&FILE.replacen(broken.0, broken.1, 1)).unwrap();
        assert!(matches!(par::prove(&Model::new(&data).unwrap()), Err(ModelError::Return { .. })), "{broken:?}");
    }
}

#[test]
fn wf_21_the_return_is_the_same_at_every_bet() {
    let limits = &witch_feature().info().limits;
    assert_eq!((limits.lines, limits.coins_per_line), ((50, 50), (1, 10)));
    let par = witch_feature().par(&stake(10_000, 1)).unwrap();
    let other = witch_feature().par(&stake(200_000, 10)).unwrap();
    assert_eq!((&par.parts, &par.rtp, &par.hit_frequency), (&other.parts, &other.rtp, &other.hit_frequency));
    assert_eq!(par.parts.iter().map(|part| &part.rtp).sum::<Exact>(), par.rtp);
    assert_eq!((par.bet_coins, other.bet_coins), (50, 500));
    let rows: Exact = par.reel_sets[0].combinations.iter().map(|row| &row.rtp).sum();
    assert_eq!(rows, par.part("base_lines"));
    assert!(witch_feature().par(&stake(10_000, 11)).is_err());
}

#[test]
fn the_full_cycle_of_short_reels_is_what_the_mathematics_says() {
    let mut data: GameData = file::parse(FILE).unwrap();
    let strips = [
        "Wi Wt T K A FS Q J Br",
        "Wt Wi T K Q Bo A J",
        "T Wi Wt A Q K Ow J Ca",
        "Wt Q T Wi A J K",
        "FS T Wt Wi A K Q J",
    ];
    data.reels.strips = strips.map(str::to_owned).to_vec();
    data.respin_reels.strips = strips.map(|strip| strip.replace("FS", "Bo")).to_vec();
    let model = Model::new(&data).unwrap();
    let means = Means::new(&model);
    for (of, mean) in [(&model.base, &means.base), (&model.respin, &means.respin)] {
        let cycle = of.reels.cycle();
        let totals = scan::scan(of, 50, 0..cycle);
        let coins: u64 = totals.table.line_coins.iter().flatten().sum();
        assert_eq!(*mean, ratio(coins, cycle * 50));
        assert_eq!(totals.table, moments::spin_table(of, 50));
    }
    let totals = scan::scan(&model.respin, 50, 0..model.respin.reels.cycle());
    assert_eq!(means.respin_wins, ratio(totals.hits, model.respin.reels.cycle()));
    assert_eq!(moments::hits(&model.respin, 50), totals.hits);
    assert_eq!(means.trigger, ratio(4, 9) * ratio(4, 8));
}

#[test]
fn wf_06_every_third_potion_completes_a_combination() {
    let mut data: GameData = file::parse(FILE).unwrap();
    let per_spin = ratio(3 * data.potions.chance.times, data.potions.chance.of);
    let all: Exact = Means::new(&model()).combinations.iter().sum();
    assert_eq!(all, &per_spin / ratio(3, 1));
    let [high, wilds, multiplier, mega, _] = Means::new(&model()).combinations;
    assert_eq!(high, &all * ratio(6, 1) * ratio(1, 2) * ratio(1, 16));
    assert_eq!(wilds, &all * ratio(3, 1) * ratio(1, 2) * ratio(1, 16));
    assert_eq!(multiplier, wilds);
    assert_eq!(mega, &all * ratio(3, 1) * ratio(1, 64));
    data.potions.colours = [1, 0, 0];
    let only_red = Means::new(&Model::new(&data).unwrap()).combinations;
    assert_eq!(only_red[4], per_spin / ratio(3, 1));
}

#[test]
fn wf_21_played_rounds_return_what_the_mathematics_says() {
    let stake = stake(10_000, 1);
    let par = witch_feature().par(&stake).unwrap();
    let rounds = 400_000;
    let mut tally = Tally::default();
    for part in 0..2 {
        tally.merge(&simulate(witch_feature(), &stake, unlocked(), rounds / 2, seed(part)).unwrap());
    }
    let n = rounds as f64;
    let close = |what: &str, mean: f64, expected: f64, variance: f64| {
        let sigma = (variance / n).sqrt();
        assert!((mean - expected).abs() < 4.0 * sigma, "{what}: {mean}, expected {expected}, sigma {sigma}");
        assert!(sigma > 0.0);
    };
    let float = |of: &Exact| of.to_f64().unwrap();
    close("all", tally.win.coins as f64 / n / 50.0, float(&par.rtp), par.std_dev.powi(2));
    for (part, sum) in par.parts.iter().zip(&tally.parts) {
        let mean = sum.coins as f64 / n / 50.0;
        close(part.name.key, mean, float(&part.rtp), sum.squares as f64 / n / 2500.0 - mean * mean);
    }
    let hits = tally.hits as f64 / n;
    close("hits", hits, float(&par.hit_frequency), hits * (1.0 - hits));
    let spins = tally.free_spins as f64 / n;
    close("free spins", spins, float(par.rate("free_spins_per_paid_spin").unwrap()), 16.0 * spins);
    let mean = tally.win.coins as f64 / n / 50.0;
    let deviation = (tally.win.squares as f64 / n / 2500.0 - mean * mean).sqrt();
    assert!((deviation / par.std_dev - 1.0).abs() < 0.1, "{deviation} against {}", par.std_dev);
}

#[test]
fn wf_21_locked_states_return_what_the_description_states() {
    let model = model();
    let means = Means::new(&model);
    let par = witch_feature().par(&stake(10_000, 1)).unwrap();
    for (locked, of) in par.conditional_rtps.iter().filter(|of| of.key.starts_with("unlocked_")).enumerate() {
        let explosion = par::chance_of_explosion(&model) * &means.explosion;
        let missing: Exact =
            (locked + 1..4).map(|place| &means.combinations[place] * (&means.features[place] - &explosion)).sum();
        assert_eq!(&par.rtp - missing, of.rtp, "{}", of.key);
    }
}

#[test]
fn a_fault_of_the_data_file_is_refused_with_its_part() {
    for (part, from, to) in [
        ("potions", "times = 1, of = 6", "times = 7, of = 6"),
        ("potions", "colours = [2, 1, 1]", "colours = [0, 0, 0]"),
        ("high_symbols", "[\"Wi\", 1], [\"Wt\", 3]", "[\"Wi\", 1], [\"FS\", 3]"),
        ("random_wilds", "[6, 10]]", "[21, 10]]"),
        ("multiplier", "[10, 4]]", "[101, 4]]"),
        ("mega_wild", "one_of_three = 1\ntwo_of_two = 1", "one_of_three = 0\ntwo_of_two = 0"),
        ("explosion", "[9, 8]]", "[0, 8]]"),
        ("free_spins", "features = [35, 25, 20, 8, 6, 4, 2]", "features = [0, 0, 0, 0, 0, 0, 0]"),
        ("symbols", "role = \"question\"", "role = \"collected\""),
    ] {
        assert!(FILE.contains(from), "{from}");
        let data: GameData = file::parse(&FILE.replacen(from, to, 1)).unwrap();
        match Model::new(&data).unwrap_err() {
            ModelError::Part { part: found, .. } => assert_eq!(found, part, "{from}"),
            other => panic!("{other}"),
        }
    }
    let mut data: GameData = file::parse(FILE).unwrap();
    data.reels.strips[2] = data.reels.strips[0].clone();
    assert!(matches!(Model::new(&data), Err(ModelError::Part { part: "reels", .. })));
    let mut data: GameData = file::parse(FILE).unwrap();
    data.respin_reels.strips[0] = data.reels.strips[0].clone();
    assert!(matches!(Model::new(&data), Err(ModelError::Part { part: "respin_reels", .. })));
    assert!(file::parse::<GameData>(&FILE.replace("[potions]", "[potions]\nmore = 1")).is_err());
}
