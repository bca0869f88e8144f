//! Limits on the bytes of other processes' proposals. No proposal is read from a stream that has reached its own limit.
//! If a credential's limit or the total limit is exceeded, proposals fail with RESOURCE_EXHAUSTED.

use crate::append::AppendError;
use motherlode_proto::log::v1::Proposal;
use motherlode_runtime::{Reason, Refusal};
use parking_lot::Mutex;
use prost::Message as _;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const PROPOSAL_MAX: usize = 256 << 10;
const EVENTS_MAX: usize = 1024;
const STREAM_MAX: usize = 2 << 20;
const CREDENTIAL_MAX: usize = 16 << 20;
const ALL_MAX: usize = 64 << 20;
const EVENT_BYTES: usize = 256;
const RETRY_AFTER: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default)]
pub(crate) struct Budget(Arc<Mutex<InFlight>>);

#[derive(Debug, Default)]
struct InFlight {
    all: usize,
    credentials: BTreeMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct StreamBytes {
    budget: Budget,
    credential: String,
    proposals: BTreeMap<u64, (usize, usize)>,
    bytes: usize,
}

fn cost(proposal: &Proposal) -> usize {
    proposal.encoded_len() + EVENT_BYTES * (proposal.events.len() + 1)
}

pub(crate) fn check_length(proposal: &Proposal) -> Result<(), AppendError> {
    let (bytes, events) = (proposal.encoded_len(), proposal.events.len());
    if bytes <= PROPOSAL_MAX && events <= EVENTS_MAX {
        return Ok(());
    }
    let reason = format!(
        "the proposal has {bytes} bytes and {events} events; at most {PROPOSAL_MAX} bytes and {EVENTS_MAX} events are allowed"
    );
    Err(AppendError::not_allowed(Reason::ProposalTooLong, reason))
}

impl Budget {
    pub(crate) fn stream(&self, credential: &str) -> StreamBytes {
        let (budget, credential) = (self.clone(), credential.to_owned());
        StreamBytes { budget, credential, proposals: BTreeMap::new(), bytes: 0 }
    }
}

impl StreamBytes {
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < STREAM_MAX
    }

    pub(crate) fn take(&mut self, proposals: &[Proposal]) -> Result<(), Refusal> {
        self.charge(proposals.iter().map(|proposal| (proposal.ticket, cost(proposal))).collect())
    }

    fn charge(&mut self, costs: Vec<(u64, usize)>) -> Result<(), Refusal> {
        let more = costs.iter().map(|(_, cost)| cost).sum::<usize>();
        {
            let mut in_flight = self.budget.0.lock();
            let had = in_flight.credentials.get(&self.credential).copied().unwrap_or_default();
            let (credential, all) = (had.saturating_add(more), in_flight.all.saturating_add(more));
            if credential > CREDENTIAL_MAX || all > ALL_MAX {
                let message = "the proposed but undecided commits together exceed the size limit: retry later";
                let refusal = Refusal::new(Reason::ProposalBytes, message);
                return Err(refusal.with("bytes_max", CREDENTIAL_MAX).retry_after(RETRY_AFTER));
            }
            in_flight.all = all;
            in_flight.credentials.insert(self.credential.clone(), credential);
        }
        self.bytes += more;
        for (ticket, cost) in costs {
            let (count, bytes) = self.proposals.entry(ticket).or_default();
            (*count, *bytes) = (*count + 1, *bytes + cost);
        }
        Ok(())
    }

    pub(crate) fn give_back(&mut self, tickets: impl Iterator<Item = u64>) {
        let mut released = 0;
        for ticket in tickets {
            let Some((count, bytes)) = self.proposals.get_mut(&ticket) else { continue };
            let share = *bytes / *count;
            (*count, *bytes) = (*count - 1, *bytes - share);
            released += share;
            if *count == 0 {
                self.proposals.remove(&ticket);
            }
        }
        self.release(released);
    }

    fn release(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.bytes -= bytes;
        let mut in_flight = self.budget.0.lock();
        in_flight.all -= bytes;
        if let Some(of_credential) = in_flight.credentials.get_mut(&self.credential) {
            *of_credential -= bytes;
            if *of_credential == 0 {
                in_flight.credentials.remove(&self.credential);
            }
        }
    }
}

impl Drop for StreamBytes {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::log::v1::Event;

    fn taken(stream: &mut StreamBytes, ticket: u64, cost: usize) -> bool {
        stream.charge(vec![(ticket, cost)]).is_ok()
    }

    #[test]
    fn mf_e5_bytes_in_flight_are_bounded_per_credential_and_in_all_and_are_given_back() {
        let budget = Budget::default();
        let mut first = budget.stream("spin");
        assert!(first.has_room() && taken(&mut first, 1, STREAM_MAX) && !first.has_room());
        let mut second = budget.stream("spin");
        assert!(taken(&mut second, 1, CREDENTIAL_MAX - STREAM_MAX));
        let refused = budget.stream("spin").charge(vec![(1, 1)]).unwrap_err();
        let status = tonic::Status::from(refused);
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        let others: Vec<_> = (1..ALL_MAX / CREDENTIAL_MAX).map(|other| budget.stream(&other.to_string())).collect();
        let mut others = others;
        assert!(others.iter_mut().all(|other| taken(other, 1, CREDENTIAL_MAX)));
        assert!(!taken(&mut budget.stream("another"), 1, 1));
        second.give_back([1, 7].into_iter());
        assert!(taken(&mut second, 2, 5) && taken(&mut second, 2, 6));
        second.give_back([2].into_iter());
        assert_eq!(second.bytes, 6, "a verdict releases one proposal of several with its ticket");
        second.give_back([2, 2].into_iter());
        assert_eq!(second.bytes, 0);
        assert!(taken(&mut budget.stream("another"), 1, 1));
        drop((first, second, others));
        assert_eq!(budget.0.lock().all, 0);
        assert!(budget.0.lock().credentials.is_empty());
    }

    #[test]
    fn mf_e5_a_proposal_that_is_too_long_or_has_too_many_events_is_refused() {
        let proposal = |request_id: usize, events: usize| Proposal {
            request_id: "r".repeat(request_id),
            events: vec![Event::default(); events],
            ..Proposal::default()
        };
        assert!(check_length(&proposal(100_000, EVENTS_MAX)).is_ok());
        for (request_id, events) in [(PROPOSAL_MAX + 1, 0), (1, EVENTS_MAX + 1)] {
            assert!(matches!(check_length(&proposal(request_id, events)), Err(AppendError::NotAllowed { .. })));
        }
    }
}
