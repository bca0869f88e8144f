use crate::bet::{DrawnFor, Named};
use motherlode_ledger::fields::RoundId;
use motherlode_state::{Automatic, Event, InternalRequest, OpenRound, SmolStr};

pub(crate) struct AutomaticStep<'a> {
    pub(crate) round: &'a RoundId,
    pub(crate) request_id: SmolStr,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) why: &'a (dyn Fn(&OpenRound) -> Option<Automatic> + Sync),
    pub(crate) acted: Option<Event>,
}

static OWN: DrawnFor = DrawnFor { client_seed: vec![], sealed: None };

impl AutomaticStep<'_> {
    pub(crate) fn named(&self) -> Named<'_> {
        let Self { round, request_id, fingerprint, .. } = self;
        Named { stream: &round.stream, request_id, fingerprint: *fingerprint, drawn: &OWN, series: None }
    }
}

pub(crate) fn step_request_id(round: u64, step: u32) -> String {
    InternalRequest::AutomaticStep { round, step }.to_string()
}

pub(crate) fn next_step(open: &OpenRound) -> u32 {
    u32::try_from(open.steps.len()).unwrap_or(u32::MAX).saturating_add(1)
}
