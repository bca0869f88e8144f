use super::{
    contract::{METHODS, path},
    gzip,
    schema::{Schemas, comment},
};
use crate::json::MESSAGES;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use motherlode_proto::convert::play::hex;
use prost_reflect::{MethodDescriptor, ServiceDescriptor};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

static DOCUMENT: LazyLock<(String, String)> = LazyLock::new(|| {
    let document = made().to_string();
    let tag = format!("\"{}\"", hex(&Sha256::digest(&document)[..16]));
    (document, tag)
});

pub(crate) async fn document(asked: HeaderMap) -> Response {
    let (document, tag) = &*DOCUMENT;
    let headers = [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, "max-age=300")];
    let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|tags| tags.split(',')).map(|known| known.trim().trim_start_matches("W/"));
    match known.any(|known| known == tag || known == "*") {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, gzip::answer(document.clone().into(), gzip::is_accepted(&asked))).into_response(),
    }
}

fn made() -> Value {
    let status = MESSAGES.get_message_by_name("google.rpc.Status");
    let mut schemas = Schemas::new(METHODS.values().map(MethodDescriptor::output).chain(status.clone()));
    let refusal = status.map(|status| schemas.answer(&status)).unwrap_or_default();
    let called = METHODS.values().filter(|method| !method.is_client_streaming());
    let paths: Map<_, _> =
        called.map(|method| (path(method), json!({ "post": operation(method, &refusal, &mut schemas) }))).collect();
    let wallet = MESSAGES.get_service_by_name("motherlode.wallet.v1.WalletService");
    let calls: Vec<_> = wallet.iter().flat_map(ServiceDescriptor::methods).collect();
    let webhooks: Map<_, _> = calls
        .iter()
        .map(|method| (method.name().to_owned(), json!({ "post": webhook(method, &mut schemas) })))
        .collect();
    let mut services: Vec<_> =
        METHODS.values().map(MethodDescriptor::parent_service).chain(wallet.as_ref()).map(tag).collect();
    services.dedup();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Motherlode",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every call of the contract in Protobuf's canonical JSON. Answers include fields that have \
             default values; requests may omit these fields. Unknown and repeated fields are refused. Calls with a \
             stream of requests need gRPC.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "tags": services,
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas.all,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of an operator's credential. Not needed if no operators are configured.",
                },
            },
            "parameters": {
                "timeout": {
                    "name": "grpc-timeout",
                    "in": "header",
                    "description": "Time limit of the call, at least 1 ms: up to 8 digits and a unit, which is H (hours), \
                     M (minutes), S (seconds) or m (milliseconds).",
                    "schema": { "type": "string", "pattern": "^(?!0+[HMSm])[0-9]{1,8}[HMSm]$", "example": "2S" },
                },
            },
        },
    })
}

fn tag(service: &ServiceDescriptor) -> Value {
    let told = comment(&service.parent_file(), service.path()).unwrap_or_default();
    json!({ "name": service.name(), "description": told })
}

fn operation(method: &MethodDescriptor, refusal: &Value, schemas: &mut Schemas) -> Value {
    let service = method.parent_service();
    let told = comment(&service.parent_file(), method.path()).unwrap_or_default();
    let (asked, answered) = (schemas.request(&method.input()), schemas.answer(&method.output()));
    let (media_type, what, answered) = match method.is_server_streaming() {
        false => ("application/json", "The answer.", answered),
        true => {
            let either = |name: &str, schema: &Value| json!({ "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false });
            let line = json!({ "oneOf": [either("result", &answered), either("error", refusal)] });
            (
                "application/jsonl",
                "JSON Lines; the schema describes one line. If the stream ends with a refusal, the last line contains it.",
                line,
            )
        }
    };
    json!({
        "operationId": format!("{}_{}", service.name(), method.name()),
        "tags": [service.name()],
        "description": told,
        "parameters": [{ "$ref": "#/components/parameters/timeout" }],
        "requestBody": { "required": true, "content": { "application/json": { "schema": asked } } },
        "responses": {
            "200": { "description": what, "content": { media_type: { "schema": answered } } },
            "default": {
                "description": "A refusal or failure. The fields code and details give the reason.",
                "content": { "application/json": { "schema": refusal } },
            },
        },
    })
}

fn webhook(method: &MethodDescriptor, schemas: &mut Schemas) -> Value {
    let service = method.parent_service();
    let (sent, answered) = (schemas.request(&method.input()), schemas.request(&method.output()));
    json!({
        "operationId": format!("{}_{}", service.name(), method.name()),
        "tags": [service.name()],
        "description": comment(&service.parent_file(), method.path()).unwrap_or_default(),
        "security": [],
        "requestBody": { "required": true, "content": { "application/json": { "schema": sent } } },
        "responses": {
            "200": {
                "description": "The wallet's answer.",
                "content": { "application/json": { "schema": answered } },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                into.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, into));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, into)),
            _ => {}
        }
    }

    #[test]
    fn every_call_and_every_message_is_described_in_the_words_of_the_contract() {
        let document = made();
        let mut found = vec![];
        references(&document, &mut found);
        assert!(found.len() > 400, "{}", found.len());
        for reference in found {
            let place = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some_and(Value::is_object), "{reference}");
        }
        for (path, call) in document["paths"].as_object().unwrap() {
            assert!(!call["post"]["description"].as_str().unwrap().is_empty(), "{path}");
        }
        let schema = |name: &str| &document["components"]["schemas"][name];
        assert_eq!(schema("motherlode.round.v1.Money")["required"], json!(["amountMinor", "currencyCode"]));
        assert_eq!(schema("motherlode.round.v1.Account.Input")["required"], Value::Null);
        assert_eq!(schema("motherlode.spin.v1.SpinRequest")["required"], json!(["requestId"]));
        assert!(schema("motherlode.spin.v1.ChooseRequest")["properties"]["choice"].is_object());
        assert!(document["webhooks"]["Debit"]["post"]["requestBody"].is_object());
        let spin = document.pointer("/components/schemas/motherlode.spin.v1.SpinRequest/properties/requestId").unwrap();
        assert_eq!(spin["type"], "string");
        assert!(!spin["description"].as_str().unwrap().is_empty());
        let field = |message: &str, name: &str| &schema(message)["properties"][name];
        for (message, name, bound, value) in [
            ("motherlode.spin.v1.AutospinRequest", "spins", "maximum", json!(1000)),
            ("motherlode.spin.v1.AutospinRequest", "pauseMs", "maximum", json!(60_000)),
            ("motherlode.round.v1.Stake.Input", "lines", "minimum", json!(1)),
            ("motherlode.round.v1.Stake.Input", "coinValue", "pattern", json!("^[0-9]+(\\.[0-9]{1,6})?$")),
            ("motherlode.spin.v1.SpinRequest", "clientSeed", "maxLength", json!(88)),
            ("motherlode.spin.v1.SpinRequest", "seal", "maxLength", json!(44)),
            ("motherlode.spin.v1.GrantCampaignsRequest", "playerIds", "maxItems", json!(500)),
            ("motherlode.ledger.v1.VoidRoundRequest", "reason", "maxLength", json!(256)),
        ] {
            assert_eq!(field(message, name)[bound], value, "{message}.{name}");
        }
        let money = document.pointer("/components/schemas/motherlode.round.v1.Money/properties/amountMinor").unwrap();
        assert_eq!((&money["type"], &money["pattern"]), (&"string".into(), &"^-?[0-9]{1,19}$".into()));
    }
}
