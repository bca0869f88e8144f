use motherlode_ledger::Options as LedgerOptions;
use motherlode_loadtest::{Options, PoolCheck, Report, Thresholds, run};
use motherlode_log::{MemoryStore, Store};
use motherlode_proto::{
    ledger::v1::{DepositRequest, OpenAccountRequest, ledger_service_client::LedgerServiceClient},
    round::v1::Account,
};
use motherlode_runtime::{
    Config,
    connect::{Credentials, connect},
};
use motherlode_server::Server;
use motherlode_spin::Dealer;
use std::{cell::Cell, path::Path, time::Duration};

async fn serve(data: &Path) -> Server {
    let config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.to_owned(), ..Config::default() };
    let dealer = Dealer::from_master([7; 32]);
    Server::start(&config, Box::new(MemoryStore::new(0)), LedgerOptions::default(), dealer)
        .await
        .expect("the service starts")
}

fn options(server: &Server) -> Options {
    Options {
        target: format!("http://{}", server.address()),
        rounds: 300,
        concurrency: 8,
        connections: 2,
        players: 20,
        ..Options::default()
    }
}

fn assert_sound(report: &Report, rounds: u64) {
    assert!(report.ok, "{report}");
    assert_eq!(report.rounds, rounds, "{report}");
    assert!(report.calls >= rounds);
    assert!(report.errors.is_empty(), "{report}");
    assert_eq!(report.books.pool.check, PoolCheck::Exact);
    assert_eq!(report.books.pool.told_eur, report.books.pool.found_eur);
    assert_eq!(report.books.balances.told_minor, report.books.balances.found_minor);
}

#[tokio::test]
async fn unary_calls_and_streams_play_all_rounds_and_the_books_agree() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    for stream in [false, true] {
        let seen = Cell::new(0);
        let report = run(&Options { stream, ..options(&server) }, &|rounds| seen.set(rounds)).await.unwrap();
        assert_sound(&report, 300);
        assert_eq!(report.books.balances.bets_minor, 302 * 150);
        assert_eq!(report.books.pool.told_eur, "2.25");
        assert!(seen.get() <= 300);
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn players_that_are_there_play_on_run_after_run() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let existing = Options { existing: Some("old-".to_owned()), game: "neptune".to_owned(), ..options(&server) };
    let error = run(&existing, &|_| ()).await.unwrap_err();
    assert!(error.to_string().starts_with("looking up the players: "), "{error}");
    let connection = connect(&existing.target, &Credentials::default(), None).await.unwrap();
    let mut ledger = LedgerServiceClient::new(connection);
    for number in 0..20 {
        let account = Some(Account {
            operator_id: "loadtest".to_owned(),
            player_id: format!("old-{number:08}"),
            currency_code: "EUR".to_owned(),
        });
        let (request_id, amount_minor) = ("a".to_owned(), 1_000_000);
        ledger.open_account(OpenAccountRequest { request_id: "o".to_owned(), account: account.clone() }).await.unwrap();
        ledger.deposit(DepositRequest { request_id, account, amount_minor }).await.unwrap();
    }
    for _ in 0..2 {
        let report = run(&existing, &|_| ()).await.unwrap();
        assert!(report.ok, "{report}");
        assert_eq!((report.rounds, report.books.players), (300, 20));
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn uf_03_readers_of_histories_read_while_others_play() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let report = run(&Options { readers: 3, ..options(&server) }, &|_| ()).await.unwrap();
    assert_sound(&report, 300);
    assert!(report.reads.pages > 0 && report.reads.rounds > 0, "{report}");
    assert_eq!((report.reads.readers, report.reads.failed), (3, 0), "{report}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn the_books_agree_over_several_partitions() {
    let data = tempfile::tempdir().unwrap();
    let (listen, data) = (([127, 0, 0, 1], 0).into(), data.path().to_owned());
    let config = Config { listen, data, partitions: 3, ..Config::default() };
    let stores: Vec<_> = (0..3).map(|partition| Box::new(MemoryStore::new(partition)) as Box<dyn Store>).collect();
    let server = Server::start(&config, stores, LedgerOptions::default(), Dealer::from_master([7; 32])).await.unwrap();
    assert_sound(&run(&options(&server), &|_| ()).await.unwrap(), 300);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_constant_rate_is_kept_and_stated() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let time_max = Duration::from_secs(100);
    let report = run(&Options { rounds: 50, rate: Some(500.0), time_max, ..options(&server) }, &|_| ()).await.unwrap();
    assert_sound(&report, 50);
    assert!(report.seconds < 100.0, "{report}");
    assert!(report.seconds >= 0.098, "{report}");
    assert_eq!(report.rate, Some(500.0));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn no_round_is_begun_after_the_time_is_up() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let time_max = Duration::from_millis(100);
    let report = run(&Options { rounds: 1_000_000, time_max, ..options(&server) }, &|_| ()).await.unwrap();
    assert!(report.ok && report.rounds > 0 && report.rounds < 1_000_000, "{report}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_missed_threshold_fails_with_books_that_agree() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let thresholds = Thresholds { p99_ms_max: Some(1e-6), error_rate_max: 0.0 };
    let report = run(&Options { thresholds, ..options(&server) }, &|_| ()).await.unwrap();
    assert!(!report.ok && report.books.ok, "{report}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn others_who_play_meanwhile_are_found_out_unless_they_were_said_to_be_there() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    for shared in [false, true] {
        let other = Options { rounds: 400, shared: true, ..options(&server) };
        let mine = Options { rounds: 400, shared, ..options(&server) };
        let (other, mine) = tokio::join!(run(&other, &|_| ()), run(&mine, &|_| ()));
        assert!(other.unwrap().ok);
        let mine = mine.unwrap();
        assert_eq!(mine.ok, shared, "{mine}");
        assert_eq!(mine.books.wrong_balances, 0);
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_stake_that_is_not_offered_stops_the_run_before_it_starts() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let error = run(&Options { lines: 16, ..options(&server) }, &|_| ()).await.unwrap_err();
    assert!(error.to_string().starts_with("the first round: INVALID_STAKE: "), "{error}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_service_that_stops_meanwhile_is_an_error_and_no_hang() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let options = Options { rounds: 1_000_000, time_max: Duration::from_secs(1), ..options(&server) };
    let (ended, stopped) = tokio::join!(run(&options, &|_| ()), async {
        let mut head = server.ledger().head();
        head.wait_for(|head| head.position > 200).await.unwrap();
        drop(head);
        server.stop().await
    });
    stopped.unwrap();
    let error = ended.unwrap_err().to_string();
    assert!(error.starts_with("the books: "), "{error}");
}
