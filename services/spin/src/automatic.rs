//! Steps that are resolved for a player, and the ids under which they are.

use motherlode_books::{Automatic, Event, InternalRequest, OpenRound, SmolStr};
use motherlode_ledger::fields::RoundId;

/// A step that is asked for.
pub(crate) struct Asked<'a> {
    pub(crate) round: &'a RoundId,
    pub(crate) request_id: SmolStr,
    pub(crate) fingerprint: [u8; 16],
    /// Why the step is automatic, as the round stands; none when it isn't, any more.
    pub(crate) why: &'a (dyn Fn(&OpenRound) -> Option<Automatic> + Sync),
    /// Who asks, where that's to be logged with it.
    pub(crate) acted: Option<Event>,
}

/// The id under which a step of a round is resolved by nobody in particular.
pub(crate) fn step_request_id(round: u64, step: u32) -> String {
    InternalRequest::AutomaticStep { round, step }.to_string()
}

/// The number of a round's next step.
pub(crate) fn next_step(open: &OpenRound) -> u32 {
    u32::try_from(open.steps.len()).unwrap_or(u32::MAX).saturating_add(1)
}
