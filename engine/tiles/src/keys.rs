//! Ed25519 keys of logs (type 0x01) and witnesses (type 0x04).

use crate::{
    signature::{Signature, checked},
    text::{Malformed, base64, to_base64},
};
use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature as Ed25519, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

const PRIVATE: &str = "PRIVATE+KEY+";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Key of a log (type 0x01): signs the text of a note.
    Log,
    /// Key of a witness (type 0x04): signs a checkpoint together with a time.
    Witness,
}

impl KeyKind {
    fn byte(self) -> u8 {
        match self {
            Self::Log => 0x01,
            Self::Witness => 0x04,
        }
    }

    fn split(bytes: &[u8]) -> Option<(Self, [u8; 32])> {
        let (byte, key) = bytes.split_first()?;
        let kind = [Self::Log, Self::Witness].into_iter().find(|kind| kind.byte() == *byte)?;
        Some((kind, key.try_into().ok()?))
    }
}

/// Written as `name+id+key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    kind: KeyKind,
    key: VerifyingKey,
}

impl VerifierKey {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    #[must_use]
    pub fn public(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        let digest = Sha256::new_with_prefix(&self.name).chain_update([b'\n', self.kind.byte()]);
        let [a, b, c, d, ..] = <[u8; 32]>::from(digest.chain_update(self.key.as_bytes()).finalize());
        [a, b, c, d]
    }

    pub fn named(&self, name: &str) -> Result<Self, Malformed> {
        Ok(Self { name: checked(name)?, ..self.clone() })
    }

    /// Returns the time in the signature, in Unix seconds; 0 for a log's signature, which has no time.
    #[must_use]
    pub fn verify(&self, text: &str, signature: &[u8]) -> Option<u64> {
        let (time, signature) = match self.kind {
            KeyKind::Log => (None, signature),
            KeyKind::Witness => {
                signature.split_first_chunk().map(|(time, rest)| (Some(u64::from_be_bytes(*time)), rest))?
            }
        };
        let signature = Ed25519::from_slice(signature).ok()?;
        let message = time.map_or_else(|| text.to_owned(), |time| cosigned(text, time));
        self.key.verify_strict(message.as_bytes(), &signature).ok()?;
        Some(time.unwrap_or(0)).filter(|time| i64::try_from(*time).is_ok())
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key: Vec<u8> = [self.kind.byte()].into_iter().chain(*self.public()).collect();
        write!(f, "{}+{}+{}", self.name, HEXLOWER.encode(&self.id()), to_base64(&key))
    }
}

impl FromStr for VerifierKey {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let read = || {
            let (name, rest) = text.split_once('+')?;
            let (_, key) = rest.split_once('+')?;
            let (kind, key) = KeyKind::split(&base64(key)?)?;
            Some(Self { name: checked(name).ok()?, kind, key: VerifyingKey::from_bytes(&key).ok()? })
        };
        read()
            .filter(|key| key.to_string() == text)
            .ok_or(Malformed("not an Ed25519 verifier key: expected name+id+base64"))
    }
}

/// Signing key, written as `PRIVATE+KEY+name+id+seed`.
#[derive(Clone)]
pub struct SignerKey {
    verifier: VerifierKey,
    key: SigningKey,
}

impl SignerKey {
    pub fn new(name: &str, kind: KeyKind, seed: [u8; 32]) -> Result<Self, Malformed> {
        let key = SigningKey::from_bytes(&seed);
        Ok(Self { verifier: VerifierKey { name: checked(name)?, kind, key: key.verifying_key() }, key })
    }

    #[must_use]
    pub fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    pub fn named(&self, name: &str) -> Result<Self, Malformed> {
        Ok(Self { verifier: self.verifier.named(name)?, key: self.key.clone() })
    }

    #[must_use]
    pub fn sign(&self, text: &str) -> Signature {
        self.signature(self.key.sign(text.as_bytes()).to_bytes().to_vec())
    }

    #[must_use]
    pub fn cosign(&self, text: &str, time: u64) -> Signature {
        let signature = self.key.sign(cosigned(text, time).as_bytes()).to_bytes();
        self.signature([&time.to_be_bytes()[..], &signature].concat())
    }

    fn signature(&self, bytes: Vec<u8>) -> Signature {
        Signature { name: self.verifier.name.clone(), id: self.verifier.id(), bytes }
    }

    /// Returns a secret for a purpose other than signing: the SHA-256 of the purpose, a line feed and the seed. The
    /// signing key cannot be computed from this secret.
    #[must_use]
    pub fn derived(&self, purpose: &str) -> [u8; 32] {
        Sha256::new_with_prefix(purpose).chain_update(b"\n").chain_update(self.key.to_bytes()).finalize().into()
    }

    #[must_use]
    pub fn to_secret(&self) -> String {
        let VerifierKey { name, kind, .. } = &self.verifier;
        let seed: Vec<u8> = [kind.byte()].into_iter().chain(self.key.to_bytes()).collect();
        format!("{PRIVATE}{name}+{}+{}", HEXLOWER.encode(&self.verifier.id()), to_base64(&seed))
    }

    pub fn from_secret(text: &str) -> Result<Self, Malformed> {
        let read = || {
            let (name, rest) = text.strip_prefix(PRIVATE)?.split_once('+')?;
            let (_, seed) = rest.split_once('+')?;
            let (kind, seed) = KeyKind::split(&base64(seed)?)?;
            Self::new(name, kind, seed).ok()
        };
        let key = read().filter(|key| key.to_secret() == text);
        key.ok_or(Malformed("not an Ed25519 signer key: expected PRIVATE+KEY+name+id+base64"))
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignerKey of {}", self.verifier)
    }
}

fn cosigned(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}
