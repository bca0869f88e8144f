use super::{files::EventFiles, *};
use motherlode_ledger::fields::timestamp;
use std::{fs, path::Path};

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

fn put_away(events: &mut Events, files: &mut EventFiles) {
    let (first, latest) = (events.away.count, events.latest.clone());
    let (away, reader) = files.append(first, &latest).unwrap();
    events.put_away(away, reader);
}

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
fn pl_22_events_in_files_and_in_memory_are_read_as_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let mut chance = Chance(7);
    let all = some(4_000, &mut chance);
    let (mut events, mut files) = (Events::default(), EventFiles::new(&folder.path().join("0.reports")));
    for (so_far, event) in all.iter().enumerate() {
        events.push(event.clone());
        if so_far % 700 == 699 {
            put_away(&mut events, &mut files);
        }
    }
    assert_eq!((events.count(), events.latest.len()), (all.len() as u64, all.len() % 700));
    let look = events.look();
    for own in [None, Some("acme"), Some("acme-2"), Some("nobody")] {
        for kinds in [vec![], vec![2], vec![54], vec![1, 54], vec![9]] {
            for before in [None, Some(0), Some(chance.below(all.len() as u64)), Some(all.len() as u64 - 1)] {
                let before = before.map(|number| order(&all[usize::try_from(number).unwrap()]));
                let wanted = Filter { own: own.map(str::to_owned), kinds: kinds.clone(), before };
                let found: Vec<_> = look.back(&wanted).map(|event| Arc::unwrap_or_clone(event.unwrap())).collect();
                assert_eq!(found, of_list(&all, &wanted), "{own:?} {kinds:?} {before:?}");
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
fn pl_22_however_many_events_there_are_memory_has_few() {
    let folder = tempfile::tempdir().unwrap();
    let (mut events, mut files) = (Events::default(), EventFiles::new(&folder.path().join("0.reports")));
    for position in 1..=20_000 {
        events.push(SignificantEvent { position, kind: 1, ..SignificantEvent::default() });
        if let Some((first, latest)) = events.to_put_away() {
            let (away, reader) = files.append(first, &latest).unwrap();
            events.put_away(away, reader);
        }
    }
    assert!(events.latest.len() < LATEST_MAX && events.latest.capacity() <= 2 * LATEST_MAX);
    let known = events.stretches.len() * size_of::<Stretch>();
    assert!(known * 10 < 20_000 * 4, "{known} bytes of 20,000 events: less than 0.4 each");
}

#[test]
fn pl_22_events_that_are_there_already_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("0.reports");
    let all = some(900, &mut Chance(3));
    let fold = |until: usize, away: &mut Events| all[..until].iter().for_each(|event| away.push(event.clone()));
    let mut before = Events::default();
    fold(700, &mut before);
    put_away(&mut before, &mut EventFiles::new(&kept));
    let (mut again, mut files) = (Events::default(), EventFiles::new(&kept));
    fold(500, &mut again);
    put_away(&mut again, &mut files);
    all[500..].iter().for_each(|event| again.push(event.clone()));
    put_away(&mut again, &mut files);
    let wanted = Filter { own: None, kinds: vec![], before: None };
    let look = again.look();
    let found: Vec<_> = look.back(&wanted).map(|event| Arc::unwrap_or_clone(event.unwrap())).collect();
    assert_eq!(found, of_list(&all, &wanted));
}

#[test]
fn pl_22_while_files_cannot_be_written_events_stay_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("0.reports");
    fs::write(kept.with_extension("events"), "no folder").unwrap();
    let (mut events, mut files) = (Events::default(), EventFiles::new(&kept));
    let mut tries = 0u64;
    for event in some(5 * LATEST_MAX, &mut Chance(5)) {
        events.push(event);
        if let Some((first, latest)) = events.to_put_away() {
            assert!(files.append(first, &latest).is_err());
            events.wait_for_more();
            tries += 1;
        }
    }
    assert_eq!(tries, events.count() / LATEST_MAX as u64, "one try per block of events");
    assert_eq!(events.latest.len() as u64, events.count());
    assert!(files.delete().is_err());
    fs::remove_file(kept.with_extension("events")).unwrap();
    assert!(files.append(events.away.count, &events.latest).is_err());
    files.delete().unwrap();
    put_away(&mut events, &mut files);
    assert!(events.latest.is_empty() && !events.are_many());
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn pl_22_of_damaged_files_nothing_is_believed_and_a_start_makes_them_anew() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("0.reports");
    fs::write(&kept, "figures").unwrap();
    let (mut events, mut files) = (Events::default(), EventFiles::new(&kept));
    some(600, &mut Chance(11)).into_iter().for_each(|event| events.push(event));
    put_away(&mut events, &mut files);
    let segments = fs::read_dir(kept.with_extension("events")).unwrap().map(|entry| entry.unwrap().path());
    let segment = segments.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    flip(&segment, 5_000);
    let (look, all) = (events.look(), Filter { own: None, kinds: vec![], before: None });
    let error = look.back(&all).find_map(Result::err).expect("damage is reported");
    let told = error.to_string();
    assert!(told.contains(&segment.file_name().unwrap().to_string_lossy()[..]), "{told}");
    assert!(!kept.exists() && !files.are_sound(), "figures that need the damaged files are deleted");
    files.delete().unwrap();
    assert!(!kept.with_extension("events").exists());
}

#[test]
fn pl_22_figures_find_their_own_files_alone() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let paths = [&one, &other].map(|folder| folder.path().join("0.reports"));
    let of = |path: &Path, seed: u64, count: usize| {
        let mut events = Events::default();
        some(count, &mut Chance(seed)).into_iter().for_each(|event| events.push(event));
        put_away(&mut events, &mut EventFiles::new(path));
        events.away()
    };
    let (away, others) = (of(&paths[0], 1, 300), of(&paths[1], 2, 300));
    assert!(EventFiles::new(&paths[0]).reader(away).is_ok());
    assert!(EventFiles::new(&paths[0]).reader(others).is_err());
    assert!(EventFiles::new(&paths[1]).reader(away).is_err());
    let longer = Away { count: away.count + 1, ..away };
    assert!(EventFiles::new(&paths[0]).reader(longer).is_err());
    assert!(EventFiles::new(&one.path().join("none")).reader(away).is_err());
}
