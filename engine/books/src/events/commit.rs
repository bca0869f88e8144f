//! The commit: all events of one decision on one stream, one record of the log.

use smol_str::SmolStr;

use super::{event::Event, internal::InternalRequest};
use crate::values::{Head, StreamId, Switch};

/// One record of a partition's log. Applied whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The log that it stands in.
    pub partition: u32,
    /// Its place there: 1, 2, 3, without a gap.
    pub position: u64,
    /// The stream that it changes.
    pub stream: StreamId,
    /// The stream's version after it: 1, 2, 3, without a gap.
    pub version: u64,
    /// Position of the stream's commit before it; 0 for the first. Walking it back reads a stream's history.
    pub previous: u64,
    /// The caller's request id: one effect for ever (PL-11). Of deposits and withdrawals it is the transaction id.
    pub request_id: SmolStr,
    /// A digest of the request's content, to tell a repetition from a reuse of the id (PL-11).
    pub fingerprint: [u8; 16],
    /// Unix time in milliseconds, never decreasing along a partition.
    pub time_ms: i64,
    /// Its events, in order; at least one.
    pub events: Vec<Event>,
}

impl Commit {
    /// The actor, and the caller's own words beside the credential, where its last event names them (PL-22).
    #[must_use]
    pub fn acted_by(&self) -> Option<(&str, &str)> {
        match self.events.last()? {
            Event::ActedBy { actor, reference } => Some((actor, reference)),
            _ => None,
        }
    }

    /// The id of the request that it is a part of, where that is another than its own (PL-42).
    #[must_use]
    pub fn part_of(&self) -> Option<&SmolStr> {
        Event::part_of(&self.events)
    }

    /// Whether it's in the name of a request that was cancelled (PL-33).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.events.first(), Some(Event::RequestCancelled))
    }

    /// The stream's head after the commit.
    #[must_use]
    pub(crate) fn head(&self) -> Head {
        Head { partition: self.partition, version: self.version, position: self.position }
    }

    /// The position at home that a commit of another partition copies: of a pool's mirror, or of a rate or switch, whose
    /// copies are [`InternalRequest::CopyHome`].
    #[must_use]
    pub fn copies(&self) -> Option<u64> {
        match &self.stream {
            StreamId::Pool(_) => self.events.iter().find_map(|event| match event {
                Event::PoolMirrored(mirrored) => Some(mirrored.home_position),
                _ => None,
            }),
            StreamId::Rates | StreamId::System => InternalRequest::copied_position(&self.request_id),
            StreamId::Player { .. } => None,
        }
    }

    /// Whether an operator may read it (PL-27, PL-30): commits of its own players and campaigns, rates, switches that cover it, and
    /// generations of draws. Never data of others: pools' awards name their winners, and proposed changes have no owner yet.
    #[must_use]
    pub fn concerns(&self, operator: &str) -> bool {
        let covers = |switch: &Switch| switch.operator.is_empty() || switch.operator == operator;
        let own = |event: &Event| match event {
            Event::SwitchSet { switch, .. } => covers(switch),
            Event::LiabilityReserved(reserved) => reserved.operator == operator,
            // Seals name the generation whose salt it states.
            Event::GenerationBegun(_) => true,
            _ => false,
        };
        self.stream.concerns(operator).unwrap_or_else(|| self.events.iter().any(own))
    }
}
