use super::*;
use motherlode_slots::{Draws, Seed};

#[derive(Clone)]
struct Toy(Vec<(f64, u32)>);

impl Toy {
    fn sound() -> Self {
        Self(vec![(4_000.0, 10), (200.0, 500), (20.0, 8_000), (2.0, 150_000), (0.5, 350_000)])
    }

    fn theory(&self) -> Theory {
        let moment = |power: i32| self.0.iter().map(|(win, ppm)| win.powi(power) * f64::from(*ppm) / 1e6).sum::<f64>();
        let rtp = moment(1);
        Theory { rtp, rtp_least: rtp, std_dev: (moment(2) - rtp * rtp).sqrt() }
    }

    fn play(&self, draws: &mut Draws) -> f64 {
        let mut place = draws.below(1_000_000);
        for (win, ppm) in &self.0 {
            match place.checked_sub(*ppm) {
                None => return *win,
                Some(rest) => place = rest,
            }
        }
        0.0
    }

    fn paying(&self, times: f64) -> Self {
        Self(self.0.iter().map(|(win, ppm)| (win * times, *ppm)).collect())
    }

    fn doubled(&self, entry: usize) -> Self {
        let mut wins = self.0.clone();
        wins[entry].0 *= 2.0;
        Self(wins)
    }
}

struct Mixed {
    stakes: [(f64, u32); 4],
    wins: [Wins; 4],
}

impl Mixed {
    fn new() -> Self {
        Self { stakes: [(10.0, 900), (100.0, 80), (2_000.0, 19), (50_000.0, 1)], wins: Default::default() }
    }

    fn play(&mut self, toy: &Toy, draws: &mut Draws) {
        let mut place = draws.below(1_000);
        for ((_, often), wins) in self.stakes.iter().zip(&mut self.wins) {
            match place.checked_sub(*often) {
                None => return wins.add(toy.play(draws)),
                Some(rest) => place = rest,
            }
        }
    }

    fn verdicts(&self, theory: Theory) -> Vec<Verdict> {
        let part = |at: usize, weight| Stratum { weight, wins: &self.wins[at], theory };
        let played: Vec<_> = (0..4).filter(|at| self.wins[*at].rounds > 0).collect();
        let levels = played.iter().map(|at| verdict(&[part(*at, 1.0)], 0.0));
        let by_stake: Vec<_> = played.iter().map(|at| part(*at, self.stakes[*at].0)).collect();
        let by_round: Vec<_> = played.iter().map(|at| part(*at, 1.0)).collect();
        levels.chain([verdict(&by_stake, 0.0), verdict(&by_round, 0.0)]).collect()
    }
}

fn seed(of: &str, number: u32) -> Seed {
    let mut seed = [0; 32];
    seed[..of.len()].copy_from_slice(of.as_bytes());
    seed[28..].copy_from_slice(&number.to_le_bytes());
    seed
}

#[test]
fn pl_23_a_sound_game_at_mixed_stakes_raises_no_false_alarm() {
    let toy = Toy::sound();
    let theory = toy.theory();
    assert!((theory.rtp - 0.775).abs() < 1e-9, "{theory:?}");
    for life in 0..60 {
        let (mut mixed, mut draws) = (Mixed::new(), Draws::from_seed(seed("sound", life)));
        for round in 1..=20_000_u32 {
            mixed.play(&toy, &mut draws);
            if round <= 200 || round.is_multiple_of(500) {
                for verdict in mixed.verdicts(theory) {
                    assert!(!verdict.out_of_band, "life {life}, round {round}: {verdict:?}");
                }
            }
        }
    }
}

#[test]
fn pl_23_the_false_alarm_rate_is_within_the_stated_one() {
    for (name, toy) in [("sound", Toy::sound()), ("heavy", Toy(vec![(1_000.0, 1_000)]))] {
        let theory = toy.theory();
        let (mut out, lives) = (0_u32, 400_u32);
        for life in 0..lives {
            let mut draws = Draws::from_seed(seed(name, life));
            let mut wins = Wins::default();
            let mut left = false;
            for round in 1..=3_000_u32 {
                wins.add(toy.play(&mut draws));
                let look = round <= 50 || round.is_multiple_of(100);
                left |= look && verdict_at(&[Stratum { weight: 1.0, wins: &wins, theory }], 0.0, 0.1).out_of_band;
            }
            out += u32::from(left);
        }
        assert!(out * 10 <= lives, "{name}: {out} of {lives} lives left the band, more than a tenth");
    }
}

fn found_after(faulty: &Toy, theory: Theory, of: &str, rounds_max: u32) -> Option<u32> {
    let (mut mixed, mut draws) = (Mixed::new(), Draws::from_seed(seed(of, 1)));
    (1..=rounds_max).find(|round| {
        mixed.play(faulty, &mut draws);
        round.is_multiple_of(1_000) && mixed.verdicts(theory).iter().any(|verdict| verdict.out_of_band)
    })
}

#[test]
fn pl_23_a_faulty_game_is_found_however_large_the_stakes_that_are_mixed_in() {
    let sound = Toy(Toy::sound().0[1..].to_vec());
    let theory = sound.theory();
    for (name, faulty) in [
        ("tenth more", sound.paying(1.1)),
        ("tenth less", sound.paying(0.9)),
        ("200 doubled", sound.doubled(0)),
        ("20 doubled", sound.doubled(1)),
        ("2 doubled", sound.doubled(2)),
    ] {
        let found = found_after(&faulty, theory, name, 600_000);
        assert!(found.is_some(), "{name} is not found: {:?} instead of {theory:?}", faulty.theory());
    }
    assert_eq!(found_after(&sound, theory, "sound", 600_000), None);
}

#[test]
fn pl_23_the_effective_rounds_are_the_square_of_the_sum_by_the_sum_of_squares() {
    let theory = Toy::sound().theory();
    let mut many = Wins::default();
    (0..1_000).for_each(|_| many.add(0.0));
    let mut one = Wins::default();
    one.add(0.0);
    let of = |parts: &[Stratum<'_>]| verdict(parts, 0.0).effective_rounds;
    let alike = Stratum { weight: 7.0, wins: &many, theory };
    assert!((of(&[alike]) - 1_000.0).abs() < 1e-6);
    let mixed = [Stratum { weight: 1.0, wins: &many, theory }, Stratum { weight: 1_000.0, wins: &one, theory }];
    assert!((of(&mixed) - 4_000_000.0 / 1_001_000.0).abs() < 1e-9);
}

#[test]
fn pl_23_the_band_narrows_with_the_root_of_the_rounds() {
    let theory = Toy::sound().theory();
    for rounds in [1_u64, 100, 10_000, 1_000_000, 100_000_000] {
        let wins = Wins { rounds, ..Wins::default() };
        let Verdict { above, below, .. } = verdict(&[Stratum { weight: 1.0, wins: &wins, theory }], 0.0);
        let error = theory.std_dev / (rounds as f64).sqrt();
        assert!((5.0..10.0).contains(&(above / error)), "{rounds}: {}", above / error);
        assert!((4.0..7.5).contains(&(below / error)), "{rounds}: {}", below / error);
    }
}

#[test]
fn pl_23_one_great_win_neither_alarms_nor_hides_anything() {
    let theory = Toy::sound().theory();
    let mut wins = Wins::default();
    (0..10_000).for_each(|_| wins.add(0.0));
    let before = verdict(&[Stratum { weight: 1.0, wins: &wins, theory }], 0.0);
    wins.add(100_000.0);
    let after = verdict(&[Stratum { weight: 1.0, wins: &wins, theory }], 0.0);
    assert!(after.rtp > 9.0 && !after.out_of_band && after.above <= before.above, "{after:?}");
    (0..2_000).for_each(|_| wins.add(100.0));
    assert!(verdict(&[Stratum { weight: 1.0, wins: &wins, theory }], 0.0).out_of_band);
}
