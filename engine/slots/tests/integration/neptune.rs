use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::common::{Naive, OPEN, pick, seed, stake, step};
use motherlode_slots::contract::round::choice_for;
use motherlode_slots::games::neptune::data::GameData;
use motherlode_slots::games::neptune::model::Model;
use motherlode_slots::games::neptune::par;
use motherlode_slots::games::neptune::round::NeptuneRound;
use motherlode_slots::parts::file::{self, ModelError};
use motherlode_slots::{
    Awaiting, Card, Carried, Choice, ChoiceRefused, Draws, Game, Outcome, PickOffer, Round, SpinKind, Stake,
    StakeRefused, Terms, WinKind, latest,
};
use proptest::prelude::*;

const FILE: &str = include_str!("../../golden/neptune/1.0.toml");
static NAIVE: LazyLock<Naive> = LazyLock::new(|| Naive::new(FILE));

fn neptune() -> &'static dyn Game {
    latest("neptune").unwrap()
}

fn compile(text: &str) -> Result<Model, ModelError> {
    let model = Model::new(&file::parse(text)?)?;
    par::prove(&model)?;
    Ok(model)
}

fn with_strips(strips: [&str; 5]) -> Model {
    let mut data: GameData = file::parse(FILE).unwrap();
    data.reels.strips = strips.map(str::to_owned).to_vec();
    Model::new(&data).unwrap()
}

fn always(cells: [&str; 5]) -> Model {
    let strips = cells.map(|cell| [cell; 3].join(" "));
    with_strips(strips.each_ref().map(String::as_str))
}

fn shown(cells: [&str; 5], lines: u32, coins: u32) -> Outcome {
    let model = always(cells);
    step(&mut NeptuneRound::new(&model, &stake(lines, coins), &OPEN).unwrap(), Choice::Spin, 1)
}

fn name(symbol: u8) -> &'static str {
    &NAIVE.codes[usize::from(symbol)]
}

fn treasures(line: usize, stops: &[usize]) -> usize {
    let on = |reel: &usize| NAIVE.roles[NAIVE.cell(*reel, stops[*reel], NAIVE.lines[line][*reel])] == "bonus";
    (0..5).take_while(on).count()
}

fn rounds(stake: &Stake, count: u64, mut each: impl FnMut(&[Outcome])) {
    let mut round = neptune().open(stake, &OPEN).unwrap();
    for number in 0..count {
        round.reopen(&Carried::default());
        let mut draws = Draws::from_seed(seed(number));
        let mut steps: Vec<Outcome> = Vec::new();
        while let Some(choice) = choice_for(round.awaiting(), steps.last().and_then(|out| out.pick)) {
            let mut out = Outcome::default();
            round.resolve(&choice, &mut draws, &mut out).unwrap();
            steps.push(out);
        }
        each(&steps);
    }
}

#[test]
fn np_01_stakes_are_1_to_15_lines_of_1_to_5_coins() {
    for lines in 0..=16 {
        for coins in 0..=6 {
            let accepted = neptune().check_stake(&stake(lines, coins));
            if !(1..=15).contains(&lines) {
                assert_eq!(accepted, Err(StakeRefused::Lines { lines, min: 1, max: 15 }));
            } else if !(1..=5).contains(&coins) {
                assert_eq!(accepted, Err(StakeRefused::CoinsPerLine { coins, min: 1, max: 5 }));
            } else {
                assert_eq!(accepted, Ok(lines * coins));
            }
        }
    }
    let bought = Stake { buy_feature: true, ..stake(1, 1) };
    assert!(neptune().open(&bought, &OPEN).is_err());
}

#[test]
fn np_01_credits_are_coins_times_the_coin_size() {
    for (coin_value_micros, cents) in [(10_000, 1), (50_000, 5), (1_000_000, 100)] {
        let stake = Stake { coin_value_micros, ..stake(15, 2) };
        rounds(&stake, 300, |steps| {
            for out in steps {
                assert_eq!(out.round_win_minor, out.round_win_coins * cents);
                assert!(out.spins.iter().all(|spin| spin.win_minor == spin.win_coins * cents));
            }
        });
    }
}

proptest! {
    #[test]
    fn np_02_a_window_pays_and_starts_what_the_rules_say(number in any::<u64>(), lines in 1u32..=15, coins in 1u32..=5) {
        let mut round = neptune().open(&stake(lines, coins), &OPEN).unwrap();
        let out = step(round.as_mut(), Choice::Spin, number);
        let [spin] = out.spins.as_slice() else { panic!("one paid spin") };
        let stops: Vec<usize> = spin.stops.as_slice().iter().map(|&s| usize::from(s)).collect();
        let mut paid = [0u64; 15];
        let mut scatter = 0;
        for win in out.wins_of(spin) {
            match win.kind {
                WinKind::Line(line) => {
                    prop_assert_eq!(paid[usize::from(line)], 0, "a line pays once");
                    paid[usize::from(line)] = win.coins;
                }
                _ => scatter += win.coins,
            }
        }
        for (line, &won) in paid.iter().enumerate() {
            let played = line < lines as usize;
            prop_assert_eq!(won, if played { NAIVE.line(line, &stops) * u64::from(coins) } else { 0 });
        }
        let mermaids = NAIVE.count("scatter", &stops);
        let pays = if mermaids > 0 { NAIVE.pays[1][mermaids - 1] } else { 0 };
        prop_assert_eq!(scatter, pays * u64::from(lines * coins));
        prop_assert_eq!(spin.win_coins, paid.iter().sum::<u64>() + scatter);
        prop_assert_eq!(spin.free_spins_won, if mermaids >= 3 { 10 } else { 0 });
        let first = (0..lines as usize).map(|line| treasures(line, &stops)).find(|&n| n >= 3);
        prop_assert_eq!(out.pick.map(|offer| usize::from(offer.needs)), first);
        prop_assert_eq!(spin.bonus, first.is_some());
    }
}

#[test]
fn np_03_a_line_win_is_its_pay_times_the_coins_of_the_line() {
    let win = |coins| shown(["Ga", "Ga", "Ga", "Tu", "Lo"], 1, coins).wins[0];
    assert_eq!((win(1).coins, win(4).coins), (50, 200));
    assert!(shown(["Tu", "Ga", "Ga", "Ga", "Ga"], 15, 1).wins.is_empty());
    assert!(shown(["Ga", "Ga", "Tu", "Ga", "Ga"], 15, 1).wins.is_empty());
}

#[test]
fn np_04_neptune_replaces_all_but_mermaid_and_treasure_and_only_the_best_is_paid() {
    let won = |cells| {
        let out = shown(cells, 1, 1);
        let lines = out.wins.iter().filter(|win| win.kind != WinKind::Scatter);
        lines.map(|win| (name(win.symbol), win.count, win.coins)).collect::<Vec<_>>()
    };
    assert_eq!(won(["Do", "Ne", "Do", "Ne", "Do"]), [("Do", 5, 1000)]);
    assert_eq!(won(["Ne", "Do", "Do", "Tu", "Do"]), [("Do", 3, 30)]);
    assert_eq!(won(["Ne", "Ne", "Ne", "Ne", "Ne"]), [("Ne", 5, 7500)]);
    assert_eq!(won(["Ne", "Ne", "Pe", "Tu", "Tu"]), [("Ne", 2, 10)]);
    assert_eq!(won(["Ne", "Ne", "Oc", "Tu", "Tu"]), [("Oc", 3, 20)]);
    assert_eq!(won(["Ne", "Ne", "Ne", "Pe", "Pe"]), [("Ne", 3, 150)]);
    assert_eq!(won(["Ne", "Ne", "Tr", "Tr", "Tr"]), [("Ne", 2, 10)]);
    assert!(won(["Tr", "Ne", "Tr", "Tr", "Tr"]).is_empty());
    assert_eq!(shown(["Tr", "Tr", "Ne", "Tr", "Tr"], 15, 1).pick, None);
    assert_eq!(shown(["Ne", "Tr", "Tr", "Tr", "Tr"], 15, 1).pick, None);
}

#[test]
fn np_05_mermaids_pay_anywhere_on_the_total_bet_and_are_added() {
    let model = with_strips(["Mm Tu Ga", "Lo Mm Do", "Oc Pe Mm", "Sh St Tu", "Pe Lo Sh"]);
    let mut round = NeptuneRound::new(&model, &stake(7, 3), &OPEN).unwrap();
    let out = step(&mut round, Choice::Spin, 5);
    let scatter: Vec<u64> = out.wins.iter().filter(|w| w.kind == WinKind::Scatter).map(|w| w.coins).collect();
    assert_eq!(scatter, [4 * 21]);
    assert_eq!(out.spins[0].win_coins, out.wins.iter().map(|w| w.coins).sum::<u64>());
    let model = with_strips(["Mm Tu Ga", "Ne Lo Do", "Oc Pe Tu", "Sh St Tu", "Pe Lo Sh"]);
    let out = step(&mut NeptuneRound::new(&model, &stake(7, 3), &OPEN).unwrap(), Choice::Spin, 5);
    assert!(out.wins.iter().all(|w| w.kind != WinKind::Scatter) && out.free_spins_left == 0);
}

#[test]
fn np_06_np_08_three_mermaids_award_10_free_spins_at_the_same_bet_and_award_them_again() {
    let mut series = 0;
    let mut again = 0;
    rounds(&stake(6, 4), 9000, |steps| {
        let mut owed = 0;
        for out in steps {
            for spin in &out.spins {
                owed -= u32::from(spin.kind == SpinKind::Free);
                let stops: Vec<usize> = spin.stops.as_slice().iter().map(|&s| usize::from(s)).collect();
                let awarded = if NAIVE.count("scatter", &stops) >= 3 { 10 } else { 0 };
                assert_eq!(spin.free_spins_won, awarded);
                owed += awarded;
                series += u32::from(awarded > 0 && spin.kind == SpinKind::Base);
                again += u32::from(awarded > 0 && spin.kind == SpinKind::Free);
                assert!(out.wins_of(spin).iter().all(|w| !matches!(w.kind, WinKind::Line(line) if line >= 6)));
            }
            assert_eq!(out.free_spins_left, owed);
        }
        assert_eq!(owed, 0);
    });
    assert!(series > 20 && again > 0, "{series} {again}");
}

#[test]
fn np_07_regular_wins_are_tripled_in_free_spins_and_scatter_wins_are_not() {
    let (mut lines, mut scatters) = (0, 0);
    rounds(&stake(15, 2), 6000, |steps| {
        for out in steps {
            for spin in out.spins.iter().filter(|spin| spin.kind == SpinKind::Free) {
                assert_eq!(spin.multiplier, 3);
                for win in out.wins_of(spin) {
                    let pays = NAIVE.pays[usize::from(win.symbol)][usize::from(win.count) - 1];
                    if win.kind == WinKind::Scatter {
                        assert_eq!(win.coins, pays * 30);
                        scatters += 1;
                    } else {
                        assert_eq!(win.coins, pays * 2 * 3);
                        lines += 1;
                    }
                }
            }
        }
    });
    assert!(lines > 50 && scatters > 10, "{lines} {scatters}");
}

#[test]
fn np_09_a_run_from_the_first_reel_starts_the_bonus_also_in_free_spins() {
    assert_eq!(shown(["Tr", "Tr", "Tr", "Lo", "Tr"], 1, 1).pick, Some(PickOffer { needs: 3, of: 12 }));
    assert_eq!(shown(["Tr", "Tr", "Tr", "Tr", "Lo"], 1, 1).pick, Some(PickOffer { needs: 4, of: 12 }));
    assert_eq!(shown(["Tr"; 5], 1, 1).pick, Some(PickOffer { needs: 5, of: 12 }));
    assert_eq!(shown(["Lo", "Tr", "Tr", "Tr", "Tr"], 15, 1).pick, None);
    assert_eq!(shown(["Tr", "Tr", "Lo", "Tr", "Tr"], 15, 1).pick, None);
    let mut in_free_spins = 0;
    rounds(&stake(15, 1), 6000, |steps| {
        for out in steps {
            assert!(out.spins.iter().rev().skip(1).all(|spin| !spin.bonus));
            let started = out.spins.last().is_some_and(|spin| spin.bonus);
            in_free_spins += u32::from(started && out.spins.iter().any(|spin| spin.kind == SpinKind::Free));
            assert_eq!(out.awaiting == Awaiting::Pick, out.pick.is_some());
            assert!(!started || out.pick.is_some());
        }
    });
    assert!(in_free_spins > 2, "{in_free_spins}");
}

#[test]
fn np_10_np_13_every_line_gives_its_own_pick_of_as_many_objects_as_treasures() {
    for (cells, needs) in [(["Tr"; 5], 5), (["Tr", "Tr", "Tr", "Tr", "Lo"], 4), (["Tr", "Tr", "Tr", "Lo", "Tr"], 3)] {
        let model = always(cells);
        let mut round = NeptuneRound::new(&model, &stake(15, 2), &OPEN).unwrap();
        let mut out = step(&mut round, Choice::Spin, 9);
        let (mut picks, mut coins) = (0, 0);
        while let Some(offer) = out.pick {
            assert_eq!(offer, PickOffer { needs, of: 12 });
            out = step(&mut round, choice_for(out.awaiting, out.pick).unwrap(), 9);
            coins += out.reveals.iter().map(|reveal| reveal.coins).sum::<u64>();
            assert_eq!((out.reveals.len(), out.round_win_coins), (usize::from(needs), coins));
            picks += 1;
        }
        assert_eq!((picks, round.awaiting()), (15, Awaiting::Nothing));
    }
    let mut bonuses = 0;
    rounds(&stake(15, 3), 6000, |steps| {
        let mut waiting: Vec<usize> = Vec::new();
        let mut coins = 0;
        for out in steps {
            if out.spins.is_empty() {
                assert_eq!(out.reveals.len(), waiting.remove(0));
            }
            if let Some(spin) = out.spins.last() {
                let stops: Vec<usize> = spin.stops.as_slice().iter().map(|&s| usize::from(s)).collect();
                waiting.extend((0..15).map(|line| treasures(line, &stops)).filter(|&n| n >= 3));
                bonuses += waiting.len();
            }
            assert_eq!(out.pick.map(|offer| usize::from(offer.needs)), waiting.first().copied());
            coins += out.spins.iter().map(|spin| spin.win_coins).sum::<u64>();
            coins += out.reveals.iter().map(|reveal| reveal.coins).sum::<u64>();
            assert_eq!(out.round_win_coins, coins);
        }
    });
    assert!(bonuses > 40, "{bonuses}");
}

#[test]
fn np_11_amounts_are_times_the_coins_of_the_line_and_at_most_2500_in_all() {
    let table: toml::Table = FILE.parse().unwrap();
    let amounts = table["treasure"]["amounts"].as_array().unwrap().iter();
    let amounts: BTreeSet<u64> = amounts.map(|a| u64::try_from(a["coins"].as_integer().unwrap()).unwrap()).collect();
    assert!(amounts.last().unwrap() * 5 <= 2500);
    let mut seen = BTreeSet::new();
    for coins in [1, 5] {
        let model = always(["Tr"; 5]);
        for number in 0..400 {
            let mut round = NeptuneRound::new(&model, &stake(1, coins), &OPEN).unwrap();
            step(&mut round, Choice::Spin, number);
            let out = step(&mut round, pick([11, 0, 5, 7, 2]), number);
            assert_eq!(out.reveals.iter().map(|r| r.object).collect::<Vec<_>>(), [11, 0, 5, 7, 2]);
            for reveal in &out.reveals {
                assert!(reveal.coins.is_multiple_of(u64::from(coins)));
                seen.insert(reveal.coins / u64::from(coins));
            }
            assert!(out.reveals.iter().map(|r| r.coins).sum::<u64>() <= 2500 * u64::from(coins));
        }
    }
    assert_eq!(seen, amounts);
}

#[test]
fn np_12_what_an_object_hides_is_fixed_when_the_bonus_starts() {
    let model = always(["Tr", "Tr", "Tr", "Lo", "Lo"]);
    let reveal = |number, picked: [u8; 3], draws| {
        let mut round = NeptuneRound::new(&model, &stake(1, 1), &OPEN).unwrap();
        step(&mut round, Choice::Spin, number);
        let out = step(&mut round, pick(picked), draws);
        out.reveals.iter().map(|r| (r.object, r.coins)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let mut differ = 0;
    for number in 0..50 {
        let all: std::collections::BTreeMap<u8, u64> =
            (0..4).flat_map(|third| reveal(number, [third * 3, third * 3 + 1, third * 3 + 2], 7)).collect();
        assert_eq!(all.len(), 12);
        for picked in [[0, 1, 2], [2, 1, 0], [11, 5, 0], [4, 9, 2]] {
            for (object, coins) in reveal(number, picked, 8) {
                assert_eq!(all[&object], coins);
            }
        }
        differ += u32::from(all.values().collect::<BTreeSet<_>>().len() > 3);
    }
    assert!(differ > 45, "{differ}");
}

#[test]
fn np_12_a_choice_that_is_not_awaited_or_malformed_changes_nothing() {
    let model = always(["Tr", "Tr", "Tr", "Lo", "Lo"]);
    let mut round = NeptuneRound::new(&model, &stake(2, 1), &OPEN).unwrap();
    let mut draws = Draws::from_seed(seed(1));
    let mut out = Outcome::default();
    let mut refused = |round: &mut NeptuneRound, choice| round.resolve(&choice, &mut draws, &mut out).unwrap_err();
    assert_eq!(refused(&mut round, pick([0, 1, 2])), ChoiceRefused::NotAwaited { awaiting: Awaiting::Spin });
    step(&mut round, Choice::Spin, 1);
    for choice in [
        Choice::Spin,
        Choice::StartFreeSpins,
        Choice::StartFeature,
        Choice::Collect,
        Choice::Halve,
        Choice::Double(Card::RedHeart),
    ] {
        assert_eq!(refused(&mut round, choice), ChoiceRefused::NotAwaited { awaiting: Awaiting::Pick });
    }
    assert_eq!(refused(&mut round, pick([0, 1])), ChoiceRefused::PickCount { needs: 3, given: 2 });
    assert_eq!(refused(&mut round, pick([0, 1, 2, 3])), ChoiceRefused::PickCount { needs: 3, given: 4 });
    assert_eq!(refused(&mut round, pick([0, 1, 12])), ChoiceRefused::UnknownObject { object: 12, of: 12 });
    assert_eq!(refused(&mut round, pick([4, 1, 4])), ChoiceRefused::SameObject { object: 4 });
    let mut other = NeptuneRound::new(&model, &stake(2, 1), &OPEN).unwrap();
    step(&mut other, Choice::Spin, 1);
    assert_eq!(step(&mut round, pick([0, 1, 2]), 3), step(&mut other, pick([0, 1, 2]), 3));
}

#[test]
fn np_08_a_long_series_goes_on_in_the_next_step() {
    let model = with_strips(["Mm Tu Ga", "Lo Mm Do", "Oc Pe Mm", "Sh St Tu", "Pe Lo Sh"]);
    let mut round = NeptuneRound::new(&model, &stake(1, 1), &OPEN).unwrap();
    assert_eq!(step(&mut round, Choice::Spin, 1).free_spins_left, 10);
    let out = step(&mut round, Choice::StartFreeSpins, 2);
    assert_eq!((out.spins.len(), out.free_spins_left, out.awaiting), (100, 10 + 9 * 100, Awaiting::FreeSpins));
}

#[test]
fn np_12_rounds_replay_and_reopen_the_same() {
    let mut first = Vec::new();
    rounds(&stake(15, 5), 2000, |steps| first.push(steps.to_vec()));
    for (number, steps) in first.iter().enumerate() {
        let mut round = neptune().open(&stake(15, 5), &Terms { double: true, ..OPEN }).unwrap();
        let mut draws = Draws::from_seed(seed(number as u64));
        let mut out = Outcome::default();
        for expected in steps {
            let choice = choice_for(round.awaiting(), out.pick).unwrap();
            round.resolve(&choice, &mut draws, &mut out).unwrap();
            assert_eq!(&out, expected);
        }
        assert_eq!(round.awaiting(), Awaiting::Nothing);
    }
}

#[test]
fn a_fault_of_the_data_file_is_refused_with_its_part() {
    for (part, from, to) in [
        ("symbols", "code = \"Lo\"", "code = \"Tu\""),
        ("symbols", "role = \"wild\"", "role = \"regular\""),
        ("symbols", "role = \"bonus\"", "role = \"regular\"\npays = [0, 0, 1, 2, 3]"),
        ("lines", "role = \"bonus\"", "role = \"bonus\"\npays = [0, 0, 1]"),
        ("symbols", "[0, 1, 4, 20, 150]", "[0, 1, 4, 20, 1000001]"),
        ("free_spins", "[0, 0, 10, 10, 10]", "[0, 0, 1000, 10, 10]"),
        ("free_spins", "multiplier = 3", "multiplier = 0"),
        ("stake", "lines = [1, 15]", "lines = [1, 16]"),
        ("reels", " Mm ", " Mm Mm "),
        ("treasure", "objects = 12", "objects = 4"),
        ("treasure", "objects = 12", "objects = 17"),
        ("treasure", "max_coins = 2500", "max_coins = 2499"),
        ("treasure", "coins = 500", "coins = 501"),
    ] {
        assert!(FILE.contains(from), "the file has no `{from}`");
        match compile(&FILE.replacen(from, to, 1)).unwrap_err() {
            ModelError::Part { part: refused, .. } => assert_eq!(refused, part, "{from} -> {to}"),
            other => panic!("{from} -> {to}: {other}"),
        }
    }
    for (from, to) in [("rtp = \"0.9600\"", "rtp = \"0.960001\""), ("[0, 0, 50, 250, 1500]", "[0, 0, 50, 250, 1501]")] {
        let broken = FILE.replacen(from, to, 1);
        assert!(matches!(compile(&broken), Err(ModelError::Return { .. })), "{from} -> {to}");
    }
    assert!(matches!(
        compile(&FILE.replacen("objects", "object", 1)),
        Err(ModelError::Part { .. } | ModelError::Parse(_))
    ));
}
