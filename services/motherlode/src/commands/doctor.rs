use super::{Failure, config_file, progress::shown, say};
use motherlode_log::{Hash, Position, ScanError, Tail, hash, scan};
use motherlode_proofs::{Files, key_file, proofs_folder};
use motherlode_proto::convert::play::hex;
use motherlode_runtime::Config;
use motherlode_server::{LogLocation, log_folder};
use motherlode_state::HOME;
use motherlode_tiles::{Checkpoint, Tree};
use std::{
    fmt::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Reads the data folder of a stopped or running service, and prints for each partition the intact records, the lost
/// records, and the next step. The command writes nothing. The exit code is 1 if a problem is found.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Data folder.
    #[arg(value_name = "FOLDER")]
    data: PathBuf,
    /// Configuration file (TOML) of `serve`, which names keys outside the data folder.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

const REPAIR: &str = "stop the service, leave this folder unchanged, and restore the log from a copy or an archive; if a copy lacks \
intact records of this folder, `copy --rest` adds them";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Finding {
    /// Description of the damage, with file and byte offset. Records after the damage cannot be verified.
    Damaged(String),
    Missing {
        size: Position,
    },
    Unsigned {
        size: Position,
    },
    CheckpointUnreadable(String),
    Archived {
        first: Position,
    },
    NoDrawKeys(PathBuf),
    NoSigningKey(PathBuf),
    Restoring(PathBuf),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(damage) => {
                write!(
                    f,
                    "{damage}\n    lost: the damaged record; later records cannot be verified\n    next: {REPAIR}"
                )
            }
            Self::Missing { size } => write!(
                f,
                "a checkpoint was signed for {size} records, more than the log contains\n    lost: the records after the log's end\n    next: restore from a copy that contains them; \
                 `serve --restored` accepts the loss"
            ),
            Self::Unsigned { size } => {
                write!(
                    f,
                    "the log's first {size} records differ from the records of the signed checkpoint\n    next: {REPAIR}"
                )
            }
            Self::CheckpointUnreadable(error) => {
                write!(
                    f,
                    "the signed checkpoint cannot be read: {error}\n    next: start the service, which signs a new checkpoint"
                )
            }
            Self::Archived { first } => {
                write!(f, "records before position {first} were removed by a prune; the archive contains them")
            }
            Self::NoDrawKeys(path) => write!(
                f,
                "draw keys: {} is missing\n    next: copy it back from a backup, or accept the loss with `serve --draw-keys-lost`",
                path.display()
            ),
            Self::NoSigningKey(path) => write!(
                f,
                "signing key: {} is missing\n    next: copy it back from a backup, or use `serve --new-log-key`: verifiers then treat the log as a new one",
                path.display()
            ),
            Self::Restoring(path) => write!(
                f,
                "an incomplete restore is in {}\n    next: repeat `motherlode restore`, or remove this folder",
                path.display()
            ),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Examined {
    end: Position,
    head: Hash,
    bytes: u64,
    /// Number of bytes of an unacknowledged append at the log's end. The next start removes them.
    torn: u64,
    signed: Option<Position>,
    findings: Vec<Finding>,
}

impl Examined {
    fn without_records(finding: Finding) -> Self {
        Self { end: 0, head: Hash::default(), bytes: 0, torn: 0, signed: None, findings: vec![finding] }
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let config = Config { data: args.data.clone(), ..config_file::read(args.config.as_deref())? };
    let location = LogLocation::Folder { data: args.data.clone(), segment_bytes: config.limits.segment_bytes };
    let partitions = location.existing_count()?;
    let examined = shown("records read", |done| {
        (HOME..partitions).map(|partition| examine(&args.data, partition, done)).collect::<Result<Vec<_>, _>>()
    });
    let examined = examined.map_err(Failure::found)?;
    let folder = folder(&config);
    say(&text(&args.data, &examined, &folder))?;
    match folder.is_empty() && examined.iter().all(|partition| partition.findings.is_empty()) {
        true => Ok(()),
        false => Err(Failure::found("")),
    }
}

fn folder(config: &Config) -> Vec<Finding> {
    let draws = config.draw_key_file().filter(|path| !path.exists()).map(Finding::NoDrawKeys);
    let signing = Some(key_file(config)).filter(|path| !path.exists()).map(Finding::NoSigningKey);
    let restoring = Some(config.data.join("restoring")).filter(|path| path.exists()).map(Finding::Restoring);
    [draws, signing, restoring].into_iter().flatten().collect()
}

fn examine(data: &Path, partition: u32, done: &AtomicU64) -> Result<Examined, ScanError> {
    let log = log_folder(data, partition);
    let mut findings = vec![];
    let signed = match Files::unverified_checkpoint(&proofs_folder(data, partition)) {
        Ok(signed) => signed.map(|(checkpoint, _)| checkpoint),
        Err(error) => {
            findings.push(Finding::CheckpointUnreadable(error.to_string()));
            None
        }
    };
    let mut records = match scan(&log) {
        Ok(records) => records,
        Err(ScanError::Io { .. }) if !log.exists() => {
            return Ok(Examined::without_records(Finding::Damaged(format!("{} is missing", log.display()))));
        }
        Err(ScanError::Damaged(damage)) => return Ok(Examined::without_records(Finding::Damaged(damage.to_string()))),
        Err(error) => return Err(error),
    };
    let first = records.first();
    let (mut tree, mut bytes, mut matching) = (Tree::default(), 0, None);
    for record in records.by_ref() {
        match record {
            Ok(record) => {
                bytes += record.bytes.len() as u64;
                tree.append(&hash(&record.bytes), |_, _| {});
                matching = matching.or_else(|| compared(signed.as_ref(), &tree));
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(ScanError::Damaged(damage)) => findings.push(Finding::Damaged(damage.to_string())),
            Err(error) => return Err(error),
        }
    }
    let (end, head) = records.verified();
    let torn = if let Tail::Torn { bytes, .. } = records.tail() { *bytes } else { 0 };
    if first > 1 {
        findings.push(Finding::Archived { first });
    } else if let Some(Checkpoint { size, .. }) = signed.as_ref().filter(|signed| signed.size > 0) {
        match matching {
            None => findings.push(Finding::Missing { size: *size }),
            Some(false) => findings.push(Finding::Unsigned { size: *size }),
            Some(true) => {}
        }
    }
    let signed = signed.filter(|_| matching == Some(true)).map(|signed| signed.size);
    Ok(Examined { end, head, bytes, torn, signed, findings })
}

/// Returns whether the tree matches the checkpoint; `None` if their sizes differ.
fn compared(signed: Option<&Checkpoint>, tree: &Tree) -> Option<bool> {
    signed.filter(|signed| signed.size == tree.size()).map(|signed| signed.root == tree.root())
}

fn text(data: &Path, examined: &[Examined], folder: &[Finding]) -> String {
    let mut text = format!("{}\n", data.display());
    for (partition, Examined { end, head, bytes, torn, signed, findings }) in examined.iter().enumerate() {
        let _ = writeln!(
            text,
            "  partition {partition}: sound up to position {end}, {bytes} bytes of records\n    head hash {}",
            hex(head)
        );
        if let Some(size) = signed {
            let _ = writeln!(text, "    checkpoint for {size} records: its root matches the log");
        }
        if *torn > 0 {
            let _ =
                writeln!(text, "    {torn} bytes of an unacknowledged append at the end, which the next start removes");
        }
        for finding in findings {
            let _ = writeln!(text, "    {finding}");
        }
    }
    for finding in folder {
        let _ = writeln!(text, "  {finding}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_log::{Options, SegmentStore, Store as _, genesis};
    use motherlode_testkit::conformance::records;
    use motherlode_tiles::{KeyKind, SignerKey};
    use std::fs;

    fn log(data: &Path, size: usize) -> PathBuf {
        let folder = log_folder(data, HOME);
        let all = records(genesis(HOME), (0..5).map(|number| vec![number; 60]));
        let mut store = SegmentStore::open(&folder, HOME, Options::default()).unwrap();
        all.iter().zip(0..).for_each(|(record, after)| store.append(after, std::slice::from_ref(record)).unwrap());
        let mut tree = Tree::default();
        all.iter().cycle().take(size).for_each(|record| tree.append(&hash(record), |_, _| {}));
        let key = SignerKey::new("example.com/log/0", KeyKind::Log, [7; 32]).unwrap();
        let checkpoint = Checkpoint { origin: "example.com/log/0".into(), size: tree.size(), root: tree.root() };
        let proofs = proofs_folder(data, HOME);
        fs::create_dir_all(&proofs).unwrap();
        fs::write(proofs.join("checkpoint"), checkpoint.sign(&key).unwrap().to_string()).unwrap();
        folder.join(format!("{:020}.log", 1))
    }

    fn examined(data: &Path) -> Examined {
        examine(data, HOME, &AtomicU64::new(0)).unwrap()
    }

    #[test]
    fn pl_37_the_doctor_finds_a_sound_log_damage_and_missing_records() {
        let data = tempfile::tempdir().unwrap();
        let segment = log(data.path(), 4);
        let sound = examined(data.path());
        assert_eq!((sound.end, sound.torn, sound.signed, sound.findings), (5, 0, Some(4), vec![]));

        log(&data.path().join("short"), 7);
        let short = examined(&data.path().join("short"));
        assert_eq!((short.end, short.signed, short.findings), (5, None, vec![Finding::Missing { size: 7 }]));

        let mut bytes = fs::read(&segment).unwrap();
        let third = bytes.windows(20).position(|bytes| bytes == [2; 20]).unwrap();
        bytes[third] ^= 1;
        fs::write(&segment, &bytes).unwrap();
        let damaged = examined(data.path());
        assert!(matches!(&damaged.findings[..], [Finding::Damaged(_), Finding::Missing { size: 4 }]), "{damaged:?}");
        assert_eq!((damaged.end, fs::read(&segment).unwrap()), (2, bytes));

        fs::write(proofs_folder(data.path(), HOME).join("checkpoint"), "no note").unwrap();
        fs::remove_dir_all(log_folder(data.path(), HOME)).unwrap();
        assert!(matches!(&examined(data.path()).findings[..], [Finding::Damaged(_)]));
    }

    #[test]
    fn pl_37_the_doctor_names_missing_keys_and_an_incomplete_restore() {
        let data = tempfile::tempdir().unwrap();
        let config = Config { data: data.path().to_owned(), ..Config::default() };
        assert!(matches!(folder(&config)[..], [Finding::NoDrawKeys(_), Finding::NoSigningKey(_)]));
        for path in ["keys/draws", "proofs.key", "restoring/log/0/lock"] {
            let path = data.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let findings = folder(&config);
        assert_eq!(findings, [Finding::Restoring(data.path().join("restoring"))]);
        let shown = text(data.path(), &[], &findings);
        assert!(shown.contains("repeat `motherlode restore`"), "{shown}");
    }
}
