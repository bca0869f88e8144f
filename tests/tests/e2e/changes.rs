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
    async fn start(data: &Path) -> Self {
        let all = r#"["play", "wallet", "support", "audit", "admin"]"#;
        let platform = operator("platform", &[("ann", all), ("bob", all), ("ann-too", all)]);
        let platform = platform.replace("name = \"c2\"", "name = \"c0\"");
        Self::start_as(data, &(operator("acme", &[("acme", all)]) + &platform)).await
    }

    async fn start_as(data: &Path, operators: &str) -> Self {
        let clock = Arc::new(AtomicI64::new(START_MS));
        let time = Arc::clone(&clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let config = Config { operators: Config::parse(operators).unwrap().operators, ..config(data) };
        let store = motherlode_server::open_stores(&config).unwrap();
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
        preview: false,
    }
}

fn on(request_id: &str, game: &str) -> SetSwitchRequest {
    SetSwitchRequest { state: State::On.into(), reason: "mended".into(), ..off(request_id, game) }
}

async fn stop(client: &mut Client, request: SetSwitchRequest) {
    let switched = client.ledger.set_switch(request).await.unwrap().into_inner();
    assert_eq!(switched.change_id, 0);
    assert!(switched.position > 0);
}

async fn propose(client: &mut Client, request: SetSwitchRequest) -> u64 {
    let asked = client.ledger.set_switch(request).await.unwrap().into_inner();
    assert_eq!(asked.position, 0, "the proposed switch has no effect yet");
    asked.change_id
}

async fn approve(client: &mut Client, request_id: &str, change_id: u64) -> Result<u64, Status> {
    let request = ApproveChangeRequest { request_id: request_id.into(), change_id, ..Default::default() };
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
    stop(&mut ann, off("stop", "neptune")).await;
    assert_eq!(switched_off(&mut ann).await, 1, "one actor is enough to switch the game off");
    let change = propose(&mut ann, on("s", "neptune")).await;
    assert_eq!(propose(&mut ann, on("s", "neptune")).await, change, "a repeated request gets the same answer");
    assert_eq!(switched_off(&mut ann).await, 1);
    let listed = waiting(&mut bob).await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].change_id, listed[0].stream.as_str(), listed[0].actor.as_str()), (change, "system", "c0"));
    assert_eq!(listed[0].lapse_time.unwrap().seconds, (START_MS + DAY_MS) / 1000);

    let before = service.server.ends();
    expect(approve(&mut ann, "a", change).await, Code::PermissionDenied, "SAME_ACTOR");
    let mut too = service.client("ann-too").await;
    expect(approve(&mut too, "a", change).await, Code::PermissionDenied, "SAME_ACTOR");
    let mut acme = service.client("acme").await;
    expect(approve(&mut acme, "a", change).await, Code::NotFound, "CHANGE_UNKNOWN");
    expect(approve(&mut bob, "a", change + 1).await, Code::NotFound, "CHANGE_UNKNOWN");
    expect(approve(&mut bob, "a", 1).await, Code::NotFound, "CHANGE_UNKNOWN");
    assert_eq!(service.server.ends(), before);
    service.server.stop().await.unwrap();

    let service = Service::start(data.path()).await;
    let mut bob = service.client("bob").await;
    let position = approve(&mut bob, "a", change).await.unwrap();
    assert_eq!(switched_off(&mut bob).await, 0);
    assert_eq!(approve(&mut bob, "a", change).await.unwrap(), position, "a repeated request gets the same answer");
    expect(approve(&mut bob, "b", change).await, Code::NotFound, "CHANGE_UNKNOWN");
    assert_eq!(waiting(&mut bob).await, []);
    assert_eq!(service.server.ledger().durable(), position);
    service.server.stop().await.unwrap();

    let whole = audited(data.path(), config(data.path()).partitions as usize);
    assert!(whole.partitions.iter().all(|report| report.books.switched_off().count() == 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_change_lapses_is_rejected_or_taken_back_and_then_never_made() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let reject = |request_id: &str, change_id| {
        let (request_id, reason) = (request_id.to_owned(), "not now".to_owned());
        RejectChangeRequest { request_id, change_id, reason, ..Default::default() }
    };
    stop(&mut ann, off("stop", "neptune")).await;
    for (number, who) in [(1, &mut ann.clone()), (2, &mut bob.clone())] {
        let change = propose(&mut ann, on(&format!("s{number}"), "neptune")).await;
        let request = reject(&format!("r{number}"), change);
        let position = who.ledger.reject_change(request.clone()).await.unwrap().into_inner().position;
        let again = who.ledger.reject_change(request).await.unwrap().into_inner().position;
        assert_eq!(position, again);
        expect(approve(&mut bob, &format!("a{number}"), change).await, Code::NotFound, "CHANGE_UNKNOWN");
    }
    let change = propose(&mut ann, on("s3", "neptune")).await;
    service.clock.fetch_add(DAY_MS - 1, Ordering::SeqCst);
    assert_eq!(waiting(&mut bob).await.len(), 1);
    service.clock.fetch_add(1, Ordering::SeqCst);
    assert_eq!(waiting(&mut bob).await, []);
    expect(approve(&mut bob, "a3", change).await, Code::FailedPrecondition, "CHANGE_LAPSED");
    let late = bob.ledger.reject_change(reject("r3", change)).await;
    expect(late, Code::FailedPrecondition, "CHANGE_LAPSED");
    assert_eq!(switched_off(&mut bob).await, 1);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_every_change_of_a_pool_but_its_stop_takes_two_actors_and_is_checked_at_both_times() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let (id, actor) = (str::to_owned, || "Ann".to_owned());
    let terms = Some(PoolTerms {
        contribution_ppm: 4_000,
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
    let stopped = ann.jackpot.suspend_pool(suspend("s1")).await.unwrap().into_inner();
    assert_eq!(
        (stopped.change_id, stopped.pool.unwrap().status()),
        (0, PoolStatus::Suspended),
        "one actor can suspend a pool at once"
    );
    expect(bob.jackpot.suspend_pool(suspend("s2")).await, Code::FailedPrecondition, "POOL_STATUS");
    let resume = |request_id: &str| ResumePoolRequest {
        request_id: request_id.to_owned(),
        pool_id: id("bewitched"),
        actor: actor(),
    };
    let first = ann.jackpot.resume_pool(resume("r1")).await.unwrap().into_inner().change_id;
    let second = ann.jackpot.resume_pool(resume("r2")).await.unwrap().into_inner().change_id;
    approve(&mut bob, "r1", first).await.unwrap();
    expect(approve(&mut bob, "r2", second).await, Code::FailedPrecondition, "POOL_STATUS");
    assert_eq!(waiting(&mut ann).await.len(), 1, "a refused change is still pending");

    ann.jackpot.suspend_pool(suspend("s3")).await.unwrap();
    let retire = |request_id: &str| RetirePoolRequest {
        request_id: request_id.to_owned(),
        pool_id: id("bewitched"),
        into_pool_id: id("heir"),
        actor: actor(),
    };
    let retired = ann.jackpot.retire_pool(retire("x")).await.unwrap().into_inner().change_id;
    approve(&mut bob, "r2", second).await.unwrap();
    expect(approve(&mut bob, "x", retired).await, Code::FailedPrecondition, "POOL_STATUS");
    expect(ann.jackpot.retire_pool(retire("y")).await, Code::FailedPrecondition, "POOL_STATUS");

    let mut acme = service.client("acme").await;
    let alice = acme.fund("alice", EUR, 1_000_000).await;
    acme.play_out(bet("b", &alice, "0.01")).await.unwrap();
    bob.jackpot.suspend_pool(suspend("s4")).await.unwrap();
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
    stop(&mut ann, off("stop", "neptune")).await;
    let change = propose(&mut ann, on("s", "neptune")).await;
    approve(&mut bob, "a", change).await.unwrap();
    stop(&mut bob, off("t", "bewitched")).await;
    let other = propose(&mut bob, on("u", "bewitched")).await;
    let reject = RejectChangeRequest {
        request_id: "r".into(),
        change_id: other,
        reason: "not now".into(),
        ..Default::default()
    };
    ann.ledger.reject_change(reject).await.unwrap();
    let seen = async |who: &mut Client| {
        let request = ListSignificantEventsRequest::default();
        let mut events = who.report.list_significant_events(request).await.unwrap().into_inner().events;
        events.retain(|event| event.kind() != Kind::ParameterChanged);
        events.reverse();
        events
    };
    let content = |event: &SignificantEvent| {
        let SignificantEvent { subject, actor, approver, reason, .. } = event.clone();
        (event.kind(), [subject, actor, approver, reason])
    };
    let expected = [
        (Kind::Switched, ["game neptune", "c0 for Ann", "", "reel 3 stuck"]),
        (Kind::ChangeProposed, ["game neptune", "c0 for Ann", "", "mended"]),
        (Kind::Switched, ["game neptune", "c0", "c1", "mended"]),
        (Kind::Switched, ["game bewitched", "c1 for Ann", "", "reel 3 stuck"]),
        (Kind::ChangeProposed, ["game bewitched", "c1 for Ann", "", "mended"]),
        (Kind::ChangeRejected, [&format!("change {other}"), "c0", "", "not now"]),
    ];
    let expected = expected.map(|(kind, texts)| (kind, texts.map(str::to_owned)));
    assert_eq!(seen(&mut ann).await.iter().map(content).collect::<Vec<_>>(), expected);
    let acme = seen(&mut service.client("acme").await).await;
    let switched: Vec<_> = expected.into_iter().filter(|(kind, _)| *kind == Kind::Switched).collect();
    assert_eq!(acme.iter().map(content).collect::<Vec<_>>(), switched, "an operator sees the switch");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_without_operators_a_change_is_made_at_once_and_none_can_be_approved() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let mut ann = service.client("ann").await;
    stop(&mut ann, off("stop", "neptune")).await;
    let change = propose(&mut ann, on("s", "neptune")).await;
    service.server.stop().await.unwrap();

    let service = Service::start_as(data.path(), "").await;
    let mut anyone = Client::connect(service.server.address()).await;
    expect(approve(&mut anyone, "a", change).await, Code::FailedPrecondition, "NO_ACTORS");
    assert_eq!(
        propose(&mut anyone, on("s", "neptune")).await,
        change,
        "a request repeated by another actor has no second effect"
    );
    assert_eq!(switched_off(&mut anyone).await, 1);
    let switched = anyone.ledger.set_switch(on("t", "neptune")).await.unwrap().into_inner();
    assert_eq!((switched.change_id, switched.position), (0, service.server.ledger().durable()));
    assert_eq!(switched_off(&mut anyone).await, 0);
    service.server.stop().await.unwrap();

    let service = Service::start(data.path()).await;
    let mut ann = service.client("ann").await;
    let again = ann.ledger.set_switch(on("t", "neptune")).await.unwrap().into_inner();
    assert_eq!(again, switched, "a repeated request gets the same answer after operators are configured again");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_05_pl_25_pending_proposals_of_one_actor_keep_no_other_from_stopping_or_proposing() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (mut ann, mut bob) = (service.client("ann").await, service.client("bob").await);
    let terms = |ppm: u32| PoolTerms {
        contribution_ppm: ppm,
        seed_eur: "20000".into(),
        base_coin: "10".into(),
        refresh_ms: 3_000,
        ..PoolTerms::default()
    };
    let change = |number: u32| ChangePoolTermsRequest {
        request_id: format!("t{number}"),
        pool_id: "bewitched".into(),
        terms: Some(terms(number)),
    };
    for number in 0..16 {
        ann.jackpot.change_pool_terms(change(number)).await.unwrap();
    }
    expect(ann.jackpot.change_pool_terms(change(16)).await, Code::ResourceExhausted, "TOO_MANY_CHANGES");
    bob.jackpot.change_pool_terms(change(16)).await.unwrap();
    for (who, game) in [(&mut ann, "neptune"), (&mut bob, "bewitched")] {
        stop(who, off(game, game)).await;
    }
    assert_eq!(switched_off(&mut bob).await, 2);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_05_pl_25_an_operator_stops_its_own_games_and_two_of_its_actors_start_them_again() {
    let data = tempfile::tempdir().unwrap();
    let admin = r#"["admin", "play", "wallet"]"#;
    let operators = operator("acme", &[("a1", admin), ("a2", admin)])
        + &operator("other", &[("o1", admin), ("o2", admin)])
        + &operator("platform", &[("ann", admin), ("bob", admin)]);
    let service = Service::start_as(data.path(), &operators).await;
    let (mut first, mut second) = (service.client("a1").await, service.client("a2").await);
    let (mut other, mut ann) = (service.client("o1").await, service.client("ann").await);
    let own = |request: SetSwitchRequest, operator_id: &str| {
        let switch = request.switch.clone().map(|switch| Switch { operator_id: operator_id.into(), ..switch });
        SetSwitchRequest { switch, ..request }
    };
    for theirs in ["", "other"] {
        let refused = first.ledger.set_switch(own(off("x", "neptune"), theirs)).await;
        expect(refused, Code::PermissionDenied, "ROLE_MISSING");
    }
    stop(&mut first, own(off("stop", "neptune"), "acme")).await;
    let listed = first.ledger.list_switches(ListSwitchesRequest {}).await.unwrap().into_inner().switched_off;
    assert_eq!(listed[0].actor, "acme/c0");
    let change = propose(&mut first, own(on("s", "neptune"), "acme")).await;
    assert_eq!((waiting(&mut second).await.len(), waiting(&mut ann).await.len()), (1, 1));
    assert_eq!(waiting(&mut other).await, [], "another operator's proposals are not shown");
    expect(approve(&mut first, "a", change).await, Code::PermissionDenied, "SAME_ACTOR");
    expect(approve(&mut other, "a", change).await, Code::NotFound, "CHANGE_UNKNOWN");
    expect(approve(&mut ann, "a", change).await, Code::PermissionDenied, "OTHER_ACTORS");
    approve(&mut second, "a", change).await.unwrap();
    assert_eq!(switched_off(&mut first).await, 0);

    stop(&mut other, own(off("mine", "neptune"), "other")).await;
    stop(&mut first, own(off("mine", "dwarf-mine"), "acme")).await;
    let change = propose(&mut first, own(on("yours", "dwarf-mine"), "acme")).await;
    approve(&mut second, "z", change).await.unwrap();
    let change = propose(&mut other, own(on("yours", "neptune"), "other")).await;
    approve(&mut service.client("o2").await, "z", change).await.unwrap();

    stop(&mut first, own(off("again", "neptune"), "acme")).await;
    let change = propose(&mut first, own(on("t", "neptune"), "acme")).await;
    stop(&mut ann, own(off("platform", "neptune"), "acme")).await;
    expect(approve(&mut second, "b", change).await, Code::PermissionDenied, "ROLE_MISSING");
    expect(first.ledger.set_switch(own(on("u", "neptune"), "acme")).await, Code::PermissionDenied, "ROLE_MISSING");
    let change = propose(&mut ann, own(on("v", "neptune"), "acme")).await;
    approve(&mut service.client("bob").await, "w", change).await.unwrap();
    assert_eq!(switched_off(&mut first).await, 0);
    service.server.stop().await.unwrap();
    let whole = audited(data.path(), config(data.path()).partitions as usize);
    assert!(whole.partitions.iter().all(|report| report.books.switched_off().count() == 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_pl_27_a_rejection_is_answered_again_without_operators() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let mut ann = service.client("ann").await;
    stop(&mut ann, off("stop", "neptune")).await;
    let change_id = propose(&mut ann, on("s", "neptune")).await;
    let reject =
        RejectChangeRequest { request_id: "r".into(), change_id, reason: "not now".into(), ..Default::default() };
    let rejected = ann.ledger.reject_change(reject.clone()).await.unwrap().into_inner();
    service.server.stop().await.unwrap();

    let service = Service::start_as(data.path(), "").await;
    let mut anyone = Client::connect(service.server.address()).await;
    assert_eq!(anyone.ledger.reject_change(reject.clone()).await.unwrap().into_inner(), rejected);
    let other = RejectChangeRequest { request_id: "other".into(), ..reject.clone() };
    expect(anyone.ledger.reject_change(other).await, Code::FailedPrecondition, "NO_ACTORS");
    let reused = RejectChangeRequest { reason: "never".into(), ..reject };
    expect(anyone.ledger.reject_change(reused).await, Code::AlreadyExists, "REQUEST_ID_REUSED");
    service.server.stop().await.unwrap();
}
