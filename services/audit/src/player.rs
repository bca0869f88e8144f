//! The threads in the middle: each decodes the records of its own players, resolves their steps again and adds up their days.

use crate::{
    days::Days,
    divergence::{Divergence, Fault},
    play::Plays,
    reading::{Part, name_of},
    recalled::Recalled,
};
use motherlode_books::StreamId;
use motherlode_log::Record;
use motherlode_proto::convert::record::{self, Logged};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender},
    },
};

/// Commits of a batch, decoded.
pub(crate) type Commits = Arc<Vec<Logged>>;

/// The players of one thread.
pub(crate) struct Players<'a> {
    pub(crate) plays: Plays<'a>,
    pub(crate) days: Days,
    partition: u32,
}

impl<'a> Players<'a> {
    pub(crate) fn new(partition: u32, recalled: &'a Recalled) -> Self {
        Self { plays: Plays::new(recalled), days: Days::default(), partition }
    }

    /// Takes parts of batches until they end or one has a fault; hands the commits on, those of the part with a fault too, as far
    /// as they can be decoded. Keeps so many parts.
    pub(crate) fn run(
        &mut self,
        parts: &Receiver<Part>,
        fold: &SyncSender<Commits>,
        kept: usize,
    ) -> Result<(), Box<Divergence>> {
        // They are freed by the thread that made them, where the allocator has their memory at hand.
        let mut handed_on = VecDeque::with_capacity(kept + 1);
        for Part { of_partition, records } in parts {
            let mut commits = Vec::with_capacity(records.len());
            let decoded = records.iter().try_for_each(|record| {
                let logged = self.decode(of_partition, record);
                commits.push(logged.map_err(|fault| fault.at(self.partition, record.position))?);
                Ok(())
            });
            drop(records);
            let commits = Arc::new(commits);
            let checked = commits.iter().try_for_each(|logged| self.commit(logged));
            // It may be gone for a fault of its own; what is at fault here can still come first.
            let _ = fold.send(Arc::clone(&commits));
            handed_on.push_back(commits);
            if handed_on.len() > kept {
                handed_on.pop_front();
            }
            checked.and(decoded)?;
        }
        Ok(())
    }

    fn commit(&mut self, logged: &Logged) -> Result<(), Box<Divergence>> {
        let commit = &logged.commit;
        let checked = self.days.take(commit).and_then(|()| self.plays.commit(commit));
        checked.map_err(|fault| fault.at(self.partition, commit.position))
    }

    fn decode(&self, of_partition: bool, record: &Record) -> Result<Logged, Fault> {
        let Record { position, bytes } = record;
        let logged =
            record::decode(bytes).map_err(|malformed| Fault::new("the record is no commit", "a commit", malformed))?;
        let Logged { commit, .. } = &logged;
        if !of_partition || commit.partition != self.partition {
            return Err(Fault::new("the record is another partition's", self.partition, commit.partition));
        }
        if commit.position != *position {
            return Err(Fault::new("the record names another position", position, commit.position));
        }
        match &commit.stream {
            StreamId::Player { operator, player } if !is_named(bytes, operator, player) => {
                let (first, last) = (name_of(bytes), commit.stream.to_string());
                if *first == *last.as_bytes() {
                    return Ok(logged);
                }
                // Another thread may have what came before of the player.
                Err(Fault::new("the record names two streams", String::from_utf8_lossy(&first), last))
            }
            _ => Ok(logged),
        }
    }
}

/// Whether a record is handed out by its player's name.
fn is_named(record: &[u8], operator: &str, player: &str) -> bool {
    let name =
        record::stream_name(record).and_then(|name| name.strip_prefix(b"player/")?.strip_prefix(operator.as_bytes()));
    name.and_then(|name| name.strip_prefix(b"/")) == Some(player.as_bytes())
}
