//! Messages of a stream, and the rules that hold from one to the next.

use crate::failure::Failure;
use bytes::Bytes;
use motherlode_log::{DamagedMessage, Hash, Position, block, genesis, verify_chain};

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its number in the stream, from 1.
    pub sequence: u64,
    /// Whether it begins an epoch; otherwise it is a block.
    pub begins_epoch: bool,
    /// The epoch of its writer, as a block names it.
    pub epoch: Option<u64>,
    pub payload: Bytes,
}

impl Message {
    /// The header of a block with the number of the message that began its writer's epoch.
    pub(crate) const EPOCH: &str = "Motherlode-Epoch";

    /// Decodes the answer to a direct request. A message that no store has published is neither block nor epoch, which
    /// the walk reports.
    pub(crate) fn new(answer: async_nats::Message) -> Result<Self, Failure> {
        let headers = answer.headers.unwrap_or_default();
        let header = |name: &str| headers.get_last(name).map(|value| value.as_str());
        let sequence = header("Nats-Sequence").and_then(|sequence| sequence.parse().ok());
        let subject = header("Nats-Subject").unwrap_or_default();
        Ok(Self {
            sequence: sequence.ok_or_else(|| Failure::Unknown("a message without a number".into()))?,
            begins_epoch: subject.ends_with(".epoch"),
            epoch: header(Self::EPOCH).and_then(|epoch| epoch.parse().ok()),
            payload: answer.payload,
        })
    }
}

/// The subject of appends.
pub(crate) fn block_subject(stream: &str) -> String {
    format!("{stream}.block")
}

/// The subject of epochs.
pub(crate) fn epoch_subject(stream: &str) -> String {
    format!("{stream}.epoch")
}

/// Goes along a stream message by message and believes nothing.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// The number that the next message must have.
    pub sequence: u64,
    /// The position of the next record.
    pub next: Position,
    /// The hash that the next record must name as its previous one.
    pub head: Hash,
    /// The number of the message that began the epoch; `None` where it isn't known yet.
    pub epoch: Option<u64>,
}

impl Walk {
    /// From the beginning of a partition's stream.
    pub(crate) fn new(partition: u32) -> Self {
        Self { sequence: 1, next: 1, head: genesis(partition), epoch: Some(0) }
    }

    /// The records of the next message: none if it begins an epoch.
    ///
    /// # Errors
    /// It is not the message that a store appended there. The walk does not move.
    pub(crate) fn step(&mut self, stream: &str, message: &Message) -> Result<Vec<Bytes>, DamagedMessage> {
        let (sequence, position) = (self.sequence, self.next);
        let damaged = |reason: String| DamagedMessage { stream: stream.to_owned(), sequence, position, reason };
        if message.sequence != sequence {
            return Err(damaged(format!("the next message is {}: some are missing", message.sequence)));
        }
        if message.begins_epoch {
            (self.sequence, self.epoch) = (sequence + 1, Some(sequence));
            return Ok(vec![]);
        }
        if message.epoch.is_none() || self.epoch.is_some_and(|epoch| message.epoch != Some(epoch)) {
            let (found, expected) = (message.epoch, self.epoch);
            return Err(damaged(format!("a block of epoch {found:?} in the epoch {expected:?}")));
        }
        let records = block::decode(&message.payload, position).map_err(|reason| damaged(reason.to_owned()))?;
        self.head = verify_chain(self.head, position - 1, &records).map_err(|broken| damaged(broken.to_string()))?;
        self.next += records.len() as Position;
        (self.sequence, self.epoch) = (sequence + 1, message.epoch);
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_testkit::conformance::records;

    fn epoch(sequence: u64) -> Message {
        Message { sequence, begins_epoch: true, epoch: None, payload: Bytes::from_static(b"anything") }
    }

    fn append(sequence: u64, epoch: u64, first: Position, records: &[Bytes]) -> Message {
        Message { sequence, begins_epoch: false, epoch: Some(epoch), payload: block::encode(first, records) }
    }

    #[test]
    fn a_stream_is_walked_through_its_epochs() {
        let all = records(genesis(3), [b"one", b"two", b"six"]);
        let mut walk = Walk::new(3);
        let messages = [epoch(1), append(2, 1, 1, &all[..2]), epoch(3), epoch(4), append(5, 4, 3, &all[2..])];
        let walked: Vec<_> = messages.iter().flat_map(|message| walk.step("S", message).unwrap()).collect();
        assert_eq!(walked, all);
        assert_eq!((walk.next, walk.sequence, walk.epoch), (4, 6, Some(4)));
    }

    #[test]
    fn what_no_store_appended_is_damage_with_its_place() {
        let all = records(genesis(0), [b"one", b"two"]);
        let good = append(2, 1, 1, &all);
        let cut = Message { payload: good.payload.slice(1..), ..good.clone() };
        let mut flipped = good.payload.to_vec();
        flipped[70] ^= 1;
        let foreign = records([7; 32], [b"one"]);
        for (what, wrong) in [
            ("some are missing", append(3, 1, 1, &all)),
            ("another position", append(2, 1, 2, &all)),
            ("in the epoch", append(2, 2, 1, &all)),
            ("in the epoch", Message { epoch: None, ..good.clone() }),
            ("no sound block header", cut),
            ("checksum", Message { payload: flipped.into(), ..good.clone() }),
            ("does not chain", append(2, 1, 1, &foreign)),
        ] {
            let mut walk = Walk::new(0);
            walk.step("S", &epoch(1)).unwrap();
            let damage = walk.step("S", &wrong).unwrap_err();
            assert_eq!((damage.stream.as_str(), damage.sequence, damage.position), ("S", 2, 1));
            assert!(damage.to_string().contains(what), "{damage}");
            assert_eq!(walk.step("S", &good).unwrap(), all, "the walk moved past the damaged message");
        }
        let mut walk = Walk::new(0);
        walk.step("S", &epoch(1)).unwrap();
        assert_eq!(walk.step("S", &good).unwrap(), all);
    }
}
