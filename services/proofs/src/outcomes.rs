//! Records of a proof without the outcomes of their steps, which follow from the rest: a feature of many free spins makes a record of
//! kilobytes, and each window of it follows from the seed. Whoever verifies works them out by the game's rules, puts them in, and
//! hashes the whole, so nothing is believed for having been left out.

use motherlode_books::{Event, StepResolved};
use motherlode_log::Record;
use motherlode_proto::{
    convert::{Malformed, record::Logged, record::encode},
    log::v1::Commit,
};
use motherlode_rounds::{Fold, Live, RoundView, Unresolvable, view::StepView};
use motherlode_slots::{Outcome, Seed};
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};

/// Why what was left out can't be worked out.
#[derive(Debug, thiserror::Error)]
pub enum NotWorkedOut {
    /// A record is none of a round's.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A step can't be resolved.
    #[error(transparent)]
    Unresolvable(#[from] Unresolvable),
}

/// The rounds that begin in these records of one player.
fn rounds<'r>(records: impl Iterator<Item = &'r Logged> + Clone) -> Result<Vec<RoundView>, Malformed> {
    let begun = records.clone().flat_map(|logged| &logged.commit.events).filter_map(|event| match event {
        Event::RoundStarted(started) => Some(started.round),
        _ => None,
    });
    let told = begun.collect::<BTreeSet<_>>().into_iter().map(|number| {
        let mut fold = Fold::new(number);
        records.clone().try_for_each(|logged| fold.add(logged))?;
        Ok(fold.view())
    });
    told.filter_map(Result::transpose).collect()
}

/// The first steps of a round, as far as the draws are revealed.
fn drawn(round: &RoundView) -> impl Iterator<Item = (&StepView, Seed)> {
    round.steps.iter().map_while(|step| Some((step, step.seed?)))
}

fn steps(logged: &mut Logged) -> impl Iterator<Item = &mut StepResolved> {
    logged.commit.events.iter_mut().filter_map(|event| match event {
        Event::StepResolved(step) => Some(step),
        _ => None,
    })
}

/// Records of one player, in their order, without the outcomes that follow from them; `None` for one that is to be told whole.
///
/// # Errors
/// A record is no commit, or its round can't be read.
pub fn without_outcomes(records: &[&Record]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
    let decoded = |record: &&Record| motherlode_proto::convert::record::decode(&record.bytes);
    let mut logged = records.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
    let rounds = rounds(logged.iter())?;
    let known: BTreeSet<_> = rounds.iter().flat_map(|round| drawn(round).map(|(step, _)| key(&step.logged))).collect();
    let short = records.iter().zip(&mut logged).map(|(record, logged)| {
        // In older logs a record may be written in another way than it would be now.
        if !is_plain(&record.bytes, logged) {
            return None;
        }
        let previous = previous(&record.bytes)?;
        let left_out = steps(logged).filter(|step| known.contains(&key(step)) && !step.outcome.is_empty());
        (left_out.map(|step| step.outcome.clear()).count() > 0).then(|| encode(&previous, logged).to_vec())
    });
    Ok(short.collect())
}

/// Works the outcomes out that were left out of records of one player, in their order: of those that are said to lack theirs. All others
/// stay as they are, and so does an outcome that a log has empty.
///
/// # Errors
/// [`NotWorkedOut`]: a round can't be read, or a step of it can't be resolved.
pub fn work_out(mut records: Vec<(&mut Logged, bool)>) -> Result<(), NotWorkedOut> {
    let rounds = rounds(records.iter().map(|(logged, _)| &**logged))?;
    let mut outcomes = BTreeMap::new();
    for round in &rounds {
        let mut live = Live::open(&round.started)?;
        for (step, seed) in drawn(round) {
            let (mut outcome, mut bytes) = (Outcome::default(), vec![]);
            live.logged(&step.logged, seed, &mut outcome)?;
            live.write(&outcome, &mut bytes);
            outcomes.insert(key(&step.logged), bytes);
        }
    }
    let lacking = records.iter_mut().filter(|(_, lacks)| *lacks).flat_map(|(logged, _)| steps(logged));
    for step in lacking.filter(|step| step.outcome.is_empty()) {
        step.outcome = outcomes.get(&key(step)).cloned().unwrap_or_default();
    }
    Ok(())
}

/// Whether a record, which is decoded too, is in the plain form: what its fields come to is all that it has.
#[must_use]
pub fn is_plain(record: &[u8], logged: &Logged) -> bool {
    whole(record, logged).is_some_and(|plain| plain == record)
}

/// The whole record, put together again from what is left of it and what was worked out.
#[must_use]
pub fn whole(short: &[u8], logged: &Logged) -> Option<Vec<u8>> {
    Some(encode(&previous(short)?, logged).to_vec())
}

fn key(step: &StepResolved) -> (u64, u32) {
    (step.round, step.step)
}

/// The hash that a record names as that of the record before it in the log.
fn previous(record: &[u8]) -> Option<[u8; 32]> {
    Commit::decode(record).ok()?.previous_hash.as_slice().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_log::hash;
    use motherlode_proto::convert::record::decode;
    use std::{fs, path::Path};

    /// Records of one player's who has played rounds, as a log has them.
    fn records() -> Vec<Record> {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/linked.hex");
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let lines = fs::read_to_string(golden).unwrap();
        let records = lines.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect::<Vec<_>>());
        let records: Vec<_> = records.map(|bytes| (decode(&bytes).unwrap().commit, bytes)).collect();
        let played = |events: &[Event]| events.iter().any(|event| matches!(event, Event::StepResolved(_)));
        let player = records.iter().find(|(commit, _)| played(&commit.events)).unwrap().0.stream.clone();
        let of_player = records.into_iter().filter(|(commit, _)| commit.stream == player);
        of_player.map(|(commit, bytes)| Record { position: commit.position, bytes: bytes.into() }).collect()
    }

    fn outcomes(logged: &mut Logged) -> Vec<usize> {
        steps(logged).map(|step| step.outcome.len()).collect()
    }

    #[test]
    fn pl_06_what_was_left_out_is_worked_out_to_the_last_byte() {
        let records = records();
        let short = without_outcomes(&records.iter().collect::<Vec<_>>()).unwrap();
        assert!(short.iter().flatten().count() > 0);
        let bytes = |place: usize| short[place].as_deref().unwrap_or(&records[place].bytes);
        let mut logged: Vec<_> = (0..records.len()).map(|place| decode(bytes(place)).unwrap()).collect();
        work_out(logged.iter_mut().zip(&short).map(|(logged, short)| (logged, short.is_some())).collect()).unwrap();
        for (place, record) in records.iter().enumerate().filter(|(place, _)| short[*place].is_some()) {
            assert!(bytes(place).len() < record.bytes.len() && is_plain(bytes(place), &decode(bytes(place)).unwrap()));
            assert_eq!(hash(&whole(bytes(place), &logged[place]).unwrap()), hash(&record.bytes));
        }
    }

    /// Else a log whose record has no outcome would be taken for one that has the right one.
    #[test]
    fn pl_06_nothing_is_put_into_a_record_that_lacks_nothing() {
        let records = records();
        let short = without_outcomes(&records.iter().collect::<Vec<_>>()).unwrap();
        let mut logged: Vec<_> = short.iter().flatten().map(|bytes| decode(bytes).unwrap()).collect();
        assert!(logged.len() > 1);
        work_out(logged.iter_mut().enumerate().map(|(place, logged)| (logged, place > 0)).collect()).unwrap();
        assert!(outcomes(&mut logged[0]).iter().all(|length| *length == 0), "as it was");
        assert!(outcomes(&mut logged[1]).iter().all(|length| *length > 0), "worked out");
    }
}
