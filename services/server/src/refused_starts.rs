//! Counts refused starts (PL-40), and writes a note of each to the data folder. The next accepted start logs each note as a
//! failed integrity check (PL-22).

use crate::error::ServeError;
use motherlode_ledger::Handle;
use motherlode_report::log_finding;
use opentelemetry::{global, metrics::Counter};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// Maximum number of notes, so that repeated starts do not fill the disk.
const NOTES_MAX: usize = 16;

const FINDING_MAX: usize = 1_000;

const CHECK: &str = "start";

fn file(data: &Path) -> PathBuf {
    data.join("refused-starts")
}

fn read(data: &Path) -> io::Result<BTreeSet<String>> {
    match fs::read(file(data)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().take(NOTES_MAX).map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

pub(crate) fn counter() -> Counter<u64> {
    let what = "Number of process starts refused because log records or draw keys are missing or could not be checked.";
    global::meter("motherlode").u64_counter("motherlode.starts.refused").with_description(what).build()
}

pub fn note_refused_start(data: &Path, error: &ServeError) {
    if !matches!(error, ServeError::Start(_) | ServeError::Proofs(_) | ServeError::DrawKeys(_)) {
        return;
    }
    counter().add(1, &[]);
    let noted = read(data).and_then(|mut notes| {
        let finding = error.to_string().replace('\n', " ").chars().take(FINDING_MAX).collect();
        if notes.len() == NOTES_MAX || !notes.insert(finding) {
            return Ok(());
        }
        fs::write(file(data), notes.into_iter().map(|note| note + "\n").collect::<String>())
    });
    if let Err(error) = noted {
        tracing::error!(file = %file(data).display(), %error, "failed to save the refused start: the next start cannot log it");
    }
}

pub(crate) async fn commit(ledger: &Handle, data: &Path) {
    let done = async {
        let notes = read(data)?;
        for finding in &notes {
            log_finding(ledger, CHECK, finding).await.map_err(io::Error::other)?;
        }
        if notes.is_empty() { Ok(()) } else { fs::remove_file(file(data)) }
    };
    if let Err(error) = done.await {
        tracing::error!(file = %file(data).display(), %error, "failed to record refused starts in the log: the next start retries");
    }
}
