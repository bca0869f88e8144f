//! Evidence that a log has lost its last records (PL-40).
//!
//! Two files record the log's end. The *page* is in memory-backed storage, is written before each answer and is lost at
//! a reboot. The *mark* is a file next to the draw keys, written about once a second and at an orderly stop. If the log
//! lacks the record that either file names as its end, the log has lost records. A missing or damaged file proves
//! nothing.

use crate::chain::ChainHead;
use data_encoding::HEXLOWER;
use motherlode_log::{Hash, Position, hash};
use motherlode_state::{Generations, StartEvidence};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndMark {
    pub(crate) head: ChainHead,
    pub(crate) generation: u64,
    pub(crate) stopped: bool,
}

impl EndMark {
    pub(crate) fn line(&self) -> String {
        let Self { head: ChainHead { position, hash }, generation, stopped } = self;
        let state = if *stopped { "stopped" } else { "running" };
        let line = format!("{position:020} {} {generation:020} {state}", HEXLOWER.encode(hash));
        let sum = checksum(&line);
        line + " " + &sum + "\n"
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let line = text.strip_suffix('\n')?;
        let fields: Vec<_> = line.split(' ').collect();
        let head =
            |position: &str, hash: &str| Some(ChainHead { position: position.parse().ok()?, hash: unhex(hash)? });
        match fields[..] {
            [position, hash] => Some(Self { head: head(position, hash)?, generation: 0, stopped: false }),
            [position, hash, generation, state, sum] => {
                let (summed, _) = line.rsplit_once(' ')?;
                let stopped = match state {
                    "stopped" => true,
                    "running" => false,
                    _ => return None,
                };
                let whole = sum == checksum(summed);
                let generation = generation.parse().ok()?;
                whole.then_some(Self { head: head(position, hash)?, generation, stopped })
            }
            _ => None,
        }
    }
}

fn unhex(digits: &str) -> Option<Hash> {
    HEXLOWER.decode(digits.as_bytes()).ok()?.try_into().ok()
}

fn checksum(line: &str) -> String {
    HEXLOWER.encode(&hash(line.as_bytes())[..4])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) page: Option<EndMark>,
    pub(crate) mark: Option<EndMark>,
    pub(crate) mark_is_apart: bool,
    pub(crate) followed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) evidence: StartEvidence,
    pub(crate) lost_to: Position,
}

impl Verdict {
    pub(crate) fn ends_seals(&self) -> bool {
        matches!(self.evidence, StartEvidence::Missing | StartEvidence::Restored)
    }
}

pub(crate) fn judge<E>(
    sources: &Sources,
    end: ChainHead,
    generations: &Generations,
    has: impl Fn(ChainHead) -> Result<bool, E>,
) -> Result<Verdict, E> {
    let mut lost_to = 0;
    for remembered in [sources.page, sources.mark].into_iter().flatten() {
        if !has(remembered.head)? {
            lost_to = lost_to.max(remembered.head.position);
        }
    }
    if lost_to > 0 {
        return Ok(Verdict { evidence: StartEvidence::Restored, lost_to });
    }
    // Evidence of an earlier generation does not cover the records of the current generation.
    let is_latest = |of: &EndMark| of.generation == generations.current().number;
    let stopped_here = |mark: &EndMark| mark.stopped && mark.head == end && is_latest(mark);
    let evidence = if end.position == 0 {
        StartEvidence::EmptyLog
    } else if sources.page.is_some_and(|page| is_latest(&page)) {
        StartEvidence::MemoryPage
    } else if sources.followed {
        StartEvidence::Followed
    } else if sources.mark_is_apart && sources.mark.is_some_and(|mark| stopped_here(&mark)) {
        StartEvidence::StopMark
    } else {
        StartEvidence::Missing
    };
    Ok(Verdict { evidence, lost_to: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_state::{Books, Commit, Event, GenerationBegun, StreamId};

    fn at(position: Position) -> ChainHead {
        ChainHead { position, hash: [u8::try_from(position).unwrap(); 32] }
    }

    fn remembered(position: Position, generation: u64, stopped: bool) -> EndMark {
        EndMark { head: at(position), generation, stopped }
    }

    fn generations(count: u64) -> Generations {
        let mut books = Books::new();
        for number in 1..=count {
            let begun = GenerationBegun {
                number,
                salt: [u8::try_from(number).unwrap(); 32],
                unused_seals_end: false,
                evidence: StartEvidence::Followed,
                lost_to: 0,
                keys_added: vec![],
                keys_lost: vec![],
            };
            let commit = Commit {
                partition: 0,
                position: number,
                stream: StreamId::System,
                version: number,
                previous: number - 1,
                request_id: format!("r{number}").into(),
                fingerprint: [0; 16],
                time_ms: 1,
                events: vec![Event::GenerationBegun(begun.into())],
            };
            books.apply(&commit).unwrap();
        }
        Generations::clone(books.generations())
    }

    #[test]
    fn mf_a5_a_line_is_read_as_it_was_written_or_not_at_all() {
        for remembered in [remembered(7, 3, true), remembered(0, 0, false)] {
            let line = remembered.line();
            assert_eq!(line.len(), remembered_len());
            assert_eq!(EndMark::parse(&line), Some(remembered));
            for place in 0..line.len() {
                let mut damaged = line.clone().into_bytes();
                damaged[place] ^= 1;
                let damaged = String::from_utf8(damaged).unwrap();
                assert_eq!(EndMark::parse(&damaged), None, "{damaged}");
                assert_eq!(EndMark::parse(&line[..place]), None);
            }
        }
        let older = format!("9 {}\n", "ab".repeat(32));
        let expected = EndMark { head: ChainHead { position: 9, hash: [0xab; 32] }, generation: 0, stopped: false };
        assert_eq!(EndMark::parse(&older), Some(expected));
    }

    fn remembered_len() -> usize {
        20 + 1 + 64 + 1 + 20 + 1 + 7 + 1 + 8 + 1
    }

    #[test]
    fn pl_40_a_start_is_sure_on_evidence_of_the_latest_writer_alone() {
        let none = Sources { page: None, mark: None, mark_is_apart: true, followed: false };
        let page = |position, generation| Sources { page: Some(remembered(position, generation, false)), ..none };
        let mark = |position, stopped| Sources { mark: Some(remembered(position, 2, stopped)), ..none };
        for (sources, expected) in [
            (none, StartEvidence::Missing),
            (page(50, 2), StartEvidence::MemoryPage),
            (page(49, 2), StartEvidence::MemoryPage),
            (page(49, 1), StartEvidence::Missing),
            (page(51, 2), StartEvidence::Restored),
            (mark(50, true), StartEvidence::StopMark),
            (mark(50, false), StartEvidence::Missing),
            (mark(49, true), StartEvidence::Missing),
            (mark(51, true), StartEvidence::Restored),
            (Sources { mark_is_apart: false, ..mark(50, true) }, StartEvidence::Missing),
            (Sources { followed: true, ..none }, StartEvidence::Followed),
            (Sources { followed: true, ..page(51, 1) }, StartEvidence::Restored),
            (Sources { mark: mark(60, false).mark, ..page(50, 2) }, StartEvidence::Restored),
        ] {
            let has = |head: ChainHead| Ok::<_, ()>(head.position <= 50 && head == at(head.position));
            let verdict = judge(&sources, at(50), &generations(2), has).unwrap();
            assert_eq!(verdict.evidence, expected, "{sources:?}");
            assert_eq!(verdict.lost_to > 0, expected == StartEvidence::Restored);
            assert_eq!(verdict.ends_seals(), matches!(expected, StartEvidence::Missing | StartEvidence::Restored));
        }
        let nothing = |head: ChainHead| Ok::<_, ()>(head.position == 0);
        let empty = ChainHead { position: 0, hash: [0; 32] };
        assert_eq!(judge(&none, empty, &generations(0), nothing).unwrap().evidence, StartEvidence::EmptyLog);
        assert_eq!(judge(&mark(3, true), empty, &generations(0), nothing).unwrap().lost_to, 3);
    }
}
