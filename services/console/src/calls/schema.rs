//! Messages as JSON Schema (2020-12), for OpenAPI 3.1.

use prost_reflect::{EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

#[derive(Default)]
pub(super) struct Schemas(pub(super) Map<String, Value>);

impl Schemas {
    pub(super) fn message(&mut self, message: &MessageDescriptor) -> Value {
        match message.full_name() {
            "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
            "google.protobuf.Duration" => json!({ "type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?s$" }),
            "google.protobuf.Any" => json!({ "type": "object", "required": ["@type"] }),
            name => {
                if !self.0.contains_key(name) {
                    self.0.insert(name.to_owned(), Value::Null);
                    let schema = self.object(message);
                    self.0.insert(name.to_owned(), schema);
                }
                reference(name)
            }
        }
    }

    fn object(&mut self, message: &MessageDescriptor) -> Value {
        let fields: Map<_, _> =
            message.fields().map(|field| (field.json_name().to_owned(), self.field(&field))).collect();
        let told = comment(&message.parent_file(), message.path());
        described(json!({ "type": "object", "properties": fields, "additionalProperties": false }), told)
    }

    fn field(&mut self, field: &FieldDescriptor) -> Value {
        let of = match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let value = entry.map_entry_value_field();
                json!({ "type": "object", "additionalProperties": self.field(&value) })
            }
            kind if field.is_list() => json!({ "type": "array", "items": self.kind(&kind) }),
            kind => self.kind(&kind),
        };
        let told = comment(&field.parent_message().parent_file(), field.path());
        let one = field.containing_oneof().filter(|group| group.fields().len() > 1);
        let one = one.map(|group| format!("At most one of the fields of `{}` is set.", group.name()));
        described(of, [told, one].into_iter().flatten().reduce(|told, one| format!("{told}\n\n{one}")))
    }

    fn kind(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Message(message) => self.message(message),
            Kind::Enum(values) => self.values(values),
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::String => json!({ "type": "string" }),
            Kind::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Kind::Double | Kind::Float => json!({ "type": "number" }),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => json!({ "type": "integer", "format": "int32" }),
            Kind::Uint32 | Kind::Fixed32 => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
            // Doubles would lose digits of 64-bit numbers.
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => json!({ "type": "string", "pattern": "^-?[0-9]+$" }),
            Kind::Uint64 | Kind::Fixed64 => json!({ "type": "string", "pattern": "^[0-9]+$" }),
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
        self.0.insert(values.full_name().to_owned(), schema);
        reference(values.full_name())
    }
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
