use smol_str::SmolStr;

use super::{event::Event, internal::InternalRequest};
use crate::values::{Head, StreamId, Switch};

/// Events that are applied together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub partition: u32,
    /// Position in the log, contiguous and 1-based.
    pub position: u64,
    pub stream: StreamId,
    /// Version of the stream after this commit; versions are contiguous and 1-based.
    pub version: u64,
    /// Position of the stream's previous commit; 0 for the first commit.
    pub previous: u64,
    /// Id of the request that caused the commit. A request id is applied at most once (PL-11).
    pub request_id: SmolStr,
    pub fingerprint: [u8; 16],
    /// Time in Unix ms, which never decreases in a partition.
    pub time_ms: i64,
    pub events: Vec<Event>,
}

impl Commit {
    #[must_use]
    pub fn acted_by(&self) -> Option<(&str, &str)> {
        match self.events.last()? {
            Event::ActedBy { actor, reference } => Some((actor, reference)),
            _ => None,
        }
    }

    #[must_use]
    pub fn series(&self) -> Option<&SmolStr> {
        Event::series(&self.events)
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.events.first(), Some(Event::RequestCancelled))
    }

    #[must_use]
    pub(crate) fn head(&self) -> Head {
        Head { partition: self.partition, version: self.version, position: self.position }
    }

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

    /// Returns whether an operator may read the commit (PL-27, PL-30). Operators cannot read awards, which name other
    /// operators' players, or proposed changes, which belong to no operator yet.
    #[must_use]
    pub fn concerns(&self, operator: &str) -> bool {
        let covers = |switch: &Switch| switch.operator.is_empty() || switch.operator == operator;
        let own = |event: &Event| match event {
            Event::SwitchSet { switch, .. } => covers(switch),
            Event::LiabilityReserved(reserved) => reserved.operator == operator,
            Event::GenerationBegun(_) => true,
            _ => false,
        };
        self.stream.concerns(operator).unwrap_or_else(|| self.events.iter().any(own))
    }
}
