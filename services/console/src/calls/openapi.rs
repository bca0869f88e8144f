use super::{
    contract::{METHODS, path},
    schema::{Schemas, comment},
};
use crate::json::MESSAGES;
use axum::response::{IntoResponse, Response};
use http::header;
use prost_reflect::{MethodDescriptor, ServiceDescriptor};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| made().to_string());

pub(crate) async fn document() -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "max-age=300")];
    (headers, DOCUMENT.as_str()).into_response()
}

fn made() -> Value {
    let mut schemas = Schemas::default();
    let refusal = MESSAGES.get_message_by_name("google.rpc.Status").map(|status| schemas.message(&status));
    let refusal = refusal.unwrap_or_default();
    let called = METHODS.values().filter(|method| !method.is_client_streaming());
    let paths: Map<_, _> =
        called.map(|method| (path(method), json!({ "post": operation(method, &refusal, &mut schemas) }))).collect();
    let mut services: Vec<_> = METHODS.values().map(MethodDescriptor::parent_service).map(tag).collect();
    services.dedup();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Motherlode",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every call of the contract in Protobuf's canonical JSON. Fields that have their default are left out of \
                            answers. Calls with a stream of requests need gRPC.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "tags": services,
        "paths": paths,
        "components": {
            "schemas": schemas.0,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of an operator's credential. A service without operators needs no token.",
                },
            },
            "parameters": {
                "timeout": {
                    "name": "grpc-timeout",
                    "in": "header",
                    "description": "How long the call may take: up to 8 digits and a unit (H, M, S, m for milliseconds, u, n).",
                    "schema": { "type": "string", "pattern": "^[0-9]{1,8}[HMSmun]$" },
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
    let (asked, answered) = (schemas.message(&method.input()), schemas.message(&method.output()));
    let (media_type, what, answered) = match method.is_server_streaming() {
        false => ("application/json", "The answer.", answered),
        true => {
            let either = |name: &str, schema: &Value| json!({ "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false });
            let line = json!({ "oneOf": [either("result", &answered), either("error", refusal)] });
            (
                "application/jsonl",
                "Lines of JSON; the schema describes one line. A refusal during the stream is the last line.",
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
                "description": "A refusal, without any effect; code and details give the reason.",
                "content": { "application/json": { "schema": refusal } },
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
        let spin = document.pointer("/components/schemas/motherlode.spin.v1.SpinRequest/properties/requestId").unwrap();
        assert_eq!(spin["type"], "string");
        assert!(!spin["description"].as_str().unwrap().is_empty());
        let money = document.pointer("/components/schemas/motherlode.round.v1.Money/properties/amountMinor").unwrap();
        assert_eq!((&money["type"], &money["pattern"]), (&"string".into(), &"^-?[0-9]+$".into()));
    }
}
