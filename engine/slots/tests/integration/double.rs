use crate::common::{OPEN, WITH_DOUBLE, bewitched, next_choice, seed, stake, step};
use motherlode_slots::{Awaiting, Card, Carried, Choice, Draws, Outcome, Round, WinKind};

fn doubling(from: u64) -> (Box<dyn Round>, u64, u64) {
    let mut round = bewitched().open(&stake(15, 1), &WITH_DOUBLE).unwrap();
    for number in from.. {
        round.reopen(&Carried::default());
        let out = step(round.as_mut(), Choice::Spin, number);
        let on_lines = out.wins.iter().filter(|w| w.kind != WinKind::Scatter);
        let line_win: u64 = on_lines.map(|w| w.coins).sum();
        if out.awaiting == Awaiting::Double {
            assert!(line_win > 0);
            return (round, line_win, out.round_win_coins);
        }
        assert!(line_win == 0 || out.awaiting != Awaiting::Nothing);
    }
    unreachable!()
}

#[test]
fn bw_22_right_doubles_wrong_loses_at_most_five_times() {
    let (mut rights, mut wrongs, mut fives) = (0, 0, 0);
    for number in 0..400 {
        let (mut round, line_win, total) = doubling(number * 10);
        let rest = total - line_win;
        let mut at_risk = line_win;
        for turn in 1..=6 {
            let out = step(round.as_mut(), Choice::Double(Card::BlackSpade), number * 100 + turn);
            let card = out.card.unwrap();
            assert_eq!((card.guess, card.risked_minor), (Card::BlackSpade, at_risk));
            if card.card == Card::BlackSpade {
                rights += 1;
                at_risk *= 2;
            } else {
                wrongs += 1;
                at_risk = 0;
            }
            assert_eq!((card.minor, out.round_win_minor), (at_risk, rest + at_risk));
            if at_risk == 0 || turn == 5 {
                assert_eq!(out.awaiting, Awaiting::Nothing);
                fives += u64::from(turn == 5);
                break;
            }
            assert_eq!(out.awaiting, Awaiting::Double);
        }
    }
    let cards: i64 = rights + wrongs;
    assert!(fives > 0 && (rights - wrongs).pow(2) < 16 * cards, "{rights} right, {wrongs} wrong");
}

#[test]
fn bw_22_the_player_may_collect_before_each_card() {
    let mut collected_later = 0;
    for number in 0..60 {
        let (mut round, line_win, total) = doubling(number * 10);
        if number % 2 == 0 {
            let out = step(round.as_mut(), Choice::Collect, 0);
            assert_eq!((out.round_win_minor, out.awaiting), (total, Awaiting::Nothing));
            assert_eq!(out.card, None);
        } else if step(round.as_mut(), Choice::Double(Card::RedHeart), number).awaiting == Awaiting::Double {
            let out = step(round.as_mut(), Choice::Collect, 0);
            assert_eq!((out.round_win_minor, out.awaiting), (total + line_win, Awaiting::Nothing));
            collected_later += 1;
        }
        assert_eq!(round.awaiting(), Awaiting::Nothing);
    }
    assert!(collected_later > 5);
}

#[test]
fn bw_23_scatter_bonus_and_free_spin_wins_are_never_at_risk() {
    let mut round = bewitched().open(&stake(15, 1), &WITH_DOUBLE).unwrap();
    let mut draws = Draws::from_seed(seed(23));
    let (mut kept, mut refused) = (0, 0);
    for _ in 0..6000 {
        round.reopen(&Carried::default());
        let mut out = Outcome::default();
        let (mut line_win, mut total) = (0, 0);
        while let Some(choice) = next_choice(round.awaiting()).filter(|&c| c != Choice::Collect) {
            round.resolve(&choice, &mut draws, &mut out).unwrap();
            if choice == Choice::Spin {
                let on_lines = out.wins.iter().filter(|w| w.kind != WinKind::Scatter);
                line_win = on_lines.map(|w| w.coins).sum();
            }
            total = out.round_win_coins;
        }
        assert_eq!(round.awaiting() == Awaiting::Double, line_win > 0);
        let guess = Choice::Double(Card::RedHeart);
        if line_win == 0 {
            assert!(round.resolve(&guess, &mut draws, &mut out).is_err());
            refused += u64::from(total > 0);
            continue;
        }
        round.resolve(&guess, &mut draws, &mut out).unwrap();
        assert_eq!(out.card.unwrap().risked_minor, line_win);
        if out.card.unwrap().minor == 0 {
            assert_eq!((out.round_win_minor, out.round_win_coins), (total - line_win, total));
            kept += u64::from(total > line_win);
        }
    }
    assert!(kept > 20 && refused > 20, "{kept} {refused}");
}

#[test]
fn bw_23_terms_without_the_double_settle_at_once() {
    let mut round = bewitched().open(&stake(15, 1), &OPEN).unwrap();
    let mut won = 0;
    for number in 0..300 {
        round.reopen(&Carried::default());
        let out = step(round.as_mut(), Choice::Spin, number);
        assert_ne!(out.awaiting, Awaiting::Double);
        won += u64::from(out.awaiting == Awaiting::Nothing && out.round_win_coins > 0);
    }
    assert!(won > 30);
}

#[test]
fn bw_24_the_strip_shows_the_cards_of_the_round_latest_first() {
    let mut longest = 0;
    for number in 0..100 {
        let (mut round, ..) = doubling(number * 10);
        let mut cards: Vec<Card> = Vec::new();
        while round.awaiting() == Awaiting::Double {
            let turn = number * 7 + cards.len() as u64;
            let out = step(round.as_mut(), Choice::Double(Card::RedHeart), turn);
            cards.insert(0, out.card.unwrap().card);
            assert_eq!(out.double_strip.iter().collect::<Vec<_>>(), cards);
            assert_eq!(out.double_strip.len(), cards.len());
        }
        longest = longest.max(cards.len());
        round.reopen(&Carried::default());
        assert!(step(round.as_mut(), Choice::Spin, 0).double_strip.is_empty());
    }
    assert_eq!(longest, 5);
}
