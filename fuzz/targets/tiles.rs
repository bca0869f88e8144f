//! Parses arbitrary texts. If a text is accepted, formatting the value must give the same text. No generated text may
//! pass the signature check.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_tiles::{
    AddCheckpoint, Checkpoint, KeyKind, Note, Policy, Proof, Signature, SignerKey, Tile, VerifierKey,
};
use std::{fmt::Display, str::FromStr};

fn again<T: FromStr + Display>(text: &str) -> Option<T> {
    let read: T = text.parse().ok()?;
    assert_eq!(read.to_string(), text, "every value has one spelling");
    Some(read)
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let key = SignerKey::new("fuzz/log/0", KeyKind::Log, [7; 32]).expect("a name");
    again::<Tile>(text);
    again::<VerifierKey>(text);
    if let Some(note) = again::<Note>(text) {
        assert!(note.verify(key.verifier()).is_err(), "no input can be signed with the secret key");
    }
    again::<Proof>(text);
    again::<AddCheckpoint>(text);
    if let Ok(line) = text.parse::<Signature>() {
        assert_eq!(line.to_string(), format!("{text}\n"));
    }
    if let Ok(checkpoint) = text.parse::<Checkpoint>() {
        assert!(text.starts_with(&checkpoint.to_string()));
    }
    if let Ok(read) = SignerKey::from_secret(text) {
        assert_eq!(read.to_secret(), text);
    }
    if let Ok(policy) = text.parse::<Policy>() {
        let note = Note::new("text\n").expect("a text");
        assert!(policy.cosigned(&note).is_empty());
    }
});
