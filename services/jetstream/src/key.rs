//! Stream key. Each message has an HMAC-SHA256 with this key, so other NATS users cannot write to the log.

use ring::hmac;
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

const DOMAIN: &[u8] = b"motherlode.jetstream.v1\0";
const BYTES_MAX: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Epoch = 0,
    Block = 1,
    Other = 2,
    Start = 3,
}

/// Keys, newest first. The first key signs; every key verifies.
pub(crate) struct StreamKey(Vec<hmac::Key>);

impl fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamKey")
    }
}

impl StreamKey {
    /// Reads 64 hexadecimal digits per line, newest key first. A world-readable file is an error.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if file.metadata()?.permissions().mode() & 0o007 != 0 {
            return Err(io::Error::other("the file is readable by every user: set its mode to 0600"));
        }
        let mut text = String::new();
        Read::by_ref(&mut file).take(BYTES_MAX).read_to_string(&mut text)?;
        let key = |line: &str| {
            let key = data_encoding::HEXLOWER_PERMISSIVE.decode(line.trim().as_bytes()).ok()?;
            <[u8; 32]>::try_from(key).ok()
        };
        let keys: Option<Vec<_>> = text.lines().map(key).collect();
        match keys {
            Some(keys) if !keys.is_empty() => Ok(Self::new(&keys)),
            _ => Err(io::Error::other("a line is not 64 hexadecimal digits (create a key with: openssl rand -hex 32)")),
        }
    }

    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let unfinished = path.with_extension("unfinished");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        writeln!(file, "{}", data_encoding::HEXLOWER.encode(&key))?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        File::open(folder)?.sync_all()?;
        Ok(Self::new(&[key]))
    }

    pub(crate) fn new(keys: &[[u8; 32]]) -> Self {
        Self(keys.iter().map(|key| hmac::Key::new(hmac::HMAC_SHA256, key)).collect())
    }

    pub(crate) fn mac(&self, stream: &str, message: Authenticated<'_>) -> Option<String> {
        let mut context = hmac::Context::with_key(self.0.first()?);
        message.parts(stream, |part| context.update(part));
        Some(data_encoding::HEXLOWER.encode(context.sign().as_ref()))
    }

    pub(crate) fn verify(&self, stream: &str, message: Authenticated<'_>, mac: &str) -> bool {
        let Ok(mac) = data_encoding::HEXLOWER.decode(mac.as_bytes()) else { return false };
        let mut text = Vec::with_capacity(message.payload.len() + 128);
        message.parts(stream, |part| text.extend_from_slice(part));
        self.0.iter().any(|key| hmac::verify(key, &text, &mac).is_ok())
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Authenticated<'a> {
    pub sequence: u64,
    pub kind: Kind,
    pub epoch: u64,
    pub payload: &'a [u8],
}

impl Authenticated<'_> {
    /// Passes the authenticated bytes to `part`. Only the name and the payload vary in length, and a zero byte follows the
    /// name, so different messages never have equal bytes.
    fn parts(&self, stream: &str, mut part: impl FnMut(&[u8])) {
        part(DOMAIN);
        part(stream.as_bytes());
        part(&[0, self.kind as u8]);
        part(&self.sequence.to_be_bytes());
        part(&self.epoch.to_be_bytes());
        part(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn mf_e4_a_mac_holds_for_its_stream_number_kind_epoch_and_payload_alone() {
        let message = Authenticated { sequence: 5, kind: Kind::Block, epoch: 3, payload: b"payload" };
        let key = StreamKey::new(&[[7; 32]]);
        let mac = key.mac("S_0", message).unwrap();
        assert!(key.verify("S_0", message, &mac));
        assert!(StreamKey::new(&[[8; 32], [7; 32]]).verify("S_0", message, &mac), "an older key must still verify");
        assert!(!StreamKey::new(&[[8; 32]]).verify("S_0", message, &mac));
        assert!(!key.verify("S_1", message, &mac));
        for other in [
            Authenticated { sequence: 6, ..message },
            Authenticated { kind: Kind::Epoch, ..message },
            Authenticated { epoch: 4, ..message },
            Authenticated { payload: b"payloae", ..message },
        ] {
            assert!(!key.verify("S_0", other, &mac), "{other:?}");
        }
        assert!(!key.verify("S_0", message, "no mac") && !key.verify("S_0", message, ""));
    }

    #[test]
    fn mf_e4_a_key_file_has_64_digits_a_line_and_is_not_open_to_everybody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let read = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            StreamKey::read(&path)
        };
        let key = "0f".repeat(32);
        assert!(read(&format!("{key}\n"), 0o600).is_ok());
        assert!(read(&format!("{key}\n{key}\n"), 0o440).is_ok());
        let made = folder.path().join("keys").join("stream");
        StreamKey::make(&made).unwrap();
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(StreamKey::read(&made).is_ok());
        for (text, mode) in [(&*key, 0o644), (&key[2..], 0o600), (&"xy".repeat(32), 0o600), ("", 0o600)] {
            assert!(read(text, mode).is_err(), "{text} {mode:o}");
        }
    }
}
