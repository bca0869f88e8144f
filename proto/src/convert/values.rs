use super::{
    Malformed,
    plain::{In, Out, read_varint},
};
use motherlode_state::{
    CoinValue, CollisionShare, Currency, Epoch, FxRate, Minor, Nano, SealReason, SessionName, SmolStr, StartEvidence,
    StreamId, Switch, VoidedJackpot,
};
use std::{num::NonZeroU32, sync::Arc};

pub(super) type Result<T> = std::result::Result<T, Malformed>;

#[inline]
pub(super) fn needed<T>(field: Option<T>, name: &'static str) -> Result<T> {
    match field {
        Some(field) => Ok(field),
        None => Err(Malformed::Field(name)),
    }
}

impl In<'_> {
    #[inline]
    pub(super) fn ended(&self, name: &'static str) -> Result<()> {
        needed(self.end(), name)
    }
}

/// Value in one encoded field or in several consecutive fields.
pub(super) trait Value: Sized {
    fn put(&self, out: &mut Out, number: u8);
    fn take(fields: &mut In, number: u8) -> Option<Self>;
}

pub(super) trait Message: Sized {
    fn write(&self, out: &mut Out);

    fn read(fields: &mut In) -> Result<Self>;

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        self.write(&mut Out(&mut bytes));
        bytes
    }

    #[inline]
    fn read_whole(mut fields: In) -> Result<Self> {
        let read = Self::read(&mut fields)?;
        fields.ended("(unknown number)")?;
        Ok(read)
    }
}

pub(super) trait As<T> {
    fn put(value: &T, out: &mut Out, number: u8);
    fn take(fields: &mut In, number: u8) -> Option<T>;
}

pub(super) struct Time;

impl As<i64> for Time {
    #[inline]
    fn put(value: &i64, out: &mut Out, number: u8) {
        out.varint(number, value.cast_unsigned());
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<i64> {
        fields.varint(number).map(u64::cast_signed)
    }
}

pub(super) struct OrDefault;

impl<T: Message + Default> As<T> for OrDefault {
    fn put(value: &T, out: &mut Out, number: u8) {
        value.put(out, number);
    }

    fn take(fields: &mut In, number: u8) -> Option<T> {
        Some(<Option<T> as Value>::take(fields, number)?.unwrap_or_default())
    }
}

pub(super) struct OrZero;

impl As<Nano> for OrZero {
    fn put(value: &Nano, out: &mut Out, number: u8) {
        if *value != Nano::ZERO {
            value.put(out, number);
        }
    }

    fn take(fields: &mut In, number: u8) -> Option<Nano> {
        match fields.bytes(number)? {
            [] => Some(Nano::ZERO),
            bytes => Some(Nano(i128::from_be_bytes(bytes.try_into().ok()?))),
        }
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

fn from_zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

macro_rules! varints {
    ($($type:ty: $value:ident $to:expr, $from:expr;)*) => {$(
        impl Value for $type {
            #[inline]
            fn put(&self, out: &mut Out, number: u8) {
                let $value = self;
                out.varint(number, $to);
            }

            #[inline]
            fn take(fields: &mut In, number: u8) -> Option<Self> {
                let $value = fields.varint(number)?;
                $from
            }
        }
    )*};
}

varints! {
    u32: value u64::from(*value), value.try_into().ok();
    u64: value *value, Some(value);
    i64: value zigzag(*value), Some(from_zigzag(value));
    bool: value u64::from(*value), (value < 2).then_some(value == 1);
    Minor: value value.0.cast_unsigned(), Some(Minor(value.cast_signed()));
    CoinValue: value value.0, Some(CoinValue(value));
    NonZeroU32: value u64::from(value.get()), NonZeroU32::new(value.try_into().ok()?);
    Option<NonZeroU32>: value value.map_or(0, |value| value.get().into()), Some(NonZeroU32::new(value.try_into().ok()?));
    SealReason: value match value {
        SealReason::Opened => 1,
        SealReason::Unsealed => 2,
        SealReason::KeyLost => 3,
        SealReason::SealsEnded => 4,
    }, match value {
        1 => Some(SealReason::Opened),
        2 => Some(SealReason::Unsealed),
        3 => Some(SealReason::KeyLost),
        4 => Some(SealReason::SealsEnded),
        _ => None,
    };
    StartEvidence: value match value {
        StartEvidence::EmptyLog => 1,
        StartEvidence::MemoryPage => 2,
        StartEvidence::StopMark => 3,
        StartEvidence::Followed => 4,
        StartEvidence::Missing => 5,
        StartEvidence::Restored => 6,
    }, match value {
        1 => Some(StartEvidence::EmptyLog),
        2 => Some(StartEvidence::MemoryPage),
        3 => Some(StartEvidence::StopMark),
        4 => Some(StartEvidence::Followed),
        5 => Some(StartEvidence::Missing),
        6 => Some(StartEvidence::Restored),
        _ => None,
    };
    VoidedJackpot: value match value {
        VoidedJackpot::TakenBack => 0,
        VoidedJackpot::Kept => 1,
        VoidedJackpot::Charged => 2,
        VoidedJackpot::Lost => 3,
    }, match value {
        0 => Some(VoidedJackpot::TakenBack),
        1 => Some(VoidedJackpot::Kept),
        2 => Some(VoidedJackpot::Charged),
        3 => Some(VoidedJackpot::Lost),
        _ => None,
    };
    CollisionShare: value u64::from(*value == CollisionShare::Proportional), match value {
        0 => Some(CollisionShare::Full),
        1 => Some(CollisionShare::Proportional),
        _ => None,
    };
}

macro_rules! runs {
    ($($type:ty: $read:ident $value:ident $to:expr, $from:expr;)*) => {$(
        impl Value for $type {
            #[inline]
            fn put(&self, out: &mut Out, number: u8) {
                let $value = self;
                out.bytes(number, $to);
            }

            #[inline]
            fn take(fields: &mut In, number: u8) -> Option<Self> {
                let $value = fields.$read(number)?;
                $from
            }
        }
    )*};
}

runs! {
    String: text value value.as_bytes(), Some(value.to_owned());
    SmolStr: text value value.as_bytes(), Some(value.into());
    Option<SmolStr>: text value value.as_deref().unwrap_or_default().as_bytes(),
        Some(Some(value.into()).filter(|text: &SmolStr| !text.is_empty()));
    Currency: text value value.code().as_bytes(), value.parse().ok();
    Vec<u8>: bytes value value, Some(value.to_owned());
    Nano: bytes value &value.0.to_be_bytes(), Some(Nano(i128::from_be_bytes(value.try_into().ok()?)));
    Option<Epoch>: bytes value value.as_ref().map_or(&[], |key| key.as_slice()), match value {
        [] => Some(None),
        key => Some(Some(key.try_into().ok()?)),
    };
    Option<Nano>: bytes value value.map(|value| value.0.to_be_bytes()).as_ref().map_or(&[], |bytes| bytes.as_slice()),
        match value {
            [] => Some(None),
            bytes => Some(Some(Nano(i128::from_be_bytes(bytes.try_into().ok()?)))),
        };
    Option<SessionName>: bytes value value.as_ref().map_or(&[], |name| name.as_slice()), match value {
        [] => Some(None),
        name => Some(Some(name.try_into().ok()?)),
    };
}

impl<const LENGTH: usize> Value for [u8; LENGTH] {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        out.bytes(number, self);
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        fields.bytes(number)?.try_into().ok()
    }
}

impl Value for Option<[u8; 32]> {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        out.bytes(number, self.as_ref().map_or(&[], |bytes| bytes.as_slice()));
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        match fields.bytes(number)? {
            [] => Some(None),
            bytes => Some(Some(bytes.try_into().ok()?)),
        }
    }
}

impl<const LENGTH: usize> Value for Vec<[u8; LENGTH]> {
    fn put(&self, out: &mut Out, number: u8) {
        self.iter().for_each(|bytes| out.bytes(number, bytes));
    }

    fn take(fields: &mut In, number: u8) -> Option<Self> {
        let mut all = vec![];
        loop {
            match fields.bytes(number)? {
                [] => return Some(all),
                bytes => all.push(bytes.try_into().ok()?),
            }
        }
    }
}

impl Value for Vec<SmolStr> {
    fn put(&self, out: &mut Out, number: u8) {
        self.iter().for_each(|name| name.put(out, number));
    }

    fn take(fields: &mut In, number: u8) -> Option<Self> {
        let mut all = vec![];
        while let Some(name) = <Option<SmolStr> as Value>::take(fields, number)? {
            all.push(name);
        }
        Some(all)
    }
}

impl Value for Vec<i64> {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        if !self.is_empty() {
            out.nested(number, |out| self.iter().for_each(|value| out.packed(zigzag(*value))));
        }
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        let mut left = fields.bytes(number)?;
        let mut values = Self::with_capacity(left.iter().filter(|byte| **byte < 0x80).count());
        while !left.is_empty() {
            values.push(from_zigzag(read_varint(&mut left)?));
        }
        Some(values)
    }
}

impl Value for StreamId {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        out.nested(number, |out| match self {
            StreamId::Player { operator, player } => {
                for part in ["player/", operator, "/", player] {
                    out.0.extend_from_slice(part.as_bytes());
                }
            }
            other => out.0.extend_from_slice(other.to_string().as_bytes()),
        });
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        fields.text(number)?.parse().ok()
    }
}

impl Value for Switch {
    fn put(&self, out: &mut Out, number: u8) {
        let names = [&self.operator, &self.game, &self.rules_version];
        (number..).zip(names).for_each(|(number, name)| name.put(out, number));
    }

    fn take(fields: &mut In, number: u8) -> Option<Self> {
        let mut names = (number..).map(|number| SmolStr::take(fields, number));
        Some(Self { operator: names.next()??, game: names.next()??, rules_version: names.next()?? })
    }
}

impl<T: Message> Value for T {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        out.nested(number, |out| self.write(out));
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        T::read_whole(fields.nested(number)??).ok()
    }
}

impl<T: Message> Message for Box<T> {
    fn write(&self, out: &mut Out) {
        (**self).write(out);
    }

    fn read(fields: &mut In) -> Result<Self> {
        T::read(fields).map(Self::new)
    }
}

impl<T: Message> Message for Arc<T> {
    fn write(&self, out: &mut Out) {
        (**self).write(out);
    }

    fn read(fields: &mut In) -> Result<Self> {
        T::read(fields).map(Self::new)
    }
}

impl<T: Message> Value for Option<T> {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        if let Some(message) = self {
            message.put(out, number);
        }
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        match fields.nested(number)? {
            Some(message) => T::read_whole(message).ok().map(Some),
            None => Some(None),
        }
    }
}

impl<T: Message> Value for Vec<T> {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        self.iter().for_each(|message| message.put(out, number));
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        let mut all = vec![];
        while let Some(message) = fields.nested(number)? {
            all.push(T::read_whole(message).ok()?);
        }
        Some(all)
    }
}

impl<A: Value, B: Value> Message for (A, B) {
    #[inline]
    fn write(&self, out: &mut Out) {
        self.0.put(out, 1);
        self.1.put(out, 2);
    }

    #[inline]
    fn read(fields: &mut In) -> Result<Self> {
        let mut read = || Some((A::take(fields, 1)?, B::take(fields, 2)?));
        read().ok_or(Malformed::Field("pair"))
    }
}

impl<A: Value, B: Value, C: Value> Message for (A, B, C) {
    fn write(&self, out: &mut Out) {
        self.0.put(out, 1);
        self.1.put(out, 2);
        self.2.put(out, 3);
    }

    fn read(fields: &mut In) -> Result<Self> {
        let mut read = || Some((A::take(fields, 1)?, B::take(fields, 2)?, C::take(fields, 3)?));
        read().ok_or(Malformed::Field("triple"))
    }
}

impl Message for FxRate {
    #[inline]
    fn write(&self, out: &mut Out) {
        self.mantissa().put(out, 1);
        i64::from(self.exponent()).put(out, 2);
    }

    #[inline]
    fn read(fields: &mut In) -> Result<Self> {
        let (mantissa, exponent) = <(u64, i64)>::read(fields)?;
        let rate = exponent.try_into().ok().and_then(|exponent| Self::new(mantissa, exponent).ok());
        rate.ok_or(Malformed::Field("rate"))
    }
}
