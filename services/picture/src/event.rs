use crate::figures;
use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    convert::play::hex,
    log::v1::{Commit, Event},
    round::v1::Money,
};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, FieldDescriptor, Kind, ReflectMessage, Value};
use std::sync::LazyLock;

pub static MESSAGES: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap_or_default());

const EVENT: &str = "motherlode.log.v1.Event";
const LIST_MAX: usize = 24;
const AMOUNTS: [&str; 5] = ["amount", "bet", "win", "refund", "win_taken_back"];
/// Fields of type `bytes` that contain an encoded message, each with that message's type.
const ENCODED: [(&str, &str); 3] = [
    ("choice", "motherlode.round.v1.Choice"),
    ("outcome", "motherlode.round.v1.Outcome"),
    ("stake", "motherlode.log.v1.RoundTerms"),
];

#[must_use]
pub fn kinds() -> Vec<String> {
    let event = MESSAGES.get_message_by_name(EVENT);
    event.map(|event| event.fields().map(|field| field.name().to_owned()).collect()).unwrap_or_default()
}

#[derive(Debug, Clone)]
pub struct EventText {
    pub kind: String,
    pub fields: Vec<(String, String)>,
}

#[must_use]
pub fn describe(event: &Event, currency: &str) -> EventText {
    let unknown = || EventText { kind: "unknown".to_owned(), fields: vec![] };
    let Some(descriptor) = MESSAGES.get_message_by_name(EVENT) else { return unknown() };
    let Ok(event) = DynamicMessage::decode(descriptor, event.encode_to_vec().as_slice()) else { return unknown() };
    match event.fields().next() {
        Some((field, Value::Message(message))) => {
            let named = message.get_field_by_name("currency_code");
            let own = named.as_deref().and_then(Value::as_str).filter(|own| !own.is_empty()).unwrap_or(currency);
            let mut fields = fields(message, own);
            if message.descriptor().name() == "SwitchSet" {
                let on = fields.iter().any(|(name, _)| name == "on");
                fields.retain(|(name, _)| name != "on");
                fields.push(("switched".to_owned(), if on { "on" } else { "off" }.to_owned()));
            }
            EventText { kind: words(field.name()), fields }
        }
        _ => unknown(),
    }
}

#[must_use]
pub fn of_record(record: &[u8]) -> Vec<EventText> {
    let commit = Commit::decode(record).unwrap_or_default();
    commit.events.iter().map(|event| describe(event, currency(&commit))).collect()
}

/// Returns the currency of amounts in events that state no currency.
#[must_use]
pub fn currency(commit: &Commit) -> &str {
    use motherlode_proto::log::v1::event::Kind;
    let of_bet = commit.events.iter().find_map(|event| match &event.kind {
        Some(Kind::RoundStarted(started)) => Some(started.currency_code.as_str()),
        _ => None,
    });
    let mut accounts = commit.balances_after.iter().map(|balance| balance.currency_code.as_str());
    let only = accounts.next().filter(|_| accounts.next().is_none());
    of_bet.or(only).unwrap_or_default()
}

fn words(name: &str) -> String {
    name.trim_end_matches("_code").trim_end_matches("_unix_ms").replace('_', " ")
}

fn fields(message: &DynamicMessage, currency: &str) -> Vec<(String, String)> {
    message.fields().map(|(field, value)| (words(field.name()), value_of(&field, value, currency))).collect()
}

fn value_of(field: &FieldDescriptor, value: &Value, currency: &str) -> String {
    let name = field.name();
    match value {
        Value::List(list) => {
            let shown: Vec<_> = list.iter().take(LIST_MAX).map(|value| value_of(field, value, currency)).collect();
            let more = if list.len() > LIST_MAX { ", …" } else { "" };
            format!("{}{more}", shown.join(", "))
        }
        Value::Message(message) => nested(message, currency),
        Value::Bytes(bytes) => {
            let encoded = ENCODED.iter().find(|(encoded, _)| *encoded == name);
            let message = encoded.and_then(|(_, message)| MESSAGES.get_message_by_name(message));
            let decoded = message.and_then(|message| DynamicMessage::decode(message, bytes.as_ref()).ok());
            match (decoded, <[u8; 16]>::try_from(bytes.as_ref())) {
                (Some(message), _) => nested(&message, currency),
                (None, Ok(nano)) if is_eur(name) => eur(i128::from_be_bytes(nano)),
                _ => hex(bytes),
            }
        }
        Value::EnumNumber(number) => enum_name(field, *number),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        _ => number(name, value.as_i64().or_else(|| value.as_u64().and_then(|n| n.try_into().ok())), value, currency),
    }
}

fn nested(message: &DynamicMessage, currency: &str) -> String {
    let fields = fields(message, currency).into_iter().map(|(name, value)| format!("{name} {value}"));
    format!("({})", fields.collect::<Vec<_>>().join(", "))
}

fn number(name: &str, wide: Option<i64>, value: &Value, currency: &str) -> String {
    let narrow = value.as_i32().map(i64::from).or_else(|| value.as_u32().map(i64::from));
    let Some(number) = wide.or(narrow) else { return format!("{value:?}") };
    if AMOUNTS.contains(&name) && !currency.is_empty() {
        return figures::cash(&Money { amount_minor: number, currency_code: currency.to_owned() });
    }
    match name {
        "coin_value" => decimal(i128::from(number), 6),
        _ if name.ends_with("unix_ms") => figures::iso(number),
        _ if name.ends_with("_ms") || name.ends_with("_ms_max") => format!("{} s", decimal(i128::from(number), 3)),
        _ => number.to_string(),
    }
}

fn is_eur(name: &str) -> bool {
    let parts = ["amount", "increments", "reserve", "house", "paid"];
    parts.iter().any(|part| name.ends_with(part))
}

fn eur(nano: i128) -> String {
    format!("{} EUR", decimal(nano, 9))
}

fn decimal(count: i128, places: usize) -> String {
    let sign = if count < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", count.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    let part = part.trim_end_matches('0');
    format!("{sign}{whole}.{part:0<2}")
}

fn enum_name(field: &FieldDescriptor, number: i32) -> String {
    let Kind::Enum(of) = field.kind() else { return number.to_string() };
    let Some(value) = of.get_value(number) else { return number.to_string() };
    let unspecified = of.default_value();
    let prefix = unspecified.name().trim_end_matches("UNSPECIFIED");
    words(value.name().strip_prefix(prefix).unwrap_or(value.name())).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::{
        log::v1::{
            Balance, ContributionsPooled, Deposited, DrawSealed, SealReason, StepResolved, SwitchSet, WalletOverdue,
            event,
        },
        round::v1::{Choice, Outcome, choice},
    };

    fn fields_of(kind: event::Kind, currency: &str) -> Vec<String> {
        let describe = describe(&Event { kind: Some(kind) }, currency);
        describe.fields.into_iter().map(|(name, value)| format!("{name} {value}")).collect()
    }

    #[test]
    fn pl_30_values_of_events_are_shown_in_their_units() {
        let deposited = Deposited { currency_code: "JPY".into(), amount: 500 };
        assert_eq!(fields_of(event::Kind::Deposited(deposited), "EUR"), ["currency JPY", "amount 500 JPY"]);
        let choice = Choice { kind: Some(choice::Kind::Double(1)) };
        let outcome = Outcome { free_spins_left: 12, ..Outcome::default() };
        let step = StepResolved {
            round: 3,
            step: 1,
            win: 1_234,
            choice: choice.encode_to_vec(),
            outcome: outcome.encode_to_vec(),
            ..StepResolved::default()
        };
        let describe = fields_of(event::Kind::StepResolved(step), "EUR");
        assert!(describe.contains(&"win 12.34 EUR".to_owned()), "{describe:?}");
        assert!(describe.iter().any(|text| text == "choice (double red heart)"), "{describe:?}");
        assert!(describe.iter().any(|text| text.contains("free spins left 12")), "{describe:?}");
        let amount = 1_500_000_000_i128.to_be_bytes().to_vec();
        let pooled = ContributionsPooled { from: 1, to: 9, amount, ..ContributionsPooled::default() };
        assert_eq!(fields_of(event::Kind::ContributionsPooled(pooled), "")[2], "amount 1.50 EUR");
        let off = fields_of(event::Kind::SwitchSet(SwitchSet { game: "neptune".into(), ..SwitchSet::default() }), "");
        assert!(off.contains(&"switched off".to_owned()), "{off:?}");
        let overdue = WalletOverdue { oldest_unix_ms: 1_000, ..WalletOverdue::default() };
        let describe = fields_of(event::Kind::WalletOverdue(overdue), "");
        assert!(describe.contains(&"oldest 1970-01-01T00:00:01.000Z".to_owned()), "{describe:?}");
        let sealed = DrawSealed { reason: SealReason::SealsEnded.into(), ..DrawSealed::default() };
        let describe = fields_of(event::Kind::DrawSealed(sealed), "");
        assert!(describe.contains(&"reason seals ended".to_owned()), "{describe:?}");
        assert_eq!(told_of_nothing(), "unknown");
    }

    fn told_of_nothing() -> String {
        describe(&Event::default(), "EUR").kind
    }

    #[test]
    fn pl_30_amounts_without_a_currency_are_of_the_only_account() {
        let balance = |currency: &str| Balance { currency_code: currency.into(), amount: 1 };
        let one = Commit { balances_after: vec![balance("SEK")], ..Commit::default() };
        let two = Commit { balances_after: vec![balance("SEK"), balance("EUR")], ..Commit::default() };
        assert_eq!((currency(&one), currency(&two), currency(&Commit::default())), ("SEK", "", ""));
        assert_eq!(
            (decimal(-1_050, 3), decimal(40_000, 6), eur(0)),
            ("-1.05".into(), "0.04".into(), "0.00 EUR".into())
        );
    }
}
