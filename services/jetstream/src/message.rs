use crate::{
    failure::Failure,
    key::{Authenticated, Kind, StreamKey},
    start::Start,
};
use bytes::Bytes;
use data_encoding::BASE64;
use motherlode_log::{DamagedMessage, Hash, Position, block, verify_chain};
use serde_json::Value;

pub(crate) const EPOCH: &str = "Motherlode-Epoch";
pub(crate) const MAC: &str = "Motherlode-Mac";
pub(crate) const NONCE_DIGITS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub sequence: u64,
    pub kind: Kind,
    pub epoch: Option<u64>,
    pub mac: Option<String>,
    pub payload: Bytes,
}

impl Message {
    pub(crate) fn new(stream: &str, answer: async_nats::Message) -> Result<Self, Failure> {
        let headers = answer.headers.unwrap_or_default();
        let header = |name: &str| headers.get_last(name).map(|value| value.as_str());
        let sequence = header("Nats-Sequence").and_then(|sequence| sequence.parse().ok());
        let subject = header("Nats-Subject").unwrap_or_default();
        Ok(Self {
            sequence: sequence
                .ok_or_else(|| Failure::Unknown("a message in JetStream's answer has no sequence number".into()))?,
            kind: kind(stream, subject),
            epoch: header(EPOCH).and_then(|epoch| epoch.parse().ok()),
            mac: header(MAC).map(str::to_owned),
            payload: answer.payload,
        })
    }

    pub(crate) fn stored(stream: &str, found: &Value) -> Option<Self> {
        let text = |key: &str| BASE64.decode(found[key].as_str().unwrap_or_default().as_bytes()).ok();
        let headers = String::from_utf8(text("hdrs")?).ok()?;
        let header = |name: &str| {
            let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned());
            headers.lines().rev().find_map(value)
        };
        Some(Self {
            sequence: found["seq"].as_u64()?,
            kind: kind(stream, found["subject"].as_str()?),
            epoch: header(EPOCH).and_then(|epoch| epoch.parse().ok()),
            mac: header(MAC),
            payload: text("data")?.into(),
        })
    }
}

fn kind(stream: &str, subject: &str) -> Kind {
    match subject.strip_prefix(stream) {
        Some(".block") => Kind::Block,
        Some(".epoch") => Kind::Epoch,
        Some(".start") => Kind::Start,
        _ => Kind::Other,
    }
}

pub(crate) fn block_subject(stream: &str) -> String {
    format!("{stream}.block")
}

pub(crate) fn epoch_subject(stream: &str) -> String {
    format!("{stream}.epoch")
}

pub(crate) fn start_subject(stream: &str) -> String {
    format!("{stream}.start")
}

#[derive(Debug)]
pub(crate) struct Trust {
    pub stream: String,
    /// Key of the messages' MACs. Without a key, each NATS user with access to the subjects can forge records.
    pub key: Option<StreamKey>,
    pub unsigned_up_to: u64,
}

impl Trust {
    fn signs(&self, sequence: u64) -> Option<&StreamKey> {
        self.key.as_ref().filter(|_| sequence > self.unsigned_up_to)
    }

    pub(crate) fn mac(&self, sequence: u64, kind: Kind, epoch: Option<u64>, payload: &[u8]) -> Option<String> {
        let message = Authenticated { sequence, kind, epoch: epoch.unwrap_or_default(), payload };
        self.key.as_ref()?.mac(&self.stream, message)
    }

    pub(crate) fn begins_epoch(&self, message: &Message) -> bool {
        message.kind == Kind::Epoch
            && match self.signs(message.sequence) {
                Some(key) => self.is_authentic(key, message),
                None => is_nonce(&message.payload),
            }
    }

    pub(crate) fn start(&self, message: &Message) -> Option<Start> {
        let is_writers = self.signs(message.sequence).is_none_or(|key| self.is_authentic(key, message));
        let start = Start::decode(&message.payload).filter(|start| start.sequence < message.sequence)?;
        (message.kind == Kind::Start && is_writers).then_some(start)
    }

    fn is_authentic(&self, key: &StreamKey, message: &Message) -> bool {
        let Message { sequence, kind, epoch, mac, payload } = message;
        let text = Authenticated { sequence: *sequence, kind: *kind, epoch: epoch.unwrap_or_default(), payload };
        mac.as_ref().is_some_and(|mac| key.verify(&self.stream, text, mac))
    }
}

fn is_nonce(payload: &[u8]) -> bool {
    payload.len() == NONCE_DIGITS && payload.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Verifies a stream message by message. *Foreign* messages, which no writer has published, are counted and skipped. If
/// a writer's block were skipped by mistake, the position and hash of the next block would not follow, and the walk
/// would report damage.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    pub sequence: u64,
    pub next: Position,
    pub head: Hash,
    /// Sequence number of the message that began the current epoch; 0 before the first epoch.
    pub epoch: u64,
    pub foreign: u64,
    pub authentic: bool,
    pub start: Start,
}

impl Walk {
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(partition: u32) -> Self {
        Self::from_start(Start::genesis(partition))
    }

    pub(crate) fn from_start(start: Start) -> Self {
        let Start { sequence, epoch, log, .. } = start;
        Self { sequence, next: log.first, head: log.previous, epoch, foreign: 0, authentic: sequence > 1, start }
    }

    pub(crate) fn step(&mut self, trust: &Trust, message: &Message) -> Result<Vec<Bytes>, DamagedMessage> {
        let (sequence, position) = (self.sequence, self.next);
        let damaged = |reason: String| DamagedMessage { stream: trust.stream.clone(), sequence, position, reason };
        if message.sequence != sequence {
            return Err(damaged(format!(
                "the next message found is number {}: some messages before it are missing",
                message.sequence
            )));
        }
        let signing = trust.signs(sequence);
        let authentic = signing.is_some_and(|key| trust.is_authentic(key, message));
        let looks_sound = match message.kind {
            Kind::Epoch => is_nonce(&message.payload),
            Kind::Block => message.epoch == Some(self.epoch),
            Kind::Start => {
                message.epoch == Some(self.epoch)
                    && trust.start(message).is_some_and(|start| start.log.first <= position)
            }
            Kind::Other => false,
        };
        if signing.is_some() && looks_sound && !authentic && !self.authentic {
            return Err(damaged(
                "the stream key authenticates neither this message nor an earlier message: if these messages were \
                 written without a key, set [store.unsigned_up_to] to the last of them"
                    .to_owned(),
            ));
        }
        if !looks_sound || signing.is_some() && !authentic {
            (self.sequence, self.foreign) = (sequence + 1, self.foreign + 1);
            return Ok(vec![]);
        }
        if trust.key.is_none() && message.mac.is_some() {
            return Err(damaged("the message is authenticated, but this process has no stream key".to_owned()));
        }
        if message.kind == Kind::Epoch {
            self.begin_epoch(authentic);
            return Ok(vec![]);
        }
        if message.kind == Kind::Start {
            let later = trust.start(message).filter(|start| start.log.first > self.start.log.first);
            (self.sequence, self.start) = (sequence + 1, later.unwrap_or(self.start));
            return Ok(vec![]);
        }
        let records = block::decode(&message.payload, position).map_err(|reason| damaged(reason.to_owned()))?;
        self.head = verify_chain(self.head, position - 1, &records).map_err(|broken| damaged(broken.to_string()))?;
        self.next += records.len() as Position;
        self.sequence += 1;
        Ok(records)
    }

    pub(crate) fn skipped(&self, before: &Self) -> bool {
        self.foreign > before.foreign
    }

    pub(crate) fn report_foreign(&self, before: &Self, stream: &str) {
        if self.skipped(before) && self.foreign.is_power_of_two() {
            let (count, message) = (self.foreign, before.sequence);
            tracing::warn!(
                stream,
                message,
                count,
                "skipped messages that no writer of the log has published: restrict access to the stream"
            );
        }
    }

    pub(crate) fn begin_epoch(&mut self, authentic: bool) {
        self.epoch = self.sequence;
        self.sequence += 1;
        self.foreign = 0;
        self.authentic |= authentic;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_log::{LogStart, genesis};
    use motherlode_testkit::conformance::records;

    const NONCE: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn unsigned() -> Trust {
        Trust { stream: "S_0".into(), key: None, unsigned_up_to: 0 }
    }

    fn signed(unsigned_up_to: u64) -> Trust {
        Trust { key: Some(StreamKey::new(&[[7; 32]])), unsigned_up_to, ..unsigned() }
    }

    fn message(sequence: u64, kind: Kind, epoch: Option<u64>, payload: Bytes) -> Message {
        Message { sequence, kind, epoch, mac: None, payload }
    }

    fn epoch(sequence: u64) -> Message {
        message(sequence, Kind::Epoch, None, Bytes::from_static(NONCE))
    }

    fn append(sequence: u64, epoch: u64, first: Position, records: &[Bytes]) -> Message {
        message(sequence, Kind::Block, Some(epoch), block::encode(first, records))
    }

    fn with_mac(trust: &Trust, message: Message) -> Message {
        let mac = trust.mac(message.sequence, message.kind, message.epoch, &message.payload);
        Message { mac, ..message }
    }

    #[test]
    fn a_stream_is_walked_through_its_epochs() {
        let all = records(genesis(3), [b"one", b"two", b"six"]);
        let (mut walk, trust) = (Walk::new(3), unsigned());
        let messages = [epoch(1), append(2, 1, 1, &all[..2]), epoch(3), epoch(4), append(5, 4, 3, &all[2..])];
        let walked: Vec<_> = messages.iter().flat_map(|message| walk.step(&trust, message).unwrap()).collect();
        assert_eq!(walked, all);
        assert_eq!((walk.next, walk.sequence, walk.epoch, walk.foreign), (4, 6, 4, 0));
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
            ("messages before it are missing", append(3, 1, 1, &all)),
            ("does not name the expected position", append(2, 1, 2, &all)),
            ("no valid block header", cut),
            ("checksum", Message { payload: flipped.into(), ..good.clone() }),
            ("does not continue", append(2, 1, 1, &foreign)),
        ] {
            for trust in [unsigned(), signed(0)] {
                let mut walk = Walk::new(0);
                walk.step(&trust, &with_mac(&trust, epoch(1))).unwrap();
                let damage = walk.step(&trust, &with_mac(&trust, wrong.clone())).unwrap_err();
                assert_eq!((damage.stream.as_str(), damage.sequence, damage.position), ("S_0", 2, 1));
                assert!(damage.to_string().contains(what), "{damage}");
                let walked = walk.step(&trust, &with_mac(&trust, good.clone())).unwrap();
                assert_eq!(walked, all, "the walk must not advance past a damaged message");
            }
        }
    }

    #[test]
    fn mf_e4_messages_that_are_no_writers_are_skipped_and_counted_without_a_key() {
        let all = records(genesis(0), [b"one", b"two"]);
        let junk = Bytes::from_static(b"junk");
        let (trust, mut walk) = (unsigned(), Walk::new(0));
        let messages = [
            message(1, Kind::Other, None, junk.clone()),
            epoch(2),
            message(3, Kind::Block, None, junk.clone()),
            message(4, Kind::Epoch, None, junk.clone()),
            append(5, 2, 1, &all[..1]),
            append(6, 1, 2, &all[1..]),
            message(7, Kind::Other, Some(2), block::encode(2, &all[1..])),
        ];
        let walked: Vec<_> = messages.iter().flat_map(|message| walk.step(&trust, message).unwrap()).collect();
        assert_eq!(walked, all[..1]);
        assert_eq!((walk.sequence, walk.next, walk.epoch, walk.foreign), (8, 2, 2, 4));
        assert_eq!(walk.step(&trust, &append(8, 2, 2, &all[1..])).unwrap(), all[1..]);
    }

    #[test]
    fn mf_e4_with_a_key_a_message_without_its_mac_is_skipped() {
        let all = records(genesis(0), [b"one", b"two", b"six"]);
        let (trust, mut walk) = (signed(0), Walk::new(0));
        let forger = Trust { key: Some(StreamKey::new(&[[9; 32]])), ..signed(0) };
        let first = with_mac(&trust, append(2, 1, 1, &all[..1]));
        let messages = [
            with_mac(&trust, epoch(1)),
            first.clone(),
            append(3, 1, 2, &all[1..2]),
            with_mac(&forger, append(4, 1, 2, &all[1..2])),
            Message { sequence: 5, ..first },
            epoch(6),
            with_mac(&forger, epoch(7)),
            with_mac(&trust, append(8, 1, 2, &all[1..])),
        ];
        let walked: Vec<_> = messages.iter().flat_map(|message| walk.step(&trust, message).unwrap()).collect();
        assert_eq!(walked, all);
        assert_eq!((walk.next, walk.epoch, walk.foreign), (4, 1, 5));
    }

    #[test]
    fn mf_e4_a_stream_without_macs_is_read_up_to_the_recorded_message_and_no_further() {
        let all = records(genesis(0), [b"one", b"two"]);
        let old = [epoch(1), append(2, 1, 1, &all[..1])];
        let (trust, mut walk) = (signed(0), Walk::new(0));
        let refused = walk.step(&trust, &old[0]).unwrap_err();
        assert!(refused.to_string().contains("[store.unsigned_up_to]"), "{refused}");
        let trust = signed(2);
        for message in &old {
            walk.step(&trust, message).unwrap();
        }
        let refused = walk.clone().step(&trust, &append(3, 1, 2, &all[1..])).unwrap_err();
        assert!(refused.to_string().contains("[store.unsigned_up_to]"), "{refused}");
        walk.step(&trust, &with_mac(&trust, epoch(3))).unwrap();
        walk.step(&trust, &append(4, 3, 2, &all[1..])).unwrap();
        assert_eq!((walk.next, walk.foreign), (2, 1));
        assert_eq!(walk.step(&trust, &with_mac(&trust, append(5, 3, 2, &all[1..]))).unwrap(), all[1..]);
        let mut walk = Walk::new(0);
        let refused = walk.step(&unsigned(), &with_mac(&trust, epoch(1))).unwrap_err();
        assert!(refused.to_string().contains("has no stream key"), "{refused}");
    }

    #[test]
    fn pl_37_only_a_start_of_the_current_writer_moves_the_start() {
        let all = records(genesis(0), [b"one", b"two", b"six"]);
        let (trust, mut walk) = (signed(0), Walk::new(0));
        let begun = |first, sequence| Start {
            sequence,
            epoch: 1,
            log: LogStart { first, previous: motherlode_log::hash(&all[usize::try_from(first).unwrap() - 2]) },
            identity: Some([8; 32]),
        };
        let start = |sequence, epoch, start: Start| message(sequence, Kind::Start, Some(epoch), start.encode());
        let messages = [
            with_mac(&trust, epoch(1)),
            with_mac(&trust, append(2, 1, 1, &all[..1])),
            with_mac(&trust, append(3, 1, 2, &all[1..2])),
            with_mac(&trust, append(4, 1, 3, &all[2..])),
            start(5, 1, begun(3, 4)),
            with_mac(&trust, start(6, 2, begun(3, 4))),
            with_mac(&trust, start(7, 1, begun(3, 7))),
            with_mac(&trust, start(8, 1, Start { log: LogStart { first: 5, previous: [0; 32] }, ..begun(3, 4) })),
            with_mac(&trust, start(9, 1, begun(3, 4))),
            with_mac(&trust, start(10, 1, begun(2, 3))),
        ];
        messages.iter().for_each(|message| drop(walk.step(&trust, message).unwrap()));
        assert_eq!((walk.sequence, walk.next, walk.foreign, walk.start), (11, 4, 4, begun(3, 4)));
        let mut later = Walk::from_start(walk.start);
        let walked: Vec<_> = messages[3..].iter().flat_map(|message| later.step(&trust, message).unwrap()).collect();
        assert_eq!((walked, later.head, later.start), (all[2..].to_vec(), walk.head, walk.start));
    }
}
