use motherlode_ledger::{AppendError, Options, Proposal};
use motherlode_proto::{
    jackpot::v1::{
        DeclareIncidentRequest, GetPoolRequest, ListIncidentsRequest, Pool, ReleaseHitsRequest, ResolveAwardsRequest,
        ResumePoolRequest, RetirePoolRequest, SuspendPoolRequest,
    },
    ledger::v1::{
        ApproveChangeRequest, AwardCost, GetRoundRequest, ListChangesRequest, RejectChangeRequest, VoidRoundRequest,
        VoidRoundResponse,
    },
    report::v1::{
        GetPoolStatementRequest, ListSignificantEventsRequest, ListVoidSharesRequest, PoolOperator,
        SignificantKind as Kind,
    },
    round::v1::{Account, RoundState, jackpot_win::State},
};
use motherlode_runtime::{Config, connect::connect};
use motherlode_state::{
    ANYONE, Account as Books, Currency, Event, Minor, Nano, Refused, StreamId, VOID_HOLD_MS, VoidedJackpot,
};
use motherlode_tests::{
    Client, EUR, Force, Server, bet, checked, config,
    incidents::incident,
    operators::{operator, token},
    partitions::is_settled,
    pool::POOL,
    reason, start_with, vials,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tonic::{Code, Status};

const START_MS: i64 = 1_798_761_600_000;
const DEPOSIT: i64 = 1_000_000;
const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

pub(crate) struct Service {
    pub(crate) server: Server,
    clock: Arc<AtomicI64>,
}

impl Service {
    pub(crate) async fn start(data: &Path) -> Self {
        let operators = operator("acme", &[("acme", ALL)])
            + &operator("other", &[("other", ALL)])
            + &operator("platform", &[("ann", ALL), ("bob", ALL)]);
        let clock = Arc::new(AtomicI64::new(START_MS));
        let time = Arc::clone(&clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let config = Config { operators: Config::parse(&operators).unwrap().operators, ..config(data) };
        let store = motherlode_server::open_stores(&config).unwrap();
        Self { server: start_with(&config, store, options).await, clock }
    }

    pub(crate) async fn client(&self, shown: &str) -> Client {
        Client::on(connect(&format!("http://{}", self.server.address()), &token(shown), None).await.unwrap())
    }

    pub(crate) async fn all(&self) -> [Client; 3] {
        [self.client("acme").await, self.client("ann").await, self.client("bob").await]
    }

    fn pool(&self, figure: fn(&motherlode_state::PoolState) -> Nano) -> Nano {
        self.server.ledger().books(|books| figure(books.pool(POOL).unwrap()))
    }

    fn house(&self, operator: &str) -> i128 {
        self.server.holding(Books::House(operator), Currency::EUR)
    }
}

pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| panic!("{what}"));
}

async fn settled(service: &Service) {
    until("the pool settles", async || is_settled(service.server.ledgers())).await;
}

pub(crate) async fn waiting(client: &mut Client, player: &str) -> (Account, String) {
    let account = client.fund(player, EUR, DEPOSIT).await;
    let mut request = bet("hit", &account, "0.20");
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    (account, spun.round_id)
}

pub(crate) async fn hit(client: &mut Client, round_id: &str) -> State {
    let played = client.choose("hit.1", round_id, vials(), Some(Force::Jackpot)).await.unwrap();
    played.jackpot.unwrap().state()
}

async fn pool(client: &mut Client) -> Pool {
    client.jackpot.get_pool(GetPoolRequest { pool_id: POOL.into() }).await.unwrap().into_inner().pool.unwrap()
}

async fn suspend(client: &mut Client) {
    let (request_id, pool_id) = ("suspend".to_owned(), POOL.to_owned());
    let request = SuspendPoolRequest { request_id, pool_id, reason: "check".into(), actor: String::new() };
    client.jackpot.suspend_pool(request).await.unwrap();
}

async fn resume(first: &mut Client, second: &mut Client) {
    let (request_id, pool_id) = ("resume".to_owned(), POOL.to_owned());
    let request = ResumePoolRequest { request_id, pool_id, actor: String::new() };
    let change_id = first.jackpot.resume_pool(request).await.unwrap().into_inner().change_id;
    approve(second, "approve-resume", change_id, AwardCost::Unspecified).await.unwrap();
}

async fn approve(client: &mut Client, request_id: &str, change_id: u64, cost: AwardCost) -> Result<u64, Status> {
    let request = ApproveChangeRequest {
        request_id: request_id.into(),
        change_id,
        award_cost: cost.into(),
        ..Default::default()
    };
    Ok(client.ledger.approve_change(request).await?.into_inner().position)
}

async fn void(client: &mut Client, request_id: &str, round_id: &str) -> Result<VoidRoundResponse, Status> {
    let (request_id, round_id) = (request_id.to_owned(), round_id.to_owned());
    let request = VoidRoundRequest { request_id, round_id, reason: "reel 3 stuck".into(), actor: String::new() };
    Ok(client.ledger.void_round(request).await?.into_inner())
}

async fn jackpot(client: &mut Client, round_id: &str) -> (RoundState, State, Option<i64>) {
    let request = GetRoundRequest { round_id: round_id.into() };
    let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
    let won = &round.jackpots[0];
    (round.state(), won.state(), won.amount.as_ref().map(|amount| amount.amount_minor))
}

async fn changes(client: &mut Client) -> Vec<u64> {
    let changes = client.ledger.list_changes(ListChangesRequest {}).await.unwrap().into_inner().changes;
    changes.into_iter().map(|change| change.change_id).collect()
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
}

pub(crate) async fn held(service: &Service, player: &str) -> (Account, String, u64) {
    let [mut acme, mut ann, mut bob] = service.all().await;
    let (account, round) = waiting(&mut acme, player).await;
    suspend(&mut ann).await;
    assert_eq!(hit(&mut acme, &round).await, State::Pending);
    let proposed = void(&mut acme, "void", &round).await.unwrap();
    assert!(proposed.change_id > 0 && proposed.refund.is_none(), "{proposed:?}");
    resume(&mut ann, &mut bob).await;
    until("the hit is priced", async || service.pool(|pool| pool.paid) > Nano::ZERO).await;
    (account, round, proposed.change_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_b1_pl_04_a_void_carries_the_facts_of_its_settled_round() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let mut acme = service.client("acme").await;
    let account = acme.fund("alice", EUR, DEPOSIT).await;
    let mut rounds = vec![];
    for number in 0..3 {
        let played = acme.play_out(bet(&format!("r{number}"), &account, "0.20")).await.unwrap();
        rounds.push(played[0].round_id.clone());
    }
    let voided = void(&mut acme, "void", &rounds[1]).await.unwrap();
    assert_eq!(void(&mut acme, "void", &rounds[1]).await.unwrap(), voided);
    let round = acme.ledger.get_round(GetRoundRequest { round_id: rounds[1].clone() }).await.unwrap().into_inner();
    let shown = round.round.unwrap().void.unwrap();
    assert_eq!(
        (voided.refund, voided.win_taken_back, voided.win_left, voided.position),
        (shown.refund, shown.win_taken_back, shown.win_left, shown.position)
    );
    assert_eq!(voided.balance.unwrap().amount_minor, acme.balance(&account).await);
    let logged = service.server.ledger().fetch(shown.position).unwrap();
    let settled = logged.commit.events.iter().find_map(|event| match event {
        Event::RoundVoided { settled, .. } => settled.as_deref().cloned(),
        _ => None,
    });
    let settled = settled.expect("the facts");
    let bet = service.server.ledger().fetch(settled.opened_at).unwrap();
    let started = bet.commit.events.iter().find_map(|event| match event {
        Event::RoundStarted(started) => Some((**started).clone()),
        _ => None,
    });
    assert_eq!(Some(&*settled.started), started.as_ref());
    assert_eq!((settled.started.round, settled.started.contribution.is_some()), (2, true));
    assert_eq!(settled.opened_ms, bet.commit.time_ms);
    service.server.stop().await.unwrap();
    let service = Service::start(data.path()).await;
    assert!(service.server.player("alice").voided_at(2).is_some());
    service.server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_b1_pl_38_b_a_void_by_anyone_is_not_admitted_with_operators() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (_, _, change) = held(&service, "alice").await;
    let ledger = service.server.ledger();
    let before = ledger.durable();
    let voided = Event::RoundVoided {
        round: 1,
        reason: "stuck".into(),
        actor: ANYONE.into(),
        refund: Minor(3_000),
        win_taken_back: Minor::ZERO,
        jackpot: VoidedJackpot::Kept,
        settled: None,
    };
    let proposal = Proposal {
        stream: StreamId::player("acme", "alice"),
        expected_version: None,
        request_id: "forged".into(),
        fingerprint: [0; 16],
        events: vec![voided],
    };
    let refused = ledger.append(proposal).await.unwrap_err();
    assert_eq!(
        refused,
        AppendError::Refused(Refused::VoidUnapproved { round: 1 }),
        "the void must be refused while change {change} is pending"
    );
    assert_eq!(ledger.durable(), before);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_b1_pl_38_b_an_unpaid_award_is_held_and_the_approved_void_reverses_it() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let (account, round, change) = held(&service, "alice").await;
    let [mut acme, mut ann, _] = service.all().await;
    let balance = acme.balance(&account).await;
    assert_eq!(balance, DEPOSIT - 3_000, "the bet is fifteen lines of ten coins of 0.20");
    assert_eq!(jackpot(&mut acme, &round).await.1, State::Held);
    for client in [&mut acme, &mut ann] {
        let request = ResolveAwardsRequest { pool_id: POOL.into(), reference: String::new() };
        let answer = client.jackpot.resolve_awards(request).await.unwrap().into_inner();
        assert!(answer.paid.is_empty());
    }
    assert_eq!(
        void(&mut acme, "void", &round).await.unwrap().change_id,
        change,
        "a repeated request gets the same answer"
    );
    expect(void(&mut acme, "again", &round).await, Code::FailedPrecondition, "VOID_PROPOSED_BEFORE");
    assert_eq!((changes(&mut acme).await, changes(&mut ann).await), (vec![change], vec![change]));
    let mut other = service.client("other").await;
    assert_eq!(changes(&mut other).await, [] as [u64; 0], "an operator does not see another operator's proposal");
    expect(approve(&mut other, "a", change, AwardCost::Unspecified).await, Code::NotFound, "CHANGE_UNKNOWN");
    expect(approve(&mut acme, "a", change, AwardCost::Unspecified).await, Code::PermissionDenied, "OTHER_ACTORS");
    service.server.stop().await.unwrap();

    let service = Service::start(data.path()).await;
    let [mut acme, mut ann, _] = service.all().await;
    assert_eq!(jackpot(&mut acme, &round).await.1, State::Held, "a restart changes nothing");
    let (paid, funding) = (service.pool(|pool| pool.paid), service.pool(|pool| pool.house_funding));
    assert!(paid > Nano::ZERO && funding > Nano::ZERO);
    let made = approve(&mut ann, "approve", change, AwardCost::Unspecified).await.unwrap();
    assert_eq!(approve(&mut ann, "approve", change, AwardCost::Unspecified).await.unwrap(), made);
    settled(&service).await;
    assert_eq!(acme.balance(&account).await, DEPOSIT, "the bet is refunded, and nothing else is paid");
    assert_eq!(jackpot(&mut acme, &round).await, (RoundState::Voided, State::Voided, None));
    assert_eq!((service.pool(|pool| pool.paid), service.pool(|pool| pool.house_funding)), (Nano::ZERO, Nano::ZERO));
    let contributed = service.pool(|pool| pool.contributions);
    assert_eq!(contributed, Nano(150_000_000), "the voided round's contribution stays in the pool");
    assert_eq!(service.pool(|pool| pool.reserve), contributed, "the increments' share goes to the reserve");
    assert_eq!(service.house("acme"), -contributed.0, "the operator bears the contribution");
    bob_sees(&service, &round).await;
    service.server.stop().await.unwrap();
    checked(data.path());
}

async fn bob_sees(service: &Service, round: &str) {
    let mut bob = service.client("bob").await;
    let kinds = vec![Kind::Void.into(), Kind::VoidProposed.into()];
    let request = ListSignificantEventsRequest { kinds, page_size: 10, ..ListSignificantEventsRequest::default() };
    let events = bob.report.list_significant_events(request).await.unwrap().into_inner().events;
    let told: Vec<_> =
        events.iter().map(|event| (event.kind(), event.subject.as_str(), event.approver.as_str())).collect();
    assert_eq!(told, [(Kind::Void, round, "c0"), (Kind::VoidProposed, round, "")]);
    assert_eq!(events[0].actor, "acme/c0");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_38_b_a_rejected_or_lapsed_proposal_has_the_award_paid() {
    for lapses in [false, true] {
        let data = tempfile::tempdir().unwrap();
        let service = Service::start(data.path()).await;
        let (account, round, change) = held(&service, "alice").await;
        let [mut acme, _, mut bob] = service.all().await;
        if lapses {
            service.clock.fetch_add(VOID_HOLD_MS - 1, Ordering::SeqCst);
            assert_eq!(jackpot(&mut acme, &round).await.1, State::Held);
            service.clock.fetch_add(1, Ordering::SeqCst);
        } else {
            let request = RejectChangeRequest {
                request_id: "no".into(),
                change_id: change,
                reason: "no fault".into(),
                ..Default::default()
            };
            bob.ledger.reject_change(request).await.unwrap();
        }
        until("the award is paid", async || jackpot(&mut acme, &round).await.1 == State::Paid).await;
        let paid = jackpot(&mut acme, &round).await.2.unwrap();
        assert_eq!(acme.balance(&account).await, DEPOSIT - 3_000 + paid);
        let expected =
            if lapses { (Code::FailedPrecondition, "CHANGE_LAPSED") } else { (Code::NotFound, "CHANGE_UNKNOWN") };
        let late = approve(&mut bob, "late", change, AwardCost::Platform).await;
        expect(late, expected.0, expected.1);
        expect(void(&mut acme, "again", &round).await, Code::FailedPrecondition, "VOID_PROPOSED_BEFORE");
        assert_eq!(changes(&mut bob).await, [] as [u64; 0]);
        service.server.stop().await.unwrap();
        checked(data.path());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_38_c_a_paid_award_is_charged_to_the_operator_or_the_platforms_loss() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let [mut acme, mut ann, _] = service.all().await;
    for (player, cost) in [("alice", AwardCost::Operator), ("bob", AwardCost::Platform)] {
        let (account, round) = waiting(&mut acme, player).await;
        assert_eq!(hit(&mut acme, &round).await, State::Paid);
        let (_, _, paid) = jackpot(&mut acme, &round).await;
        let before = (service.pool(|pool| pool.paid), service.pool(|pool| pool.reserve), service.house("acme"));
        let change = void(&mut acme, "void", &round).await.unwrap().change_id;
        let unsaid = approve(&mut ann, &format!("unsaid-{player}"), change, AwardCost::Unspecified).await;
        expect(unsaid, Code::InvalidArgument, "INVALID_FIELD");
        approve(&mut ann, &format!("approve-{player}"), change, cost).await.unwrap();
        settled(&service).await;
        assert_eq!(
            acme.balance(&account).await,
            DEPOSIT + paid.unwrap(),
            "the bet is refunded and the player keeps the award"
        );
        assert_eq!(jackpot(&mut acme, &round).await, (RoundState::Voided, State::Paid, paid));
        let eur = Nano(i128::from(paid.unwrap()) * 10_000_000);
        let charged = if cost == AwardCost::Operator { eur } else { Nano::ZERO };
        let after = (service.pool(|pool| pool.paid), service.pool(|pool| pool.reserve), service.house("acme"));
        let refund = 3_000 * 10_000_000;
        assert_eq!(
            (after.0, after.1, after.2),
            (Nano(before.0.0 - charged.0), Nano(before.1.0 + charged.0), before.2 - charged.0 - refund)
        );
    }
    service.server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_b1_pl_38_a_contributions_of_voids_stay_in_the_pool_until_the_platform_declares_an_incident() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let [mut acme, mut ann, mut bob] = service.all().await;
    let mut other = service.client("other").await;
    let mut contributed = 0;
    for (client, operator) in [(&mut acme, "acme"), (&mut other, "other")] {
        let account = Account { operator_id: operator.into(), player_id: "p".into(), currency_code: EUR.into() };
        client.fund_account(&account, DEPOSIT).await;
        for number in 0..40 {
            let played = client.play_out(bet(&format!("r-{number}"), &account, "0.01")).await.unwrap();
            if played.iter().any(|step| step.jackpot.is_some()) {
                continue;
            }
            let voided = void(client, &format!("v-{number}"), &played[0].round_id).await.unwrap();
            assert_eq!((voided.change_id, voided.refund.unwrap().amount_minor), (0, 15));
            contributed += 15 * 50_000;
        }
        assert_eq!(client.balance(&account).await, DEPOSIT, "each voided bet is refunded at once");
        assert!(service.house(operator) < 0);
    }
    settled(&service).await;
    let pooled = service.pool(|pool| pool.contributions);
    assert!(pooled.0 >= contributed);
    let list = |pool_id: &str| ListIncidentsRequest { pool_id: pool_id.into() };
    let kept = ann.jackpot.list_incidents(list(POOL)).await.unwrap().into_inner().not_returned;
    let kept: Vec<_> = kept.into_iter().map(|of| (of.operator_id, of.voids)).collect();
    assert_eq!(kept, [("acme".to_owned(), 40), ("other".to_owned(), 40)]);
    let own = acme.jackpot.list_incidents(list(POOL)).await.unwrap().into_inner().not_returned;
    assert_eq!(own.len(), 1, "an operator sees only its own contributions");

    let declare = |id: &str, until_ms: i64| DeclareIncidentRequest {
        request_id: format!("incident-{id}"),
        pool_id: POOL.into(),
        incident: Some(incident(id, "acme", until_ms)),
        actor: String::new(),
    };
    expect(acme.jackpot.declare_incident(declare("i", START_MS)).await, Code::PermissionDenied, "ROLE_MISSING");
    let late = ann.jackpot.declare_incident(declare("late", START_MS + 3_600_000)).await;
    expect(late, Code::InvalidArgument, "INVALID_INCIDENT");
    service.clock.fetch_add(60_000, Ordering::SeqCst);
    let change_id = ann.jackpot.declare_incident(declare("i", START_MS + 60_000)).await.unwrap().into_inner().change_id;
    expect(approve(&mut ann, "same", change_id, AwardCost::Unspecified).await, Code::PermissionDenied, "SAME_ACTOR");
    assert_eq!(service.pool(|pool| pool.contributions), pooled, "no contribution is returned before the approval");
    approve(&mut bob, "approve", change_id, AwardCost::Unspecified).await.unwrap();
    until("acme's contributions are returned", async || {
        let left = ann.jackpot.list_incidents(list(POOL)).await.unwrap().into_inner();
        left.not_returned.iter().all(|of| of.operator_id == "other") && left.incidents.len() == 1
    })
    .await;
    settled(&service).await;
    assert_eq!(service.house("acme"), 0, "acme gets back the contributions that it bore");
    assert_eq!(service.house("other"), -40 * 15 * 50_000, "other operators get nothing back");
    assert_eq!(pooled.0 - service.pool(|pool| pool.contributions).0, 40 * 15 * 50_000);
    // PL-38 (d): an operator that voids 40 of 40 rounds raises an alarm.
    let shares = ListVoidSharesRequest::default();
    let shares = acme.report.list_void_shares(shares).await.unwrap().into_inner().shares;
    let told = shares.iter().map(|of| (of.operator_id.as_str(), of.rounds, of.voids, of.voids_max, of.alarm));
    assert_eq!(told.collect::<Vec<_>>(), [("acme", 40, 40, 20, true)]);
    let request = GetPoolStatementRequest { pool_id: POOL.into(), date: String::new() };
    let statement = ann.report.get_pool_statement(request).await.unwrap().into_inner();
    let parts = statement.operators.iter().map(|of| {
        let PoolOperator { operator_id, contributed_eur, returned_eur, contributed_total_eur, .. } = of;
        (operator_id.as_str(), contributed_eur.as_str(), returned_eur.as_str(), contributed_total_eur.as_str())
    });
    assert_eq!(parts.collect::<Vec<_>>(), [("acme", "0.03", "0.03", "0.00"), ("other", "0.03", "0.00", "0.03")]);
    assert_eq!(statement.difference_eur, "0.00");
    let again =
        ann.jackpot.declare_incident(DeclareIncidentRequest { request_id: "again".into(), ..declare("i", START_MS) });
    expect(again.await, Code::AlreadyExists, "INCIDENT_EXISTS");
    service.server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_b3_pl_38_d_an_operator_bears_the_seeds_that_its_own_players_win_by_turnover() {
    let data = tempfile::tempdir().unwrap();
    let service = Service::start(data.path()).await;
    let mut acme = service.client("acme").await;
    let mut ann = service.client("ann").await;
    for player in ["a", "b", "c"] {
        let (_, round) = waiting(&mut acme, player).await;
        assert_eq!(hit(&mut acme, &round).await, State::Paid);
    }
    settled(&service).await;
    let request = GetPoolStatementRequest { pool_id: POOL.into(), date: String::new() };
    let statement = ann.report.get_pool_statement(request).await.unwrap().into_inner();
    let [part] = &statement.operators[..] else { panic!("{statement:?}") };
    let eur = |text: &str| text.parse::<Nano>().unwrap();
    let (closing, paid) = (statement.closing.unwrap(), service.pool(|pool| pool.paid));
    assert_eq!((part.operator_id.as_str(), eur(&part.won_eur)), ("acme", paid));
    assert_eq!(part.seed_charge_eur, closing.house_funding_eur, "the only operator bears the whole cost of the seed");
    let held = service.pool(|pool| Nano(pool.increments.0 + pool.reserve.0));
    assert_eq!(eur(&part.contributed_eur).0 + eur(&part.seed_charge_eur).0, paid.0 + held.0, "voids create no gain");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_20_a_hit_of_a_suspended_pool_waits_for_the_platform_or_for_the_resumption() {
    for release in [true, false] {
        let data = tempfile::tempdir().unwrap();
        let service = Service::start(data.path()).await;
        let [mut acme, mut ann, mut bob] = service.all().await;
        let (account, round) = waiting(&mut acme, "alice").await;
        suspend(&mut ann).await;
        assert_eq!(hit(&mut acme, &round).await, State::Pending);
        assert_eq!(pool(&mut acme).await.waiting_hits, 1);
        assert_eq!(service.pool(|pool| pool.paid), Nano::ZERO);
        let (request_id, pool_id, into_pool_id) = ("retire".to_owned(), POOL.to_owned(), POOL.to_owned());
        let retire = RetirePoolRequest { request_id, pool_id, into_pool_id, actor: String::new() };
        assert!(ann.jackpot.retire_pool(retire).await.is_err());
        let other = acme.fund("late", EUR, DEPOSIT).await;
        let late = acme.play_out(bet("late", &other, "0.20")).await.unwrap();
        assert!(late.iter().all(|step| step.jackpot.is_none()));
        if release {
            let (request_id, pool_id) = ("release".to_owned(), POOL.to_owned());
            let request = ReleaseHitsRequest { request_id, pool_id, reason: "sound".into(), actor: String::new() };
            let change_id = ann.jackpot.release_hits(request).await.unwrap().into_inner().change_id;
            approve(&mut bob, "approve-release", change_id, AwardCost::Unspecified).await.unwrap();
        } else {
            resume(&mut ann, &mut bob).await;
        }
        until("the award is paid", async || jackpot(&mut acme, &round).await.1 == State::Paid).await;
        assert_eq!(acme.balance(&account).await, DEPOSIT - 3_000 + jackpot(&mut acme, &round).await.2.unwrap());
        assert_eq!(pool(&mut acme).await.waiting_hits, 0);
        service.server.stop().await.unwrap();
        checked(data.path());
    }
}
