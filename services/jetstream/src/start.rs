//! Start of a pruned log (PL-37). The writer records it in a `<stream>.start` message before the first removal:
//!
//! ```text
//! "MLSTART1"  first message u64  its epoch u64  first position u64  hash of the record before it 32
//! hash of record 1 32
//! ```

use bytes::{Buf, BufMut, Bytes};
use motherlode_log::{Hash, LogStart};

const MAGIC: &[u8] = b"MLSTART1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub sequence: u64,
    pub epoch: u64,
    pub log: LogStart,
    pub identity: Option<Hash>,
}

impl Start {
    pub(crate) fn genesis(partition: u32) -> Self {
        Self { sequence: 1, epoch: 0, log: LogStart::genesis(partition), identity: None }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = MAGIC.to_vec();
        [self.sequence, self.epoch, self.log.first].into_iter().for_each(|number| bytes.put_u64_le(number));
        bytes.put_slice(&self.log.previous);
        bytes.put_slice(&self.identity.unwrap_or_default());
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut body = bytes.strip_prefix(MAGIC)?;
        let mut number = || body.try_get_u64_le().ok();
        let (sequence, epoch, first) = (number()?, number()?, number()?);
        let (mut previous, mut identity) = ([0; 32], [0; 32]);
        body.try_copy_to_slice(&mut previous).ok()?;
        body.try_copy_to_slice(&mut identity).ok()?;
        let is_sound = body.is_empty() && sequence > epoch && epoch > 0 && first > 1;
        is_sound.then_some(Self { sequence, epoch, log: LogStart { first, previous }, identity: Some(identity) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_37_a_start_is_read_as_it_was_written_and_nothing_else_is_a_start() {
        let log = LogStart { first: 41, previous: [7; 32] };
        let start = Start { sequence: 9, epoch: 3, log, identity: Some([5; 32]) };
        let bytes = start.encode();
        assert_eq!((bytes.len(), Start::decode(&bytes)), (96, Some(start)));
        assert!((0..bytes.len()).all(|length| Start::decode(&bytes[..length]).is_none()));
        assert_eq!(Start::decode(&[&bytes[..], b"x"].concat()), None);
        for wrong in [
            Start { sequence: 3, ..start },
            Start { epoch: 0, ..start },
            Start { log: LogStart { first: 1, ..log }, ..start },
        ] {
            assert_eq!(Start::decode(&wrong.encode()), None, "{wrong:?}");
        }
    }
}
