use motherlode_state::{Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, Minor, WinStop};
use proptest::{collection::vec, option, prelude::*};

fn round(bet: i64, win: i64) -> FinishedRound {
    FinishedRound { bet: Minor(bet), win: Minor(win), jackpot: None, feature: false }
}

fn play(spins: u32, limits: AutospinLimits, rounds: &[FinishedRound]) -> (usize, Option<AutospinStop>, Autospin) {
    let mut autospin = Autospin::new(spins, limits);
    for (played, round) in (1..).zip(rounds) {
        if let Some(stop) = autospin.finish(*round) {
            return (played, Some(stop), autospin);
        }
    }
    (rounds.len(), None, autospin)
}

#[test]
fn bw_25_without_limits_the_number_of_spins_is_played() {
    let (played, stop, autospin) = play(3, AutospinLimits::default(), &[round(10, 500); 5]);
    assert_eq!((played, stop), (3, Some(AutospinStop::Complete)));
    assert_eq!((autospin.spins_left(), autospin.bets(), autospin.wins()), (0, Minor(30), Minor(1_500)));
}

#[test]
fn bw_25_the_loss_limit_stops_below_zero_and_not_at_zero() {
    let limits = AutospinLimits { loss: Some(LossStop::Passed(Minor(20))), ..Default::default() };
    let (played, stop, autospin) = play(100, limits, &[round(10, 0), round(10, 0), round(10, 5), round(10, 0)]);
    assert_eq!((played, stop, autospin.spins_left()), (3, Some(AutospinStop::LossLimit), 97));
    let (played, stop, _) = play(100, limits, &[round(10, 30), round(10, 0), round(10, 0), round(10, 0), round(10, 0)]);
    assert_eq!((played, stop), (5, None), "20 + 30 - 50 is not below zero");
    let limits = AutospinLimits { loss: Some(LossStop::Passed(Minor(0))), ..Default::default() };
    assert_eq!(play(100, limits, &[round(10, 10), round(10, 9)]).0, 2);
}

#[test]
fn wf_19_the_loss_limit_stops_at_zero_where_the_game_says_so() {
    let limits = AutospinLimits { loss: Some(LossStop::Reached(Minor(20))), ..Default::default() };
    let rounds = [round(10, 1), round(10, 0), round(10, 9), round(10, 0)];
    assert_eq!(play(100, limits, &rounds[..2]).1, None, "20 + 1 - 20 is above zero");
    let (played, stop, _) = play(100, limits, &rounds);
    assert_eq!((played, stop), (3, Some(AutospinStop::LossLimit)));
    let past = AutospinLimits { loss: Some(LossStop::Passed(Minor(20))), ..limits };
    assert_eq!(play(100, past, &rounds).0, 4, "in other games the loss must exceed the limit");
}

#[test]
fn bw_25_one_win_that_reaches_the_limit_stops_and_many_small_ones_do_not() {
    let limits = AutospinLimits { win: Some(WinStop::Reached(Minor(100))), ..Default::default() };
    let (played, stop, _) = play(100, limits, &[round(10, 99), round(10, 99), round(10, 100), round(10, 0)]);
    assert_eq!((played, stop), (3, Some(AutospinStop::WinLimit)));
    let jackpot = FinishedRound { jackpot: Some(Minor(60)), ..round(10, 40) };
    assert_eq!(play(100, limits, &[jackpot]).1, Some(AutospinStop::WinLimit), "the jackpot is part of the round's win");
}

#[test]
fn me_19_a_single_win_equal_to_its_limit_does_not_stop() {
    let limits = AutospinLimits { win: Some(WinStop::Passed(Minor(100))), ..Default::default() };
    let (played, stop, _) = play(100, limits, &[round(10, 100), round(10, 100), round(10, 101), round(10, 0)]);
    assert_eq!((played, stop), (3, Some(AutospinStop::WinLimit)));
}

#[test]
fn dm_26_no_round_is_begun_whose_bet_could_bring_the_loss_past_the_limit() {
    let prevented = |limit| AutospinLimits {
        loss: Some(LossStop::Prevented { limit: Minor(limit), bet: Minor(10) }),
        ..Default::default()
    };
    let (played, stop, series) = play(100, prevented(25), &[round(10, 0); 5]);
    assert_eq!((played, stop, series.spins_left()), (2, Some(AutospinStop::LossLimit), 98));
    assert_eq!(play(100, prevented(30), &[round(10, 0); 5]).0, 3);
    assert_eq!(play(100, prevented(20), &[round(10, 0), round(10, 15), round(10, 0), round(10, 0)]).0, 3);
    for (limit, none) in [(0, true), (9, true), (10, false)] {
        assert_eq!(Autospin::new(5, prevented(limit)).prevented(), none, "{limit}");
    }
    let passed = AutospinLimits { loss: Some(LossStop::Passed(Minor(0))), ..Default::default() };
    assert!(!Autospin::new(5, passed).prevented(), "in other games the first round is played");
}

#[test]
fn bw_25_the_jackpot_stops_only_where_that_is_asked_for() {
    let won = [round(10, 0), FinishedRound { jackpot: Some(Minor(2_000)), ..round(10, 0) }, round(10, 0)];
    let limits = AutospinLimits { on_jackpot: true, ..Default::default() };
    assert_eq!(play(100, limits, &won).1, Some(AutospinStop::Jackpot));
    assert_eq!(play(100, AutospinLimits::default(), &won).1, None);
}

#[test]
fn bw_25_of_several_reasons_the_first_of_the_order_is_named() {
    let all = AutospinLimits {
        loss: Some(LossStop::Passed(Minor(0))),
        win: Some(WinStop::Reached(Minor(1))),
        on_jackpot: true,
        on_feature: true,
    };
    let jackpot = FinishedRound { jackpot: Some(Minor(5)), ..round(10, 0) };
    assert_eq!(play(1, all, &[jackpot]).1, Some(AutospinStop::Jackpot));
    assert_eq!(play(1, all, &[round(10, 5)]).1, Some(AutospinStop::WinLimit));
    assert_eq!(play(1, all, &[round(10, 0)]).1, Some(AutospinStop::LossLimit));
    let feature = FinishedRound { feature: true, ..round(0, 0) };
    assert_eq!(play(1, all, &[feature]).1, Some(AutospinStop::Feature));
    assert_eq!(play(1, all, &[round(0, 0)]).1, Some(AutospinStop::Complete));
}

#[test]
fn wf_19_a_feature_stops_only_where_that_is_asked_for() {
    let rounds = [round(10, 0), FinishedRound { feature: true, ..round(10, 30) }, round(10, 0)];
    let limits = AutospinLimits { on_feature: true, ..Default::default() };
    let (played, stop, series) = play(100, limits, &rounds);
    assert_eq!((played, stop, series.spins_left()), (2, Some(AutospinStop::Feature), 98));
    assert_eq!(play(100, AutospinLimits::default(), &rounds).1, None);
}

fn rounds() -> impl Strategy<Value = Vec<FinishedRound>> {
    let round = (0..100_i64, 0..150_i64, option::weighted(0.05, 0..1_000_i64), proptest::bool::weighted(0.05));
    let round = round.prop_map(|(bet, win, jackpot, feature)| FinishedRound {
        bet: Minor(bet),
        win: Minor(win),
        jackpot: jackpot.map(Minor),
        feature,
    });
    vec(round, 1..60)
}

proptest! {
    #[test]
    fn bw_25_a_series_ends_with_the_first_round_that_the_rule_ends_it_with(
        rounds in rounds(),
        spins in 1..60_u32,
        loss in option::of(0..500_i64),
        win in option::of(1..400_i64),
        on_jackpot: bool,
        on_feature: bool,
        how in 0..3_u8,
        above: bool,
    ) {
        let loss_stop = |limit| match how {
            0 => LossStop::Passed(Minor(limit)),
            1 => LossStop::Reached(Minor(limit)),
            _ => LossStop::Prevented { limit: Minor(limit), bet: Minor(50) },
        };
        let win_stop = |limit| if above { WinStop::Passed(Minor(limit)) } else { WinStop::Reached(Minor(limit)) };
        let limits = AutospinLimits { loss: loss.map(loss_stop), win: win.map(win_stop), on_jackpot, on_feature };
        let won = |round: &FinishedRound| round.win.0 + round.jackpot.unwrap_or_default().0;
        let ends = |played: usize| {
            let prefix = &rounds[..played];
            let last = &prefix[played - 1];
            let balance: i64 = prefix.iter().map(|round| won(round) - round.bet.0).sum();
            (on_jackpot && last.jackpot.is_some())
                || win.is_some_and(|limit| won(last) > limit || !above && won(last) == limit)
                || loss.is_some_and(|limit| match how {
                    0 => limit + balance < 0,
                    1 => -balance >= limit,
                    _ => -balance + 50 > limit,
                })
                || (on_feature && last.feature)
                || played == spins as usize
        };
        let expected = (1..=rounds.len()).find(|played| ends(*played));
        let (played, stop, autospin) = play(spins, limits, &rounds);
        prop_assert_eq!(stop.is_some(), expected.is_some());
        prop_assert_eq!(played, expected.unwrap_or(rounds.len()));
        prop_assert_eq!(autospin.spins_left() as usize, spins as usize - played);
        prop_assert_eq!(autospin.bets().0, rounds[..played].iter().map(|round| round.bet.0).sum::<i64>());
        prop_assert_eq!(autospin.wins().0, rounds[..played].iter().map(won).sum::<i64>());
    }
}
