//! Figures read from a checkpoint equal figures computed from the log, at any position.

use super::*;
use crate::{events::Filter, follower::Follower};
use motherlode_ledger::{Options, Proposal};
use motherlode_log::SegmentStore;
use motherlode_proto::convert::record::Logged;
use motherlode_proto::report::v1::SignificantEvent;
use motherlode_state::{Bet, Currency, Event, FxRate, RoundKey, StreamId};
use motherlode_testkit::{digests, logs, shape::Shape};
use prost::Message;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn bets(log: &[Logged]) -> BTreeMap<RoundKey, Bet> {
    let of = |logged: &Logged| {
        let bets = logged.commit.events.iter().filter_map(|event| match event {
            Event::RoundStarted(started) => {
                Some(((logged.commit.stream.clone(), started.round), Bet::from_started(started)))
            }
            _ => None,
        });
        bets.collect::<Vec<_>>()
    };
    log.iter().flat_map(of).collect()
}

#[test]
fn pl_22_pl_23_pl_24_figures_that_were_kept_anywhere_go_on_to_those_of_the_whole_log() {
    let config = Report { large_win_eur: 1, ..Report::default() };
    for log in logs::all() {
        let log = log.commits();
        let bets = bets(&log);
        let mut whole = Figures::new(&config);
        log.iter().for_each(|logged| whole.take(logged, &bets).unwrap());
        let expected = postcard::to_allocvec(&whole).unwrap();
        let mut so_far = Figures::new(&config);
        for kept in (0..=log.len()).step_by(log.len() / 12 + 1).chain([log.len()]) {
            so_far = Figures::new(&config);
            log[..kept].iter().for_each(|logged| so_far.take(logged, &bets).unwrap());
            let bytes = postcard::to_allocvec(&so_far).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let (store, mut runs) = (Store::open(folder.path(), 0), vec![]);
            let (first, latest, _) = so_far.significant.events.unwritten();
            write(&store, (first, &latest), kept as u64, &mut runs).unwrap();
            let mut again = postcard::from_bytes::<Figures>(&bytes).unwrap().with(&config, runs).unwrap();
            log[kept..].iter().for_each(|logged| again.take(logged, &bets).unwrap());
            assert_eq!(postcard::to_allocvec(&again).unwrap(), expected, "kept at {kept} of {}", log.len());
            assert_eq!(all_events(&again), all_events(&whole));
            assert_eq!(again.significant.counts(), whole.significant.counts());
            assert_eq!((again.returns.rounds(), again.open_rounds()), (whole.returns.rounds(), whole.open_rounds()));
        }
        assert!(so_far.significant.events.count() > 0 || so_far.open_rounds() > 0, "there is something to keep");
    }
}

fn all_events(figures: &Figures) -> Vec<Vec<u8>> {
    let all = Filter { own: None, kinds: vec![], before: None };
    figures.significant.events.look().back(&all).map(|event| event.unwrap().encode_to_vec()).collect()
}

fn fold(log: &[Logged], mut each: impl FnMut(&Figures)) {
    let bets = bets(log);
    let mut figures = Figures::new(&Report { large_win_eur: 1, ..Report::default() });
    for logged in log {
        figures.take(logged, &bets).unwrap();
        each(&figures);
    }
}

fn digest_of(log: &[Logged]) -> String {
    let mut all = vec![];
    fold(log, |figures| {
        all.extend(postcard::to_allocvec(figures).unwrap());
        all.extend(all_events(figures).concat());
    });
    digests::digest(&all)
}

#[test]
fn state_version_figures_are_those_of_their_version() {
    let all = logs::all().into_iter().map(|log| (log.name.clone(), digest_of(&log.commits()))).collect();
    digests::check("figures.digests", "FIGURES_VERSION", FIGURES_VERSION, &all);
}

#[test]
fn state_version_every_field_of_the_figures_has_a_value_in_some_log() {
    let mut shape = Shape::default();
    logs::all().iter().for_each(|log| fold(&log.commits(), |figures| shape.note(figures)));
    assert_eq!(shape.empty(), [] as [&str; 0], "add a log with a value of them to tests/kit/src/logs");
}

#[test]
fn state_version_other_figures_have_another_digest() {
    for log in logs::all() {
        let commits = log.commits();
        assert_ne!(digest_of(&commits), digest_of(&commits[..commits.len() - 1]), "{}", log.name);
    }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn views(&self) -> PathBuf {
        self.0.path().join("0.views")
    }

    fn set_views(&self, others: &Path) {
        let _ = fs::remove_dir_all(self.views());
        copy(others, &self.views());
    }

    fn tables(&self, keyspace: &str) -> Vec<PathBuf> {
        let (_, newest) = Store::read_only(&self.views(), 0).checkpoints().into_iter().next().unwrap();
        let of = newest.keyspaces.iter().find(|of| of.keyspace == keyspace).unwrap();
        let hex = |id: &[u8; 32]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        of.runs.iter().flat_map(|run| &run.tables).map(|id| self.views().join("tables").join(hex(id))).collect()
    }

    fn ledger(&self) -> Handle {
        let store = SegmentStore::open(&self.0.path().join("log"), 0, motherlode_log::Options::default()).unwrap();
        motherlode_ledger::open(Box::new(store), &self.0.path().join("0"), Options::default()).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => _ = fs::copy(entry.path(), to.join(entry.file_name())).unwrap(),
        }
    }
}

async fn set_rates(ledger: &Handle, rates: std::ops::Range<u32>) {
    for rate in rates {
        let rate = Event::RateSet {
            currency: Currency::USD,
            rate: format!("0.{rate}").parse::<FxRate>().unwrap(),
            source: "test".into(),
        };
        let proposal = Proposal {
            stream: StreamId::Rates,
            expected_version: None,
            request_id: format!("{rate:?}").into(),
            fingerprint: [1; 16],
            events: vec![rate],
        };
        ledger.append(proposal).await.unwrap();
    }
}

async fn shown(ledger: &Handle, config: &Report) -> (u64, Vec<String>) {
    let follower = Follower::new(ledger.clone(), config);
    let began = follower.counts().positions[0];
    let running = tokio::spawn(follower.clone().run());
    let event = |event: &SignificantEvent| format!("{} to {}", event.before, event.after);
    let all = Filter { own: None, kinds: vec![], before: None };
    let events = loop {
        let look = follower.read(|figures| figures[0].significant.events.look()).await.unwrap().0;
        let found: Result<Vec<_>, _> = look.back(&all).map(|of| of.map(|of| event(&of))).collect();
        match found {
            Ok(found) => break found.into_iter().rev().collect(),
            Err(error) => assert!(error.to_string().contains("is damaged"), "{error}"),
        }
    };
    running.abort();
    let _ = running.await;
    (began, events)
}

async fn started(folder: &Folder, config: &Report) -> (u64, Vec<String>) {
    let ledger = folder.ledger();
    let found = shown(&ledger, config).await;
    ledger.close().await;
    found
}

#[tokio::test]
async fn pl_22_a_start_goes_on_from_the_checkpoint_of_this_very_log_and_begins_anew_without() {
    let (folder, config) = (Folder::new(), Report::default());
    let ledger = folder.ledger();
    set_rates(&ledger, 11..21).await;
    let (began, events) = shown(&ledger, &config).await;
    assert_eq!((began, events.len()), (0, 10));
    ledger.close().await;

    let crashed = Folder::new();
    let ledger = folder.ledger();
    set_rates(&ledger, 31..34).await;
    copy(folder.0.path(), crashed.0.path());
    for (began, after) in [shown(&ledger, &config).await, started(&crashed, &config).await] {
        assert_eq!((began, &after[..10]), (10, &events[..]));
        assert_eq!(after[10..], ["0.2 to 0.31", "0.31 to 0.32", "0.32 to 0.33"]);
    }
    ledger.close().await;
    let whole = started(&folder, &config).await;
    assert_eq!(whole.0, 13);

    let stricter = Report { large_win_eur: 2, ..Report::default() };
    assert_eq!(started(&folder, &stricter).await, (0, whole.1.clone()), "of other thresholds");
    assert_eq!(started(&folder, &config).await, (0, whole.1.clone()), "the others' replaced them");
    assert_eq!(started(&folder, &config).await, whole);
    let other = Folder::new();
    let another = other.ledger();
    set_rates(&another, 41..54).await;
    another.close().await;
    other.set_views(&folder.views());
    assert_eq!(started(&other, &config).await.0, 0, "of another log");
}

#[tokio::test]
async fn pl_22_damaged_tables_of_reports_are_rebuilt_from_the_log_alone() {
    let (folder, config) = (Folder::new(), Report::default());
    let ledger = folder.ledger();
    set_rates(&ledger, 11..51).await;
    let (_, events) = shown(&ledger, &config).await;
    ledger.close().await;
    let saved = Folder::new();
    copy(&folder.views(), &saved.views());
    for keyspace in ["figures", "events"] {
        let [table] = &folder.tables(keyspace)[..] else { panic!("not one table of {keyspace}") };
        let bytes = fs::read(table).unwrap();
        let mut others: Vec<_> = (0..bytes.len()).step_by(bytes.len() / 12).map(|at| (at, 1)).collect();
        others.push((bytes.len() - 1, 0));
        for (at, flipped) in others {
            folder.set_views(&saved.views());
            let mut damaged = bytes.clone();
            damaged[at] ^= flipped;
            damaged.truncate(if flipped == 0 { at } else { bytes.len() });
            fs::write(table, damaged).unwrap();
            let (began, found) = started(&folder, &config).await;
            let is_late = keyspace == "events" && began == 40;
            assert!(found == events && (is_late || began == 0), "byte {at} of {keyspace}: {began} {found:?}");
            assert_eq!(started(&folder, &config).await, (40, events.clone()), "byte {at} of {keyspace}");
        }
    }
    folder.set_views(&saved.views());
    folder.tables("events").iter().for_each(|table| fs::remove_file(table).unwrap());
    assert_eq!(started(&folder, &config).await, (0, events.clone()));
    assert_eq!(started(&folder, &config).await, (40, events));
}

#[tokio::test]
async fn pl_22_many_events_are_written_before_others_are_folded() {
    let (folder, config) = (Folder::new(), Report::default());
    let ledger = folder.ledger();
    let view = ReportView::open(&ledger, &config);
    let push = |position| {
        let event = SignificantEvent { position, kind: 1, ..SignificantEvent::default() };
        view.figures.write().significant.events.push(event);
        view.position.send_replace(position);
    };
    (1..8_192).for_each(push);
    assert_eq!(view.unwritten(), 8_191);
    push(8_192);
    assert_eq!(view.unwritten(), u64::MAX);
    let store = Store::open(&folder.0.path().join("other"), 0);
    let tables = view.write(&store).unwrap();
    assert_eq!(
        tables.iter().map(|of| (&*of.keyspace, of.runs.len())).collect::<Vec<_>>(),
        [("figures", 1), ("events", 1)]
    );
    assert!(tables.iter().flat_map(|of| &of.runs).all(|run| run.to == 8_192));
    assert_eq!((view.unwritten(), view.figures.read().significant.events.unwritten().1.len()), (0, 0));
    assert_eq!(all_events(&view.figures.read()).len(), 8_192);
    push(8_193);
    assert_eq!((view.unwritten(), all_events(&view.figures.read()).len()), (1, 8_193));
    ledger.close().await;
}
