//! Sealed draws: how a step's seed comes about, so that nobody chose it and anybody can check it afterwards.
//!
//! A draw has a *dealt value*, which only holders of the draw key can compute; its *seal* stands in the log before the
//! request that it decides exists; the step's *seed* follows from the dealt value, the caller's client seed, the round and
//! the step, and from nothing else: never from the stake or the choice. When the round is over the dealt value is
//! *revealed*, and whoever has it computes seal and seed.
//!
//! Every hash is SHA-256 of a few lines of text, bytes written as hexadecimal digits: `printf` and `sha256sum` give the same,
//! and no two inputs have the same bytes. The tags differ, so that no seal tells of a seed. Cost: about half a microsecond each.

use core::fmt::Display;

use sha2::{Digest, Sha256};

use super::stream::StreamId;

/// The value of a draw that only its key gives, until it's revealed.
pub type Dealt = [u8; 32];
/// The stand-in of a dealt value in the log, until it's revealed.
pub type Seal = [u8; 32];
/// The name of a draw key: digits of its digest, which tell nothing of it.
pub type Epoch = [u8; 4];

/// The longest client seed, in bytes.
pub const CLIENT_SEED_MAX: usize = 64;

/// The name of a draw key.
#[must_use]
pub fn epoch(key: &[u8; 32]) -> Epoch {
    let digest = lines(&[&"motherlode/epoch/v1", &Hex(key)]);
    [digest[0], digest[1], digest[2], digest[3]]
}

/// The dealt value of a player's draw: HMAC-SHA256 under the key (RFC 2104).
#[must_use]
pub fn deal(key: &[u8; 32], stream: &StreamId, number: u64) -> Dealt {
    DealKey::new(key).deal(stream, number)
}

/// A draw key that many draws are dealt under: what of HMAC depends on the key alone is computed once, a third of it.
#[derive(Clone)]
pub struct DealKey(Hmac);

impl DealKey {
    /// Of a draw key.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new(key))
    }

    /// As [`deal`].
    #[must_use]
    pub fn deal(&self, stream: &StreamId, number: u64) -> Dealt {
        self.0.of(|inner| put(inner, &[&"motherlode/deal/v1", stream, &number]))
    }
}

/// The seal of a dealt value.
#[must_use]
pub fn seal(dealt: &Dealt) -> Seal {
    lines(&[&"motherlode/seal/v1", &Hex(dealt)])
}

/// The seed of a step. `round` is the round's name, `operator/player/number`.
#[must_use]
pub fn seed(dealt: &Dealt, client_seed: &[u8], round: &str, step: u32) -> [u8; 32] {
    lines(&[&"motherlode/seed/v1", &Hex(dealt), &Hex(client_seed), &round, &step])
}

/// Bytes as lower-case hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 64];
        for bytes in self.0.chunks(32) {
            for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
                pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
            f.write_str(core::str::from_utf8(&digits[..bytes.len() * 2]).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// A hash as what text is written to.
struct Text<'a>(&'a mut Sha256);

impl core::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

/// Hashes lines of text, each with its end.
fn put(hash: &mut Sha256, lines: &[&dyn Display]) {
    for line in lines {
        // Writing to a hash doesn't fail.
        let _ = core::fmt::write(&mut Text(hash), format_args!("{line}\n"));
    }
}

fn lines(lines: &[&dyn Display]) -> [u8; 32] {
    let mut hash = Sha256::new();
    put(&mut hash, lines);
    hash.finalize().into()
}

/// HMAC-SHA256 under a key that is no longer than a block: its two hashes, as far as the key alone decides them.
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

    fn of(&self, message: impl FnOnce(&mut Sha256)) -> [u8; 32] {
        let mut inner = self.inner.clone();
        message(&mut inner);
        self.outer.clone().chain_update(inner.finalize()).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test cases 1 and 2.
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
            assert_eq!(Hex(&Hmac::new(key).of(|inner| inner.update(message))).to_string(), digest);
        }
    }
}
