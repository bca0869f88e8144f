//! Checks that no commit after a cancellation executes the cancelled request or a part of it (PL-42).

use crate::divergence::Fault;
use motherlode_state::{Commit, SmolStr, StreamId};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct Cancelled(BTreeSet<(StreamId, SmolStr)>);

impl Cancelled {
    pub(crate) fn take(&mut self, commit: &Commit) -> Result<(), Fault> {
        let named = |request_id: &SmolStr| (commit.stream.clone(), request_id.clone());
        if !self.0.is_empty() {
            let of = [Some(&commit.request_id), commit.series()].into_iter().flatten();
            if let Some(request_id) = of.into_iter().find(|request_id| self.0.contains(&named(request_id))) {
                let what =
                    format!("PL-42: request {request_id} of {} took effect after its cancellation", commit.stream);
                return Err(Fault::new(what, "the cancelled request must have no effect", commit.request_id.as_str()));
            }
        }
        if commit.is_cancelled() {
            self.0.insert(named(&commit.request_id));
        }
        Ok(())
    }
}
