//! Changes of pools and switches over gRPC, where there are operators: asked for by one actor, approved by another (PL-27).

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use motherlode_ledger::Options;
use motherlode_proto::{
    jackpot::v1::{
        ChangePoolTermsRequest, GetPoolRequest, OpenPoolRequest, Pool, PoolStatus, PoolTerms, ResumePoolRequest,
        RetirePoolRequest, SuspendPoolRequest,
    },
    ledger::v1::{
        ApproveChangeRequest, Change, ListChangesRequest, ListSwitchesRequest, RejectChangeRequest, SetSwitchRequest,
        Switch, set_switch_request::State,
    },
    report::v1::{ListSignificantEventsRequest, SignificantEvent, SignificantKind as Kind},
};
use motherlode_runtime::{Config, connect::connect};
use motherlode_tests::Server;
use motherlode_tests::{
    Client, EUR, audited, bet, checked, config,
    operators::{operator, token},
    reason, start_with,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use tonic::{Code, Status};

const START_MS: i64 = 1_798_761_600_000;
const DAY_MS: i64 = 86_400_000;

struct Service {
    server: Server,
    clock: Arc<AtomicI64>,
}

impl Service {
    /// The platform has two actors, of whom the first has two tokens, and acme has one that may do everything.
    async fn start(data: &Path) -> Self {
        let all = r#"["play", "wallet", "support", "audit", "admin"]"#;
        let platform = operator("platform", &[("ann", all), ("bob", all), ("ann-too", all)]);
        let platform = platform.replace("name = \"c2\"", "name = \"c0\"");
        Self::start_as(data, &(operator("acme", &[("acme", all)]) + &platform)).await
    }

    async fn start_as(data: &Path, operators: &str) -> Self {
        let clock = Arc::new(AtomicI64::new(START_MS));
        let time = Arc::clone(&clock);
        let options = Options { clock: Arc::new(move || time.load(Ordering::SeqCst)), ..Options::default() };
        let config = Config { operators: Config::parse(operators).unwrap().operators, ..config(data) };
        let store = motherlode::server::open_stores(&config).unwrap();
        Self { server: start_with(&config, store, options).await, clock }
    }

    async fn client(&self, shown: &str) -> Client {
        Client::on(connect(&format!("http://{}", self.server.address()), &token(shown), None).await.unwrap())
    }
}

fn off(request_id: &str, game: &str) -> SetSwitchRequest {
    SetSwitchRequest {
        request_id: request_id.into(),
        switch: Some(Switch { game: game.into(), ..Switch::default() }),
        state: State::Off.into(),
        reason: "reel 3 stuck".into(),
        actor: "Ann".into(),
    }
}

async fn propose(client: &mut Client, request: SetSwitchRequest) -> u64 {
    let asked = client.ledger.set_switch(request).await.unwrap().into_inner();
    assert_eq!(asked.position, 0, "nothing holds yet");
    asked.change_id
}

async fn approve(client: &mut Client, request_id: &str, change_id: u64) -> Result<u64, Status> {
    let request = ApproveChangeRequest { request_id: request_id.into(), change_id };
    Ok(client.ledger.approve_change(request).await?.into_inner().position)
}

async fn waiting(client: &mut Client) -> Vec<Change> {
    client.ledger.list_changes(ListChangesRequest {}).await.unwrap().into_inner().changes
}

async fn switched_off(client: &mut Client) -> usize {
    client.ledger.list_switches(ListSwitchesRequest {}).await.unwrap().into_inner().switched_off.len()
}

async fn pool(client: &mut Client, pool_id: &str) -> Result<Pool, Status> {
    let request = GetPoolRequest { pool_id: pool_id.into() };
    Ok(client.jackpot.get_pool(request).await?.into_inner().pool.unwrap())
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_switch_takes_two_actors_over_restarts_and_the_audit_knows_both() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let change = propose(&mut ann, off("s", "neptune")).await;
    assert_eq!(propose(&mut ann, off("s", "neptune")).await, change, "the same request has the same answer");
    assert_eq!(switched_off(&mut ann).await, 0);
    let listed = waiting(&mut bob).await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].change_id, listed[0].stream.as_str(), listed[0].actor.as_str()), (change, "system", "c0"));
    assert_eq!(listed[0].lapse_time.unwrap().seconds, (START_MS + DAY_MS) / 1000);

    let before = service.server.ends();
    expect(approve(&mut ann, "a", change).await, Code::PermissionDenied, "SAME_ACTOR");
    let mut too = service.client("ann-too").await;
    expect(approve(&mut too, "a", change).await, Code::PermissionDenied, "SAME_ACTOR");
    let mut acme = service.client("acme").await;
    expect(approve(&mut acme, "a", change).await, Code::PermissionDenied, "ROLE_MISSING");
    expect(approve(&mut bob, "a", change + 1).await, Code::NotFound, "CHANGE_UNKNOWN");
    expect(approve(&mut bob, "a", 1).await, Code::NotFound, "CHANGE_UNKNOWN");
    assert_eq!(service.server.ends(), before);
    service.server.stop().await.unwrap();

    let service = Service::start(data.path()).await;
    let mut bob = service.client("bob").await;
    let position = approve(&mut bob, "a", change).await.unwrap();
    assert_eq!(switched_off(&mut bob).await, 1);
    assert_eq!(approve(&mut bob, "a", change).await.unwrap(), position, "the same request has the same answer");
    expect(approve(&mut bob, "b", change).await, Code::NotFound, "CHANGE_UNKNOWN");
    assert_eq!(waiting(&mut bob).await, []);
    assert_eq!(service.server.ledger().durable(), position);
    service.server.stop().await.unwrap();

    let whole = audited(data.path(), config(data.path()).partitions as usize);
    assert!(whole.partitions.iter().all(|report| report.books.switched_off().count() == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_change_lapses_is_rejected_or_taken_back_and_then_never_made() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let reject = |request_id: &str, change_id| {
        let (request_id, reason) = (request_id.to_owned(), "not now".to_owned());
        RejectChangeRequest { request_id, change_id, reason }
    };
    for (number, who) in [(1, &mut ann.clone()), (2, &mut bob.clone())] {
        let change = propose(&mut ann, off(&format!("s{number}"), "neptune")).await;
        let request = reject(&format!("r{number}"), change);
        let position = who.ledger.reject_change(request.clone()).await.unwrap().into_inner().position;
        let again = who.ledger.reject_change(request).await.unwrap().into_inner().position;
        assert_eq!(position, again);
        expect(approve(&mut bob, &format!("a{number}"), change).await, Code::NotFound, "CHANGE_UNKNOWN");
    }
    let change = propose(&mut ann, off("s3", "neptune")).await;
    service.clock.fetch_add(DAY_MS - 1, Ordering::SeqCst);
    assert_eq!(waiting(&mut bob).await.len(), 1);
    service.clock.fetch_add(1, Ordering::SeqCst);
    assert_eq!(waiting(&mut bob).await, []);
    expect(approve(&mut bob, "a3", change).await, Code::FailedPrecondition, "CHANGE_LAPSED");
    let late = bob.ledger.reject_change(reject("r3", change)).await;
    expect(late, Code::FailedPrecondition, "CHANGE_LAPSED");
    assert_eq!(switched_off(&mut bob).await, 0);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_every_change_of_a_pool_takes_two_actors_and_is_checked_at_both_times() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let (id, actor) = (str::to_owned, || "Ann".to_owned());
    let terms = Some(PoolTerms {
        contribution_ppm: 6_000,
        seed_eur: "20000".into(),
        base_coin: "10".into(),
        refresh_ms: 3_000,
        ..PoolTerms::default()
    });
    let open = OpenPoolRequest { request_id: id("o"), pool_id: id("heir"), terms: terms.clone() };
    let asked = ann.jackpot.open_pool(open.clone()).await.unwrap().into_inner();
    assert_eq!(asked.pool, None);
    expect(pool(&mut ann, "heir").await, Code::NotFound, "POOL_UNKNOWN");
    approve(&mut bob, "o", asked.change_id).await.unwrap();
    assert_eq!(pool(&mut ann, "heir").await.unwrap().status(), PoolStatus::Active);
    let again = ann.jackpot.open_pool(open.clone()).await.unwrap().into_inner();
    assert_eq!((again.change_id, again.pool.is_some()), (asked.change_id, true));
    let twice = OpenPoolRequest { request_id: id("o2"), ..open };
    expect(ann.jackpot.open_pool(twice).await, Code::AlreadyExists, "POOL_EXISTS");

    let change = ChangePoolTermsRequest { request_id: id("t"), pool_id: id("bewitched"), terms };
    let asked = ann.jackpot.change_pool_terms(change).await.unwrap().into_inner();
    assert_eq!(asked.pool.unwrap().pending_terms, None);
    approve(&mut bob, "t", asked.change_id).await.unwrap();
    assert_eq!(pool(&mut ann, "bewitched").await.unwrap().pending_terms.unwrap().version, 2);

    let suspend = |request_id: &str| SuspendPoolRequest {
        request_id: request_id.to_owned(),
        pool_id: id("bewitched"),
        reason: id("test"),
        actor: actor(),
    };
    let (first, second) = (suspend("s1"), suspend("s2"));
    let first = ann.jackpot.suspend_pool(first).await.unwrap().into_inner().change_id;
    let second = ann.jackpot.suspend_pool(second).await.unwrap().into_inner().change_id;
    approve(&mut bob, "s1", first).await.unwrap();
    expect(approve(&mut bob, "s2", second).await, Code::FailedPrecondition, "POOL_STATUS");
    assert_eq!(waiting(&mut ann).await.len(), 1, "what was refused still waits");

    let resume = ResumePoolRequest { request_id: id("r"), pool_id: id("bewitched"), actor: actor() };
    let resume = ann.jackpot.resume_pool(resume).await.unwrap().into_inner().change_id;
    let retire = |request_id: &str| RetirePoolRequest {
        request_id: request_id.to_owned(),
        pool_id: id("bewitched"),
        into_pool_id: id("heir"),
        actor: actor(),
    };
    let retired = ann.jackpot.retire_pool(retire("x")).await.unwrap().into_inner().change_id;
    approve(&mut bob, "r", resume).await.unwrap();
    expect(approve(&mut bob, "x", retired).await, Code::FailedPrecondition, "POOL_STATUS");
    expect(ann.jackpot.retire_pool(retire("y")).await, Code::FailedPrecondition, "POOL_STATUS");

    // What was pooled after the proposal moves as well.
    let mut acme = service.client("acme").await;
    let alice = acme.fund("alice", EUR, 1_000_000).await;
    acme.play_out(bet("b", &alice, "0.01")).await.unwrap();
    approve(&mut bob, "s2", second).await.unwrap();
    // The steward has yet to pool the bet: that is waited for.
    let position = approve(&mut bob, "x", retired).await.unwrap();
    assert_eq!(pool(&mut ann, "bewitched").await.unwrap().status(), PoolStatus::Retired);
    let commit = service.server.ledger().fetch(position).unwrap();
    assert_eq!(commit.commit.events.len(), 2, "the approval and the change are one commit");
    service.server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_22_pl_27_significant_events_name_both_actors_and_proposals_are_for_the_platform() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let change = propose(&mut ann, off("s", "neptune")).await;
    approve(&mut bob, "a", change).await.unwrap();
    let other = propose(&mut bob, off("t", "bewitched")).await;
    let reject = RejectChangeRequest { request_id: "r".into(), change_id: other, reason: "not now".into() };
    ann.ledger.reject_change(reject).await.unwrap();
    let seen = async |who: &mut Client| {
        let request = ListSignificantEventsRequest::default();
        let mut events = who.report.list_significant_events(request).await.unwrap().into_inner().events;
        events.retain(|event| event.kind() != Kind::ParameterChanged);
        events.reverse();
        events
    };
    let said = |event: &SignificantEvent| {
        let SignificantEvent { subject, actor, approver, reason, .. } = event.clone();
        (event.kind(), [subject, actor, approver, reason])
    };
    let expected = [
        (Kind::ChangeProposed, ["game neptune", "c0", "", "reel 3 stuck"]),
        (Kind::Switched, ["game neptune", "c0 for Ann", "c1", "reel 3 stuck"]),
        (Kind::ChangeProposed, ["game bewitched", "c1", "", "reel 3 stuck"]),
        (Kind::ChangeRejected, [&format!("change {other}"), "c0", "", "not now"]),
    ];
    let expected = expected.map(|(kind, texts)| (kind, texts.map(str::to_owned)));
    assert_eq!(seen(&mut ann).await.iter().map(said).collect::<Vec<_>>(), expected);
    let acme = seen(&mut service.client("acme").await).await;
    assert_eq!(acme.iter().map(said).collect::<Vec<_>>(), expected[1..2], "an operator sees what was made");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_without_operators_a_change_is_made_at_once_and_none_can_be_approved() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let mut ann = service.client("ann").await;
    let change = propose(&mut ann, off("s", "neptune")).await;
    service.server.stop().await.unwrap();

    let service = Service::start_as(data.path(), "").await;
    let mut anyone = Client::connect(service.server.address()).await;
    expect(approve(&mut anyone, "a", change).await, Code::FailedPrecondition, "NO_ACTORS");
    assert_eq!(propose(&mut anyone, off("s", "neptune")).await, change, "a request has one effect, whoever repeats it");
    assert_eq!(switched_off(&mut anyone).await, 0);
    let made = anyone.ledger.set_switch(off("t", "bewitched")).await.unwrap().into_inner();
    assert_eq!((made.change_id, made.position), (0, service.server.ledger().durable()));
    assert_eq!(switched_off(&mut anyone).await, 1);
    service.server.stop().await.unwrap();

    let service = Service::start(data.path()).await;
    let mut ann = service.client("ann").await;
    let again = ann.ledger.set_switch(off("t", "bewitched")).await.unwrap().into_inner();
    assert_eq!(again, made, "also when there are operators again");
    service.server.stop().await.unwrap();
}
