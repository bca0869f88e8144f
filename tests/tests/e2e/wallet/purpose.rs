use super::{
    DEBIT_MS, bet_within, cancelled,
    facts::once,
    json, rounds,
    scripted::{Arrived, Fault, Wallet, WalletRequest},
    until,
    world::World,
};
use motherlode_proto::{
    ledger::v1::{GetAccountRequest, RetryWalletCallsRequest, VoidRoundRequest},
    report::v1::{ListSignificantEventsRequest, SignificantKind},
    round::v1::Account,
    spin::v1::{GrantCampaignRequest, OpenSessionRequest, SpinRequest},
    wallet::v1::{CreditKind, DebitKind, ReasonCode, RollbackReason, RoundEnd},
};
use motherlode_slots::latest;
use motherlode_state::{Event, StreamId};
use motherlode_tests::{Client, Force, bet, campaign, commits, free_round, next_choice, reason, vials};
use std::sync::atomic::Ordering;
use tonic_types::StatusExt;

const OPENING: &str = "open_free_rounds = true";

async fn receiving(setting: &str) -> [World; 2] {
    let (grpc, in_json) = (Wallet::default(), Wallet::default());
    let (address, _) = grpc.serve().await;
    let grpc = World::with(grpc, &format!("url = \"http://{address}\", {setting}")).await;
    let url = format!("http://{}", json::serve(&in_json, None).await);
    let in_json = World::with(in_json, &format!("{}, {setting}", json::settings(&url))).await;
    [grpc, in_json]
}

fn arrived(world: &World) -> Vec<Arrived> {
    once(&world.wallet.books().arrived)
}

fn ids(world: &World) -> Vec<String> {
    arrived(world).into_iter().map(|call| call.id).collect()
}

async fn retry(client: &mut Client, account: &Account) -> Vec<String> {
    let request = RetryWalletCallsRequest { account: Some(account.clone()), actor: "ticket 7".into() };
    client.ledger.retry_wallet_calls(request).await.unwrap().into_inner().transaction_ids
}

async fn void(client: &mut Client, request_id: &str, round_id: &str) {
    let (reason, actor) = ("a fault".into(), "support".into());
    let void = VoidRoundRequest { request_id: request_id.into(), round_id: round_id.into(), reason, actor };
    client.ledger.void_round(void).await.unwrap();
}

async fn won(client: &mut Client, id: &str, account: &Account) -> i64 {
    let mut last = client.spin(bet(id, account, "0.10"), Some(Force::Open)).await.unwrap();
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("{id}.{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    last.win.unwrap().amount_minor
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_lost_round_is_reported_as_ended_and_a_won_one_by_its_credit() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        client.spin(bet("lost", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
        world.settled(&["alice"]).await;
        assert_eq!(ids(&world), ["debit/acme/alice/lost", "close/acme/alice/1/lost"]);
        let calls = arrived(&world);
        let WalletRequest::Debit(debit) = &calls[0].call else { panic!("{calls:?}") };
        assert_eq!(debit.kind(), DebitKind::Bet);
        let round = calls[1].round();
        assert_eq!((&*round.round_id, round.end(), round.step), ("acme/alice/1", RoundEnd::Played, 1));
        assert_eq!(round.round_uuid, calls[0].round().round_uuid, "the debit already names the round's UUID");
        assert_eq!(round.win_total.as_ref().unwrap().amount_minor, 0);
        assert!(round.jackpot_contribution.is_none() || round.game == "bewitched");
        let win = won(&mut client, "won", &alice).await;
        world.settled(&["alice"]).await;
        let last = arrived(&world).pop().unwrap();
        assert!(win > 0 && matches!(last.call, WalletRequest::Credit(_)), "{last:?}");
        assert_eq!((last.round().closed, last.round().end()), (true, RoundEnd::Played));
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_voids_jackpots_and_closed_rounds_have_their_own_forms() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000_000).await;
    let lost = client.spin(bet("lost", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
    void(&mut client, "void-lost", &lost.round_id).await;
    let open = client.spin(bet("unsettled", &alice, "0.10"), Some(Force::Open)).await.unwrap();
    void(&mut client, "void-open", &open.round_id).await;
    let mut last = client.spin(bet("won", &alice, "0.10"), Some(Force::Open)).await.unwrap();
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("won.{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    let (staked, win) = (last.bet.as_ref().unwrap().amount_minor, last.win.as_ref().unwrap().amount_minor);
    void(&mut client, "void-won", &last.round_id).await;
    world.settled(&["alice"]).await;
    let by_void = |id: &str| arrived(&world).into_iter().find(|call| call.id.ends_with(id)).unwrap();
    for id in ["void-lost", "void-open"] {
        let WalletRequest::Credit(credit) = by_void(id).call else { panic!("{id}") };
        assert_eq!((credit.kind(), credit.round.unwrap().end()), (CreditKind::Refund, RoundEnd::Voided));
    }
    let of_won = by_void("void-won");
    let back = match &of_won.call {
        WalletRequest::Debit(debit) if debit.kind() == DebitKind::Reversal => {
            debit.amount.as_ref().unwrap().amount_minor
        }
        call => panic!("{call:?}"),
    };
    assert_eq!(back, win - staked, "with the refund, the whole win is taken back");
    assert_eq!((of_won.round().closed, of_won.round().win_kept.is_none()), (true, true));
    let mut request = bet("hit", &alice, "0.20");
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    let mut last = client.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("hit.{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    let paid =
        |call: &Arrived| matches!(&call.call, WalletRequest::Credit(credit) if credit.kind() == CreditKind::Jackpot);
    until(|| world.wallet.books().arrived.iter().any(paid), "the jackpot is credited").await;
    world.settled(&["alice"]).await;
    let jackpot = arrived(&world).into_iter().find(paid).unwrap();
    let WalletRequest::Credit(credit) = &jackpot.call else { panic!("{jackpot:?}") };
    let award = credit.jackpot.as_ref().unwrap();
    assert_eq!(award.pool_id, "bewitched");
    assert!(credit.transaction_id.ends_with(&format!("award/{}", award.award_id)), "{credit:?}");
    assert_eq!((jackpot.round().round_id.as_str(), jackpot.round().closed), (last.round_id.as_str(), false));
    assert!(jackpot.round().jackpot_contribution.is_some());
    world.reconciled(&["alice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_refused_reversal_is_held_alarmed_and_repeated_and_takes_the_win_back_once() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let mut last = client.spin(bet("won", &alice, "0.10"), Some(Force::Open)).await.unwrap();
        while let Some(kind) = next_choice(&last) {
            last = client.choose(&format!("won.{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
        world.settled(&["alice"]).await;
        let (staked, win) = (last.bet.as_ref().unwrap().amount_minor, last.win.as_ref().unwrap().amount_minor);
        assert!(win > staked, "{win}");
        world.wallet.fund("alice", win - staked - 1);
        void(&mut client, "void", &last.round_id).await;
        let stream = StreamId::player("acme", "alice");
        let held = || {
            let player = world.server.ledgers().for_stream(&stream).unwrap().player(&stream).unwrap().unwrap();
            player.wallet().unwrap().dues.iter().any(|due| due.held)
        };
        until(held, "the wallet has not enough money for the reversal").await;
        assert_eq!(world.wallet.balance("alice"), win - staked - 1);
        let mut platform = world.client("platform").await;
        let kinds = vec![i32::from(SignificantKind::WalletCallHeld)];
        let request = ListSignificantEventsRequest { kinds, ..Default::default() };
        while platform.report.list_significant_events(request.clone()).await.unwrap().into_inner().events.is_empty() {
            tokio::task::yield_now().await;
        }
        world.wallet.fund("alice", win);
        world.wallet.script(&[Fault::LostAnswer, Fault::Doubled]);
        assert_eq!(retry(&mut client, &alice).await, ["reversal/acme/alice/EUR/void"]);
        world.settled(&["alice"]).await;
        assert_eq!(world.wallet.balance("alice"), staked, "the player keeps as much of the win as the refund");
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_the_operators_session_is_stated_in_each_call_of_its_rounds() {
    for world in receiving(OPENING).await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let open = OpenSessionRequest {
            request_id: "s".into(),
            account: Some(alice.clone()),
            game: "bewitched".into(),
            operator_session: "op/session 1".into(),
            ..Default::default()
        };
        let session_id = client.spin.open_session(open).await.unwrap().into_inner().session_id;
        let within = |id: &str| SpinRequest { session_id: session_id.clone(), ..bet(id, &alice, "0.10") };
        client.spin(within("of-session"), Some(Force::Loss)).await.unwrap();
        world.settled(&["alice"]).await;
        let own = SpinRequest { operator_session: "own".into(), ..within("own") };
        client.spin(own.clone(), Some(Force::Loss)).await.unwrap();
        let other = SpinRequest { operator_session: "other".into(), ..own };
        client.spin(other, None).await.unwrap();
        let long = SpinRequest { operator_session: "x".repeat(256), ..within("long") };
        assert_eq!(reason(&client.spin(long, None).await.unwrap_err()), "INVALID_FIELD");
        world.settled(&["alice"]).await;
        let session = |call: &Arrived| (call.id.clone(), call.context().operator_session.clone());
        let told: Vec<_> = arrived(&world).iter().map(session).collect();
        let stated = |id: &str, session: &str| (id.to_owned(), session.to_owned());
        assert_eq!(
            told,
            [
                stated("debit/acme/alice/of-session", "op/session 1"),
                stated("close/acme/alice/1/of-session", "op/session 1"),
                stated("debit/acme/alice/own", "own"),
                stated("close/acme/alice/2/own", "own"),
            ]
        );
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_free_round_is_opened_at_a_wallet_that_receives_that() {
    let neptune = latest("neptune").unwrap();
    for (setting, opens) in [(OPENING, true), ("close_rounds = true", false)] {
        for world in receiving(setting).await {
            let mut client = world.client("acme").await;
            let alice = world.player(&mut client, "alice", 1_000).await;
            let granted: GrantCampaignRequest = campaign(neptune, "spring", &alice, 5);
            client.spin.grant_campaign(granted).await.unwrap();
            let request = |id: &str| SpinRequest {
                operator_session: "op-1".into(),
                offer_double: false,
                ..free_round(neptune, id, &alice, "spring")
            };
            let mut played = client.spin(request("f1"), Some(Force::Loss)).await;
            if played.is_err() {
                played = client.spin(request("f1"), None).await;
            }
            let mut last = played.unwrap();
            while let Some(kind) = next_choice(&last) {
                last = client.choose(&format!("f1.{}", last.step), &last.round_id, kind, None).await.unwrap();
            }
            world.settled(&["alice"]).await;
            let calls = arrived(&world);
            let opened: Vec<_> = calls.iter().filter(|call| call.id == "open/acme/alice/f1").collect();
            assert_eq!(opened.len(), usize::from(opens), "{calls:?}");
            if let Some(WalletRequest::Open(open)) = opened.first().map(|call| &call.call) {
                assert_eq!(open.stake.as_ref().unwrap().amount_minor, last.bet.as_ref().unwrap().amount_minor);
            }
            for call in &calls {
                assert_eq!((&*call.context().operator_session, &*call.round().campaign_id), ("op-1", "spring"));
                assert_eq!(call.round().opening_transaction_id, "open/acme/alice/f1");
            }
            assert_eq!(calls.iter().filter(|call| call.round().closed).count(), 1, "{calls:?}");
            if opens {
                world.wallet.books().declines = Some(ReasonCode::SessionInvalid);
                let status = client.spin(request("f2"), None).await.unwrap_err();
                assert_eq!(reason(&status), "WALLET_REFUSED");
                let details = status.get_error_details();
                let metadata = &details.error_info().unwrap().metadata;
                assert_eq!(metadata["wallet_reason_code"], "SESSION_INVALID");
                assert_eq!(rounds(&mut client, &alice).await, 1);
                world.wallet.books().declines = None;
                world.wallet.always(Fault::LostAnswer);
                bet_within(&mut client, request("f3"), 400).await.unwrap_err();
                world.wallet.script(&[]);
                world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
                world.settled(&["alice"]).await;
                let calls = arrived(&world);
                let rollback =
                    calls.iter().find(|call| call.id == "rollback/acme/alice/f3").expect("the debit is rolled back");
                let WalletRequest::Rollback(rollback) = &rollback.call else { panic!("{rollback:?}") };
                assert_eq!(rollback.transaction_id, "open/acme/alice/f3");
                assert_eq!(rollback.amount.as_ref().unwrap().amount_minor, 0);
            }
            world.reconciled(&["alice"]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_rollback_has_its_own_id_and_names_what_it_undoes_and_why() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        world.wallet.always(Fault::LostAnswer);
        bet_within(&mut client, bet("late", &alice, "0.10"), 400).await.unwrap_err();
        world.wallet.script(&[]);
        world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
        world.settled(&["alice"]).await;
        world.wallet.always(Fault::LostAnswer);
        bet_within(&mut client, bet("cancelled", &alice, "0.10"), 400).await.unwrap_err();
        cancelled(&mut client, &alice, "cancelled").await;
        world.wallet.script(&[]);
        world.settled(&["alice"]).await;
        let calls = arrived(&world);
        for (bet, why) in [("late", RollbackReason::Timeout), ("cancelled", RollbackReason::CancelledByCaller)] {
            let id = format!("rollback/acme/alice/{bet}");
            let of = calls.iter().find(|call| call.id == id).expect("the debit is rolled back");
            let WalletRequest::Rollback(rollback) = &of.call else { panic!("{of:?}") };
            assert_eq!((rollback.transaction_id.clone(), rollback.reason()), (format!("debit/acme/alice/{bet}"), why));
            let debit = calls.iter().find(|call| call.id == rollback.transaction_id).unwrap();
            assert_eq!(rollback.rolled_back_uuid, debit.context().transaction_uuid);
            assert_ne!(of.context().transaction_uuid, debit.context().transaction_uuid);
            assert_eq!(of.round(), debit.round(), "the rollback names the round that was not played");
        }
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_refused_credit_is_held_and_repeated_when_the_operator_asks() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        world.wallet.books().refuses.insert("alice".into(), ReasonCode::PlayerBlocked);
        let first = won(&mut client, "r1", &alice).await;
        let stream = StreamId::player("acme", "alice");
        let held = || {
            let player = world.server.ledgers().for_stream(&stream).unwrap().player(&stream).unwrap().unwrap();
            let dues = &player.wallet().unwrap().dues;
            dues.iter().map(|due| due.held).collect::<Vec<_>>()
        };
        until(|| held() == [true], "the credit is held").await;
        let calls = world.wallet.books().arrived.len();
        world.wallet.books().refuses.clear();
        let second = won(&mut client, "r2", &alice).await;
        until(|| held() == [true], "the second credit is paid and the first is still held").await;
        let of_first = |call: &&Arrived| call.id.ends_with("r1") || call.id.contains("/r1.");
        let again = world.wallet.books().arrived[calls..].iter().filter(of_first).count();
        assert_eq!(again, 0, "a held credit is not repeated");
        let mut platform = world.client("platform").await;
        let kinds = vec![i32::from(SignificantKind::WalletCallHeld)];
        let request = ListSignificantEventsRequest { kinds, ..Default::default() };
        let alarm = async {
            loop {
                let listed = platform.report.list_significant_events(request.clone()).await.unwrap().into_inner();
                if let [event] = listed.events.as_slice() {
                    return event.clone();
                }
                tokio::task::yield_now().await;
            }
        };
        assert_eq!(alarm.await.reason, "PLAYER_BLOCKED");
        let released = retry(&mut client, &alice).await;
        assert_eq!(released.len(), 1);
        world.settled(&["alice"]).await;
        assert_eq!(retry(&mut client, &alice).await, [""; 0], "no call is held after the retry");
        let staked = 2 * 150;
        assert_eq!(world.wallet.balance("alice"), 1_000 - staked + first + second);
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_wallet_without_the_call_for_ends_of_rounds_keeps_its_bets() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        world.wallet.books().is_old = true;
        for id in ["r1", "r2", "r3"] {
            client.spin(bet(id, &alice, "0.10"), Some(Force::Loss)).await.unwrap();
        }
        let win = won(&mut client, "r4", &alice).await;
        until(|| world.wallet.balance("alice") == 1_000 - 4 * 150 + win, "the win is credited").await;
        let waits = || {
            let stream = StreamId::player("acme", "alice");
            let player = world.server.ledgers().for_stream(&stream).unwrap().player(&stream).unwrap().unwrap();
            player.wallet().unwrap().dues.iter().filter(|due| due.held).count()
        };
        until(|| waits() == 3, "the reports are held").await;
        world.wallet.books().is_old = false;
        assert_eq!(retry(&mut client, &alice).await.len(), 3);
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_wallet_that_leaves_close_round_unanswered_delays_no_credit_and_no_bet() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        world.wallet.books().closes_hang = true;
        let names = ["a", "b", "c", "d", "e", "f"];
        for name in names {
            let account = world.player(&mut client, name, 1_000).await;
            let lost = client.spin(bet("lost", &account, "0.10"), Some(Force::Loss)).await.unwrap();
            let win = won(&mut client, "won", &account).await;
            until(|| world.wallet.balance(name) == 1_000 - 300 + win, "the win is credited").await;
            void(&mut client, "void", &lost.round_id).await;
            let more = won(&mut client, "more", &account).await;
            until(|| world.wallet.balance(name) == 1_000 - 450 + win + more, "the next win is credited").await;
            assert_eq!(
                world.wallet.end(&format!("credit/acme/{name}/EUR/void")),
                None,
                "the refund waits for the report of its round's end"
            );
        }
        world.wallet.books().closes_hang = false;
        world.settled(&names).await;
        for name in names {
            let order = world.wallet.books().order.clone();
            let place = |id: &str| order.iter().position(|of| of == id).unwrap();
            let (close, refund) = (format!("close/acme/{name}/1/lost"), format!("credit/acme/{name}/EUR/void"));
            assert!(place(&close) < place(&refund), "calls of one round arrived out of order: {order:?}");
        }
        world.reconciled(&names).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_wallet_without_close_rounds_is_sent_no_reports() {
    for world in receiving("close_rounds = false").await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        client.spin(bet("r1", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
        world.settled(&["alice"]).await;
        assert_eq!(ids(&world), ["debit/acme/alice/r1"]);
        world.server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_repeat_after_a_restart_has_the_same_content() {
    let mut world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    client.spin(bet("r0", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
    world.settled(&["alice"]).await;
    world.wallet.always(Fault::LostAnswer);
    let mut betting = client.clone();
    bet_within(&mut betting, bet("r1", &alice, "0.10"), 400).await.unwrap_err();
    drop((client, betting));
    world = world.restart().await;
    let before = world.wallet.books().arrived.len();
    world.wallet.script(&[]);
    let mut client = world.client("acme").await;
    let win = won(&mut client, "r1", &alice).await;
    world.settled(&["alice"]).await;
    let repeats = world.wallet.books().arrived[before..].iter().filter(|call| call.id == "debit/acme/alice/r1").count();
    assert!(repeats > 0 && win >= 0, "the debit is repeated by the new process");
    world.reconciled(&["alice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_wallet_may_report_no_balance_and_its_own_id_is_logged() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        world.wallet.books().is_silent = true;
        let played = client.spin(bet("r1", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
        assert_eq!(played.balance, None, "an unknown balance is not shown as zero");
        let again = client.spin(bet("r1", &alice, "0.10"), None).await.unwrap();
        assert_eq!(again, played, "a repeated request gets the same answer");
        let stream = StreamId::player("acme", "alice");
        let all: Vec<_> = commits(world.server.ledgers().for_stream(&stream).unwrap(), 1).collect();
        let answer = all.iter().flat_map(|logged| &logged.commit.events).find_map(|event| match event {
            Event::DebitConfirmed { answer, .. } => answer.clone(),
            _ => None,
        });
        let answer = answer.expect("the log has the wallet's answer");
        assert_eq!((answer.transaction_id.as_str(), answer.bonus.0, answer.balance_unknown), ("w-1", 3, true));
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_an_account_shows_the_newest_balance_that_its_wallet_reported() {
    let mut world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    let request = GetAccountRequest { account: Some(alice.clone()) };
    assert_eq!(client.ledger.get_account(request.clone()).await.unwrap().into_inner().reported_balance, None);
    let played = client.spin(bet("lost", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
    let lost = client.ledger.get_account(request.clone()).await.unwrap().into_inner().reported_balance.unwrap();
    assert_eq!((&lost.balance, lost.position), (&played.balance, played.position));
    let win = won(&mut client, "won", &alice).await;
    world.settled(&["alice"]).await;
    let credited = client.ledger.get_account(request.clone()).await.unwrap().into_inner().reported_balance.unwrap();
    assert_eq!(credited.balance.as_ref().unwrap().amount_minor, 1_000 - 300 + win);
    assert!(credited.position > lost.position && credited.time.is_some());
    world.wallet.books().is_silent = true;
    client.spin(bet("silent", &alice, "0.10"), Some(Force::Loss)).await.unwrap();
    world.settled(&["alice"]).await;
    drop(client);
    world = world.restart().await;
    let mut client = world.client("acme").await;
    let kept = client.ledger.get_account(request).await.unwrap().into_inner().reported_balance.unwrap();
    assert_eq!((kept.balance, kept.position), (credited.balance, credited.position), "no later balance was reported");
    let again = client.spin(bet("lost", &alice, "0.10"), None).await.unwrap();
    assert_eq!(again.balance, played.balance, "a repeated request gets the balance reported with its debit");
    world.reconciled(&["alice"]).await;
}
