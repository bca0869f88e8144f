//! Canonical encoding of serializable values: equal values give equal bytes in every build. Fields are encoded with their
//! names and sorted by name; fields with default values are omitted. The encoding of an integer does not depend on its
//! type's width.
//!
//! ```text
//! z                              unit, None             u LENGTH BYTES  unsigned integer, big-endian, shortest
//! o VALUE                        Some                   i LENGTH BYTES  negative integer -1 - n, as n
//! s LENGTH BYTES                 text, bytes            b BYTE          boolean
//! l COUNT VALUES                 list, tuple            m COUNT KEYS AND VALUES, sorted
//! r COUNT NAMES AND VALUES       record                 v NAME VALUE    variant
//! ```
//!
//! A count or length is 8 bytes, big-endian; only the length of an integer is one byte.

use core::fmt;

use serde::{Serialize, Serializer, ser};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot encode the state for its digest: {0}")]
pub struct NotCanonical(String);

impl ser::Error for NotCanonical {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, NotCanonical> {
    value.serialize(Canonical).map(|encoded| encoded.bytes)
}

struct Encoded {
    bytes: Vec<u8>,
    is_default: bool,
}

type Outcome = Result<Encoded, NotCanonical>;

fn number(length: usize) -> [u8; 8] {
    (length as u64).to_be_bytes()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [b"s".as_slice(), &number(bytes.len()), bytes].concat()
}

fn integer(tag: u8, value: u128) -> Encoded {
    let all = value.to_be_bytes();
    let bytes = &all[value.leading_zeros() as usize / 8..];
    let length = u8::try_from(bytes.len()).unwrap_or_default();
    Encoded { bytes: [&[tag, length], bytes].concat(), is_default: tag == b'u' && value == 0 }
}

fn unsigned(value: u128) -> Encoded {
    integer(b'u', value)
}

fn signed(value: i128) -> Encoded {
    match u128::try_from(value) {
        Ok(value) => integer(b'u', value),
        Err(_) => integer(b'i', (-1 - value).cast_unsigned()),
    }
}

fn variant(name: &str, value: &[u8]) -> Encoded {
    Encoded { bytes: [b"v".as_slice(), &text(name.as_bytes()), value].concat(), is_default: false }
}

#[derive(Clone, Copy)]
struct Canonical;

macro_rules! integers {
    ($($function:ident $type:ty => $encode:expr;)*) => {$(
        fn $function(self, value: $type) -> Outcome {
            Ok($encode(value.into()))
        }
    )*};
}

impl Serializer for Canonical {
    type Ok = Encoded;
    type Error = NotCanonical;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Map;
    type SerializeStruct = Record;
    type SerializeStructVariant = Record;

    integers! {
        serialize_i8 i8 => signed;
        serialize_i16 i16 => signed;
        serialize_i32 i32 => signed;
        serialize_i64 i64 => signed;
        serialize_i128 i128 => signed;
        serialize_u8 u8 => unsigned;
        serialize_u16 u16 => unsigned;
        serialize_u32 u32 => unsigned;
        serialize_u64 u64 => unsigned;
        serialize_u128 u128 => unsigned;
    }

    fn serialize_bool(self, value: bool) -> Outcome {
        Ok(Encoded { bytes: vec![b'b', value.into()], is_default: !value })
    }

    fn serialize_f32(self, value: f32) -> Outcome {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, _: f64) -> Outcome {
        Err(NotCanonical("the state contains a floating-point number".to_owned()))
    }

    fn serialize_char(self, value: char) -> Outcome {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Outcome {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Outcome {
        Ok(Encoded { bytes: text(value), is_default: value.is_empty() })
    }

    fn serialize_none(self) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Outcome {
        Ok(Encoded { bytes: [b"o".as_slice(), &encode(value)?].concat(), is_default: false })
    }

    fn serialize_unit(self) -> Outcome {
        Ok(Encoded { bytes: b"z".to_vec(), is_default: true })
    }

    fn serialize_unit_struct(self, _: &'static str) -> Outcome {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Outcome {
        Ok(variant(name, b"z"))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Outcome {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Outcome {
        Ok(variant(name, &encode(value)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, NotCanonical> {
        Ok(List::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<List, NotCanonical> {
        Ok(List::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, NotCanonical> {
        Ok(List::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<List, NotCanonical> {
        Ok(List { variant: Some(name), ..List::default() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Map, NotCanonical> {
        Ok(Map::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Record, NotCanonical> {
        Ok(Record::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Record, NotCanonical> {
        Ok(Record { variant: Some(name), ..Record::default() })
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct List {
    variant: Option<&'static str>,
    count: usize,
    values: Vec<u8>,
}

impl List {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        self.count += 1;
        self.values.extend(encode(value)?);
        Ok(())
    }

    fn finish(self) -> Encoded {
        let bytes = [b"l".as_slice(), &number(self.count), &self.values].concat();
        match self.variant {
            Some(name) => variant(name, &bytes),
            None => Encoded { bytes, is_default: self.count == 0 },
        }
    }
}

macro_rules! lists {
    ($($trait:ident $function:ident)*) => {$(
        impl ser::$trait for List {
            type Ok = Encoded;
            type Error = NotCanonical;

            fn $function<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
                self.add(value)
            }

            fn end(self) -> Outcome {
                Ok(self.finish())
            }
        }
    )*};
}

lists! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

#[derive(Default)]
struct Map {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    key: Vec<u8>,
}

impl ser::SerializeMap for Map {
    type Ok = Encoded;
    type Error = NotCanonical;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotCanonical> {
        self.key = encode(key)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        self.entries.push((std::mem::take(&mut self.key), encode(value)?));
        Ok(())
    }

    fn end(mut self) -> Outcome {
        self.entries.sort();
        let mut bytes = [b"m".as_slice(), &number(self.entries.len())].concat();
        self.entries.iter().for_each(|(key, value)| bytes.extend([key.as_slice(), value].concat()));
        Ok(Encoded { bytes, is_default: self.entries.is_empty() })
    }
}

#[derive(Default)]
struct Record {
    variant: Option<&'static str>,
    fields: Vec<(&'static str, Vec<u8>)>,
}

impl Record {
    fn add<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), NotCanonical> {
        let Encoded { bytes, is_default } = value.serialize(Canonical)?;
        if !is_default {
            self.fields.push((name, bytes));
        }
        Ok(())
    }

    fn finish(mut self) -> Encoded {
        self.fields.sort_unstable();
        let mut bytes = [b"r".as_slice(), &number(self.fields.len())].concat();
        for (name, value) in &self.fields {
            bytes.extend(text(name.as_bytes()));
            bytes.extend(value);
        }
        match self.variant {
            Some(name) => variant(name, &bytes),
            None => Encoded { bytes, is_default: self.fields.is_empty() },
        }
    }
}

impl ser::SerializeStruct for Record {
    type Ok = Encoded;
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), NotCanonical> {
        self.add(name, value)
    }

    fn end(self) -> Outcome {
        Ok(self.finish())
    }
}

impl ser::SerializeStructVariant for Record {
    type Ok = Encoded;
    type Error = NotCanonical;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), NotCanonical> {
        self.add(name, value)
    }

    fn end(self) -> Outcome {
        Ok(self.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[derive(Serialize, Default)]
    struct Older {
        b: u32,
        a: Option<String>,
    }

    #[derive(Serialize, Default)]
    struct Newer {
        a: Option<String>,
        added: BTreeMap<u8, i64>,
        b: u64,
        flag: bool,
    }

    #[test]
    fn pl_37_the_form_depends_on_neither_the_order_nor_the_width_of_fields_nor_on_fields_of_later_builds() {
        for (a, b) in [(None, 0), (Some("x".to_owned()), 7), (Some(String::new()), u32::MAX)] {
            let older = encode(&Older { a: a.clone(), b }).unwrap();
            assert_eq!(older, encode(&Newer { a, b: b.into(), ..Newer::default() }).unwrap());
        }
        let one = encode(&Older { a: None, b: 258 }).unwrap();
        assert_eq!(one, b"r\0\0\0\0\0\0\0\x01s\0\0\0\0\0\0\0\x01bu\x02\x01\x02", "record 1, name b, 258");
        assert!(encode(&1.5).is_err());
    }

    proptest! {
        #[test]
        fn pl_37_different_values_have_different_forms(
            values in prop::collection::btree_set((any::<Option<i64>>(), prop::collection::vec(any::<i128>(), 0..3), ".{0,3}"), 0..50)
        ) {
            let forms: BTreeSet<_> = values.iter().map(|value| encode(value).unwrap()).collect();
            prop_assert_eq!(forms.len(), values.len());
        }
    }
}
