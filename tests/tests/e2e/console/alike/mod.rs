mod asked;

use super::{ALL, CONSOLE, browser::Browser};
use crate::{
    PROGRAM,
    telemetry::{collector, points, prometheus},
};
use asked::{CONTRACT, Case, NOT_PLAYED, SentRequest, at, case, choose, head, moving, of, spin};
use motherlode_proto::{
    ledger::v1::{CancelRequestRequest, SetSwitchRequest, Switch, set_switch_request::State},
    round::v1::{Account, choice},
    spin::v1::{
        CancelCampaignRequest, ChooseRequest, GrantCampaignRequest, KeepSessionRequest, OpenSessionRequest,
        PlayStreamRequest, SessionLimits, SpinRequest, play_stream_response::Answer,
    },
};
use motherlode_runtime::{Reason, connect::connect};
use motherlode_slots::latest;
use motherlode_tests::{
    Client, Force, Process, campaign, free_round,
    operators::{operator, token},
    until,
};
use prost::Message;
use prost_reflect::DynamicMessage;
use std::{cell::RefCell, collections::BTreeMap, fs, net::SocketAddr, time::Duration};
use tokio::net::TcpStream;
use tonic::{Code, Status};
use tonic_types::{StatusExt, pb};

fn seen(status: &Status, case: &Case<'_>) -> String {
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("{}: {status:?}", case.reason));
    let metadata: BTreeMap<_, _> = info.metadata.iter().collect();
    let fields = details.bad_request().map(|request| &request.field_violations);
    let message = if let SentRequest::Bytes(..) = case.asked { "" } else { status.message() };
    let text = format!(
        "{:?} {} {message} {metadata:?} {fields:?} {:?}",
        status.code(),
        info.reason,
        details.retry_info().and_then(|retry| retry.retry_delay)
    );
    if case.moving { masked(&text) } else { text }
}

fn masked(text: &str) -> String {
    let digits = text.replace(|letter: char| letter.is_ascii_digit() || letter == '.', "#");
    let mut short = digits.replace("##", "#");
    while short.contains("##") {
        short = short.replace("##", "#");
    }
    short.replace("#ms", "#s")
}

struct Service {
    process: Process,
    refused: BTreeMap<String, i64>,
}

impl Service {
    async fn client(&self, shown: &str) -> Client {
        let target = format!("http://{}", self.process.address);
        Client::on(connect(&target, &token(shown), None).await.unwrap())
    }

    fn console(&self) -> SocketAddr {
        self.process.console.unwrap()
    }

    /// Uses HTTP/2 directly, since tonic's client would enforce the deadline.
    async fn direct(&self, case: &Case<'_>) -> Status {
        let address = self.process.address;
        let (client, connection) = h2::client::handshake(TcpStream::connect(address).await.unwrap()).await.unwrap();
        let connection = tokio::spawn(connection);
        let method = case.asked.method();
        let url = format!("http://{address}/motherlode.spin.v1.SpinService/{method}");
        let mut request = http::Request::post(url).header("content-type", "application/grpc").header("te", "trailers");
        for (name, value) in headers(case) {
            request = request.header(name, value);
        }
        let (answer, mut body) = client.ready().await.unwrap().send_request(request.body(()).unwrap(), false).unwrap();
        let message = case.asked.bytes();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let _ = body.send_data([&[0], &length[..], &message].concat().into(), true);
        let answer = answer.await.unwrap();
        let refused = match Status::from_header_map(answer.headers()) {
            Some(status) => status,
            None => {
                let mut body = answer.into_body();
                while let Some(data) = body.data().await {
                    drop(data.unwrap());
                }
                let trailers = body.trailers().await.unwrap().unwrap_or_default();
                Status::from_header_map(&trailers).unwrap_or_else(|| panic!("{}: no status", case.reason))
            }
        };
        connection.abort();
        refused
    }

    async fn streamed(&self, case: &Case<'_>) -> Status {
        let mut client = self.client(case.token).await;
        let call = PlayStreamRequest { tag: 7, call: case.asked.call() };
        let mut answers = client.spin.play_stream(tokio_stream::iter([call])).await.unwrap().into_inner();
        match answers.message().await.unwrap().unwrap().answer {
            Some(Answer::Error(status)) => from_message(&status),
            other => panic!("{}: {other:?}", case.reason),
        }
    }

    async fn layered(&self, case: &Case<'_>) -> Status {
        let json = ("content-type".to_owned(), "application/json".to_owned());
        let headers: Vec<_> = headers(case).chain([json]).collect();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let path = format!("/v1/SpinService/{}", case.asked.method());
        let page = Browser::new(self.console()).ask("POST", &path, &headers, &case.asked.json()).await;
        let of = CONTRACT.get_message_by_name("google.rpc.Status").unwrap();
        let mut read = serde_json::Deserializer::from_str(&page.body);
        let status = DynamicMessage::deserialize(of, &mut read);
        let status = status.unwrap_or_else(|error| panic!("{}: {error}: {}", case.reason, page.body)).encode_to_vec();
        from_message(&pb::Status::decode(&*status).unwrap())
    }

    fn count(&mut self, status: &Status) {
        *self.refused.entry(motherlode_tests::reason(status)).or_default() += 1;
    }

    async fn play(&mut self, case: &Case<'_>) {
        let mut told = vec![];
        for path in ["direct", "streamed", "layered"] {
            if path == "streamed" && !case.streamed {
                continue;
            }
            for _ in 0..10 {
                let status = match path {
                    "direct" => self.direct(case).await,
                    "streamed" => self.streamed(case).await,
                    _ => self.layered(case).await,
                };
                self.count(&status);
                if motherlode_tests::reason(&status) == case.reason {
                    told.push((path, seen(&status, case)));
                    break;
                }
                assert_eq!(case.reason, "RATE_LIMITED", "{path}: {status:?}");
            }
        }
        let wanted = if case.streamed { 3 } else { 2 };
        assert_eq!(told.len(), wanted, "{}: {told:#?}", case.reason);
        for (path, one) in &told[1..] {
            assert_eq!(told[0].1, *one, "{}: the direct path and {path} answer differently", case.reason);
        }
        let reason = format!("reason=\"{}\"", case.reason);
        let id = format!("request_id=\"{}\"", case.asked.request_id());
        let lines = self.process.log_lines(&reason);
        let named = |line: &&String| line.contains(&id) || (!case.streamed && line.contains("request_id=\"\""));
        let lines: Vec<_> = lines.iter().filter(named).map(|line| comparable(line, case)).collect();
        assert_eq!(lines.len(), wanted, "{}: {lines:#?}", case.reason);
        assert!(lines.iter().all(|line| *line == lines[0]), "{}: {lines:#?}", case.reason);
    }
}

fn comparable(line: &str, case: &Case<'_>) -> String {
    let at = line.find("a call was refused").unwrap_or_else(|| panic!("{line}"));
    let level = if line[..at].contains("WARN") { "WARN" } else { "INFO" };
    let mut line = format!("{level} {}", &line[at..]);
    for method in ["PlayStream", "Choose", "Spin"] {
        line = line.replace(&format!("motherlode.spin.v1.SpinService/{method}"), "METHOD");
    }
    if let SentRequest::Bytes(..) = case.asked {
        line.truncate(line.find("detail=").unwrap_or(line.len()));
    }
    if case.moving { masked(&line) } else { line }
}

fn headers<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (String, String)> + 'a {
    let shown = (!case.token.is_empty()).then(|| ("authorization".to_owned(), format!("Bearer {}", case.token)));
    shown.into_iter().chain(case.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn from_message(status: &pb::Status) -> Status {
    Status::with_details(Code::from(status.code), status.message.clone(), status.encode_to_vec().into())
}

fn elves(request_id: &str, operator: &str, player: &str) -> SpinRequest {
    at("mystery-elves", 10, 1, spin(request_id, operator, player))
}

async fn session(client: &mut Client, account: &Account, limits: Option<SessionLimits>) -> String {
    let (request_id, game) = (format!("open-{}", account.player_id), "dwarf-mine".to_owned());
    let request = OpenSessionRequest { request_id, account: Some(account.clone()), game, limits, ..Default::default() };
    client.spin.open_session(request).await.unwrap().into_inner().session_id
}

fn in_session(session_id: &str, spin: SpinRequest) -> SpinRequest {
    SpinRequest { session_id: session_id.to_owned(), ..spin }
}

async fn switch(client: &mut Client, request_id: &str, switch: Switch) {
    let (reason, actor) = ("reel 3 stuck".to_owned(), String::new());
    let request_id = request_id.to_owned();
    let request =
        SetSwitchRequest { request_id, switch: Some(switch), state: State::Off.into(), reason, actor, preview: false };
    client.ledger.set_switch(request).await.unwrap();
}

const MORE: &str = "
[limits]
open_rounds_per_operator_max = 2
session_hold_ms = 3600000
message_bytes_max = 4096
[currencies]
enabled = [\"EUR\", \"SEK\"]
[jurisdictions.operators]
strict = { limits = { buy_feature = false, gamble = false, jackpot = false } }
paced = { limits = { round_ms_min = 3600000 } }
seated = { limits = { loss_eur_max = 1000 } }
timed = { limits = { session_ms_max = 1 } }
checked = { limits = { reality_check_ms = 1 } }
";

#[tokio::test(flavor = "multi_thread")]
async fn at_c1_the_direct_path_streams_and_the_layers_refuse_alike_with_every_reason() {
    let (endpoint, mut exports) = collector().await;
    let data = tempfile::tempdir().unwrap();
    let old = operator("old", &[("old", ALL)]) + "expires = 2020-01-01T00:00:00Z\n";
    let rate = "id = \"slow\"\ncalls_per_second_max = 1\ncalls_burst_max = 1\n";
    let slow = operator("slow", &[("slow", ALL)]).replace("id = \"slow\"\n", rate);
    let others = ["strict", "paced", "seated", "timed", "checked", "busy", "held", "off", "platform"];
    let others: String = others.iter().map(|id| operator(id, &[(*id, ALL)])).collect();
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_seconds = 1\n");
    let acme = operator("acme", &[("acme", ALL), ("audit", r#"["audit"]"#)]);
    let config = data.path().join("config.toml");
    fs::write(&config, telemetry + CONSOLE + MORE + &acme + &old + &slow + &others).unwrap();
    let process = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let mut service = Service { process, refused: BTreeMap::new() };

    let mut acme = service.client("acme").await;
    for (player, minor) in [("alice", 10_000), ("poor", 1), ("open", 10_000), ("free", 10_000), ("seat", 10_000)] {
        acme.fund_account(&of("acme", player, "EUR"), minor).await;
    }
    acme.fund_account(&of("acme", "sven", "SEK"), 10_000).await;
    let mut players = BTreeMap::new();
    for id in ["strict", "paced", "seated", "timed", "checked", "busy", "off"] {
        let mut client = service.client(id).await;
        client.fund_account(&of(id, "ann", "EUR"), 10_000).await;
        client.fund_account(&of(id, "bob", "EUR"), 10_000).await;
        players.insert(id, client);
    }
    let dwarf_mine = latest("dwarf-mine").unwrap();

    let over = acme.spin(spin("taken", "acme", "alice"), Some(Force::Loss)).await.unwrap().round_id;
    let open = at("bewitched", 15, 1, spin("open", "acme", "open"));
    let open = SpinRequest { witch: 1, ..open };
    let waiting = acme.spin(open.clone(), Some(Force::FreeSpins)).await.unwrap().round_id;
    let busy = players.get_mut("busy").unwrap();
    for player in ["ann", "bob"] {
        let first = SpinRequest { witch: 1, ..at("bewitched", 15, 1, spin("first", "busy", player)) };
        busy.spin(first, Some(Force::FreeSpins)).await.unwrap();
    }
    busy.fund_account(&of("busy", "cat", "EUR"), 1_000_000).await;
    players.get_mut("paced").unwrap().spin(spin("first", "paced", "ann"), Some(Force::Loss)).await.unwrap();
    let cancelled = CancelRequestRequest {
        account: Some(of("acme", "alice", "EUR")),
        request_id: "cancelled".to_owned(),
        ..Default::default()
    };
    acme.ledger.cancel_request(cancelled).await.unwrap();

    let free = of("acme", "free", "EUR");
    for (id, rounds) in [("used", 1), ("back", 1), ("late", 1)] {
        let grant = campaign(dwarf_mine, id, &free, rounds);
        let soon = std::time::SystemTime::now() + Duration::from_secs(1);
        let expire_time = if id == "late" { Some(soon.into()) } else { grant.expire_time };
        acme.spin.grant_campaign(GrantCampaignRequest { expire_time, ..grant }).await.unwrap();
    }
    acme.spin(free_round(dwarf_mine, "used-1", &free, "used"), Some(Force::Loss)).await.unwrap();
    let back = CancelCampaignRequest {
        request_id: "take-back".to_owned(),
        account: Some(free.clone()),
        campaign_id: "back".to_owned(),
        reason: "test".to_owned(),
        ..Default::default()
    };
    acme.spin.cancel_campaign(back).await.unwrap();

    let seated = players.get_mut("seated").unwrap();
    let limits = SessionLimits { bet_max_minor: Some(1), loss_max_minor: Some(500), ..SessionLimits::default() };
    let small_bets = session(seated, &of("seated", "ann", "EUR"), Some(limits)).await;
    let limits = SessionLimits { loss_max_minor: Some(1), ..SessionLimits::default() };
    let small_losses = session(seated, &of("seated", "bob", "EUR"), Some(limits)).await;
    let mut over_time = BTreeMap::new();
    for id in ["timed", "checked"] {
        let client = players.get_mut(id).unwrap();
        let opened = session(client, &of(id, "ann", "EUR"), None).await;
        let mut number = 0;
        loop {
            number += 1;
            let bet = in_session(&opened, spin(&format!("in-time-{number}"), id, "ann"));
            if let Err(status) = client.spin(bet, Some(Force::Loss)).await {
                service.count(&status);
                break;
            }
        }
        over_time.insert(id, opened);
    }
    let seat = session(&mut acme, &of("acme", "seat", "EUR"), None).await;
    let mut leaving = service.client("held").await;
    leaving.fund_account(&of("held", "ann", "EUR"), 1).await;
    let held = session(&mut leaving, &of("held", "ann", "EUR"), None).await;
    let keep = KeepSessionRequest { session_id: held.clone() };
    let mut kept = leaving.spin.keep_session(keep).await.unwrap().into_inner();
    kept.message().await.unwrap();
    drop(kept);
    let bet = spin("held", "held", "ann");
    let answers = RefCell::new(vec![]);
    until("the hold", async || {
        let refused = service.client("held").await.spin(bet.clone(), None).await.unwrap_err();
        answers.borrow_mut().push(refused.clone());
        motherlode_tests::reason(&refused) == "SESSION_HELD"
    })
    .await;
    answers.into_inner().iter().for_each(|status| service.count(status));

    let bought = |mut spin: SpinRequest| {
        spin.stake.as_mut().unwrap().buy_feature = true;
        spin
    };
    let free_spins = || choice::Kind::StartFreeSpins(choice::StartFreeSpins {});
    let collect = || choice::Kind::Collect(choice::Collect {});
    let of_campaign = |id: &str| free_round(dwarf_mine, id, &free, id);
    let alice = |id: &str| spin(id, "acme", "alice");
    let long = SentRequest::Bytes(
        SpinRequest { game: "x".repeat(5_000), ..alice("long") }.encode_to_vec(),
        SentRequest::from(SpinRequest { game: "x".repeat(5_000), ..alice("long") }).json(),
    );
    let cases = [
        head("TOKEN_MISSING", "", &[]),
        head("TOKEN_UNKNOWN", "nobody", &[]),
        head("TOKEN_AMBIGUOUS", "acme", &[("authorization", "Bearer audit")]),
        head("OPERATOR_NOT_SERVED", "acme", &[("motherlode-operator", "none")]),
        head("TOKEN_EXPIRED", "old", &[]),
        head("ROLE_MISSING", "audit", &[]),
        moving(head("RATE_LIMITED", "slow", &[])),
        head("TIMEOUT_MALFORMED", "acme", &[("grpc-timeout", "soon")]),
        head("DEADLINE_EXCEEDED", "acme", &[("grpc-timeout", "1n")]),
        Case {
            streamed: false,
            ..case("MESSAGE_MALFORMED", "acme", SentRequest::Bytes(vec![0xff; 40], "{\"requestId\": 7".to_owned()))
        },
        Case { streamed: false, ..case("MESSAGE_TOO_LONG", "acme", long) },
        case("INVALID_FIELD", "acme", SpinRequest { witch: 1, ..alice("field") }),
        case("INVALID_FIELD", "acme", choose("field-c", "nonsense", collect())),
        case("REQUEST_ID_REUSED", "acme", at("neptune", 15, 1, alice("taken"))),
        case("REQUEST_CANCELLED", "acme", alice("cancelled")),
        case("ACCOUNT_UNKNOWN", "acme", spin("account", "acme", "nobody")),
        case("INSUFFICIENT_FUNDS", "acme", spin("funds", "acme", "poorer")),
        case("CURRENCY_NOT_OFFERED", "acme", SpinRequest { account: Some(of("acme", "alice", "GBP")), ..alice("gbp") }),
        case(
            "RATE_UNKNOWN",
            "acme",
            SpinRequest { account: Some(of("acme", "sven", "SEK")), ..at("neptune", 15, 1, alice("sek")) },
        ),
        case("GAME_UNKNOWN", "acme", at("chess", 1, 25, alice("chess"))),
        case("INVALID_STAKE", "acme", at("dwarf-mine", 99, 25, alice("lines"))),
        case(
            "RULES_VERSION_SUPERSEDED",
            "acme",
            SpinRequest { rules_version: "1.0".to_owned(), ..at("neptune", 15, 1, alice("old")) },
        ),
        case("ROUND_IN_PROGRESS", "acme", SpinRequest { request_id: "progress".to_owned(), ..open }),
        case("OPEN_ROUNDS_FULL", "busy", bought(elves("full", "busy", "cat"))),
        case("WITCH_NOT_PICKED", "acme", at("bewitched", 15, 1, alice("witch"))),
        case("CHOICE_NOT_AWAITED", "acme", choose("not-awaited", &waiting, collect())),
        case("ALREADY_SETTLED", "acme", choose("settled", &over, free_spins())),
        case("ROUND_UNKNOWN", "acme", choose("round", "acme/alice/99", collect())),
        case("SEAL_CHANGED", "acme", SpinRequest { seal: vec![7; 32], ..alice("seal") }),
        case("SEAL_CHANGED", "acme", ChooseRequest { seal: vec![7; 32], ..choose("seal-c", &waiting, free_spins()) }),
        case("BUY_FEATURE_FORBIDDEN", "strict", bought(elves("buy", "strict", "ann"))),
        case("GAMBLE_FORBIDDEN", "strict", SpinRequest { offer_double: true, ..elves("double", "strict", "ann") }),
        case(
            "JACKPOT_FORBIDDEN",
            "strict",
            SpinRequest { witch: 1, ..at("bewitched", 15, 1, spin("pool", "strict", "ann")) },
        ),
        moving(case("ROUND_TOO_SOON", "paced", spin("soon", "paced", "ann"))),
        case("BET_LIMIT", "seated", in_session(&small_bets, spin("bet-limit", "seated", "ann"))),
        case("LOSS_LIMIT", "seated", in_session(&small_losses, spin("loss-limit", "seated", "bob"))),
        case("SESSION_REQUIRED", "seated", spin("required", "seated", "ann")),
        case("SESSION_IN_USE", "acme", spin("in-use", "acme", "seat")),
        moving(case("SESSION_HELD", "held", SpinRequest { request_id: "held-2".to_owned(), ..bet })),
        case("SESSION_EXPIRED", "acme", in_session(&"0123456789abcdef".repeat(2), alice("expired"))),
        case("SESSION_MISMATCH", "acme", in_session(&seat, at("neptune", 15, 1, spin("mismatch", "acme", "seat")))),
        moving(case("SESSION_TIME_LIMIT", "timed", in_session(&over_time["timed"], spin("time", "timed", "ann")))),
        moving(case(
            "REALITY_CHECK_DUE",
            "checked",
            in_session(&over_time["checked"], spin("check", "checked", "ann")),
        )),
        case("CAMPAIGN_UNKNOWN", "acme", of_campaign("none")),
        case(
            "CAMPAIGN_MISMATCH",
            "acme",
            SpinRequest { game: "neptune".to_owned(), ..free_round(dwarf_mine, "mismatch-c", &free, "used") },
        ),
        case("CAMPAIGN_USED_UP", "acme", of_campaign("used")),
        case("CAMPAIGN_CANCELLED", "acme", of_campaign("back")),
        case("CAMPAIGN_EXPIRED", "acme", of_campaign("late")),
    ];
    acme.fund_account(&of("acme", "poorer", "EUR"), 1).await;
    let expired = std::time::Instant::now() + Duration::from_secs(2);
    until("the campaign's end", async || std::time::Instant::now() > expired).await;
    for case in &cases {
        service.play(case).await;
    }

    let mut platform = service.client("platform").await;
    let neptune = latest("neptune").unwrap().rules_version().to_owned();
    let part = |operator_id: &str, game: &str, rules_version: &str| Switch {
        operator_id: operator_id.to_owned(),
        game: game.to_owned(),
        rules_version: rules_version.to_owned(),
    };
    let switches = [
        ("VERSION_DISABLED", "acme", part("", "neptune", &neptune), at("neptune", 15, 1, alice("version"))),
        ("GAME_DISABLED", "acme", part("", "mystery-elves", ""), elves("game", "acme", "alice")),
        ("OPERATOR_DISABLED", "off", part("off", "", ""), spin("operator", "off", "ann")),
        ("SERVICE_DISABLED", "acme", part("", "", ""), alice("service")),
    ];
    let mut played: Vec<_> = cases.iter().map(|case| case.reason).collect();
    for (reason, token, part, spin) in switches {
        switch(&mut platform, reason, part).await;
        service.play(&case(reason, token, spin)).await;
        played.push(reason);
    }

    let left: Vec<_> = NOT_PLAYED.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
    for reason in Reason::all().map(Reason::name) {
        assert!(
            played.contains(&reason) != left.contains(&reason),
            "{reason} must have either a case or a stated cause for having none"
        );
    }

    let mut counted = BTreeMap::new();
    let mut exported = 0;
    while counted != service.refused {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        let found = metrics.iter().find(|metric| prometheus(metric) == "motherlode_refusals_total");
        counted = found.map(|metric| points(metric, "reason")).unwrap_or_default();
        counted.retain(|_, count| *count > 0);
        exported += 1;
        assert!(exported < 30, "counted {counted:#?}\nrefused {:#?}", service.refused);
    }
    assert_eq!(service.process.terminate().await, Some(0));
}
