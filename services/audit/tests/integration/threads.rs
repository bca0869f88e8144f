//! However many threads there are, an audit says the same.

use crate::common::{Tale, chained, change_outcome, options, step, store};
use motherlode_audit::{Options, Report, audit};
use motherlode_books::{Event, Minor};
use motherlode_proto::convert::record::Logged;
use std::path::Path;

fn with(folder: &Path, threads: usize) -> Report {
    audit(&Options { threads, ..options(folder) }).unwrap()
}

/// A report but for what moves on behind a divergence.
fn told(report: &Report) -> String {
    match &report.divergence {
        Some(found) => format!("{found}"),
        None => format!(
            "{} {:?} {:?} {:?} {:?} {:?} {:?}",
            report.position, report.head, report.books, report.returns, report.awards, report.voids, report.seals
        ),
    }
}

#[test]
fn pl_06_an_audit_says_the_same_with_any_number_of_threads() {
    let mut tale = Tale::sealed(&["alice", "bob", "carol", "dave", "erin"]);
    for round in 0..60 {
        tale.plain_spin(["alice", "bob", "carol", "dave", "erin"][round * 3 % 5]);
    }
    tale.tend();
    let mut logs = vec![tale.log, Tale::of_everything_sealed().log, Tale::of_everything().log];
    // Faults of every stage, alone and together: the lowest position is told, and at one position the books' verdict.
    let sound = logs[0].clone();
    let resolved = |logged: &Logged| logged.commit.events.iter().any(|event| matches!(event, Event::StepResolved(_)));
    let steps: Vec<_> = (0..sound.len()).filter(|at| resolved(&sound[*at])).collect();
    for pair in steps.windows(2).step_by(3) {
        for (outcome, balance) in [(pair[0], pair[1]), (pair[1], pair[0]), (pair[0], pair[0])] {
            let mut log = sound.clone();
            change_outcome(step(&mut log[outcome]), |outcome| outcome.round_win_coins += 1);
            log[balance].balances_after[0].1 = Minor(7);
            logs.push(log);
        }
    }
    let mut faults = 0;
    for log in &logs {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), &chained(log));
        let one = with(folder.path(), 1);
        faults += usize::from(one.divergence.is_some());
        for threads in [2, 3, 8, 0] {
            assert_eq!(told(&with(folder.path(), threads)), told(&one), "{threads} threads");
        }
    }
    assert_eq!(faults, logs.len() - 3);
}
