mod json;
mod pages;
mod raw;
mod rows;

use motherlode_ledger::PROPOSAL_BYTES_MAX;
use motherlode_log::{Position, hash};
use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    jackpot::v1::SuspendPoolRequest,
    ledger::v1::{
        ApproveChangeRequest, GetRoundRequest, ListChangesRequest, SetSwitchRequest, Switch, TakeBaseRequest,
        set_switch_request::State,
    },
    proof::v1::{GetCheckpointRequest, proof_service_client::ProofServiceClient},
    round::v1::{Account, Stake},
    spin::v1::{CloseRoundRequest, OpenSessionRequest, PlayMode, SpinRequest},
};
use motherlode_runtime::{
    Config,
    access::{CALLS, Call, OPERATOR, Roles},
    connect::{Connection, Credentials, connect},
};
use motherlode_state::{Event, StreamId};
use motherlode_tests::Server;
use motherlode_tests::{Client, campaign, commits, config, operators::operator, seamless, start_fresh, until};
use prost::Message;
use raw::{Answered, call, expired, normalized, refusal};
use rows::{Names, ROWS, Row, base};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tonic::Code;
use tonic_types::StatusExt;

const ROLES: [&str; 6] = ["play", "wallet", "support", "audit", "admin", "node"];

/// Callers with the token of `third`, and the operator that each names in requests. The token may also be used for
/// `other`, but not for `acme`.
const SERVES: [(&str, &str); 2] = [("third for other", "other"), ("third for acme", "acme")];

const REQUEST: &str = "good-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Grpc,
    Json,
}

struct Service {
    server: Server,
    connections: BTreeMap<&'static str, Connection>,
    face: Face,
    is_on_stream: bool,
    _data: tempfile::TempDir,
}

impl Service {
    async fn start(face: Face) -> Self {
        let data = tempfile::tempdir().unwrap();
        let all = format!("{ROLES:?}");
        let single = ROLES.map(|role| format!("[{role:?}]"));
        let mut acme = vec![("acme", &*all), ("acme-second", &*all)];
        acme.extend(ROLES.into_iter().zip(single.iter().map(String::as_str)));
        let text = operator("acme", &acme)
            + &operator("other", &[("other", &all)])
            + &operator("third", &[("third", &all)]).replace("\"c0\"", "\"serves\"")
            + "operators = [\"other\"]\n"
            + &operator("platform", &[("platform", &all), ("second", &all)]);
        let mut config = Config { operators: Config::parse(&text).unwrap().operators, ..config(data.path()) };
        config.console.check_url = Some("https://check.example.com".to_owned());
        config.console.listen = (face == Face::Json).then_some(([127, 0, 0, 1], 0).into());
        let server = start_fresh(&config).await;
        let mut connections = BTreeMap::new();
        for token in ["", "acme", "acme-second", "other", "platform", "second", "third"].into_iter().chain(ROLES) {
            let token_shown = Some(token.to_owned()).filter(|token| !token.is_empty());
            let credentials = Credentials { token: token_shown, ..Credentials::default() };
            let target = format!("http://{}", server.address());
            connections.insert(token, connect(&target, &credentials, None).await.unwrap());
        }
        Self { server, connections, face, is_on_stream: config.store.url.is_some(), _data: data }
    }

    fn lacks(&self, path: &str) -> bool {
        self.is_on_stream && ["IssuePlayerId", "ErasePerson"].iter().any(|call| path.ends_with(call))
    }

    fn rows(&self) -> impl Iterator<Item = (usize, &'static Row)> {
        let all = ROWS.iter().enumerate();
        let face = self.face;
        all.filter(move |(_, row)| face == Face::Grpc || json::refused_by_name(row.path).is_none())
    }

    async fn call(&self, caller: &str, row: &Row, message: Vec<u8>) -> Answered {
        let body = match self.face {
            Face::Grpc => message,
            Face::Json => json::body(row.path, &message),
        };
        self.send(caller, row, body).await
    }

    async fn send(&self, caller: &str, row: &Row, body: Vec<u8>) -> Answered {
        let operator = SERVES.into_iter().find(|(name, _)| *name == caller).map(|(_, operator)| operator);
        let token = if operator.is_some() { "third" } else { caller };
        match self.face {
            Face::Grpc => call(&self.connections[token], row.path, operator, body).await,
            Face::Json => {
                let shown = format!("Bearer {token}");
                let shown = Some(("authorization", &*shown)).filter(|_| !token.is_empty());
                let headers: Vec<_> = shown.into_iter().chain(operator.map(|of| (OPERATOR, of))).collect();
                json::call(self.server.console(), row.path, &headers, body).await
            }
        }
    }

    async fn expired(&self, caller: &str, row: &Row, message: &[u8]) -> Answered {
        match self.face {
            Face::Grpc => expired(self.server.address(), caller, row.path, message).await.unwrap(),
            Face::Json => {
                let shown = format!("Bearer {caller}");
                let headers = [("authorization", &*shown), ("grpc-timeout", "1n")];
                json::call(self.server.console(), row.path, &headers, json::body(row.path, message)).await
            }
        }
    }

    async fn refused_bytes(&self, caller: &str, row: &Row, body: Vec<u8>) -> Answered {
        let before = self.server.ledger().durable();
        let answered = self.send(caller, row, body).await;
        self.assert_no_effect(row.path, before);
        answered
    }

    async fn refused(&self, caller: &str, row: &Row, message: Vec<u8>) -> Answered {
        let before = self.server.ledger().durable();
        let answered = self.call(caller, row, message).await;
        self.assert_no_effect(row.path, before);
        answered
    }

    fn assert_no_effect(&self, path: &str, before: Position) {
        for logged in commits(self.server.ledger(), before + 1) {
            let commit = &logged.commit;
            let coordinators = matches!(commit.stream, StreamId::Pool(_)) && !commit.request_id.starts_with(REQUEST);
            assert!(coordinators, "{path}: {commit:?} was logged");
        }
    }

    async fn has_ended_session(&self, player: &str) {
        let stream = StreamId::player("acme", player);
        until("the session's end", async || {
            let mut logged = commits(self.server.ledger_of(player), 1).filter(|of| of.commit.stream == stream);
            logged.any(|of| of.commit.events.iter().any(|event| matches!(event, Event::SessionEnded { .. })))
        })
        .await;
    }

    async fn propose(&self, game: &str, by_version: bool) -> u64 {
        let version = motherlode_slots::latest(game).unwrap().rules_version();
        let rules_version = if by_version { version.to_owned() } else { String::new() };
        let switch = Switch { operator_id: "acme".into(), game: game.into(), rules_version };
        let request = |state: State| SetSwitchRequest {
            request_id: format!("{game}-{by_version}-{state:?}"),
            switch: Some(switch.clone()),
            state: state.into(),
            reason: "test".into(),
            actor: "bob".into(),
            preview: false,
        };
        let mut second = Client::on(self.connections["acme-second"].clone());
        second.ledger.set_switch(request(State::Off)).await.unwrap();
        second.ledger.set_switch(request(State::On)).await.unwrap().into_inner().change_id
    }

    async fn signed(&self) {
        let mut client = ProofServiceClient::new(self.connections["acme"].clone());
        let signed = async {
            while client.get_checkpoint(GetCheckpointRequest::default()).await.unwrap().into_inner().size
                < self.server.ledger().durable()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), signed).await.expect("a checkpoint");
    }

    async fn approve(&self, change_id: u64) {
        let mut second = Client::on(self.connections["second"].clone());
        let request =
            ApproveChangeRequest { request_id: format!("approve-{change_id}"), change_id, ..Default::default() };
        second.ledger.approve_change(request).await.unwrap();
    }

    async fn names(&self, number: usize, row: &Row) -> Names {
        let mut client = Client::on(self.connections["acme"].clone());
        // Answers are searched for the name, so it must be too long to occur in a hash by chance.
        let player = format!("player-{number}");
        for currency in ["EUR", "SEK"] {
            client.fund(&player, currency, 1_000_000).await;
        }
        let account = account("acme", &player);
        let stake = Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true };
        let bought = SpinRequest {
            request_id: "bought".into(),
            account: Some(account.clone()),
            game: "mystery-elves".into(),
            stake: Some(stake),
            ..SpinRequest::default()
        };
        let round = client.spin(bought, None).await.unwrap().round_id;
        let open = OpenSessionRequest {
            request_id: "session".into(),
            account: Some(Account { currency_code: "XTS".into(), ..account.clone() }),
            game: "neptune".into(),
            mode: PlayMode::Demo.into(),
            ..OpenSessionRequest::default()
        };
        let session = client.spin.open_session(open).await.unwrap().into_inner().session_id;
        let neptune = motherlode_slots::latest("neptune").unwrap();
        client.spin.grant_campaign(campaign(neptune, "spring", &account, 3)).await.unwrap();
        if row.path.ends_with("GetRoundProof") || is_open(row) {
            let (request_id, why) = ("closed".to_owned(), "test".to_owned());
            let close = CloseRoundRequest { request_id, round_id: round.clone(), reason: why.clone(), actor: why };
            client.spin.close_round(close).await.unwrap();
        }
        if row.path.ends_with("RetirePool") {
            let (request_id, pool_id, why) = ("again".to_owned(), "extra".to_owned(), "test".to_owned());
            let suspend = SuspendPoolRequest { request_id, pool_id, reason: why.clone(), actor: why };
            let mut platform = Client::on(self.connections["platform"].clone());
            platform.jackpot.suspend_pool(suspend).await.unwrap();
        }
        seamless::settled(&account).await;
        let get = GetRoundRequest { round_id: round.clone() };
        let url = client.ledger.get_round(get).await.unwrap().into_inner().round.unwrap_or_default().check_url;
        let link_key = url.split_once("?key=").map_or_else(String::new, |(_, key)| key.to_owned());
        let mut changes = [0; 2];
        if row.path.ends_with("Change") {
            let by_version = row.path.ends_with("RejectChange");
            for (change, game) in changes.iter_mut().zip(["bewitched", "dwarf-mine"]) {
                *change = self.propose(game, by_version).await;
            }
        }
        let mut record = match row.path.ends_with("FindRecord") {
            true => self.record_of(&player),
            false => vec![],
        };
        if row.path.ends_with("Base") {
            let ledger = self.server.ledger();
            changes = [ledger.durable(); 2];
            record = hash(&ledger.records(changes[0], 1, usize::MAX).unwrap()[0].bytes).to_vec();
        }
        let pool = match row.path.rsplit('/').next() {
            Some("OpenPool" | "ChangePoolTerms" | "SuspendPool" | "ReleaseHits" | "ResumePool" | "RetirePool") => {
                "extra"
            }
            _ => "bewitched",
        };
        let names = Names {
            operator: "acme".into(),
            record,
            player,
            round,
            link_key,
            session,
            request: format!("{REQUEST}{number}"),
            deposit: if seamless::is_on() { "bought" } else { "deposit-EUR" }.into(),
            pool: pool.into(),
            game: "witch-feature".into(),
            changes,
            currency: if row.path.ends_with("SetExchangeRate") { "SEK" } else { "EUR" },
            other: false,
        };
        if row.path.ends_with("ConfirmBase") {
            let mut second = Client::on(self.connections["second"].clone());
            let (request_id, record_hash) = (format!("base-{number}"), names.record.clone());
            second.ledger.take_base(TakeBaseRequest { request_id, record_hash, ..base(&names) }).await.unwrap();
        }
        names
    }
}

impl Service {
    fn record_of(&self, player: &str) -> Vec<u8> {
        let stream = StreamId::player("acme", player);
        let ledger = self.server.ledgers().for_stream(&stream).unwrap();
        let last = commits(ledger, 1).filter(|logged| logged.commit.stream == stream).last().unwrap();
        let record = ledger.records(last.commit.position, 1, usize::MAX).unwrap();
        hash(&record[0].bytes).to_vec()
    }
}

fn of_transfers(path: &str) -> Option<(Code, &'static str)> {
    match path.rsplit('/').next() {
        Some("Deposit" | "Withdraw") => Some((Code::FailedPrecondition, "SEAMLESS_WALLET")),
        Some("GetTransaction") => Some((Code::NotFound, "TRANSACTION_UNKNOWN")),
        _ => None,
    }
}

fn account(operator: &str, player: &str) -> Account {
    Account { operator_id: operator.into(), player_id: player.into(), currency_code: "EUR".into() }
}

fn nobody(operator: &str, names: &Names) -> Names {
    Names {
        operator: operator.to_owned(),
        player: "nobody".into(),
        round: format!("{operator}/nobody/1"),
        session: "0".repeat(32),
        pool: "none".into(),
        game: "none".into(),
        changes: [u64::MAX; 2],
        record: vec![7; 32],
        ..names.clone()
    }
}

fn malformed(names: &Names) -> Names {
    let bad = || "a b".to_owned();
    let record = vec![7];
    Names {
        operator: bad(),
        player: bad(),
        round: bad(),
        session: bad(),
        request: bad(),
        pool: bad(),
        record,
        ..names.clone()
    }
}

fn served() -> BTreeMap<String, bool> {
    let files = prost_types::FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap().file;
    let mut messages = BTreeMap::new();
    for file in &files {
        for message in &file.message_type {
            let named = message.field.iter().any(|field| field.name() == "request_id");
            messages.insert(format!(".{}.{}", file.package(), message.name()), named);
        }
    }
    let mut served = BTreeMap::new();
    for file in files.iter().filter(|file| file.package() != "motherlode.wallet.v1") {
        for service in &file.service {
            for method in &service.method {
                let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                // In lookups and cancellations, `request_id` is the id of the request to find or cancel. In messages of
                // PlayStream, the request id is one level deeper.
                let looks = ["GetTransaction", "GetRequest", "CancelRequest"].contains(&method.name());
                let named = messages[method.input_type()] && !looks;
                served.insert(path, named || method.name() == "PlayStream");
            }
        }
    }
    served
}

async fn waiting(service: &Service) -> Vec<u64> {
    let mut platform = Client::on(service.connections["platform"].clone());
    let listed = platform.ledger.list_changes(ListChangesRequest {}).await.unwrap().into_inner().changes;
    listed.into_iter().filter(|change| change.actor == "c0").map(|change| change.change_id).collect()
}

fn listed(row: &Row) -> &'static Call {
    CALLS.iter().find(|call| call.path == row.path).expect("the call is listed with its roles")
}

fn is_open(row: &Row) -> bool {
    listed(row).roles == Roles::NONE
}

fn owner(row: &Row) -> &'static str {
    if listed(row).platform { "platform" } else { "acme" }
}

#[test]
fn pl_12_pl_27_every_call_has_its_row() {
    let rows: BTreeSet<_> = ROWS.iter().map(|row| row.path.to_owned()).collect();
    assert_eq!(rows.len(), ROWS.len(), "each call has one row");
    assert_eq!(rows, served().into_keys().collect());
}

#[test]
fn every_call_is_in_the_table_of_rules() {
    let table = include_str!("../../../../proto/README.md").split("\n## ").next().unwrap();
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| `")).collect();
    for path in served().into_keys() {
        let call = format!("`{}`", path.rsplit('/').next().unwrap());
        let named = rows.iter().filter(|row| row.split(" | ").next().is_some_and(|calls| calls.contains(&call)));
        assert_eq!(named.count(), 1, "{call} must be in exactly one row");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_pl_27_every_call_refuses_what_it_must_and_the_log_does_not_grow() {
    refuses(Service::start(Face::Grpc).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_pl_27_every_call_in_json_refuses_what_it_must_and_the_log_does_not_grow() {
    let service = Service::start(Face::Json).await;
    for row in ROWS {
        let Some(reason) = json::refused_by_name(row.path) else { continue };
        let answered = service.refused_bytes("", row, b"{}".into()).await;
        assert_eq!(refusal(&answered), (Code::Unauthenticated, "TOKEN_MISSING".into()), "{}", row.path);
        let answered = service.refused_bytes(owner(row), row, b"{}".into()).await;
        assert_eq!(refusal(&answered), (Code::Unimplemented, reason.into()), "{}", row.path);
    }
    refuses(service).await;
}

async fn refuses(service: Service) {
    let served = served();
    for (number, row) in service.rows() {
        let (path, owner) = (row.path, owner(row));
        let names = service.names(number, row).await;
        let good = (row.request)(&names);

        let call = listed(row);
        let answered = service.refused("", row, good.clone()).await;
        match is_open(row) {
            true => assert!(answered.is_ok(), "{path}: {answered:?}"),
            false => assert_eq!(refusal(&answered), (Code::Unauthenticated, "TOKEN_MISSING".into()), "{path}"),
        }

        let lacking = |role: &&str| call.platform || !call.roles.to_string().contains(role);
        for role in ROLES.into_iter().filter(lacking).filter(|_| !is_open(row)) {
            let answered = service.refused(role, row, good.clone()).await;
            assert_eq!(refusal(&answered), (Code::PermissionDenied, "ROLE_MISSING".into()), "{path} as {role}");
        }

        let before = service.server.ledger().durable();
        let answered = service.expired(owner, row, &good).await;
        service.assert_no_effect(path, before);
        assert_eq!(refusal(&answered), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".into()), "{path}");

        let of_nodes = path.starts_with("/motherlode.log.");
        let limit = if of_nodes { PROPOSAL_BYTES_MAX } else { Config::default().limits.message_bytes_max };
        let answered = service.refused_bytes(owner, row, vec![b' '; limit + 1]).await;
        assert_eq!(refusal(&answered), (Code::OutOfRange, "MESSAGE_TOO_LONG".into()), "{path}");
        let answered = service.refused_bytes(owner, row, vec![0xff]).await;
        assert_eq!(refusal(&answered), (Code::InvalidArgument, "MESSAGE_MALFORMED".into()), "{path}");

        if row.fields {
            let answered = service.refused(owner, row, (row.request)(&malformed(&names))).await;
            assert_eq!(refusal(&answered), (Code::InvalidArgument, "INVALID_FIELD".into()), "{path}");
            let details = answered.unwrap_err().get_error_details();
            assert!(!details.bad_request().unwrap().field_violations[0].field.is_empty(), "{path}");
        }
        if service.lacks(path) {
            let answered = service.refused(owner, row, good).await;
            assert_eq!(refusal(&answered), (Code::Unimplemented, "PERSONS_UNSUPPORTED".into()), "{path}");
            continue;
        }
        if let Some((code, reason)) = row.unknown {
            let answered = service.refused(owner, row, (row.request)(&nobody("acme", &names))).await;
            assert_eq!(refusal(&answered), (code, reason.to_owned()), "{path}");
        }

        if let Some((code, reason)) = of_transfers(path).filter(|_| seamless::is_on()) {
            let answered = service.refused(owner, row, good).await;
            assert_eq!(refusal(&answered), (code, reason.to_owned()), "{path}");
            continue;
        }
        let answered = service.call(owner, row, good.clone()).await;
        assert!(answered.is_ok(), "{path}: {answered:?}");
        seamless::settled(&account("acme", &names.player)).await;
        if path.ends_with("KeepSession") {
            service.has_ended_session(&names.player).await;
        }
        for change in waiting(&service).await {
            service.approve(change).await;
        }
        if served[path] {
            let again = service.refused(owner, row, good).await;
            assert_eq!(refusal(&again), (Code::Ok, String::new()), "{path}");
            let other = (row.request)(&Names { other: true, ..names });
            let answered = service.refused(owner, row, other).await;
            assert_eq!(refusal(&answered), (Code::AlreadyExists, "REQUEST_ID_REUSED".into()), "{path}");
        }
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_another_operators_things_are_to_every_call_what_unknown_ones_are() {
    isolates(Service::start(Face::Grpc).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_another_operators_things_are_to_every_call_in_json_what_unknown_ones_are() {
    isolates(Service::start(Face::Json).await).await;
}

async fn isolates(service: Service) {
    for (number, row) in service.rows().filter(|(_, row)| !listed(row).platform && !is_open(row)) {
        let path = row.path;
        let names = service.names(number, row).await;
        let pool = |names: Names| Names { pool: "bewitched".into(), game: "neptune".into(), ..names };
        let (theirs, nobodys) = (pool(names.clone()), pool(nobody("acme", &names)));
        let words = |names: &Names| [names.round.clone(), names.session.clone(), names.player.clone()];
        let shown = |answered: &Answered, names: &Names| {
            let mut words = words(names).to_vec();
            words.extend(Some(names.changes[0].to_string()).filter(|_| path.ends_with("Change")));
            normalized(answered, &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        if path.starts_with("/motherlode.proof.") {
            service.signed().await;
        }
        let [(served, _), (unserved, _)] = SERVES;
        let answered = service.refused(unserved, row, (row.request)(&names)).await;
        assert_eq!(refusal(&answered), (Code::PermissionDenied, "OPERATOR_NOT_SERVED".into()), "{path}");
        let existing = service.refused(served, row, (row.request)(&theirs)).await;
        let unknown = service.refused(served, row, (row.request)(&nobodys)).await;
        assert_eq!(shown(&existing, &theirs), shown(&unknown, &nobodys), "{path} with the header of an operator");
        let existing = service.refused("other", row, (row.request)(&theirs)).await;
        let unknown = service.refused("other", row, (row.request)(&nobodys)).await;
        assert_eq!(shown(&existing, &theirs), shown(&unknown, &nobodys), "{path}");
        let of_players = (row.request)(&theirs) != (row.request)(&nobodys);
        if of_players && row.unknown.is_some() {
            let own = pool(nobody("other", &names));
            let answered = service.refused("other", row, (row.request)(&own)).await;
            assert_eq!(shown(&existing, &theirs), shown(&answered, &own), "{path}");
        }
        if of_players && row.unknown.is_none_or(|(code, _)| code != Code::Ok) {
            assert!(existing.is_err(), "{path}: {existing:?}");
        }
        for word in words(&names) {
            let message = existing.as_ref().map(|message| String::from_utf8_lossy(message).into_owned());
            assert!(!message.unwrap_or_default().contains(&word), "{path} shows {word}");
        }
    }
    service.server.stop().await.unwrap();
}
