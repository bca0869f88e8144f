use motherlode_views::{
    Cursor, Keyspace, KeyspaceTables, Run, RunTables, Store, ViewError, Writer, filter_hash, merge, mergeable,
};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    ops::ControlFlow,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

const PACKED: Keyspace = Keyspace { name: "packed", version: 3, widths: Some((4, 2)), filtered: 3 };
const LENGTHS: Keyspace = Keyspace { name: "lengths", version: 1, widths: None, filtered: u16::MAX };
const PLAIN: Keyspace = Keyspace { name: "plain", version: 1, widths: None, filtered: 0 };

type Entry = (Vec<u8>, Vec<u8>);
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn write(store: &Store, keyspace: &'static Keyspace, range: (u64, u64), entries: &Entries) -> Run {
    let mut writer = Writer::new(store, keyspace, range, u64::MAX).with_table_bytes(20_000);
    entries.iter().for_each(|(key, value)| writer.put(key, value).unwrap());
    writer.finish().unwrap()
}

fn opened(store: &Store, run: &Run) -> Result<Run, ViewError> {
    let keyspace = run.tables()[0].keyspace();
    store.run(&named(run), keyspace, u64::MAX)
}

fn named(run: &Run) -> RunTables {
    KeyspaceTables::new(run.tables()[0].keyspace(), std::slice::from_ref(run)).runs.remove(0)
}

fn all(cursor: Cursor) -> Result<Vec<Entry>, ViewError> {
    let (mut cursor, mut found) = (cursor, vec![]);
    while cursor.advance()? {
        found.push((cursor.key().to_vec(), cursor.value().to_vec()));
    }
    Ok(found)
}

fn find(run: &Run, prefix: &[u8]) -> Result<Entries, ViewError> {
    let mut found = Entries::new();
    let keyspace = run.tables()[0].keyspace();
    let filtered = keyspace.filtered(prefix).filter(|_| keyspace.filtered < u16::MAX);
    if filtered.is_none_or(|filtered| run.may_contain(prefix, filter_hash(filtered))) {
        run.find(prefix, |key, value| {
            assert_eq!(found.insert(key.to_vec(), value.to_vec()), None, "each key must be passed once")
        })?;
    }
    Ok(found)
}

fn expected(entries: &Entries, prefix: &[u8]) -> Entries {
    let with = entries.iter().filter(|(key, _)| key.starts_with(prefix));
    with.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn table_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder.join("tables")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn packed(numbers: impl IntoIterator<Item = u32>) -> Entries {
    let value = |number: u32| u16::try_from(number % 60_000).unwrap().to_le_bytes().to_vec();
    numbers.into_iter().map(|number| (number.wrapping_mul(0x9E37_79B9).to_be_bytes().to_vec(), value(number))).collect()
}

fn of_kind(keyspace: &'static Keyspace) -> impl Strategy<Value = Entries> {
    let entry = match keyspace.widths {
        Some((key, value)) => {
            let bytes = |width: u16| prop::collection::vec(0_u8..4, usize::from(width));
            (bytes(key), bytes(value)).boxed()
        }
        None => {
            let value = prop_oneof![9 => 0_usize..300, 1 => 8_000_usize..9_000].prop_map(|length| vec![7; length]);
            (prop::collection::vec(0_u8..4, 0..7), value).boxed()
        }
    };
    prop::collection::vec(entry, 0..200).prop_map(|entries| entries.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn tables_answer_as_a_map_does(
        parts in prop_oneof![Just(&PACKED), Just(&LENGTHS), Just(&PLAIN)]
            .prop_flat_map(|keyspace| (Just(keyspace), prop::collection::vec(of_kind(keyspace), 1..5))),
        prefix in prop::collection::vec(0_u8..4, 0..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, parts) = parts;
        let store = Store::open(folder.path(), 2);
        let (mut runs, mut map) = (vec![], Entries::new());
        for (number, part) in (0..).zip(&parts) {
            let written = write(&store, keyspace, (number, number + 1), part);
            runs.push(opened(&store, &written).unwrap());
            map.extend(part.clone());
        }
        for (run, part) in runs.iter().zip(&parts) {
            prop_assert_eq!(all(run.cursor()).unwrap(), part.clone().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(find(run, &prefix).unwrap(), expected(part, &prefix));
            prop_assert_eq!(find(&run.without_filters(), &prefix).unwrap(), expected(part, &prefix));
            for key in part.keys() {
                prop_assert_eq!(run.get(key).unwrap(), part.get(key).cloned());
                prop_assert_eq!(find(run, key).unwrap().get(key).cloned(), part.get(key).cloned());
            }
            prop_assert_eq!(run.get(&prefix).unwrap(), part.get(&prefix).cloned());
            let from = all(Cursor::seek(run.tables().to_vec(), &prefix).unwrap()).unwrap();
            prop_assert_eq!(from, part.range(prefix.clone()..).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>());
        }
        let mut merged = Entries::new();
        merge(runs.iter().map(Run::cursor).collect(), |key, value| {
            assert!(merged.last_key_value().is_none_or(|(last, _)| &last[..] < key));
            merged.insert(key.to_vec(), value.to_vec());
            Ok::<_, ViewError>(ControlFlow::Continue(()))
        }).unwrap();
        prop_assert_eq!(&merged, &map);
        let run = Writer::merge(&store, keyspace, &runs, u64::MAX).unwrap();
        prop_assert_eq!((run.from(), run.to()), (0, parts.len() as u64));
        prop_assert_eq!(all(run.cursor()).unwrap(), map.into_iter().collect::<Vec<_>>());
        store.stop();
        prop_assert!(matches!(Writer::merge(&store, keyspace, &runs, u64::MAX), Err(ViewError::Stopped)) || merged.is_empty());
    }
}

#[test]
fn a_long_run_is_several_tables_and_a_run_without_entries_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0);
    let entries = packed(0..12_000);
    let run = write(&store, &PACKED, (0, 12_000), &entries);
    assert_eq!(
        (run.tables().len(), table_files(folder.path()).len()),
        (3, 3),
        "72 KB must be split into tables of 20 KB and one block"
    );
    assert_eq!((run.from(), run.to(), run.tables().iter().map(|table| table.entries()).sum()), (0, 12_000, 12_000));
    for key in entries.keys() {
        assert_eq!(find(&run, key).unwrap(), expected(&entries, key));
    }
    let empty = write(&store, &PACKED, (3, 9), &Entries::new());
    assert_eq!((empty.from(), empty.to(), all(empty.cursor()).unwrap().len()), (3, 9, 0));
    assert_eq!(find(&empty, b"abcd").unwrap(), Entries::new());
}

#[test]
fn what_cannot_be_written_is_an_error_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0);
    for (key, value) in [(&b"abcd"[..], &b"xy"[..]), (b"abcc", b"xy"), (b"abcde", b"xy"), (b"abce", b"x")] {
        let mut writer = Writer::new(&store, &PACKED, (0, 1), u64::MAX);
        writer.put(b"abcd", b"xy").unwrap();
        assert!(matches!(writer.put(key, value), Err(ViewError::Entry { keyspace: "packed", .. })));
    }
    let mut writer = Writer::new(&store, &LENGTHS, (0, 1), u64::MAX);
    assert!(writer.put(&[7; 70_000], b"").is_err());
    drop(writer);
    assert_eq!(table_files(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn runs_are_merged_once_there_are_more_than_three_of_a_size() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0);
    let run = |number: u64, bytes: usize| {
        let entries =
            (0..bytes / 1_000_000).map(|key| (vec![u8::try_from(key).unwrap()], vec![0; 1_000_000])).collect();
        write(&store, &PLAIN, (number, number + 1), &entries)
    };
    let all = |sizes: &[usize]| sizes.iter().zip(0..).map(|(size, number)| run(number, *size)).collect::<Vec<_>>();
    assert_eq!(mergeable(&all(&[9_000_000, 1_000_000, 0, 0])), None, "three small runs must not be merged");
    let mut runs = all(&[9_000_000, 1_000_000, 0, 0, 2_000_000]);
    assert_eq!(mergeable(&runs), Some(1..5));
    runs[4] = run(5, 0);
    assert_eq!(mergeable(&runs), None, "position 5 is missing");
    assert_eq!(mergeable(&all(&[5_000_000, 6_000_000, 9_000_000, 8_000_000])), Some(0..4));
    let mut runs = all(&[5_000_000, 6_000_000, 9_000_000, 8_000_000, 1_000_000, 1_000_000]);
    assert_eq!(mergeable(&runs), None, "runs before the gap must not be merged");
    runs.push(run(6, 0));
    assert_eq!(mergeable(&runs), Some(0..7), "at most three runs per level may remain");
    assert_eq!(mergeable(&all(&[0; 20])), Some(0..16));
}

/// If this test fails because the format changed, MAGIC must change, too; otherwise older tables are reported as
/// damaged.
#[test]
fn the_bytes_of_a_table_are_those_of_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 2);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/golden");
    let lengths = [("", "none"), ("alice", ""), ("bob", "12 EUR")].map(|(key, value)| (key.into(), value.into()));
    for (keyspace, entries) in [(&PACKED, packed(0..5)), (&LENGTHS, lengths.into())] {
        let run = write(&store, keyspace, (10, 15), &entries);
        let file = table_files(folder.path())
            .into_iter()
            .find(|file| fs::read(file).unwrap().len() as u64 == run.file_bytes());
        let golden = golden.join(keyspace.name).with_extension("table");
        if std::env::var_os("MOTHERLODE_WRITE_DIGESTS").is_some() {
            fs::copy(file.as_ref().unwrap(), &golden).unwrap();
        }
        assert_eq!(fs::read(file.unwrap()).unwrap(), fs::read(golden).unwrap(), "{}", keyspace.name);
    }
}

/// If one byte of a table is flipped, the table must be refused, or each block read from it must be unchanged or refused.
#[test]
fn no_flipped_byte_makes_a_wrong_value() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0);
    let longer: Entries = (0..40_u32).map(|number| (number.to_be_bytes().to_vec(), vec![9; 300])).collect();
    for (keyspace, entries) in [(&PACKED, packed(0..1_500)), (&LENGTHS, longer)] {
        let named = named(&write(&store, keyspace, (0, 1_500), &entries));
        let path = table_files(folder.path()).pop().unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let sound = fs::read(&path).unwrap();
        let (mut opened, mut refused) = (0, 0);
        for (byte, was) in sound.iter().enumerate() {
            file.write_all_at(&[was ^ (1 << (byte % 8))], byte as u64).unwrap();
            match store.run(&named, keyspace, u64::MAX) {
                Err(error) => {
                    assert!(error.is_damage(), "byte {byte}: {error}");
                    refused += 1;
                }
                Ok(run) => {
                    let (mut cursor, mut right) = (run.cursor(), entries.iter());
                    let error = loop {
                        match cursor.advance() {
                            Ok(true) => assert_eq!(
                                (cursor.key(), cursor.value()),
                                right.next().map(|(key, value)| (&key[..], &value[..])).unwrap()
                            ),
                            Ok(false) => break None,
                            Err(error) => break Some(error),
                        }
                    };
                    assert!(
                        error.is_some_and(|error| error.is_damage()) && run.is_damaged(),
                        "byte {byte} is in a block"
                    );
                    opened += 1;
                }
            }
            file.write_all_at(&[*was], byte as u64).unwrap();
        }
        assert!(opened > 8_192 && refused > 256, "{opened} and {refused}");
        for length in [0, 1, 255, 256, sound.len() / 2, sound.len() - 1] {
            fs::write(&path, &sound[..length]).unwrap();
            assert!(store.run(&named, keyspace, u64::MAX).is_err(), "{length} bytes");
        }
        fs::write(&path, [&sound[..], b"x"].concat()).unwrap();
        assert!(store.run(&named, keyspace, u64::MAX).is_err());
        fs::remove_file(&path).unwrap();
        assert!(matches!(store.run(&named, keyspace, u64::MAX), Err(ViewError::Io { .. })));
    }
}

#[test]
fn a_table_of_another_partition_keyspace_version_or_digest_is_not_read() {
    const NEXT: Keyspace = Keyspace { name: "packed", version: 4, widths: Some((4, 2)), filtered: 3 };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0);
    let one = named(&write(&store, &PACKED, (0, 5), &packed(0..5)));
    assert!(store.run(&one, &PACKED, u64::MAX).is_ok());
    assert!(Store::open(folder.path(), 1).run(&one, &PACKED, u64::MAX).is_err());
    assert!(store.run(&one, &NEXT, u64::MAX).is_err());
    assert!(store.run(&one, &LENGTHS, u64::MAX).is_err());
    let other = named(&write(&store, &PACKED, (0, 6), &packed(0..6)));
    let mixed = RunTables { tables: [&one.tables[..], &other.tables].concat(), ..one.clone() };
    assert!(store.run(&mixed, &PACKED, u64::MAX).is_err());
    assert!(store.run(&RunTables { to: 6, ..one.clone() }, &PACKED, u64::MAX).is_err());
    let files = table_files(folder.path());
    fs::copy(&files[0], &files[1]).unwrap();
    assert!(store.run(&one, &PACKED, u64::MAX).is_err() || store.run(&other, &PACKED, u64::MAX).is_err());
}

#[test]
fn a_filter_beyond_its_budget_is_not_loaded_and_entries_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0);
    let entries = packed(0..3_000);
    let one = named(&write(&store, &PACKED, (0, 3_000), &entries));
    let (with, without) = (store.run(&one, &PACKED, 4_512).unwrap(), store.run(&one, &PACKED, 4_511).unwrap());
    assert_eq!((with.filter_bytes(), without.filter_bytes()), (4_512, 0));
    assert!(without.memory() < 200 && with.memory() > 4_512, "{} and {}", without.memory(), with.memory());
    assert!(entries.keys().all(|key| find(&without, key).unwrap() == expected(&entries, key)));
}
