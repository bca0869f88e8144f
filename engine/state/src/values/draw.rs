//! Sealed draws: no one can choose the seed of a step, and everyone can verify it afterwards.
//!
//! A *dealt value* can be computed only by the holder of the draw key. The *seal* of a dealt value is logged before the
//! request that uses the value. The *seed* of a step depends only on the dealt value, client seed, round and step.
//! After the round, the dealt value is *revealed*. All hashes are SHA-256 of lines of text, so `printf` and `sha256sum`
//! can reproduce them.

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use super::decimal::digits;
use super::stream::StreamId;

/// Dealt value, secret until it is revealed after the round.
pub type Dealt = [u8; 32];
pub type Seal = [u8; 32];

pub type RecordHash = [u8; 32];
/// Name of a draw key, derived from the key's digest.
pub type Epoch = [u8; 4];

/// Random bytes logged for a draw generation.
pub type Salt = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawName {
    /// Number of the player's draw, 1-based.
    pub number: u64,
    pub epoch: Epoch,
    pub generation: u64,
}

pub const CLIENT_SEED_MAX: usize = 64;

#[must_use]
pub fn epoch(key: &[u8; 32]) -> Epoch {
    let digest = Lines::new().text("motherlode/epoch/v1").hex(key).hash();
    [digest[0], digest[1], digest[2], digest[3]]
}

#[must_use]
pub fn deal(key: &[u8; 32], stream: &StreamId, number: u64) -> Dealt {
    DealKey::new(key).deal(stream, number)
}

/// Draw key in a prepared form, which makes an HMAC a third faster.
#[derive(Clone)]
pub struct DealKey(Hmac);

impl DealKey {
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new(key))
    }

    #[must_use]
    pub fn deal(&self, stream: &StreamId, number: u64) -> Dealt {
        let mut lines = Lines::new();
        lines.text("motherlode/deal/v1").stream(stream).number(number);
        self.0.mac(&lines.0)
    }
}

/// Returns a generation's key: the HMAC-SHA256 of its salt under the draw key `key` (PL-40).
#[must_use]
pub fn generation_key(key: &[u8; 32], salt: &Salt) -> [u8; 32] {
    let mut lines = Lines::new();
    lines.text("motherlode/generation/v1").hex(salt);
    Hmac::new(key).mac(&lines.0)
}

#[must_use]
pub fn seal(dealt: &Dealt) -> Seal {
    Lines::new().text("motherlode/seal/v1").hex(dealt).hash()
}

/// `round` is `operator/player/number`.
#[must_use]
pub fn seed(dealt: &Dealt, client_seed: &[u8], round: &str, step: u32) -> [u8; 32] {
    let mut lines = Lines::new();
    lines.text("motherlode/seed/v1").hex(dealt).hex(client_seed).text(round).number(step.into()).hash()
}

const ROOM: usize = 512;

struct Lines(SmallVec<[u8; ROOM]>);

impl Lines {
    #[inline]
    fn new() -> Self {
        Self(SmallVec::new())
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.texts(&[text])
    }

    #[inline]
    fn texts(&mut self, texts: &[&str]) -> &mut Self {
        texts.iter().for_each(|text| self.0.extend_from_slice(text.as_bytes()));
        self.0.push(b'\n');
        self
    }

    fn hex(&mut self, bytes: &[u8]) -> &mut Self {
        let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
        for some in bytes.chunks(32) {
            let mut digits = [0; 64];
            for (digits, byte) in digits.chunks_exact_mut(2).zip(some) {
                (digits[0], digits[1]) = (digit(byte >> 4), digit(byte & 15));
            }
            self.0.extend_from_slice(&digits[..2 * some.len()]);
        }
        self.0.push(b'\n');
        self
    }

    fn stream(&mut self, stream: &StreamId) -> &mut Self {
        match stream {
            StreamId::Player { operator, player } => self.texts(&["player/", operator, "/", player]),
            other => self.text(&other.to_string()),
        }
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.text(digits(number, &mut [0; 20]))
    }

    fn hash(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }
}

#[derive(Clone)]
struct Hmac {
    inner: Sha256,
    outer: Sha256,
}

impl Hmac {
    fn new(key: &[u8]) -> Self {
        let padded = |with: u8| {
            let mut block = [with; 64];
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            Sha256::new_with_prefix(block)
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    fn mac(&self, message: &[u8]) -> [u8; 32] {
        let inner = self.inner.clone().chain_update(message).finalize();
        self.outer.clone().chain_update(inner).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_that_of_the_rfc() {
        let cases: [(&[u8], &[u8], &str); 2] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
        ];
        for (key, message, digest) in cases {
            assert_eq!(Lines::new().hex(&Hmac::new(key).mac(message)).0[..], *format!("{digest}\n").as_bytes());
        }
    }

    fn sha256(text: &str) -> [u8; 32] {
        Sha256::digest(text).into()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn pl_28_what_is_hashed_is_the_published_text() {
        let dealt: Dealt = [0xa7; 32];
        assert_eq!(seal(&dealt), sha256(&format!("motherlode/seal/v1\n{}\n", hex(&dealt))));
        for (client_seed, step) in [(&[][..], 0), (b"x", 1), (&[0xab; CLIENT_SEED_MAX], 90), (b"mine", u32::MAX)] {
            let text = format!("motherlode/seed/v1\n{}\n{}\nacme/alice/7\n{step}\n", hex(&dealt), hex(client_seed));
            assert_eq!(seed(&dealt, client_seed, "acme/alice/7", step), sha256(&text));
        }
        let key = Hmac::new(&[9; 32]);
        for (stream, number) in
            [(StreamId::player("acme", "alice"), 10), (StreamId::pool("red"), u64::MAX), (StreamId::Rates, 0)]
        {
            let text = format!("motherlode/deal/v1\n{stream}\n{number}\n");
            assert_eq!(deal(&[9; 32], &stream, number), key.mac(text.as_bytes()));
        }
        let text = format!("motherlode/generation/v1\n{}\n", hex(&[0xc5; 32]));
        assert_eq!(generation_key(&[9; 32], &[0xc5; 32]), key.mac(text.as_bytes()));
    }
}
