use crate::common::{Naive, OPEN, WITH_DOUBLE, bewitched, model, next_choice, play, seed, stake, step, with_strips};
use motherlode_slots::games::bewitched::round::BewitchedRound;
use motherlode_slots::parts::lines::Lines;
use motherlode_slots::{
    Awaiting, Card, Carried, Choice, ChoiceRefused, Draws, Outcome, Prize, Round, Stake, StakeRefused, Terms, WinKind,
};
use proptest::prelude::*;

fn spins(stake: &Stake, numbers: std::ops::Range<u64>) -> impl Iterator<Item = Outcome> {
    let mut round = bewitched().open(stake, &OPEN).unwrap();
    numbers.map(move |number| {
        round.reopen(&Carried::default());
        step(round.as_mut(), Choice::Spin, number)
    })
}

#[test]
fn bw_01_stakes_are_1_to_15_lines_of_1_to_10_coins() {
    let game = bewitched();
    for lines in 0..=16 {
        for coins in 0..=11 {
            let accepted = game.check_stake(&stake(lines, coins));
            if (1..=15).contains(&lines) && (1..=10).contains(&coins) {
                assert_eq!(accepted, Ok(lines * coins));
            } else if (1..=15).contains(&lines) {
                assert_eq!(accepted, Err(StakeRefused::CoinsPerLine { coins, min: 1, max: 10 }));
            } else {
                assert_eq!(accepted, Err(StakeRefused::Lines { lines, min: 1, max: 15 }));
            }
        }
    }
    let odd = Stake { coin_value_micros: 15_000, ..stake(1, 1) };
    assert_eq!(game.check_stake(&odd), Err(StakeRefused::CoinValue { micros: 15_000 }));
    let bought = Stake { buy_feature: true, ..stake(1, 1) };
    assert_eq!(game.check_stake(&bought), Err(StakeRefused::BuyFeature));
    assert!(game.open(&bought, &OPEN).is_err());
}

#[test]
fn bw_01_the_window_is_5_by_3_and_all_wins_are_added() {
    let naive = Naive::read();
    let mut won = 0;
    for out in spins(&stake(15, 1), 0..400) {
        let [spin] = out.spins.as_slice() else { panic!("one paid spin") };
        let stops: Vec<usize> = spin.stops.as_slice().iter().map(|&s| usize::from(s)).collect();
        assert_eq!((stops.len(), spin.rows), (5, 3));
        for (reel, &stop) in stops.iter().enumerate() {
            for row in 0..3 {
                assert_eq!(spin.cell(reel, row).map(usize::from), Some(naive.cell(reel, stop, row)));
            }
            assert_eq!(spin.cell(reel, 3), None);
        }
        let lines: u64 = (0..15).map(|line| naive.line(line, &stops)).sum();
        let scatter = match naive.count("scatter", &stops) {
            0 => 0,
            n => naive.pays[1][n - 1] * 15,
        };
        assert_eq!(spin.win_coins, lines + scatter);
        assert_eq!(out.wins_of(spin).iter().map(|w| w.coins).sum::<u64>(), spin.win_coins);
        won += spin.win_coins;
    }
    assert!(won > 0);
}

proptest! {
    #[test]
    fn bw_01_every_line_pays_its_highest_combination(
        stops in prop::array::uniform5(0usize..32),
        lines in 1u32..=15,
    ) {
        let (naive, model) = (Naive::read(), model());
        let mut paid = [0u64; 15];
        let specials = model.windows.evaluate(&stops, Lines::first(lines), |line, win| {
            let line = usize::from(line);
            assert_eq!(paid[line], 0, "a line pays once");
            assert!(win.pays > 0);
            assert_eq!(win.pays, naive.pays[usize::from(win.symbol)][usize::from(win.count) - 1]);
            paid[line] = win.pays;
        });
        for (line, &paid) in paid.iter().enumerate() {
            let expected = if line < lines as usize { naive.line(line, &stops) } else { 0 };
            prop_assert_eq!(paid, expected);
        }
        prop_assert_eq!(usize::from(specials.scatters), naive.count("scatter", &stops));
        prop_assert_eq!(usize::from(specials.bonuses), naive.count("bonus", &stops));
    }
}

#[test]
fn bw_02_a_line_win_is_its_pay_times_the_coins_of_the_line() {
    let naive = Naive::read();
    for coins in [1, 7, 10] {
        let mut wins = 0;
        for out in spins(&stake(15, coins), 0..200) {
            for win in out.wins.iter().filter(|w| w.kind != WinKind::Scatter) {
                let pays = naive.pays[usize::from(win.symbol)][usize::from(win.count) - 1];
                assert_eq!(win.coins, pays * u64::from(coins));
                wins += 1;
            }
        }
        assert!(wins > 20);
    }
}

fn middle_line(cells: [&str; 5]) -> Option<(String, u8, u64)> {
    let strips = cells.map(|cell| format!("Re {cell} Pu Gr"));
    let strips: Vec<&str> = strips.iter().map(String::as_str).collect();
    let model = with_strips(strips.try_into().unwrap());
    let mut won = None;
    model.windows.evaluate(&[0; 5], Lines::first(1), |_, win| {
        won = Some((model.symbols[usize::from(win.symbol)].name.clone(), win.count, win.pays));
    });
    won
}

#[test]
fn bw_03_wild_replaces_all_but_scatter_and_bonus() {
    let won = |name: &str, count, pays| Some((name.to_owned(), count, pays));
    assert_eq!(middle_line(["Fw", "Wi", "Fw", "Wi", "Fw"]), won("Fair Witch", 5, 2500));
    assert_eq!(middle_line(["Wi", "Fw", "Fw", "Dw", "Fw"]), won("Fair Witch", 3, 60));
    assert_eq!(middle_line(["Wi", "Wi", "Wi", "Wi", "Wi"]), won("Wild", 5, 10_000));
    assert_eq!(middle_line(["Wi", "Wi", "Bl", "Re", "Re"]), won("Wild", 2, 10));
    assert_eq!(middle_line(["Wi", "Wi", "Ca", "Re", "Re"]), won("Black Cat", 3, 25));
    assert_eq!(middle_line(["Wi", "Wi", "Wi", "Bl", "Re"]), won("Wild", 3, 100));
    assert_eq!(middle_line(["Sc", "Wi", "Sc", "Sc", "Sc"]), None);
    assert_eq!(middle_line(["Wi", "Sc", "Wi", "Wi", "Wi"]), None);
    assert_eq!(middle_line(["Me", "Wi", "Me", "Me", "Me"]), None);
    assert_eq!(middle_line(["Wi", "Wi", "Me", "Wi", "Wi"]), won("Wild", 2, 10));
    assert_eq!(middle_line(["Re", "Fw", "Fw", "Fw", "Fw"]), None);
}

fn always(scatters: usize, bonuses: usize) -> motherlode_slots::games::bewitched::model::Model {
    let strips: Vec<String> = (0..5)
        .map(|reel| {
            let mut strip = [["Re", "Gr"], ["Bl", "Pu"], ["Ca", "Ra"]][reel % 3].to_vec();
            strip.push(if reel < scatters { "Sc" } else { ["Bo", "Fw", "Dw"][reel % 3] });
            if 4 - reel < bonuses {
                strip[0] = "Me";
            }
            strip.join(" ")
        })
        .collect();
    let strips: Vec<&str> = strips.iter().map(String::as_str).collect();
    with_strips(strips.try_into().unwrap())
}

#[test]
fn bw_04_two_to_five_scatters_pay_on_the_total_bet_and_award_free_spins() {
    let expected = [(0, 0), (0, 0), (1, 0), (3, 8), (15, 12), (100, 20)];
    for (count, (pays, free_spins)) in expected.into_iter().enumerate() {
        let model = always(count, 0);
        let mut round = BewitchedRound::new(&model, &stake(4, 3), &OPEN).unwrap();
        let out = step(&mut round, Choice::Spin, 0);
        let scatter: u64 = out.wins.iter().filter(|w| w.kind == WinKind::Scatter).map(|w| w.coins).sum();
        assert_eq!(scatter, pays * 12, "{count} scatters");
        assert_eq!(out.spins[0].free_spins_won, free_spins);
        assert_eq!(out.free_spins_left, free_spins);
        assert_eq!(out.awaiting == Awaiting::FreeSpins, free_spins > 0);
    }
}

#[test]
fn bw_05_the_witch_is_no_input_of_the_engine() {
    let (stake, terms) = (stake(9, 2), OPEN);
    let Stake { coin_value_micros: _, lines: _, coins_per_line: _, buy_feature: _ } = stake;
    let Terms { jackpot: _, double: _, minor_micros: _, gamble_max_minor: _, carried: _ } = terms;
    match Choice::Spin {
        Choice::Spin | Choice::Pick(_) | Choice::StartFreeSpins | Choice::StartFeature => {}
        Choice::Double(_) | Choice::Halve | Choice::Collect => {}
    }
    let rounds = || {
        let mut round = bewitched().open(&stake, &terms).unwrap();
        let mut draws = Draws::from_seed(seed(5));
        (0..300)
            .map(|_| {
                round.reopen(&Carried::default());
                play(round.as_mut(), &mut draws)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rounds(), rounds());
}

#[test]
fn bw_06_three_bonus_symbols_start_the_bonus_round() {
    for bonuses in 0..=5 {
        let model = always(0, bonuses);
        let mut round = BewitchedRound::new(&model, &stake(1, 1), &OPEN).unwrap();
        let out = step(&mut round, Choice::Spin, 0);
        assert_eq!(out.spins[0].bonus, bonuses >= 3);
        assert_eq!(out.awaiting == Awaiting::Pick, bonuses >= 3, "{bonuses} bonus symbols");
    }
}

#[test]
fn bw_06_the_round_waits_for_three_different_vials() {
    let model = always(0, 3);
    let mut round = BewitchedRound::new(&model, &stake(2, 5), &OPEN).unwrap();
    step(&mut round, Choice::Spin, 0);
    let mut refusal = |choice| {
        let mut out = Outcome::default();
        let refused = round.resolve(&choice, &mut Draws::from_seed(seed(1)), &mut out);
        assert_eq!(out, Outcome::default(), "a refused choice leaves the outcome empty");
        refused
    };
    assert_eq!(refusal(crate::common::pick([0, 6, 1])), Err(ChoiceRefused::UnknownObject { object: 6, of: 6 }));
    assert_eq!(refusal(crate::common::pick([2, 1, 2])), Err(ChoiceRefused::SameObject { object: 2 }));
    assert_eq!(refusal(crate::common::pick([2, 1, 1])), Err(ChoiceRefused::SameObject { object: 1 }));
    let awaiting = Awaiting::Pick;
    for other in [Choice::Spin, Choice::StartFreeSpins, Choice::Collect, Choice::Double(Card::RedHeart)] {
        assert_eq!(refusal(other), Err(ChoiceRefused::NotAwaited { awaiting }));
    }
    assert_eq!(round.awaiting(), Awaiting::Pick);
    assert!(step(&mut round, crate::common::pick([5, 0, 3]), 1).prize.is_some());
    assert_ne!(round.awaiting(), Awaiting::Pick);
}

#[test]
fn bw_06_the_vials_do_not_move_the_odds() {
    let model = always(0, 3);
    let mut round = BewitchedRound::new(&model, &stake(15, 10), &OPEN).unwrap();
    for number in 0..50 {
        let mut prize = |vials| {
            round.reopen(&Carried::default());
            step(&mut round, Choice::Spin, 0);
            step(&mut round, crate::common::pick(vials), number).prize.unwrap()
        };
        let one = prize([0, 1, 2]);
        assert_eq!(prize([5, 4, 3]), one);
        assert_eq!(prize([2, 0, 5]), one);
    }
}

#[test]
fn bw_06_a_bonus_awards_money_free_spins_or_the_jackpot() {
    let model = always(0, 3);
    let mut round = BewitchedRound::new(&model, &stake(15, 10), &OPEN).unwrap();
    let (mut money, mut spins, mut jackpots) = (Vec::new(), Vec::new(), 0);
    for number in 0..4000 {
        round.reopen(&Carried::default());
        step(&mut round, Choice::Spin, 0);
        let out = step(&mut round, crate::common::pick([1, 2, 3]), number);
        assert_eq!(out.jackpot, out.prize == Some(Prize::Jackpot));
        match out.prize.unwrap() {
            Prize::Coins { multiple, coins } => {
                assert_eq!(coins, u64::from(multiple) * 150);
                assert_eq!((out.round_win_coins, out.awaiting), (coins, Awaiting::Nothing));
                money.push(multiple);
            }
            Prize::FreeSpins(n) => {
                assert_eq!((out.free_spins_left, out.awaiting), (n, Awaiting::FreeSpins));
                assert_eq!(out.round_win_coins, 0);
                spins.push(n);
            }
            Prize::Jackpot => {
                assert_eq!((out.round_win_coins, out.awaiting), (0, Awaiting::Nothing));
                jackpots += 1;
            }
        }
    }
    assert_eq!((money.iter().min(), money.iter().max()), (Some(&15), Some(&300)));
    assert_eq!((spins.iter().min(), spins.iter().max()), (Some(&15), Some(&60)));
    // A quarter of the bonuses award free spins. With 150 staked coins and a chance of 0.0003176 per coin, 4,000 bonuses
    // win 191 +- 54 jackpots (four standard deviations).
    assert!((850..1150).contains(&spins.len()), "{}", spins.len());
    assert!((137..245).contains(&jackpots), "{jackpots}");
}

#[test]
fn bw_15_a_closed_pool_awards_no_jackpot() {
    let model = always(0, 3);
    for jackpot in [false, true] {
        let terms = Terms { jackpot, ..OPEN };
        let mut round = BewitchedRound::new(&model, &stake(15, 10), &terms).unwrap();
        let won = (0..1000).filter(|&number| {
            round.reopen(&Carried::default());
            step(&mut round, Choice::Spin, 0);
            step(&mut round, crate::common::pick([0, 1, 2]), number).jackpot
        });
        let won = won.count();
        assert!(if jackpot { won > 10 } else { won == 0 }, "{won}");
    }
}

fn rounds_with_free_spins(stake: &Stake, rounds: u64) -> Vec<Vec<Outcome>> {
    let mut round = bewitched().open(stake, &OPEN).unwrap();
    let mut draws = Draws::from_seed(seed(7));
    let mut played = Vec::new();
    for _ in 0..rounds {
        round.reopen(&Carried::default());
        let steps = play(round.as_mut(), &mut draws);
        if steps.iter().any(|out| out.spins.iter().any(|s| s.kind.is_free())) {
            played.push(steps);
        }
    }
    played
}

#[test]
fn bw_07_free_spins_double_line_wins_and_nothing_else() {
    let naive = Naive::read();
    let (mut lines, mut scatters, mut bonuses) = (0, 0, 0);
    for steps in rounds_with_free_spins(&stake(15, 2), 4000) {
        let mut in_free_spins = false;
        for out in &steps {
            for spin in &out.spins {
                in_free_spins |= spin.kind.is_free();
                assert_eq!(spin.multiplier, if spin.kind.is_free() { 2 } else { 1 });
                for win in out.wins_of(spin).iter().filter(|_| spin.kind.is_free()) {
                    let pays = naive.pays[usize::from(win.symbol)][usize::from(win.count) - 1];
                    let times = if win.kind == WinKind::Scatter { 15 * 2 } else { 2 * 2 };
                    assert_eq!(win.coins, pays * times);
                    *(if win.kind == WinKind::Scatter { &mut scatters } else { &mut lines }) += 1;
                }
            }
            if let (true, Some(Prize::Coins { multiple, coins })) = (in_free_spins, out.prize) {
                assert_eq!(coins, u64::from(multiple) * 30);
                bonuses += 1;
            }
        }
    }
    assert!(lines > 100 && scatters > 10 && bonuses > 0, "{lines} {scatters} {bonuses}");
}

#[test]
fn bw_07_free_spins_come_from_scatters_and_from_the_bonus() {
    let (mut from_scatters, mut from_bonus) = (0, 0);
    for steps in rounds_with_free_spins(&stake(1, 1), 4000) {
        let mut won = 0;
        for out in &steps {
            let by_scatters: u32 = out.spins.iter().map(|s| s.free_spins_won).sum();
            let by_bonus = if let Some(Prize::FreeSpins(n)) = out.prize { n } else { 0 };
            won += by_scatters + by_bonus;
            from_scatters += by_scatters;
            from_bonus += by_bonus;
        }
        let played = steps.iter().flat_map(|out| &out.spins).filter(|s| s.kind.is_free()).count();
        assert_eq!(u32::try_from(played).unwrap(), won, "exactly the free spins that were won are played");
    }
    assert!(from_scatters > 0 && from_bonus > 0);
}

#[test]
fn bw_08_free_spins_keep_lines_and_coins() {
    for (lines, coins) in [(3, 10), (1, 1)] {
        let steps = rounds_with_free_spins(&stake(lines, coins), 3000);
        let wins = steps.iter().flatten().flat_map(|out| &out.wins);
        let mut won = 0;
        for win in wins {
            if let WinKind::Line(line) = win.kind {
                assert!(u32::from(line) < lines);
                assert_eq!(win.coins % u64::from(coins), 0);
                won += 1;
            }
        }
        assert!(won > 0);
    }
}

#[test]
fn bw_09_free_spins_win_free_spins_without_limit() {
    let model = always(3, 0);
    let mut round = BewitchedRound::new(&model, &stake(1, 1), &OPEN).unwrap();
    let mut left = step(&mut round, Choice::Spin, 0).free_spins_left;
    assert_eq!(left, 8);
    for number in 1..20 {
        let out = step(&mut round, Choice::StartFreeSpins, number);
        assert_eq!(out.spins.len(), 100);
        assert!(out.spins.iter().all(|s| s.kind.is_free() && s.multiplier == 2 && s.free_spins_won == 8));
        left += 100 * 8 - 100;
        assert_eq!((out.free_spins_left, out.awaiting), (left, Awaiting::FreeSpins));
    }
}

#[test]
fn bw_09_a_bonus_in_free_spins_pauses_the_series() {
    let model = always(2, 3);
    let mut round = BewitchedRound::new(&model, &stake(1, 1), &OPEN).unwrap();
    let free_spins = |out: &Outcome| if let Some(Prize::FreeSpins(n)) = out.prize { n } else { 0 };
    let mut paused = 0;
    for number in 0..200 {
        round.reopen(&Carried::default());
        step(&mut round, Choice::Spin, 0);
        let out = step(&mut round, crate::common::pick([0, 1, 2]), number);
        let won = free_spins(&out);
        if won == 0 {
            assert_eq!(out.awaiting, Awaiting::Nothing);
            continue;
        }
        let out = step(&mut round, Choice::StartFreeSpins, number);
        assert_eq!((out.spins.len(), out.awaiting), (1, Awaiting::Pick));
        assert_eq!(out.free_spins_left, won - 1);
        let out = step(&mut round, crate::common::pick([0, 1, 2]), number + 1);
        assert_eq!(out.free_spins_left, won - 1 + free_spins(&out));
        assert_eq!(out.awaiting, Awaiting::FreeSpins);
        paused += 1;
    }
    assert!(paused > 20);
}

#[test]
fn bw_10_bonus_scatter_and_free_spin_wins_add_to_the_total() {
    let mut features = 0;
    for steps in rounds_with_free_spins(&stake(15, 1), 2000) {
        let mut total = 0;
        for out in &steps {
            total += out.spins.iter().map(|s| s.win_coins).sum::<u64>();
            if let Some(Prize::Coins { coins, .. }) = out.prize {
                total += coins;
                features += 1;
            }
            assert_eq!(out.round_win_coins, total);
        }
    }
    assert!(features > 0);
}

#[test]
fn pl_06_steps_replay_bit_for_bit() {
    let mut out = Outcome::default();
    for number in 0..300 {
        let stake = stake(15, 3);
        let mut round = bewitched().open(&stake, &OPEN).unwrap();
        let mut steps = Vec::new();
        while let Some(choice) = next_choice(round.awaiting()) {
            let seed = number * 1000 + steps.len() as u64;
            steps.push((choice, seed, step(round.as_mut(), choice, seed)));
        }
        let mut again = bewitched().open(&stake, &OPEN).unwrap();
        for (choice, number, shown) in steps {
            again.resolve(&choice, &mut Draws::from_seed(seed(number)), &mut out).unwrap();
            assert_eq!(out, shown);
        }
        let refused = again.resolve(&Choice::Spin, &mut Draws::from_seed(seed(0)), &mut out);
        assert_eq!(refused, Err(ChoiceRefused::NotAwaited { awaiting: Awaiting::Nothing }));
    }
}

#[test]
fn pl_06_version_1_6_is_frozen() {
    use sha2::{Digest, Sha256};
    let mut digest = Sha256::new();
    let mut round = bewitched().open(&stake(15, 2), &OPEN).unwrap();
    let mut draws = Draws::from_seed(seed(16));
    for _ in 0..500 {
        round.reopen(&Carried::default());
        for out in play(round.as_mut(), &mut draws) {
            for spin in &out.spins {
                spin.stops.as_slice().iter().for_each(|stop| digest.update(stop.to_le_bytes()));
                digest.update(spin.win_coins.to_le_bytes());
            }
            if let Some(prize) = out.prize {
                digest.update(match prize {
                    Prize::Coins { multiple, .. } => [0, multiple.to_le_bytes()[0], multiple.to_le_bytes()[1]],
                    Prize::FreeSpins(n) => [1, n.to_le_bytes()[0], 0],
                    Prize::Jackpot => [2, 0, 0],
                });
            }
            digest.update(out.round_win_coins.to_le_bytes());
        }
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "36a90cbe16357deab627face9316483fe02bb47ebab29e99ae4ff3303827c430");
}

proptest! {
    #[test]
    fn any_sequence_of_choices_is_answered(
        choices in prop::collection::vec((0u8..9, any::<[u8; 3]>(), any::<u64>()), 1..40),
    ) {
        let mut round = bewitched().open(&stake(15, 10), &WITH_DOUBLE).unwrap();
        let mut out = Outcome::default();
        for (kind, vials, number) in choices {
            let choice = match kind {
                0 => Choice::Spin,
                1 => crate::common::pick(vials.map(|v| v % 8)),
                2 => Choice::StartFreeSpins,
                3 => Choice::Double(Card::RedHeart),
                4 => Choice::Double(Card::BlackSpade),
                5 => Choice::StartFeature,
                6 => Choice::Halve,
                7 => Choice::Double(Card::Joker),
                _ => Choice::Collect,
            };
            let before = round.awaiting();
            match round.resolve(&choice, &mut Draws::from_seed(seed(number)), &mut out) {
                Ok(()) => prop_assert_eq!(out.awaiting, round.awaiting()),
                Err(_) => prop_assert_eq!(before, round.awaiting()),
            }
            if round.awaiting() == Awaiting::Nothing {
                round.reopen(&Carried::default());
            }
        }
    }
}
