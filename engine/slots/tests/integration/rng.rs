//! PL-14: in paid spins with separate seeds, each reel's stops are equally likely, and independent of the adjacent reel's
//! stops.

#![allow(clippy::cast_precision_loss, reason = "statistics")]

use motherlode_slots::{Carried, Choice, Draws, Game, Outcome, Seed, SpinKind, Stake, Terms, latest_games};
use std::sync::LazyLock;

const SPINS: usize = 60_000;

/// Returns the 1 - 1e-6 quantile of chi-square by the Wilson-Hilferty approximation.
fn quantile(freedom: usize) -> f64 {
    const NORMAL: f64 = 4.753_424;
    let spread = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - spread + NORMAL * spread.sqrt()).powi(3)
}

fn evenness(counts: &[u32]) -> (f64, f64) {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    assert!(mean >= 10.0, "too few spins for so many classes");
    (counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum(), quantile(counts.len() - 1))
}

fn stops(game: &'static dyn Game, stake: &Stake) -> Vec<Vec<usize>> {
    let mut master = Draws::from_seed(*b"the master of the stops of reels");
    let terms = Terms::plain(Carried::default());
    let (mut round, mut out) = (game.open(stake, &terms).unwrap(), Outcome::default());
    let spin = |_| {
        let mut seed = Seed::default();
        seed.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&master.word().to_le_bytes()));
        round.reopen(&terms.carried);
        round.resolve(&Choice::Spin, &mut Draws::from_seed(seed), &mut out).unwrap();
        assert_eq!(out.spins[0].kind, SpinKind::Base);
        out.spins[0].stops.as_slice().iter().map(|&stop| usize::from(stop)).collect()
    };
    (0..SPINS).map(spin).collect()
}

struct Spun {
    name: &'static str,
    lengths: Vec<usize>,
    spins: Vec<Vec<usize>>,
}

static GAMES: LazyLock<Vec<Spun>> = LazyLock::new(|| {
    let played = |game: &'static dyn Game| {
        let limits = &game.info().limits;
        let stake = Stake {
            coin_value_micros: limits.coin_values_micros[0],
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        let lengths = game.par(&stake).unwrap().reel_sets[0].strips.iter().map(Vec::len).collect();
        Spun { name: game.name(), lengths, spins: stops(game, &stake) }
    };
    latest_games().iter().map(|game| played(*game)).collect()
});

#[test]
fn pl_14_each_stop_of_each_reel_of_each_game_is_equally_likely() {
    for Spun { name, lengths, spins } in &*GAMES {
        assert_eq!(lengths.len(), spins[0].len(), "{name}: a stop for each reel");
        for (reel, &length) in lengths.iter().enumerate() {
            let mut counts = vec![0; length];
            spins.iter().for_each(|stops| counts[stops[reel]] += 1);
            let (chi_square, limit) = evenness(&counts);
            assert!(chi_square < limit, "{name}, reel {reel}: {chi_square} is not below {limit}");
        }
    }
}

#[test]
fn pl_14_no_reel_of_any_game_knows_of_another() {
    for Spun { name, lengths, spins } in &*GAMES {
        for left in 0..lengths.len() {
            for right in left + 1..lengths.len() {
                let mut counts = vec![0; lengths[left] * lengths[right]];
                spins.iter().for_each(|stops| counts[stops[left] * lengths[right] + stops[right]] += 1);
                let (chi_square, limit) = evenness(&counts);
                assert!(chi_square < limit, "{name}, reels {left} and {right}: {chi_square} is not below {limit}");
            }
        }
    }
}

#[test]
fn pl_14_a_remainder_is_found() {
    let mut draws = Draws::from_seed([1; 32]);
    let (mut counts, mut even) = (vec![0; 30], vec![0; 30]);
    for _ in 0..SPINS {
        counts[draws.below(256) as usize % 30] += 1;
        even[draws.below(30) as usize] += 1;
    }
    let ((biased, limit), (fair, _)) = (evenness(&counts), evenness(&even));
    assert!(biased > limit && fair < limit, "{biased} {fair} {limit}");
}
