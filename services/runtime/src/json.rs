//! Rejects JSON objects with repeated members. Protobuf parsers accept the names `amountMinor` and `amount_minor` for one
//! field and use the last value, so two readers of the same text could see different amounts.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::{collections::BTreeSet, fmt};

pub fn check_members(text: &[u8]) -> Result<(), serde_json::Error> {
    let mut text = serde_json::Deserializer::from_slice(text);
    Members.deserialize(&mut text)?;
    text.end()
}

fn camel(name: &str) -> String {
    let (mut camel, mut is_start) = (String::with_capacity(name.len()), false);
    for letter in name.chars() {
        match letter {
            '_' => is_start = true,
            letter if is_start => {
                camel.push(letter.to_ascii_uppercase());
                is_start = false;
            }
            letter => camel.push(letter),
        }
    }
    camel
}

struct Members;

impl<'de> DeserializeSeed<'de> for Members {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(camel(&name)) {
                return Err(de::Error::custom(format_args!("the field {name} occurs twice in an object")));
            }
            members.next_value_seed(Self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mf_c5_a_member_that_is_there_twice_is_named() {
        for good in [r#"{"a": 1, "b": {"a": [{"a": 2}, {"a": null}]}}"#, "[]", "1.5", r#""a""#, "true", "-1"] {
            assert!(check_members(good.as_bytes()).is_ok(), "{good}");
        }
        for (bad, name) in [
            (r#"{"amountMinor": 1, "amountMinor": 1}"#, "amountMinor"),
            (r#"{"amountMinor": 1, "amount_minor": 2}"#, "amount_minor"),
            (r#"{"amount_minor": 1, "amountMinor": null}"#, "amountMinor"),
            (r#"{"a": [{"b": {"id": 1, "\u0069d": 2}}]}"#, "id"),
        ] {
            let error = check_members(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("the field {name} occurs twice in an object")), "{error}");
        }
        assert!(check_members(b"{} {}").is_err());
        assert!(check_members(&b"[".repeat(10_000)).is_err());
    }
}
