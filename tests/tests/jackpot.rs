//! Concurrent jackpots: decided by the log's order, exact at every position, paid once. Needs a build that can force hits.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(feature = "forced-outcomes")]

use motherlode_books::{Books, CoinValue, Event, HOME, Nano, PoolState, PoolStatus};
use motherlode_ledger::{Handle, Options};
use motherlode_proto::round::v1::{RoundState, jackpot_win};
use motherlode_tests::{Client, EUR, Force, bet, config, start, start_fresh, vials};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const NANO: i128 = 1_000_000_000;
const SEED: i128 = 20_000 * NANO;

/// Plays one round that hits the jackpot.
async fn hit(client: &mut Client, player: &str, coin: &str) -> motherlode_proto::spin::v1::Played {
    let account = client.fund(player, EUR, 100_000_000).await;
    let mut request = bet("hit", &account, coin);
    // Ten coins a line make the jackpot likely enough to be found soon.
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    client.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap()
}

/// The pool by plain arithmetic over the log, written apart from the books: EUR only, so a coin's share is coin / 10.
#[derive(Default)]
struct Model {
    increments: i128,
    reserve: i128,
    house: i128,
    contributed: i128,
    paid: i128,
    last_hit_ms: Option<i64>,
    /// Hits in the order of the log, with what each must be paid in cents.
    expected: Vec<(u64, i128)>,
}

impl Model {
    fn contribute(&mut self, bet_cents: i64) {
        // 0.5 % of a cent is 50,000 billionths of a euro.
        let part = i128::from(bet_cents) * 50_000;
        self.increments += part;
        self.contributed += part;
    }

    fn win(&mut self, position: u64, time_ms: i64, coin_micros: i128) {
        let seed = SEED * coin_micros / 10_000_000;
        let collision = self.last_hit_ms.is_some_and(|last| last / 3_000 == time_ms / 3_000);
        let share = if collision { self.increments } else { self.increments * coin_micros / 10_000_000 };
        let cents = (seed + share) / (NANO / 100);
        let from_reserve = seed.min(self.reserve);
        self.house += seed - from_reserve;
        self.paid += cents * (NANO / 100);
        self.reserve += seed - from_reserve + self.increments - cents * (NANO / 100);
        self.increments = 0;
        self.last_hit_ms = Some(time_ms);
        self.expected.push((position, cents));
    }

    fn balanced(&self) -> bool {
        self.contributed + self.house == self.paid + self.increments + self.reserve
    }
}

/// Cents paid for each hit.
type Paid = BTreeMap<u64, Vec<i128>>;

/// Follows the whole log with the model; gives it with what was awarded and paid for each hit.
fn follow(ledger: &Handle) -> (Model, Vec<(u64, i128)>, Paid) {
    let (mut model, mut awarded, mut paid) = (Model::default(), vec![], Paid::new());
    let (mut coins, mut books) = (BTreeMap::new(), Books::new());
    let mut next = 1;
    loop {
        let commits = ledger.read(next, 1000).unwrap();
        if commits.is_empty() {
            return (model, awarded, paid);
        }
        next += commits.len() as u64;
        for logged in commits {
            let commit = &logged.commit;
            for event in &commit.events {
                match event {
                    Event::RoundStarted(started) if started.contribution.is_some() => {
                        coins.insert((commit.stream.clone(), started.round), started.coin_value);
                        model.contribute(started.bet.0);
                    }
                    Event::JackpotHit { round, .. } => {
                        let CoinValue(micros) = coins[&(commit.stream.clone(), *round)];
                        model.win(commit.position, commit.time_ms, micros.into());
                    }
                    Event::JackpotAwarded(award) => awarded.push((award.hit, award.amount.0.into())),
                    Event::JackpotPaid { hit, amount, .. } => paid.entry(*hit).or_default().push(amount.0.into()),
                    _ => {}
                }
            }
            books.apply(commit).unwrap();
            let pools_balanced = books.pools().all(PoolState::is_balanced);
            let all_zero = books.trial_balance().iter().all(|sum| sum.0 == 0);
            assert!(model.balanced() && pools_balanced && all_zero, "position {}", commit.position);
        }
    }
}

/// Checks awards and payments against the model; `hits` were forced, and chance may add some.
fn check(ledger: &Handle, hits: usize) {
    let (model, awarded, paid) = follow(ledger);
    assert!(model.expected.len() >= hits);
    assert_eq!(awarded, model.expected, "awards in the order of the log, by the plain model");
    let once: Vec<_> = paid.iter().map(|(hit, amounts)| (*hit, amounts.as_slice())).collect();
    let expected: Vec<_> = model.expected.iter().map(|(hit, cents)| (*hit, std::slice::from_ref(cents))).collect();
    assert_eq!(once, expected, "each award is paid once");
    ledger.books(|books| {
        let pool = books.pool("bewitched").unwrap();
        assert_eq!(
            (pool.reserve, pool.house_funding, pool.paid),
            (Nano(model.reserve), Nano(model.house), Nano(model.paid))
        );
        assert!(books.trial_balance().iter().all(|sum| sum.0 == 0));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_16_bw_17_bw_18_sixty_four_concurrent_hits_are_paid_in_log_order() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let client = Client::connect(server.address()).await;
    let coins = ["0.01", "0.20", "1.00", "10.00"];
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let mut client = client.clone();
            tokio::spawn(async move { hit(&mut client, &format!("p{task}"), coins[task % 4]).await })
        })
        .collect();
    let mut told = BTreeMap::new();
    for task in tasks {
        let played = task.await.unwrap();
        let jackpot = played.jackpot.expect("it was a hit");
        assert_eq!(jackpot.state(), jackpot_win::State::Paid);
        told.insert(jackpot.hit_position, i128::from(jackpot.amount.unwrap().amount_minor));
    }
    check(server.ledger(), 64);
    let (model, ..) = follow(server.ledger());
    assert_eq!(told.into_iter().collect::<Vec<_>>(), model.expected, "what players were told is what was paid");
    server.stop().await.unwrap();
    let report = motherlode_audit::audit(&motherlode_audit::Options {
        log: motherlode_tests::log_folder(data.path()),
        index: Some(motherlode::server::index_folder(data.path(), HOME)),
        partition: HOME,
    });
    assert_eq!(report.unwrap().divergence, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_16_a_hit_without_its_award_at_a_crash_is_awarded_once_after_it() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    // Only the ledger and spin run: nobody prices hits, as if the process had died right after the hit.
    {
        let stores = motherlode::server::open_stores(&config).unwrap();
        let ledger = motherlode_ledger::open(
            stores.home,
            &motherlode::server::index_folder(data.path(), HOME),
            Options::default(),
        )
        .unwrap();
        motherlode_jackpot::Steward::new(ledger.clone()).ensure_pool("bewitched").await.unwrap();
        let (_stopper, stop) = motherlode_runtime::stop::channel();
        let dealer = motherlode_spin::Dealer::new().unwrap();
        let api = motherlode_spin::SpinApi::new(ledger.clone(), dealer, Duration::ZERO, stop.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        use motherlode_proto::{
            ledger::v1::ledger_service_server::LedgerServiceServer, spin::v1::spin_service_server::SpinServiceServer,
        };
        let serving = tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(SpinServiceServer::new(api))
                .add_service(LedgerServiceServer::new(motherlode_ledger::LedgerApi::new(ledger.clone(), stop)))
                .serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener)),
        );
        let mut client = Client::connect(address).await;
        for player in ["one", "two"] {
            let played = hit(&mut client, player, "1.00").await;
            assert_eq!(played.state(), RoundState::Settled);
            assert_eq!(played.jackpot.unwrap().state(), jackpot_win::State::Pending);
        }
        serving.abort();
        let _ = serving.await;
        ledger.close().await;
    }
    let server = start(data.path()).await;
    let mut head = server.ledger().head();
    let done = || {
        server.ledger().books(|books| {
            books.pending_decisions("bewitched").next().is_none() && books.unpaid_awards().next().is_none()
        })
    };
    tokio::time::timeout(Duration::from_secs(30), async {
        while !done() {
            head.changed().await.unwrap();
        }
    })
    .await
    .expect("both awards come");
    check(server.ledger(), 2);
    server.stop().await.unwrap();
    // A further start finds nothing to do.
    let server = start(data.path()).await;
    check(server.ledger(), 2);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_20_a_suspended_pool_takes_and_gives_nothing() {
    use motherlode_proto::jackpot::v1::{GetPoolRequest, ResumePoolRequest, SuspendPoolRequest};
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000_000).await;
    client.play_out(bet("before", &account, "1.00")).await.unwrap();
    let suspend = SuspendPoolRequest {
        request_id: "s1".into(),
        pool_id: "bewitched".into(),
        reason: "test".into(),
        actor: "ann".into(),
    };
    client.jackpot.suspend_pool(suspend).await.unwrap();
    let before = server.ledger().books(|books| {
        books.pool("bewitched").unwrap().contributions.0 + books.pending_contributions("bewitched", 0, u64::MAX).0
    });
    client.play_out(bet("while", &account, "1.00")).await.unwrap();
    let after = server.ledger().books(|books| {
        let pool = books.pool("bewitched").unwrap();
        assert_eq!(pool.status, PoolStatus::Suspended);
        pool.contributions.0 + books.pending_contributions("bewitched", 0, u64::MAX).0
    });
    assert_eq!(before, after);
    let resume = ResumePoolRequest { request_id: "s2".into(), pool_id: "bewitched".into(), actor: "ann".into() };
    client.jackpot.resume_pool(resume).await.unwrap();
    client.play_out(bet("after", &account, "1.00")).await.unwrap();
    let pool = client.jackpot.get_pool(GetPoolRequest { pool_id: "bewitched".into() }).await.unwrap().into_inner().pool;
    assert_eq!(pool.unwrap().cycle, 1, "the same figures go on");
    let resumed = server.ledger().books(|books| {
        books.pool("bewitched").unwrap().contributions.0 + books.pending_contributions("bewitched", 0, u64::MAX).0
    });
    assert_eq!(resumed - after, 15 * NANO / 200);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_22_bw_24_a_line_win_can_be_doubled_five_times() {
    use motherlode_proto::round::v1::{Card, choice::Kind};
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000).await;
    let mut request = bet("d", &account, "0.01");
    request.offer_double = true;
    let spun = client.spin(request, Some(Force::Double)).await.unwrap();
    assert_eq!(spun.state(), RoundState::Open);
    // Coins of a cent. What scatters won beside the lines is not at risk (BW-23).
    let wins = spun.outcome.as_ref().unwrap().spins[0].wins.iter();
    let mut at_risk: i64 = wins.filter(|win| win.line > 0).map(|win| i64::try_from(win.coins).unwrap()).sum();
    let rest = spun.win.unwrap().amount_minor - at_risk;
    let mut turned = vec![];
    for turn in 1..=5 {
        let guess = Kind::Double(Card::RedHeart.into());
        let played = client.choose(&format!("d.{turn}"), &spun.round_id, guess, Some(Force::Right)).await.unwrap();
        let outcome = played.outcome.as_ref().unwrap();
        turned.insert(0, Card::RedHeart as i32);
        assert_eq!(outcome.double_strip, turned, "the latest first");
        at_risk *= 2;
        assert_eq!(played.win.as_ref().unwrap().amount_minor, rest + at_risk);
        let state = if turn == 5 { RoundState::Settled } else { RoundState::Open };
        assert_eq!(played.state(), state, "turn {turn}");
    }
    assert_eq!(client.balance(&account).await, 10_000 - 15 + rest + at_risk);
    server.stop().await.unwrap();
}

/// Hits that come in while many others bet: the answer waits for its award, and every bet counts once.
#[tokio::test(flavor = "multi_thread")]
async fn bw_11_contributions_of_concurrent_bets_are_pooled_exactly() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let client = Client::connect(server.address()).await;
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let mut client = client.clone();
            tokio::spawn(async move {
                let account = client.fund(&format!("p{task}"), EUR, 10_000_000).await;
                for round in 0..20 {
                    client.play_out(bet(&format!("r{round}"), &account, "0.05")).await.unwrap();
                }
                hit(&mut client, &format!("h{task}"), "0.20").await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    check(server.ledger(), 16);
    let ledger: Arc<Handle> = Arc::new(server.ledger().clone());
    let (model, ..) = follow(&ledger);
    // 320 rounds of 0.75 EUR and 16 of 30 EUR, and half a percent of it.
    assert_eq!(model.contributed, (320 * 75 + 16 * 3_000) * 50_000);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_an_award_is_shown_to_its_own_operator_and_to_the_platform() {
    use motherlode_proto::jackpot::v1::ListAwardsRequest;
    use motherlode_runtime::{Config, connect::connect};
    use motherlode_tests::operators::{operator, token};

    let all = r#"["play", "wallet", "audit"]"#;
    let ids = ["acme", "other", "platform"];
    let text = ids.map(|id| operator(id, &[(id, all)])).concat();
    let data = tempfile::tempdir().unwrap();
    let config = Config { operators: Config::parse(&text).unwrap().operators, ..config(data.path()) };
    let server = start_fresh(&config).await;
    let target = format!("http://{}", server.address());
    let client = async |id: &str| Client::on(connect(&target, &token(id), None).await.unwrap());
    hit(&mut client("acme").await, "alice", "0.10").await;
    let awards = async |id: &str| {
        let request = ListAwardsRequest { pool_id: "bewitched".into(), ..ListAwardsRequest::default() };
        client(id).await.jackpot.list_awards(request).await.unwrap().into_inner().awards
    };
    // The list is read from the index, which follows the log.
    let own = async {
        loop {
            let own = awards("acme").await;
            if !own.is_empty() {
                break own;
            }
        }
    };
    let own = tokio::time::timeout(Duration::from_secs(20), own).await.expect("the award is listed");
    assert_eq!(own[0].round_id, "acme/alice/1");
    assert_eq!(awards("platform").await, own);
    assert_eq!(awards("other").await, []);
    server.stop().await.unwrap();
}
