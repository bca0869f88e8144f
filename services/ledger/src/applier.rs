//! Applies records written by another process as if the local writer had committed them.

use crate::{
    chain::ChainHead,
    chain::verify,
    core::LedgerCore,
    error::{FetchError, OpenError},
    requests::Name,
    snapshot::Snapshots,
    walk::recall,
};
use bytes::Bytes;
use motherlode_log::{Hash, Record};
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{Books, Commit, Refused, Stage, StreamId};
use parking_lot::RwLockReadGuard;
use std::sync::Arc;

pub(crate) struct Applier {
    pub(crate) shared: Arc<LedgerCore>,
    pub(crate) snapshots: Snapshots,
}

impl Applier {
    /// If a record fails, earlier records stay applied.
    pub(crate) fn apply(&self, records: impl IntoIterator<Item = Bytes>) -> Result<(), OpenError> {
        let mut group = Group::after(*self.shared.head.borrow());
        for bytes in records {
            let record = Record { position: group.head.position + 1, bytes };
            let position = record.position;
            let hash = verify(group.head.hash, std::slice::from_ref(&record))?;
            let logged = record::decode(&record.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let mut staged = self.stage(&mut group.stage, &logged.commit, hash)?;
            if staged.is_err() && !group.logged.is_empty() {
                // The commit may depend on earlier records of the group, so these records are published before the
                // commit is tried again.
                group = self.publish(group);
                staged = self.stage(&mut group.stage, &logged.commit, hash)?;
            }
            staged.map_err(|source| OpenError::Refused { position, source })?;
            group.sizes.push(record.bytes.len());
            group.names.push(self.shared.requests.name(&logged.commit.stream, &logged.commit.request_id));
            group.logged.push(Arc::new(logged));
            group.hashes.push(hash);
            group.head = ChainHead { position, hash };
        }
        self.publish(group);
        Ok(())
    }

    fn stage(&self, stage: &mut Stage, commit: &Commit, hash: Hash) -> Result<Result<(), Refused>, OpenError> {
        let applied = stage.apply_recorded(&*self.books_with(&commit.stream)?, commit, None, |_| hash);
        let Err(Refused::RecallNeeded { round }) = applied else { return Ok(applied) };
        let recalled = recall(&*self.shared.reader, commit, round)?;
        let books = self.books_with(&commit.stream)?;
        Ok(stage.apply_recorded(&books, commit, recalled.as_ref(), |_| hash))
    }

    fn books_with(&self, stream: &StreamId) -> Result<RwLockReadGuard<'_, Books>, OpenError> {
        self.shared.books_with(stream).map_err(|error| match error {
            FetchError::View(error) => OpenError::View(error),
            other => OpenError::Origin(other.to_string()),
        })
    }

    fn publish(&self, group: Group) -> Group {
        let Group { mut stage, logged, sizes, names, hashes, head } = group;
        if !logged.is_empty() {
            self.shared.publish(&mut stage, &logged, sizes.into_iter(), &names, hashes.into_iter(), head);
            self.snapshots.look();
        }
        Group::after(head)
    }
}

struct Group {
    stage: Stage,
    logged: Vec<Arc<Logged>>,
    sizes: Vec<usize>,
    names: Vec<Name>,
    hashes: Vec<Hash>,
    head: ChainHead,
}

impl Group {
    fn after(head: ChainHead) -> Self {
        Self { stage: Stage::new(), logged: vec![], sizes: vec![], names: vec![], hashes: vec![], head }
    }
}
