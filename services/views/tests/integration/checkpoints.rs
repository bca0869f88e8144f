//! After any crash or damage, startup must find the views as of some log position, or no views.

use motherlode_views::{Checkpoint, Keyspace, KeyspaceTables, Run, Store, Writer};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const NUMBERS: Keyspace = Keyspace { name: "numbers", version: 1, widths: Some((8, 0)), filtered: 8 };

fn hash(log: u8, position: u64) -> [u8; 32] {
    let mut hash = [log; 32];
    hash[..8].copy_from_slice(&position.to_be_bytes());
    hash
}

struct Views {
    store: Store,
    log: u8,
    position: u64,
    runs: Vec<Run>,
}

impl Views {
    fn start(folder: &Path, log: u8) -> Self {
        let store = Store::open(folder, 0);
        for (id, checkpoint) in store.checkpoints() {
            let named = checkpoint.runs(&NUMBERS).unwrap();
            let runs = named.iter().map(|run| store.run(run, &NUMBERS, u64::MAX)).collect::<Result<Vec<_>, _>>();
            if let (true, Ok(runs)) = (checkpoint.hash == hash(log, checkpoint.position), runs) {
                store.adopt(id, &checkpoint);
                let views = Self { store, log, position: checkpoint.position, runs };
                assert_eq!((checkpoint.state, views.numbers()), (views.state(), (0..views.position * 10).collect()));
                return views;
            }
        }
        Self { store, log, position: 0, runs: vec![] }
    }

    fn numbers(&self) -> BTreeSet<u64> {
        let mut numbers = BTreeSet::new();
        for run in &self.runs {
            let mut cursor = run.cursor();
            while cursor.advance().unwrap() {
                numbers.insert(u64::from_be_bytes(cursor.key().try_into().unwrap()));
            }
        }
        numbers
    }

    fn state(&self) -> Vec<u8> {
        vec![7; usize::try_from(self.position).unwrap() * 100]
    }

    fn commit(&mut self) {
        let before = self.position;
        self.position += 1;
        let mut writer = Writer::new(&self.store, &NUMBERS, (before, self.position), u64::MAX);
        (before * 10..self.position * 10).for_each(|number| writer.put(&number.to_be_bytes(), &[]).unwrap());
        self.runs.push(writer.finish().unwrap());
        self.store.commit(&mut self.checkpoint()).unwrap();
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            sequence: 0,
            partition: 0,
            position: self.position,
            hash: hash(self.log, self.position),
            keyspaces: vec![KeyspaceTables::new(&NUMBERS, &self.runs)],
            state_version: 1,
            state: self.state(),
        }
    }
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { [path].into() }).collect()
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let to = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
}

fn replace(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    copy(from, to);
}

fn two() -> (TempDir, TempDir) {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Views::start(before.path(), 1).commit();
    copy(before.path(), after.path());
    Views::start(after.path(), 1).commit();
    (before, after)
}

fn assert_tidy(folder: &Path, checkpoints: usize, tables: usize) {
    let count = |of: &str| fs::read_dir(folder.join(of)).unwrap().count();
    assert_eq!((count("checkpoints"), count("tables")), (checkpoints, tables));
}

fn assert_starts(folder: &Path, position: u64) {
    let mut views = Views::start(folder, 1);
    assert_eq!(views.position, position);
    views.commit();
    drop(views);
    assert_eq!(Views::start(folder, 1).position, position + 1);
    assert_tidy(folder, 1, usize::try_from(position).unwrap() + 1);
}

#[test]
fn a_kill_at_each_step_of_a_commit_leaves_the_checkpoint_before_or_the_new_one() {
    let (before, after) = two();
    let added = |of: &str| {
        let (before, after) = (files(&before.path().join(of)), files(&after.path().join(of)));
        let name = |file: &PathBuf| file.file_name().unwrap().to_owned();
        let known: BTreeSet<_> = before.iter().map(name).collect();
        after.into_iter().find(|file| !known.contains(&name(file))).unwrap()
    };
    let (table, checkpoint) = (added("tables"), added("checkpoints"));
    let half = |file: &Path| fs::read(file).unwrap()[..100].to_vec();
    for step in 0..=5 {
        let folder = tempfile::tempdir().unwrap();
        let place = |file: &Path| folder.path().join(file.strip_prefix(after.path()).unwrap());
        copy(before.path(), folder.path());
        if step == 0 {
            fs::write(folder.path().join("tables/0.new"), half(&table)).unwrap();
        } else {
            fs::copy(&table, place(&table)).unwrap();
        }
        if step == 2 {
            fs::write(folder.path().join("checkpoints/1.new"), half(&checkpoint)).unwrap();
        } else if step > 2 {
            fs::copy(&checkpoint, place(&checkpoint)).unwrap();
        }
        if step > 3 {
            replace(&after.path().join("catalogue"), &folder.path().join("catalogue"));
        }
        if step > 4 {
            replace(&after.path().join("checkpoints"), &folder.path().join("checkpoints"));
        }
        assert_starts(folder.path(), if step < 3 { 1 } else { 2 });
    }
}

#[test]
fn a_catalogue_that_is_missing_empty_older_anothers_or_damaged_loses_nothing() {
    let (before, after) = two();
    let other = tempfile::tempdir().unwrap();
    (0..9).for_each(|_| Views::start(other.path(), 2).commit());
    let start = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        copy(after.path(), folder.path());
        change(&folder.path().join("catalogue"));
        assert_starts(folder.path(), 2);
    };
    start(&|catalogue| fs::remove_dir_all(catalogue).unwrap());
    start(&|catalogue| {
        fs::remove_dir_all(catalogue).unwrap();
        fs::create_dir(catalogue).unwrap();
    });
    start(&|catalogue| {
        fs::remove_dir_all(catalogue).unwrap();
        fs::write(catalogue, "no folder").unwrap();
    });
    for from in [&before, &other] {
        start(&|catalogue| replace(&from.path().join("catalogue"), catalogue));
    }
    let names = files(&after.path().join("catalogue"));
    for name in names.iter().map(|file| file.strip_prefix(after.path().join("catalogue")).unwrap()) {
        let length = fs::read(after.path().join("catalogue").join(name)).unwrap().len();
        start(&|catalogue| fs::remove_file(catalogue.join(name)).unwrap());
        for kept in [0, 1, length / 3, length.saturating_sub(1)] {
            start(&|catalogue| {
                let bytes = fs::read(catalogue.join(name)).unwrap();
                fs::write(catalogue.join(name), &bytes[..kept]).unwrap();
            });
        }
        for at in (0..length.min(600)).step_by(37) {
            start(&|catalogue| {
                let mut bytes = fs::read(catalogue.join(name)).unwrap();
                bytes[at] ^= 0x10;
                fs::write(catalogue.join(name), bytes).unwrap();
            });
        }
    }
}

#[test]
fn a_checkpoint_that_is_damaged_or_of_another_log_or_partition_is_not_used() {
    let (before, after) = two();
    let folder = tempfile::tempdir().unwrap();
    copy(before.path(), folder.path());
    copy(after.path(), folder.path());
    assert_eq!(Store::open(folder.path(), 0).checkpoints().len(), 2);
    let newest = files(&after.path().join("checkpoints")).pop_first().unwrap();
    let file = folder.path().join("checkpoints").join(newest.file_name().unwrap());
    let sound = fs::read(&newest).unwrap();
    let store = Store::open(folder.path(), 0);
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, bytes).unwrap();
        let found: Vec<_> = store.checkpoints().into_iter().map(|(_, found)| found.position).collect();
        assert_eq!(found, [1], "byte {at}");
    }
    drop(store);
    for bytes in [&sound[..0], &sound[..7], &sound[..sound.len() - 1], &[&sound[..], b"x"].concat()] {
        fs::write(&file, bytes).unwrap();
        assert_eq!(Views::start(folder.path(), 1).position, 1, "{} bytes", bytes.len());
    }
    fs::write(&file, &sound).unwrap();
    assert_eq!(Views::start(folder.path(), 2).position, 0, "another log");
    assert_eq!(Store::open(folder.path(), 1).checkpoints(), []);
    let [_, table] = <[PathBuf; 2]>::try_from(Vec::from_iter(files(&after.path().join("tables")))).unwrap();
    let first: Vec<_> =
        files(&before.path().join("tables")).iter().map(|file| file.file_name().unwrap().to_owned()).collect();
    let name = table.file_name().unwrap().to_owned();
    fs::remove_file(folder.path().join("tables").join(&name)).unwrap();
    assert_eq!(Views::start(folder.path(), 1).position, if first.contains(&name) { 0 } else { 1 });
}

#[test]
fn a_catalogue_that_grows_too_long_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalogue");
    let mut views = Views::start(folder.path(), 1);
    views.commit();
    assert!(views.store.pin("replica", 9).unwrap().is_some());
    drop(views);
    let database = sled::Config::new().path(&path).flush_every_ms(None).open().unwrap();
    for number in 0..40_u32 {
        database.insert(number.to_be_bytes(), vec![1; 500_000]).unwrap();
        database.flush().unwrap();
    }
    let file = fs::File::open(path.join("db")).unwrap();
    drop(database);
    file.lock_shared().unwrap();
    drop(file);
    let bytes = || files(&path).iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>();
    assert!(bytes() > 16 << 20);
    let mut views = Views::start(folder.path(), 1);
    views.commit();
    drop(views);
    assert!(bytes() < 2 << 20, "{}", bytes());
    assert_tidy(folder.path(), 2, 2);
    assert_eq!(Views::start(folder.path(), 1).position, 2);
}

#[test]
fn the_files_of_a_pinned_checkpoint_stay_until_the_pin_expires() {
    let folder = tempfile::tempdir().unwrap();
    let mut views = Views::start(folder.path(), 1);
    assert_eq!(views.store.pin("replica", 100).unwrap(), None, "there is no checkpoint");
    views.commit();
    let pinned = views.store.pin("replica", 100).unwrap().unwrap();
    let merge = |views: &mut Views| {
        let mut writer = Writer::new(&views.store, &NUMBERS, (0, views.position), u64::MAX);
        (0..views.position * 10).for_each(|number| writer.put(&number.to_be_bytes(), &[]).unwrap());
        views.runs = vec![writer.finish().unwrap()];
    };
    views.commit();
    merge(&mut views);
    views.store.commit(&mut views.checkpoint()).unwrap();
    assert_tidy(folder.path(), 2, 2);
    drop(views);
    let mut views = Views::start(folder.path(), 1);
    let found: Vec<_> = views.store.checkpoints().into_iter().map(|(id, of)| (of.position, id == pinned)).collect();
    assert_eq!(found, [(2, false), (1, true)]);
    views.store.expire_pins(99).unwrap();
    views.commit();
    assert_tidy(folder.path(), 2, 3);
    views.store.expire_pins(100).unwrap();
    views.commit();
    assert_tidy(folder.path(), 1, 3);
    for number in 0..64 {
        assert!(views.store.pin(&number.to_string(), 9).unwrap().is_some());
    }
    assert_eq!(views.store.pin("one more", 9).unwrap(), None);
    assert!(views.store.pin("7", 9).unwrap().is_some(), "an existing pin must be renewable");
}

#[test]
fn tables_in_use_stay_and_forgotten_checkpoints_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut views = Views::start(folder.path(), 1);
    views.commit();
    let mut writer = Writer::new(&views.store, &NUMBERS, (1, 2), u64::MAX);
    writer.put(&99_u64.to_be_bytes(), &[]).unwrap();
    let live: Vec<_> = writer.finish().unwrap().ids().collect();
    views.store.collect(&live);
    assert_tidy(folder.path(), 1, 2);
    views.store.forget().unwrap();
    assert_tidy(folder.path(), 0, 2);
    views.store.collect(&[]);
    assert_tidy(folder.path(), 0, 0);
    drop(views);
    assert_eq!(Views::start(folder.path(), 1).position, 0);
    Store::open(&folder.path().join("none"), 0).forget().unwrap();
    assert!(!folder.path().join("none").exists());
}

#[test]
fn a_commit_that_fails_leaves_the_checkpoint_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut views = Views::start(folder.path(), 1);
    views.commit();
    let (checkpoints, aside) = (folder.path().join("checkpoints"), folder.path().join("aside"));
    fs::rename(&checkpoints, &aside).unwrap();
    fs::write(&checkpoints, "no folder").unwrap();
    let mut next = Checkpoint { position: 2, ..views.checkpoint() };
    assert!(views.store.commit(&mut next).is_err());
    fs::remove_file(&checkpoints).unwrap();
    fs::rename(&aside, &checkpoints).unwrap();
    drop(views);
    assert_starts(folder.path(), 1);
}
