//! Copies the writer's newest checkpoint, so that a new replica has to apply only the records after it.
//!
//! The replica checks each file by its digest, and the checkpoint's last record against the log. If the copy fails, the
//! replica replays the log.

use super::link::{Client, Link, status_text};
use crate::{players::STATE_VERSION, snapshot::views};
use motherlode_log::{Hash, Position};
use motherlode_proto::log::v1::{GetViewCheckpointRequest, ReadViewFileRequest, ReadViewFileResponse};
use motherlode_views::{Checkpoint, Store, ViewError};
use std::{cmp::Ordering, path::Path, time::Duration};
use tokio::time::timeout;
use tonic::{Code, Status};

/// Maximum number of missing records for which the replica replays the log instead of copying a checkpoint.
const FOLDED_MAX: u64 = 20_000;
/// Maximum number of attempts to copy a checkpoint; an attempt fails if the writer removes a file meanwhile.
const ATTEMPTS: usize = 3;
const FILE_BYTES_MAX: u64 = 1 << 30;
const ANSWER_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
enum Unfetched {
    #[error("{}", status_text(_0))]
    Call(#[from] Status),
    #[error("the writer did not answer in time")]
    Late,
    #[error(transparent)]
    View(#[from] ViewError),
    #[error("the writer's checkpoint has state version {0}, but this program has state version {STATE_VERSION}")]
    OtherVersion(u32),
    #[error("the received parts of a file are not {0} bytes in total, or the file is too long")]
    Length(u64),
}

pub(super) async fn fetch(link: &Link, index: &Path, end: Position) {
    let store = views(index, link.partition);
    let own = store.checkpoints().into_iter().find(|(_, of)| of.state_version == STATE_VERSION);
    let own = own.map_or(0, |(_, of)| of.position);
    if end == 0 || own > 0 && own.saturating_add(FOLDED_MAX) >= end {
        return;
    }
    for _ in 0..ATTEMPTS {
        let (_, client) = link.client().await;
        let copying = Copying { client, partition: link.partition };
        match copying.copy(&store, own).await {
            Ok(0) => return,
            Ok(position) => {
                tracing::info!(position, "the writer's checkpoint was copied");
                return;
            }
            Err(Unfetched::Call(status)) if status.code() == Code::Unimplemented => return,
            Err(error) => tracing::warn!(%error, "failed to copy the writer's checkpoint"),
        }
    }
}

struct Copying {
    client: Client,
    partition: u32,
}

impl Copying {
    async fn copy(mut self, store: &Store, own: Position) -> Result<Position, Unfetched> {
        let request = GetViewCheckpointRequest { partition: self.partition };
        let found = timeout(ANSWER_MAX, self.client.get_view_checkpoint(request)).await;
        let digest = found.map_err(|_| Unfetched::Late)??.into_inner().digest;
        let Ok(digest) = Hash::try_from(digest) else { return Ok(0) };
        let mut bytes = vec![];
        self.read(&digest, |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })
        .await?;
        let mut checkpoint = Checkpoint::verified(&bytes, &digest, self.partition, store.folder())?;
        if checkpoint.state_version != STATE_VERSION {
            return Err(Unfetched::OtherVersion(checkpoint.state_version));
        }
        if checkpoint.position <= own {
            return Ok(0);
        }
        for id in checkpoint.tables() {
            let Some(mut copy) = store.copy_table(*id)? else { continue };
            self.read(id, |part| copy.put(part)).await?;
            copy.finish()?;
        }
        store.add(&mut checkpoint)?;
        Ok(checkpoint.position)
    }

    async fn read(
        &mut self,
        digest: &Hash,
        mut each: impl FnMut(&[u8]) -> Result<(), ViewError>,
    ) -> Result<(), Unfetched> {
        let mut offset = 0;
        loop {
            let request = ReadViewFileRequest { partition: self.partition, digest: digest.to_vec(), offset };
            let read = timeout(ANSWER_MAX, self.client.read_view_file(request)).await;
            let ReadViewFileResponse { content, length } = read.map_err(|_| Unfetched::Late)??.into_inner();
            offset += content.len() as u64;
            each(&content)?;
            match offset.cmp(&length) {
                Ordering::Equal => return Ok(()),
                Ordering::Less if !content.is_empty() && length <= FILE_BYTES_MAX => {}
                _ => return Err(Unfetched::Length(length)),
            }
        }
    }
}
