//! Copies of home's decisions for all partitions: rates and switches.
//!
//! Each other partition has the same events in the same order on a stream of the same name, one commit for each of home's,
//! under a request id made of its position there: so that each comes once after any crash, and the last one tells how
//! far the copy is. Cost: a look at the stream's head each time; a walk back through what is new, or, at the first time
//! after a start, to what was copied last.

use crate::proposal::{append_there, proposal};
use motherlode_books::{InternalRequest, StreamId};
use motherlode_ledger::{AppendError, FetchError, Handle, is_copied};
use std::collections::BTreeMap;

/// Copies to one partition after the other.
#[derive(Default)]
pub(crate) struct Copies {
    /// By partition and stream, the last position at home that was looked at and is copied.
    looked_at: BTreeMap<(u32, StreamId), u64>,
}

impl Copies {
    /// Copies what a partition lacks.
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

/// Copies a stream of home up to a position; false if another commit came in between.
async fn copy(home: &Handle, other: &Handle, stream: &StreamId, to: u64, looked_at: u64) -> Result<bool, AppendError> {
    let last = other.books(|books| books.head(stream));
    let copied_to = match last.position {
        0 => 0,
        position => InternalRequest::copied_position(&other.fetch(position).map_err(unreadable)?.commit.request_id)
            .unwrap_or_default(),
    };
    let (mut lacking, mut position) = (vec![], to);
    while position > copied_to.max(looked_at) {
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
            copied => copied?,
        }
    }
    Ok(true)
}

fn unreadable(error: FetchError) -> AppendError {
    AppendError::Unknown { reason: error.to_string() }
}
