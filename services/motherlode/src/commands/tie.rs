//! Checks by a record's hash that a feed resumes in the same log. If the log was restored from an older copy, the same
//! positions may have different records.

use super::Failure;
use motherlode_jetstream::Last;
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::{FollowLogResponse, LogRecord},
};

pub(super) struct Tie {
    partition: u32,
    /// Position and hash of the reader's last record. The feed starts with this record, which is checked but not passed
    /// on.
    to: Option<(u64, String)>,
}

impl Tie {
    pub(super) fn after(partition: u32, last: Last) -> (Self, u64) {
        let Last { position, sha256 } = last;
        let to = sha256.filter(|_| position > 0).map(|sha256| (position, sha256));
        let held = if to.is_some() { position - 1 } else { position };
        (Self { partition, to }, held)
    }

    pub(super) fn records<'a>(&mut self, message: &'a FollowLogResponse) -> Result<&'a [LogRecord], Failure> {
        let records = message.records.as_slice();
        let Some((position, had)) = self.to.as_ref().filter(|(position, _)| message.sent_position >= *position) else {
            return Ok(records);
        };
        let of = format!("record at position {position} of partition {}", self.partition);
        match records.split_first() {
            Some((first, rest)) if first.position == *position => {
                let has = hex(&motherlode_log::hash(&first.record));
                if has != *had {
                    return Err(another(format!(
                        "the feed's {of} has the SHA-256 {had}, but this log's record has {has}"
                    )));
                }
                self.to = None;
                Ok(rest)
            }
            _ => Err(another(format!("this log has no {of}, or this credential may not read it"))),
        }
    }
}

fn another(why: String) -> Failure {
    Failure::unusable(format!("the feed was made from another log, or from this log before it was restored: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(positions: &[u64], sent_position: u64) -> FollowLogResponse {
        let record =
            |position: &u64| LogRecord { partition: 0, position: *position, record: position.to_be_bytes().to_vec() };
        FollowLogResponse { records: positions.iter().map(record).collect(), sent_position, ..Default::default() }
    }

    fn sha256(position: u64) -> String {
        hex(&motherlode_log::hash(&position.to_be_bytes()))
    }

    #[test]
    fn pl_34_a_feed_goes_on_after_its_own_record_alone() {
        let tied = |position, sha256| Tie::after(0, Last { position, sha256: Some(sha256) });
        let (mut tie, held) = tied(5, sha256(5));
        assert_eq!(held, 4, "the named record is requested again");
        assert!(tie.records(&message(&[], 4)).unwrap().is_empty());
        let (first, next) = (message(&[5, 7], 8), message(&[9], 9));
        assert_eq!(tie.records(&first).unwrap(), &first.records[1..]);
        assert_eq!(tie.records(&next).unwrap(), &next.records[..]);
        for (sha256, sent) in
            [(sha256(4), message(&[5], 5)), (sha256(5), message(&[6], 6)), (sha256(5), message(&[], 9))]
        {
            let failure = tied(5, sha256).0.records(&sent).unwrap_err();
            assert!(failure.message.contains("another log"), "{}", failure.message);
        }
        let (mut untied, held) = Tie::after(0, Last { position: 5, sha256: None });
        assert_eq!((held, untied.records(&next).unwrap().len()), (5, 1));
    }
}
