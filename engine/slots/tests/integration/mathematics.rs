use crate::common::{FILE, Naive, bewitched, model, stake, with_strips};
use motherlode_slots::contract::info::PrizeInfo;
use motherlode_slots::contract::par::{Exact, decimal};
use motherlode_slots::games::bewitched::model::Model;
use motherlode_slots::games::bewitched::moments::{RoundMoments, WheelMoments, Window};
use motherlode_slots::games::bewitched::par::parts;
use motherlode_slots::games::bewitched::round::BewitchedRound;
use motherlode_slots::math::moments;
use motherlode_slots::math::scan::{ScanTotals, scan};
use motherlode_slots::math::simulate::WIN_BOUNDS_TENTHS;
use motherlode_slots::parts::lines::Lines;
use motherlode_slots::parts::windows::Windows;
use motherlode_slots::{Carried, Draws, Prize, Round, Stake, Tally, WinKind, simulate};
use proptest::prelude::*;

fn ratio(numerator: u64, denominator: u64) -> Exact {
    Exact::new(numerator.into(), denominator.into())
}

fn windows(model: &Model) -> Vec<Window> {
    (1..=15).map(|lines| Window::new(model, &moments::spin_table(&model.windows, lines), lines)).collect()
}

#[test]
fn bw_rtp_is_exact_for_every_lines_coins_and_coin_value() {
    let model = model();
    let mut stakes = 0;
    for (lines, window) in (1..).zip(windows(&model)) {
        for coins_per_line in 1..=10 {
            let wheel = WheelMoments::new(&model, u64::from(lines * coins_per_line));
            let round = RoundMoments::new(&model, &window, &wheel);
            assert_eq!(round.mean, ratio(9410, 10_000));
            for &coin_value_micros in &model.limits.coin_values_micros {
                let stake = Stake { coin_value_micros, lines, coins_per_line, buy_feature: false };
                let p = parts(&model, &stake, &window, &wheel, &round);
                let sum: Exact = p[..4].iter().map(|part| &part.rtp).sum();
                assert_eq!(sum, ratio(9410, 10_000));
                assert_eq!(&sum + &p[4].rtp, ratio(9460, 10_000));
                assert_eq!((p[4].name.key, p[5].name.key), ("jackpot_seed", "jackpot_increments"));
                assert_eq!(p[5].rtp, ratio(5 * coin_value_micros, 10_000_000_000));
                stakes += 1;
            }
        }
    }
    assert_eq!(stakes, 1500);
}

#[test]
fn bw_15_the_jackpot_chance_is_proportional_to_the_coins_staked() {
    let naive = Naive::read();
    let model = model();
    let shows = |role: &str| {
        let stops = |reel: usize| (0..naive.strips[reel].len()).map(move |stop| (reel, stop));
        let shows = |&(reel, stop): &(usize, usize)| (0..3).any(|row| naive.roles[naive.cell(reel, stop, row)] == role);
        (0..5).map(|reel| stops(reel).filter(shows).count() as u64).collect::<Vec<_>>()
    };
    let ways = |shown: &[u64], n: u32| -> u64 {
        let of = |set: u32| {
            (0..5)
                .map(|r| if set >> r & 1 == 1 { shown[r] } else { naive.strips[r].len() as u64 - shown[r] })
                .product::<u64>()
        };
        (0..32u32).filter(|set| set.count_ones() == n).map(of).sum()
    };
    let cycle: u64 = naive.strips.iter().map(|s| s.len() as u64).product();
    let b = ratio((3..=5).map(|n| ways(&shows("bonus"), n)).sum(), cycle);
    let scatter_spins: u64 = (1..=5).map(|n| ways(&shows("scatter"), n) * naive.free_spins[n as usize - 1]).sum();
    for coins in 1..=150 {
        let weights: Vec<(PrizeInfo, u64)> = model.wheel.weights(coins).collect();
        let total: u64 = weights.iter().map(|w| w.1).sum();
        assert_eq!(total, model.wheel.total());
        let spins: u128 = weights
            .iter()
            .map(|&(p, w)| if let PrizeInfo::FreeSpins(n) = p { u128::from(n) * u128::from(w) } else { 0 })
            .sum();
        let phi = ratio(scatter_spins, cycle) + &b * Exact::new(spins.into(), total.into());
        let jackpot = weights.iter().find(|w| w.0 == PrizeInfo::Jackpot).unwrap().1;
        let chance = &b / (ratio(1, 1) - phi) * ratio(jackpot, total);
        assert_eq!(chance, ratio(coins, 400_000), "{coins} coins");
    }
}

#[test]
fn bw_15_a_closed_pool_changes_nothing_else() {
    let model = model();
    let money = |coins: u64| -> u128 {
        let of =
            |(prize, weight)| if let PrizeInfo::Multiple(m) = prize { u128::from(weight) * u128::from(m) } else { 0 };
        model.wheel.weights(coins).map(of).sum()
    };
    let free_spins = |coins: u64| -> Vec<(PrizeInfo, u64)> {
        model.wheel.weights(coins).filter(|(p, _)| matches!(p, PrizeInfo::FreeSpins(_))).collect()
    };
    assert_eq!(model.wheel.weights(0).next(), Some((PrizeInfo::Jackpot, 0)));
    for coins in 1..=150 {
        assert_eq!(money(coins), money(0));
        assert_eq!(free_spins(coins), free_spins(0));
    }
}

#[test]
fn bw_15_the_wheel_turns_by_its_weights() {
    let model = model();
    for coins in [0, 150] {
        let mut draws = Draws::from_seed(crate::common::seed(15));
        let turns = 60_000u64;
        let mut counts = std::collections::BTreeMap::<String, u64>::new();
        for _ in 0..turns {
            *counts.entry(format!("{:?}", model.wheel.turn(coins, &mut draws))).or_default() += 1;
        }
        let mut chi_square = 0.0;
        for (prize, weight) in model.wheel.weights(coins) {
            let count = counts.remove(&format!("{prize:?}")).unwrap_or(0);
            if weight == 0 {
                assert_eq!(count, 0);
                continue;
            }
            let expected = turns as f64 * weight as f64 / model.wheel.total() as f64;
            chi_square += (count as f64 - expected).powi(2) / expected;
        }
        assert!(counts.is_empty());
        // The 1 - 1e-6 quantile of chi-square for 18 degrees of freedom is about 60.
        assert!(chi_square < 60.0, "{coins} coins: {chi_square}");
    }
}

#[test]
fn bw_02_line_return_equals_the_sum_over_symbol_counts() {
    let naive = Naive::read();
    let model = model();
    let n = naive.codes.len();
    let counts: Vec<Vec<u64>> =
        naive.strips.iter().map(|s| (0..n).map(|x| s.iter().filter(|&&c| c == x).count() as u64).collect()).collect();
    let mut coins = 0u64;
    let mut cells = [0; 5];
    let one_row = Naive { strips: vec![(0..n).collect(); 5], lines: vec![vec![0; 5]], ..Naive::read() };
    for place in 0..n.pow(5) {
        let mut rest = place;
        for cell in &mut cells {
            *cell = rest % n;
            rest /= n;
        }
        let ways: u64 = (0..5).map(|r| counts[r][cells[r]]).product();
        if ways > 0 && (cells[0] == cells[1] || cells[0] == 0 || cells[1] == 0) {
            coins += ways * one_row.line(0, &cells);
        }
    }
    let expected = ratio(coins, model.windows.reels.cycle());
    for window in windows(&model) {
        assert_eq!(window.lines, expected);
    }
}

fn derived(model: &Windows, lines: u32) -> ScanTotals {
    let (max_win_coins, max_win_windows) = moments::max_win(model, lines);
    ScanTotals {
        table: moments::spin_table(model, lines),
        hits: moments::hits(model, lines),
        combinations: moments::combinations(model).map(|row| row.map(|ways| ways * u64::from(lines))),
        max_win_coins,
        max_win_windows,
    }
}

#[test]
fn the_full_cycle_is_what_the_mathematics_says() {
    let model = model();
    let (windows, cycle) = (&model.windows, model.windows.reels.cycle());
    let totals = std::thread::scope(|scope| {
        let second = scope.spawn(|| scan(windows, 15, cycle / 2..cycle));
        let mut totals = scan(windows, 15, 0..cycle / 2);
        totals.merge(&second.join().unwrap());
        totals
    });
    assert_eq!(totals, derived(windows, 15));
    assert_eq!(totals.table.windows.iter().flatten().sum::<u64>(), 1 << 25);
}

fn strip() -> impl Strategy<Value = String> {
    let codes =
        prop::sample::subsequence(vec!["Wi", "Sc", "Me", "Fw", "Dw", "Ca", "Ra", "Bo", "Re", "Wi", "Fw", "Fw"], 4..=8);
    codes.prop_shuffle().prop_map(|codes| codes.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_full_cycle_is_what_the_mathematics_says(
        strips in prop::array::uniform5(strip()),
        lines in 1u32..=15,
        cut in 0u64..5000,
    ) {
        let model = with_strips(strips.each_ref().map(String::as_str));
        let cycle = model.windows.reels.cycle();
        let cut = cut.min(cycle);
        let mut totals = scan(&model.windows, lines, cut..cycle);
        totals.merge(&scan(&model.windows, lines, 0..cut));
        prop_assert_eq!(totals, derived(&model.windows, lines));
    }
}

#[test]
fn the_par_sheet_is_consistent() {
    let naive = Naive::read();
    let game = bewitched();
    for (lines, coins) in [(1, 1), (15, 10)] {
        let par = game.par(&stake(lines, coins)).unwrap();
        let own: Exact = par.parts[..game.parts().len()].iter().map(|part| &part.rtp).sum();
        assert_eq!(own, par.rtp_without_jackpot);
        assert!(par.parts.iter().map(|part| part.name).take(4).eq(game.parts().iter().copied()));
        assert_eq!(&par.rtp_without_jackpot + par.part("jackpot_seed"), par.rtp);
        assert_eq!(decimal(&par.rtp, 6), "0.946000");
        assert_eq!(decimal(&par.rtp_with_increments(), 6), "0.946005");
        assert_eq!(*par.rate("jackpot").unwrap(), ratio(u64::from(lines * coins), 400_000));
        let chances =
            par.rates.iter().filter(|rate| rate.key.starts_with("prize_")).map(|rate| &rate.value).sum::<Exact>();
        assert_eq!(chances, ratio(1, 1));
        let [set] = par.reel_sets.as_slice() else { panic!("one set of reels") };
        assert_eq!((set.cycle(), set.strips.len()), (1 << 25, 5));
        for symbol in 0..naive.codes.len() {
            let counted = naive.strips.iter().map(|strip| strip.iter().filter(|&&s| s == symbol).count());
            assert_eq!(set.counts(u8::try_from(symbol).unwrap()), counted.collect::<Vec<_>>());
        }
        let rows: Exact = set.combinations.iter().map(|row| &row.rtp).sum();
        assert_eq!(rows, par.part("base_lines") + par.part("scatter"));
        assert_eq!((par.game, par.rules_version), ("bewitched", "1.6"));
        assert_eq!(par.bet_coins, u64::from(lines * coins));
    }
    let one = game.par(&stake(1, 1)).unwrap();
    assert_eq!((one.max_win_bets, one.max_win_probability), (ratio(10_000, 1), ratio(1, 1 << 25)));
    assert!(game.par(&stake(16, 1)).is_err());
}

fn close(what: &str, mean: f64, expected: &Exact, variance: f64, rounds: u64) {
    use num_traits::ToPrimitive;
    let off = (mean - expected.to_f64().unwrap()).abs();
    let sigma = (variance / rounds as f64).sqrt();
    assert!(off < 4.0 * sigma, "{what}: off by {off}, sigma {sigma}");
    assert!(sigma > 0.0);
}

#[test]
fn played_rounds_return_what_the_mathematics_says() {
    for (lines, coins, rounds) in [(15, 10, 200_000), (4, 1, 100_000)] {
        let stake = stake(lines, coins);
        let game = bewitched();
        let par = game.par(&stake).unwrap();
        let mut tally = Tally::default();
        for part in 0..2 {
            tally.merge(&simulate(game, &stake, Carried::default(), rounds / 2, crate::common::seed(part)).unwrap());
        }
        let (n, bet) = (tally.rounds as f64, f64::from(lines * coins));
        assert_eq!((tally.rounds, tally.bet_coins), (rounds, u128::from(lines * coins) * u128::from(rounds)));
        close("all", tally.win.coins as f64 / n / bet, &par.rtp_without_jackpot, par.std_dev.powi(2), rounds);
        for (part, sum) in par.parts.iter().zip(&tally.parts).take(game.parts().len()) {
            let (what, expected) = (part.name.key, &part.rtp);
            let mean = sum.coins as f64 / n / bet;
            close(what, mean, expected, sum.squares as f64 / n / bet / bet - mean * mean, rounds);
        }
        let p = tally.hits as f64 / n;
        close("hits", p, &par.hit_frequency, p * (1.0 - p), rounds);
        let jackpots = tally.jackpots as f64 / n;
        close("jackpots", jackpots, par.rate("jackpot").unwrap(), 1.2 * jackpots, rounds);
        let bonuses = tally.bonuses as f64 / n;
        close("bonuses", bonuses, par.rate("bonuses_per_paid_spin").unwrap(), 1.5 * bonuses, rounds);
        let spins = tally.free_spins as f64 / n;
        close("free spins", spins, par.rate("free_spins_per_paid_spin").unwrap(), 30.0 * spins, rounds);
        let mean = tally.win.coins as f64 / n / bet;
        let deviation = (tally.win.squares as f64 / n / bet / bet - mean * mean).sqrt();
        assert!((deviation / par.std_dev - 1.0).abs() < 0.15, "{deviation} against {}", par.std_dev);
    }
}

#[test]
fn the_tally_is_the_sum_of_the_rounds() {
    let stake = stake(15, 1);
    let mut round = bewitched().open(&stake, &crate::common::OPEN).unwrap();
    let mut draws = Draws::from_seed(crate::common::seed(3));
    let mut tally = Tally { rounds: 8000, bet_coins: 8000 * 15, ..Tally::default() };
    let add = |sum: &mut motherlode_slots::math::simulate::Sum, coins: u64| {
        sum.coins += u128::from(coins);
        sum.squares += u128::from(coins).pow(2);
    };
    for _ in 0..tally.rounds {
        round.reopen(&Carried::default());
        let steps = crate::common::play(round.as_mut(), &mut draws);
        let paid = &steps[0];
        let scatter = paid.wins.iter().filter(|w| w.kind == WinKind::Scatter).map(|w| w.coins).sum();
        let lines = paid.round_win_coins - scatter;
        let bonus = match (paid.spins[0].bonus, steps.get(1).and_then(|out| out.prize)) {
            (true, Some(Prize::Coins { coins, .. })) => coins,
            _ => 0,
        };
        let total = steps.last().unwrap().round_win_coins;
        add(&mut tally.win, total);
        tally.win_fourths += u128::from(total).pow(4);
        tally.features[0] += u64::from(paid.spins[0].bonus);
        tally.features[1] += u64::from(paid.spins[0].free_spins_won > 0);
        add(&mut tally.parts[0], lines);
        add(&mut tally.parts[1], scatter);
        add(&mut tally.parts[2], bonus);
        add(&mut tally.parts[3], total - lines - scatter - bonus);
        tally.hits += u64::from(lines + scatter > 0 || paid.spins[0].bonus);
        tally.bonuses += steps.iter().filter(|out| out.prize.is_some()).count() as u64;
        tally.jackpots += steps.iter().filter(|out| out.jackpot).count() as u64;
        tally.free_spins += steps.iter().flat_map(|out| &out.spins).filter(|s| s.kind.is_free()).count() as u64;
        tally.max_win_coins = tally.max_win_coins.max(total);
        let reached = WIN_BOUNDS_TENTHS.iter().filter(|&&tenths| total * 10 >= tenths * 15).count();
        tally.by_win[if total == 0 { 0 } else { 1 + reached }] += 1;
    }
    assert!(tally.parts[2].coins > 0 && tally.parts[3].coins > 0 && tally.bonuses > 20);
    assert_eq!(simulate(bewitched(), &stake, Carried::default(), 8000, crate::common::seed(3)), Ok(tally));
}

#[test]
fn the_variance_holds_where_free_spins_breed() {
    use num_traits::ToPrimitive;
    let strip = "Re Gr Sc Ca Re Gr Bo Ca Me Gr Re Bo Fw Ca Re Wi";
    let model = with_strips([strip; 5]);
    let stake = stake(5, 2);
    let window = Window::new(&model, &moments::spin_table(&model.windows, 5), 5);
    let moments = RoundMoments::new(&model, &window, &WheelMoments::new(&model, 10));
    assert!(moments.free_spins > ratio(1, 1), "{}", moments.free_spins);
    let mut round = BewitchedRound::new(&model, &stake, &crate::common::OPEN).unwrap();
    let mut draws = Draws::from_seed(crate::common::seed(99));
    let rounds = 60_000;
    let mut wins = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        round.reopen(&Carried::default());
        wins.push(crate::common::play(&mut round, &mut draws).last().unwrap().round_win_coins as f64 / 10.0);
    }
    let mean_of = |f: &dyn Fn(f64) -> f64| wins.iter().map(|&w| f(w)).sum::<f64>() / rounds as f64;
    let mean = mean_of(&|w| w);
    let variance = mean_of(&|w| (w - mean).powi(2));
    let fourth = mean_of(&|w| (w - mean).powi(4));
    close("mean", mean, &moments.mean, variance, rounds as u64);
    close("variance", variance, &moments.variance, fourth - variance * variance, rounds as u64);
    let spread = ((fourth - variance * variance) / rounds as f64).sqrt();
    assert!(spread < moments.variance.to_f64().unwrap() / 10.0, "the sample is too small to tell");
}

#[test]
fn the_moments_are_those_of_every_window_and_prize() {
    let strip = "Wi Sc Fw Me Re Gr Fw Wi";
    let (lines, coins, model) = (3, 2, with_strips([strip; 5]));
    let whole = |n: u64| Exact::from_integer(n.into());
    let mut shown = std::collections::BTreeMap::<(u64, u64, u64, bool), u64>::new();
    for place in 0..model.windows.reels.cycle() {
        let mut won = 0;
        let specials =
            model.windows.evaluate(&model.windows.reels.stops_at(place), Lines::first(lines), |_, win| won += win.pays);
        let n = usize::from(specials.scatters);
        let (pays, spins) = (model.windows.scatters.pays[n], u64::from(model.windows.scatters.free_spins[n]));
        *shown.entry((won, pays, spins, specials.bonuses >= 3)).or_default() += 1;
    }
    let sums = |multiplier: u64| {
        let mut sums: [Exact; 5] = std::array::from_fn(|_| whole(0));
        for (&(won, pays, spins, bonus), &times) in &shown {
            let prizes: Vec<(PrizeInfo, u64)> = match bonus {
                true => model.wheel.weights(u64::from(lines * coins)).collect(),
                false => vec![(PrizeInfo::Multiple(0), 1)],
            };
            let total: u64 = prizes.iter().map(|p| p.1).sum();
            for (prize, weight) in prizes {
                let (money, more) = match prize {
                    PrizeInfo::Multiple(m) => (u64::from(m), 0),
                    PrizeInfo::FreeSpins(n) => (0, u64::from(n)),
                    PrizeInfo::Jackpot => (0, 0),
                };
                let a = ratio(won * multiplier, u64::from(lines)) + whole(pays + money);
                let k = whole(spins + more);
                let chance = ratio(times, model.windows.reels.cycle()) * ratio(weight, total);
                for (sum, value) in sums.iter_mut().zip([a.clone(), &a * &a, &a * &k, k.clone(), &k * &k]) {
                    *sum += value * &chance;
                }
            }
        }
        sums
    };
    let [a, aa, ak, k, kk] = sums(2);
    let dies = whole(1) - &k;
    let mu = &a / &dies;
    let two = whole(2);
    let v = (aa + &two * &mu * ak + &mu * &mu * kk - &mu * &mu) / &dies;
    let [a, aa, ak, k, kk] = sums(1);
    let mean = a + &k * &mu;
    let variance = aa + &two * &mu * ak + &mu * &mu * kk + k * v - &mean * &mean;
    let window = Window::new(&model, &moments::spin_table(&model.windows, lines), lines);
    let round = RoundMoments::new(&model, &window, &WheelMoments::new(&model, u64::from(lines * coins)));
    assert_eq!((round.mean, round.variance), (mean, variance));
}

#[test]
fn the_game_names_itself_and_its_data() {
    use sha2::{Digest, Sha256};
    let game = bewitched();
    let table: toml::Table = FILE.parse().unwrap();
    let text = |key: &str| table[key].as_str().unwrap();
    assert_eq!(game.name(), text("name"));
    assert_eq!(game.rules_version(), text("rules_version"));
    assert_eq!(game.rules_date(), text("rules_date"));
    assert_eq!(game.model_hash(), <[u8; 32]>::from(Sha256::digest(FILE.as_bytes())));
    assert!(motherlode_slots::game("bewitched", "1.5").is_none());
    assert!(motherlode_slots::latest("unknown").is_none());
}
