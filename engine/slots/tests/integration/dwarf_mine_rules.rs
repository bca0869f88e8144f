#![allow(clippy::cast_precision_loss, reason = "statistics")]

use std::collections::BTreeMap;

use crate::dwarf_mine::{FILE, Naive, carried, crystals, dwarf_mine, model_of, open, play, rounds, seed, stake, step};
use motherlode_slots::contract::info::SymbolRole;
use motherlode_slots::games::dwarf_mine::round::DwarfMineRound;
use motherlode_slots::{
    Awaiting, Card, Carried, CarriedScope, Choice, ChoiceRefused, CoinWorth, Draws, MarkKind, Outcome, Picked, Round,
    SpinKind, StakeRefused, Terms, WinKind,
};
use proptest::prelude::*;

fn crystalline() -> String {
    let (head, tail) = FILE.split_once("\ncrystal = ").unwrap();
    format!("{head}\ncrystal = 40_000_000{}", &tail[tail.find('\n').unwrap()..])
}

#[test]
fn dm_01_the_window_has_4_to_7_rows_and_its_ways_are_the_power_of_them() {
    let mut seen = BTreeMap::new();
    for (_, steps) in rounds(20_000, 1) {
        for spin in steps.iter().flat_map(|out| &out.spins) {
            assert_eq!(spin.reels, 5);
            seen.insert(spin.rows, spin.ways());
        }
    }
    assert_eq!(seen, BTreeMap::from([(4, 1_024), (5, 3_125), (6, 7_776), (7, 16_807)]));
    let info = dwarf_mine().info();
    assert_eq!((info.reels, info.rows, info.rows_max, info.ways, info.lines.len()), (5, 4, 7, true, 0));
}

#[test]
fn dm_02_dm_03_wins_are_those_of_every_way_walked() {
    let naive = Naive::read(FILE);
    let (mut from_two, mut many) = (0, 0);
    for out in rounds(20_000, 2).iter().flat_map(|(_, steps)| steps) {
        for spin in &out.spins {
            let mut expected = naive.wins(&naive.window(spin));
            assert_eq!(spin.win_coins, expected.values().map(|win| win.2).sum::<u64>());
            for win in out.wins_of(spin) {
                let WinKind::Ways(ways) = win.kind else { panic!("{win:?}") };
                let code = &naive.codes[usize::from(win.symbol)];
                assert_eq!(expected.remove(code), Some((win.count, u64::from(ways), win.coins)));
                let super_high = naive.role(code) == "super-high";
                assert!(win.count >= if super_high { 2 } else { 3 });
                from_two += u32::from(win.count == 2);
                many += u32::from(ways >= 100);
            }
            assert!(expected.is_empty(), "not paid: {expected:?}");
        }
        let coins: u64 = out.spins.iter().map(|spin| spin.win_coins).sum();
        assert_eq!(out.part_coins.iter().sum::<u64>(), coins);
    }
    assert!(from_two > 30 && many > 30, "{from_two} {many}");
}

#[test]
fn dm_04_all_symbols_wins_are_added_and_worth_the_coin_value() {
    let naive = Naive::read(FILE);
    let mut draws = Draws::from_seed(seed(4));
    let coin_values = dwarf_mine().info().limits.coin_values_micros.iter();
    for &coin_value in coin_values.filter(|micros| micros.is_multiple_of(10_000)) {
        let mut of_several = 0;
        for _ in 0..2_000 {
            let mut round = open(coin_value, carried([0; 4], [0; 4], 0));
            let out = step(round.as_mut(), Choice::Spin, &mut draws);
            let wins = naive.wins(&naive.window(&out.spins[0]));
            let coins: u64 = wins.values().map(|(_, _, coins)| coins).sum();
            assert_eq!((out.round_win_coins, out.round_win_minor), (coins, coins * (coin_value / 10_000)));
            of_several += u32::from(wins.len() > 1);
        }
        assert!(of_several > 20, "{of_several} at {coin_value}");
    }
}

#[test]
fn dm_03_counts_of_2_3_and_2_multiply_by_12() {
    use motherlode_slots::parts::ways::Counts;
    let model = model_of(FILE);
    let symbol = Naive::read(FILE).index("Pi");
    let of = |count: u8| (0..count).fold(Counts::default(), |counts, _| counts.with(symbol));
    let mut wins = Vec::new();
    model.ways.evaluate(&[of(2), of(3), of(2), of(0), of(4)], |win| wins.push(win));
    assert_eq!(wins.len(), 1);
    assert_eq!((wins[0].count, wins[0].ways, wins[0].coins), (3, 12, 12 * Naive::read(FILE).pays["Pi"][2]));
    model.ways.evaluate(&[of(7); 5], |win| assert_eq!((win.count, win.ways), (5, 16_807)));
}

#[test]
fn dm_05_four_tools_four_suits_four_super_high_a_bonus_and_four_crystals() {
    let info = dwarf_mine().info();
    let number = |role| info.symbols.iter().filter(|of| of.role == role).count();
    assert_eq!(number(SymbolRole::Regular), 8);
    assert_eq!((number(SymbolRole::SuperHigh), number(SymbolRole::Collected)), (4, 4));
    assert_eq!((number(SymbolRole::FreeSpins), number(SymbolRole::Wild), info.symbols.len()), (1, 0, 17));
    let naive = Naive::read(FILE);
    for spin in rounds(20_000, 5).iter().flat_map(|(_, steps)| steps).flat_map(|out| &out.spins) {
        let mut shown = naive.window(spin).into_iter().flatten().filter(|code| naive.role(code) == "super-high");
        match spin.kind {
            SpinKind::Collection(symbol) => assert!(shown.all(|code| code == naive.codes[usize::from(symbol)])),
            _ => assert_eq!(shown.next(), None),
        }
    }
}

#[test]
fn dm_06_bonus_lands_on_reels_1_3_and_5_once_each_within_the_base_rows() {
    let naive = Naive::read(FILE);
    for (reel, strip) in naive.base.iter().enumerate() {
        let ring = |at: usize| &strip[at % strip.len()];
        let most = (0..strip.len()).map(|stop| (stop..stop + 4).filter(|&at| ring(at) == "Bo").count()).max();
        assert_eq!(most, Some(usize::from(reel % 2 == 0)));
    }
    for spin in rounds(20_000, 6).iter().flat_map(|(_, steps)| steps).flat_map(|out| &out.spins) {
        for (reel, column) in naive.window(spin).iter().enumerate() {
            let at: Vec<usize> = (0..column.len()).filter(|&row| column[row] == "Bo").collect();
            assert!(at.len() <= usize::from(spin.kind == SpinKind::Base && reel % 2 == 0));
            assert!(at.iter().all(|&row| row < 4));
        }
    }
}

#[test]
fn dm_07_each_bonus_adds_a_row_below_the_strips_window() {
    let naive = Naive::read(FILE);
    let mut grown = [0; 4];
    for (_, steps) in rounds(20_000, 7) {
        for spin in steps.iter().flat_map(|out| &out.spins) {
            let window = naive.window(spin);
            let of_strip = if spin.kind == SpinKind::Base { 4 } else { 7 };
            for ((strip, column), &stop) in naive.strips(spin.kind).iter().zip(&window).zip(spin.stops.as_slice()) {
                let stands: Vec<&String> =
                    (0..of_strip).map(|row| &strip[(usize::from(stop) + row) % strip.len()]).collect();
                assert_eq!(column.iter().take(of_strip).collect::<Vec<_>>(), stands);
            }
            if spin.kind == SpinKind::Base {
                let bonuses = window.iter().flatten().filter(|code| *code == "Bo").count();
                assert_eq!(usize::from(spin.rows), 4 + bonuses);
                grown[bonuses] += 1;
            }
        }
    }
    assert!(grown.iter().all(|&n| n > 50), "{grown:?}");
}

/// DM-08: chi-square test; the 1 - 1e-6 quantile for 7 degrees of freedom is about 41.
#[test]
fn dm_08_expanded_cells_are_drawn_from_weights() {
    let naive = Naive::read(FILE);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (_, steps) in rounds(40_000, 8) {
        for column in naive.window(&steps[0].spins[0]) {
            for code in column.into_iter().skip(4).filter(|code| naive.role(code) == "regular") {
                *counts.entry(code).or_default() += 1;
            }
        }
    }
    let (all, weight): (u64, u64) = (counts.values().sum(), naive.weights.values().sum());
    let term = |(code, &count): (&String, &u64)| {
        let expected = all as f64 * naive.weights[code] as f64 / weight as f64;
        (count as f64 - expected).powi(2) / expected
    };
    let chi_square: f64 = counts.iter().map(term).sum();
    assert_eq!(counts.len(), naive.weights.len());
    assert!(all > 50_000 && chi_square < 41.0, "{all} cells, {chi_square}");
}

#[test]
fn dm_09_crystals_land_on_expanded_rows_each_colour_once_a_spin() {
    let naive = Naive::read(FILE);
    let text = crystalline();
    let model = model_of(&text);
    let mut landed = [0u32; 5];
    let mut round = DwarfMineRound::new(&model, &stake(10_000), &Terms::plain(Carried::default())).unwrap();
    let mut draws = Draws::from_seed(seed(9));
    for _ in 0..20_000 {
        round.reopen(&Carried::default());
        let out = step(&mut round, Choice::Spin, &mut draws);
        let spin = &out.spins[0];
        let mut shown = Vec::new();
        for (at, code) in naive.window(spin).iter().flatten().enumerate() {
            if naive.role(code) == "collected" {
                assert!(at % usize::from(spin.rows) >= 4);
                shown.push((at, naive.index(code)));
            }
        }
        let marked: Vec<(usize, u8)> = out
            .marks_of(spin)
            .iter()
            .map(|mark| {
                assert_eq!(mark.kind, MarkKind::Crystal);
                (usize::from(mark.cell), u8::try_from(mark.value).unwrap())
            })
            .collect();
        assert_eq!(marked, shown);
        let mut colours = crystals(&out);
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), shown.len());
        landed[shown.len()] += 1;
    }
    assert!(landed.iter().all(|&n| n > 50), "{landed:?}");
    // The 1 - 1e-6 quantile of chi-square for 3 degrees of freedom is about 30.8.
    let mut colours = BTreeMap::<u8, u32>::new();
    for (_, steps) in rounds(60_000, 9) {
        for crystal in crystals(&steps[0]) {
            *colours.entry(crystal).or_default() += 1;
        }
        for spin in steps[1..].iter().flat_map(|out| &out.spins) {
            assert!(naive.window(spin).iter().flatten().all(|code| naive.role(code) != "collected"));
        }
    }
    let mean = f64::from(colours.values().sum::<u32>()) / 4.0;
    let chi_square: f64 = colours.values().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
    assert!(colours.len() == 4 && mean > 500.0 && chi_square < 30.8, "{colours:?}");
}

#[test]
fn dm_10_three_bonus_symbols_award_10_free_spins_on_7_rows_without_retrigger() {
    let naive = Naive::read(FILE);
    let mut series = 0;
    for (_, steps) in rounds(20_000, 10) {
        let three = steps[0].spins[0].rows == 7;
        let free: Vec<&Outcome> = steps.iter().filter(|out| out.spins[0].kind == SpinKind::Free).collect();
        assert_eq!(free.len(), usize::from(three));
        for out in free {
            assert_eq!((steps[0].awaiting, steps[0].free_spins_left), (Awaiting::FreeSpins, 10));
            assert!(steps[0].spins[0].free_spins_won >= 10);
            assert_eq!(out.spins.len(), 10);
            for spin in &out.spins {
                assert_eq!((spin.rows, spin.free_spins_won, spin.marks.len()), (7, 0, 0));
                assert!(naive.window(spin).iter().flatten().all(|code| naive.role(code) == "regular"));
                assert_eq!(spin.win_minor, spin.win_coins);
            }
            series += 1;
        }
    }
    assert!(series > 50, "{series}");
}

#[test]
fn dm_11_five_crystals_of_a_colour_award_5_spins_with_its_super_high_symbol() {
    let naive = Naive::read(FILE);
    let mut crystals_of = [0, 0, 0, 3];
    let mut completed = [0; 4];
    for (_, steps) in rounds(40_000, 11) {
        let mut expected = Vec::new();
        for crystal in crystals(&steps[0]) {
            let colour = ["Gc", "Yc", "Bc", "Rc"].iter().position(|&code| naive.index(code) == crystal).unwrap();
            crystals_of[colour] += 1;
            if crystals_of[colour] == 5 {
                crystals_of[colour] = 0;
                expected.push(colour);
            }
        }
        expected.sort_unstable();
        let kinds: Vec<SpinKind> = steps.iter().flat_map(|out| &out.spins).map(|spin| spin.kind).collect();
        let collected: Vec<SpinKind> =
            kinds.into_iter().filter(|kind| matches!(kind, SpinKind::Collection(_))).collect();
        let super_high = |colour: usize| SpinKind::Collection(naive.index(["Em", "To", "Sa", "Ru"][colour]));
        assert_eq!(collected, expected.iter().flat_map(|&colour| [super_high(colour); 5]).collect::<Vec<_>>());
        expected.iter().for_each(|&colour| completed[colour] += 1);
    }
    assert!(completed.iter().all(|&n| n > 40), "{completed:?}");
    assert!(naive.free.iter().all(|strip| strip.contains(&"*".to_owned())));
}

fn completes_green(coin_value_micros: u64, micros: i64) -> Vec<Outcome> {
    let green = Naive::read(FILE).index("Gc");
    (0..)
        .find_map(|number| {
            let mut round = open(coin_value_micros, carried([4, 0, 0, 0], [micros, 0, 0, 0], 0));
            let steps = play(round.as_mut(), &mut Draws::from_seed(seed(number)));
            (crystals(&steps[0]) == [green] && steps.len() == 2).then_some(steps)
        })
        .unwrap()
}

#[test]
fn dm_12_collection_spins_are_played_at_the_mean_coin_value() {
    let steps = completes_green(400_000, 140_000);
    for spin in &steps[1].spins {
        let tenths = spin.win_coins * 108;
        let (whole, rest) = (tenths / 10, tenths % 10);
        let up = rest > 5 || (rest == 5 && whole % 2 == 1);
        assert_eq!(spin.win_minor, whole + u64::from(up));
    }
    assert!(steps[1].spins.iter().any(|spin| spin.win_coins > 0));
    assert_eq!(steps[0].spins[0].win_minor, steps[0].spins[0].win_coins * 40);
    let red = Naive::read(FILE).index("Rc");
    let steps = (0..).find_map(|number| {
        let mut round = open(20_000, carried([0, 0, 0, 4], [0, 0, 0, 10_000], 3));
        let steps = play(round.as_mut(), &mut Draws::from_seed(seed(number)));
        (crystals(&steps[0]) == [red] && steps.len() == 2).then_some(steps)
    });
    for spin in &steps.unwrap()[1].spins {
        let halves = spin.win_coins * 3;
        assert_eq!(spin.win_minor, halves / 2 + u64::from(halves % 4 == 3));
    }
}

#[test]
fn dm_13_free_spins_first_then_green_yellow_blue_and_red() {
    let naive = Naive::read(FILE);
    let model = model_of(&crystalline());
    let order = ["Em", "To", "Sa", "Ru"].map(|code| SpinKind::Collection(naive.index(code)));
    let mut all_five = 0;
    for number in 0..20_000 {
        let terms = Terms::plain(carried([4; 4], [40_000; 4], 0));
        let mut round = DwarfMineRound::new(&model, &stake(10_000), &terms).unwrap();
        let steps = play(&mut round, &mut Draws::from_seed(seed(number)));
        let kinds: Vec<SpinKind> = steps[1..].iter().map(|out| out.spins[0].kind).collect();
        let mut expected = Vec::new();
        if steps[0].spins[0].rows == 7 {
            expected.push(SpinKind::Free);
        }
        let landed = crystals(&steps[0]);
        let of_landed =
            ["Gc", "Yc", "Bc", "Rc"].iter().zip(order).filter(|(code, _)| landed.contains(&naive.index(code)));
        expected.extend(of_landed.map(|(_, kind)| kind));
        assert_eq!(kinds, expected);
        for (out, next) in steps.iter().zip(kinds.iter().map(Some).chain([None])) {
            let left = next.map_or(0, |kind| if *kind == SpinKind::Free { 10 } else { 5 });
            assert_eq!(out.free_spins_left, left);
            assert_eq!(out.awaiting, if left > 0 { Awaiting::FreeSpins } else { Awaiting::Nothing });
        }
        let won = kinds.iter().map(|kind| if *kind == SpinKind::Free { 10 } else { 5 }).sum::<u32>();
        assert_eq!(steps[0].spins[0].free_spins_won, won);
        all_five += u32::from(kinds.len() == 5);
    }
    assert!(all_five > 20, "{all_five}");
}

#[test]
fn dm_14_a_new_player_is_given_3_red_crystals_once() {
    let mut gifted = 0;
    for number in 0..200 {
        let out = step(open(10_000, Carried::default()).as_mut(), Choice::Spin, &mut Draws::from_seed(seed(number)));
        let after = out.carried.expect("the gift changes the carried figures");
        let landed = |code: &str| i64::from(crystals(&out).contains(&Naive::read(FILE).index(code)));
        let crystals_after = [landed("Gc"), landed("Yc"), landed("Bc"), 3 + landed("Rc")];
        assert_eq!(after, carried(crystals_after, crystals_after.map(|n| n % 3 * 10_000), 3));
        let again = step(open(10_000, after).as_mut(), Choice::Spin, &mut Draws::from_seed(seed(1_000 + number)));
        gifted += u32::from(again.carried.is_some_and(|more| more.0[3] > after.0[3] + 1));
    }
    assert_eq!(gifted, 0);
}

#[test]
fn dm_15_other_colours_stay_and_a_completed_one_starts_from_zero() {
    let naive = Naive::read(FILE);
    let codes = ["Gc", "Yc", "Bc", "Rc"];
    let model = model_of(&crystalline());
    let mut completed = 0;
    for number in 0..5_000 {
        let crystals_before = [4, 2, 4, 3];
        let before = carried(crystals_before, [100, 200, 300, 0], 3);
        let mut round = DwarfMineRound::new(&model, &stake(20_000), &Terms::plain(before)).unwrap();
        let out = step(&mut round, Choice::Spin, &mut Draws::from_seed(seed(number)));
        let landed = codes.map(|code| crystals(&out).contains(&naive.index(code)));
        let mut expected = before;
        for colour in (0..4).filter(|&colour| landed[colour]) {
            let full = crystals_before[colour] == 4;
            completed += u32::from(full);
            expected.0[colour] = if full { 0 } else { expected.0[colour] + 1 };
            expected.0[4 + colour] = if full { 0 } else { expected.0[4 + colour] + 20_000 };
        }
        assert_eq!(out.carried, (expected != before).then_some(expected));
    }
    assert!(completed > 100, "{completed}");
    let red = naive.index("Rc");
    let out = (0..).find_map(|number| {
        let mut round = open(10_000, carried([0, 0, 0, 4], [0, 0, 0, 10_000], 3));
        let out = step(round.as_mut(), Choice::Spin, &mut Draws::from_seed(seed(number)));
        (crystals(&out) == [red]).then_some(out)
    });
    assert_eq!(out.unwrap().carried, Some(carried([0; 4], [0; 4], 0)));
}

#[test]
fn dm_16_collections_are_carried_and_a_round_is_rebuilt_from_its_steps() {
    let carries = dwarf_mine().carries();
    assert_eq!(carries.scope, CarriedScope::Currency);
    assert_eq!(carries.keys[..4], ["green", "yellow", "blue", "red"]);
    let model = model_of(&crystalline());
    let before = Terms::plain(carried([4, 4, 4, 4], [1, 2, 3, 4], 0));
    let mut series = 0;
    for number in 0..2_000 {
        let mut once = DwarfMineRound::new(&model, &stake(4_000), &before).unwrap();
        let mut again = DwarfMineRound::new(&model, &stake(4_000), &Terms::plain(Carried::default())).unwrap();
        again.reopen(&before.carried);
        let mut choice = Choice::Spin;
        for place in 0..9 {
            let step_seed = seed(number * 10 + place);
            let first = step(&mut once, choice, &mut Draws::from_seed(step_seed));
            assert_eq!(first, step(&mut again, choice, &mut Draws::from_seed(step_seed)));
            if first.awaiting == Awaiting::Nothing {
                break;
            }
            choice = Choice::StartFreeSpins;
            series += 1;
        }
    }
    assert!(series > 500, "{series}");
}

#[test]
fn dm_17_each_spin_is_rounded_to_whole_cents_and_the_round_pays_their_sum() {
    let (mut rounded, mut series) = (0, 0);
    let mut draws = Draws::from_seed(seed(17));
    for _ in 0..20_000 {
        let mut round = open(4_000, carried([1; 4], [4_000; 4], 0));
        let mut paid = 0;
        for out in play(round.as_mut(), &mut draws) {
            for spin in &out.spins {
                let tenths = spin.win_coins * 4;
                let nearest = (tenths + 5) / 10;
                assert_eq!(spin.win_minor, nearest);
                rounded += u32::from(tenths % 10 != 0);
                paid += spin.win_minor;
            }
            assert_eq!(out.round_win_minor, paid);
            series += u32::from(out.spins.len() > 1);
        }
    }
    assert!(rounded > 1_000 && series > 20, "{rounded} {series}");
    assert_eq!(CoinWorth::new(4_000, 10_000).minor(21), 8);
}

#[test]
fn dm_23_the_rules_are_1_0_of_14_march_2019() {
    let game = dwarf_mine();
    assert_eq!((game.rules_version(), game.rules_date()), ("1.0", "2019-03-14"));
    let table: toml::Table = FILE.parse().unwrap();
    for (key, value) in [("name", "dwarf-mine"), ("rules_version", "1.0"), ("rules_date", "2019-03-14")] {
        assert_eq!(table[key].as_str(), Some(value));
    }
    use sha2::{Digest, Sha256};
    assert_eq!(game.model_hash(), <[u8; 32]>::from(Sha256::digest(FILE.as_bytes())));
}

/// DM-24: chi-square test; for 45 degrees of freedom (the most in this test), the 1 - 1e-6 quantile is about 104.
#[test]
fn dm_24_every_stop_of_every_reel_is_equally_likely() {
    let naive = Naive::read(FILE);
    let mut counts: Vec<Vec<u32>> = naive.base.iter().map(|strip| vec![0; strip.len()]).collect();
    for (_, steps) in rounds(60_000, 24) {
        for (counts, &stop) in counts.iter_mut().zip(steps[0].spins[0].stops.as_slice()) {
            counts[usize::from(stop)] += 1;
        }
    }
    for counts in counts {
        let mean = 60_000.0 / counts.len() as f64;
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
        assert!(chi_square < 104.0, "{chi_square}");
    }
}

#[test]
fn dm_25_the_bet_is_25_coins_of_a_listed_value() {
    let limits = &dwarf_mine().info().limits;
    let values = &limits.coin_values_micros;
    assert!(values.is_sorted() && values[0] == 4_000 && *values.last().unwrap() == 2_000_000);
    for &value in values {
        assert_eq!(dwarf_mine().check_stake(&stake(value)), Ok(25));
    }
    let refused = |coin_value_micros, lines, coins_per_line, buy_feature| {
        let stake = motherlode_slots::Stake { coin_value_micros, lines, coins_per_line, buy_feature };
        dwarf_mine().check_stake(&stake).unwrap_err()
    };
    assert_eq!(refused(5_000, 1, 25, false), StakeRefused::CoinValue { micros: 5_000 });
    assert_eq!(refused(4_000, 2, 25, false), StakeRefused::Lines { lines: 2, min: 1, max: 1 });
    assert_eq!(refused(4_000, 1, 24, false), StakeRefused::CoinsPerLine { coins: 24, min: 25, max: 25 });
    assert_eq!(refused(4_000, 1, 25, true), StakeRefused::BuyFeature);
}

#[test]
fn a_choice_that_is_not_awaited_changes_nothing() {
    let others = [
        Choice::Pick(Picked::new(&[0, 1, 2]).unwrap()),
        Choice::StartFeature,
        Choice::Double(Card::RedHeart),
        Choice::Halve,
        Choice::Collect,
    ];
    for number in 0..300 {
        let mut round = open(10_000, Carried::default());
        let (mut draws, mut out) = (Draws::from_seed(seed(number)), Outcome::default());
        let untouched = play(open(10_000, Carried::default()).as_mut(), &mut draws.clone());
        let mut steps = Vec::new();
        loop {
            let awaiting = round.awaiting();
            for choice in others.iter().chain(&[Choice::Spin, Choice::StartFreeSpins]) {
                let awaited = (*choice == Choice::Spin && awaiting == Awaiting::Spin)
                    || (*choice == Choice::StartFreeSpins && awaiting == Awaiting::FreeSpins);
                if !awaited {
                    let refused = round.resolve(choice, &mut draws, &mut out);
                    assert_eq!(refused, Err(ChoiceRefused::NotAwaited { awaiting }));
                    assert_eq!(out, Outcome::default());
                }
            }
            match motherlode_slots::contract::round::choice_for(awaiting, None) {
                Some(choice) => steps.push(step(round.as_mut(), choice, &mut draws)),
                None => break,
            }
        }
        assert_eq!(steps, untouched);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_figures_carried_play_on(figures in any::<[i64; 12]>(), number in any::<u64>(), full in any::<bool>()) {
        let mut carried = Carried(figures);
        if full {
            carried.0[..4].fill(i64::MAX);
        }
        let steps = play(open(2_000_000, carried).as_mut(), &mut Draws::from_seed(seed(number)));
        prop_assert!(steps.len() <= 6);
        for figure in steps[0].carried.iter().flat_map(|after| after.0) {
            prop_assert!(figure >= 0);
        }
    }
}
