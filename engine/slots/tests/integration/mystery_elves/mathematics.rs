use std::collections::BTreeMap;

use motherlode_slots::contract::par::{Exact, exact, ratio};
use motherlode_slots::games::mystery_elves::moments::{Ends, FeatureMoments, Window, at_end, hits};
use motherlode_slots::games::mystery_elves::par::base;
use motherlode_slots::math::moments;
use motherlode_slots::math::scan::scan;
use motherlode_slots::parts::lines::Lines;
use motherlode_slots::{Carried, Stake, simulate};
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::mystery_elves::naive::{buy, elves, file, seed, stake, with};

#[test]
fn me_rtp_the_return_is_the_published_one() {
    let model = with(|_| ());
    let published = ratio(9501, 10_000);
    let rtp = base(&model, &FeatureMoments::new(&model));
    assert!((&rtp - &published).abs() <= ratio(5, 100_000));
    let par = elves().par(&stake(1)).unwrap();
    assert_eq!((&par.rtp, &par.rtp_without_jackpot), (&rtp, &rtp));
    assert_eq!(par.parts.iter().map(|part| part.rtp.clone()).sum::<Exact>(), rtp);
    let other = elves().par(&Stake { coin_value_micros: 10_000_000, ..stake(20) }).unwrap();
    assert_eq!((other.rtp, other.parts, other.bet_coins), (par.rtp, par.parts, 200));
}

#[test]
fn windows_are_those_of_the_full_cycle() {
    let model = with(|data| {
        for (reel, strip) in data.reels.strips.iter_mut().enumerate() {
            let codes: Vec<&str> = strip.split_whitespace().collect();
            let from = codes.iter().position(|code| *code == "Bo").unwrap();
            let short: Vec<&str> = codes.iter().cycle().skip(from).take(9 + reel).copied().collect();
            *strip = format!("{} Wi", short.join(" "));
        }
    });
    let (windows, bonus) = (&model.windows, model.hold_and_win.symbol);
    let cycle = windows.reels.cycle();
    let mut by_held = BTreeMap::new();
    let (mut hit, mut squares) = (0u64, 0u128);
    for place in 0..cycle {
        let stops = windows.reels.stops_at(place);
        let mut coins = 0;
        windows.evaluate(&stops, Lines::first(10), |_, win| coins += win.pays);
        let count = |reel: usize| windows.reels.column(reel, stops[reel])[..3].iter().filter(|&&c| c == bonus).count();
        let (outer, middle) = ([0, 1, 3, 4].map(count).iter().sum::<usize>(), count(2));
        let entry = by_held.entry((outer, middle)).or_insert((0, 0));
        *entry = (entry.0 + 1, entry.1 + coins);
        hit += u64::from(coins > 0 || outer + middle >= 6);
        squares += u128::from(coins) * u128::from(coins);
    }
    let window = Window::new(windows, bonus);
    assert_eq!(window.by_held, by_held);
    assert_eq!(hits(windows, bonus, 6), hit);
    assert_eq!(moments::spin_table(windows, 10).line_coins_squared, squares);
    let totals = scan(windows, 10, 0..cycle);
    assert_eq!(moments::max_win(windows, 10), (totals.max_win_coins, totals.max_win_windows));
    assert!(by_held.keys().any(|held| held.0 + held.1 >= 6), "the feature starts");
}

#[test]
fn ends_are_those_of_every_possibility() {
    let model = with(|data| {
        data.bonus.values = vec![0; 18];
        (data.bonus.values[0], data.bonus.values[4], data.bonus.mystery, data.bonus.multiplying) = (5, 3, 2, 4);
        (data.mysteries[1].weight, data.mysteries[2].weight) = (0, 0);
        (data.factors[2].weight, data.factors[3].weight) = (0, 0);
    });
    let ends = Ends::new(&model.hold_and_win);
    for held in [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1), (1, 2), (0, 3)] {
        let mut found = [Exact::zero(), Exact::zero()];
        let mut state = State { chance: Exact::one(), plain: 0, specials: Vec::new(), factors: 0 };
        every(&mut state, held, &mut found);
        assert_eq!(ends.win(held.0, held.1), (found[0].clone(), found[1].clone()), "{held:?}");
    }
}

struct State {
    chance: Exact,
    plain: u64,
    specials: Vec<u64>,
    factors: usize,
}

fn every(state: &mut State, (outer, middle): (usize, usize), found: &mut [Exact; 2]) {
    let (rest, total) = match (outer, middle) {
        (0, 0) => return act(state, found),
        (0, _) => ((0, middle - 1), 14),
        _ => ((outer - 1, middle), 10),
    };
    let mut with = |weight: u64, change: &dyn Fn(&mut State)| {
        let chance = &state.chance * ratio(weight, total);
        let mut next = State { chance, plain: state.plain, specials: state.specials.clone(), factors: state.factors };
        change(&mut next);
        every(&mut next, rest, found);
    };
    with(5, &|next| next.plain += 1);
    with(3, &|next| next.plain += 5);
    let specials = file().mysteries;
    let all = specials[0].weight + specials[3].weight;
    for special in [&specials[0], &specials[3]] {
        with(2, &|next| {
            next.chance *= ratio(special.weight, all);
            next.specials.push(u64::from(special.bets));
        });
    }
    if outer == 0 {
        with(4, &|next| next.factors += 1);
    }
}

fn act(state: &State, found: &mut [Exact; 2]) {
    let grand = state.specials.contains(&1000);
    let weights = file().factors;
    let both = weights[0].weight + weights[1].weight;
    let factors: Vec<(u64, Exact)> = if grand {
        vec![(2, exact(1))]
    } else {
        weights[..2].iter().map(|of| (u64::from(of.times), ratio(of.weight, both))).collect()
    };
    let functions = state.specials.len() + state.factors;
    let paid = state.plain + state.specials.iter().sum::<u64>();
    for (product, chance) in products(&factors, state.factors) {
        for fives in 0..=functions {
            let ways = (0..fives).fold(exact(1), |ways, i| ways * ratio(functions - i, i + 1));
            let turned = (0..functions).fold(ways, |c, i| c * if i < fives { ratio(3, 8) } else { ratio(5, 8) });
            let win = exact(paid * product + (functions + 4 * fives) as u64);
            let weight = &state.chance * &chance * turned;
            found[0] += &weight * &win;
            found[1] += weight * &win * win;
        }
    }
}

fn products(factors: &[(u64, Exact)], count: usize) -> Vec<(u64, Exact)> {
    let more = |all: Vec<(u64, Exact)>| {
        all.iter().flat_map(|(p, c)| factors.iter().map(move |(f, d)| (p * f, c * d))).collect::<Vec<_>>()
    };
    (0..count).fold(vec![(1, exact(1))], |all, _| more(all))
}

#[test]
fn me_10_me_11_me_12_the_chain_is_that_of_respins() {
    let model = with(|_| ());
    let strip = &model.hold_and_win.strip;
    let lands = strip.iter().filter(|&&s| s == model.hold_and_win.symbol).count() as f64 / strip.len() as f64;
    let full = at_end(&model.hold_and_win, |o, m| exact(u8::from(o + m == 15)));
    let count = at_end(&model.hold_and_win, |o, m| exact(o + m));
    for start in 6..=15usize {
        let mut chance = vec![[0.0; 4]; 16];
        chance[start][3] = 1.0;
        let (mut fulls, mut held_at_end) = (0.0, 0.0);
        for held in start..=15 {
            for left in (0..=3).rev() {
                let here = chance[held][left];
                if held == 15 || left == 0 {
                    fulls += if held == 15 { here } else { 0.0 };
                    held_at_end += here * held as f64;
                    continue;
                }
                let mut new = vec![1.0];
                for _ in held..15 {
                    let mut next = vec![0.0; new.len() + 1];
                    for (n, c) in new.iter().enumerate() {
                        next[n] += c * (1.0 - lands);
                        next[n + 1] += c * lands;
                    }
                    new = next;
                }
                chance[held][left - 1] += here * new[0];
                for (n, c) in new.iter().enumerate().skip(1) {
                    chance[held + n][3] += here * c;
                }
            }
        }
        for middle in 0..=3.min(start) {
            if start - middle <= 12 {
                let figure = |of: &Exact| of.to_f64().unwrap();
                assert!((figure(&full[start - middle][middle]) - fulls).abs() < 1e-12);
                assert!((figure(&count[start - middle][middle]) - held_at_end).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn play_returns_what_the_mathematics_says() {
    for (stake, rounds) in [(stake(1), 400_000), (buy(3), 20_000)] {
        let par = elves().par(&stake).unwrap();
        let tally = simulate(elves(), &stake, Carried::default(), rounds, seed(21)).unwrap();
        let (n, bet) = (rounds as f64, par.bet_coins as f64);
        let check = |what: &str, coins: u128, squares: u128, expected: f64, deviation: Option<f64>| {
            let mean = coins as f64 / n / bet;
            let sigma = deviation.unwrap_or((squares as f64 / n / bet / bet - mean * mean).sqrt()) / n.sqrt();
            assert!((mean - expected).abs() < 4.0 * sigma, "{what}: {mean} for {expected}, sigma {sigma}");
        };
        check("all", tally.win.coins, tally.win.squares, par.rtp.to_f64().unwrap(), Some(par.std_dev));
        for (part, sum) in par.parts.iter().zip(&tally.parts) {
            check(part.name.key, sum.coins, sum.squares, part.rtp.to_f64().unwrap(), None);
        }
        for (found, chance) in [
            (tally.hits, par.hit_frequency.to_f64().unwrap()),
            (tally.bonuses, par.rate("hold_and_win").unwrap().to_f64().unwrap()),
        ] {
            let sigma = (chance * (1.0 - chance) / n).sqrt();
            assert!((found as f64 / n - chance).abs() <= 4.0 * sigma, "{found} of {rounds} for {chance}");
        }
    }
}
