//! Converts events of records to JSON with the proto descriptors, so that fields added to a proto are included. A bytes
//! field that contains an amount in EUR becomes a decimal string.

use crate::commands::Failure;
use data_encoding::BASE64;
use motherlode_proto::FILE_DESCRIPTOR_SET;
use motherlode_state::Nano;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _, SerializeOptions,
};
use serde_json::Value;
use std::sync::LazyLock;

static MESSAGES: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap_or_default());

/// Fields of type bytes that contain no amount. Every other bytes field contains an amount of EUR in units of 1e-9, as 16
/// bytes big-endian.
const OPAQUE: [&str; 21] = [
    "choice",
    "client_seed",
    "dealt",
    "digest",
    "epoch",
    "fingerprint",
    "key",
    "keys_added",
    "keys_lost",
    "model_hash",
    "next_epoch",
    "next_seal",
    "outcome",
    "previous_hash",
    "record",
    "record_hash",
    "salt",
    "seal",
    "sealed_by",
    "session",
    "stake",
];
const SEED_OF_STEP: &str = "motherlode.log.v1.StepResolved.seed";
const PAID_OF_VOIDED: &str = "motherlode.log.v1.RoundVoided.Jackpot.paid";

pub fn events(record: &[u8]) -> Result<Vec<(String, Value)>, Failure> {
    let malformed = || Failure::found("the record's bytes cannot be decoded as a commit");
    let commit = MESSAGES.get_message_by_name("motherlode.log.v1.Commit").ok_or_else(malformed)?;
    let commit = DynamicMessage::decode(commit, record).map_err(Failure::found)?;
    let options = SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false);
    let mut value = commit.serialize_with_options(serde_json::value::Serializer, &options).map_err(Failure::found)?;
    write_amounts(&commit.descriptor(), &mut value);
    let commit = value;
    let Value::Object(mut commit) = commit else { return Err(malformed()) };
    let Some(Value::Array(events)) = commit.remove("events") else { return Ok(vec![]) };
    let told = |event: Value| match event {
        Value::Object(kinds) => kinds.into_iter().next().ok_or_else(malformed),
        _ => Err(malformed()),
    };
    events.into_iter().map(told).collect()
}

fn is_amount(field: &FieldDescriptor) -> bool {
    matches!(field.kind(), Kind::Bytes) && !OPAQUE.contains(&field.name()) && field.full_name() != SEED_OF_STEP
}

fn write_amounts(message: &MessageDescriptor, value: &mut Value) {
    let Value::Object(object) = value else { return };
    for field in message.fields() {
        let Some(value) = object.get_mut(field.name()) else { continue };
        match (field.kind(), value) {
            (Kind::Bytes, value) if is_amount(&field) => {
                let amount = value.as_str().and_then(|text| amount(&field, text));
                *value = amount.map_or(Value::Null, Value::from);
            }
            (Kind::Message(of), Value::Array(values)) => values.iter_mut().for_each(|value| write_amounts(&of, value)),
            (Kind::Message(of), value) => write_amounts(&of, value),
            _ => {}
        }
    }
}

fn amount(field: &FieldDescriptor, text: &str) -> Option<String> {
    match BASE64.decode(text.as_bytes()).ok()?.as_slice() {
        [] if field.full_name() == PAID_OF_VOIDED => None,
        [] => Some(Nano::ZERO.to_string()),
        bytes => Some(Nano(i128::from_be_bytes(bytes.try_into().ok()?)).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::convert::record;
    use motherlode_state::Event;
    use std::collections::BTreeSet;

    #[test]
    fn pl_34_each_amount_of_a_pool_is_a_decimal() {
        let mut amounts = 0;
        for bytes in motherlode_testkit::logs::all().iter().flat_map(|log| &log.records) {
            let plain = record::decode(bytes).unwrap().commit;
            for ((kind, value), event) in events(bytes).unwrap().into_iter().zip(&plain.events) {
                let Event::ContributionsPooled { amount, .. } = event else { continue };
                assert_eq!((kind.as_str(), &value["amount"]), ("contributions_pooled", &amount.to_string().into()));
                amounts += 1;
            }
        }
        assert!(amounts > 0);
    }

    #[test]
    fn pl_34_bytes_of_events_are_amounts_or_known_others() {
        let mut left = vec![MESSAGES.get_message_by_name("motherlode.log.v1.Commit").unwrap()];
        let (mut seen, mut amounts) = (BTreeSet::new(), BTreeSet::new());
        while let Some(message) = left.pop() {
            if !seen.insert(message.full_name().to_owned()) {
                continue;
            }
            amounts.extend(message.fields().filter(is_amount).map(|field| field.name().to_owned()));
            left.extend(message.fields().filter_map(|field| field.kind().as_message().cloned()));
        }
        let known = "amount cap contributions earlier from_house from_increments from_reserve in_cycle in_stretch increments \
                     max_liability paid reserve seed seed_from_house seed_from_reserve to_house to_reserve";
        assert_eq!(amounts, known.split_whitespace().map(str::to_owned).collect());
    }
}
