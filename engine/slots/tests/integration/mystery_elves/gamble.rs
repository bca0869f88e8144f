use motherlode_slots::parts::gamble::{ColourGamble, ColourRules, Half, LimitOn};
use motherlode_slots::{Awaiting, Card, Choice, ChoiceRefused, Draws, Outcome, Round, Terms};
use proptest::prelude::*;

use crate::mystery_elves::naive::{buy, elves, seed, stake, step, terms};

const LIMIT: u64 = 12_500_000;
const FIRST: ColourRules = ColourRules { limit_on: LimitOn::Result, half: Half::Kept };

fn gambling(gamble_max_minor: u64) -> Terms {
    Terms { double: true, gamble_max_minor, ..terms() }
}

fn won(limit: u64) -> (Box<dyn Round>, u64) {
    let mut round = elves().open(&buy(1), &gambling(limit)).unwrap();
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
fn me_14_any_win_up_to_the_limit_may_be_gambled() {
    let (_, win) = won(LIMIT);
    assert!(win > 0);
    assert_eq!(won(win).0.awaiting(), Awaiting::Double);
    assert_eq!(won(win - 1).0.awaiting(), Awaiting::Nothing);
    let mut kept = elves().open(&buy(1), &Terms { double: false, ..gambling(LIMIT) }).unwrap();
    step(&mut *kept, Choice::Spin, 1);
    step(&mut *kept, Choice::StartFeature, 1);
    assert_eq!(kept.awaiting(), Awaiting::Nothing);
    let (mut lines, mut nothing) = (0, 0);
    for number in 0..300 {
        let mut round = elves().open(&stake(1), &gambling(LIMIT)).unwrap();
        let out = step(&mut *round, Choice::Spin, number);
        if out.awaiting != Awaiting::Feature {
            assert_eq!(out.awaiting == Awaiting::Double, out.round_win_minor > 0);
            if out.round_win_minor > 0 { lines += 1 } else { nothing += 1 }
        }
    }
    assert!(lines > 30 && nothing > 30);
}

#[test]
fn me_14_a_right_guess_doubles_and_a_wrong_one_loses() {
    for guess in [Card::RedHeart, Card::BlackSpade] {
        for wins in [true, false] {
            let (mut round, win) = won(LIMIT);
            let coins = {
                let out = step(&mut *round, Choice::Double(guess), seed_that(wins));
                let card = out.card.unwrap();
                assert_eq!((card.won, card.risked_minor, card.guess), (wins, win, guess));
                assert_eq!((card.minor, out.round_win_minor), if wins { (2 * win, 2 * win) } else { (0, 0) });
                assert_eq!(out.double_strip.iter().collect::<Vec<_>>(), [card.card]);
                assert_eq!(out.awaiting, if wins { Awaiting::Double } else { Awaiting::Nothing });
                assert_eq!(out.part_coins, [0; 8]);
                out.round_win_coins
            };
            assert_eq!(coins, win, "the win is in coins of a cent, without the gamble");
        }
    }
}

#[test]
fn me_15_at_most_ten_cards() {
    let mut gamble = ColourGamble::new(1, 10, LIMIT, FIRST).unwrap();
    for turn in 1..=10u32 {
        assert!(gamble.open() && gamble.doubles());
        let card = gamble.turn(Card::RedHeart, &mut Draws::from_seed(seed(seed_that(true))));
        assert_eq!(card.minor, 1 << turn);
    }
    assert!(!gamble.open());
    assert_eq!((gamble.win_minor(), gamble.strip().len()), (1024, 10));
    assert_eq!(elves().info().doubles_max, 10);
}

#[test]
fn me_15_a_double_past_the_limit_is_not_offered() {
    let (_, win) = won(LIMIT);
    for (limit, open) in [(4 * win, Awaiting::Double), (4 * win - 1, Awaiting::Nothing)] {
        let (mut round, _) = won(limit);
        let out = step(&mut *round, Choice::Double(Card::RedHeart), seed_that(true));
        assert_eq!((out.awaiting, out.round_win_minor), (open, 2 * win));
    }
    let (mut round, _) = won(2 * win - 1);
    assert_eq!(
        refused(&mut *round, Choice::Double(Card::RedHeart)),
        ChoiceRefused::NotOffered { what: "the win exceeds the gamble limit" }
    );
    assert_eq!(step(&mut *round, Choice::Halve, 1).round_win_minor, win);
    let out = step(&mut *round, Choice::Double(Card::RedHeart), seed_that(true));
    assert_eq!(out.round_win_minor, win + win / 2);
}

#[test]
fn me_15_collecting_ends_the_gamble() {
    let (mut round, win) = won(LIMIT);
    let out = step(&mut *round, Choice::Collect, 1);
    assert_eq!((out.awaiting, out.round_win_minor), (Awaiting::Nothing, win));
    assert_eq!(
        refused(&mut *round, Choice::Double(Card::RedHeart)),
        ChoiceRefused::NotAwaited { awaiting: Awaiting::Nothing }
    );
}

#[test]
fn me_16_a_half_is_secured_with_the_odd_unit() {
    assert!(elves().info().halve);
    let mut gamble = ColourGamble::new(7, 10, LIMIT, FIRST).unwrap();
    gamble.halve();
    let lost = gamble.turn(Card::RedHeart, &mut Draws::from_seed(seed(seed_that(false))));
    assert_eq!((lost.risked_minor, gamble.win_minor(), gamble.open()), (3, 4, false));
    let (mut round, win) = won(LIMIT);
    let mut at_risk = win;
    while at_risk >= 2 {
        let out = step(&mut *round, Choice::Halve, 1);
        assert_eq!((out.round_win_minor, out.card, out.awaiting), (win, None, Awaiting::Double));
        at_risk /= 2;
    }
    assert_eq!(
        refused(&mut *round, Choice::Halve),
        ChoiceRefused::NotOffered { what: "the gambled amount is too small to be halved" }
    );
    let out = step(&mut *round, Choice::Double(Card::BlackSpade), seed_that(true));
    assert_eq!(out.round_win_minor, win + 1);
}

#[test]
fn me_17_a_guess_is_a_colour() {
    let (mut round, _) = won(LIMIT);
    for card in [Card::RedDiamond, Card::BlackClub, Card::Joker] {
        assert!(matches!(refused(&mut *round, Choice::Double(card)), ChoiceRefused::NotOffered { .. }));
    }
}

#[test]
fn me_17_the_card_follows_the_result() {
    let (mut wins, mut jokers) = (0u64, 0u64);
    let turns = 40_000;
    for number in 0..turns {
        for (guess, right, wrong) in [
            (Card::RedHeart, [Card::RedHeart, Card::RedDiamond], [Card::BlackSpade, Card::BlackClub]),
            (Card::BlackSpade, [Card::BlackSpade, Card::BlackClub], [Card::RedHeart, Card::RedDiamond]),
        ] {
            let mut gamble = ColourGamble::new(100, 10, LIMIT, FIRST).unwrap();
            let turn = gamble.turn(guess, &mut Draws::from_seed(seed(number)));
            assert_eq!(turn.won, Draws::from_seed(seed(number)).below(2) == 0);
            assert!(if turn.won {
                right.contains(&turn.card) || turn.card == Card::Joker
            } else {
                wrong.contains(&turn.card)
            });
            wins += u64::from(turn.won && guess == Card::RedHeart);
            jokers += u64::from(turn.card == Card::Joker && guess == Card::RedHeart);
        }
    }
    // Both tolerances are four standard deviations. Half of the 40,000 guesses are correct, and 1 in 27 of the correct
    // guesses shows a Joker.
    assert!(wins.abs_diff(turns / 2) < 400, "{wins}");
    assert!(jokers.abs_diff(turns / 54) < 107, "{jokers}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn me_17_the_gamble_returns_exactly_everything(win in 1u64..=LIMIT, halves in prop::collection::vec(any::<bool>(), 0..12)) {
        let mut gamble = ColourGamble::new(win, 10, u64::MAX, FIRST).unwrap();
        let mut worth = win;
        for halve in halves {
            if halve && gamble.halves() {
                gamble.halve();
                prop_assert_eq!(gamble.win_minor(), worth);
            } else if gamble.open() {
                let (mut lost, mut doubled) = (gamble, gamble);
                lost.turn(Card::RedHeart, &mut Draws::from_seed(seed(seed_that(false))));
                doubled.turn(Card::RedHeart, &mut Draws::from_seed(seed(seed_that(true))));
                prop_assert_eq!(lost.win_minor() + doubled.win_minor(), 2 * worth);
                prop_assert!(!lost.open());
                gamble = doubled;
                worth = gamble.win_minor();
            }
        }
    }
}
