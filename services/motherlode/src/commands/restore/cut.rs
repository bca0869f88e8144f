//! Cuts off a partition's records after a position or time, and creates the record of this restore. From that record
//! on, verifiers treat the partition as a new log.

use super::undone::Undone;
use crate::commands::Failure;
use motherlode_log::{Hash, Position, Record};
use motherlode_proto::convert::record::{self, Logged};
use motherlode_server::home_position;
use motherlode_state::{
    Commit, Event, GenerationBegun, HOME, InternalRequest, LogRestored, Restores, StartEvidence, StreamId,
};
use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// Last record that a restore keeps in each partition, by position or time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum To {
    /// Positions in partitions 0, 1, and so on, as in `--position`.
    Positions(Vec<Position>),
    /// Keeps the records up to this time, in Unix milliseconds.
    Time(i64),
}

impl To {
    fn position(&self, partition: u32) -> Option<Position> {
        match self {
            Self::Positions(positions) => positions.get(partition as usize).copied(),
            Self::Time(_) => None,
        }
    }
}

/// State after the kept records, from which [`restored`](Self::restored) creates the restore's own record.
#[derive(Debug, Clone, Default)]
pub(super) struct CutState {
    pub(super) end: Position,
    system: (u64, Position),
    generation: u64,
    time_ms: i64,
    restores: Restores,
}

pub(super) struct Cutter<'a> {
    partition: u32,
    to: &'a To,
    /// End of the partition at the last complete run of `archive`. Records up to this position refer only to archived
    /// records.
    archived: Position,
    home_end: Position,
    /// Last position in this partition that the kept records of partition 0 refer to.
    reported: Position,
    kept: CutState,
    cut: Option<CutState>,
    reports: BTreeMap<u32, Position>,
    /// Position in partition 0 that the first omitted record refers to.
    refers: Option<Position>,
    last: Position,
    fault: Option<Failure>,
    undone: &'a mut Undone,
}

pub(super) struct Cut {
    pub(super) kept: CutState,
    /// Position of the archive's last record.
    pub(super) last: Position,
    /// For every partition but this one, the highest position that a kept record refers to.
    pub(super) reports: BTreeMap<u32, Position>,
}

impl<'a> Cutter<'a> {
    pub(super) fn new(
        (partition, to): (u32, &'a To),
        archived: Position,
        (home_end, reported): (Position, Position),
        undone: &'a mut Undone,
    ) -> Self {
        let (kept, reports) = (CutState::default(), BTreeMap::new());
        let (cut, refers, last, fault) = (None, None, 0, None);
        Self { partition, to, archived, home_end, reported, kept, cut, reports, refers, last, fault, undone }
    }

    pub(super) fn keep(&mut self, found: &Record) -> bool {
        self.last = found.position;
        if self.fault.is_some() {
            return false;
        }
        let logged = match record::decode(&found.bytes) {
            Ok(logged) => logged,
            Err(error) => {
                let (partition, position) = (self.partition, found.position);
                let what = format!("partition {partition}: the record at position {position} is not a commit: {error}");
                self.fault = Some(Failure::found(what));
                return false;
            }
        };
        let keeps = self.cut.is_none() && self.is_within(found, &logged);
        if !keeps {
            self.cut.get_or_insert_with(|| self.kept.clone());
        }
        self.kept.note(&logged.commit);
        if keeps {
            self.note_reports(&logged.commit);
        }
        let cut = self.cut.as_ref().map(|cut| cut.end);
        self.undone.take(&logged, &self.kept.restores, cut);
        keeps
    }

    fn is_within(&mut self, found: &Record, logged: &Logged) -> bool {
        let position = found.position;
        let refers = if self.partition == HOME { 0 } else { home_position(found) };
        if refers > self.home_end {
            self.refers = Some(refers);
            return false;
        }
        position <= self.archived
            && self.to.position(self.partition).is_none_or(|last| position <= last)
            && match self.to {
                To::Time(time_ms) => position <= self.reported || logged.commit.time_ms <= *time_ms,
                To::Positions(_) => true,
            }
    }

    fn note_reports(&mut self, commit: &Commit) {
        for event in &commit.events {
            let (partition, position) = match event {
                Event::ContributionsPooled { partition, to, .. } => (*partition, *to),
                Event::PartitionReported(report) => (report.partition, report.to),
                Event::JackpotAwarded(award) => (award.partition, award.hit),
                Event::ContributionTakenBack { partition, position, .. }
                | Event::AwardReversed { partition, position, .. } => (*partition, *position),
                _ => continue,
            };
            let last = self.reports.entry(partition).or_default();
            *last = position.max(*last);
        }
    }

    /// Fails if the kept records end before the requested position, or lack a record that partition 0 refers to.
    pub(super) fn finish(self) -> Result<Cut, Failure> {
        let Self { partition, to, archived, home_end, reported, kept, cut, reports, refers, last, fault, undone } =
            self;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let kept = cut.unwrap_or(kept);
        let step = "With --position, specify only partition 0, or use --time: the restore then finds the positions of \
                    the other partitions";
        if let Some(wanted) = to.position(partition).filter(|wanted| *wanted != kept.end) {
            let why = match refers {
                Some(refers) => format!(
                    "the partition's record at position {} refers to position {refers} of partition 0, but partition 0 would end at position {home_end}",
                    kept.end + 1
                ),
                None => format!("the partition's archive is complete only up to position {archived}"),
            };
            let what = format!("partition {partition} cannot be restored to position {wanted}: {why}");
            return Err(Failure::unusable(what).with_step(step));
        }
        if kept.end < reported {
            let end = kept.end;
            let what = format!(
                "partition {partition} cannot be restored to position {end}: partition 0 refers to the later position {reported} of this partition"
            );
            return Err(Failure::unusable(what).with_step(step));
        }
        undone.end_partition(partition, kept.end);
        Ok(Cut { kept, last, reports })
    }
}

impl CutState {
    fn note(&mut self, commit: &Commit) {
        (self.end, self.time_ms) = (commit.position, commit.time_ms);
        if commit.stream != StreamId::System {
            return;
        }
        self.system = (commit.version, commit.position);
        for event in &commit.events {
            match event {
                Event::GenerationBegun(begun) => self.generation = begun.number,
                // An invalid restore is ignored here, because the service reports it when it replays the log.
                Event::LogRestored(restored) => _ = self.restores.add(restored, commit.position),
                _ => {}
            }
        }
    }

    pub(super) fn restored(
        &self,
        partition: u32,
        head: &Hash,
        restored: LogRestored,
        lost_to: Position,
    ) -> Result<Record, Failure> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(Failure::found)?;
        let begun = GenerationBegun {
            number: self.generation + 1,
            salt,
            unused_seals_end: true,
            evidence: StartEvidence::Restored,
            lost_to,
            keys_added: vec![],
            keys_lost: vec![],
        };
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let commit = Commit {
            partition,
            position: self.end + 1,
            stream: StreamId::System,
            version: self.system.0 + 1,
            previous: self.system.1,
            request_id: InternalRequest::Restore { number: restored.number }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            time_ms: self.time_ms.max(i64::try_from(now_ms).unwrap_or(i64::MAX)),
            events: vec![Event::LogRestored(restored.into()), Event::GenerationBegun(begun.into())],
        };
        let position = commit.position;
        let logged = Logged { commit, balances_after: vec![], due_after: vec![], proposer: None };
        Ok(Record { position, bytes: record::encode(head, &logged) })
    }
}

/// Returns the number that identifies a restore if the record is the commit that this restore appended.
pub(super) fn number(found: &Record) -> Option<u64> {
    let logged = record::decode(&found.bytes).ok()?;
    logged.commit.events.iter().find_map(|event| match event {
        Event::LogRestored(restored) => Some(restored.number),
        _ => None,
    })
}
