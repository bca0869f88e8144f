//! Copies partition 0's exchange rates and stop switches to all other partitions. The request id of a copied commit
//! contains the original's position, so that no commit is copied twice.

use crate::proposal::{append_there, proposal};
use motherlode_ledger::{AppendError, FetchError, Handle, is_copied};
use motherlode_state::{InternalRequest, StreamId};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Copies {
    looked_at: BTreeMap<(u32, StreamId), u64>,
}

impl Copies {
    pub(crate) async fn bring_to(&mut self, home: &Handle, other: &Handle) -> Result<(), AppendError> {
        for stream in [StreamId::Rates, StreamId::System] {
            let key = (other.partition(), stream.clone());
            let head = home.books(|books| books.head(&stream).position);
            let looked_at = self.looked_at.get(&key).copied().unwrap_or_default();
            if head > looked_at && copy(home, other, &stream, head, looked_at).await? {
                self.looked_at.insert(key, head);
            }
        }
        Ok(())
    }
}

async fn copy(home: &Handle, other: &Handle, stream: &StreamId, to: u64, looked_at: u64) -> Result<bool, AppendError> {
    let last = other.books(|books| books.head(stream));
    let copied_to = match last.position {
        0 => 0,
        position if position < other.first() => 0,
        position => InternalRequest::copied_position(&other.fetch(position).map_err(unreadable)?.commit.request_id)
            .unwrap_or_default(),
    };
    let (mut lacking, mut position) = (vec![], to);
    // A prune removes a decision only after all partitions have copied it, so the search may end at `home.first()`.
    while position > copied_to.max(looked_at) && position >= home.first() {
        let logged = home.fetch(position).map_err(unreadable)?;
        let decided: Vec<_> = logged.commit.events.iter().filter(|event| is_copied(event)).cloned().collect();
        if !decided.is_empty() {
            lacking.push((position, decided));
        }
        position = logged.commit.previous;
    }
    for (version, (position, events)) in (last.version..).zip(lacking.into_iter().rev()) {
        let copied = proposal(stream.clone(), Some(version), InternalRequest::CopyHome { position }, events);
        match append_there(other, copied).await {
            Err(AppendError::Conflict { .. }) => return Ok(false),
            Err(AppendError::Archived { .. }) => {}
            copied => copied?,
        }
    }
    Ok(true)
}

fn unreadable(error: FetchError) -> AppendError {
    AppendError::Unknown { reason: error.to_string() }
}
