//! Converts Protobuf message types to JSON Schema (2020-12), for OpenAPI 3.1.

use super::bounds;
use prost_reflect::{EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor, OneofDescriptor};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Pattern of an optional name; the service also refuses names that consist only of dots.
const ID: &str = "^([A-Za-z0-9._~-]{1,64})?$";
const REQUEST_ID: &str = "^[A-Za-z0-9._~-]{1,64}$";
const IDS: [&str; 4] = ["operator_id", "player_id", "campaign_id", "session_id"];

/// Package of the services that operators' wallets implement; the schemas omit the bounds of this package's fields.
const WALLET: &str = "motherlode.wallet.";

const EXAMPLES: [(&str, &str); 8] = [
    ("request_id", "spin-1"),
    ("operator_id", "acme"),
    ("player_id", "player-1"),
    ("campaign_id", "spring"),
    ("session_id", "evening"),
    ("round_id", "acme/player-1/1"),
    ("currency_code", "EUR"),
    ("coin_value", "0.10"),
];

/// Schemas by name. An answer contains all fields of a message, but a request may omit some, so a message in both
/// answers and requests has a second schema, whose name ends in `.Input`.
pub(super) struct Schemas {
    pub(super) all: Map<String, Value>,
    answers: BTreeSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Answer,
}

impl Schemas {
    pub(super) fn new(answers: impl IntoIterator<Item = MessageDescriptor>) -> Self {
        let (mut names, mut left): (_, Vec<_>) = (BTreeSet::new(), answers.into_iter().collect());
        while let Some(message) = left.pop() {
            if names.insert(message.full_name().to_owned()) {
                left.extend(message.fields().filter_map(|field| field.kind().as_message().cloned()));
            }
        }
        Self { all: Map::new(), answers: names }
    }

    pub(super) fn request(&mut self, message: &MessageDescriptor) -> Value {
        self.message(message, Side::Request)
    }

    pub(super) fn answer(&mut self, message: &MessageDescriptor) -> Value {
        self.message(message, Side::Answer)
    }

    fn message(&mut self, message: &MessageDescriptor, side: Side) -> Value {
        match message.full_name() {
            "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
            "google.protobuf.Duration" => json!({ "type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?s$" }),
            "google.protobuf.Any" => json!({ "type": "object", "required": ["@type"] }),
            name => {
                let input = side == Side::Request && self.answers.contains(name);
                let name = if input { format!("{name}.Input") } else { name.to_owned() };
                if !self.all.contains_key(&name) {
                    self.all.insert(name.clone(), Value::Null);
                    let schema = self.object(message, side);
                    self.all.insert(name.clone(), schema);
                }
                reference(&name)
            }
        }
    }

    fn object(&mut self, message: &MessageDescriptor, side: Side) -> Value {
        let fields: Map<_, _> =
            message.fields().map(|field| (field.json_name().to_owned(), self.field(&field, side))).collect();
        let told = comment(&message.parent_file(), message.path());
        let mut schema = json!({ "type": "object", "properties": fields, "additionalProperties": false });
        let always = |field: &FieldDescriptor| match side {
            Side::Answer => !field.supports_presence(),
            Side::Request => field.name() == "request_id",
        };
        let required: Vec<_> = message.fields().filter(always).map(|field| Value::from(field.json_name())).collect();
        let groups: Vec<_> = message.oneofs().filter(|group| group.fields().len() > 1).map(|of| one(&of)).collect();
        for (key, values) in [("required", required), ("allOf", groups)] {
            if !values.is_empty() {
                schema[key] = values.into();
            }
        }
        described(schema, told)
    }

    fn field(&mut self, field: &FieldDescriptor, side: Side) -> Value {
        let mut of = match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let value = entry.map_entry_value_field();
                json!({ "type": "object", "additionalProperties": self.field(&value, side) })
            }
            kind if field.is_list() => json!({ "type": "array", "items": self.kind(&kind, side) }),
            Kind::String if side == Side::Request && field.name() == "request_id" => {
                json!({ "type": "string", "pattern": REQUEST_ID })
            }
            Kind::String if side == Side::Request && IDS.contains(&field.name()) => {
                json!({ "type": "string", "pattern": ID })
            }
            Kind::Int32 if side == Side::Request && field.name() == "page_size" => {
                json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": i32::MAX })
            }
            kind => self.kind(&kind, side),
        };
        if side == Side::Request && !field.parent_message().full_name().starts_with(WALLET) {
            bounds::add(field, &mut of);
        }
        if let Some((_, example)) = EXAMPLES.iter().find(|(name, _)| *name == field.name() && of["type"] == "string") {
            of["examples"] = json!([example]);
        }
        described(of, comment(&field.parent_message().parent_file(), field.path()))
    }

    fn kind(&mut self, kind: &Kind, side: Side) -> Value {
        match kind {
            Kind::Message(message) => self.message(message, side),
            Kind::Enum(values) => self.values(values),
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::String => json!({ "type": "string" }),
            Kind::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Kind::Double | Kind::Float => json!({ "type": "number" }),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
                json!({ "type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX })
            }
            Kind::Uint32 | Kind::Fixed32 => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
            // 64-bit numbers are strings in JSON, because doubles would lose digits.
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
                json!({ "type": "string", "format": "int64", "pattern": "^-?[0-9]{1,19}$" })
            }
            Kind::Uint64 | Kind::Fixed64 => json!({ "type": "string", "format": "uint64", "pattern": "^[0-9]{1,20}$" }),
        }
    }

    fn values(&mut self, values: &EnumDescriptor) -> Value {
        let file = values.parent_file();
        let names: Vec<_> = values.values().map(|value| value.name().to_owned()).collect();
        let each = values.values().filter_map(|value| {
            comment(&file, value.path()).map(|told| format!("- `{}`: {}", value.name(), told.replace('\n', " ")))
        });
        let told = comment(&file, values.path()).into_iter().chain(each).collect::<Vec<_>>().join("\n");
        let schema = described(json!({ "type": "string", "enum": names }), Some(told));
        self.all.insert(values.full_name().to_owned(), schema);
        reference(values.full_name())
    }
}

fn one(group: &OneofDescriptor) -> Value {
    let set: Vec<_> = group.fields().map(|field| json!({ "required": [field.json_name()] })).collect();
    let none = json!({ "not": { "anyOf": set } });
    json!({ "oneOf": set.iter().cloned().chain([none]).collect::<Vec<_>>() })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn described(mut schema: Value, told: Option<String>) -> Value {
    if let (Some(schema), Some(told)) = (schema.as_object_mut(), told.filter(|told| !told.is_empty())) {
        schema.insert("description".to_owned(), told.into());
    }
    schema
}

pub(super) fn comment(file: &FileDescriptor, path: &[i32]) -> Option<String> {
    let places = file.file_descriptor_proto().source_code_info.as_ref()?;
    let place = places.location.iter().find(|place| place.path == path)?;
    let lines = place.leading_comments().lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    Some(lines.collect::<Vec<_>>().join("\n")).filter(|told| !told.trim().is_empty())
}
