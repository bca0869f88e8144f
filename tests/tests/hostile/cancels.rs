use crate::{PROGRAM, asked};
use futures_util::future::join_all;
use motherlode_proto::{
    convert::record,
    ledger::v1::{CancelRequestRequest, DepositRequest, RequestOutcome, request_outcome::State},
    round::v1::{Account, RoundState, Stake},
    spin::v1::{
        AutospinRequest, CloseSessionRequest, GrantCampaignRequest, GrantCampaignsRequest, OpenSessionRequest,
        PlayMode, SpinRequest,
    },
};
use motherlode_runtime::{Config, connect::connect};
use motherlode_state::{Commit, Event, StreamId};
use motherlode_tests::{
    Client, Process, bet,
    hostile::Target,
    next_choice,
    operators::{Certificates, operator},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;
const PLAYERS: u64 = 16;
const APART: Duration = Duration::from_millis(40);
const KINDS: [&str; 6] = ["series", "spin", "grant", "grants", "session", "deposit"];

struct Cancelled {
    kind: &'static str,
    stream: StreamId,
    request_id: String,
    outcome: RequestOutcome,
}

fn configure(folder: &Path) -> (String, Target) {
    let certificates = Certificates::make(folder);
    let cap = "[[operators]]\ncampaign_liability_eur_max = 1000000000\n";
    let operators = operator("mallory", &[("mallory", ALL)]).replacen("[[operators]]\n", cap, 1);
    let platform = operator("platform", &[("first", ALL), ("second", ALL)]);
    let file = folder.join("cancels.toml");
    fs::write(&file, Certificates::section(folder) + &operators + &platform).unwrap();
    (file.display().to_string(), Target::tls(([127, 0, 0, 1], 0).into(), &certificates.root))
}

fn account(player: &str, currency: &str) -> Account {
    Account { operator_id: "mallory".into(), player_id: player.into(), currency_code: currency.into() }
}

async fn series(mut client: Client, id: String, account: Account) {
    let SpinRequest { account, game, stake, witch, .. } = bet("", &account, "0.01");
    let request =
        AutospinRequest { request_id: id.clone(), account, game, stake, witch, spins: 200, ..Default::default() };
    let mut stream = client.autospin(request, None).await.unwrap();
    while let Ok(Some(answer)) = stream.message().await {
        let Some(open) = answer.played.filter(|played| played.state() == RoundState::Open) else { continue };
        finish(&mut client, open).await;
    }
}

async fn finish(client: &mut Client, open: motherlode_proto::spin::v1::Played) {
    let mut last = open;
    while let Some(kind) = next_choice(&last) {
        let id = format!("choice-{}-{}", last.round_id.replace('/', "-"), last.step);
        match client.choose(&id, &last.round_id.clone(), kind, None).await {
            Ok(played) => last = played,
            Err(_) => return,
        }
    }
}

fn campaign(id: &str, players: [&str; 2]) -> GrantCampaignsRequest {
    GrantCampaignsRequest {
        request_id: id.into(),
        operator_id: "mallory".into(),
        player_ids: players.map(str::to_owned).to_vec(),
        currency_code: "EUR".into(),
        campaign_id: format!("campaign-{id}-{}", players[0]),
        game: "neptune".into(),
        stake: Some(Stake { coin_value: "0.01".into(), lines: 15, coins_per_line: 1, buy_feature: false }),
        rounds: 1,
        expire_time: Some(prost_types::Timestamp { seconds: 2_000_000_000, nanos: 0 }),
    }
}

async fn act(mut client: Client, kind: &'static str, player: String, id: String) {
    let money = account(&player, "EUR");
    match kind {
        "series" => series(client, id, money).await,
        "spin" => {
            if let Ok(played) = client.spin(bet(&id, &money, "0.01"), None).await {
                finish(&mut client, played).await;
            }
        }
        "grant" => {
            let of = campaign(&id, [&player, ""]);
            let request = GrantCampaignRequest {
                request_id: id,
                account: Some(money),
                campaign_id: of.campaign_id,
                game: of.game,
                stake: of.stake,
                rounds: of.rounds,
                expire_time: of.expire_time,
            };
            let _ = client.spin.grant_campaign(request).await;
        }
        "grants" => {
            let _ = client.spin.grant_campaigns(campaign(&id, [&player, &format!("{player}-b")])).await;
        }
        "session" => {
            let request = OpenSessionRequest {
                request_id: id,
                account: Some(account(&player, "XTS")),
                game: "neptune".into(),
                mode: PlayMode::Demo.into(),
                ..Default::default()
            };
            if let Ok(opened) = client.spin.open_session(request).await {
                let session_id = opened.into_inner().session_id;
                client.spin.close_session(CloseSessionRequest { session_id }).await.unwrap();
            }
        }
        _ => {
            let deposit = DepositRequest { request_id: id, account: Some(money), amount_minor: 1 };
            let _ = client.ledger.deposit(deposit).await;
        }
    }
}

async fn cancel(mut client: Client, kind: &'static str, player: &str, id: &str) -> Cancelled {
    let of_operator = kind == "grants";
    let request = CancelRequestRequest {
        account: (!of_operator).then(|| account(player, "EUR")),
        operator_id: if of_operator { "mallory".into() } else { String::new() },
        request_id: id.into(),
    };
    let outcome = client.ledger.cancel_request(request).await.unwrap().into_inner().outcome.unwrap();
    let stream = if of_operator { StreamId::System } else { StreamId::player("mallory", player) };
    Cancelled { kind, stream, request_id: id.into(), outcome }
}

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

async fn attack(client: Client, player: u64, until: Instant, all: Arc<Mutex<Vec<Cancelled>>>) {
    let name = format!("v-{player}");
    let mut random = 0x9e37_79b9_7f4a_7c15 ^ (player + 1);
    for (number, kind) in (0_u64..).zip(KINDS.iter().cycle()) {
        if Instant::now() >= until {
            return;
        }
        let id = match *kind {
            "grants" => format!("{kind}-{player}-{number}"),
            _ => format!("{kind}-{number}"),
        };
        let apart = Duration::from_micros(next(&mut random) % u64::try_from(APART.as_micros()).unwrap());
        let acting = act(client.clone(), kind, name.clone(), id.clone());
        let cancelling = cancel(client.clone(), kind, &name, &id);
        let (act_after, cancel_after) = match next(&mut random) % 4 {
            0 => (apart, Duration::ZERO),
            _ => (Duration::ZERO, apart),
        };
        let (_, cancelled) = tokio::join!(
            async {
                tokio::time::sleep(act_after).await;
                acting.await;
            },
            async {
                tokio::time::sleep(cancel_after).await;
                cancelling.await
            }
        );
        all.lock().unwrap().push(cancelled);
        act(client.clone(), kind, name.clone(), id).await;
    }
}

fn commits(data: &Path) -> Vec<Commit> {
    let config = Config { data: data.to_owned(), ..Config::default() };
    let stores = motherlode_server::open_stores(&config).unwrap();
    let reader = stores.stores[0].reader();
    let mut commits: Vec<Commit> = vec![];
    loop {
        let records = reader.read(commits.len() as u64 + 1, 10_000, 64 << 20).unwrap();
        if records.is_empty() {
            return commits;
        }
        commits.extend(records.iter().map(|record| record::decode(&record.bytes).unwrap().commit));
    }
}

fn requests(commit: &Commit) -> Vec<(StreamId, String)> {
    let (stream, id) = (commit.stream.clone(), commit.request_id.to_string());
    let parts: Vec<_> = id.split('/').collect();
    let mut all = match parts[..] {
        ["campaign", operator, many] => vec![(StreamId::System, format!("of/{operator}/{many}"))],
        ["open-session", request] => vec![(stream.clone(), request.to_owned())],
        ["campaign", operator, player, one] => vec![(StreamId::player(operator, player), one.to_owned())],
        _ => vec![],
    };
    if let Some((series, _)) = id.rsplit_once('.') {
        all.push((stream.clone(), series.to_owned()));
    }
    all.push((stream, id));
    all
}

struct Effects(BTreeMap<(StreamId, String), Vec<Commit>>);

impl Effects {
    fn read(commits: Vec<Commit>) -> (Self, usize) {
        let (mut effects, mut cancelled) = (BTreeMap::<_, Vec<Commit>>::new(), BTreeSet::new());
        for commit in commits {
            if commit.is_cancelled() {
                cancelled.insert((commit.stream, commit.request_id.to_string()));
                continue;
            }
            for request in requests(&commit) {
                assert!(!cancelled.contains(&request), "{request:?} has an effect after its cancellation: {commit:?}");
                effects.entry(request).or_default().push(commit.clone());
            }
        }
        (Self(effects), cancelled.len())
    }

    fn of(&self, stream: &StreamId, request_id: &str) -> &[Commit] {
        self.0.get(&(stream.clone(), request_id.to_owned())).map_or(&[], Vec::as_slice)
    }

    fn check(&self, cancelled: &Cancelled) {
        let Cancelled { kind, stream, request_id, outcome } = cancelled;
        let what = format!("{kind} {request_id} of {stream}: {outcome:?}");
        if *kind == "grants" {
            let reserved = self.of(stream, &format!("of/mallory/{request_id}"));
            let (_, rest) = request_id.split_once('-').unwrap();
            let player = format!("v-{}", rest.split('-').next().unwrap());
            let both = [player.clone(), format!("{player}-b")];
            let granted = both
                .iter()
                .filter(|player| !self.of(&StreamId::player("mallory", player.as_str()), request_id).is_empty());
            let granted: Vec<_> = granted.cloned().collect();
            match outcome.state() {
                State::Cancelled => assert!(granted.is_empty(), "{what}: {granted:?}"),
                State::Applied => assert_eq!((&outcome.player_ids, reserved.len()), (&granted, 1), "{what}"),
                _ => panic!("{what}"),
            }
            return;
        }
        let is_reservation = |commit: &&Commit| matches!(commit.events[..], [Event::LiabilityReserved(_), ..]);
        let effects: Vec<_> = self.of(stream, request_id).iter().filter(|commit| !is_reservation(commit)).collect();
        match outcome.state() {
            State::Cancelled => assert!(effects.is_empty(), "{what}: {effects:?}"),
            State::Applied => assert!(!effects.is_empty(), "{what}"),
            _ => panic!("{what}"),
        }
        if *kind == "series" {
            let started = |event: &Event| matches!(event, Event::RoundStarted(_));
            let rounds = effects.iter().filter(|commit| commit.events.iter().any(started)).count();
            assert_eq!(outcome.round_ids.len(), rounds, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_c1_nothing_of_a_request_is_in_the_log_behind_its_cancellation() {
    let all = Duration::from_secs(asked("MOTHERLODE_CANCELS_SECONDS", 30));
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path());
    let data = folder.path().join("data");
    let process = Process::start(PROGRAM, &data, Some(file.as_ref()));
    let target = target.at(process.address);
    let (url, credentials) = target.with("mallory").honest();
    let mut client = Client::on(connect(&url, &credentials, None).await.unwrap());
    for player in 0..PLAYERS {
        client.fund_account(&account(&format!("v-{player}"), "EUR"), 100_000_000).await;
        client.fund_account(&account(&format!("v-{player}-b"), "EUR"), 1).await;
    }
    let (cancelled, until) = (Arc::default(), Instant::now() + all);
    join_all((0..PLAYERS).map(|player| {
        let attack = attack(client.clone(), player, until, Arc::clone(&cancelled));
        async { tokio::spawn(attack).await.unwrap() }
    }))
    .await;
    assert_eq!(process.terminate().await, Some(0));

    let (effects, in_log) = Effects::read(commits(&data));
    let cancelled = std::mem::take(&mut *cancelled.lock().unwrap());
    let mut counts = BTreeMap::<_, u64>::new();
    for cancelled in &cancelled {
        effects.check(cancelled);
        let Cancelled { kind, outcome, .. } = cancelled;
        *counts.entry((*kind, outcome.state().as_str_name(), outcome.stopped)).or_default() += 1;
    }
    println!("{} requests were cancelled, {in_log} cancellations are in the log; {counts:?}", cancelled.len());
    for kind in KINDS {
        for state in [State::Cancelled, State::Applied] {
            let count = |stopped| counts.get(&(kind, state.as_str_name(), stopped)).copied().unwrap_or_default();
            assert!(count(false) + count(true) > 0, "no request of kind {kind} ended as {}", state.as_str_name());
        }
    }
    assert!(counts.contains_key(&("series", State::Applied.as_str_name(), true)), "no running series was stopped");
    let audit = Command::new(PROGRAM).arg("audit").arg(&data).output().unwrap();
    let printed = String::from_utf8_lossy(&audit.stdout) + String::from_utf8_lossy(&audit.stderr);
    assert!(audit.status.success(), "the audit has findings: {printed}");
}
