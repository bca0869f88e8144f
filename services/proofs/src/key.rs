use motherlode_log::Position;
use motherlode_runtime::Config;
use motherlode_tiles::{KeyKind, Malformed, SignerKey, VerifierKey, without_restore};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot use the key file {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot use the key file {}: {source}", path.display())]
    Malformed { path: PathBuf, source: Malformed },
    #[error("{} has the key of {found}, but the configuration has [proofs] name = {wanted:?}", path.display())]
    Name { path: PathBuf, found: String, wanted: String },
    #[error(
        "the log has records up to position {end}, and the key that signed this log is not in {}. Restore the key file. If \
         it is lost, `serve --new-log-key` creates a new key; verifiers then treat the log as a new log",
        path.display()
    )]
    Missing { path: PathBuf, end: Position },
    #[error(
        "the checkpoint in {} was not signed with the key in {}. Restore the key that signed it. If that key is lost, \
         `serve --new-log-key` signs with the key in the file; verifiers then treat the log as a new log",
        checkpoint.display(), path.display()
    )]
    Other { path: PathBuf, checkpoint: PathBuf },
    #[error("the operating system returned no random bytes: {0}")]
    Entropy(getrandom::Error),
}

/// Returns the origin of a partition's log. `restore` is the random number of the log's latest restore; 0 without
/// restores.
#[must_use]
pub fn origin(name: &str, partition: u32, restore: u64) -> String {
    let restore = if restore > 0 { format!("/r{restore}") } else { String::new() };
    format!("{name}/log/{partition}{restore}")
}

/// Returns a copy of `key`, renamed to the origin that the partition's log had before any restore. The name of `key`
/// may contain any partition number or none.
pub fn of_partition(key: &VerifierKey, partition: u32) -> Result<VerifierKey, Malformed> {
    of_restore(key, partition, 0)
}

pub fn of_restore(key: &VerifierKey, partition: u32, restore: u64) -> Result<VerifierKey, Malformed> {
    let name = without_restore(key.name());
    let bare =
        name.rsplit_once("/log/").filter(|(_, digits)| digits.parse::<u32>().is_ok()).map_or(name, |(bare, _)| bare);
    key.named(&origin(bare, partition, restore))
}

/// The key file is outside the log's folder, so that copies of the log do not include the key.
#[must_use]
pub fn key_file(config: &Config) -> PathBuf {
    config.proofs.key_file.clone().unwrap_or_else(|| config.data.join("proofs.key"))
}

/// Loads the key. If no key file is configured, a missing default file is created. If the log has records, the file is
/// created only if `accept_new_key` is set.
pub fn load_or_make(config: &Config, end: Position) -> Result<SignerKey, KeyError> {
    check_log_key(config, end)?;
    let (path, wanted) = (key_file(config), config.proofs.name.as_deref());
    let key = match config.proofs.key_file.is_none() && !path.exists() {
        true => {
            let key = make(&path, wanted, KeyKind::Log)?;
            tracing::info!(file = %path.display(), name = key.verifier().name(), "created a key that signs checkpoints: back up the file");
            key
        }
        false => load(&path)?,
    };
    named(key, &path, config)
}

/// Fails if the log has records and its key file is missing. A start checks this before it replays the log.
pub fn check_log_key(config: &Config, end: Position) -> Result<(), KeyError> {
    let path = key_file(config);
    match end > 0 && config.proofs.key_file.is_none() && !config.proofs.accept_new_key && !path.exists() {
        true => Err(KeyError::Missing { path, end }),
        false => Ok(()),
    }
}

pub fn check_key(config: &Config) -> Result<(), KeyError> {
    match &config.proofs.key_file {
        Some(path) => named(load(path)?, path, config).map(drop),
        None => Ok(()),
    }
}

fn named(key: SignerKey, path: &Path, config: &Config) -> Result<SignerKey, KeyError> {
    match &config.proofs.name {
        Some(wanted) if wanted != key.verifier().name() => Err(KeyError::Name {
            path: path.to_owned(),
            found: key.verifier().name().to_owned(),
            wanted: wanted.clone(),
        }),
        _ => Ok(key),
    }
}

/// Errors do not reveal the file's content.
pub fn load(path: &Path) -> Result<SignerKey, KeyError> {
    let file = |source| KeyError::File { path: path.to_owned(), source };
    let text = fs::read_to_string(path).map_err(file)?;
    if fs::metadata(path).map_err(file)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(file = %path.display(), "other users can read the key that signs checkpoints: set the file's mode to 0600");
    }
    SignerKey::from_secret(text.trim_end()).map_err(|source| KeyError::Malformed { path: path.to_owned(), source })
}

/// If `name` is `None`, the key gets a random name. Fails if the file exists.
pub fn make(path: &Path, name: Option<&str>, kind: KeyKind) -> Result<SignerKey, KeyError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(KeyError::Entropy)?;
    let key = |name: &str| {
        SignerKey::new(name, kind, seed).map_err(|source| KeyError::Malformed { path: path.to_owned(), source })
    };
    let key = match name {
        Some(name) => key(name)?,
        None => {
            let unnamed = key("motherlode")?;
            let id: String = unnamed.verifier().public()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            key(&format!("motherlode-{id}"))?
        }
    };
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{}", key.to_secret())?;
        file.sync_all()
    };
    written().map_err(|source| KeyError::File { path: path.to_owned(), source })?;
    Ok(key)
}
