use crate::common::{Tale, audited, chained, options, player, segments, store};
use motherlode_audit::{Comparison, Unusable, audit};
use motherlode_log::{LogStart, Tail, hash};
use motherlode_state::{Currency, Event, Minor, SettledRound};
use motherlode_testkit::conformance::start_file;
use std::fs;

#[test]
fn pl_06_a_clean_log_replays_outcome_by_outcome_and_balance_by_balance() {
    let tale = Tale::of_everything();
    let records = chained(&tale.log);
    let report = audited(&tale.log);

    assert_eq!(report.divergence, None);
    assert_eq!(report.position, tale.log.len() as u64);
    assert_eq!(report.head, hash(records.last().unwrap()));
    assert_eq!(report.tail, Tail::Clean);
    assert!(report.books == tale.books, "the auditor's books equal the writer's books");
    assert_eq!(report.index, Comparison::NotCompared { why: "no index folder was given".into() });
}

#[test]
fn the_figures_are_counted_from_the_events() {
    let tale = Tale::of_everything();
    let report = audited(&tale.log);

    let events = || tale.log.iter().flat_map(|logged| &logged.commit.events);
    let [figures] = &report.returns[..] else { panic!("one game in one currency") };
    let sum = |amount: fn(&Event) -> i64| events().map(|event| i128::from(amount(event))).sum::<i128>();
    let bets = sum(|event| if let Event::RoundStarted(started) = event { started.bet.0 } else { 0 });
    let wins = sum(|event| if let Event::RoundSettled { win, .. } = event { win.0 } else { 0 });
    let awarded = sum(|event| if let Event::JackpotPaid { amount, .. } = event { amount.0 } else { 0 });
    let rounds = events().filter(|event| matches!(event, Event::RoundStarted(_))).count();
    let steps = events().filter(|event| matches!(event, Event::StepResolved(_))).count();
    assert_eq!((figures.bets, figures.wins, figures.awarded), (bets, wins, awarded));
    assert!(awarded > 0 && wins > 0);
    assert_eq!((figures.rounds, figures.steps), (rounds as u64, steps as u64));
    assert_eq!((figures.hits, figures.contributing), (1, rounds as u64));
    assert!(figures.spins >= figures.rounds + 5, "the free spins are counted too");
    assert_eq!(report.awards[crate::common::POOL].len(), 1);

    let voids = report.voids.get(Currency::EUR).copied().unwrap();
    assert_eq!((voids.rounds, voids.refunds, voids.wins_taken_back), (1, 150, 0));
    assert_eq!(report.books.player(&player("alice")).unwrap().open_rounds().count(), 1);
}

#[test]
fn pl_04_the_void_of_a_settled_round_is_checked_against_its_settlement() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.spin("alice", |outcome| outcome.round_win_coins > 0 && outcome.awaiting == Default::default());
    tale.plain_spin("alice");
    let recalled = SettledRound::recall(round, tale.log.iter().map(|logged| &logged.commit)).unwrap();
    let (reason, actor) = ("wrong paytable".into(), "support".into());
    let voided = Event::RoundVoided {
        round,
        reason,
        actor,
        refund: Minor(150),
        win_taken_back: recalled.win,
        jackpot: motherlode_state::VoidedJackpot::TakenBack,
        settled: None,
    };
    tale.write_recalling(player("alice"), vec![voided], Some(&recalled));
    tale.tend();

    let report = audited(&tale.log);
    assert_eq!(report.divergence, None);
    assert_eq!(report.voids.get(Currency::EUR).unwrap().wins_taken_back, i128::from(recalled.win.0));

    let at = tale.find(|event| matches!(event, Event::RoundVoided { .. }));
    let Event::RoundVoided { win_taken_back, .. } = &mut tale.log[at].commit.events[0] else { unreachable!() };
    win_taken_back.0 -= 1;
    assert_eq!(crate::common::divergence(&tale.log).position, at as u64 + 1);
}

#[test]
fn a_torn_tail_was_never_acknowledged_and_is_reported_as_that() {
    let tale = Tale::of_everything();
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(&tale.log));
    let last = segments(folder.path()).pop().unwrap();
    let mut bytes = fs::read(&last).unwrap();
    let header = bytes.windows(4).rposition(|window| window == b"BLCK").unwrap();
    bytes[header + 40..].fill(0);
    fs::write(&last, &bytes).unwrap();

    let report = audit(&options(folder.path())).unwrap();
    assert_eq!(report.divergence, None);
    assert!(report.position < tale.log.len() as u64);
    assert_eq!(report.tail, Tail::Torn { file: last, offset: header as u64, bytes: 40 });
}

#[test]
fn pl_30_an_audit_writes_nothing() {
    let tale = Tale::of_everything();
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(&tale.log));
    let picture = || -> Vec<_> {
        let mut files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
            .into_iter()
            .map(|path| (fs::metadata(&path).unwrap().modified().unwrap(), fs::read(&path).unwrap()))
            .collect()
    };
    let before = picture();
    assert_eq!(audit(&options(folder.path())).unwrap().divergence, None);
    assert!(picture() == before);
}

#[test]
fn no_folder_and_no_log_are_unusable() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert_eq!(audit(&options(&missing)).unwrap_err().to_string(), format!("{}: no such folder", missing.display()));
    let empty = audit(&options(folder.path())).unwrap_err();
    assert_eq!(empty.to_string(), format!("{}: no log there", folder.path().display()));
}

#[test]
fn pl_37_a_log_whose_first_records_are_archived_is_not_audited() {
    let folder = tempfile::tempdir().unwrap();
    let records = chained(&Tale::of_everything().log);
    store(folder.path(), &records);
    let segments = segments(folder.path());
    let first: u64 = segments[1].file_stem().unwrap().to_str().unwrap().parse().unwrap();
    fs::remove_file(&segments[0]).unwrap();
    let damaged = audit(&options(folder.path())).unwrap().divergence.unwrap();
    assert_eq!((damaged.position, damaged.what.as_str()), (1, "the log is damaged"));
    let start = LogStart { first, previous: hash(&records[usize::try_from(first).unwrap() - 2]) };
    let (name, mut bytes) = start_file(0, start);
    fs::write(folder.path().join(name), &bytes).unwrap();
    let refused = audit(&options(folder.path())).unwrap_err();
    assert!(matches!(refused, Unusable::Archived { first: named, .. } if named == first), "{refused}");
    bytes[50] ^= 1;
    fs::write(folder.path().join(name), &bytes).unwrap();
    assert!(matches!(audit(&options(folder.path())), Err(Unusable::Damaged(_))));
}
