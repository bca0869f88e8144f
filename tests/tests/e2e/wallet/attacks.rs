use super::{
    DEBIT_MS, World, bet_within, json, looked_up, rounds,
    scripted::{End, Fault, Wallet},
    until,
};
use motherlode_proto::{
    ledger::v1::{CancelRequestRequest, VoidRoundRequest, request_outcome::State},
    report::v1::{ListSignificantEventsRequest, SignificantKind},
    round::v1::{Account, RoundState},
    spin::v1::{AutospinRequest, Played, SpinRequest},
};
use motherlode_slots::latest;
use motherlode_state::{Account as Books, Currency};
use motherlode_tests::{Client, Force, bet, campaign, free_round, next_choice, operators::Certificates, reason};
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    sync::atomic::Ordering,
    thread,
};
use tonic::{Code, Status};

async fn played(client: &mut Client, request: SpinRequest, force: Force) -> Played {
    let id = request.request_id.clone();
    let mut last = client.spin(request, Some(force)).await.unwrap();
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("{id}.{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    last
}

fn net(last: &Played) -> i64 {
    last.win.as_ref().unwrap().amount_minor - last.bet.as_ref().unwrap().amount_minor
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_wallet_that_does_not_know_of_one_player_is_there_for_the_others() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let bob = world.player(&mut client, "bob", 1_000).await;
        world.wallet.books().of.insert("alice".into(), Fault::Unsure);
        let status = bet_within(&mut client, bet("r", &alice, "0.10"), 1_500).await.unwrap_err();
        assert_eq!(reason(&status), "OUTCOME_UNKNOWN");
        assert!(world.wallet.books().calls > 5, "a wallet that answers falsely is called again and again");
        client.play_out(bet("r", &bob, "0.10")).await.unwrap();
        world.wallet.script(&[]);
        client.play_out(bet("r", &alice, "0.10")).await.unwrap();
        world.reconciled(&["alice", "bob"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_wallet_that_hangs_is_left_alone_however_little_time_callers_bring() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let names = ["ann", "ben", "cid", "dan", "eve"];
        let mut players = vec![];
        for name in names {
            players.push(world.player(&mut client, name, 1_000).await);
        }
        world.wallet.always(Fault::Hangs);
        let mut asked = 0;
        for account in players.iter().cycle() {
            let refused = bet_within(&mut client, bet("r", account, "0.10"), 300).await.unwrap_err();
            if reason(&refused) == "WALLET_UNAVAILABLE" {
                break;
            }
            asked += 1;
            assert!(asked < 100, "the circuit of the failing wallet never opens");
        }
        world.wallet.script(&[]);
        world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
        world.reconciled(&names).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_player_whose_calls_have_no_answer_closes_the_wallet_to_no_other() {
    for fault in [Fault::LostCall, Fault::Hangs] {
        for world in World::both().await {
            let mut client = world.client("acme").await;
            let alice = world.player(&mut client, "alice", 1_000).await;
            let bob = world.player(&mut client, "bob", 1_000).await;
            world.wallet.books().of.insert("alice".into(), fault);
            let calls = world.wallet.books().calls;
            let mut asking = vec![];
            for _ in 0..10 {
                let (mut client, account) = (client.clone(), alice.clone());
                asking.push(tokio::spawn(
                    async move { bet_within(&mut client, bet("r", &account, "0.10"), 3_000).await },
                ));
            }
            until(|| world.wallet.books().calls > calls + 5, "the wallet is called again").await;
            assert!(world.wallet.books().hanging.1 < 5);
            for number in 0..5 {
                client.play_out(bet(&format!("r{number}"), &bob, "0.10")).await.unwrap();
            }
            for asked in asking {
                assert_eq!(reason(&asked.await.unwrap().unwrap_err()), "OUTCOME_UNKNOWN");
            }
            world.wallet.script(&[]);
            world.clock.fetch_add(DEBIT_MS, Ordering::SeqCst);
            world.reconciled(&["alice", "bob"]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_answers_that_are_too_long_or_empty_are_none_and_have_one_effect() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        for (name, fault) in [("huge", Fault::Huge), ("empty", Fault::Empty)] {
            let account = world.player(&mut client, name, 1_000).await;
            world.wallet.always(fault);
            let status = bet_within(&mut client, bet("r", &account, "0.10"), 400).await.unwrap_err();
            assert_eq!(reason(&status), "OUTCOME_UNKNOWN", "{fault:?}");
            assert!(status.message().len() < 1_000, "the refusal quotes at most one line of the wallet's answer");
            assert_eq!(rounds(&mut client, &account).await, 0, "no outcome exists before the debit is confirmed");
            world.wallet.script(&[]);
            client.play_out(bet("r", &account, "0.10")).await.unwrap();
        }
        world.reconciled(&["huge", "empty"]).await;
    }
}

fn noise() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut read = [0; 1_024];
                while stream.read(&mut read).is_ok_and(|read| read > 0) && stream.write_all(&[0x5A; 1 << 16]).is_ok() {}
            });
        }
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_what_answers_with_noise_is_no_wallet_and_draws_nothing() {
    let url = noise();
    for settings in [format!("url = \"{url}\""), json::settings(&url)] {
        let world = World::with(Wallet::default(), &settings).await;
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let status = bet_within(&mut client, bet("r", &alice, "0.10"), 500).await.unwrap_err();
        assert_eq!(reason(&status), "OUTCOME_UNKNOWN");
        assert_eq!(looked_up(&mut client, &alice, "r").await.state(), State::Pending);
        assert_eq!(rounds(&mut client, &alice).await, 0);
        world.server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_debit_that_is_applied_long_after_it_was_given_up_takes_nothing() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        world.wallet.always(Fault::Late);
        let status = bet_within(&mut client, bet("r", &alice, "0.10"), 500).await.unwrap_err();
        assert_eq!(reason(&status), "OUTCOME_UNKNOWN");
        world.wallet.script(&[]);
        world.clock.fetch_add(DEBIT_MS + 30_000, Ordering::SeqCst);
        world.settled(&["alice"]).await;
        world.wallet.catch_up();
        client.play_out(bet("next", &alice, "0.10")).await.unwrap();
        assert_eq!(world.wallet.end("debit/acme/alice/r"), Some(End::RolledBack));
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_players_that_are_credited_at_once_are_bounded() {
    let wallet = Wallet::default();
    let (address, _) = wallet.serve().await;
    let world = World::with(wallet, &format!("url = \"http://{address}\", credits_max = 2")).await;
    let mut client = world.client("acme").await;
    let names = ["p0", "p1", "p2", "p3", "p4", "p5"];
    let mut open = vec![];
    for name in names {
        let account = world.player(&mut client, name, 1_000).await;
        open.push(client.spin(bet("r", &account, "0.10"), Some(Force::Open)).await.unwrap());
    }
    world.wallet.always(Fault::Hangs);
    for mut last in open {
        while let Some(kind) = next_choice(&last) {
            last = client.choose(&format!("c{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
    }
    let calls = world.wallet.books().calls;
    until(|| world.wallet.books().calls > calls + 3, "credits are sent").await;
    assert!((1..=4 * world.config.partitions as usize).contains(&world.wallet.books().hanging.1));
    world.wallet.script(&[]);
    world.reconciled(&names).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_wallet_is_reached_by_tls_with_its_token_and_no_other_certificate_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let stranger = tempfile::tempdir().unwrap();
    let (_, other) = (Certificates::make(folder.path()), Certificates::make(stranger.path()));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    fs::write(folder.path().join("token"), "wallet-token\n").unwrap();
    fs::write(folder.path().join("other.pem"), other.root).unwrap();
    for (root, trusted, in_json) in
        [("root.pem", true, false), ("root.pem", true, true), ("other.pem", false, false), ("other.pem", false, true)]
    {
        let wallet = Wallet::default();
        let (certificate, key) = (read("service.pem"), read("service.key"));
        let port = match in_json {
            false => wallet.serve_by_tls(&certificate, &key).await.port(),
            true => json::serve(&wallet, Some((&certificate, &key))).await.port(),
        };
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (ca, token) = (path(root), path("token"));
        let url = format!("https://localhost:{port}");
        let settings = match in_json {
            false => format!("url = \"{url}\", ca = \"{ca}\", token_file = \"{token}\""),
            true => format!("{}, ca = \"{ca}\"", json::settings(&url)),
        };
        let world = World::with(wallet, &settings).await;
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", 1_000).await;
        let played = bet_within(&mut client, bet("r", &alice, "0.10"), if trusted { 5_000 } else { 500 }).await;
        if trusted {
            client.play_out(bet("r", &alice, "0.10")).await.unwrap();
            assert_eq!(played.unwrap(), 1);
            let tokens: Vec<_> = world.wallet.books().tokens.iter().cloned().collect();
            assert_eq!(tokens, if in_json { vec![] } else { vec!["Bearer wallet-token"] });
            world.reconciled(&["alice"]).await;
        } else {
            assert_eq!(reason(&played.unwrap_err()), "OUTCOME_UNKNOWN");
            assert_eq!(rounds(&mut client, &alice).await, 0);
            assert_eq!(
                world.wallet.books().calls,
                0,
                "the service sends no call, and so no token, to a wallet with a false certificate"
            );
            world.server.stop().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_free_rounds_take_nothing_from_the_wallet_and_credit_what_they_win() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 0).await;
    let game = latest("bewitched").unwrap();
    client.spin.grant_campaign(campaign(game, "gift", &alice, 3)).await.unwrap();
    let mut won = 0;
    for (number, force) in [Force::Open, Force::Loss, Force::Open].into_iter().enumerate() {
        let last = played(&mut client, free_round(game, &format!("f{number}"), &alice, "gift"), force).await;
        won += last.win.as_ref().unwrap().amount_minor;
    }
    world.settled(&["alice"]).await;
    assert!(world.wallet.books().order.iter().all(|id| !id.starts_with("debit/")), "no debit");
    assert!(won > 0, "at least one round wins");
    assert_eq!(world.wallet.balance("alice"), won);
    world.reconciled(&["alice"]).await;
}

async fn series(client: &mut Client, id: &str, account: &Account, spins: u32) -> Result<Vec<Played>, Status> {
    let SpinRequest { account, game, stake, witch, .. } = bet("", account, "0.10");
    let request =
        AutospinRequest { request_id: id.into(), account, game, stake, witch, spins, ..AutospinRequest::default() };
    let mut answers = client.autospin(request, None).await?;
    let mut all = vec![];
    while let Some(answer) = answers.message().await? {
        let Some(mut last) = answer.played else { continue };
        if last.state() == RoundState::Open {
            while let Some(kind) = next_choice(&last) {
                let id = format!("{}.{}", last.round_id.replace('/', "-"), last.step);
                last = client.choose(&id, &last.round_id, kind, None).await?;
            }
        }
        all.push(last);
    }
    Ok(all)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_each_spin_of_a_series_is_debited_and_the_series_ends_where_the_wallet_refuses() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 10_000).await;
    let all = series(&mut client, "s", &alice, 5).await.unwrap();
    assert_eq!(all.len(), 5);
    world.settled(&["alice"]).await;
    assert_eq!(world.wallet.balance("alice"), 10_000 + all.iter().map(net).sum::<i64>());
    let debits = world.wallet.books().order.iter().filter(|id| id.starts_with("debit/acme/alice/")).count();
    assert_eq!(debits, 5);
    let poor = world.player(&mut client, "poor", 100).await;
    let refused = series(&mut client, "s", &poor, 5).await;
    assert!(refused.as_ref().map_or(true, Vec::is_empty), "an unpaid round is not played: {refused:?}");
    assert_eq!(rounds(&mut client, &poor).await, 0);
    world.reconciled(&["alice", "poor"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_void_of_a_round_that_won_leaves_the_player_with_the_money_from_before_it() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    let last = played(&mut client, bet("r", &alice, "0.10"), Force::Open).await;
    world.settled(&["alice"]).await;
    assert!(last.win.as_ref().unwrap().amount_minor > last.bet.as_ref().unwrap().amount_minor);
    let void = VoidRoundRequest {
        request_id: "void".into(),
        round_id: last.round_id.clone(),
        reason: "a fault".into(),
        actor: "support".into(),
    };
    client.ledger.void_round(void).await.unwrap();
    world.settled(&["alice"]).await;
    assert_eq!(world.wallet.balance("alice"), 1_000);
    world.reconciled(&["alice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_pl_32_after_a_day_without_its_wallet_all_comes_to_one_end() {
    const DAY_MS: i64 = 86_400_000;
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let debited = world.player(&mut client, "debited", 1_000).await;
    let winner = world.player(&mut client, "winner", 1_000).await;
    let mut last = client.spin(bet("r", &winner, "0.10"), Some(Force::Open)).await.unwrap();
    world.wallet.always(Fault::LostAnswer);
    bet_within(&mut client, bet("r", &debited, "0.10"), 400).await.unwrap_err();
    world.wallet.always(Fault::LostCall);
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("c{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    let mut platform = world.client("platform").await;
    let request =
        ListSignificantEventsRequest { kinds: vec![SignificantKind::WalletOverdue.into()], ..Default::default() };
    for hour in 1..=24 {
        world.clock.fetch_add(DAY_MS / 24, Ordering::SeqCst);
        if hour == 1 || hour == 24 {
            let reported = async {
                let many = if hour == 1 { 1 } else { 2 };
                while platform.report.list_significant_events(request.clone()).await.unwrap().into_inner().events.len()
                    < many
                {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(std::time::Duration::from_secs(20), reported)
                .await
                .expect("the significant event is reported");
        }
    }
    let due: i128 = world.server.holding(Books::Transit("acme"), Currency::EUR);
    let won = last.win.as_ref().unwrap().amount_minor;
    assert_eq!(due, i128::from(won) * 10_000_000, "the exact amount due is being paid");
    world.wallet.script(&[]);
    world.settled(&["debited", "winner"]).await;
    assert_eq!((world.wallet.balance("debited"), world.wallet.balance("winner")), (1_000, 1_000 + net(&last)));
    world.reconciled(&["debited", "winner"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_33_pl_42_a_bet_that_is_cancelled_never_reaches_the_wallet_or_is_rolled_back() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 10_000).await;
    for number in 0..40 {
        let id = format!("r{number}");
        let of = CancelRequestRequest { account: Some(alice.clone()), request_id: id.clone(), ..Default::default() };
        let mut cancels = client.clone();
        let cancel = tokio::spawn(async move { cancels.ledger.cancel_request(of).await.unwrap().into_inner() });
        let played = client.play_out(bet(&id, &alice, "0.01")).await;
        let state = cancel.await.unwrap().outcome.unwrap().state();
        world.settled(&["alice"]).await;
        let end = world.wallet.end(&format!("debit/acme/alice/{id}"));
        match played {
            Ok(_) => assert_eq!((state, end), (State::Applied, Some(End::Applied)), "{id}"),
            Err(status) if reason(&status) == "DEBIT_ROLLED_BACK" => {
                assert!(matches!(state, State::Pending | State::Cancelled), "{id}: {state:?}");
                assert_eq!(end, Some(End::RolledBack), "{id}");
            }
            Err(status) => {
                assert_eq!(
                    (reason(&status).as_str(), state, end),
                    ("REQUEST_CANCELLED", State::Cancelled, None),
                    "{id}"
                );
            }
        }
    }
    world.reconciled(&["alice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a3_a_debit_in_progress_when_damage_is_found_has_an_unknown_outcome() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    let bob = world.player(&mut client, "bob", 1_000).await;
    world.wallet.always(Fault::LostCall);
    let calls = world.wallet.books().calls;
    let (mut other, account) = (client.clone(), alice.clone());
    let asked = tokio::spawn(async move { bet_within(&mut other, bet("r", &account, "0.10"), 9_000).await });
    until(|| world.wallet.books().calls > calls + 1, "the wallet is called").await;
    world.server.ledger_of("alice").distrust_log("partition 0: a test");
    world.server.ledger_of("bob").distrust_log("partition 0: a test");
    world.wallet.script(&[]);
    let unknown = asked.await.unwrap().unwrap_err();
    assert_eq!(reason(&unknown), "OUTCOME_UNKNOWN");
    assert!(unknown.message().contains("once the log is repaired"), "{unknown:?}");
    let calls = world.wallet.books().calls;
    let refused = bet_within(&mut client, bet("r", &bob, "0.10"), 3_000).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::DataLoss, "LOG_DAMAGED"));
    assert_eq!(world.wallet.books().calls, calls);
    world.server.stop().await.unwrap();
}
