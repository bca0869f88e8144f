use super::{
    bet_within,
    scripted::Fault,
    world::{World, serve},
};
use crate::{
    PROGRAM,
    upgrade::{here, lay},
};
use bytes::Bytes;
use motherlode_log::{Hash, Record, genesis, hash};
use motherlode_proto::{
    convert::record::{self, Logged},
    ledger::v1::{VoidRoundRequest, WithdrawRequest},
    report::v1::{ListTransactionsRequest, Transaction, transaction::Kind},
    round::v1::Account,
};
use motherlode_runtime::Config;
use motherlode_server::LogLocation;
use motherlode_state::{Commit, Currency, DebitAsked, Event, InternalRequest, Minor, StreamId};
use motherlode_tests::{Client, Force, audited, bet, next_choice, partitions, vials};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
    sync::atomic::Ordering,
};

type Row = ((String, String), i64, i64);

fn chained(rows: &[Row]) -> BTreeMap<(String, String), i64> {
    let mut balances = BTreeMap::new();
    for (number, (account, amount, balance)) in rows.iter().enumerate() {
        let before = balances.insert(account.clone(), *balance).unwrap_or_default();
        assert_eq!(
            before + amount,
            *balance,
            "row {number} of {account:?}: the balance is not the previous balance plus the amount"
        );
    }
    balances
}

async fn listed(client: &mut Client, operator: &str, player: &str, page_size: i32) -> Vec<Transaction> {
    let (mut all, mut page_token) = (vec![], String::new());
    loop {
        let request = ListTransactionsRequest {
            operator_id: operator.into(),
            player_id: player.into(),
            page_size,
            page_token,
            ..Default::default()
        };
        let page = client.report.list_transactions(request).await.unwrap().into_inner();
        all.extend(page.transactions);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            all.reverse();
            return all;
        }
    }
}

fn row(of: &Transaction) -> Row {
    let account = of.account.clone().unwrap();
    let (amount, balance) =
        (of.amount.as_ref().unwrap(), of.balance.as_ref().expect("each transaction states its balance"));
    ((account.player_id, account.currency_code), amount.amount_minor, balance.amount_minor)
}

fn exported(data: &Path) -> BTreeMap<String, Vec<Row>> {
    let output = Command::new(PROGRAM)
        .args(["export", "transactions", data.to_str().unwrap(), "--format", "jsonl"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = BTreeMap::<_, Vec<Row>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let figure = |name: &str| row[name].as_i64().unwrap();
        let of = ((text("player_id"), text("currency_code")), figure("amount_minor"), figure("balance_minor"));
        found.entry(text("operator_id")).or_default().push(of);
    }
    found
}

async fn same_by_every_page(world: &World, operator: &str) -> Vec<Row> {
    let mut client = world.client(operator).await;
    let whole: Vec<_> = listed(&mut client, operator, "", 100).await.iter().map(row).collect();
    chained(&whole);
    for size in [1, 2, 7] {
        let by_pages: Vec<_> = listed(&mut client, operator, "", size).await.iter().map(row).collect();
        assert_eq!(by_pages, whole, "pages of {size} rows differ from the whole list");
    }
    let players: BTreeSet<_> = whole.iter().map(|((player, _), ..)| player.clone()).collect();
    for player in players {
        let own: Vec<_> = whole.iter().filter(|((of, _), ..)| *of == player).cloned().collect();
        for size in [1, 2, 7, 100] {
            let by_pages: Vec<_> = listed(&mut client, operator, &player, size).await.iter().map(row).collect();
            assert_eq!(by_pages, own, "{player}, pages of {size}");
        }
    }
    whole
}

async fn played(client: &mut Client, id: &str, account: &Account, force: Option<Force>) -> String {
    let mut last = client.spin(bet(id, account, "0.10"), force).await.unwrap();
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("{id}.{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    last.round_id
}

async fn void(client: &mut Client, round_id: &str) {
    let void = VoidRoundRequest {
        request_id: format!("void-{}", round_id.replace('/', "-")),
        round_id: round_id.into(),
        reason: "a fault".into(),
        actor: "support".into(),
    };
    client.ledger.void_round(void).await.unwrap();
}

async fn mixed(world: &World, client: &mut Client, account: &Account, of: &str) {
    let mut rounds = vec![];
    for number in 0..6 {
        rounds.push(played(client, &format!("{of}-l{number}"), account, Some(Force::Loss)).await);
        rounds.push(played(client, &format!("{of}-o{number}"), account, Some(Force::Open)).await);
    }
    let open = client.spin(bet(&format!("{of}-open"), account, "0.10"), Some(Force::Open)).await.unwrap();
    void(client, &open.round_id).await;
    void(client, &rounds[0]).await;
    void(client, &rounds[9]).await;
    let spun = client.spin(bet(&format!("{of}-hit"), account, "0.20"), Some(Force::Pick)).await.unwrap();
    let mut last = client.choose(&format!("{of}-vials"), &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("{of}-on-{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    partitions::settled(world.server.ledgers()).await;
}

async fn history(world: World) -> World {
    let mut acme = world.client("acme").await;
    let alice = world.player(&mut acme, "alice", 1_000_000).await;
    let bob = world.player(&mut acme, "bob", 1_000_000).await;
    let mut other = world.client("other").await;
    let mut carol = motherlode_tests::account("carol", "EUR");
    carol.operator_id = "other".into();
    other.fund_account(&carol, 1_000_000).await;
    let withdraw = WithdrawRequest { request_id: "out".into(), account: Some(carol.clone()), amount_minor: 777 };
    other.ledger.withdraw(withdraw).await.unwrap();
    mixed(&world, &mut other, &carol, "first").await;
    mixed(&world, &mut acme, &alice, "first").await;
    mixed(&world, &mut acme, &bob, "first").await;
    world.settled(&["alice", "bob"]).await;
    world.wallet.always(Fault::LostAnswer);
    bet_within(&mut acme, bet("lost", &alice, "0.10"), 400).await.unwrap_err();
    world.wallet.script(&[]);
    world.clock.fetch_add(super::DEBIT_MS + 1, Ordering::SeqCst);
    world.settled(&["alice"]).await;
    world.wallet.books().credits_unsure = true;
    mixed(&world, &mut acme, &alice, "second").await;
    mixed(&world, &mut acme, &bob, "second").await;
    world.wallet.books().credits_unsure = false;
    world.settled(&["alice", "bob"]).await;
    world.wallet.books().credits_unsure = true;
    mixed(&world, &mut acme, &bob, "third").await;
    mixed(&world, &mut acme, &alice, "third").await;
    mixed(&world, &mut other, &carol, "second").await;
    world
}

fn by_player(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    rows
}

fn due(world: &World, player: &str) -> i64 {
    let stream = StreamId::player("acme", player);
    let player = world.server.ledgers().for_stream(&stream).unwrap().player(&stream).unwrap().unwrap();
    player.wallet().unwrap().dues.iter().map(|due| due.amount.0.max(0)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_c4_each_balance_is_the_one_before_plus_the_amount_by_pages_and_in_the_export() {
    for partitions in [1, 3] {
        balances_of(partitions).await;
    }
}

async fn balances_of(partitions: u32) {
    let world = history(World::in_folder(partitions).await).await;
    let acme = same_by_every_page(&world, "acme").await;
    let other = same_by_every_page(&world, "other").await;
    assert!(acme.len() > 200 && other.len() > 40, "{} and {}", acme.len(), other.len());
    for ((player, _), balance) in chained(&acme) {
        assert!(balance > 0 && balance == due(&world, &player), "{player}");
    }
    let mut client = world.client("other").await;
    for ((player, currency), balance) in chained(&other) {
        let account = Account { operator_id: "other".into(), player_id: player, currency_code: currency };
        assert_eq!(client.balance(&account).await, balance);
    }
    let kinds: BTreeSet<_> =
        listed(&mut world.client("acme").await, "acme", "", 100).await.iter().map(Transaction::kind).collect();
    let expected = [Kind::Debit, Kind::Credit, Kind::Bet, Kind::Win, Kind::Jackpot, Kind::Refund, Kind::WinTakenBack];
    assert!(expected.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");

    let World { server, log, data: _data, .. } = world;
    server.stop().await.unwrap();
    audited(&log, partitions as usize);
    let found = exported(&log);
    assert_eq!((by_player(&found["acme"]), by_player(&found["other"])), (by_player(&acme), by_player(&other)));
}

/// Returns the commits without `due_after`, as older versions wrote them, so their hashes change. With the original
/// hashes, which are returned too, [`records`] finds and replaces references (`sealed_by`).
fn of_old(config: &Config) -> Vec<(Logged, Hash)> {
    let old = |(logged, hash)| (Logged { due_after: vec![], ..logged }, hash);
    logged(config).into_iter().map(old).collect()
}

fn logged(config: &Config) -> Vec<(Logged, Hash)> {
    let records = LogLocation::from_config(config).existing(0).unwrap();
    let read = |record: Record| (record::decode(&record.bytes).unwrap(), hash(&record.bytes));
    records.map(|record| read(record.unwrap())).collect()
}

fn records(commits: Vec<(Logged, Hash)>) -> Vec<Bytes> {
    let (mut head, mut hashes) = (genesis(0), BTreeMap::new());
    let chain = |(mut logged, before): (Logged, Hash)| {
        for event in &mut logged.commit.events {
            if let Event::StepResolved(step) = event
                && let Some(sealed_by) = step.draw.as_mut().and_then(|draw| draw.sealed_by.as_mut())
            {
                *sealed_by = hashes[&*sealed_by];
            }
        }
        let bytes = record::encode(&head, &logged);
        head = hash(&bytes);
        hashes.insert(before, head);
        bytes
    };
    commits.into_iter().map(chain).collect()
}

async fn served(before: World, old: Vec<(Logged, Hash)>) -> World {
    let World { server, wallet, clock, config, data, .. } = before;
    server.stop().await.unwrap();
    drop(data);
    let data = tempfile::tempdir().unwrap();
    lay(data.path(), &[records(old)]);
    audited(data.path(), 1);
    let config = Config { operators: config.operators, ..here(data.path(), 1) };
    let server = serve(&config, &clock).await;
    World { server, wallet, clock, config, log: data.path().to_owned(), data }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_c4_records_without_the_credits_due_have_the_same_balances() {
    let world = history(World::in_folder(1).await).await;
    let rows = same_by_every_page(&world, "acme").await;
    let old = of_old(&world.config);
    let world = served(world, old).await;
    assert_eq!(same_by_every_page(&world, "acme").await, rows);
    assert_eq!(exported(&world.log)["acme"], rows);
    world.wallet.books().credits_unsure = false;
    world.settled(&["alice", "bob"]).await;
    let paid = same_by_every_page(&world, "acme").await;
    assert!(paid.starts_with(&rows) && paid.len() > rows.len());
    assert!(chained(&paid).values().all(|balance| *balance == 0), "all credits are paid");
    world.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_c4_the_audit_finds_credits_due_that_are_not_those_of_the_books() {
    let world = World::in_folder(1).await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000_000).await;
    world.wallet.books().credits_unsure = true;
    for number in 0..4 {
        played(&mut client, &format!("o{number}"), &alice, Some(Force::Open)).await;
    }
    assert!(due(&world, "alice") > 0);
    let mut commits: Vec<_> = logged(&world.config);
    world.server.stop().await.unwrap();
    let audit = |commits: Vec<(Logged, Hash)>| {
        let data = tempfile::tempdir().unwrap();
        lay(data.path(), &[records(commits)]);
        let output = Command::new(PROGRAM).arg("audit").arg(data.path()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (is_sound, said) = audit(commits.clone());
    assert!(is_sound, "{said}");
    let of = commits.iter_mut().find(|(of, _)| of.due_after.iter().any(|(_, due)| due.0 > 0)).unwrap();
    of.0.due_after[0].1.0 -= 1;
    let (is_sound, said) = audit(commits);
    assert!(!is_sound && said.contains("PL-31: the due credits stated in the commit"), "{said}");
}

fn refused_debits(log: &mut Vec<(Logged, Hash)>, stream: &StreamId, times: usize) {
    for number in 0..times {
        let (id, fingerprint) = (format!("poor-{number}"), [7; 16]);
        let (currency, amount) = (Currency::EUR, Minor(100));
        let asked = DebitAsked { request_id: id.clone().into(), fingerprint, currency, amount, facts: None };
        let ask = InternalRequest::AskDebit { request_id: &id }.to_string();
        let refused = Event::DebitRefused { reason: "INSUFFICIENT_FUNDS".into(), code: 0 };
        for (request_id, event) in [(ask, Event::DebitAsked(asked)), (id, refused)] {
            let end = log.last().unwrap().0.commit.clone();
            let last = log.iter().rfind(|(logged, _)| logged.commit.stream == *stream).unwrap().0.clone();
            let commit = Commit {
                position: end.position + 1,
                version: last.commit.version + 1,
                previous: last.commit.position,
                request_id: request_id.into(),
                fingerprint,
                time_ms: end.time_ms,
                events: vec![event],
                ..last.commit
            };
            log.push((Logged { commit, ..last }, [0; 32]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_c4_a_balance_that_takes_too_many_records_of_older_versions_is_not_stated() {
    let world = World::in_folder(1).await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000_000).await;
    let mut old = of_old(&world.config);
    refused_debits(&mut old, &StreamId::player("acme", "alice"), 2_100);
    let world = served(world, old).await;
    let mut client = world.client("acme").await;
    for number in 0..3 {
        played(&mut client, &format!("l{number}"), &alice, Some(Force::Loss)).await;
    }
    let rows = same_by_every_page(&world, "acme").await;
    assert_eq!(rows.len(), 6, "each bet has a row for its debit and one for the bet");
    let old = of_old(&world.config);
    let world = served(world, old).await;
    let mut client = world.client("acme").await;
    for (player, size) in [("alice", 1), ("alice", 100), ("", 1), ("", 100)] {
        let listed = listed(&mut client, "acme", player, size).await;
        assert_eq!(listed.len(), 6);
        assert!(listed.iter().all(|of| of.balance.is_none() && of.amount.is_some()), "{player}, pages of {size}");
    }
    played(&mut client, "l3", &alice, Some(Force::Loss)).await;
    let listed = listed(&mut client, "acme", "alice", 100).await;
    let stated: Vec<_> = listed[6..].iter().map(|of| of.balance.as_ref().unwrap().amount_minor).collect();
    assert_eq!((stated, listed.len()), (vec![150, 0], 8));
    world.server.stop().await.unwrap();
}
