use crate::{
    PROGRAM,
    reload::{APPLIED, client, reload},
    void_approvals,
};
use motherlode_audit::verify;
use motherlode_ledger::Options;
use motherlode_log::Store;
use motherlode_proto::{
    jackpot::v1::{ResumePoolRequest, SuspendPoolRequest},
    ledger::v1::{
        ApproveChangeRequest, DepositRequest, ErasePersonRequest, FindIdRequest, FoundId, IssuePlayerIdRequest,
        OpenAccountRequest, WithdrawRequest,
    },
    proof::v1::{GetRoundProofRequest, proof_service_client::ProofServiceClient},
    round::v1::{Account, jackpot_win},
    spin::v1::{AutospinRequest, GrantCampaignsRequest, OpenSessionRequest, PlayMode, SpinRequest},
};
use motherlode_runtime::{Config, connect::connect};
use motherlode_testkit::archiving::ArchivingStore;
use motherlode_tests::{
    Client, EUR, Force, Process, account, bet, campaign, config, next_choice,
    operators::{NEW_YEAR_MS, Service, operator, token},
    pool::POOL,
    reason, start_with, until,
};
use prost::Message;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;
const UUID: &str = "6f1c2f2e-7a4b-4e53-9c1d-0b8a2f6f3c11";

fn with_keys(operator: &str, keys: &str) -> String {
    operator.replacen("[[operators.credentials]]", &format!("{keys}\n[[operators.credentials]]"), 1)
}

async fn is_in_log(client: &mut Client, id: &str) -> bool {
    let request = FindIdRequest { id: id.to_owned(), ..FindIdRequest::default() };
    let found: Vec<FoundId> = client.ledger.find_id(request).await.unwrap().into_inner().found;
    !found.is_empty()
}

async fn begin(client: &mut Client, player: &str) -> Vec<(&'static str, Status)> {
    let (named, game) = (account(player, EUR), motherlode_slots::latest("neptune").unwrap());
    let SpinRequest { stake, witch, game: bewitched, .. } = bet("", &named, "0.01");
    let open = |account: Account| OpenSessionRequest {
        request_id: format!("session-{}", account.currency_code),
        account: Some(account),
        game: "neptune".into(),
        ..OpenSessionRequest::default()
    };
    let demo = Account { currency_code: "XTS".into(), ..named.clone() };
    let grant = campaign(game, "spring", &named, 3);
    let many = GrantCampaignsRequest {
        request_id: "many".into(),
        operator_id: named.operator_id.clone(),
        player_ids: vec![player.to_owned()],
        currency_code: EUR.into(),
        campaign_id: "spring".into(),
        game: "neptune".into(),
        stake: grant.stake.clone(),
        rounds: 3,
        expire_time: grant.expire_time,
    };
    let account = Some(named.clone());
    let opened = OpenAccountRequest { request_id: "open".into(), account: account.clone() };
    let deposit = DepositRequest { request_id: "deposit".into(), account: account.clone(), amount_minor: 100 };
    let series = AutospinRequest {
        request_id: "series".into(),
        account,
        game: bewitched,
        stake,
        witch,
        spins: 2,
        ..Default::default()
    };
    let mut refused = vec![
        ("OpenAccount", client.ledger.open_account(opened).await.map(drop)),
        ("Deposit", client.ledger.deposit(deposit).await.map(drop)),
        ("Spin", client.spin(bet("bet", &named, "0.01"), None).await.map(drop)),
        ("OpenSession", client.spin.open_session(open(named)).await.map(drop)),
        (
            "OpenSession in demo mode",
            client.spin.open_session(OpenSessionRequest { mode: PlayMode::Demo.into(), ..open(demo) }).await.map(drop),
        ),
        ("GrantCampaign", client.spin.grant_campaign(grant).await.map(drop)),
        ("GrantCampaigns", client.spin.grant_campaigns(many).await.map(drop)),
    ];
    let series = async {
        let mut answers = client.autospin(series, None).await?;
        let refusal = answers.message().await?.and_then(|answer| answer.refusal).unwrap_or_default();
        Err(Status::with_details(refusal.code.into(), refusal.message.clone(), refusal.encode_to_vec().into()))
    };
    refused.push(("Autospin", series.await));
    refused.into_iter().map(|(call, answer)| (call, answer.expect_err(call))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_with_opaque_ids_a_new_player_needs_an_id_that_cannot_be_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let (acme, beta) = (operator("acme", &[("acme", ALL)]), operator("beta", &[("beta", ALL)]));
    fs::write(&file, acme.clone() + &beta).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let (mut client, mut other) = (client(&process, "acme").await, client(&process, "beta").await);
    let known = client.fund("anna", EUR, 10_000).await;
    fs::write(&file, with_keys(&acme, "player_ids = \"opaque\"") + &beta).unwrap();
    let line = reload(&process, APPLIED).await;
    assert!(line.contains("operators.acme.player_ids"), "{line}");

    for name in ["berta", "berta.smith.1985", "maria-magdalena-gonzalez-perez"] {
        for (call, refused) in begin(&mut client, name).await {
            let is = (refused.code(), &*reason(&refused));
            assert_eq!(is, (Code::InvalidArgument, "PLAYER_ID_NOT_OPAQUE"), "{call}: {refused:?}");
            assert!(!refused.message().contains(name), "{refused:?}");
        }
        assert!(!is_in_log(&mut client, name).await);
    }
    client.spin(bet("known", &known, "0.01"), None).await.expect("a player in the log keeps the id");
    let random = client.fund(UUID, EUR, 10_000).await;
    client.spin(bet("random", &random, "0.01"), None).await.unwrap();
    let named = Account { operator_id: "beta".into(), ..account("berta", EUR) };
    other.fund_account(&named, 10_000).await;
    assert_eq!(process.terminate().await, Some(0));
}

async fn issue(client: &mut Client, operator: &str, reference: &str) -> Result<String, Status> {
    let request = IssuePlayerIdRequest { operator_id: operator.into(), reference: reference.into() };
    Ok(client.ledger.issue_player_id(request).await?.into_inner().player_id)
}

async fn erase(client: &mut Client, operator: &str, reference: &str) -> Result<bool, Status> {
    let (operator_id, reference) = (operator.to_owned(), reference.to_owned());
    let request = ErasePersonRequest { operator_id, reference, player_id: String::new() };
    Ok(client.ledger.erase_person(request).await?.into_inner().erased)
}

fn open_of(status: &Status) -> String {
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!((status.code(), &*info.reason), (Code::FailedPrecondition, "PERSON_IN_PLAY"), "{status:?}");
    info.metadata["open"].clone()
}

fn places(data: &Path, text: &str) -> BTreeSet<String> {
    fn is_in(path: &Path, text: &[u8]) -> bool {
        match path.is_dir() {
            true => fs::read_dir(path).unwrap().any(|entry| is_in(&entry.unwrap().path(), text)),
            false => fs::read(path).unwrap().windows(text.len()).any(|window| window == text),
        }
    }
    let entries = fs::read_dir(data).unwrap().map(|entry| entry.unwrap());
    let found = entries.filter(|entry| is_in(&entry.path(), text.as_bytes()));
    found.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

async fn withdraw_all(client: &mut Client, account: &Account) {
    withdraw(client, account, "all").await;
}

async fn withdraw(client: &mut Client, account: &Account, request_id: &str) {
    let amount_minor = client.balance(account).await;
    let request = WithdrawRequest { request_id: request_id.into(), account: Some(account.clone()), amount_minor };
    client.ledger.withdraw(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_the_reference_of_an_erased_person_is_in_no_file_and_1000_of_her_rounds_are_proven() {
    const ANNA: &str = "Anna.Meier+1985@example.com";
    const ROUNDS: u64 = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("serve.toml"), folder.path().join("data"));
    let acme = with_keys(&operator("acme", &[("acme", ALL)]), "player_ids = \"opaque\"");
    fs::write(&file, acme + &operator("beta", &[("beta", ALL)]) + "[telemetry]\nfilter = \"motherlode=trace\"\n")
        .unwrap();
    let process = Process::start(PROGRAM, &data, Some(&file));
    let (mut client, mut other) = (client(&process, "acme").await, client(&process, "beta").await);
    let player = issue(&mut client, "acme", ANNA).await.unwrap();
    assert_eq!(issue(&mut client, "acme", ANNA).await.unwrap(), player);
    assert_ne!(issue(&mut client, "acme", "another person").await.unwrap(), player);
    assert!(!erase(&mut other, "beta", ANNA).await.unwrap(), "it is unknown to another operator");
    assert!(!erase(&mut other, "acme", ANNA).await.unwrap(), "another operator cannot erase it");
    let refused = issue(&mut other, "acme", ANNA).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::NotFound, "OPERATOR_UNKNOWN"));
    assert_ne!(issue(&mut other, "beta", ANNA).await.unwrap(), player);
    assert!(erase(&mut other, "beta", ANNA).await.unwrap());

    let account = client.fund(&player, EUR, 100_000_000).await;
    for round in 1..ROUNDS {
        client.play_out(bet(&format!("r{round}"), &account, "0.01")).await.unwrap();
    }
    let mut last = client.spin(bet("last", &account, "0.01"), Some(Force::Open)).await.unwrap();
    assert_eq!(open_of(&erase(&mut client, "acme", ANNA).await.unwrap_err()), "an open round");
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("last.{}", last.step), &last.round_id, kind, None).await.unwrap();
    }
    assert_eq!(last.round_id, format!("acme/{player}/{ROUNDS}"));
    assert_eq!(open_of(&erase(&mut client, "acme", ANNA).await.unwrap_err()), "a balance");
    assert_eq!(issue(&mut client, "acme", ANNA).await.unwrap(), player, "a refused erasure changes nothing");
    withdraw_all(&mut client, &account).await;
    assert!(erase(&mut client, "acme", ANNA).await.unwrap());
    assert!(!erase(&mut client, "acme", ANNA).await.unwrap(), "a repeated call has no effect");

    let target = format!("http://{}", process.address);
    let mut proofs = ProofServiceClient::new(connect(&target, &token("acme"), None).await.unwrap());
    for round in 1..=ROUNDS {
        let request = GetRoundProofRequest { round_id: format!("acme/{player}/{round}"), ..Default::default() };
        let answer = proofs.get_round_proof(request).await.unwrap().into_inner();
        let proven = verify(&answer.proof.parse().unwrap(), &answer.verifier_key.parse().unwrap(), None).unwrap();
        assert!(proven.replayed.matches() && proven.number == round, "{round}");
    }
    assert!(process.log_lines(ANNA).is_empty());
    assert_eq!(process.terminate().await, Some(0));
    assert_eq!(places(&data, ANNA), BTreeSet::new());
    assert!(places(&data, &player).contains("log"), "the search finds the player id");
    let process = Process::start(PROGRAM, &data, Some(&file));
    let mut client = crate::reload::client(&process, "acme").await;
    assert_ne!(issue(&mut client, "acme", ANNA).await.unwrap(), player, "a person who returns gets another id");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_log_with_names_keeps_a_name_in_its_records_and_in_the_files_derived_from_them() {
    const ANNA: &str = "anna-meier-1985";
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let process = Process::start(PROGRAM, &data, None);
    let mut client = Client::connect(process.address).await;
    let account = client.fund(ANNA, EUR, 100_000).await;
    for round in 0..30 {
        client.play_out(bet(&format!("r{round}"), &account, "0.01")).await.unwrap();
    }
    withdraw_all(&mut client, &account).await;
    let request = ErasePersonRequest { operator_id: "acme".into(), player_id: ANNA.into(), ..Default::default() };
    assert!(!client.ledger.erase_person(request).await.unwrap().into_inner().erased, "no row has this id");
    assert_eq!(process.terminate().await, Some(0));
    assert_eq!(places(&data, ANNA), ["index", "log"].map(str::to_owned).into());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_person_is_kept_for_the_configured_days_after_the_last_record() {
    const DAY_MS: i64 = 86_400_000;
    let service = Service::start(&with_keys(&operator("acme", &[("acme", ALL)]), "person_keep_days = 10")).await;
    let mut client = service.client("acme").await;
    let player = issue(&mut client, "acme", "anna").await.unwrap();
    let account = client.fund(&player, EUR, 1_000).await;
    service.clock.store(NEW_YEAR_MS, Ordering::SeqCst);
    withdraw_all(&mut client, &account).await;
    for after_ms in [0, 10 * DAY_MS - 1] {
        service.clock.store(NEW_YEAR_MS + after_ms, Ordering::SeqCst);
        let refused = erase(&mut client, "acme", "anna").await.unwrap_err();
        let details = refused.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!((refused.code(), &*info.reason), (Code::FailedPrecondition, "PERSON_KEPT"));
        assert_eq!(info.metadata["until"], "2027-01-11T00:00:00Z");
    }
    service.clock.store(NEW_YEAR_MS + 10 * DAY_MS, Ordering::SeqCst);
    let by_id = ErasePersonRequest { operator_id: "acme".into(), player_id: player, ..Default::default() };
    assert!(client.ledger.erase_person(by_id).await.unwrap().into_inner().erased);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_person_with_a_pending_void_or_an_unpriced_hit_is_not_erased() {
    let data = tempfile::tempdir().unwrap();
    let service = void_approvals::Service::start(data.path()).await;
    let mut acme = service.client("acme").await;
    let player = issue(&mut acme, "acme", "anna").await.unwrap();
    let (account, ..) = void_approvals::held(&service, &player).await;
    withdraw_all(&mut acme, &account).await;
    void_approvals::until("the round ends", async || {
        open_of(&erase(&mut acme, "acme", "anna").await.unwrap_err()) == "a pending void"
    })
    .await;

    let [_, mut ann, mut bob] = service.all().await;
    let player = issue(&mut acme, "acme", "berta").await.unwrap();
    let (account, round) = void_approvals::waiting(&mut acme, &player).await;
    let (request_id, pool_id, reason) = ("again".to_owned(), POOL.to_owned(), "check".to_owned());
    let request = SuspendPoolRequest { request_id, pool_id, reason, actor: String::new() };
    ann.jackpot.suspend_pool(request).await.unwrap();
    assert_eq!(void_approvals::hit(&mut acme, &round).await, jackpot_win::State::Pending);
    withdraw_all(&mut acme, &account).await;
    assert_eq!(open_of(&erase(&mut acme, "acme", "berta").await.unwrap_err()), "an unpaid award");
    let request = ResumePoolRequest { request_id: "resume-again".into(), pool_id: POOL.into(), actor: String::new() };
    let change_id = ann.jackpot.resume_pool(request).await.unwrap().into_inner().change_id;
    let approval = ApproveChangeRequest { request_id: "approve".into(), change_id, ..Default::default() };
    bob.ledger.approve_change(approval).await.unwrap();
    void_approvals::until("the award is paid", async || acme.balance(&account).await > 0).await;
    assert_eq!(open_of(&erase(&mut acme, "acme", "berta").await.unwrap_err()), "a balance");
    withdraw(&mut acme, &account, "rest").await;
    assert!(erase(&mut acme, "acme", "berta").await.unwrap());
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_person_whose_last_record_is_archived_is_kept_for_the_configured_days() {
    const DAY_MS: i64 = 86_400_000;
    let data = tempfile::tempdir().unwrap();
    let operators = with_keys(&operator("acme", &[("acme", ALL)]), "person_keep_days = 10");
    let operators = Config::parse(&operators).unwrap().operators;
    let config = Config { partitions: 1, operators, ..config(data.path()) };
    let (log, clock) = (ArchivingStore::new(0), Arc::new(AtomicI64::new(NEW_YEAR_MS)));
    let start = async || {
        let (store, time): (Box<dyn Store>, _) = (Box::new(log.clone()), Arc::clone(&clock));
        let server = start_with(&config, store, Options::on_clock(move || time.load(Ordering::SeqCst))).await;
        let target = format!("http://{}", server.address());
        (Client::on(connect(&target, &token("acme"), None).await.unwrap()), server)
    };
    let (mut client, server) = start().await;
    let player = issue(&mut client, "acme", "anna").await.unwrap();
    let account = client.fund(&player, EUR, 1_000).await;
    withdraw_all(&mut client, &account).await;
    clock.store(NEW_YEAR_MS + DAY_MS, Ordering::SeqCst);
    client.fund("berta", EUR, 1_000).await;
    let first = server.ledger().durable();
    server.stop().await.unwrap();
    let (mut client, server) = start().await;
    log.archive_below(first);
    for (days, until) in [(1, "2027-01-12T00:00:00Z"), (10, "2027-01-12T00:00:00Z")] {
        clock.store(NEW_YEAR_MS + days * DAY_MS, Ordering::SeqCst);
        let refused = erase(&mut client, "acme", "anna").await.unwrap_err();
        let details = refused.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!((refused.code(), &*info.reason), (Code::FailedPrecondition, "PERSON_KEPT"), "{refused:?}");
        assert_eq!(info.metadata["until"], until);
    }
    clock.store(NEW_YEAR_MS + 11 * DAY_MS, Ordering::SeqCst);
    assert!(erase(&mut client, "acme", "anna").await.unwrap());
    server.stop().await.unwrap();
}

#[derive(Default)]
struct Answered {
    ids: BTreeMap<String, String>,
    erased: BTreeMap<String, String>,
    erasing: Option<String>,
    count: usize,
}

async fn work(mut client: Client, turn: usize, answered: Arc<Mutex<Answered>>) {
    for number in 0.. {
        let reference = format!("person-{turn}-{number}");
        let Ok(id) = issue(&mut client, "acme", &reference).await else { return };
        let earlier = format!("person-{turn}-{}", number / 3 * 2);
        let erases = {
            let mut answered = answered.lock().unwrap();
            answered.ids.insert(reference, id);
            answered.count += 1;
            let erases = number % 3 == 2 && answered.ids.contains_key(&earlier);
            answered.erasing = erases.then(|| earlier.clone());
            erases
        };
        if erases {
            let Ok(erased) = erase(&mut client, "acme", &earlier).await else { return };
            assert!(erased, "{earlier}");
            let mut answered = answered.lock().unwrap();
            let id = answered.ids.remove(&earlier).unwrap();
            answered.erased.insert(earlier, id);
            answered.erasing = None;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_killed_process_loses_no_answered_id_and_no_answered_erasure() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut before = Answered::default();
    for turn in 0..10 {
        let process = Process::start(PROGRAM, &data, None);
        let mut client = Client::connect(process.address).await;
        for (reference, id) in &before.ids {
            let now = issue(&mut client, "acme", reference).await.unwrap();
            assert!(now == *id || before.erasing.as_ref() == Some(reference), "{reference}");
        }
        for (reference, id) in &before.erased {
            assert_ne!(issue(&mut client, "acme", reference).await.unwrap(), *id, "{reference}");
        }
        let answered = Arc::new(Mutex::new(Answered::default()));
        let working = tokio::spawn(work(client, turn, Arc::clone(&answered)));
        until("answers", async || answered.lock().unwrap().count > 10 + turn * 7).await;
        process.kill();
        working.await.unwrap();
        before = Arc::into_inner(answered).unwrap().into_inner().unwrap();
        assert!(!before.erased.is_empty());
    }
}
