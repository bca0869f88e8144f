//! Shortens records for a proof by omitting fields that the verifier can derive from the rest of the file: outcomes,
//! seals of revealed draws, and hashes of records in the file. The verifier hashes the restored record, so that it
//! detects a wrong field.

use motherlode_log::{Hash, Position, Record, hash};
use motherlode_proto::{
    convert::{
        Malformed,
        record::{Logged, decode},
    },
    log::v1::{Commit, Draw, StepResolved, event::Kind},
};
use motherlode_rounds::{Fold, Live, RoundView, Unresolvable};
use motherlode_slots::Outcome;
use motherlode_state::Seal;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, thiserror::Error)]
pub enum NotWorkedOut {
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Unresolvable(#[from] Unresolvable),
    #[error("a record with omitted fields is not canonically encoded")]
    NotPlain,
}

/// Shortens each record; returns `None` for a record that cannot be shortened. Fails if a record is not a commit or its
/// round cannot be read.
pub fn brief(records: &[&Record]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
    let logged = records.iter().map(|record| decode(&record.bytes)).collect::<Result<Vec<_>, _>>()?;
    let follows = match Follows::from_records(&logged) {
        Ok(follows) => follows,
        Err(NotWorkedOut::Malformed(malformed)) => return Err(malformed),
        Err(_) => return Ok(vec![None; records.len()]),
    };
    let entries: BTreeMap<_, _> = records.iter().map(|record| (record.position, hash(&record.bytes))).collect();
    let short = records.iter().map(|record| {
        let before = entries.range(..record.position).next_back().map(|(_, entry)| entry);
        let mut commit = plain(&record.bytes)?;
        let mut is_shorter = false;
        for (field, follows) in steps(&mut commit).flat_map(|step| follows.fields(step, before)) {
            match field.is_empty() {
                // Earlier program versions left some fields empty. The verifier would fill them and compute another
                // hash, so the record is not shortened.
                true => return None,
                false if *field == follows => field.clear(),
                false => continue,
            }
            is_shorter = true;
        }
        is_shorter.then(|| commit.encode_to_vec())
    });
    Ok(short.collect())
}

pub fn whole(mut records: Vec<(Vec<u8>, bool)>) -> Result<Vec<Vec<u8>>, NotWorkedOut> {
    if records.iter().any(|(_, lacks)| *lacks) {
        let logged = records.iter().map(|(bytes, lacks)| decoded(bytes, *lacks)).collect::<Result<Vec<_>, _>>()?;
        let follows = Follows::from_records(&logged)?;
        let mut order: Vec<(Position, usize)> = logged.iter().map(|logged| logged.commit.position).zip(0..).collect();
        order.sort_unstable();
        let mut before = None;
        for (_, place) in order {
            let (bytes, lacks) = &mut records[place];
            if *lacks {
                let mut commit = plain(bytes).ok_or(NotWorkedOut::NotPlain)?;
                for (field, follows) in steps(&mut commit).flat_map(|step| follows.fields(step, before.as_ref())) {
                    if field.is_empty() {
                        *field = follows;
                    }
                }
                *bytes = commit.encode_to_vec();
            }
            before = Some(hash(bytes));
        }
    }
    Ok(records.into_iter().map(|(bytes, _)| bytes).collect())
}

fn decoded(bytes: &[u8], lacks: bool) -> Result<Logged, Malformed> {
    if !lacks {
        return decode(bytes);
    }
    let mut commit = Commit::decode(bytes)?;
    for draw in steps(&mut commit).filter_map(|step| step.draw.as_mut()).filter(|draw| draw.next_seal.is_empty()) {
        draw.next_seal = vec![0; 32];
    }
    decode(&commit.encode_to_vec())
}

fn plain(bytes: &[u8]) -> Option<Commit> {
    Commit::decode(bytes).ok().filter(|commit| commit.encode_to_vec() == bytes)
}

fn steps(commit: &mut Commit) -> impl Iterator<Item = &mut StepResolved> {
    commit.events.iter_mut().filter_map(|event| match &mut event.kind {
        Some(Kind::StepResolved(step)) => Some(step),
        _ => None,
    })
}

/// Values that a proof file may omit, because the verifier derives them from revealed draws of rounds that begin in the
/// file.
struct Follows {
    outcomes: BTreeMap<(u64, u32), Vec<u8>>,
    seals: BTreeMap<u64, Seal>,
}

impl Follows {
    fn from_records(records: &[Logged]) -> Result<Self, NotWorkedOut> {
        let (mut outcomes, mut seals) = (BTreeMap::new(), BTreeMap::new());
        for round in rounds(records)? {
            let mut live = Live::open(&round.started)?;
            for (step, seed) in round.steps.iter().map_while(|step| Some((step, step.seed?))) {
                let (mut outcome, mut bytes) = (Outcome::default(), vec![]);
                live.logged(&step.logged, seed, &mut outcome)?;
                live.write(&outcome, &mut bytes);
                outcomes.insert((step.logged.round, step.logged.step), bytes);
                seals.extend(step.draw.as_ref().and_then(|draw| Some((draw.name.number, draw.seal?))));
            }
        }
        Ok(Self { outcomes, seals })
    }

    fn fields<'s>(
        &self,
        step: &'s mut StepResolved,
        before: Option<&Hash>,
    ) -> impl Iterator<Item = (&'s mut Vec<u8>, Vec<u8>)> {
        let StepResolved { round, step, outcome, draw, .. } = step;
        let worked_out = self.outcomes.get(&(*round, *step)).cloned();
        let of_draw = draw.as_mut().map(|Draw { number, next_seal, sealed_by, .. }| {
            let seal = number.checked_add(1).and_then(|next| self.seals.get(&next)).map(|seal| seal.to_vec());
            [(next_seal, seal), (sealed_by, before.map(|before| before.to_vec()))]
        });
        let fields = [(outcome, worked_out)].into_iter().chain(of_draw.into_iter().flatten());
        fields.filter_map(|(field, content)| Some((field, content.filter(|content| !content.is_empty())?)))
    }
}

fn rounds(records: &[Logged]) -> Result<Vec<RoundView>, Malformed> {
    let begun = records.iter().flat_map(|logged| &logged.commit.events).filter_map(|event| match event {
        motherlode_state::Event::RoundStarted(started) => Some(started.round),
        _ => None,
    });
    let told = begun.collect::<BTreeSet<_>>().into_iter().map(|number| {
        let mut fold = Fold::new(number);
        records.iter().try_for_each(|logged| fold.add(logged))?;
        Ok(fold.view())
    });
    told.filter_map(Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_state::Event;
    use std::{fs, path::Path};

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

    fn lacking(bytes: &[u8]) -> [usize; 3] {
        let mut commit = Commit::decode(bytes).unwrap();
        let of = steps(&mut commit).map(|step| {
            let draw = step.draw.as_ref().unwrap();
            [&step.outcome, &draw.next_seal, &draw.sealed_by].map(|field| usize::from(field.is_empty()))
        });
        of.fold([0; 3], |[a, b, c], [d, e, f]| [a + d, b + e, c + f])
    }

    #[test]
    fn pl_06_what_was_left_out_is_worked_out_to_the_last_byte() {
        let records = records();
        let short = brief(&records.iter().collect::<Vec<_>>()).unwrap();
        let all = short
            .iter()
            .flatten()
            .map(|bytes| lacking(bytes))
            .fold([0; 3], |[a, b, c], [d, e, f]| [a + d, b + e, c + f]);
        assert!(all.iter().all(|lacking| *lacking > 0), "{all:?}");
        let shown = records.iter().zip(&short).map(|(record, short)| match short {
            Some(short) => (short.clone(), true),
            None => (record.bytes.to_vec(), false),
        });
        let restored = whole(shown.collect()).unwrap();
        assert!(records.iter().zip(&restored).all(|(record, restored)| record.bytes == *restored));
        assert!(
            records
                .iter()
                .zip(&short)
                .all(|(record, short)| short.as_ref().is_none_or(|short| short.len() < record.bytes.len()))
        );
    }

    #[test]
    fn pl_06_nothing_is_put_into_a_record_that_lacks_nothing() {
        let records = records();
        let short: Vec<_> = brief(&records.iter().collect::<Vec<_>>()).unwrap().into_iter().flatten().collect();
        assert!(short.len() > 1);
        let lacks_outcomes_only = |bytes: &Vec<u8>| {
            let mut commit = Commit::decode(&**bytes).unwrap();
            let draws = steps(&mut commit).filter_map(|step| step.draw.as_mut());
            draws.filter(|draw| draw.next_seal.is_empty()).for_each(|draw| draw.next_seal = vec![0; 32]);
            commit.encode_to_vec()
        };
        let shown: Vec<_> =
            short.iter().map(lacks_outcomes_only).zip(0..).map(|(bytes, place)| (bytes, place > 0)).collect();
        let (first, second) = (shown[0].0.clone(), shown[1].0.clone());
        let restored = whole(shown).unwrap();
        assert_eq!(restored[0], first, "the record must be restored unchanged");
        assert!(lacking(&second)[0] > 0 && lacking(&restored[1])[0] == 0, "the missing fields must be derived");
    }

    #[test]
    fn pl_06_a_record_that_lacks_something_is_in_the_plain_form() {
        let records = records();
        let short = brief(&records.iter().collect::<Vec<_>>()).unwrap();
        let mut first = short.into_iter().flatten().next().unwrap();
        first.extend([0xa0, 0x3f, 1]);
        assert!(matches!(whole(vec![(first, true)]), Err(NotWorkedOut::NotPlain)));
    }
}
