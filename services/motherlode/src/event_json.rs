//! Events of records as JSON. The descriptors of the protos determine the fields, so no field is missing.

use crate::commands::Failure;
use motherlode_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;
use std::sync::LazyLock;

static MESSAGES: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap_or_default());

pub fn events(record: &[u8]) -> Result<Vec<(String, Value)>, Failure> {
    let malformed = || Failure::found("a record is not a commit");
    let commit = MESSAGES.get_message_by_name("motherlode.log.v1.Commit").ok_or_else(malformed)?;
    let commit = DynamicMessage::decode(commit, record).map_err(Failure::found)?;
    let options = SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false);
    let commit = commit.serialize_with_options(serde_json::value::Serializer, &options).map_err(Failure::found)?;
    let Value::Object(mut commit) = commit else { return Err(malformed()) };
    let Some(Value::Array(events)) = commit.remove("events") else { return Ok(vec![]) };
    let told = |event: Value| match event {
        Value::Object(kinds) => kinds.into_iter().next().ok_or_else(malformed),
        _ => Err(malformed()),
    };
    events.into_iter().map(told).collect()
}
