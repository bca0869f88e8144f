use motherlode_slots::contract::par::{decimal, ratio};
use motherlode_slots::games::mystery_elves::round::MysteryElvesRound;
use motherlode_slots::parts::hold_and_win::{FULL_SCREEN, VALUE_MAX};
use motherlode_slots::{
    Awaiting, Choice, ChoiceRefused, Draws, MarkKind, Outcome, Picked, Prize, Round, SpinKind, Stake, StakeRefused,
    WinKind,
};

use crate::mystery_elves::naive::{Naive, buy, carried, elves, file, play, seed, stake, step, terms, with};

fn reading() -> impl Iterator<Item = usize> {
    (0..3).flat_map(|row| (0..5).map(move |reel| reel * 3 + row))
}

#[test]
fn me_01_five_reels_three_rows_and_ten_fixed_lines() {
    let (info, naive) = (elves().info(), Naive::read());
    assert_eq!((info.reels, info.rows, info.lines.len(), info.limits.lines), (5, 3, 10, (10, 10)));
    for lines in [0, 1, 9, 11] {
        let refused = elves().check_stake(&Stake { lines, ..stake(1) });
        assert_eq!(refused, Err(StakeRefused::Lines { lines, min: 10, max: 10 }));
    }
    let lines: Vec<Vec<usize>> = info.lines.iter().map(|l| l.iter().map(|&r| usize::from(r)).collect()).collect();
    assert_eq!(lines, naive.lines);
    assert_eq!(elves().check_stake(&stake(20)), Ok(200));
}

#[test]
fn me_02_me_09_line_wins_are_those_of_the_rules() {
    let naive = Naive::read();
    let model = with(|_| ());
    let (mut won, mut wilds_won, mut beside_bonus) = (0, 0, 0);
    for number in 0..6_000 {
        let coins = 1 + number % 20;
        let bought = number % 10 == 0;
        let bet = Stake { buy_feature: bought, ..stake(u32::try_from(coins).unwrap()) };
        let mut round = MysteryElvesRound::new(&model, &bet, &terms()).unwrap();
        let out = step(&mut round, Choice::Spin, number);
        let [spin] = &out.spins[..] else { panic!("one window") };
        let window = Naive::window(if bought { &naive.bought } else { &naive.strips }, spin.stops.as_slice());
        let shown: Vec<usize> = spin.cells[..15].iter().map(|&cell| usize::from(cell)).collect();
        assert_eq!(shown, window);
        let expected: Vec<(usize, u64)> =
            (0..10).map(|line| (line, coins * naive.line(line, &window))).filter(|win| win.1 > 0).collect();
        let wins: Vec<(usize, u64)> = out
            .wins
            .iter()
            .map(|win| if let WinKind::Line(line) = win.kind { (usize::from(line), win.coins) } else { panic!() })
            .collect();
        assert_eq!(wins, expected);
        let sum: u64 = expected.iter().map(|win| win.1).sum();
        assert_eq!((out.round_win_coins, spin.win_coins, out.part_coins[0]), (sum, sum, sum));
        assert_eq!(out.round_win_minor, sum);
        won += u32::from(sum > 0);
        wilds_won += u32::from(sum > 0 && window.contains(&0));
        beside_bonus += u32::from(sum > 0 && window.contains(&naive.bonus));
    }
    assert!(won > 1_000 && wilds_won > 200 && beside_bonus > 200, "{won} {wilds_won} {beside_bonus}");
}

#[test]
fn me_03_a_wild_stands_for_every_symbol_but_bonus() {
    let (naive, model) = (Naive::read(), with(|_| ()));
    let code = |index: usize| u8::try_from(index).unwrap();
    let wild = naive.roles.iter().position(|role| role == "wild").unwrap();
    let best = |line: usize, cells: [usize; 5]| {
        let mut window = [[code(naive.bonus); motherlode_slots::parts::reels::ROWS_MAX]; 5];
        for (reel, cell) in cells.into_iter().enumerate() {
            window[reel][naive.lines[line][reel]] = code(cell);
        }
        model.windows.lines.best(line, &window)
    };
    let bonus = naive.bonus;
    for line in 0..naive.lines.len() {
        for symbol in (0..naive.codes.len()).filter(|&symbol| symbol != wild && symbol != bonus) {
            let win = best(line, [symbol, wild, symbol, bonus, symbol]);
            let three = naive.pays[symbol][2];
            assert!(three > 0, "the paytable pays three of each symbol");
            assert_eq!((usize::from(win.symbol), win.count, win.pays), (symbol, 3, three));
        }
        assert_eq!(best(line, [bonus, wild, bonus, wild, bonus]).pays, 0);
    }
}

#[test]
fn me_04_every_bonus_carries_a_value_or_a_function() {
    let model = with(|_| ());
    let mut seen = std::collections::BTreeSet::new();
    let mut draws = Draws::from_seed(seed(4));
    for _ in 0..3_000 {
        let out = &play(&model, &buy(1), &mut draws)[0];
        let cells = carried(out, &out.spins[0]);
        for (cell, carried) in cells.iter().enumerate() {
            assert_eq!(carried.is_some(), out.spins[0].cells[cell] == model.hold_and_win.symbol);
            match carried {
                Some((MarkKind::Bonus, value)) => assert!((1..=VALUE_MAX).contains(value)),
                Some((MarkKind::Mystery, value)) => assert_eq!(*value, 0),
                Some((MarkKind::Multiplier, value)) => assert_eq!((*value, cell / 3), (0, 2)),
                Some(other) => panic!("{other:?}"),
                None => {}
            }
            seen.extend(carried.map(|(kind, value)| format!("{kind:?} {value}")));
        }
        let reading: Vec<usize> = out.marks.iter().map(|mark| usize::from(mark.cell)).collect();
        let expected: Vec<usize> = self::reading().filter(|&cell| cells[cell].is_some()).collect();
        assert_eq!(reading, expected);
    }
    assert_eq!(seen.len(), 18 + 2, "{seen:?}");
}

#[test]
fn me_09_me_10_six_bonus_symbols_start_the_feature() {
    let (naive, model) = (Naive::read(), with(|_| ()));
    let mut started = [0u32; 16];
    let mut draws = Draws::from_seed(seed(10));
    for number in 0..60_000 {
        let bet = if number % 20 == 0 { buy(1) } else { stake(1) };
        let mut round = MysteryElvesRound::new(&model, &bet, &terms()).unwrap();
        let mut out = Outcome::default();
        round.resolve(&Choice::Spin, &mut draws, &mut out).unwrap();
        let bonuses = out.spins[0].cells[..15].iter().filter(|&&cell| usize::from(cell) == naive.bonus).count();
        assert_eq!(out.awaiting == Awaiting::Feature, bonuses >= 6);
        assert_eq!(out.spins[0].bonus, bonuses >= 6);
        assert_eq!(out.part_coins[1], 0);
        assert_eq!(out.round_win_coins, out.wins.iter().map(|win| win.coins).sum::<u64>());
        started[bonuses] += 1;
    }
    assert!(started[5] > 100 && started[6] > 100 && started[7] > 100, "{started:?}");
}

#[test]
fn me_05_me_06_me_07_me_08_me_11_me_12_me_13_a_feature_is_that_of_the_rules() {
    let plain = with(|_| ());
    let often = with(|data| {
        (data.bonus.mystery, data.bonus.multiplying) = (300_000, 600_000);
        data.mysteries[3].weight = 300;
        data.feature.strip = "Bo La Mu".into();
    });
    let (mut full, mut grand_with_two, mut high_without_grand, mut reset, mut ran_out) = (0, 0, 0, 0, 0);
    for (model, rounds) in [(&plain, 2_000), (&often, 4_000)] {
        let specials: Vec<u32> = model.hold_and_win.mysteries.items().iter().map(|of| of.0).collect();
        let mut draws = Draws::from_seed(seed(13));
        for _ in 0..rounds {
            let steps = play(model, &buy(2), &mut draws);
            let [spin, feature] = &steps[..] else { panic!("{} steps", steps.len()) };
            assert!(feature.spins.len() <= 29 && feature.spins.iter().all(|s| s.kind == SpinKind::HoldAndWin));
            let mut held = carried(spin, &spin.spins[0]);
            let mut windows = feature.spins.iter();
            let mut last = &spin.spins[0];
            let mut respins = 3;
            while respins > 0 && held.iter().any(Option::is_none) {
                last = windows.next().expect("respins are left");
                let now = carried(feature, last);
                for cell in 0..15 {
                    assert!(held[cell].is_none() || held[cell] == now[cell]);
                    assert_eq!(now[cell].is_some(), last.cells[cell] == model.hold_and_win.symbol);
                }
                reset += u32::from(now != held && respins < 3);
                respins = if now == held { respins - 1 } else { 3 };
                held = now;
            }
            ran_out += u32::from(respins == 0);
            let functions = |kind| reading().filter(move |&cell| held[cell].is_some_and(|of| of.0 == kind));
            let special: Vec<usize> = functions(MarkKind::Mystery).collect();
            let factor: Vec<usize> = functions(MarkKind::Multiplier).collect();
            let value = |of: [Option<(MarkKind, u32)>; 15], cell: usize| u64::from(of[cell].unwrap().1);
            let (mut product, mut turned) = (1, 0);
            let mut paid: u64 = functions(MarkKind::Bonus).map(|cell| value(held, cell)).sum();
            if !special.is_empty() || !factor.is_empty() {
                let acted = carried(feature, windows.next().expect("the functions act"));
                last = windows.next().expect("they turn into values");
                let after = carried(feature, last);
                paid += special.iter().map(|&cell| value(acted, cell)).sum::<u64>();
                product = factor.iter().map(|&cell| value(acted, cell)).product();
                let all = special.iter().chain(&factor);
                turned = all.map(|&cell| value(after, cell)).sum();
                assert!(special.iter().all(|&cell| specials.contains(&acted[cell].unwrap().1)));
                assert!(factor.iter().all(|&cell| (2..=5).contains(&value(acted, cell))));
                let in_range = |of: &(MarkKind, u32)| of.0 == MarkKind::Bonus && (1..=18).contains(&of.1);
                assert!(after.iter().flatten().all(in_range));
                let grand = special.iter().any(|&cell| value(acted, cell) == 1000);
                let high = factor.iter().any(|&cell| value(acted, cell) > 2);
                assert!(!(grand && high), "ME-07");
                grand_with_two += u32::from(grand && !factor.is_empty());
                high_without_grand += u32::from(high && !special.is_empty());
            }
            assert!(windows.next().is_none());
            let is_full = held.iter().all(Option::is_some);
            full += u32::from(is_full);
            assert_eq!(last.multiplier, if is_full { FULL_SCREEN } else { 1 });
            let bets = (paid * product + turned) * if is_full { 2 } else { 1 };
            assert_eq!(feature.prize, Some(Prize::Coins { multiple: u32::try_from(bets).unwrap(), coins: bets * 20 }));
            assert_eq!(feature.part_coins[..2], [0, bets * 20]);
            assert_eq!(feature.round_win_coins, spin.round_win_coins + bets * 20);
            assert!(feature.spins.iter().all(|s| s.win_coins == 0));
        }
    }
    assert!(full > 100 && reset > 100 && ran_out > 100, "{full} {reset} {ran_out}");
    assert!(grand_with_two > 100 && high_without_grand > 100, "{grand_with_two} {high_without_grand}");
}

#[test]
fn me_12_a_full_screen_ends_the_feature_at_once() {
    let model = with(|data| data.feature.strip = "Bo".into());
    let mut round = MysteryElvesRound::new(&model, &buy(1), &terms()).unwrap();
    step(&mut round, Choice::Spin, 1);
    let out = step(&mut round, Choice::StartFeature, 2);
    assert_eq!(carried(&out, &out.spins[0]).iter().flatten().count(), 15);
    assert!(out.spins.len() <= 3);
    assert_eq!(out.spins.last().unwrap().multiplier, 2);
}

#[test]
fn me_13_the_feature_has_reels_of_its_own() {
    let data = file();
    let counts = |strip: &str| strip.split_whitespace().filter(|code| *code == "Bo").count();
    let share = |strip: &str| (counts(strip), strip.split_whitespace().count());
    assert!(data.reels.strips.iter().all(|strip| share(strip) != share(&data.feature.strip)));
}

#[test]
fn me_18_the_bought_feature_costs_70_bets_and_starts_at_once() {
    let naive = Naive::read();
    let fewest: usize = naive
        .bought
        .iter()
        .map(|strip| {
            let at = |stop: usize| (0..3).filter(|row| strip[(stop + row) % strip.len()] == naive.bonus).count();
            (0..strip.len()).map(at).min().unwrap()
        })
        .sum();
    assert!(fewest >= 6);
    for coins in 1..=20 {
        assert_eq!(elves().check_stake(&buy(coins)), Ok(coins * 10 * 70));
    }
    assert_eq!(elves().info().buy_feature_bets, Some(70));
    let mut round = elves().open(&buy(3), &terms()).unwrap();
    for number in 0..500 {
        round.reopen(&terms().carried);
        let out = step(&mut *round, Choice::Spin, number);
        assert_eq!(out.awaiting, Awaiting::Feature);
    }
}

#[test]
fn me_18_me_21_the_description_states_its_facts() {
    let par = elves().par(&stake(1)).unwrap();
    let fact = |key: &str| elves().facts().into_iter().find(|fact| fact.key == key).unwrap().value;
    assert_eq!(fact("max_win_bets"), decimal(&par.max_win_bets, 2));
    assert_eq!(fact("max_win_odds"), decimal(&par.max_win_probability.recip(), 0));
    assert_eq!(fact("buy_feature_rtp"), decimal(&par.conditional_rtps[0].rtp, 6));
    assert_eq!(par.conditional_rtps[0].key, "buy_feature");
    let off = &par.conditional_rtps[0].rtp - ratio(9501, 10_000);
    assert!(off < ratio(5, 1000) && off > ratio(-5, 1000));
    assert_eq!(par.conditional_rtps[0].rtp, elves().par(&buy(7)).unwrap().rtp);
}

#[test]
fn me_rtp_every_stake_plays_alike() {
    let model = with(|_| ());
    for number in 0..40 {
        let one = play(&model, &buy(1), &mut Draws::from_seed(seed(number)));
        for coins in 1..=20 {
            for &coin_value_micros in &model.limits.coin_values_micros {
                let other = Stake { coin_value_micros, ..buy(coins) };
                let steps = play(&model, &other, &mut Draws::from_seed(seed(number)));
                for (step, at_one) in steps.iter().zip(&one) {
                    assert_eq!(step.marks, at_one.marks);
                    assert_eq!(step.round_win_coins, at_one.round_win_coins * u64::from(coins));
                    assert_eq!(step.round_win_minor, step.round_win_coins * coin_value_micros / 10_000);
                }
            }
        }
    }
}

#[test]
fn a_round_replays() {
    let mut reopened = elves().open(&stake(1), &terms()).unwrap();
    for number in 0..2_000 {
        reopened.reopen(&terms().carried);
        let mut fresh = elves().open(&stake(1), &terms()).unwrap();
        for choice in [Choice::Spin, Choice::StartFeature] {
            if reopened.awaiting() != Awaiting::Nothing {
                assert_eq!(step(&mut *reopened, choice, number), step(&mut *fresh, choice, number));
            }
        }
    }
}

#[test]
fn a_choice_that_is_not_awaited_is_refused_and_changes_nothing() {
    let mut round = elves().open(&buy(1), &terms()).unwrap();
    let all = [
        Choice::Spin,
        Choice::StartFeature,
        Choice::Pick(Picked::default()),
        Choice::StartFreeSpins,
        Choice::Halve,
        Choice::Collect,
    ];
    for awaited in [Choice::Spin, Choice::StartFeature] {
        let awaiting = round.awaiting();
        for choice in all.iter().filter(|choice| **choice != awaited) {
            let mut out = Outcome::default();
            let refused = round.resolve(choice, &mut Draws::from_seed(seed(1)), &mut out);
            assert_eq!(refused, Err(ChoiceRefused::NotAwaited { awaiting }));
            assert_eq!(out, Outcome::default());
        }
        step(&mut *round, awaited, 1);
    }
    assert_eq!(round.awaiting(), Awaiting::Nothing);
}
