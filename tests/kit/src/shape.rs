//! Finds serialized fields of the state that are none, zero or empty in all tests. For these fields, a digest of the state
//! does not test the encoding.

use serde::{Serialize, Serializer, ser};
use std::{collections::BTreeMap, fmt};

#[derive(Debug, Default)]
pub struct Shape(BTreeMap<String, bool>);

impl Shape {
    pub fn note(&mut self, state: &impl Serialize) {
        state.serialize(self).expect("the state is serialized");
    }

    #[must_use]
    pub fn empty(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, has_value)| !**has_value).map(|(field, _)| field.as_str()).collect()
    }

    fn field(&mut self, of: &str, name: &str, value: &(impl Serialize + ?Sized)) -> Result<bool, Failed> {
        let has_value = value.serialize(&mut *self)?;
        *self.0.entry(format!("{of}.{name}")).or_default() |= has_value;
        Ok(has_value)
    }
}

#[derive(Debug)]
pub struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

pub struct Parts<'a> {
    shape: &'a mut Shape,
    name: &'static str,
    has_value: bool,
}

impl Parts<'_> {
    fn part(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        self.has_value |= value.serialize(&mut *self.shape)?;
        Ok(())
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        self.has_value |= self.shape.field(self.name, name, value)?;
        Ok(())
    }
}

macro_rules! primitives {
    ($($method:ident: $type:ty),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<bool, Failed> {
            Ok(value != <$type>::default())
        })+
    };
}

macro_rules! parts {
    ($($method:ident($($argument:ident: $type:ty),*) -> $parts:ident, $name:expr, $has_value:expr);+ $(;)?) => {
        $(fn $method(self, $($argument: $type),*) -> Result<Parts<'a>, Failed> {
            Ok(Parts { shape: self, name: $name, has_value: $has_value })
        })+
    };
}

impl<'a> Serializer for &'a mut Shape {
    type Ok = bool;
    type Error = Failed;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    primitives!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_str: &str,
        serialize_bytes: &[u8],
    );

    parts!(
        serialize_seq(_len: Option<usize>) -> Parts, "", false;
        serialize_tuple(_len: usize) -> Parts, "", false;
        serialize_tuple_struct(name: &'static str, _len: usize) -> Parts, name, false;
        serialize_tuple_variant(_name: &'static str, _index: u32, variant: &'static str, _len: usize) -> Parts, variant, true;
        serialize_map(_len: Option<usize>) -> Parts, "", false;
        serialize_struct(name: &'static str, _len: usize) -> Parts, name, false;
        serialize_struct_variant(_name: &'static str, _index: u32, variant: &'static str, _len: usize) -> Parts, variant, true;
    );

    fn serialize_unit(self) -> Result<bool, Failed> {
        Ok(false)
    }

    fn serialize_none(self) -> Result<bool, Failed> {
        Ok(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, Failed> {
        value.serialize(self)?;
        Ok(true)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<bool, Failed> {
        Ok(false)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<bool, Failed> {
        Ok(true)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<bool, Failed> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<bool, Failed> {
        value.serialize(self)?;
        Ok(true)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident),+ $(,)?) => {
        $(impl ser::$trait for Parts<'_> {
            type Ok = bool;
            type Error = Failed;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                self.part(value)?;
                self.has_value |= stringify!($trait) == "SerializeSeq";
                Ok(())
            }

            fn end(self) -> Result<bool, Failed> {
                Ok(self.has_value)
            }
        })+
    };
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
);

impl ser::SerializeMap for Parts<'_> {
    type Ok = bool;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.has_value = true;
        self.part(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.part(value)
    }

    fn end(self) -> Result<bool, Failed> {
        Ok(self.has_value)
    }
}

impl ser::SerializeStruct for Parts<'_> {
    type Ok = bool;
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failed> {
        self.field(name, value)
    }

    fn end(self) -> Result<bool, Failed> {
        Ok(self.has_value)
    }
}

impl ser::SerializeStructVariant for Parts<'_> {
    type Ok = bool;
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failed> {
        self.field(name, value)
    }

    fn end(self) -> Result<bool, Failed> {
        Ok(self.has_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_version_a_field_without_a_value_is_named() {
        #[derive(Serialize)]
        struct Account {
            name: &'static str,
            amounts: Vec<i64>,
            limit: Option<u32>,
            last: (u8, [u8; 2]),
        }
        let mut shape = Shape::default();
        shape.note(&[Account { name: "", amounts: vec![], limit: None, last: (0, [0; 2]) }]);
        assert_eq!(shape.empty(), ["Account.amounts", "Account.last", "Account.limit", "Account.name"]);
        shape.note(&Account { name: "a", amounts: vec![0], limit: Some(0), last: (0, [0; 2]) });
        assert_eq!(shape.empty(), ["Account.last"]);
        shape.note(&Account { name: "", amounts: vec![], limit: None, last: (0, [0, 1]) });
        assert_eq!(shape.empty(), [] as [&str; 0]);
    }
}
