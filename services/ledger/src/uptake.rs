//! Taking up what another process has written: verified, folded and made visible, as the writer's own commits are where
//! the log is written.

use crate::{
    OpenError,
    index::Held,
    open::{follow, recall},
    requests::Name,
    shared::{Handed, Shared},
};
use bytes::Bytes;
use motherlode_books::{Commit, Refused, Stage};
use motherlode_log::Record;
use motherlode_proto::convert::record::{self, Logged};
use std::sync::{Arc, mpsc::SyncSender};

/// A ledger's state, and the way to it for what comes after.
pub(crate) struct Uptake {
    pub(crate) shared: Arc<Shared>,
    pub(crate) projector: SyncSender<Handed>,
}

impl Uptake {
    /// Takes up records that continue what is held. If one can't be taken up, some before it may have been.
    pub(crate) fn take(&self, records: impl IntoIterator<Item = Bytes>) -> Result<(), OpenError> {
        let mut group = Group::after(*self.shared.head.borrow());
        for bytes in records {
            let record = Record { position: group.held.position + 1, bytes };
            let position = record.position;
            let hash = follow(group.held.hash, std::slice::from_ref(&record))?;
            let logged = record::decode(&record.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let mut taken = self.stage(&mut group.stage, &logged.commit)?;
            if taken.is_err() && !group.logged.is_empty() {
                // Whoever wrote it rested on what was durable by then, which may be among these very records.
                group = self.publish(group);
                taken = self.stage(&mut group.stage, &logged.commit)?;
            }
            taken.map_err(|source| OpenError::Refused { position, source })?;
            group.names.push(self.shared.requests.read().name(&logged.commit.stream, &logged.commit.request_id));
            group.logged.push(Arc::new(logged));
            group.held = Held { position, hash };
        }
        self.publish(group);
        Ok(())
    }

    /// Adds a commit to a stage over the books, with what it recalls.
    fn stage(&self, stage: &mut Stage, commit: &Commit) -> Result<Result<(), Refused>, OpenError> {
        // Locked once a commit: to recall a round may take a while, and readers are not to wait for it.
        let applied = stage.apply(&self.shared.books.read(), commit);
        let Err(Refused::RecallNeeded { round }) = applied else { return Ok(applied) };
        let recalled = recall(&*self.shared.reader, commit, round)?;
        Ok(stage.apply_recalling(&self.shared.books.read(), commit, recalled.as_ref()))
    }

    /// Makes a group visible; the next one comes after it.
    fn publish(&self, group: Group) -> Group {
        let Group { stage, logged, names, held } = group;
        if !logged.is_empty() {
            self.shared.publish(stage, &logged, &names, held);
            // Where it's behind, or gone, it reads the log.
            let _ = self.projector.try_send(Handed { logged });
        }
        Group::after(held)
    }
}

/// Commits that become visible together.
struct Group {
    stage: Stage,
    logged: Vec<Arc<Logged>>,
    names: Vec<Name>,
    /// The last of them, or what they come after.
    held: Held,
}

impl Group {
    fn after(held: Held) -> Self {
        Self { stage: Stage::new(), logged: vec![], names: vec![], held }
    }
}
