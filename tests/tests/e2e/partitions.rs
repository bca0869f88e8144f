use crate::PROGRAM;
use motherlode_ledger::Handle;
use motherlode_proto::{
    jackpot::v1::{ResumePoolRequest, SuspendPoolRequest},
    ledger::v1::{
        FollowLogRequest, GetLogStatusRequest, ListPlayersRequest, SetExchangeRateRequest, SetSwitchRequest, Switch,
        VoidRoundRequest, set_switch_request::State,
    },
    report::v1::{ListReturnsRequest, ListSignificantEventsRequest, SignificantKind, WatchSignificantEventsRequest},
    round::v1::Account,
    spin::v1::{ListOpenRoundsRequest, Played},
};
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_slots::latest;
use motherlode_state::{CoinValue, Event, Nano, StreamId};
use motherlode_tests::{
    Client, EUR, Player, Process, Server, audited, bet, commits, config,
    incidents::give_back,
    partitions::{balanced, settled},
    pool::POOL,
    reason, stake_on, start_on,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tonic::Code;

const PLAYERS: usize = 12;

fn of(data: &Path, partitions: u32) -> Config {
    Config { partitions, ..config(data) }
}

async fn serve(data: &Path, partitions: u32) -> (Server, Client) {
    let config = of(data, partitions);
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

fn name(player: usize) -> String {
    format!("p{player}")
}

async fn fund_all(client: &mut Client) -> Vec<Account> {
    let mut accounts = vec![];
    for player in 0..PLAYERS {
        accounts.push(client.fund(&name(player), EUR, 1_000_000).await);
    }
    accounts
}

fn started(handle: &Handle, player: usize) -> Option<u64> {
    handle.player(&StreamId::player("acme", name(player))).unwrap().map(|player| player.rounds_started)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_09_pl_11_players_of_all_partitions_play_and_are_told_the_same_after_a_restart() {
    for partitions in [1, 2, 4] {
        let data = tempfile::tempdir().unwrap();
        let (server, mut client) = serve(data.path(), partitions).await;
        let accounts = fund_all(&mut client).await;
        let mut answered: Vec<Vec<Vec<Played>>> = vec![];
        for account in &accounts {
            let mut rounds = vec![];
            for round in 0..5 {
                rounds.push(client.play_out(bet(&format!("r{round}"), account, "0.05")).await.unwrap());
            }
            answered.push(rounds);
        }
        settled(server.ledgers()).await;
        balanced(server.ledgers());
        let mut inhabited = BTreeSet::new();
        for player in 0..PLAYERS {
            let lives = StreamId::player("acme", name(player)).partition(partitions);
            inhabited.insert(lives);
            for ledger in server.ledgers().all() {
                assert_eq!(started(ledger, player), (ledger.partition() == lives).then_some(5));
            }
        }
        assert_eq!(inhabited, (0..partitions).collect());
        let pooled = server.ledger().books(|books| books.pool(POOL).unwrap().contributions);
        assert_eq!(pooled, "0.225".parse::<Nano>().unwrap());
        let mut balances = vec![];
        for account in &accounts {
            balances.push(client.balance(account).await);
        }
        server.stop().await.unwrap();

        let (server, mut client) = serve(data.path(), partitions).await;
        balanced(server.ledgers());
        for (account, rounds) in accounts.iter().zip(&answered) {
            for (round, steps) in rounds.iter().enumerate() {
                let again = client.spin(bet(&format!("r{round}"), account, "0.05"), None).await.unwrap();
                assert_eq!(again, steps[0]);
            }
        }
        for (account, balance) in accounts.iter().zip(balances) {
            assert_eq!(client.balance(account).await, balance);
        }
        server.stop().await.unwrap();
        assert_eq!(audited(data.path(), partitions as usize).in_transit, Nano::ZERO);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_open_rounds_of_all_partitions_are_listed_page_by_page() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    for account in fund_all(&mut client).await {
        let mut request = stake_on(latest("mystery-elves").unwrap(), "open", &account, CoinValue(10_000));
        request.stake.as_mut().unwrap().buy_feature = true;
        client.spin(request, None).await.unwrap();
    }
    let (mut listed, mut page_token) = (vec![], String::new());
    loop {
        let operator_id = "acme".to_owned();
        let request = ListOpenRoundsRequest { operator_id, page_size: 5, page_token, ..Default::default() };
        let page = client.spin.list_open_rounds(request).await.unwrap().into_inner();
        assert!(page.rounds.len() <= 5);
        listed.extend(page.rounds.into_iter().map(|open| open.round.unwrap().round_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let all: BTreeSet<_> = (0..PLAYERS).map(|player| format!("acme/{}/1", name(player))).collect();
    assert_eq!(listed.len(), PLAYERS, "each round is listed once");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), all);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_players_of_all_partitions_are_listed_by_prefix_in_memory_and_on_disk() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    let accounts = fund_all(&mut client).await;
    let zed = client.fund("zed", EUR, 1_000_000).await;
    server.stop().await.unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    client.play_out(bet("again", &zed, "0.05")).await.unwrap();
    let mut names: Vec<_> = accounts.into_iter().map(|account| account.player_id).chain(["zed".to_owned()]).collect();
    names.sort();
    for prefix in ["", "p", "p1", "ze", "zz"] {
        let (mut listed, mut page_token) = (vec![], String::new());
        loop {
            let (operator_id, prefix) = ("acme".to_owned(), prefix.to_owned());
            let request = ListPlayersRequest { operator_id, prefix, page_size: 4, page_token };
            let page = client.ledger.list_players(request).await.unwrap().into_inner();
            assert!(page.players.len() <= 4);
            listed.extend(page.players.into_iter().map(|player| player.player_id));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        let begin: Vec<_> = names.iter().filter(|name| name.starts_with(prefix)).cloned().collect();
        assert_eq!(listed, begin, "{prefix}");
    }
    let request = ListPlayersRequest { operator_id: "acme".into(), prefix: "ze".into(), ..Default::default() };
    let found = client.ledger.list_players(request).await.unwrap().into_inner().players.remove(0);
    let balance = client.balance(&zed).await;
    assert_eq!((found.rounds_started, found.balances[0].amount_minor), (1, balance), "the state after the latest bet");
    assert_eq!((found.open_round_count, found.last_bet_time.is_some()), (0, true));
    for wrong in [("", "", ""), ("acme", "a b", ""), ("acme", "", "a b")] {
        let (operator_id, prefix, page_token) = (wrong.0.into(), wrong.1.into(), wrong.2.into());
        let request = ListPlayersRequest { operator_id, prefix, page_token, ..Default::default() };
        assert_eq!(client.ledger.list_players(request).await.unwrap_err().code(), Code::InvalidArgument, "{wrong:?}");
    }
    server.stop().await.unwrap();
}

async fn set_rate(client: &mut Client, id: &str, rate: &str) {
    let request = SetExchangeRateRequest {
        request_id: id.into(),
        currency_code: "SEK".into(),
        eur_per_unit: rate.into(),
        source: "test".into(),
    };
    let set = client.ledger.set_exchange_rate(request).await.unwrap().into_inner();
    assert_eq!(set.pending_partitions, Vec::<u32>::new());
}

async fn switch(client: &mut Client, id: &str, state: State) {
    let request = SetSwitchRequest {
        request_id: id.into(),
        switch: Some(Switch { game: POOL.into(), ..Switch::default() }),
        state: state.into(),
        reason: "test".into(),
        actor: "ann".into(),
        preview: false,
    };
    let set = client.ledger.set_switch(request).await.unwrap().into_inner();
    assert_eq!(set.pending_partitions, Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_11_pl_25_rates_and_switches_hold_in_all_partitions_when_they_are_answered() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    let mut accounts = vec![];
    for player in 0..PLAYERS {
        accounts.push(client.fund(&name(player), "SEK", 10_000_000).await);
    }
    for (round, rate) in ["0.0875", "0.09", "0.085"].into_iter().enumerate() {
        set_rate(&mut client, &format!("rate-{round}"), rate).await;
        for account in &accounts {
            client.play_out(bet(&format!("r{round}"), account, "1.00")).await.unwrap();
        }
        switch(&mut client, &format!("off-{round}"), State::Off).await;
        for account in &accounts {
            let refused = client.spin(bet(&format!("off{round}"), account, "1.00"), None).await.unwrap_err();
            assert_eq!(reason(&refused), "GAME_DISABLED");
        }
        switch(&mut client, &format!("on-{round}"), State::On).await;
    }
    switch(&mut client, "off", State::Off).await;
    settled(server.ledgers()).await;
    balanced(server.ledgers());
    let pooled = server.ledger().books(|books| books.pool(POOL).unwrap().contributions);
    assert_eq!(pooled, "0.23625".parse::<Nano>().unwrap());
    server.stop().await.unwrap();

    let (server, mut client) = serve(data.path(), 3).await;
    for account in &accounts {
        let refused = client.spin(bet("again", account, "1.00"), None).await.unwrap_err();
        assert_eq!(reason(&refused), "GAME_DISABLED");
    }
    for ledger in server.ledgers().all() {
        let decides = |event: &&Event| matches!(event, Event::RateSet { .. } | Event::SwitchSet { .. });
        let decided: usize = commits(ledger, 1).map(|logged| logged.commit.events.iter().filter(decides).count()).sum();
        assert_eq!(decided, 3 + 7, "partition {}", ledger.partition());
    }
    server.stop().await.unwrap();
    audited(data.path(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_20_a_suspended_pool_takes_nothing_from_any_partition() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 4).await;
    let accounts = fund_all(&mut client).await;
    let contributions = async |server: &Server| {
        settled(server.ledgers()).await;
        balanced(server.ledgers());
        server.ledger().books(|books| books.pool(POOL).unwrap().contributions)
    };
    for account in &accounts {
        client.play_out(bet("before", account, "1.00")).await.unwrap();
    }
    let (pool_id, actor) = (POOL.to_owned(), "ann".to_owned());
    let (request_id, reason) = ("s1".into(), "test".into());
    let suspend = SuspendPoolRequest { request_id, pool_id: pool_id.clone(), reason, actor: actor.clone() };
    let suspended = client.jackpot.suspend_pool(suspend).await.unwrap().into_inner();
    assert_eq!(suspended.pool.unwrap().pending_partitions, Vec::<u32>::new());
    for account in &accounts {
        client.play_out(bet("while", account, "1.00")).await.unwrap();
    }
    assert_eq!(contributions(&server).await, "0.9".parse().unwrap());
    client.jackpot.resume_pool(ResumePoolRequest { request_id: "s2".into(), pool_id, actor }).await.unwrap();
    for account in &accounts {
        client.play_out(bet("after", account, "1.00")).await.unwrap();
    }
    assert_eq!(contributions(&server).await, "1.8".parse().unwrap());
    server.stop().await.unwrap();
    audited(data.path(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_38_pl_22_voids_of_all_partitions_are_returned_for_an_incident_and_told_of() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    let accounts = fund_all(&mut client).await;
    for account in &accounts {
        client.play_out(bet("r", account, "1.00")).await.unwrap();
    }
    settled(server.ledgers()).await;
    let contributed = server.ledger().books(|books| books.pool(POOL).unwrap().contributions);
    let mut voided = BTreeMap::new();
    for player in 0..PLAYERS {
        let (round_id, reason, actor) = (format!("acme/{}/1", name(player)), "stuck".into(), "ann".into());
        let request = VoidRoundRequest { request_id: "void".into(), round_id: round_id.clone(), reason, actor };
        let void = client.ledger.void_round(request).await.unwrap().into_inner();
        let partition = StreamId::player("acme", name(player)).partition(3);
        voided.insert(round_id, (partition, void.position));
    }
    settled(server.ledgers()).await;
    balanced(server.ledgers());
    let pooled = || server.ledger().books(|books| books.pool(POOL).unwrap().contributions);
    assert_eq!(pooled(), contributed, "the operator bears the contributions (PL-38)");

    let (mut events, mut page_token) = (vec![], String::new());
    loop {
        let kinds = vec![SignificantKind::Void.into()];
        let request = ListSignificantEventsRequest { kinds, page_size: 5, page_token };
        let page = client.report.list_significant_events(request).await.unwrap().into_inner();
        events.extend(page.events);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert!(events.is_sorted_by_key(|event| {
        let time = event.time.unwrap();
        std::cmp::Reverse((time.seconds, time.nanos))
    }));
    assert_eq!(events.len(), PLAYERS);
    let listed: BTreeMap<_, _> =
        events.iter().map(|event| (event.subject.clone(), (event.partition, event.position))).collect();
    assert_eq!(listed, voided);

    let first =
        |of: u32| voided.values().filter(|(partition, _)| *partition == of).map(|(_, position)| *position).min();
    let after_positions = vec![first(1).unwrap(), first(2).unwrap()];
    let request = WatchSignificantEventsRequest { after_position: first(0).unwrap(), after_positions };
    let mut watch = client.report.watch_significant_events(request).await.unwrap().into_inner();
    let mut watched = BTreeSet::new();
    while watched.len() < PLAYERS - 3 {
        watched.insert(watch.message().await.unwrap().unwrap().event.unwrap().subject);
    }
    let later = voided.iter().filter(|(_, (partition, position))| Some(*position) > first(*partition));
    assert_eq!(watched, later.map(|(round, _)| round.clone()).collect());

    let returns = client.report.list_returns(ListReturnsRequest::default()).await.unwrap().into_inner().returns;
    assert_eq!(returns.iter().map(|of| of.rounds).sum::<u64>(), PLAYERS as u64, "the report covers all partitions");
    drop(watch);
    give_back(&server, &mut client, "i-1").await;
    balanced(server.ledgers());
    assert_eq!(pooled(), Nano::ZERO);
    server.stop().await.unwrap();
    audited(data.path(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_each_partition_is_followed_by_itself() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path(), 3).await;
    fund_all(&mut client).await;
    let status = client.ledger.get_log_status(GetLogStatusRequest {}).await.unwrap().into_inner();
    assert_eq!(status.partitions.len(), 3);
    for of in &status.partitions {
        let request = FollowLogRequest { after_position: 0, partition: of.partition };
        let mut messages = client.ledger.follow_log(request).await.unwrap().into_inner();
        let mut positions = vec![];
        while (positions.len() as u64) < of.position {
            for record in messages.message().await.unwrap().unwrap().records {
                assert_eq!(record.partition, of.partition);
                positions.push(record.position);
            }
        }
        assert!(positions.iter().copied().eq(1..=positions.len() as u64));
    }
    let request = FollowLogRequest { after_position: 0, partition: 3 };
    let refused = client.ledger.follow_log(request).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::InvalidArgument, "INVALID_FIELD"));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_number_of_partitions_than_the_log_was_made_with_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let refused = |partitions| open_stores(&of(data.path(), partitions)).err().map(|error| error.to_string());
    drop(open_stores(&of(data.path(), 3)).unwrap());
    if of(data.path(), 3).store.url.is_none() {
        std::fs::remove_dir_all(data.path().join("log/0")).unwrap();
        std::fs::remove_dir_all(data.path().join("log/1")).unwrap();
        assert!(refused(2).is_some(), "partition 2 is there");
        drop(open_stores(&of(data.path(), 3)).unwrap());
    }
    for partitions in [1, 2, 4] {
        let printed = refused(partitions).unwrap();
        let expected = format!("but {partitions} partitions are configured");
        assert!(printed.contains("0, 1, 2") && printed.contains(&expected) || partitions != 4, "{printed}");
        assert!(printed.contains(&expected), "{printed}");
    }
    assert_eq!(refused(3), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_nothing_acknowledged_is_lost_or_doubled_by_kills_with_three_partitions() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("config.toml");
    std::fs::write(&file, "partitions = 3\n").unwrap();
    let folder = data.path().join("data");
    let process = Process::start(PROGRAM, &folder, Some(&file));
    let mut client = Client::connect(process.address).await;
    let mut players = vec![];
    for player in 0..8 {
        players.push(Player::join(&mut client, &name(player), "0.05").await);
    }
    process.kill();
    for kill in 0..10_u64 {
        let process = Process::start(PROGRAM, &folder, Some(&file));
        let answers = Arc::new(AtomicU64::new(0));
        let address = process.address;
        let tasks: Vec<_> = players
            .into_iter()
            .map(|mut player| {
                let answers = Arc::clone(&answers);
                tokio::spawn(async move {
                    let mut client = Client::connect(address).await;
                    player.play(&mut client, &answers).await;
                    player
                })
            })
            .collect();
        while answers.load(Ordering::Relaxed) < 1 + kill * 17 % 150 {
            assert!(!tasks.iter().all(|task| task.is_finished()), "the service ended unexpectedly");
            tokio::task::yield_now().await;
        }
        process.kill();
        players = vec![];
        for task in tasks {
            players.push(task.await.expect("repeated requests got the same answers"));
        }
    }
    let process = Process::start(PROGRAM, &folder, Some(&file));
    let mut client = Client::connect(process.address).await;
    for player in &mut players {
        player.check(&mut client).await;
    }
    assert_eq!(process.terminate().await, Some(0));
    audited(&folder, 3);
    let (server, _) = serve(&folder, 3).await;
    settled(server.ledgers()).await;
    balanced(server.ledgers());
    server.stop().await.unwrap();
    assert_eq!(audited(&folder, 3).in_transit, Nano::ZERO);
}
