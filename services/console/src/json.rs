pub(crate) use motherlode_picture::event::MESSAGES;
use prost::Message;
use prost_reflect::{DynamicMessage, SerializeOptions};
use std::sync::LazyLock;

pub(crate) static CANONICAL: LazyLock<SerializeOptions> =
    LazyLock::new(|| SerializeOptions::new().skip_default_fields(false));

pub(crate) fn value(name: &str, message: &impl Message) -> serde_json::Value {
    from_bytes(name, &message.encode_to_vec()).unwrap_or_default()
}

pub(crate) fn from_bytes(name: &str, bytes: &[u8]) -> Option<serde_json::Value> {
    serialized(name, bytes, &SerializeOptions::new().use_proto_field_name(true))
}

/// Converts a message to JSON, including fields with default values, such as a switch's `on: false`.
pub(crate) fn whole(name: &str, bytes: &[u8]) -> Option<serde_json::Value> {
    serialized(name, bytes, &SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false))
}

pub(crate) fn canonical(name: &str, bytes: &[u8]) -> Option<serde_json::Value> {
    serialized(name, bytes, &CANONICAL)
}

fn serialized(name: &str, bytes: &[u8], options: &SerializeOptions) -> Option<serde_json::Value> {
    let message = DynamicMessage::decode(MESSAGES.get_message_by_name(name)?, bytes).ok()?;
    message.serialize_with_options(serde_json::value::Serializer, options).ok()
}

pub(crate) fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Money, Round};

    #[test]
    fn pl_19_a_round_is_told_by_the_names_of_the_contract() {
        let bet = Some(Money { amount_minor: 150, currency_code: "EUR".to_owned() });
        let round = Round { round_id: "a/b/1".to_owned(), bet, ..Round::default() };
        let told = value("motherlode.round.v1.Round", &round);
        assert_eq!((&told["round_id"], &told["bet"]["amount_minor"]), (&"a/b/1".into(), &"150".into()), "{told}");
        assert!(value("motherlode.round.v1.None", &round).is_null());
    }
}
