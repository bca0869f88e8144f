#![allow(clippy::cast_precision_loss, reason = "statistics")]

use std::sync::LazyLock;

use crate::sixth::{LANTERN, Lantern};
use motherlode_slots::contract::game::RulesVersion;
use motherlode_slots::contract::par::{decimal, ratio};
use motherlode_slots::parts::file::ModelError;
use motherlode_slots::{Awaiting, Card, Carried, Choice, ChoiceRefused, Draws, Game, Outcome, Stake, Terms, simulate};

const STAKE: Stake = Stake { coin_value_micros: 10_000, lines: 1, coins_per_line: 5, buy_feature: false };

fn lantern() -> &'static dyn Game {
    static GAME: LazyLock<Lantern> = LazyLock::new(|| Lantern::new(&LANTERN).unwrap());
    &*GAME
}

#[test]
fn a_sixth_game_is_proven_by_the_shared_mathematics() {
    let par = lantern().par(&STAKE).unwrap();
    assert_eq!(par.rtp, ratio(11 + 7 * (4 + 2 + 1), 64) + ratio(22, 64 * 11));
    assert_eq!(par.hit_frequency, ratio(1 + 7 * 3, 64));
    assert_eq!((par.max_win_bets.clone(), par.max_win_probability.clone()), (ratio(11 + 1, 1), ratio(1, 64 * 11)));
    assert_eq!(decimal(&par.rtp, 5), "0.96875");
}

#[test]
fn a_sixth_game_is_simulated_by_the_shared_code() {
    let rounds = 200_000;
    let tally = simulate(lantern(), &STAKE, Carried::default(), rounds, [6; 32]).unwrap();
    let par = lantern().par(&STAKE).unwrap();
    let mean = tally.win.coins as f64 / tally.bet_coins as f64;
    let sigma = par.std_dev / (rounds as f64).sqrt();
    assert!((mean - 0.96875).abs() < 4.0 * sigma, "{mean}");
    assert_eq!(tally.parts[0].coins + tally.parts[1].coins, tally.win.coins);
    assert_eq!(tally.max_win_coins, 5 * (11 + 1));
}

#[test]
fn a_sixth_game_plays_with_the_shared_gamble() {
    let mut round = lantern().open(&STAKE, &Terms { double: true, ..Terms::plain(Carried::default()) }).unwrap();
    let (mut draws, mut out) = (Draws::from_seed([1; 32]), Outcome::default());
    let (mut won, mut lost) = (0, 0);
    for _ in 0..400 {
        round.reopen(&Carried::default());
        round.resolve(&Choice::Spin, &mut draws, &mut out).unwrap();
        assert_eq!(out.round_win_minor, out.wins.iter().map(|win| win.coins).sum::<u64>());
        let mut at_risk = out.round_win_minor;
        while out.awaiting == Awaiting::Double {
            round.resolve(&Choice::Double(Card::RedHeart), &mut draws, &mut out).unwrap();
            at_risk = if out.card.unwrap().won { at_risk * 2 } else { 0 };
            assert_eq!(out.round_win_minor, at_risk);
        }
        won += u32::from(out.double_strip.len() == 2 && at_risk > 0);
        lost += u32::from(!out.double_strip.is_empty() && at_risk == 0);
    }
    assert!(won > 10 && lost > 10, "{won} {lost}");
    let refused = round.resolve(&Choice::Spin, &mut draws, &mut out);
    assert_eq!(refused, Err(ChoiceRefused::NotAwaited { awaiting: Awaiting::Nothing }));
}

#[test]
fn a_sixth_game_that_breaks_its_promise_does_not_load() {
    let broken = LANTERN.file.replace("[0, 0, 11, 11, 11]", "[0, 0, 12, 12, 12]");
    let version = Box::leak(Box::new(RulesVersion { file: broken.leak(), ..LANTERN }));
    assert!(matches!(Lantern::new(version), Err(ModelError::Return { .. })));
}
