use super::*;
use motherlode_ledger::fields::timestamp;
use std::{
    fs,
    path::{Path, PathBuf},
};

const OPERATORS: [&str; 5] = ["", "acme", "bolt", "platform", "acme-2"];

struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27) % end
    }
}

fn some(count: usize, chance: &mut Chance) -> Vec<SignificantEvent> {
    let (mut position, mut number, mut seconds) = (1, 0, 1_000);
    let mut next = || {
        match chance.below(3) {
            0 => number += 1,
            far => (position, number) = (position + far * far, 1),
        }
        seconds += i64::try_from(chance.below(8) / 7).unwrap();
        SignificantEvent {
            partition: 3,
            position,
            number: number.max(1),
            time: Some(timestamp(seconds * 1_000)),
            kind: if chance.below(400) == 0 { 54 } else { 1 + i32::try_from(chance.below(3)).unwrap() },
            operator_id: OPERATORS[if chance.below(300) == 0 { 4 } else { usize::try_from(chance.below(4)).unwrap() }]
                .into(),
            subject: format!("round {position}"),
            ..SignificantEvent::default()
        }
    };
    let mut all: Vec<_> = (0..count).map(|_| next()).collect();
    all.dedup_by_key(|event| name(event));
    all
}

fn written(events: &mut Events, store: &Store) -> Result<(), ViewError> {
    let (first, latest, mut runs) = events.unwritten();
    let position = latest.last().map_or(0, |event| event.position);
    write(store, (first, &latest), position, &mut runs)?;
    assert!(events.take_written(first, latest.len(), runs));
    Ok(())
}

fn list(look: &Look, wanted: &Filter) -> Vec<SignificantEvent> {
    look.back(wanted).map(|event| Arc::unwrap_or_clone(event.unwrap())).collect()
}

const ALL: Filter = Filter { own: None, kinds: vec![], before: None };

fn of_list(all: &[SignificantEvent], wanted: &Filter) -> Vec<SignificantEvent> {
    let sees = |event: &SignificantEvent| match &wanted.own {
        Some(own) => [own.as_str(), ""].contains(&event.operator_id.as_str()),
        None => true,
    };
    let of_kind = |event: &SignificantEvent| wanted.kinds.is_empty() || wanted.kinds.contains(&event.kind);
    let before = |event: &SignificantEvent| wanted.before.is_none_or(|before| order(event) < before);
    all.iter().rev().filter(|event| sees(event) && of_kind(event) && before(event)).cloned().collect()
}

#[test]
fn pl_22_events_in_tables_and_in_memory_are_read_as_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let mut chance = Chance(7);
    let all = some(4_000, &mut chance);
    let (mut events, store) = (Events::default(), Store::open(folder.path(), 3));
    let mut latest = 0;
    for (so_far, event) in all.iter().enumerate() {
        events.push(event.clone());
        latest += 1;
        let is_last = all.get(so_far + 1).is_none_or(|next| next.position > event.position);
        if latest >= 300 && so_far < 3_500 && is_last {
            written(&mut events, &store).unwrap();
            latest = 0;
        }
    }
    assert_eq!((events.count(), events.latest.len()), (all.len() as u64, latest));
    assert!(events.runs.len() > 1 && events.runs.len() < 9, "some are merged: {}", events.runs.len());
    let look = events.look();
    for own in [None, Some("acme"), Some("acme-2"), Some("nobody")] {
        for kinds in [vec![], vec![2], vec![54], vec![1, 54], vec![9]] {
            for before in [None, Some(0), Some(chance.below(all.len() as u64)), Some(all.len() as u64 - 1)] {
                let before = before.map(|number| order(&all[usize::try_from(number).unwrap()]));
                let wanted = Filter { own: own.map(str::to_owned), kinds: kinds.clone(), before };
                assert_eq!(list(&look, &wanted), of_list(&all, &wanted), "{own:?} {kinds:?} {before:?}");
            }
        }
    }
    for event in &all {
        assert_eq!(look.named(name(event)).unwrap().as_deref(), Some(event));
        let near = usize::try_from(events.number_near(event.position)).unwrap();
        assert!(all[..near].iter().all(|earlier| earlier.position <= event.position), "no later event is skipped");
        assert!(all[near..].iter().filter(|other| other.position <= event.position).count() as u64 <= 2 * STRETCH);
    }
    let (_, position, number) = name(&all[9]);
    for none in [(0, position, number), (3, position, number + 99), (3, position + 1_000_000, 1), (3, 0, 1)] {
        assert!(look.named(none).unwrap().is_none(), "{none:?}");
    }
    let kinds: BTreeMap<_, _> = events.counts().collect();
    assert_eq!(kinds.values().sum::<u64>(), all.len() as u64);
    assert!(kinds.iter().all(|(kind, count)| all.iter().filter(|of| of.kind == *kind).count() as u64 == *count));
    let mut next = 0;
    while next < events.count() {
        let some: Vec<_> = match events.latest_from(next) {
            Some(latest) => latest.to_vec(),
            None => look.from(next).unwrap(),
        };
        let begin = usize::try_from(next).unwrap();
        assert!(!some.is_empty() && some.iter().map(|of| &**of).eq(&all[begin..begin + some.len()]));
        next += some.len() as u64;
    }
}

#[test]
fn pl_22_stretches_of_many_events_take_little_memory() {
    let mut events = Events::default();
    for position in 1..=20_000 {
        events.push(SignificantEvent { position, kind: 1, ..SignificantEvent::default() });
        assert_eq!(events.are_many(), position >= 8_192);
    }
    let known = events.stretches.len() * size_of::<Stretch>();
    assert!(known * 10 < 20_000 * 4, "{known} bytes of 20,000 events: less than 0.4 each");
}

#[test]
fn pl_22_while_tables_cannot_be_written_events_stay_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (place, all) = (folder.path().join("views"), some(900, &mut Chance(5)));
    fs::write(&place, "no folder").unwrap();
    let (mut events, store) = (Events::default(), Store::open(&place, 3));
    all.iter().for_each(|event| events.push(event.clone()));
    assert!(written(&mut events, &store).is_err());
    assert_eq!(events.latest.len() as u64, events.count());
    fs::remove_file(&place).unwrap();
    written(&mut events, &store).unwrap();
    assert!(events.latest.is_empty());
    assert_eq!(list(&events.look(), &ALL), of_list(&all, &ALL));
}

fn tables(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder.join("tables")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn pl_22_of_damaged_tables_no_event_is_returned() {
    let folder = tempfile::tempdir().unwrap();
    let (mut events, store) = (Events::default(), Store::open(folder.path(), 3));
    let all = some(600, &mut Chance(11));
    all.iter().for_each(|event| events.push(event.clone()));
    written(&mut events, &store).unwrap();
    let [table] = &tables(folder.path())[..] else { panic!("not one table") };
    let whole = fs::read(table).unwrap();
    for at in (0..whole.len()).step_by(997) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(table, bytes).unwrap();
        let look = events.look();
        let found: Result<Vec<_>, _> = look.back(&ALL).collect();
        match found {
            Ok(found) => {
                assert_eq!(found.into_iter().map(Arc::unwrap_or_clone).collect::<Vec<_>>(), of_list(&all, &ALL))
            }
            Err(error) => assert!(error.to_string().contains("damaged") && events.are_damaged(), "{error}"),
        }
    }
    assert!(events.are_damaged());
}

#[test]
fn pl_22_events_find_the_tables_of_their_number_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 3);
    let of = |seed: u64, count: usize| {
        let mut events = Events::default();
        some(count, &mut Chance(seed)).into_iter().for_each(|event| events.push(event));
        written(&mut events, &store).unwrap();
        (postcard::to_allocvec(&events).unwrap(), events.runs)
    };
    let ((bytes, runs), (_, others)) = (of(1, 300), of(2, 400));
    let again = || postcard::from_bytes::<Events>(&bytes).unwrap();
    assert!(again().with(runs).is_some());
    assert!(again().with(others).is_none());
    assert!(again().with(vec![]).is_none());
}
