//! Signatures of JSON calls.
//!
//! Six lines are signed, each ending with a line feed:
//!
//! ```text
//! motherlode/wallet/v1
//! POST
//! /v1/WalletService/Debit
//! <Unix milliseconds, decimal>
//! <nonce, 32 lower-case hexadecimal digits>
//! <SHA-256 of the body, 64 lower-case hexadecimal digits>
//! ```
//!
//! The signature is the HMAC-SHA256 (RFC 2104) of these lines, in lower-case hexadecimal.

use data_encoding::HEXLOWER;
use ring::{digest, hmac};

const SCHEME: &str = "motherlode/wallet/v1";

const KEY_BYTES_MIN: usize = 32;

#[derive(Debug, Clone)]
pub(crate) struct Signer(hmac::Key);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) time_ms: u64,
    pub(crate) nonce: &'a str,
}

impl Signer {
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        (key.len() >= KEY_BYTES_MIN).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    pub(crate) fn sign(&self, signed: Signed<'_>, body: &[u8]) -> String {
        let Signed { method, path, time_ms, nonce } = signed;
        let body = HEXLOWER.encode(digest::digest(&digest::SHA256, body).as_ref());
        let text = format!("{SCHEME}\n{method}\n{path}\n{time_ms}\n{nonce}\n{body}\n");
        HEXLOWER.encode(hmac::sign(&self.0, text.as_bytes()).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";
    const NONCE: &str = "00112233445566778899aabbccddeeff";

    fn signed(path: &str, time_ms: u64) -> Signed<'_> {
        Signed { method: "POST", path, time_ms, nonce: NONCE }
    }

    #[test]
    fn pl_31_a_signature_is_the_documented_one() {
        let signature = Signer::new(KEY).unwrap().sign(signed("/v1/WalletService/Debit", 1_767_225_600_000), b"{}");
        assert_eq!(signature, "c823f36ab7530bbbc8ef4326c68c6b34c69a5ed8abecc6657f79d89b813715d8");
    }

    #[test]
    fn pl_31_a_signature_is_of_one_call_alone() {
        let signer = Signer::new(KEY).unwrap();
        let one = signer.sign(signed("/a", 1), b"{}");
        let other_key = Signer::new(b"0123456789abcdef0123456789abcdeF").unwrap();
        for other in [
            signer.sign(signed("/b", 1), b"{}"),
            signer.sign(signed("/a", 2), b"{}"),
            signer.sign(signed("/a", 1), b"{ }"),
            signer.sign(Signed { method: "GET", ..signed("/a", 1) }, b"{}"),
            signer.sign(Signed { nonce: "00112233445566778899aabbccddeefe", ..signed("/a", 1) }, b"{}"),
            other_key.sign(signed("/a", 1), b"{}"),
        ] {
            assert_ne!(one, other);
        }
        assert!(Signer::new(&KEY[1..]).is_none(), "a short key must be refused");
        assert!(!format!("{signer:?}").contains("0123"), "a key must never be printed");
    }
}
