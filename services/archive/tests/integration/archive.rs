use crate::faulty::Faulty;
use bytes::Bytes;
use futures_util::StreamExt as _;
use motherlode_archive::{Archive, ArchiveError, Archived, Options, Restored, Upload, restore};
use motherlode_log::{Hash, MemoryStore, Position, Record, Store, genesis, hash};
use motherlode_testkit::conformance::{read_all, records};
use motherlode_tiles::{Checkpoint, KeyKind, Note, SignerKey, Tree};
use object_store::{ObjectStore, ObjectStoreExt as _, memory::InMemory, path::Path};
use std::sync::{Arc, atomic::AtomicU64};

pub(crate) const PARTITION: u32 = 2;
const SEGMENTS: Options = Options { segment_bytes: 4 << 10, bytes_per_second: None };

pub(crate) fn log(count: usize) -> Vec<Bytes> {
    let payload = |number: usize| vec![number.to_le_bytes()[0]; 40 + number % 300];
    records(genesis(PARTITION), (0..count).map(payload))
}

fn key() -> SignerKey {
    SignerKey::new("example.com/log/2", KeyKind::Log, [7; 32]).expect("the name is valid")
}

fn signed(log: &[Bytes]) -> (Checkpoint, Note) {
    let mut tree = Tree::default();
    log.iter().for_each(|record| tree.append(&hash(record), |_, _| {}));
    let checkpoint = Checkpoint { origin: "example.com/log/2".into(), size: tree.size(), root: tree.root() };
    let note = checkpoint.sign(&key()).expect("the checkpoint is a note");
    (checkpoint, note)
}

pub(crate) async fn upload(
    archive: &Archive,
    log: &[Bytes],
    signed: Option<(Checkpoint, Note)>,
) -> Result<Archived, ArchiveError> {
    let mut upload = Upload::begin(archive, PARTITION, SEGMENTS, signed).await?;
    let (after, _) = upload.after();
    let positions = log.iter().cloned().zip(1..).filter(|(_, position)| *position > after);
    for (bytes, position) in positions {
        upload.take(Record { position, bytes }).await?;
    }
    upload.finish().await
}

fn memory(log: &[Bytes]) -> MemoryStore {
    let mut store = MemoryStore::new(PARTITION);
    store.append(0, log).expect("the records chain");
    store
}

async fn restored(archive: &Archive, store: &mut MemoryStore) -> Result<Restored, ArchiveError> {
    restore(archive, PARTITION, Some(store), Position::MAX, None, &AtomicU64::new(0)).await
}

async fn content(archive: &Archive) -> Result<Vec<Bytes>, ArchiveError> {
    let mut store = memory(&[]);
    restored(archive, &mut store).await?;
    Ok(read_all(&*store.reader(), 1))
}

fn place(objects: &Arc<InMemory>) -> Archive {
    Archive::with_store(Arc::clone(objects) as Arc<dyn ObjectStore>, "memory")
}

async fn names(objects: &InMemory) -> Vec<Path> {
    objects.list(None).map(|found| found.expect("objects in memory").location).collect().await
}

fn end(log: &[Bytes]) -> (Position, Hash) {
    (log.len() as Position, hash(log.last().expect("there are records")))
}

#[tokio::test]
async fn pl_37_an_archived_log_is_restored_to_its_end_byte_for_byte() {
    let (log, objects) = (log(400), Arc::new(InMemory::new()));
    let archive = place(&objects);
    let mut before = 0;
    for upto in [1, 2, 40, 40, 41, 200, 399, 400] {
        let archived = upload(&archive, &log[..upto], Some(signed(&log[..upto]))).await.unwrap();
        let expected =
            Archived { before, end: end(&log[..upto]).0, head: end(&log[..upto]).1, signed: Some(upto as u64) };
        assert_eq!(archived, expected);
        before = archived.end;
        let mut store = memory(&log[..upto / 2]);
        let (key, done) = (key(), AtomicU64::new(0));
        let restored =
            restore(&archive, PARTITION, Some(&mut store), Position::MAX, Some(key.verifier()), &done).await.unwrap();
        assert_eq!(done.into_inner(), upto as u64);
        assert_eq!((restored.end, restored.head), end(&log[..upto]));
        assert_eq!(restored.signed, Some(signed(&log[..upto]).0));
        assert_eq!(read_all(&*store.reader(), 1), log[..upto]);
    }
    let segments = names(&objects).await.iter().filter(|name| name.as_ref().contains("segments")).count();
    let restored = restore(&archive, PARTITION, None, Position::MAX, None, &AtomicU64::new(0)).await.unwrap();
    assert!(segments > 10 && restored.segments == segments as u64, "one object per segment: {segments}, {restored:?}");
}

#[tokio::test]
async fn pl_37_an_archive_in_a_folder_is_restored() {
    let (log, folder) = (log(100), tempfile::tempdir().unwrap());
    let place = folder.path().join("new/archive").display().to_string();
    assert!(matches!(Archive::open(&place), Err(ArchiveError::Place { .. })));
    let archive = Archive::create(&place).unwrap();
    assert_eq!(archive.ends().await.unwrap(), None);
    upload(&archive, &log, None).await.unwrap();
    archive.complete(&[7, 0, 90]).await.unwrap();
    let archive = Archive::open(&place).unwrap();
    assert_eq!(archive.ends().await.unwrap(), Some(vec![7, 0, 90]));
    assert!(matches!(archive.check_partitions(4).await, Err(ArchiveError::Partitions { archived: 3, found: 4, .. })));
    let root = folder.path().join("new/archive/archive");
    let text = std::fs::read(&root).unwrap();
    for at in 0..text.len() {
        let mut changed = text.clone();
        changed[at] ^= 1;
        std::fs::write(&root, changed).unwrap();
        assert!(archive.ends().await.is_err(), "byte {at}");
    }
    let (mut store, done) = (memory(&[]), AtomicU64::new(0));
    for upto in [90, 95] {
        let restored = restore(&archive, PARTITION, Some(&mut store), upto, None, &done).await.unwrap();
        assert_eq!((restored.end, restored.head, restored.verified), (upto, store.head(), 100));
        assert_eq!(read_all(&*store.reader(), 1), log[..usize::try_from(upto).unwrap()]);
    }
    let short = restore(&archive, PARTITION, None, 101, None, &done).await.unwrap_err();
    assert!(matches!(short, ArchiveError::Damaged { .. }), "{short}");
    assert_eq!(content(&archive).await.unwrap(), log);
}

#[tokio::test]
async fn pl_37_a_run_stopped_at_any_operation_loses_nothing() {
    let log = log(130);
    for late in [false, true] {
        let mut operations = 1;
        let objects = loop {
            let objects = Arc::new(InMemory::new());
            upload(&place(&objects), &log[..60], Some(signed(&log[..60]))).await.unwrap();
            let stopped = Archive::with_store(Arc::new(Faulty::new(&objects, operations, late)), "faulty");
            let stopped = upload(&stopped, &log, Some(signed(&log))).await;
            let kept = content(&place(&objects)).await.unwrap();
            assert!(kept.len() >= 60 && log.starts_with(&kept), "operation {operations}: {} records", kept.len());
            upload(&place(&objects), &log, Some(signed(&log))).await.unwrap();
            assert_eq!(content(&place(&objects)).await.unwrap(), log, "operation {operations}");
            if stopped.is_ok() {
                break objects;
            }
            operations += 1;
        };
        assert!(operations > 20, "{operations}");
        assert_eq!(
            restore(&place(&objects), PARTITION, None, Position::MAX, None, &AtomicU64::new(0)).await.unwrap().end,
            130
        );
    }
}

#[tokio::test]
async fn pl_37_a_restore_continues_a_prefix_of_the_log_and_refuses_another_log() {
    let (log, objects) = (log(90), Arc::new(InMemory::new()));
    let archive = place(&objects);
    upload(&archive, &log, Some(signed(&log))).await.unwrap();
    for before in 0..=90 {
        let mut store = memory(&log[..before]);
        let restored = restored(&archive, &mut store).await.unwrap();
        assert_eq!((restored.before, restored.end), (before as u64, 90));
        assert_eq!(read_all(&*store.reader(), 1), log);
    }
    for before in [1, 17, 89, 90, 91] {
        let other = records(genesis(PARTITION), (0..before).map(|number| vec![9; number % 7]));
        let mut store = memory(&other);
        let refused = restored(&archive, &mut store).await.unwrap_err();
        assert!(matches!(refused, ArchiveError::OtherLog { .. }), "{before}: {refused}");
        assert_eq!(read_all(&*store.reader(), 1), other, "a refused target is unchanged");
    }
}

#[tokio::test]
async fn pl_37_a_changed_shortened_or_removed_object_is_found() {
    let (log, objects) = (log(60), Arc::new(InMemory::new()));
    upload(&place(&objects), &log, Some(signed(&log))).await.unwrap();
    let key = key();
    for name in names(&objects).await {
        let bytes = objects.get(&name).await.unwrap().bytes().await.unwrap();
        let at: Vec<usize> = (0..bytes.len()).step_by((bytes.len() / 40).max(1)).collect();
        let changed = at.iter().map(|at| {
            let mut changed = bytes.to_vec();
            changed[*at] ^= 1;
            Some(changed)
        });
        let shortened = at.iter().map(|at| Some(bytes[..*at].to_vec()));
        for altered in changed.chain(shortened).chain([None, Some([&bytes[..], &[0; 32]].concat())]) {
            let altered_objects = Arc::new(objects.fork());
            match &altered {
                Some(altered) => drop(altered_objects.put(&name, altered.clone().into()).await.unwrap()),
                None => altered_objects.delete(&name).await.unwrap(),
            }
            let archive = place(&altered_objects);
            let found =
                restore(&archive, PARTITION, None, Position::MAX, Some(key.verifier()), &AtomicU64::new(0)).await;
            assert!(found.is_err(), "{name}: {altered:?}");
        }
    }
}

#[tokio::test]
async fn pl_37_an_archive_refuses_another_log_a_shorter_log_and_records_that_were_not_signed() {
    let (log, objects) = (log(90), Arc::new(InMemory::new()));
    let archive = place(&objects);
    upload(&archive, &log[..80], None).await.unwrap();
    let before = names(&objects).await;
    let mut other = log[..70].to_vec();
    other.extend(records(hash(&log[69]), (0..20).map(|number| vec![9; number])));
    let refused = upload(&archive, &other, None).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::OtherLog { .. }), "{refused}");
    let refused = upload(&archive, &log[..79], None).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Shorter { end: 79, archived: 80, .. }), "{refused}");
    let refused = upload(&archive, &log, Some(signed(&other))).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Unsigned { size: 90, .. }), "{refused}");
    assert_eq!(content(&archive).await.unwrap(), log[..80]);
    assert_eq!(names(&objects).await.len(), before.len());
    let archived = upload(&archive, &log, Some(signed(&log[..85]))).await.unwrap();
    assert_eq!((archived.before, archived.end, archived.signed), (80, 90, Some(85)));
}

#[tokio::test]
async fn pl_37_an_archive_whose_checkpoint_another_key_signed_or_that_is_too_short_is_refused() {
    let (log, objects) = (log(60), Arc::new(InMemory::new()));
    let archive = place(&objects);
    upload(&archive, &log, Some(signed(&log))).await.unwrap();
    let other = SignerKey::new("example.com/log/2", KeyKind::Log, [8; 32]).unwrap();
    let refused = restore(&archive, PARTITION, None, Position::MAX, Some(other.verifier()), &AtomicU64::new(0))
        .await
        .unwrap_err();
    assert!(matches!(refused, ArchiveError::Signature { .. }), "{refused}");
    let tail = Path::from("2/tail");
    objects.delete(&tail).await.unwrap();
    let short = restore(&archive, PARTITION, None, Position::MAX, None, &AtomicU64::new(0)).await.unwrap_err();
    assert!(matches!(short, ArchiveError::Missed { size: 60, .. }), "{short}");
}
