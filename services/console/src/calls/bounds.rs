//! Bounds of request fields for the JSON Schema. The services check requests with the same constants.

use motherlode_runtime::field_bounds::{
    GRANTED_PLAYERS_MAX, OPERATOR_SESSION_MAX, PAGE_TOKEN_MAX, PAUSE_MS_MAX, REASON_MAX, REFERENCE_MAX, SERIES_ID_MAX,
    SOURCE_MAX,
};
use motherlode_slots::games;
use motherlode_state::{Autospin, Campaign, CoinValue, Nano, draw::CLIENT_SEED_MAX};
use prost_reflect::FieldDescriptor;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Pattern of a name; the service also refuses names that consist only of dots.
const NAME: &str = "[A-Za-z0-9._~-]{1,64}";
const HASH_BYTES: usize = 32;

static STAKES: LazyLock<[(u32, u32); 2]> = LazyLock::new(|| {
    let limits: Vec<_> = games().iter().map(|game| &game.info().limits).collect();
    let span = |all: &dyn Fn(usize) -> (u32, u32)| {
        let each = || (0..limits.len()).map(all);
        (each().map(|of| of.0).min().unwrap_or_default(), each().map(|of| of.1).max().unwrap_or_default())
    };
    [span(&|at| limits[at].lines), span(&|at| limits[at].coins_per_line)]
});

pub(super) fn add(field: &FieldDescriptor, schema: &mut Value) {
    let message = field.parent_message();
    let bounds = of_message(message.name(), field.name());
    let bounds = bounds.or_else(|| of_name(field.name()).filter(|_| schema["type"] == "string"));
    if let (Some(Value::Object(bounds)), Some(schema)) = (bounds, schema.as_object_mut()) {
        schema.extend(bounds);
    }
}

fn of_message(message: &str, field: &str) -> Option<Value> {
    let [lines, coins] = *STAKES;
    let span = |(low, high): (u32, u32)| json!({ "minimum": low, "maximum": high });
    let bounds = match (message, field) {
        ("Stake", "lines") => span(lines),
        ("Stake", "coins_per_line") => span(coins),
        ("AutospinRequest", "request_id") => json!({ "maxLength": SERIES_ID_MAX }),
        ("AutospinRequest", "spins") => span((1, Autospin::SPINS_MAX)),
        ("AutospinRequest", "pause_ms") => span((0, PAUSE_MS_MAX)),
        ("AutospinRequest", "loss_limit_minor") => json!({ "pattern": "^[0-9]{1,19}$" }),
        ("GrantCampaignRequest" | "GrantCampaignsRequest", "rounds") => span((1, Campaign::ROUNDS_MAX)),
        ("GrantCampaignsRequest", "player_ids") => json!({ "minItems": 1, "maxItems": GRANTED_PLAYERS_MAX }),
        ("SessionLimits", "reality_check_ms" | "session_ms_max") => json!({ "minimum": 1 }),
        ("DepositRequest" | "WithdrawRequest", "amount_minor")
        | ("AutospinRequest", "win_limit_minor")
        | ("SessionLimits", "loss_max_minor" | "bet_max_minor") => json!({ "pattern": "^[1-9][0-9]{0,18}$" }),
        ("Simulation", "rounds") => json!({ "pattern": "^[1-9][0-9]{0,8}$" }),
        ("Simulation", "seed") => json!({ "pattern": "^([0-9a-fA-F]{64})?$" }),
        _ => return None,
    };
    Some(bounds)
}

fn of_name(field: &str) -> Option<Value> {
    let decimal = |places: u32| json!({ "pattern": format!("^[0-9]+(\\.[0-9]{{1,{places}}})?$") });
    let base64 = |bytes: usize| json!({ "maxLength": bytes.div_ceil(3) * 4 });
    let bounds = match field {
        "coin_value" | "base_coin" => decimal(CoinValue::DIGITS),
        "seed_eur" => decimal(Nano::DIGITS),
        "eur_per_unit" => json!({ "pattern": "^[0-9]+(\\.[0-9]+)?$" }),
        "round_id" => json!({ "pattern": format!("^{NAME}/{NAME}/[1-9][0-9]{{0,19}}$") }),
        "pool_id" | "into_pool_id" | "game" | "rules_version" => json!({ "pattern": format!("^({NAME})?$") }),
        "currency_code" => json!({ "pattern": "^([A-Z]{3})?$" }),
        "date" | "from_date" | "to_date" => json!({ "pattern": "^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" }),
        "client_seed" => base64(CLIENT_SEED_MAX),
        "seal" | "hash" => base64(HASH_BYTES),
        "reason" => json!({ "minLength": 1, "maxLength": REASON_MAX }),
        "actor" | "reference" => json!({ "maxLength": REFERENCE_MAX }),
        "source" => json!({ "minLength": 1, "maxLength": SOURCE_MAX }),
        "operator_session" => json!({ "maxLength": OPERATOR_SESSION_MAX }),
        "page_token" => json!({ "maxLength": PAGE_TOKEN_MAX }),
        _ => return None,
    };
    Some(bounds)
}
