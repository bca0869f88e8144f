use crate::{PROGRAM, asked, honest::Honest};
use futures_util::future::join_all;
use motherlode_proto::{
    jackpot::v1::{DeclareIncidentRequest, Incident, ListIncidentsRequest, VoidsNotReturned},
    ledger::v1::{ApproveChangeRequest, GetRoundRequest, ListChangesRequest, VoidRoundRequest, VoidRoundResponse},
    report::v1::{GetPoolStatementRequest, PoolOperator},
    round::v1::{Account, RoundState, jackpot_win::State},
    spin::v1::SkipRoundRequest,
};
use motherlode_runtime::connect::connect;
use motherlode_state::Nano;
use motherlode_tests::{
    Client, Force, Process, bet,
    hostile::Target,
    operators::{Certificates, operator},
    pool::POOL,
    reason, vials,
};
use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tonic::Status;

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;
const TURNS: u32 = 5;
const FLOOD: u32 = 1_500;
const FLOODING: u64 = 32;
const HITS: u32 = 6;
const BULK: usize = 1_000;
const LISTENS: Duration = Duration::from_secs(2);
const CENT: i128 = 50_000;

fn configure(folder: &Path) -> (String, Target) {
    let certificates = Certificates::make(folder);
    let operators = ["mallory", "honest"].map(|id| operator(id, &[(id, ALL)])).concat();
    let platform = operator("platform", &[("first", ALL), ("second", ALL)]);
    let file = folder.join("voids.toml");
    fs::write(&file, Certificates::section(folder) + &operators + &platform).unwrap();
    (file.display().to_string(), Target::tls(([127, 0, 0, 1], 0).into(), &certificates.root))
}

async fn client(target: &Target, token: &str) -> Client {
    let (url, credentials) = target.with(token).honest();
    Client::on(connect(&url, &credentials, None).await.unwrap())
}

fn account(operator: &str, player: &str) -> Account {
    Account { operator_id: operator.into(), player_id: player.into(), currency_code: "EUR".into() }
}

async fn void(client: &mut Client, request_id: String, round_id: &str) -> Result<VoidRoundResponse, Status> {
    let request =
        VoidRoundRequest { request_id, round_id: round_id.into(), reason: "stuck".into(), actor: String::new() };
    Ok(client.ledger.void_round(request).await?.into_inner())
}

async fn hit(client: &mut Client, account: &Account, id: &str) -> Result<(String, State), Status> {
    let mut request = bet(id, account, "0.20");
    if let Some(stake) = &mut request.stake {
        stake.coins_per_line = 10;
    }
    let spun = client.spin(request, Some(Force::Pick)).await?;
    let chosen = client.choose(&format!("{id}.1"), &spun.round_id, vials(), Some(Force::Jackpot)).await?;
    if chosen.state() == RoundState::Open {
        let request =
            SkipRoundRequest { request_id: format!("{id}.2"), round_id: spun.round_id.clone(), ..Default::default() };
        client.spin.skip_round(request).await?;
    }
    Ok((spun.round_id, chosen.jackpot.map_or(State::Unspecified, |won| won.state())))
}

#[derive(Default)]
struct Flood {
    voided: AtomicU64,
    refused: AtomicU64,
}

async fn flood(target: Target, player: u64, turn: u32, until: Instant, flood: Arc<Flood>) {
    let mut client = client(&target, "mallory").await;
    let account = account("mallory", &format!("flood-{player}"));
    let every = Duration::from_secs(1) * u32::try_from(FLOODING).unwrap() / FLOOD;
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for number in 0.. {
        due.tick().await;
        if Instant::now() >= until {
            return;
        }
        let id = format!("f-{turn}-{number}");
        let mut request = bet(&id, &account, "0.01");
        if let Some(stake) = &mut request.stake {
            stake.lines = 1;
        }
        let Ok(played) = client.spin(request, None).await else {
            flood.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        match void(&mut client, format!("{id}-v"), &played.round_id).await {
            Ok(voided) if voided.change_id == 0 => flood.voided.fetch_add(1, Ordering::Relaxed),
            _ => flood.refused.fetch_add(1, Ordering::Relaxed),
        };
    }
}

async fn own_hits(mut client: Client, turn: u32) -> Vec<String> {
    let own = account("mallory", "own");
    let mut rounds = vec![];
    for number in 0..3 {
        let id = format!("own-{turn}-{number}");
        let Ok((round, _)) = hit(&mut client, &own, &id).await else { continue };
        let proposed = void(&mut client, format!("{id}-v"), &round).await.unwrap();
        assert!(proposed.change_id > 0, "an operator alone cannot void a hit");
        rounds.push(round);
    }
    rounds
}

async fn honest_hits(mut client: Client, turn: String, all: Duration) {
    for number in 0..HITS {
        let player = account("honest", &format!("lucky-{}", number % 3));
        let (round, state) = hit(&mut client, &player, &format!("h-{turn}-{number}")).await.unwrap();
        assert_eq!(state, State::Paid, "{round} is paid within award_wait_ms_max");
        tokio::time::sleep(all / (HITS + 1)).await;
    }
}

async fn not_returned(client: &mut Client, operator: &str) -> Option<VoidsNotReturned> {
    let request = ListIncidentsRequest { pool_id: POOL.into() };
    let listed = client.jackpot.list_incidents(request).await.unwrap().into_inner().not_returned;
    listed.into_iter().find(|of| of.operator_id == operator)
}

async fn part(client: &mut Client, operator: &str) -> PoolOperator {
    let request = GetPoolStatementRequest { pool_id: POOL.into(), date: String::new() };
    let statement = client.report.get_pool_statement(request).await.unwrap().into_inner();
    statement.operators.into_iter().find(|of| of.operator_id == operator).unwrap()
}

fn eur(text: &str) -> i128 {
    text.parse::<Nano>().unwrap().0
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("{what}"));
}

async fn bulk(honest: &mut Client, first: &mut Client, second: &mut Client) {
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let player = account("honest", "bulk");
    honest.fund_account(&player, 10_000_000).await;
    let before = part(first, "honest").await;
    let mut rounds = vec![];
    for number in 0..BULK {
        let played = honest.play_out(bet(&format!("b-{number}"), &player, "0.01")).await.unwrap();
        if played.iter().all(|step| step.jackpot.is_none()) {
            rounds.push(played[0].round_id.clone());
        }
    }
    let contributed = i128::try_from(rounds.len()).unwrap() * 15 * CENT;
    for voids in rounds.chunks(50) {
        join_all(voids.iter().map(async |round| {
            let mut client = honest.clone();
            void(&mut client, format!("v-{}", round.replace('/', "-")), round).await.unwrap()
        }))
        .await;
    }
    until("the reports count all voids", async || {
        let sum = not_returned(first, "honest").await;
        sum.is_some_and(|sum| eur(&sum.contributions_eur) == contributed)
    })
    .await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 1;
    let time = |seconds: u64| Some(prost_types::Timestamp { seconds: seconds.try_into().unwrap(), nanos: 0 });
    let incident = Incident {
        incident_id: "bulk".into(),
        operator_id: "honest".into(),
        game: POOL.into(),
        rules_version: String::new(),
        from_time: time(begun),
        until_time: time(now),
        reason: "reel 3 stuck".into(),
        actor: String::new(),
    };
    let (request_id, pool_id, actor) = ("bulk".to_owned(), POOL.to_owned(), String::new());
    let request = DeclareIncidentRequest { request_id, pool_id, incident: Some(incident), actor };
    let change_id = first.jackpot.declare_incident(request).await.unwrap().into_inner().change_id;
    let request = ApproveChangeRequest { request_id: "bulk-approve".into(), change_id, ..Default::default() };
    second.ledger.approve_change(request).await.unwrap();
    until("every contribution is returned", async || not_returned(first, "honest").await.is_none()).await;
    let after = part(first, "honest").await;
    assert_eq!(eur(&after.returned_eur) - eur(&before.returned_eur), contributed);
    println!("bulk:     {} rounds voided, {} EUR returned", rounds.len(), Nano(contributed));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_b1_mf_b2_voids_do_not_pay_and_delay_no_other_operator() {
    let all = Duration::from_secs(asked("MOTHERLODE_VOIDS_SECONDS", 60).max(5));
    let rate = u32::try_from(asked("MOTHERLODE_HOSTILE_RATE", 50)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path());
    let data = folder.path().join("data");
    let start = || Process::start(PROGRAM, &data, Some(file.as_ref()));
    let process = start();
    let target = target.at(process.address);
    let playing = Honest::connect(&target.with("honest"), rate).await;
    playing.fund().await;
    let (mut mallory, mut honest) = (client(&target, "mallory").await, client(&target, "honest").await);
    let (mut first, mut second) = (client(&target, "first").await, client(&target, "second").await);
    for player in 0..3 {
        honest.fund_account(&account("honest", &format!("lucky-{player}")), 10_000_000).await;
    }
    for player in 0..FLOODING {
        mallory.fund_account(&account("mallory", &format!("flood-{player}")), 1_000_000).await;
    }
    mallory.fund_account(&account("mallory", "own"), 10_000_000).await;
    playing.play(Duration::from_secs(2)).await;

    let threads = crate::threads();
    let (counts, mut own, mut slowest) = (Arc::new(Flood::default()), vec![], vec![]);
    for turn in 0..TURNS {
        let hits = tokio::spawn(honest_hits(honest.clone(), format!("calm-{turn}"), all / TURNS));
        let calm = playing.play(all / TURNS).await;
        hits.await.unwrap();
        let end = Instant::now() + all / TURNS;
        let flooding: Vec<_> = (0..FLOODING)
            .map(|player| threads.spawn(flood(target.clone(), player, turn, end, Arc::clone(&counts))))
            .collect();
        let hits = tokio::spawn(honest_hits(honest.clone(), format!("attack-{turn}"), all / TURNS));
        let attacked = playing.play(all / TURNS).await;
        hits.await.unwrap();
        for flooded in flooding {
            flooded.await.unwrap();
        }
        own.extend(own_hits(mallory.clone(), turn).await);
        println!("calm:     {calm}\nattacked: {attacked}");
        assert_eq!((&calm.failed, &attacked.failed), (&vec![], &vec![]), "the honest operator got no answers");
        slowest.push((calm.p99(), attacked.p99()));
    }
    threads.shutdown_background();
    let voided = counts.voided.load(Ordering::Relaxed);
    println!("voids:    {voided} in {all:?}, {} refused", counts.refused.load(Ordering::Relaxed));

    until("the reports count all voids", async || {
        let sum = not_returned(&mut first, "mallory").await;
        sum.is_some_and(|sum| sum.voids == voided && eur(&sum.contributions_eur) == i128::from(voided) * CENT)
    })
    .await;
    let contributed = eur(&part(&mut first, "mallory").await.contributed_eur);
    assert!(contributed >= i128::from(voided) * CENT, "no contribution was returned");
    let waiting = first.ledger.list_changes(ListChangesRequest {}).await.unwrap().into_inner().changes;
    assert_eq!(waiting.len(), own.len(), "each hit waits for the platform");
    for (change, number) in waiting.iter().zip(0..) {
        let (request_id, award_cost) = (format!("own-{number}"), 1);
        let request =
            ApproveChangeRequest { request_id, change_id: change.change_id, award_cost, actor: String::new() };
        if let Err(status) = second.ledger.approve_change(request).await {
            assert_eq!(reason(&status), "AWARD_PENDING", "{status}");
        }
    }
    for round_id in own {
        let request = GetRoundRequest { round_id };
        let round = mallory.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
        let won = &round.jackpots[0];
        assert!(matches!(won.state(), State::Paid | State::Voided), "{won:?}");
    }
    bulk(&mut honest, &mut first, &mut second).await;

    assert_eq!(process.terminate().await, Some(0));
    let begun = Instant::now();
    let process = start();
    let listens = begun.elapsed();
    println!("start:    listens after {listens:?}");
    assert!(listens < LISTENS, "the next start listens after {listens:?}");
    assert_eq!(process.terminate().await, Some(0));
    let audit = Command::new(PROGRAM).arg("audit").arg(&data).output().unwrap();
    let printed = String::from_utf8_lossy(&audit.stdout) + String::from_utf8_lossy(&audit.stderr);
    assert!(audit.status.success(), "the audit has findings: {printed}");
    let all_hold = slowest.iter().all(|(calm, attacked)| *attacked <= *calm * crate::SLOWER_MAX);
    assert!(all_hold, "p99 calm and under attack, for each turn: {slowest:?}");
}
