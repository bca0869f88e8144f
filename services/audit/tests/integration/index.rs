use crate::common::{Tale, chained, player, step, store};
use motherlode_audit::{Comparison, Options, Report, audit};
use motherlode_log::SegmentStore;
use motherlode_state::{Currency, Event, Minor};
use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};
use tempfile::TempDir;

fn data(tale: &Tale) -> (TempDir, Options) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        log: folder.path().join("log"),
        index: Some(folder.path().join("index")),
        partition: 0,
        ..Options::default()
    };
    store(&options.log, &chained(&tale.log));
    (folder, options)
}

async fn serve_once(options: &Options) {
    let store = SegmentStore::open(&options.log, 0, motherlode_log::Options::default()).unwrap();
    let index = options.index.as_deref().unwrap();
    motherlode_ledger::open(Box::new(store), index, motherlode_ledger::Options::default()).unwrap().close().await;
}

fn audited(options: &Options) -> Report {
    audit(options).unwrap()
}

#[tokio::test]
async fn pl_09_the_balances_of_the_index_are_those_of_the_log() {
    let tale = Tale::of_everything();
    let (_folder, options) = data(&tale);
    serve_once(&options).await;
    let report = audited(&options);
    assert_eq!(report.divergence, None);
    assert_eq!(report.index, Comparison::Compared { balances: 2, held: tale.log.len() as u64 });
}

#[tokio::test]
async fn pl_09_an_index_that_is_behind_is_compared_at_its_own_positions() {
    let mut tale = Tale::of_everything();
    let (_folder, options) = data(&tale);
    serve_once(&options).await;
    let held = tale.log.len() as u64;
    tale.write(player("alice"), vec![Event::Deposited { currency: Currency::EUR, amount: Minor(1) }]);
    tale.plain_spin("bob");
    fs::remove_dir_all(&options.log).unwrap();
    store(&options.log, &chained(&tale.log));
    let report = audited(&options);
    assert_eq!(report.divergence, None);
    assert_eq!(report.index, Comparison::Compared { balances: 2, held });
}

#[tokio::test]
async fn pl_09_another_balance_in_the_snapshot_is_found_at_its_position() {
    let mut other = Tale::of_everything();
    other.write(player("alice"), vec![Event::Deposited { currency: Currency::EUR, amount: Minor(7) }]);
    let (_others, of_another) = data(&other);
    serve_once(&of_another).await;

    let mut tale = Tale::of_everything();
    tale.write(player("alice"), vec![Event::Deposited { currency: Currency::EUR, amount: Minor(8) }]);
    tale.plain_spin("bob");
    let (_folder, options) = data(&tale);
    let views = |options: &Options| options.index.as_deref().unwrap().with_extension("views");
    fs::rename(views(&of_another), views(&options)).unwrap();
    let found = audited(&options).divergence.unwrap();
    assert_eq!(found.position, other.log.len() as u64);
    assert!(found.what.starts_with("the snapshot's balance of player/"), "{found}");
}

#[tokio::test]
async fn pl_30_commits_missing_at_the_end_are_found_by_what_the_index_knows() {
    let tale = Tale::of_everything();
    let (_folder, options) = data(&tale);
    serve_once(&options).await;
    let all = tale.log.len();
    fs::remove_dir_all(&options.log).unwrap();
    store(&options.log, &chained(&tale.log[..all - 1]));
    let found = audited(&options).divergence.unwrap();
    assert_eq!(found.position, all as u64 - 1);
    assert!(found.what.starts_with("the log is shorter"), "{found}");
}

#[tokio::test]
async fn pl_06_a_log_rewritten_without_a_trace_is_found_by_the_hash_that_the_index_holds() {
    let tale = Tale::of_everything();
    let (_folder, options) = data(&tale);
    serve_once(&options).await;
    let mut log = tale.log.clone();
    log[10].commit.request_id = "another".into();
    assert!(step(&mut log[10]).step > 0);
    fs::remove_dir_all(&options.log).unwrap();
    store(&options.log, &chained(&log));
    let found = audited(&options).divergence.unwrap();
    assert_eq!(found.position, log.len() as u64);
    assert!(found.what.contains("the snapshot was built from"), "{found}");
}

#[tokio::test]
async fn a_missing_or_damaged_snapshot_is_no_divergence() {
    let tale = Tale::of_everything();
    let (_folder, options) = data(&tale);
    let why = || match audited(&options) {
        Report { divergence: None, index: Comparison::NotCompared { why }, .. } => why,
        other => panic!("{:?} {:?}", other.divergence, other.index),
    };
    assert_eq!(why(), "the index has no snapshot in this version's format");
    serve_once(&options).await;
    let views = options.index.clone().unwrap().with_extension("views");
    for file in fs::read_dir(views.join("tables")).unwrap() {
        fs::write(file.unwrap().path(), vec![0xA5; 4096]).unwrap();
    }
    assert!(why().starts_with("the snapshot cannot be read"));
    for file in fs::read_dir(views.join("checkpoints")).unwrap() {
        fs::write(file.unwrap().path(), "nonsense").unwrap();
    }
    assert_eq!(why(), "the index has no snapshot in this version's format");
}

#[tokio::test]
async fn pl_30_comparing_writes_nothing_to_the_index() {
    let tale = Tale::of_everything();
    let (_folder, options) = data(&tale);
    serve_once(&options).await;
    let views = options.index.as_deref().unwrap().with_extension("views");
    let before = picture(&views);
    assert!(before.len() > 2);
    assert!(matches!(audited(&options).index, Comparison::Compared { .. }));
    assert!(picture(&views) == before);
}

fn picture(folder: &Path) -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
    let mut files = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(picture(&path)),
            false => {
                files.push((path.clone(), fs::metadata(&path).unwrap().modified().unwrap(), fs::read(&path).unwrap()))
            }
        }
    }
    files.sort();
    files
}
