//! Generates well-formed messages with valid and invalid values.

use arbitrary::{Result, Unstructured};
use motherlode_proto::FILE_DESCRIPTOR_SET;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor};
use std::sync::LazyLock;

const DEPTH_MAX: u8 = 6;
const ELEMENTS_MAX: u8 = 3;

pub static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("the descriptors are valid"));

pub static METHODS: LazyLock<Vec<MethodDescriptor>> =
    LazyLock::new(|| POOL.services().flat_map(|service| service.methods().collect::<Vec<_>>()).collect());

/// Values for text fields; each is valid, or nearly valid, in at least one field.
const TEXTS: [&str; 48] = [
    "acme",
    "demo",
    "platform",
    "alice",
    "bob",
    "EUR",
    "USD",
    "JPY",
    "KWD",
    "XTS",
    "bewitched",
    "dwarf-mine",
    "mystery-elves",
    "neptune",
    "witch-feature",
    "acme/alice/1",
    "acme/alice/2",
    "acme/bob/1",
    "0.01",
    "0.20",
    "1",
    "10",
    "20000.00",
    "0.0875",
    "1.6",
    "1.0",
    "r-1",
    "r-2",
    "player/acme/alice",
    "pool/bewitched",
    "rates",
    "system",
    "uk",
    "se",
    "reason",
    "2026-11-22",
    "acme/alice/+1",
    "acme/alice/01",
    "..",
    ".",
    "a\u{202e}b",
    "a\u{2028}b",
    "\u{200b}",
    "\u{0}",
    "-0",
    "1.5",
    "1.0.1",
    "99999999999999999999",
];

const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    3,
    10,
    100,
    10_000,
    1_000_000,
    1_000_000_000_000_000,
    1_000_000_000_000_001,
    u32::MAX as u64,
    i32::MIN as u64,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX,
    1 << 40,
];

pub fn bytes(of: &MessageDescriptor, choose: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut out = vec![];
    message(of, choose, &mut out, DEPTH_MAX)?;
    Ok(out)
}

fn message(of: &MessageDescriptor, choose: &mut Unstructured<'_>, out: &mut Vec<u8>, depth: u8) -> Result<()> {
    for group in of.oneofs() {
        let fields: Vec<_> = group.fields().collect();
        if choose.ratio(3, 4)? {
            field(choose.choose(&fields)?, choose, out, depth)?;
        }
    }
    for plain in of.fields().filter(|plain| plain.containing_oneof().is_none()) {
        let times = match plain.cardinality() {
            Cardinality::Repeated => choose.int_in_range(0..=ELEMENTS_MAX)?,
            _ => u8::from(choose.ratio(4, 5)?),
        };
        for _ in 0..times {
            field(&plain, choose, out, depth)?;
        }
    }
    Ok(())
}

fn field(of: &FieldDescriptor, choose: &mut Unstructured<'_>, out: &mut Vec<u8>, depth: u8) -> Result<()> {
    let number = of.number();
    let length = |value: &[u8], out: &mut Vec<u8>| {
        encode_key(number, WireType::LengthDelimited, out);
        encode_varint(value.len() as u64, out);
        out.extend_from_slice(value);
    };
    match of.kind() {
        Kind::Message(_) if depth == 0 => {}
        Kind::Message(inner) => {
            let mut value = vec![];
            message(&inner, choose, &mut value, depth - 1)?;
            length(&value, out);
        }
        Kind::String => length(text(choose)?.as_bytes(), out),
        Kind::Bytes => {
            let bytes = *choose.choose(&[0usize, 1, 16, 32, 33])?;
            let value = vec![choose.arbitrary::<u8>()?; bytes];
            length(&value, out);
        }
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => {
            encode_key(number, WireType::SixtyFourBit, out);
            out.extend_from_slice(&whole(choose)?.to_le_bytes());
        }
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => {
            encode_key(number, WireType::ThirtyTwoBit, out);
            out.extend_from_slice(&choose.arbitrary::<u32>()?.to_le_bytes());
        }
        Kind::Enum(values) => {
            let known: Vec<_> = values.values().map(|value| value.number()).collect();
            let value = if choose.ratio(7, 8)? { *choose.choose(&known)? } else { choose.arbitrary()? };
            encode_key(number, WireType::Varint, out);
            encode_varint(i64::from(value) as u64, out);
        }
        Kind::Bool => {
            encode_key(number, WireType::Varint, out);
            encode_varint(choose.int_in_range(0..=1)?, out);
        }
        _ => {
            encode_key(number, WireType::Varint, out);
            encode_varint(whole(choose)?, out);
        }
    }
    Ok(())
}

fn text(choose: &mut Unstructured<'_>) -> Result<String> {
    Ok(match choose.int_in_range(0..=15u8)? {
        0 => choose.arbitrary::<&str>()?.chars().take(300).collect(),
        1 => choose.choose(&TEXTS)?.repeat(usize::from(choose.int_in_range(0..=60u8)?) * 20),
        _ => (*choose.choose(&TEXTS)?).to_owned(),
    })
}

fn whole(choose: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match choose.int_in_range(0..=3u8)? {
        0 => *choose.choose(&NUMBERS)?,
        1 => choose.arbitrary()?,
        _ => choose.int_in_range(0..=20)?,
    })
}
