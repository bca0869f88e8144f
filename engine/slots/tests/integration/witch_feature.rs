use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::common::{Naive, seed};
use motherlode_slots::contract::round::choice_for;
use motherlode_slots::games::witch_feature::data::GameData;
use motherlode_slots::games::witch_feature::model::Model;
use motherlode_slots::games::witch_feature::round::WitchRound;
use motherlode_slots::games::witch_feature::{NAME, VERSIONS, variance};
use motherlode_slots::parts::file;
use motherlode_slots::{
    Awaiting, Card, Carried, CarriedScope, Choice, ChoiceRefused, Draws, Game, MarkKind, Outcome, Round, Spin,
    SpinKind, Stake, Terms, latest,
};
use proptest::prelude::*;

const FILE: &str = include_str!("../../golden/witch-feature/1.0.toml");
static NAIVE: LazyLock<Naive> = LazyLock::new(|| Naive::new(FILE));
static FREE_STRIPS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| strips("free_reels"));
static RESPIN_STRIPS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| strips("respin_reels"));

const HIGH: [&str; 6] = ["Wi", "Wt", "Ca", "Ow", "Bo", "Br"];
const FEATURES: [(&str, SpinKind); 4] = [
    ("BGR", SpinKind::HighSymbols),
    ("BBR", SpinKind::RandomWilds),
    ("GGR", SpinKind::MultiplierRespin),
    ("BBG", SpinKind::MegaWild),
];

fn strips(set: &str) -> Vec<Vec<usize>> {
    let table: toml::Table = FILE.parse().unwrap();
    let strips = table[set]["strips"].as_array().unwrap().clone();
    let place = |code: &str| NAIVE.codes.iter().position(|c| c == code).unwrap();
    strips.iter().map(|strip| strip.as_str().unwrap().split_whitespace().map(place).collect()).collect()
}

fn witch_feature() -> &'static dyn Game {
    latest("witch-feature").unwrap()
}

fn stake(coins_per_line: u32) -> Stake {
    Stake { coin_value_micros: 10_000, lines: 50, coins_per_line, buy_feature: false }
}

fn code(symbol: u8) -> &'static str {
    &NAIVE.codes[usize::from(symbol)]
}

fn cells(spin: &Spin) -> Vec<u8> {
    (0..5).flat_map(|reel| (0..4).map(move |row| spin.cell(reel, row).unwrap())).collect()
}

fn naive_win(spin: &Spin, coins_per_line: u64) -> u64 {
    let best = |line: &Vec<usize>| {
        let shown: Vec<usize> = (0..5).map(|reel| usize::from(spin.cell(reel, line[reel]).unwrap())).collect();
        let tried = |symbol: usize| {
            let run = shown.iter().take_while(|&&cell| cell == symbol || NAIVE.codes[cell] == "Wi").count();
            let pays = &NAIVE.pays[symbol];
            if run > 0 && !pays.is_empty() { pays[run - 1] } else { 0 }
        };
        (0..NAIVE.codes.len()).map(tried).max().unwrap()
    };
    let multiplier = u64::from(spin.multiplier);
    NAIVE.lines.iter().map(best).sum::<u64>() * coins_per_line * multiplier
}

struct Played {
    before: Carried,
    steps: Vec<Outcome>,
}

fn rounds(count: usize, start: [i64; 3], from: u64, coins_per_line: u32) -> Vec<Played> {
    let mut carried = Carried::default();
    carried.0[..3].copy_from_slice(&start);
    let mut round = witch_feature().open(&stake(coins_per_line), &Terms::plain(carried)).unwrap();
    let mut draws = Draws::from_seed(seed(from));
    let mut all = Vec::new();
    for _ in 0..count {
        let before = carried;
        round.reopen(&carried);
        let mut steps = Vec::new();
        while let Some(choice) = choice_for(round.awaiting(), None) {
            let mut out = Outcome::default();
            round.resolve(&choice, &mut draws, &mut out).unwrap();
            carried = out.carried.unwrap_or(carried);
            steps.push(out);
        }
        all.push(Played { before, steps });
    }
    all
}

static PLAYED: LazyLock<Vec<Played>> = LazyLock::new(|| rounds(20_000, [0, 0, 4], 1, 2));

fn spins(kind: SpinKind) -> impl Iterator<Item = (&'static Outcome, &'static Spin)> {
    let steps = PLAYED.iter().flat_map(|round| &round.steps);
    steps.flat_map(move |out| out.spins.iter().filter(move |spin| spin.kind == kind).map(move |spin| (out, spin)))
}

fn potions(out: &Outcome, spin: &Spin) -> String {
    let marks = out.marks_of(spin).iter().filter(|mark| mark.kind == MarkKind::Potion);
    marks.map(|mark| NAIVE.codes[mark.value as usize].chars().nth(1).unwrap()).collect()
}

fn colours(carried: &Carried) -> String {
    carried.0[..2]
        .iter()
        .filter(|&&potion| potion > 0)
        .map(|&potion| [' ', 'R', 'B', 'G'][usize::try_from(potion).unwrap()])
        .collect()
}

fn sorted(potions: &str) -> String {
    let mut chars: Vec<char> = potions.chars().collect();
    chars.sort_unstable();
    chars.into_iter().collect()
}

#[test]
fn wf_01_wf_03_fifty_lines_pay_their_best_from_the_left() {
    assert_eq!(NAIVE.lines.len(), 50);
    assert_eq!(NAIVE.lines.iter().collect::<BTreeSet<_>>().len(), 50);
    let mut by_kind = BTreeMap::new();
    for round in PLAYED.iter() {
        for out in &round.steps {
            for spin in &out.spins {
                assert_eq!((spin.rows, spin.reels), (4, 5));
                assert_eq!(spin.win_coins, naive_win(spin, 2), "{spin:?}");
                assert_eq!(spin.win_coins, out.wins_of(spin).iter().map(|win| win.coins).sum::<u64>());
                by_kind.entry(format!("{:?}", spin.kind)).or_insert([0, 0])[usize::from(spin.win_coins > 0)] += 1;
            }
        }
    }
    assert_eq!(by_kind.len(), 7, "{by_kind:?}");
    assert!(by_kind.values().all(|seen| seen[1] > 20), "{by_kind:?}");
}

#[test]
fn wf_02_wins_are_in_proportion_to_the_bet() {
    assert_eq!(witch_feature().check_stake(&stake(3)), Ok(150));
    let total = |coins: u32| -> Vec<u64> {
        rounds(400, [0, 0, 4], 2, coins).iter().map(|round| round.steps.last().unwrap().round_win_coins).collect()
    };
    let (one, ten) = (total(1), total(10));
    assert!(one.iter().any(|&coins| coins > 0));
    assert_eq!(one.iter().map(|coins| coins * 10).collect::<Vec<_>>(), ten);
}

#[test]
fn wf_04_the_description_states_the_highest_win() {
    let facts = witch_feature().facts();
    let fact = |key: &str| facts.iter().find(|fact| fact.key == key).unwrap().value.clone();
    let wild = NAIVE.codes.iter().position(|code| code == "Wi").unwrap();
    let highest_multiplier = 10;
    assert_eq!(fact("highest_window_bets"), (NAIVE.pays[wild][4] * highest_multiplier).to_string());
    assert!(
        PLAYED.iter().all(|round| round
            .steps
            .iter()
            .flat_map(|out| &out.spins)
            .all(|spin| spin.win_coins <= 100 * 500 * 10))
    );
    for (unlocked, key) in [(1, "rtp_unlocked_1"), (2, "rtp_unlocked_2"), (3, "rtp_unlocked_3")] {
        let rtp: f64 = fact(key).parse().unwrap();
        assert!(0.5 < rtp && rtp < 0.9402, "WF-21: {unlocked} unlocked: {rtp}");
    }
}

#[test]
fn wf_05_potions_land_on_reels_2_3_4_at_most_one_a_reel_and_fall_out() {
    let mut on = BTreeMap::new();
    for round in PLAYED.iter() {
        for (step, out) in round.steps.iter().enumerate() {
            for (place, spin) in out.spins.iter().enumerate() {
                let landed: Vec<_> = out.marks_of(spin).iter().filter(|mark| mark.kind == MarkKind::Potion).collect();
                assert!(landed.is_empty() || (step, place) == (0, 0), "only the paid spin has Potions");
                let reels: Vec<u8> = landed.iter().map(|mark| mark.cell / 4).collect();
                assert!(reels.windows(2).all(|pair| pair[0] < pair[1]), "from the left, at most one per reel");
                assert!(reels.iter().all(|reel| (1..=3).contains(reel)));
                for mark in landed {
                    *on.entry((mark.cell, mark.value)).or_insert(0u32) += 1;
                }
                assert!(cells(spin).iter().all(|&cell| NAIVE.roles[usize::from(cell)] != "collected"));
            }
        }
    }
    assert_eq!(on.len(), 36);
    for ((cell, potion), count) in on {
        let expected = 20_000.0 / 24.0 * if code(u8::try_from(potion).unwrap()) == "PR" { 0.5 } else { 0.25 };
        assert!((f64::from(count) - expected).abs() < 5.0 * f64::sqrt(expected), "{cell} {potion}: {count} {expected}");
    }
}

#[test]
fn wf_05_windows_are_the_strips_at_their_stops() {
    for (kind, strips) in
        [(SpinKind::Base, &NAIVE.strips), (SpinKind::Free, &FREE_STRIPS), (SpinKind::MultiplierRespin, &RESPIN_STRIPS)]
    {
        for (_, spin) in spins(kind) {
            for (reel, strip) in strips.iter().enumerate() {
                let stop = usize::from(spin.stops.as_slice()[reel]);
                let shown: Vec<_> = (0..4).map(|row| strip[(stop + row) % strip.len()]).collect();
                assert_eq!((0..4).map(|row| usize::from(spin.cell(reel, row).unwrap())).collect::<Vec<_>>(), shown);
            }
        }
    }
}

#[test]
fn wf_06_wf_13_three_potions_decide_what_follows() {
    let mut seen = BTreeMap::new();
    for round in PLAYED.iter() {
        let first = &round.steps[0];
        let mut shelf = colours(&round.before);
        let mut combination = None;
        for potion in potions(first, &first.spins[0]).chars() {
            shelf.push(potion);
            if shelf.len() == 3 {
                assert_eq!(combination.replace(sorted(&std::mem::take(&mut shelf))), None);
            }
        }
        assert_eq!(
            colours(&first.carried.unwrap_or(round.before)),
            shelf,
            "WF-06: the remaining Potions stay on the shelf"
        );
        let after = first.spins.get(1).map(|spin| spin.kind);
        let feature = combination.as_deref().and_then(|of| FEATURES.iter().find(|(potions, _)| *potions == of));
        match (&combination, feature) {
            (None, _) => assert_eq!(after, None),
            (Some(_), Some((_, kind))) => assert_eq!(after, Some(*kind)),
            (Some(_), None) => assert!(after.is_none() || after == Some(SpinKind::Explosion)),
        }
        *seen.entry((combination, after.map(|kind| format!("{kind:?}")))).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 4 + 2 * 6 + 1, "{seen:?}");
}

#[test]
fn wf_07_a_high_symbols_respin_shows_only_high_symbols() {
    let mut shown = BTreeSet::new();
    for (_, spin) in spins(SpinKind::HighSymbols) {
        shown.extend(cells(spin).into_iter().map(code));
    }
    assert_eq!(shown, HIGH.into_iter().collect());
}

#[test]
fn wf_08_random_wilds_are_placed_on_the_respins_reels() {
    let mut numbers = BTreeMap::new();
    for (out, spin) in spins(SpinKind::RandomWilds) {
        let placed: BTreeSet<u8> = out.marks_of(spin).iter().map(|mark| mark.cell).collect();
        assert!(out.marks_of(spin).iter().all(|mark| mark.kind == MarkKind::PlacedWild && mark.value == 1));
        assert_eq!(placed.len(), out.marks_of(spin).len());
        under_wilds(spin, &placed);
        *numbers.entry(placed.len()).or_insert(0) += 1;
    }
    assert_eq!(numbers.keys().copied().collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    assert!(numbers[&3] > numbers[&6]);
}

fn under_wilds(spin: &Spin, wilds: &BTreeSet<u8>) {
    for (cell, shown) in (0u8..).zip(cells(spin)) {
        let (reel, row) = (usize::from(cell / 4), usize::from(cell % 4));
        let strip = &RESPIN_STRIPS[reel];
        let stop = usize::from(spin.stops.as_slice()[reel]);
        let expected = if wilds.contains(&cell) { "Wi" } else { &NAIVE.codes[strip[(stop + row) % strip.len()]] };
        assert_eq!(code(shown), expected, "cell {cell} of {spin:?}");
    }
}

#[test]
fn wf_09_multiplier_respins_go_on_until_a_win_which_is_multiplied() {
    let mut series = 0;
    let mut multipliers = BTreeSet::new();
    for round in PLAYED.iter() {
        for out in &round.steps {
            let respins: Vec<_> = out.spins.iter().filter(|spin| spin.kind == SpinKind::MultiplierRespin).collect();
            if out.spins[0].kind != SpinKind::Base || respins.is_empty() {
                continue;
            }
            series += 1;
            let (last, lost) = respins.split_last().unwrap();
            assert!(last.win_coins > 0 && lost.iter().all(|spin| spin.win_coins == 0));
            assert!(respins.iter().all(|spin| spin.multiplier == last.multiplier));
            multipliers.insert(last.multiplier);
        }
    }
    assert!(series > 200, "{series}");
    assert_eq!(multipliers.into_iter().collect::<Vec<_>>(), [2, 3, 5, 8, 10]);
}

#[test]
fn wf_10_mega_wilds_are_one_of_3x3_or_two_of_2x2() {
    let mut places = [BTreeSet::new(), BTreeSet::new()];
    for (out, spin) in spins(SpinKind::MegaWild) {
        let marks = out.marks_of(spin);
        let side = u8::try_from(marks[0].value).unwrap();
        assert_eq!(marks.len(), if side == 3 { 1 } else { 2 });
        let mut covered = BTreeSet::new();
        for mark in marks {
            assert_eq!((mark.kind, mark.value), (MarkKind::PlacedWild, u32::from(side)));
            let (reel, row) = (mark.cell / 4, mark.cell % 4);
            assert!(reel + side <= 5 && row + side <= 4);
            covered.extend((reel..reel + side).flat_map(|reel| (row..row + side).map(move |row| reel * 4 + row)));
        }
        assert_eq!(covered.len(), if side == 3 { 9 } else { 8 }, "no overlap");
        under_wilds(spin, &covered);
        places[usize::from(side - 2)].insert(marks.iter().map(|mark| mark.cell).collect::<Vec<_>>());
    }
    let corners: Vec<(i32, i32)> = (0..4).flat_map(|reel| (0..3).map(move |row| (reel, row))).collect();
    let apart = |(a, b): &((i32, i32), (i32, i32))| (a.0 - b.0).abs() >= 2 || (a.1 - b.1).abs() >= 2;
    let pairs = corners.iter().enumerate().flat_map(|(at, a)| corners[at + 1..].iter().map(move |b| (*a, *b)));
    let model = Model::new(&file::parse(FILE).unwrap()).unwrap();
    assert_eq!((model.three_by_three.len(), model.two_by_two.len()), (6, pairs.filter(apart).count()));
    assert!(places[1].len() == 6 && places[0].len() > 20, "nearly all placements occur");
}

#[test]
fn wf_11_features_are_unlocked_one_after_the_other() {
    for player in 0..40 {
        let mut unlocked = 1;
        for round in rounds(600, [0, 0, 0], 1000 + player, 1) {
            assert_eq!(round.before.0[2].max(1), unlocked);
            if let Some(spin) = round.steps[0].spins.get(1).filter(|spin| spin.kind != SpinKind::Explosion) {
                let feature = (1..).zip(FEATURES).find(|(_, (_, kind))| *kind == spin.kind).unwrap().0;
                assert!(feature <= unlocked, "a locked feature was triggered");
                unlocked = unlocked.max((feature + 1).min(4));
            }
        }
        assert_eq!(unlocked, 4, "600 spins unlock everything");
    }
}

#[test]
fn wf_11_a_locked_combination_counts_as_one_that_triggers_none() {
    let (mut exploded, mut nothing) = (0, 0);
    for number in 0..4000 {
        let round = &rounds(1, [1, 2, 1], number, 1)[0];
        let first = &round.steps[0];
        if potions(first, &first.spins[0]).starts_with('B') {
            match first.spins.get(1).map(|spin| spin.kind) {
                None => nothing += 1,
                Some(kind) => {
                    assert_eq!(kind, SpinKind::Explosion);
                    exploded += 1;
                }
            }
            assert_eq!(first.carried.unwrap_or(round.before).0[2], 1, "nothing was unlocked");
        }
    }
    assert!(exploded > 50 && nothing > 50, "{exploded} {nothing}");
}

#[test]
fn wf_12_progress_belongs_to_the_bet() {
    let carries = witch_feature().carries();
    assert_eq!((carries.keys, carries.scope), (&["potion_1", "potion_2", "unlocked"][..], CarriedScope::Bet));
}

#[test]
fn wf_13_question_marks_become_high_symbols_each_on_its_own() {
    let mut numbers = BTreeSet::new();
    let mut mixed = 0;
    for round in PLAYED.iter() {
        let first = &round.steps[0];
        let Some(spin) = first.spins.get(1).filter(|spin| spin.kind == SpinKind::Explosion) else { continue };
        let marks = first.marks_of(spin);
        let questions: BTreeMap<u8, u32> = marks.iter().map(|mark| (mark.cell, mark.value)).collect();
        assert_eq!(questions.len(), marks.len());
        assert!(marks.iter().all(|mark| mark.kind == MarkKind::Question));
        for ((cell, before), after) in (0u8..).zip(cells(&first.spins[0])).zip(cells(spin)) {
            match questions.get(&cell) {
                Some(&symbol) => assert!(u32::from(after) == symbol && HIGH.contains(&code(after))),
                None => assert_eq!(after, before),
            }
        }
        numbers.insert(questions.len());
        mixed += u32::from(questions.values().collect::<BTreeSet<_>>().len() > 1);
    }
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
    assert!(mixed > 500);
}

fn outer(spin: &Spin) -> usize {
    let shown = cells(spin);
    assert!(shown[4..16].iter().all(|&cell| code(cell) != "FS"), "only on reels 1 and 5");
    shown.iter().filter(|&&cell| code(cell) == "FS").count()
}

#[test]
fn wf_14_wf_16_free_spins_are_won_on_reels_1_and_5() {
    let (mut triggered, mut more) = (0, [0; 3]);
    for round in PLAYED.iter() {
        let first = &round.steps[0];
        let won = outer(&first.spins[0]) == 2;
        triggered += u32::from(won);
        assert_eq!(first.free_spins_left, if won { 10 } else { 0 });
        assert_eq!(first.awaiting == Awaiting::FreeSpins, won);
        let mut left = i64::from(first.free_spins_left);
        for out in &round.steps[1..] {
            for spin in out.spins.iter().filter(|spin| spin.kind == SpinKind::Free) {
                let on = outer(spin);
                assert_eq!(spin.free_spins_won, [0, 1, 10][on], "WF-16");
                more[on] += 1;
                left += i64::from(spin.free_spins_won) - 1;
            }
            assert_eq!(i64::from(out.free_spins_left), left);
        }
        assert_eq!(left, 0, "no free spins are left");
    }
    assert!(triggered > 80 && more.iter().all(|&seen| seen > 3), "{triggered} {more:?}");
}

#[test]
fn wf_15_features_follow_free_spins_at_random() {
    let mut seen = BTreeSet::new();
    for (number, round) in rounds(60_000, [0, 0, 1], 15, 1).iter().enumerate() {
        for out in &round.steps[1..] {
            for spin in &out.spins {
                let times = if spin.multiplier > 1 { "x" } else { "" };
                seen.insert(format!("{:?}{times}", spin.kind));
                assert!(out.marks_of(spin).iter().all(|mark| mark.kind != MarkKind::Potion), "round {number}");
            }
            assert_eq!(out.carried, None, "nothing is collected or unlocked");
        }
    }
    let all = [
        "Free",
        "HighSymbols",
        "HighSymbolsx",
        "MegaWild",
        "MegaWildx",
        "MultiplierRespinx",
        "RandomWilds",
        "RandomWildsx",
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn wf_17_respins_neither_start_nor_extend_free_spins() {
    for kind in [SpinKind::HighSymbols, SpinKind::RandomWilds, SpinKind::MultiplierRespin, SpinKind::MegaWild] {
        for (_, spin) in spins(kind) {
            assert_eq!((outer(spin), spin.free_spins_won), (0, 0));
        }
    }
}

#[test]
fn wf_18_all_wins_are_added() {
    for round in PLAYED.iter() {
        let mut total = 0;
        for out in &round.steps {
            total += out.spins.iter().map(|spin| spin.win_coins).sum::<u64>();
            assert_eq!((out.round_win_coins, out.round_win_minor), (total, total));
            assert_eq!(out.part_coins.iter().sum::<u64>(), out.spins.iter().map(|spin| spin.win_coins).sum::<u64>());
        }
    }
}

#[test]
fn wf_09_a_long_series_is_cut_into_steps() {
    let mut data: GameData = file::parse(FILE).unwrap();
    data.respin_reels.strips = ["A K A K", "Q J Q J", "Q J Q J", "Q J Q J", "Q J Q J"].map(str::to_owned).to_vec();
    let model = Model::new(&data).unwrap();
    let mut carried = Carried::default();
    carried.0[..3].copy_from_slice(&[1, 3, 4]);
    let mut round = WitchRound::new(&model, &stake(1), &Terms::plain(carried)).unwrap();
    let mut out = Outcome::default();
    let first = (0..).find(|&number| {
        round.reopen(&carried);
        round.resolve(&Choice::Spin, &mut Draws::from_seed(seed(number)), &mut out).unwrap();
        out.awaiting == Awaiting::Feature
    });
    assert!(first.is_some());
    assert_eq!(out.spins.len(), 100);
    for number in 0..3 {
        round.resolve(&Choice::StartFeature, &mut Draws::from_seed(seed(number)), &mut out).unwrap();
        assert_eq!((out.spins.len(), out.awaiting), (100, Awaiting::Feature));
    }
}

proptest! {
    #[test]
    fn any_sequence_of_choices_is_answered(
        choices in prop::collection::vec((0u8..6, any::<u64>()), 1..40),
        carried in prop::array::uniform3(any::<i64>()),
    ) {
        let mut all = Carried::default();
        all.0[..3].copy_from_slice(&carried);
        let mut rounds = [0, 1].map(|_| witch_feature().open(&stake(1), &Terms::plain(all)).unwrap());
        let mut outs = [Outcome::default(), Outcome::default()];
        for (kind, number) in choices {
            let choice = [
                Choice::Spin, Choice::StartFreeSpins, Choice::StartFeature, Choice::Collect, Choice::Halve,
                Choice::Double(Card::RedHeart),
            ][usize::from(kind)];
            for (round, out) in rounds.iter_mut().zip(&mut outs) {
                let before = round.awaiting();
                match round.resolve(&choice, &mut Draws::from_seed(seed(number)), out) {
                    Ok(()) => prop_assert_eq!(out.awaiting, round.awaiting()),
                    Err(refused) => {
                        prop_assert_eq!(refused, ChoiceRefused::NotAwaited { awaiting: before });
                        prop_assert_eq!(before, round.awaiting());
                    }
                }
            }
            prop_assert_eq!(&outs[0], &outs[1]);
            if rounds[0].awaiting() == Awaiting::Nothing {
                rounds.iter_mut().for_each(|round| round.reopen(&all));
            }
        }
    }
}

#[test]
fn wf_21_stored_samples_are_those_that_the_model_gives() {
    for version in VERSIONS {
        let game = motherlode_slots::game(NAME, version.name).unwrap();
        let model = Model::new(&file::parse(version.file).unwrap()).unwrap();
        assert_eq!(variance::stored(&game.model_hash()), Some(variance::sampled(&model)), "{}", version.name);
    }
    assert_eq!(variance::stored(&[0; 32]), None);
}
