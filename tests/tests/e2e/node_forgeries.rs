use crate::PROGRAM;
use motherlode_ledger::Options;
use motherlode_log::MemoryStore;
use motherlode_proto::{
    convert::{event::to_log, record},
    jackpot::v1::{PoolStatus, ReleaseHitsRequest, SuspendPoolRequest},
    ledger::v1::CancelRequestRequest,
    log::v1::{
        Proposal, ProposeRequest, log_service_client::LogServiceClient, not_taken::Cause, verdict::Outcome as Verdict,
    },
    round::v1::Account,
};
use motherlode_runtime::{
    Config,
    config::Role,
    connect::{Connection, connect},
};
use motherlode_server::{LogLocation, Server};
use motherlode_state::{
    ChangeProposed, CoinValue, CollisionShare, Currency, Event, Minor, Nano, PoolTerms, StreamId, Switch,
};
use motherlode_tests::{
    Client, EUR, bet, config, dealer,
    operators::{operator, token},
    reason, whole,
};
use std::{fs, path::Path, process::Command};
use tonic::Code;

const OPERATOR: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

pub(crate) struct Service {
    pub(crate) ledger: Server,
    pub(crate) spin: Server,
    pub(crate) config: Config,
    _data: tempfile::TempDir,
}

impl Service {
    pub(crate) async fn start() -> Self {
        Self::start_with(1, "").await
    }

    pub(crate) async fn start_with(partitions: u32, of_acme: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let nodes = [("spin", r#"["node-spin"]"#), ("jackpot", r#"["node-jackpot"]"#), ("peer", r#"["node-ledger"]"#)];
        let platform = [&[("ann", OPERATOR), ("bob", OPERATOR)][..], &nodes].concat();
        let entry = format!("[[operators]]\n{of_acme}");
        let acme = operator("acme", &[("acme", OPERATOR), ("till", r#"["wallet"]"#)]);
        let text = acme.replacen("[[operators]]\n", &entry, 1)
            + &operator("other", &[("other", OPERATOR)])
            + &operator("platform", &platform);
        let of_file = Config { operators: Config::parse(&text).unwrap().operators, ..config(data.path()) };
        let of_ledger = Config { role: Role::Ledger, partitions, ..of_file.clone() };
        let stores = whole(&of_ledger, Box::new(MemoryStore::new(0)));
        let ledger = Server::start(&of_ledger, stores, Options::default(), dealer()).await.unwrap();
        let spin = join(&of_ledger, Role::Spin, data.path(), &ledger, "spin", dealer()).await;
        Self { ledger, spin, config: of_ledger, _data: data }
    }

    pub(crate) fn stream(&self) -> StreamId {
        StreamId::player("acme", "alice")
    }

    pub(crate) async fn player(&self) -> Account {
        let account = client(&self.ledger, "acme").await.fund("alice", EUR, 100_000).await;
        client(&self.spin, "acme").await.play_out(bet("first", &account, "0.01")).await.unwrap();
        account
    }

    pub(crate) async fn refused(&self, shown: &str, stream: &StreamId, events: Vec<Event>) -> String {
        let version = self.ledger.ledger().books_of(stream, |books| books.head(stream).version).unwrap();
        self.refused_at(shown, stream, "forged", Some(version), events).await
    }

    pub(crate) async fn refused_at(
        &self,
        shown: &str,
        stream: &StreamId,
        request_id: &str,
        expected_version: Option<u64>,
        events: Vec<Event>,
    ) -> String {
        let before = self.ledger.ledger().durable();
        let outcome = self.propose(shown, 0, stream, request_id, expected_version, &events).await;
        assert_eq!(self.ledger.ledger().durable(), before, "{events:?} was written");
        match outcome {
            Some(Verdict::NotTaken(not_taken)) if not_taken.cause() == Cause::NotAllowed => {
                not_taken.reason.split(':').next().unwrap_or_default().to_owned()
            }
            Some(Verdict::Refused(_)) => "REFUSED".to_owned(),
            Some(Verdict::ConflictVersion(_)) => "CONFLICT".to_owned(),
            other => panic!("{events:?}: {other:?}"),
        }
    }

    pub(crate) async fn accepted(&self, shown: &str, stream: &StreamId, events: Vec<Event>) {
        let version = self.ledger.ledger().books_of(stream, |books| books.head(stream).version).unwrap();
        let outcome = self.propose(shown, 0, stream, "forged", Some(version), &events).await;
        assert!(matches!(outcome, Some(Verdict::Position(_))), "{outcome:?}");
    }

    pub(crate) async fn propose(
        &self,
        shown: &str,
        partition: u32,
        stream: &StreamId,
        request_id: &str,
        expected_version: Option<u64>,
        events: &[Event],
    ) -> Option<Verdict> {
        let proposal = Proposal {
            ticket: 1,
            stream: stream.to_string(),
            expected_version,
            request_id: request_id.to_owned(),
            fingerprint: vec![0; 16],
            events: events.iter().map(to_log).collect(),
            ..Proposal::default()
        };
        let mut log = LogServiceClient::new(connection(&self.ledger, shown).await);
        let message = ProposeRequest { partition, proposals: vec![proposal] };
        let mut verdicts = log.propose(tokio_stream::iter([message])).await.unwrap().into_inner();
        verdicts.message().await.unwrap().unwrap().verdicts.remove(0).outcome
    }

    pub(crate) async fn stop(self) {
        self.spin.stop().await.unwrap();
        self.ledger.stop().await.unwrap();
    }
}

pub(crate) async fn join(
    config: &Config,
    role: Role,
    data: &Path,
    ledger: &Server,
    shown: &str,
    dealer: motherlode_spin::Dealer,
) -> Server {
    let mut config = Config { role, data: data.join(shown), ..config.clone() };
    fs::create_dir_all(&config.data).unwrap();
    fs::write(config.data.join("token"), shown).unwrap();
    config.ledger.token_file = Some(config.data.join("token"));
    config.ledger.targets = vec![format!("http://{}", ledger.address())];
    Server::join(&config, Options::default(), dealer).await.unwrap()
}

async fn connection(server: &Server, shown: &str) -> Connection {
    connect(&format!("http://{}", server.address()), &token(shown), None).await.unwrap()
}

pub(crate) async fn client(server: &Server, shown: &str) -> Client {
    Client::on(connection(server, shown).await)
}

pub(crate) fn acted(actor: &str) -> Event {
    Event::ActedBy { actor: actor.to_owned(), reference: String::new() }
}

pub(crate) fn terms() -> PoolTerms {
    PoolTerms {
        version: 2,
        contribution_ppm: 10_000,
        seed: Nano(30_000 * 1_000_000_000),
        base_coin: CoinValue(10_000_000),
        refresh_ms: 3_000,
        collision_share: CollisionShare::Full,
    }
}

fn proposed(actor: &str) -> Vec<Event> {
    let change = Box::new(Event::PoolTermsChanged { terms: terms() }.as_proposed());
    let (stream, lapses_ms) = (StreamId::pool("bewitched"), i64::MAX);
    let proposed = ChangeProposed { stream, change, actor: actor.to_owned(), lapses_ms };
    vec![Event::ChangeProposed(proposed), acted(actor)]
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_a_node_proposes_only_the_events_of_its_role() {
    let service = Service::start().await;
    service.player().await;
    let (alice, pool, currency) = (service.stream(), StreamId::pool("bewitched"), Currency::EUR);
    let amount = Minor(5_000);
    let switch = Switch { operator: "acme".into(), ..Switch::default() };
    let set = |on| Event::SwitchSet { switch: switch.clone(), on, reason: "x".to_owned(), actor: "c0".to_owned() };
    let both = [
        (&alice, vec![Event::Deposited { currency, amount }, acted("acme/c0")]),
        (&alice, vec![Event::Withdrawn { currency, amount }, acted("acme/c0")]),
        (&alice, vec![Event::AccountOpened { currency: Currency::SEK }, acted("acme/c0")]),
        (&alice, vec![Event::RequestCancelled, acted("acme/c0")]),
        (&pool, vec![Event::PoolTermsChanged { terms: terms() }]),
        (&pool, vec![Event::PoolResumed { actor: "c0".to_owned() }]),
        (&pool, vec![Event::PoolSuspended { reason: "x".to_owned(), actor: "c0".to_owned() }]),
        (&pool, vec![acted("c0")]),
        (&StreamId::System, proposed("c0")),
        (&StreamId::System, vec![set(false)]),
        (&StreamId::System, vec![set(true)]),
        (
            &StreamId::Rates,
            vec![Event::RateSet {
                currency: Currency::SEK,
                rate: motherlode_state::FxRate::new(9, -2).unwrap(),
                source: "x".to_owned(),
            }],
        ),
        (
            &StreamId::System,
            vec![Event::ChangeApproved { change: 1, proposed_by: "c0".to_owned(), actor: "c1".to_owned() }],
        ),
    ];
    for (stream, events) in both {
        for node in ["spin", "jackpot"] {
            assert_eq!(service.refused(node, stream, events.clone()).await, "KIND_NOT_ALLOWED", "{node}: {events:?}");
        }
    }
    let settled = vec![Event::RoundSettled { round: 2, win: Minor(1_000_000_000_000) }];
    let paid = Event::JackpotPaid { round: 1, pool: "bewitched".into(), hit: 3, amount, currency };
    assert_eq!(service.refused("jackpot", &alice, settled.clone()).await, "KIND_NOT_ALLOWED");
    assert_eq!(service.refused("peer", &alice, settled).await, "KIND_NOT_ALLOWED");
    assert_eq!(service.refused("spin", &alice, vec![paid]).await, "KIND_NOT_ALLOWED");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_the_writer_checks_actors_and_second_actors() {
    let service = Service::start().await;
    service.player().await;
    let (alice, pool) = (service.stream(), StreamId::pool("bewitched"));
    let (currency, amount) = (Currency::EUR, Minor(5_000));
    let cancelled = |actor| vec![Event::RequestCancelled, acted(actor)];
    let approved = |actor: &str| {
        let (change, proposed_by, actor) = (1, "c0".to_owned(), actor.to_owned());
        vec![Event::ChangeApproved { change, proposed_by, actor }, Event::PoolTermsChanged { terms: terms() }]
    };
    for (node, stream, events, reason) in [
        ("peer", &alice, cancelled("other/c0"), "ACTOR_ROLE_MISSING"),
        ("peer", &alice, cancelled("acme/ghost"), "ACTOR_UNKNOWN"),
        ("peer", &alice, cancelled("(anyone)"), "ACTOR_UNKNOWN"),
        ("peer", &alice, vec![Event::RequestCancelled], "ACTOR_MISSING"),
        ("peer", &alice, vec![Event::Deposited { currency, amount }], "ACTOR_MISSING"),
        ("peer", &alice, vec![Event::Deposited { currency, amount }, acted("other/c0")], "ACTOR_ROLE_MISSING"),
        ("peer", &pool, vec![Event::PoolTermsChanged { terms: terms() }], "APPROVAL_MISSING"),
        ("peer", &pool, vec![Event::PoolResumed { actor: "c0".to_owned() }], "APPROVAL_MISSING"),
        ("peer", &pool, approved("ghost"), "ACTOR_UNKNOWN"),
        ("peer", &pool, approved("c2"), "ACTOR_ROLE_MISSING"),
        ("peer", &StreamId::System, proposed("ghost"), "ACTOR_UNKNOWN"),
        ("peer", &StreamId::System, proposed("acme/c0"), "ACTOR_ROLE_MISSING"),
        (
            "peer",
            &pool,
            vec![Event::PoolSuspended { reason: "x".to_owned(), actor: "acme/c0".to_owned() }],
            "ACTOR_ROLE_MISSING",
        ),
    ] {
        assert_eq!(service.refused(node, stream, events.clone()).await, reason, "{events:?}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_pools_are_changed_at_the_ledger_process_and_not_at_a_jackpot_process() {
    let service = Service::start().await;
    let data = tempfile::tempdir().unwrap();
    let jackpot = join(&service.config, Role::Jackpot, data.path(), &service.ledger, "jackpot", dealer()).await;
    let suspend = |request_id: &str| SuspendPoolRequest {
        request_id: request_id.to_owned(),
        pool_id: "bewitched".to_owned(),
        reason: "x".to_owned(),
        actor: String::new(),
    };
    let before = service.ledger.ledger().durable();
    let refused = client(&jackpot, "ann").await.jackpot.suspend_pool(suspend("one")).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::FailedPrecondition, "CHANGE_ELSEWHERE"), "{refused:?}");
    let release = ReleaseHitsRequest { request_id: "two".into(), pool_id: "bewitched".into(), ..Default::default() };
    let release = ReleaseHitsRequest { reason: "x".into(), ..release };
    let refused = client(&jackpot, "ann").await.jackpot.release_hits(release).await.unwrap_err();
    assert_eq!(&*reason(&refused), "CHANGE_ELSEWHERE", "{refused:?}");
    assert_eq!(service.ledger.ledger().durable(), before);
    let suspended = client(&service.ledger, "ann").await.jackpot.suspend_pool(suspend("one")).await.unwrap();
    let suspended = suspended.into_inner();
    assert_eq!((suspended.change_id, suspended.pool.unwrap().status()), (0, PoolStatus::Suspended));
    jackpot.stop().await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_44_a_commit_keeps_the_credential_that_proposed_it() {
    let service = Service::start().await;
    service.player().await;
    let ledger = service.ledger.ledger();
    let records = ledger.records(1, usize::MAX, usize::MAX).unwrap();
    let (mut own, mut of_spin) = (0, 0);
    for stored in records {
        let logged = record::decode(&stored.bytes).unwrap();
        let plays = logged.commit.events.iter().any(|event| matches!(event, Event::StepResolved(_)));
        match &logged.proposer {
            None => own += 1,
            Some(proposer) => {
                assert_eq!((&*proposer.credential, &*proposer.roles), ("c2", "node-spin"));
                of_spin += 1;
            }
        }
        assert_eq!(plays, logged.proposer.is_some(), "{:?}", logged.commit.events);
    }
    assert!(own > 0 && of_spin > 0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e1_log_show_names_the_credential_that_proposed_a_commit() {
    let service = Service::start().await;
    service.player().await;
    let records = service.ledger.ledger().records(1, usize::MAX, usize::MAX).unwrap();
    let all: Vec<_> = records.into_iter().map(|record| record.bytes).collect();
    service.stop().await;
    let data = tempfile::tempdir().unwrap();
    let folder = LogLocation::Folder { data: data.path().to_owned(), segment_bytes: 1 << 20 };
    folder.open(0).unwrap().append(0, &all).unwrap();
    let (mut own, mut of_spin) = (0, 0);
    for (position, record) in (1..).zip(&all) {
        let plays = record::decode(record).unwrap().commit.events.iter().any(|of| matches!(of, Event::StepResolved(_)));
        let show = ["log", "show", data.path().to_str().unwrap(), &position.to_string()];
        let shown = Command::new(PROGRAM).args(show).output().unwrap();
        let printed = String::from_utf8(shown.stdout).unwrap();
        let lines: Vec<_> = printed.lines().filter(|line| line.contains("proposed by")).collect();
        match plays {
            true => assert_eq!(lines, ["  proposed by c2, roles: node-spin"], "{printed}"),
            false => assert!(shown.status.success() && lines.is_empty(), "{printed}"),
        }
        (own, of_spin) = (own + u32::from(!plays), of_spin + u32::from(plays));
    }
    assert!(own > 0 && of_spin > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_the_writer_refuses_parts_of_a_cancelled_series() {
    let service = Service::start().await;
    let account = service.player().await;
    let alice = service.stream();
    let cancel = |request_id: &str| CancelRequestRequest {
        account: Some(account.clone()),
        request_id: request_id.to_owned(),
        ..CancelRequestRequest::default()
    };
    client(&service.ledger, "acme").await.ledger.cancel_request(cancel("series")).await.unwrap();
    let part = |series: &str| {
        let opened = Event::AccountOpened { currency: Currency::PLAY };
        vec![opened, Event::PartOf { request_id: series.into() }]
    };
    let before = service.ledger.ledger().durable();
    let refused = service.propose("spin", 0, &alice, "series.3", None, &part("series")).await;
    assert_eq!(refused, Some(Verdict::CancelledRequestId("series".to_owned())));
    let refused = service.propose("spin", 0, &alice, "first.1", None, &part("first")).await;
    assert_eq!(refused, Some(Verdict::ReusedRequestId("first".to_owned())));
    assert_eq!(service.ledger.ledger().durable(), before);
    let taken = service.propose("spin", 0, &alice, "another.1", None, &part("another")).await;
    assert!(matches!(taken, Some(Verdict::Position(_))), "{taken:?}");
    service.stop().await;
}
