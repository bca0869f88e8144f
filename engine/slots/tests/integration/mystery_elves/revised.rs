use motherlode_slots::{Awaiting, Card, Choice, ChoiceRefused, Draws, Game, MarkKind, Outcome, Round, Terms, game};

use crate::mystery_elves::naive::{buy, seed, stake, step, terms};

const LIMIT: u64 = 12_500_000;

fn revised() -> &'static dyn Game {
    game("mystery-elves", "1.0.1").unwrap()
}

fn won(limit: u64) -> (Box<dyn Round>, u64) {
    let gambling = Terms { double: true, gamble_max_minor: limit, ..terms() };
    let mut round = revised().open(&buy(1), &gambling).unwrap();
    step(&mut *round, Choice::Spin, 1);
    let out = step(&mut *round, Choice::StartFeature, 1);
    (round, out.round_win_minor)
}

fn seed_that(wins: bool) -> u64 {
    (0..).find(|&number| (Draws::from_seed(seed(number)).below(2) == 0) == wins).unwrap()
}

fn refused(round: &mut dyn Round, choice: Choice) -> ChoiceRefused {
    let mut out = Outcome::default();
    round.resolve(&choice, &mut Draws::from_seed(seed(1)), &mut out).unwrap_err()
}

#[test]
fn me_14_the_limit_is_on_the_win_that_is_gambled() {
    let (_, win) = won(LIMIT);
    let (mut round, _) = won(win);
    assert_eq!(round.awaiting(), Awaiting::Double);
    let out = step(&mut *round, Choice::Double(Card::RedHeart), seed_that(true));
    assert_eq!((out.round_win_minor, out.card.unwrap().minor), (2 * win, 2 * win));
    let (mut round, _) = won(win - 1);
    assert_eq!(round.awaiting(), Awaiting::Nothing);
    for choice in [Choice::Double(Card::RedHeart), Choice::Halve, Choice::Collect] {
        assert_eq!(refused(&mut *round, choice), ChoiceRefused::NotAwaited { awaiting: Awaiting::Nothing });
    }
}

#[test]
fn me_15_the_gamble_ends_once_the_win_has_passed_the_limit() {
    let (_, win) = won(LIMIT);
    for (limit, cards) in [(win, 1), (2 * win - 1, 1), (2 * win, 2), (4 * win - 1, 2), (4 * win, 3)] {
        let (mut round, _) = won(limit);
        let mut turned = 0;
        while round.awaiting() == Awaiting::Double {
            step(&mut *round, Choice::Double(Card::BlackSpade), seed_that(true));
            turned += 1;
        }
        assert_eq!(turned, cards, "a win of {win} and a limit of {limit}");
    }
    let (mut round, _) = won(win);
    step(&mut *round, Choice::Halve, 1);
    assert_eq!(step(&mut *round, Choice::Double(Card::RedHeart), seed_that(true)).awaiting, Awaiting::Double);
}

#[test]
fn me_15_the_gamble_ends_at_a_wrong_guess_after_the_tenth_card_and_when_collected() {
    let (mut round, win) = won(u64::MAX);
    for card in 1..=10u32 {
        assert_eq!(round.awaiting(), Awaiting::Double);
        let out = step(&mut *round, Choice::Double(Card::RedHeart), seed_that(true));
        assert_eq!(out.round_win_minor, win << card);
    }
    assert_eq!(round.awaiting(), Awaiting::Nothing);
    let (mut round, _) = won(LIMIT);
    let out = step(&mut *round, Choice::Double(Card::RedHeart), seed_that(false));
    assert_eq!((out.awaiting, out.round_win_minor), (Awaiting::Nothing, 0));
    let (mut round, win) = won(LIMIT);
    let out = step(&mut *round, Choice::Collect, 1);
    assert_eq!((out.awaiting, out.round_win_minor), (Awaiting::Nothing, win));
}

#[test]
fn me_16_halve_credits_the_larger_half_at_once_and_gambles_the_rest() {
    let (mut round, win) = won(LIMIT);
    let (mut at_risk, mut credited) = (win, 0);
    while at_risk >= 2 {
        let out = step(&mut *round, Choice::Halve, 1);
        assert_eq!(out.credited_minor, at_risk - at_risk / 2, "the credited half gets the odd minor unit");
        credited += out.credited_minor;
        at_risk /= 2;
        assert_eq!(out.round_win_minor, win, "the credited amount is part of the win");
        assert_eq!(credited + at_risk, win);
    }
    let out = step(&mut *round, Choice::Double(Card::RedHeart), seed_that(false));
    assert_eq!(
        (out.credited_minor, out.round_win_minor),
        (0, credited),
        "a lost card does not reduce the credited amount"
    );
    let gambling = Terms { double: true, gamble_max_minor: LIMIT, ..terms() };
    let mut old = game("mystery-elves", "1.0").unwrap().open(&buy(1), &gambling).unwrap();
    step(&mut *old, Choice::Spin, 1);
    step(&mut *old, Choice::StartFeature, 1);
    assert_eq!(step(&mut *old, Choice::Halve, 1).credited_minor, 0);
}

#[test]
fn me_05_special_wins_have_names() {
    let named: Vec<_> = revised().info().specials.iter().map(|of| (of.name.as_str(), of.bets)).collect();
    assert_eq!(named, [("MINI", 20), ("MINOR", 50), ("MAJOR", 150), ("GRAND", 1000)]);
    let mut revealed = std::collections::BTreeSet::new();
    for number in 0..400 {
        let mut round = revised().open(&buy(1), &terms()).unwrap();
        step(&mut *round, Choice::Spin, number);
        let out = step(&mut *round, Choice::StartFeature, number);
        revealed.extend(out.marks.iter().filter(|of| of.kind == MarkKind::Mystery && of.value > 0).map(|of| of.value));
    }
    assert!(revealed.len() >= 3);
    assert!(revealed.iter().all(|bets| named.iter().any(|of| of.1 == *bets)), "every revealed special win has a name");
}

#[test]
fn me_01_both_versions_play_the_same() {
    for number in 0..200 {
        for stake in [stake(1), buy(1)] {
            let play = |version| {
                let mut round = game("mystery-elves", version).unwrap().open(&stake, &terms()).unwrap();
                let mut steps = vec![step(&mut *round, Choice::Spin, number)];
                if round.awaiting() == Awaiting::Feature {
                    steps.push(step(&mut *round, Choice::StartFeature, number));
                }
                steps
            };
            assert_eq!(play("1.0"), play("1.0.1"));
        }
    }
}
