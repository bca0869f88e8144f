use super::{
    case::{Case, Skip, cases},
    kit::{Kit, Want, described},
};
use crate::{
    call::Call,
    json::{Json, method, to_json},
    wallets::client_of,
};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use motherlode_proto::wallet::v1::{DebitResponse, Outcome};
use motherlode_runtime::connect::connect_lazily;
use prost::Message;
use prost_reflect::DynamicMessage;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status, client::Grpc, codegen::http::uri::PathAndQuery};
use tonic_prost::ProstCodec;

pub(super) const CASES: [Case; 10] = cases![
    45 late_answer_after_client_timeout: "A late answer means an unknown outcome, and the call is retried.";
    46 connection_cut_before_answer: "A call without an answer is retried with the same id and takes effect once.";
    47 wallet_restart_keeps_ids: "After a restart, the wallet still has each id with its call and its answer.";
    48 unknown_field_ignored: "Messages can get new fields; a wallet ignores fields that it does not know.";
    49 bad_signature_401_and_no_effect: "A request with a bad signature or token is refused and has no effect.";
    50 stale_timestamp_401: "A request whose timestamp is wrong by over 30 seconds is refused with 401.";
    51 replayed_nonce_401: "A nonce is used once; a repeated nonce is refused with 401.";
    52 latency_p99_reported: "An answer that arrives after answer_ms_max is ignored, and the call is retried.";
    53 balance_absent_accepted: "A balance is optional; Motherlode accepts answers without it.";
    54 sum_of_effects_equals_balance: "The balance changes by the applied transactions and by nothing else.";
];

const JSON_ONLY: Skip = "only protocol = json has signatures";

async fn late_answer_after_client_timeout(kit: &mut Kit) -> Result<(), Skip> {
    for wait in [0, 1, 2, 5] {
        let before = kit.balance().await;
        let debit = kit.debit(100);
        let answered = timeout(Duration::from_millis(wait), kit.client.ask(&debit, 1)).await.is_ok();
        kit.note(format!(
            "{}: the call was aborted after {wait} ms; the wallet had answered by then: {answered}",
            described(&debit)
        ));
        settle(kit, &debit, before).await;
    }
    Ok(())
}

async fn settle(kit: &mut Kit, debit: &Call, before: Option<i64>) {
    let seen = kit.expect(debit, Want::Applied).await;
    if seen == Outcome::DoneBefore {
        kit.moved -= 100;
        kit.opened += 1;
    }
    kit.expect_moved(before, -100).await;
}

async fn connection_cut_before_answer(kit: &mut Kit) -> Result<(), Skip> {
    for wait in [1, 3, 10] {
        let before = kit.balance().await;
        let debit = kit.debit(100);
        let Ok(client) = client_of(&kit.players.operator, &kit.settings) else { return Ok(()) };
        let answered = timeout(Duration::from_millis(wait), client.ask(&debit, 1)).await.is_ok();
        drop(client);
        kit.note(format!(
            "{}: the connection was closed after {wait} ms; the wallet had answered by then: {answered}",
            described(&debit)
        ));
        settle(kit, &debit, before).await;
    }
    Ok(())
}

async fn wallet_restart_keeps_ids(kit: &mut Kit) -> Result<(), Skip> {
    if kit.restart_within.is_zero() {
        return Err("not run, because --restart-within is not given");
    }
    let before = kit.balance().await;
    let (debit, rolled_back) = (kit.debit(100), kit.debit(100));
    let rollback = kit.rollback(&rolled_back);
    kit.expect(&debit, Want::Done).await;
    kit.expect(&rollback, Want::Applied).await;
    (kit.say)("restart the wallet now");
    let (until, mut was_down) = (Instant::now() + kit.restart_within, false);
    while Instant::now() < until {
        let answers = kit.client.balance(&kit.account()).await.is_ok();
        if was_down && answers {
            break;
        }
        was_down |= !answers;
        sleep(Duration::from_millis(20)).await;
    }
    kit.note(format!("the wallet was unreachable during the wait for its restart: {was_down}"));
    kit.expect(&debit, Want::DoneBefore).await;
    kit.expect(&rolled_back, Want::Refused).await;
    kit.expect_moved(before, -100).await;
    Ok(())
}

async fn unknown_field_ignored(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    let answer = match kit.client.as_json() {
        Some(json) => json_with_more(json, &debit).await,
        None => grpc_with_more(kit, &debit).await,
    };
    let line = format!("{} with an unknown field was answered with {answer:?}", described(&debit));
    if answer != Ok(Outcome::Done) {
        kit.fault(line.clone());
    } else {
        kit.moved -= 100;
        kit.opened += 1;
    }
    kit.note(line);
    kit.expect_moved(before, -100).await;
    Ok(())
}

fn body_of(debit: &Call) -> Result<Bytes, String> {
    let Call::Debit(request) = debit else { return Err("defect of this check: its call is not a debit".to_owned()) };
    method("Debit").and_then(|call| to_json(&call, &**request)).map_err(|status| status.message().to_owned())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

fn signed(json: &Json, body: Bytes, time_ms: u64, nonce: &str) -> Result<Request<Full<Bytes>>, String> {
    json.signed("Debit", body, (time_ms, nonce.to_owned())).map_err(|status| status.message().to_owned())
}

async fn json_with_more(json: &Json, debit: &Call) -> Result<Outcome, String> {
    let mut text: serde_json::Value = serde_json::from_slice(&body_of(debit)?).map_err(|error| error.to_string())?;
    text["checkUnknown"] = serde_json::json!({ "a": [1] });
    let request = signed(json, Bytes::from(text.to_string()), now_ms(), &nonce(debit, "48"))?;
    let status = json.status(request).await.map_err(|status| status.message().to_owned())?;
    if status == StatusCode::OK { Ok(Outcome::Done) } else { Err(status.to_string()) }
}

async fn grpc_with_more(kit: &Kit, debit: &Call) -> Result<Outcome, String> {
    let failed = |status: Status| format!("{:?}: {}", status.code(), status.message());
    let Call::Debit(request) = debit else { return Err("defect of this check: its call is not a debit".to_owned()) };
    let mut bytes = request.encode_to_vec();
    prost::encoding::string::encode(2_047, &"unknown".to_owned(), &mut bytes);
    let message = DynamicMessage::decode(method("Debit").map_err(failed)?.input(), &*bytes);
    let message = message.map_err(|error| error.to_string())?;
    let shown = kit.settings.credentials()?.shown;
    let connection = connect_lazily(&kit.settings.url, &shown).map_err(|error| error.to_string())?;
    let mut grpc = Grpc::new(connection);
    grpc.ready().await.map_err(|error| format!("{error:?}"))?;
    let path = PathAndQuery::from_static("/motherlode.wallet.v1.WalletService/Debit");
    let codec = ProstCodec::<DynamicMessage, DebitResponse>::default();
    let answer = grpc.unary(tonic::Request::new(message), path, codec).await.map_err(failed)?;
    answer
        .into_inner()
        .result
        .map(|result| result.outcome())
        .ok_or_else(|| "the wallet's answer has no result".to_owned())
}

fn nonce(debit: &Call, case: &str) -> String {
    let of_run: String = debit.id().chars().rev().filter(char::is_ascii_hexdigit).collect();
    let text = format!("{of_run}{case}").to_lowercase();
    text.chars().chain("0".repeat(32).chars()).take(30).chain(case.chars()).collect()
}

async fn expect_401(kit: &mut Kit, what: &str, request: Result<Request<Full<Bytes>>, String>) {
    let status = match (kit.client.as_json(), request) {
        (Some(json), Ok(request)) => json.status(request).await.map_err(|status| status.message().to_owned()),
        (_, Err(why)) => Err(why),
        (None, _) => Err("the wallet does not use protocol = json".to_owned()),
    };
    let line = format!("{what}: {status:?}; expected 401");
    if status != Ok(StatusCode::UNAUTHORIZED) {
        kit.fault(line.clone());
    }
    kit.note(line);
}

async fn bad_signature_401_and_no_effect(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    let Some(json) = kit.client.as_json() else { return bad_token(kit, debit, before).await };
    let request = body_of(&debit).and_then(|body| signed(json, body, now_ms(), &nonce(&debit, "49")));
    let dearer = kit.debit(101);
    let request = request.and_then(|request| {
        let body = body_of(&dearer)?;
        Ok(request.map(|_| Full::new(body)))
    });
    expect_401(kit, "a debit with the signature of another request's body", request).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn bad_token(kit: &mut Kit, debit: Call, before: Option<i64>) -> Result<(), Skip> {
    let mut shown = kit.settings.credentials().map_err(|_| "the token file cannot be read")?.shown;
    shown.token.as_mut().ok_or("no token is configured")?.push('x');
    let connection = connect_lazily(&kit.settings.url, &shown).map_err(|_| "cannot connect to the wallet")?;
    let client = crate::client::Client::grpc(connection, Duration::from_millis(kit.settings.answer_ms_max));
    let answer = client.ask(&debit, 1).await;
    let code = answer.as_ref().err().map(Status::code);
    let refused =
        answer.as_ref().is_ok_and(|result| result.as_ref().is_some_and(|result| result.outcome() == Outcome::Refused));
    let line = format!("a debit with an invalid token: {code:?}; expected UNAUTHENTICATED");
    if !refused && !matches!(code, Some(Code::Unauthenticated | Code::PermissionDenied)) {
        kit.fault(line.clone());
    }
    kit.note(line);
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn stale_timestamp_401(kit: &mut Kit) -> Result<(), Skip> {
    kit.client.as_json().ok_or(JSON_ONLY)?;
    let before = kit.balance().await;
    for (number, time_ms) in [(0, now_ms().saturating_sub(120_000)), (1, now_ms() + 120_000)] {
        let debit = kit.debit(100);
        let Some(json) = kit.client.as_json() else { return Err(JSON_ONLY) };
        let nonce = nonce(&debit, &format!("5{number}"));
        let request = body_of(&debit).and_then(|body| signed(json, body, time_ms, &nonce));
        expect_401(kit, "a debit whose timestamp is two minutes old", request).await;
    }
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn replayed_nonce_401(kit: &mut Kit) -> Result<(), Skip> {
    kit.client.as_json().ok_or(JSON_ONLY)?;
    let before = kit.balance().await;
    let debit = kit.debit(100);
    let (time_ms, nonce) = (now_ms(), nonce(&debit, "51"));
    let make = |json: &Json| body_of(&debit).and_then(|body| signed(json, body, time_ms, &nonce));
    let Some(json) = kit.client.as_json() else { return Err(JSON_ONLY) };
    let (first, again) = (make(json), make(json));
    let sent = match first {
        Ok(request) => json.status(request).await.map_err(|status| status.message().to_owned()),
        Err(why) => Err(why),
    };
    kit.note(format!("{}: {sent:?}", described(&debit)));
    if sent == Ok(StatusCode::OK) {
        kit.moved -= 100;
        kit.opened += 1;
    }
    expect_401(kit, "the same signed request, sent a second time", again).await;
    kit.expect(&debit, Want::DoneBefore).await;
    kit.expect_moved(before, -100).await;
    Ok(())
}

async fn latency_p99_reported(kit: &mut Kit) -> Result<(), Skip> {
    let mut took = kit.took.clone();
    took.sort_unstable();
    let at = |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1)));
    let ms = |of: Option<&Duration>| of.map_or(0, Duration::as_millis);
    let (p50, p99, limit) = (ms(at(50)), ms(at(99)), kit.settings.answer_ms_max);
    kit.note(format!("{} answers: median {p50} ms, p99 {p99} ms; answer_ms_max is {limit}", took.len()));
    Ok(())
}

async fn balance_absent_accepted(kit: &mut Kit) -> Result<(), Skip> {
    kit.note(format!("{} of {} answers had no balance", kit.balances_absent, kit.took.len()));
    Ok(())
}

async fn sum_of_effects_equals_balance(kit: &mut Kit) -> Result<(), Skip> {
    let first = kit.first_balance;
    let moved = kit.moved;
    kit.expect_moved(first, moved).await;
    if moved > 0 {
        let debit = kit.debit(moved);
        kit.expect(&debit, Want::Done).await;
        let close = kit.close(&debit);
        kit.expect(&close, Want::Done).await;
        kit.expect_moved(first, 0).await;
    }
    Ok(())
}
