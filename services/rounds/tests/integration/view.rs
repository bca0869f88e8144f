use motherlode_proto::convert::record::Logged;
use motherlode_rounds::Fold;
use motherlode_state::{
    CoinValue, Commit, Currency, Event, FxRate, LoggedTerms, Minor, RoundStarted, RoundTerms, StreamId,
};

fn forged(bet: i64, credited: i64, win: i64, refund: i64, taken_back: i64, after: i64) -> Logged {
    let started = RoundStarted {
        round: 1,
        game: "none".into(),
        rules_version: "1.0".into(),
        model_hash: [0; 32],
        currency: Currency::EUR,
        bet: Minor(bet),
        coin_value: CoinValue(1),
        stake: LoggedTerms::Terms(RoundTerms::default()),
        rate: FxRate::ONE,
        contribution: None,
        session: None,
        jurisdiction: "".into(),
        campaign: None,
    };
    let (reason, actor) = (String::new(), String::new());
    let events = vec![
        Event::RoundStarted(started.into()),
        Event::WinCredited { round: 1, amount: Minor(credited) },
        Event::RoundSettled { round: 1, win: Minor(win) },
        Event::RoundVoided {
            round: 1,
            reason,
            actor,
            refund: Minor(refund),
            win_taken_back: Minor(taken_back),
            jackpot: motherlode_state::VoidedJackpot::TakenBack,
            settled: None,
        },
    ];
    let commit = Commit {
        position: 1,
        partition: 0,
        stream: StreamId::player("acme", "alice"),
        version: 1,
        previous: 0,
        request_id: "a".into(),
        fingerprint: [0; 16],
        time_ms: 0,
        events,
    };
    Logged { commit, balances_after: vec![(Currency::EUR, Minor(after))], due_after: vec![], proposer: None }
}

#[test]
fn pl_05_the_balance_before_a_bet_is_told_whatever_amounts_a_log_holds() {
    let before = |logged: &Logged| {
        let mut fold = Fold::new(1);
        fold.add(logged).unwrap();
        fold.view().unwrap().balance_before
    };
    assert_eq!(before(&forged(100, 10, 30, 100, 20, 1_010)), Minor(1_000));
    let ends = [i64::MIN, 0, i64::MAX];
    for bet in ends {
        for credited in ends {
            for (win, refund) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
                for after in ends {
                    let moved = i128::from(win) + i128::from(refund) - i128::from(bet);
                    let exact = i128::from(after) - moved;
                    let told = before(&forged(bet, credited, win, refund, 0, after));
                    assert_eq!(i128::from(told.0), exact.clamp(i64::MIN.into(), i64::MAX.into()));
                }
            }
        }
    }
}
