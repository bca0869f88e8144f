mod attacks;
mod balances;
mod facts;
mod json;
mod lies;
mod metrics;
mod purpose;
mod reloads;
mod restored;
mod roots;
mod run;
mod schedules;
mod scripted;
mod stakes;
mod world;

use motherlode_proto::{
    ledger::v1::{
        CancelRequestRequest, DepositRequest, ErasePersonRequest, GetRequestRequest, IssuePlayerIdRequest,
        ListRoundsRequest, RequestOutcome, VoidRoundRequest, WithdrawRequest, request_outcome::State,
    },
    report::v1::{ListSignificantEventsRequest, SignificantKind},
    round::v1::Account,
    spin::v1::{PlayStreamRequest, SpinRequest, play_stream_request::Call, play_stream_response::Answer},
};
use motherlode_tests::{Client, Force, audited, bet, next_choice, reason, vials};
use scripted::{End, Fault};
use std::{path::Path, sync::atomic::Ordering, time::Duration};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;
use world::{World, until};

const DEBIT_MS: i64 = 15_000;

async fn bet_within(client: &mut Client, request: SpinRequest, ms: u64) -> Result<u32, Status> {
    let mut more = 0..10;
    loop {
        let mut request = Request::new(request.clone());
        request.set_timeout(Duration::from_millis(ms));
        match client.spin.spin(request).await {
            Err(status) if reason(&status).is_empty() && more.next().is_some() => {}
            answered => return Ok(answered?.into_inner().played.unwrap().step),
        }
    }
}

async fn looked_up(client: &mut Client, account: &Account, request_id: &str) -> RequestOutcome {
    let request =
        GetRequestRequest { account: Some(account.clone()), request_id: request_id.into(), ..Default::default() };
    client.ledger.get_request(request).await.unwrap().into_inner().outcome.unwrap()
}

async fn rounds(client: &mut Client, account: &Account) -> usize {
    let request = ListRoundsRequest { account: Some(account.clone()), page_size: 100, ..Default::default() };
    client.ledger.list_rounds(request).await.unwrap().into_inner().rounds.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_each_bet_is_debited_and_each_win_credited_by_the_operators_wallet() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 100_000).await;
        let (mut staked, mut won) = (0, 0);
        for number in 0..20 {
            let force = if number % 3 == 0 { Some(Force::Open) } else { None };
            let mut last = client.spin(bet(&format!("r{number}"), &alice, "0.10"), force).await.unwrap();
            staked += last.bet.as_ref().unwrap().amount_minor;
            let told = last.balance.as_ref().unwrap().amount_minor;
            assert!(told <= 100_000 - staked + won, "the answer has the wallet's balance without the credits due");
            while let Some(kind) = next_choice(&last) {
                let request = format!("r{number}.{}", last.step);
                last = client.choose(&request, &last.round_id, kind, None).await.unwrap();
            }
            won += last.win.as_ref().unwrap().amount_minor;
        }
        assert!(won > 0, "at least one round wins");
        let calls = (0..20_u64).map(|tag| PlayStreamRequest {
            tag,
            call: Some(Call::Spin(SpinRequest { offer_double: false, ..bet(&format!("s{tag}"), &alice, "0.10") })),
        });
        for call in calls {
            let answers =
                client.spin.play_stream(tokio_stream::iter([call])).await.unwrap().into_inner().message().await;
            match answers.unwrap().unwrap().answer.unwrap() {
                Answer::Played(mut last) => {
                    staked += last.bet.as_ref().unwrap().amount_minor;
                    while let Some(kind) = next_choice(&last) {
                        let request = format!("{}.{}", last.round_id.replace('/', "-"), last.step);
                        *last = client.choose(&request, &last.round_id, kind, None).await.unwrap();
                    }
                    won += last.win.as_ref().unwrap().amount_minor;
                }
                Answer::Error(status) => panic!("{status:?}"),
            }
        }
        world.settled(&["alice"]).await;
        assert_eq!(world.wallet.balance("alice"), 100_000 - staked + won);
        assert_eq!(client.balance(&alice).await, 0, "the service holds none of the player's money");
        for (request, refused) in [
            (
                "in",
                client
                    .ledger
                    .deposit(DepositRequest { request_id: "in".into(), account: Some(alice.clone()), amount_minor: 5 })
                    .await
                    .map(drop),
            ),
            (
                "out",
                client
                    .ledger
                    .withdraw(WithdrawRequest {
                        request_id: "out".into(),
                        account: Some(alice.clone()),
                        amount_minor: 5,
                    })
                    .await
                    .map(drop),
            ),
        ] {
            assert_eq!(reason(&refused.unwrap_err()), "SEAMLESS_WALLET", "{request}");
        }
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_bet_that_the_wallet_refuses_is_never_played_and_says_the_operators_reason() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 100).await;
        for _ in 0..2 {
            let status = client.spin(bet("poor", &alice, "0.10"), None).await.unwrap_err();
            assert_eq!((status.code(), reason(&status).as_str()), (Code::FailedPrecondition, "INSUFFICIENT_FUNDS"));
            let details = status.get_error_details();
            let metadata = &details.error_info().unwrap().metadata;
            assert_eq!(metadata["minimum_bet_minor"], "1", "BW-29: the minimum bet is one line with one coin of 0.01");
            assert_eq!((&*metadata["wallet_reason"], &*metadata["currency_code"]), ("INSUFFICIENT_FUNDS", "EUR"));
            world.wallet.fund("alice", 100_000);
        }
        let refused = looked_up(&mut client, &alice, "poor").await;
        assert_eq!((refused.state(), refused.reason.as_str()), (State::Refused, "INSUFFICIENT_FUNDS"));
        let other = client.spin(bet("poor", &alice, "0.20"), None).await.unwrap_err();
        assert_eq!(reason(&other), "REQUEST_ID_REUSED");
        assert_eq!(rounds(&mut client, &alice).await, 0);
        client.play_out(bet("rich", &alice, "0.10")).await.unwrap();
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_what_a_bet_is_refused_for_is_found_before_the_wallet_is_asked() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 100_000).await;
    let seal = vec![1; 32];
    for (request, refused) in [
        (SpinRequest { seal, ..bet("sealed", &alice, "0.10") }, "SEAL_CHANGED"),
        (bet("odd", &alice, "0.13"), "INVALID_STAKE"),
        (SpinRequest { witch: 0, ..bet("witch", &alice, "0.10") }, "WITCH_NOT_PICKED"),
    ] {
        assert_eq!(reason(&client.spin(request, None).await.unwrap_err()), refused);
    }
    assert_eq!(world.wallet.books().calls, 0);
    client.play_out(bet("good", &alice, "0.10")).await.unwrap();
    world.reconciled(&["alice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_lost_doubled_and_unsure_answers_have_one_effect() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let faults = [Fault::LostCall, Fault::LostAnswer, Fault::Doubled, Fault::Unsure, Fault::Hangs, Fault::Lies(-1)];
        for (number, fault) in faults.into_iter().enumerate() {
            let name = format!("p{number}");
            let account = world.player(&mut client, &name, 1_000).await;
            world.wallet.script(&[fault]);
            let last = client.spin(bet("r", &account, "0.10"), Some(Force::Open)).await.unwrap();
            assert_eq!(world.wallet.end(&format!("debit/acme/{name}/r")), Some(End::Applied), "{fault:?}");
            let mut last = last;
            world.wallet.script(&[fault, fault]);
            while let Some(kind) = next_choice(&last) {
                last = client.choose(&format!("c{}", last.step), &last.round_id, kind, None).await.unwrap();
            }
            world.settled(&[&name]).await;
            let (staked, won) = (last.bet.unwrap().amount_minor, last.win.unwrap().amount_minor);
            assert_eq!(world.wallet.balance(&name), 1_000 - staked + won, "{fault:?}");
            world.wallet.script(&[]);
        }
        world.reconciled(&["p0", "p1", "p2", "p3", "p4", "p5"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_bet_without_an_answer_draws_nothing_and_is_found_out_by_asking_again() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        for (request, fault) in [("hangs", Fault::Hangs), ("answer", Fault::LostAnswer), ("call", Fault::LostCall)] {
            world.wallet.always(fault);
            let status = bet_within(&mut client, bet(request, &alice, "0.10"), 500).await.unwrap_err();
            assert_eq!((status.code(), reason(&status).as_str()), (Code::Unavailable, "OUTCOME_UNKNOWN"), "{request}");
            let before = rounds(&mut client, &alice).await;
            let pending = looked_up(&mut client, &alice, request).await;
            assert_eq!((pending.state(), pending.round), (State::Pending, None));
            let other = client.spin(bet("meanwhile", &alice, "0.10"), None).await.unwrap_err();
            assert_eq!(reason(&other), "DEBIT_OPEN");
            assert_eq!(rounds(&mut client, &alice).await, before, "no outcome exists before the debit is confirmed");
            world.wallet.script(&[]);
            let mut played = bet_within(&mut client, bet(request, &alice, "0.10"), 5_000).await;
            while played.as_ref().is_err_and(|status| status.code() == Code::Unavailable) {
                played = bet_within(&mut client, bet(request, &alice, "0.10"), 5_000).await;
            }
            assert_eq!(played.unwrap(), 1);
            assert_eq!(looked_up(&mut client, &alice, request).await.state(), State::Applied);
            client.play_out(bet(request, &alice, "0.10")).await.unwrap();
        }
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_person_with_a_pending_wallet_call_is_not_erased() {
    let world = World::in_folder(1).await;
    let mut client = world.client("acme").await;
    let [operator_id, reference] = ["acme", "anna"].map(str::to_owned);
    let issue = IssuePlayerIdRequest { operator_id: operator_id.clone(), reference: reference.clone() };
    let player = client.ledger.issue_player_id(issue).await.unwrap().into_inner().player_id;
    let erase = ErasePersonRequest { operator_id, reference, player_id: String::new() };
    let account = world.player(&mut client, &player, 1_000).await;
    world.wallet.always(Fault::Hangs);
    bet_within(&mut client, bet("r", &account, "0.10"), 500).await.unwrap_err();
    let refused = client.ledger.erase_person(erase.clone()).await.unwrap_err();
    let details = refused.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!((&*info.reason, &*info.metadata["open"]), ("PERSON_IN_PLAY", "a pending wallet call"));
    cancelled(&mut client, &account, "r").await;
    world.wallet.script(&[]);
    world.settled(&[&player]).await;
    assert!(client.ledger.erase_person(erase).await.unwrap().into_inner().erased);
    world.server.stop().await.unwrap();
}

async fn cancelled(client: &mut Client, account: &Account, request_id: &str) -> RequestOutcome {
    let cancel =
        CancelRequestRequest { account: Some(account.clone()), request_id: request_id.into(), ..Default::default() };
    client.ledger.cancel_request(cancel).await.unwrap().into_inner().outcome.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c2_a_cancelled_bet_is_rolled_back_and_not_played_when_the_wallet_is_back() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        for (request, fault) in [("hangs", Fault::Hangs), ("answer", Fault::LostAnswer), ("call", Fault::LostCall)] {
            world.wallet.always(fault);
            bet_within(&mut client, bet(request, &alice, "0.10"), 500).await.unwrap_err();
            assert_eq!(cancelled(&mut client, &alice, request).await.state(), State::Pending);
            assert_eq!(cancelled(&mut client, &alice, request).await.state(), State::Pending, "again");
            world.wallet.script(&[]);
            world.settled(&["alice"]).await;
            let outcome = looked_up(&mut client, &alice, request).await;
            assert_eq!((outcome.state(), outcome.reason.as_str()), (State::Cancelled, "DEBIT_ROLLED_BACK"));
            assert_eq!(cancelled(&mut client, &alice, request).await, outcome);
            let again = bet_within(&mut client, bet(request, &alice, "0.10"), 5_000).await.unwrap_err();
            assert_eq!(reason(&again), "DEBIT_ROLLED_BACK");
        }
        assert_eq!(rounds(&mut client, &alice).await, 0);
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c3_no_debit_is_called_after_its_rollback_is_logged() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let mut other = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        world.wallet.always(Fault::Unsure);
        let betting = bet_within(&mut client, bet("r", &alice, "0.10"), 9_000);
        let cancelling = async {
            until(|| world.wallet.books().calls > 1, "the debit is sent again").await;
            let answer = cancelled(&mut other, &alice, "r").await;
            world.wallet.script(&[]);
            world.settled(&["alice"]).await;
            (answer, world.wallet.books().calls)
        };
        let (played, (answer, calls)) = tokio::join!(betting, cancelling);
        assert_eq!(answer.state(), State::Pending);
        assert_eq!(reason(&played.unwrap_err()), "DEBIT_ROLLED_BACK", "the logged rollback decides the answer");
        assert_eq!(world.wallet.books().calls, calls, "no call after the rollback");
        assert_eq!(looked_up(&mut other, &alice, "r").await.state(), State::Cancelled);
        assert_eq!(rounds(&mut other, &alice).await, 0);
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_debit_whose_bet_does_not_come_in_time_is_rolled_back_until_that_is_acknowledged() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        for (name, fault) in [("taken", Fault::LostAnswer), ("lost", Fault::LostCall)] {
            let account = world.player(&mut client, name, 1_000).await;
            world.wallet.always(fault);
            bet_within(&mut client, bet("r", &account, "0.10"), 400).await.unwrap_err();
            world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
            let (calls, rollback) = (world.wallet.books().calls, format!("debit/acme/{name}/r"));
            until(|| world.wallet.books().calls > calls + 1, "the rollback is repeated").await;
            assert_eq!(looked_up(&mut client, &account, "r").await.state(), State::Pending);
            world.wallet.script(&[]);
            world.settled(&[name]).await;
            assert_eq!(world.wallet.end(&rollback), Some(End::RolledBack));
            assert_eq!(world.wallet.balance(name), 1_000);
            let refused = looked_up(&mut client, &account, "r").await;
            assert_eq!((refused.state(), refused.reason.as_str()), (State::Refused, "DEBIT_ROLLED_BACK"));
            let status = client.spin(bet("r", &account, "0.10"), None).await.unwrap_err();
            assert_eq!(reason(&status), "DEBIT_ROLLED_BACK");
            assert_eq!(rounds(&mut client, &account).await, 0);
            client.play_out(bet("next", &account, "0.10")).await.unwrap();
        }
        world.reconciled(&["taken", "lost"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_restart_takes_up_what_was_under_way() {
    for mut world in World::both().await {
        let mut client = world.client("acme").await;
        let debited = world.player(&mut client, "debited", 1_000).await;
        let winner = world.player(&mut client, "winner", 1_000).await;
        let mut last = client.spin(bet("r", &winner, "0.10"), Some(Force::Open)).await.unwrap();
        world.wallet.always(Fault::LostAnswer);
        while let Some(kind) = next_choice(&last) {
            last = client.choose(&format!("c{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
        bet_within(&mut client, bet("r", &debited, "0.10"), 400).await.unwrap_err();
        drop(client);
        world = world.restart().await;
        let mut client = world.client("acme").await;
        assert_eq!(looked_up(&mut client, &debited, "r").await.state(), State::Pending);
        world.wallet.script(&[]);
        world.settled(&["winner"]).await;
        let (staked, won) = (last.bet.unwrap().amount_minor, last.win.unwrap().amount_minor);
        assert_eq!(world.wallet.balance("winner"), 1_000 - staked + won);
        world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
        world.settled(&["debited"]).await;
        assert_eq!(world.wallet.balance("debited"), 1_000);
        world.reconciled(&["debited", "winner"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_refund_of_a_void_is_credited() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let lost = client.spin(bet("r", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
        assert!(world.wallet.balance("alice") < 1_000);
        let (why, actor) = ("a fault".into(), "support".into());
        let void = VoidRoundRequest { request_id: "void".into(), round_id: lost.round_id, reason: why, actor };
        client.ledger.void_round(void).await.unwrap();
        world.settled(&["alice"]).await;
        assert_eq!(world.wallet.balance("alice"), 1_000);
        assert_eq!(world.wallet.end("credit/acme/alice/EUR/void"), Some(End::Applied));
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_jackpot_is_credited_like_any_win() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000_000).await;
        let mut request = bet("r", &alice, "0.20");
        request.stake.as_mut().unwrap().coins_per_line = 10;
        let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
        let staked = spun.bet.unwrap().amount_minor;
        let mut last = client.choose("c1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
        let jackpot = last.jackpot.clone().and_then(|jackpot| jackpot.amount).expect("a jackpot").amount_minor;
        while let Some(kind) = next_choice(&last) {
            last = client.choose(&format!("c{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
        let award = |id: &&String| id.starts_with("credit/acme/alice/EUR/award/bewitched/");
        until(|| world.wallet.books().order.iter().any(|id| award(&id)), "the jackpot is credited").await;
        world.settled(&["alice"]).await;
        let won = last.win.unwrap().amount_minor;
        assert_eq!(world.wallet.balance("alice"), 1_000_000 - staked + won + jackpot);
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_wallet_that_hangs_holds_up_nobody_elses_bets() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let mut other = world.client("other").await;
    let bob = Account { operator_id: "other".into(), player_id: "bob".into(), currency_code: "EUR".into() };
    other.fund_account(&bob, 100_000).await;
    let mut hanging = vec![];
    world.wallet.always(Fault::Hangs);
    for number in 0..32 {
        let account = world.player(&mut client, &format!("p{number}"), 1_000).await;
        let mut client = client.clone();
        hanging.push(tokio::spawn(async move { bet_within(&mut client, bet("r", &account, "0.10"), 2_000).await }));
    }
    until(|| world.wallet.books().calls > 0, "bets wait for the wallet").await;
    let since = world.wallet.books().calls;
    for number in 0..50 {
        other.play_out(bet(&format!("r{number}"), &bob, "0.10")).await.unwrap();
    }
    assert!(since > 0);
    for bet in hanging {
        let status = bet.await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    }
    world.wallet.script(&[]);
    world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
    let names: Vec<_> = (0..32).map(|number| format!("p{number}")).collect();
    world.reconciled(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_32_what_is_under_way_for_too_long_is_a_significant_event() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    world.wallet.always(Fault::LostCall);
    bet_within(&mut client, bet("r", &alice, "0.10"), 400).await.unwrap_err();
    world.clock.fetch_add(60_000, Ordering::SeqCst);
    let mut platform = world.client("platform").await;
    let kinds = vec![i32::from(SignificantKind::WalletOverdue)];
    let overdue = async {
        loop {
            let request = ListSignificantEventsRequest { kinds: kinds.clone(), ..Default::default() };
            let events = platform.report.list_significant_events(request).await.unwrap().into_inner().events;
            if let [event] = events.as_slice() {
                return event.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let event = tokio::time::timeout(Duration::from_secs(20), overdue).await.expect("the overdue debit is reported");
    assert_eq!(event.subject, "wallet of acme");
    assert!(event.after.starts_with("1 players of partition"), "{}", event.after);
    world.wallet.script(&[]);
    world.reconciled(&["alice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_32_an_audit_lists_what_is_under_way() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    world.wallet.always(Fault::LostCall);
    bet_within(&mut client, bet("r", &alice, "0.10"), 400).await.unwrap_err();
    drop(client);
    let World { server, data, config, .. } = world;
    server.stop().await.unwrap();
    let partitions = usize::try_from(config.partitions).unwrap();
    let open: Vec<_> = under_way(data.path(), partitions);
    assert_eq!(open, ["debit/acme/alice/r"]);
}

fn under_way(data: &Path, partitions: usize) -> Vec<String> {
    audited(data, partitions).partitions.into_iter().flat_map(|report| report.under_way()).collect()
}
