//! Stored figures equal folded figures at any position; files of other logs are not used.

use super::*;
use crate::{events::Filter, follower::Follower};
use motherlode_ledger::{Options, Proposal};
use motherlode_log::SegmentStore;
use motherlode_proto::convert::record::Logged;
use motherlode_state::{Bet, Currency, Event, FxRate, RoundKey, StreamId};
use motherlode_testkit::{digests, logs, shape::Shape};
use std::{collections::BTreeMap, path::PathBuf};

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
            let mut again = postcard::from_bytes::<Figures>(&bytes).unwrap().with(&config);
            log[kept..].iter().for_each(|logged| again.take(logged, &bets).unwrap());
            assert_eq!(postcard::to_allocvec(&again).unwrap(), expected, "kept at {kept} of {}", log.len());
            assert_eq!(again.significant.counts(), whole.significant.counts());
            assert_eq!((again.returns.rounds(), again.open_rounds()), (whole.returns.rounds(), whole.open_rounds()));
        }
        assert!(so_far.significant.events.count() > 0 || so_far.open_rounds() > 0, "the figures are not empty");
    }
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
    fold(log, |figures| all.extend(postcard::to_allocvec(figures).unwrap()));
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
    let empty: Vec<_> =
        shape.empty().into_iter().filter(|field| !["Away.count", "Away.head", "Events.away"].contains(field)).collect();
    assert_eq!(empty, [] as [&str; 0], "add a log with a value of them to tests/kit/src/logs");
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

    fn file(&self) -> PathBuf {
        self.0.path().join("0.reports")
    }

    fn ledger(&self) -> Handle {
        let store = SegmentStore::open(&self.0.path().join("log"), 0, motherlode_log::Options::default()).unwrap();
        motherlode_ledger::open(Box::new(store), &self.0.path().join("0"), Options::default()).unwrap()
    }

    fn follower(&self, ledger: &Handle, config: &Report) -> Follower {
        Follower::new(ledger.clone(), config, |_| self.file())
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

async fn shown(folder: &Folder, ledger: &Handle, config: &Report) -> (u64, Vec<String>) {
    let follower = folder.follower(ledger, config);
    let began = follower.counts().positions[0];
    let running = tokio::spawn(follower.clone().run());
    let event = |event: &motherlode_proto::report::v1::SignificantEvent| format!("{} to {}", event.before, event.after);
    let look = follower.read(|figures| figures[0].significant.events.look()).await.unwrap().0;
    running.abort();
    let _ = running.await;
    follower.end().await;
    let all = Filter { own: None, kinds: vec![], before: None };
    let mut events: Vec<_> = look.back(&all).map(|of| event(&of.unwrap())).collect();
    events.reverse();
    (began, events)
}

#[tokio::test]
async fn pl_22_a_start_goes_on_from_what_was_kept_of_this_very_log_and_begins_anew_without() {
    let (folder, config) = (Folder::new(), Report::default());
    let ledger = folder.ledger();
    set_rates(&ledger, 11..21).await;
    let (began, events) = shown(&folder, &ledger, &config).await;
    assert_eq!((began, events.len()), (0, 10));
    let follower = folder.follower(&ledger, &config);
    let running = tokio::spawn(follower.clone().run());
    follower.read(|_| ()).await.unwrap();
    follower.keep_now();
    running.abort();
    set_rates(&ledger, 31..34).await;
    let (began, after) = shown(&folder, &ledger, &config).await;
    assert_eq!((began, &after[..10]), (10, &events[..]));
    assert_eq!(after[10..], ["0.2 to 0.31", "0.31 to 0.32", "0.32 to 0.33"]);

    let kept = fs::read(folder.file()).unwrap();
    let mut others = vec![vec![], kept[..kept.len() - 1].to_vec(), [&kept[..], b"x"].concat()];
    others.extend((0..kept.len()).step_by(29).map(|at| {
        let mut bytes = kept.clone();
        bytes[at] ^= 1;
        bytes
    }));
    for damaged in others {
        fs::write(folder.file(), damaged).unwrap();
        assert_eq!(shown(&folder, &ledger, &config).await, (0, after.clone()));
    }
    fs::write(folder.file(), &kept).unwrap();
    let stricter = Report { large_win_eur: 2, ..Report::default() };
    assert_eq!(shown(&folder, &ledger, &stricter).await.0, 0, "figures with other thresholds are not used");
    let other = Folder::new();
    let another = other.ledger();
    set_rates(&another, 41..54).await;
    fs::write(other.file(), &kept).unwrap();
    assert_eq!(shown(&other, &another, &config).await.0, 0, "figures of another log are not used");
    ledger.close().await;
    another.close().await;
}

#[tokio::test]
async fn pl_22_a_start_finds_the_events_that_were_put_away_or_makes_them_anew() {
    let (folder, config) = (Folder::new(), Report::default());
    let ledger = folder.ledger();
    for rates in (1_000..4_000).step_by(500) {
        futures_util::future::join_all((rates..rates + 500).map(|rate| set_rates(&ledger, rate..rate + 1))).await;
    }
    let follower = folder.follower(&ledger, &config);
    let running = tokio::spawn(follower.clone().run());
    let (away, all) = follower
        .read(|figures| {
            let events = &figures[0].significant.events;
            (events.away().count, events.count())
        })
        .await
        .unwrap()
        .0;
    assert!(all == 3_000 && away > 1_000, "{away} of {all} are in files");
    follower.keep_now();
    running.abort();
    let _ = running.await;
    follower.end().await;
    let (began, events) = shown(&folder, &ledger, &config).await;
    assert_eq!((began, events.len()), (3_000, 3_000));
    let files = folder.0.path().join("0.events");
    let anew = |(began, found): (u64, Vec<String>)| assert!(began == 0 && found == events, "{began}");

    fs::remove_dir_all(&files).unwrap();
    anew(shown(&folder, &ledger, &config).await);
    assert!(files.exists() && !folder.file().exists(), "figures without their event files are deleted");
    let stricter = Report { large_win_eur: 2, ..Report::default() };
    anew(shown(&folder, &ledger, &stricter).await);
    anew(shown(&folder, &ledger, &config).await);
    ledger.close().await;
}
