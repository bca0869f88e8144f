//! The conformance kit must find each fault that is planted in a wallet, and must find no fault in a correct wallet.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod planted;

use motherlode_runtime::config::{Seamless, WalletProtocol};
use motherlode_wallet::check::{Options, Players, Report, Verdict, check, names};
use planted::{Plant, Wallet};

const PLANTS: [(Plant, &str); 12] = [
    (Plant::AppliesRepeats, "repeat_same_answer"),
    (Plant::IgnoresAmount, "repeat_other_amount_refused"),
    (Plant::IdsPerPlayer, "repeat_other_player_refused"),
    (Plant::Races, "ten_concurrent_repeats_one_effect"),
    (Plant::Overdraws, "insufficient_funds_refused"),
    (Plant::Rounds, "largest_amount"),
    (Plant::RestoresTwice, "repeat_one_effect"),
    (Plant::NoTombstone, "late_debit_after_tombstone_refused"),
    (Plant::RefusesRollback, "of_unknown_debit_accepted"),
    (Plant::NoJackpotAfterClose, "jackpot_after_close"),
    (Plant::StoresRefusedReversal, "reversal_beyond_balance"),
    (Plant::NoCloseRound, "close_lost_round"),
];

async fn played(plant: Option<Plant>, cases: &[&str]) -> Report {
    let wallet = Wallet::new(plant);
    for player in ["p", "q"] {
        wallet.give(player, 7);
    }
    let address = wallet.serve().await;
    let players = Players {
        operator: "acme".into(),
        currency: "EUR".into(),
        game: "game".into(),
        player: "p".into(),
        other_player: "q".into(),
        blocked_player: None,
        limited_player: None,
        limit_minor: 0,
        session: "s".into(),
        expired_session: None,
        currencies: Default::default(),
    };
    let settings = Seamless::new(&format!("http://{address}"), WalletProtocol::Grpc);
    let options = Options { cases: cases.iter().map(|&name| name.into()).collect(), ..Options::default() };
    check(&settings, players, options, |_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_wallet_without_faults_passes_and_ends_with_its_first_balance() {
    let report = played(None, &[]).await;
    assert_eq!(report.failed().count(), 0, "{report}");
    let numbers: Vec<_> = report.cases.iter().map(|case| case.number).collect();
    assert_eq!(numbers, (1..=54).collect::<Vec<_>>());
    let skipped = report.cases.iter().filter(|case| matches!(case.verdict, Verdict::Skipped(_)));
    let skipped: Vec<_> = skipped.map(|case| case.number).collect();
    assert_eq!(
        skipped,
        [12, 13, 14, 16, 24, 32, 33, 47, 49, 50, 51],
        "cases whose players or settings are missing must be skipped"
    );
    let text = report.to_string();
    assert!(text.contains("expected DONE") && text.ends_with("54 cases: 43 passed, 0 failed, 11 skipped\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_each_fault_that_is_planted_in_a_wallet_is_found_by_its_case() {
    for (plant, case) in PLANTS {
        assert!(names().any(|name| name == case), "{case}");
        let report = played(Some(plant), &[]).await;
        assert!(report.failed().any(|name| name == case), "{plant:?}: {report}");
        let alone = played(Some(plant), &[case]).await;
        assert_eq!(alone.failed().collect::<Vec<_>>(), [case], "{alone}");
    }
}
