//! Marks beside the draw keys: how far the log went whose draws these keys seal.
//!
//! Players know all that a log which lost its end had revealed; sealed draws that the rest of it still holds would give the same
//! values again, this time known before. So a writer keeps a mark of each partition, position and record hash, in the file
//! `<keys>.log-<partition>`, about once a second and at a stop. A log that hasn't that record has lost its end, or is another: then all
//! keys are given up before anything is appended. The file of them is moved aside, and players' draws are sealed
//! anew, each in the log (KEY_LOST). An end of less than the last second before a crash leaves no mark; neither does a folder of keys that
//! nobody may write.

use crate::{
    draws::{DrawKeys, DrawKeysError},
    handle::Handle,
};
use motherlode_log::{Position, hash};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Bytes of records that are read at once: one record is.
const BYTES: usize = 1 << 20;

impl DrawKeys {
    /// Remembers that a partition's log goes up to a record at the least. In memory alone there is nothing to remember.
    ///
    /// # Errors
    /// It can't be written.
    pub fn mark(&self, partition: u32, position: Position, record: &[u8; 32]) -> io::Result<()> {
        let Some(path) = self.path().map(|keys| mark_file(keys, partition)) else { return Ok(()) };
        let mut next = path.clone().into_os_string();
        next.push(".next");
        let digits: String = record.iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&next, format!("{position} {digits}\n"))?;
        fs::rename(next, path)
    }

    /// Holds the log that is written here against its mark. Where it has lost its end all keys are given up, and fresh ones made:
    /// that is answered. To be asked before anything is appended.
    ///
    /// # Errors
    /// The mark or the log can't be read, or the keys can't be given up.
    pub fn hold_to(&self, ledger: &Handle) -> Result<bool, DrawKeysError> {
        let Some(keys) = self.path() else { return Ok(false) };
        let partition = ledger.partition();
        let path = mark_file(keys, partition);
        let failed = |source| DrawKeysError::Io { path: path.clone(), source };
        let marked = match fs::read_to_string(&path) {
            Ok(text) => read(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        let Some((position, record)) = marked else {
            tracing::warn!(file = %path.display(), "this is no mark of a log: it's left aside");
            return Ok(false);
        };
        if position <= ledger.durable() {
            let found = ledger.records(position, 1, BYTES).map_err(|error| failed(io::Error::other(error)))?;
            if found.first().is_some_and(|found| hash(&found.bytes) == record) {
                return Ok(false);
            }
        }
        let aside = self.give_up(ledger.clock_ms())?;
        tracing::error!(
            partition,
            position,
            end = ledger.durable(),
            aside = %aside.display(),
            "the log has lost its end, or is another than these draw keys were used for: what they sealed may have been revealed, so \
             they are given up. Draws are sealed anew, open rounds can only be voided"
        );
        fs::remove_file(&path).map_err(failed)?;
        Ok(true)
    }
}

fn mark_file(keys: &Path, partition: u32) -> PathBuf {
    let mut name = keys.as_os_str().to_owned();
    name.push(format!(".log-{partition}"));
    name.into()
}

fn read(text: &str) -> Option<(Position, [u8; 32])> {
    let (position, digits) = text.strip_suffix('\n')?.split_once(' ')?;
    let mut record = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (place, byte) in record.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
    Some((position.parse().ok()?, record))
}
