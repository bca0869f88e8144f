//! Plain form of messages: fields are in ascending order, each occurs at most once, and default values are omitted. All
//! writers of Motherlode use this form.

const VARINT: u8 = 0;
const LENGTH: u8 = 2;
/// Maximum accepted nesting. This limit bounds the stack; Motherlode's own messages are nested less deeply.
const DEPTH_MAX: u8 = 32;

pub(super) struct Out<'a>(pub(super) &'a mut Vec<u8>);

impl Out<'_> {
    #[inline]
    fn key(&mut self, number: u8, wire_type: u8) {
        match number {
            0..16 => self.0.push((number << 3) | wire_type),
            _ => self.packed((u64::from(number) << 3) | u64::from(wire_type)),
        }
    }

    #[inline]
    pub(super) fn varint(&mut self, number: u8, value: u64) {
        if value != 0 {
            self.one_of(number, value);
        }
    }

    #[inline]
    pub(super) fn one_of(&mut self, number: u8, value: u64) {
        self.key(number, VARINT);
        self.packed(value);
    }

    #[inline]
    pub(super) fn packed(&mut self, value: u64) {
        match u8::try_from(value) {
            Ok(short @ 0..0x80) => self.0.push(short),
            _ => prost::encoding::encode_varint(value, self.0),
        }
    }

    #[inline]
    pub(super) fn bytes(&mut self, number: u8, value: &[u8]) {
        if !value.is_empty() {
            self.encoded(number, value);
        }
    }

    #[inline]
    pub(super) fn encoded(&mut self, number: u8, value: &[u8]) {
        self.key(number, LENGTH);
        self.packed(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Writes a nested message, even if it is empty.
    pub(super) fn nested(&mut self, number: u8, write: impl FnOnce(&mut Out)) {
        self.key(number, LENGTH);
        let start = self.0.len();
        self.0.push(0);
        write(self);
        let length = self.0.len() - start - 1;
        if let Some(short) = u8::try_from(length).ok().filter(|short| *short < 0x80) {
            self.0[start] = short;
        } else {
            let end = self.0.len();
            self.0.extend_from_slice(&[0; 9]);
            let used = prost::encoding::encoded_len_varint(length as u64);
            self.0.copy_within(start + 1..end, start + used);
            self.0.truncate(end + used - 1);
            prost::encoding::encode_varint(length as u64, &mut &mut self.0[start..start + used]);
        }
    }
}

/// Unread fields of a message. Each read returns `None` if the next field is not in the plain form.
pub(super) struct In<'a> {
    bytes: &'a [u8],
    depth: u8,
}

impl<'a> In<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, depth: DEPTH_MAX }
    }

    /// Returns the bytes after the key of the next field if this key has the given field number (below 16) and wire type.
    #[inline]
    fn next(&self, number: u8, wire_type: u8) -> Option<&'a [u8]> {
        self.bytes.split_first().filter(|(key, _)| **key == (number << 3) | wire_type).map(|(_, rest)| rest)
    }

    #[inline]
    fn run(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        let length = usize::try_from(read_varint(&mut rest)?).ok()?;
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.bytes = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn varint(&mut self, number: u8) -> Option<u64> {
        let Some(mut rest) = self.next(number, VARINT) else { return Some(0) };
        let value = read_varint(&mut rest)?;
        self.bytes = rest;
        Some(value)
    }

    #[inline]
    pub(super) fn bytes(&mut self, number: u8) -> Option<&'a [u8]> {
        match self.next(number, LENGTH) {
            Some(rest) => self.run(rest),
            None => Some(&[]),
        }
    }

    #[inline]
    pub(super) fn text(&mut self, number: u8) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(number)?).ok()
    }

    #[inline]
    pub(super) fn nested(&mut self, number: u8) -> Option<Option<In<'a>>> {
        let Some(rest) = self.next(number, LENGTH) else { return Some(None) };
        let depth = self.depth.checked_sub(1)?;
        Some(Some(In { bytes: self.run(rest)?, depth }))
    }

    #[inline]
    pub(super) fn only(&mut self) -> Option<(u8, In<'a>)> {
        let mut rest = self.bytes;
        let key = read_varint(&mut rest).filter(|key| key & 7 == u64::from(LENGTH))?;
        let (number, depth) = (u8::try_from(key >> 3).ok()?, self.depth.checked_sub(1)?);
        let bytes = self.run(rest)?;
        self.end()?;
        Some((number, In { bytes, depth }))
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    #[inline]
    pub(super) fn end(&self) -> Option<()> {
        self.bytes.is_empty().then_some(())
    }
}

#[inline]
pub(super) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    (*byte <= 1).then(|| value | (u64::from(*byte) << 63))
}
