//! Rounds finished for their player by the rules of their game: skipped to the result (DM-21), closed by the operator
//! (PL-20), or left alone for longer than the game waits (PL-03, ME-20).
//!
//! Each step is a commit of its own that says why it was automatic. The first has the request id of whoever asks for it,
//! every further one the id `auto/<round>/<step>`, whoever makes it: so a repetition, the sweeper and a second sweeper
//! finish what a crash left unfinished, and nothing is done twice. A choice of the player's that comes first in the log
//! wins: what follows it is theirs again.

use crate::{
    automatic::{Asked, next_step, step_request_id},
    dealer::Dealer,
    decide,
    state::State,
};
use motherlode_books::{Event, InternalRequest, OpenRound};
use motherlode_ledger::{AppendError, Ledgers, fields::RoundId};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::Refusal;
use std::sync::Arc;

/// Finishes rounds on the ledgers, with seeds of a dealer.
#[derive(Clone)]
pub(crate) struct Finisher {
    pub(crate) ledgers: Ledgers,
    pub(crate) dealer: Dealer,
}

impl Finisher {
    /// Resolves the next step of a round; `None` where it's not open, or not to be resolved. On a conflict it's decided
    /// again, with the same seed.
    pub(crate) async fn step(&self, asked: &Asked<'_>) -> Result<Option<Arc<Logged>>, Refusal> {
        let seed = self.dealer.deal();
        let ledger = self.ledgers.of(&asked.round.stream);
        loop {
            let state = ledger.books(|books| State::of_player(books, &asked.round.stream));
            let Some(decided) = decide::automatic(&state, asked, seed) else { return Ok(None) };
            match ledger.append(decided?.proposal).await {
                Ok(logged) => return Ok(Some(logged)),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Resolves a round to its end after a step that was automatic; that step and all further ones, as far as they
    /// were automatic.
    pub(crate) async fn finish(&self, round: &RoundId, first: Arc<Logged>) -> Result<Vec<Arc<Logged>>, Refusal> {
        let mut steps = vec![first];
        while let Some(next) = steps.last().and_then(|last| follower(last)) {
            let request_id = step_request_id(round.number, next);
            let why = |open: &OpenRound| open.automatic.clone().filter(|_| next_step(open) == next);
            let asked = Asked { round, request_id, fingerprint: InternalRequest::FINGERPRINT, why: &why, acted: None };
            let made = match self.step(&asked).await? {
                Some(logged) => Some(logged),
                None => self.ledgers.of(&round.stream).find(
                    &round.stream,
                    &asked.request_id,
                    InternalRequest::FINGERPRINT,
                )?,
            };
            match made {
                Some(logged) => steps.push(logged),
                None => break,
            }
        }
        Ok(steps)
    }
}

/// The number of the step after the one that a commit resolved; none where it settled the round.
fn follower(logged: &Logged) -> Option<u32> {
    let mut step = None;
    for event in &logged.commit.events {
        match event {
            Event::StepResolved(resolved) => step = resolved.step.checked_add(1),
            Event::RoundSettled { .. } => return None,
            _ => {}
        }
    }
    step
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{SpinApi, Sweeper, Waits};
    use motherlode_books::{Automatic, Currency, Minor, OpenRound, StreamId};
    use motherlode_ledger::{Handle, Options, Proposal};
    use motherlode_log::MemoryStore;
    use motherlode_proto::{
        round::v1::{Account, Awaiting, RoundState, Stake},
        spin::v1::{Played, SkipRoundRequest, SpinRequest},
    };
    use motherlode_runtime::Caller;
    use std::time::Duration;

    /// A player with a round of Mystery Elves: the feature waits, and the gamble of its win after it.
    pub(crate) async fn waiting(api: &SpinApi, player: &str) -> Played {
        let currency = Currency::EUR;
        let proposal = Proposal {
            stream: StreamId::player("acme", player),
            expected_version: None,
            request_id: "fund".into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount: Minor(100_000) }],
        };
        api.ledgers.append(proposal).await.unwrap();
        let account = Account { operator_id: "acme".into(), player_id: player.into(), currency_code: "EUR".into() };
        let request = SpinRequest {
            request_id: "spin".into(),
            account: Some(account),
            game: "mystery-elves".into(),
            stake: Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true }),
            offer_double: true,
            ..SpinRequest::default()
        };
        let mut deal = crate::api::Deal::again(&api.dealer, None);
        let played = api.spin(&Caller::anyone(), &request, &mut deal).await.unwrap();
        assert_eq!(played.outcome.as_ref().unwrap().awaiting(), Awaiting::Feature);
        played
    }

    fn causes(ledger: &Handle, round: &RoundId) -> Vec<i32> {
        let round = motherlode_ledger::rounds::read(ledger, &round.stream, round.number).unwrap().unwrap();
        round.steps.iter().map(|step| step.automatic.as_ref().map_or(0, |automatic| automatic.cause)).collect()
    }

    /// A crash between two steps leaves the round half finished. Whoever comes next finishes it, as what it was begun as;
    /// the request that began it, asked again, answers for all of it.
    #[tokio::test]
    async fn pl_03_pl_11_what_a_crash_left_half_finished_is_finished_once() {
        for sweeper_first in [true, false] {
            let index = tempfile::tempdir().unwrap();
            let ledger =
                motherlode_ledger::open(Box::new(MemoryStore::new(0)), index.path(), Options::default()).unwrap();
            let dealer = Dealer::from_master([5; 32]);
            let (_stopper, stop) = motherlode_runtime::stop::channel();
            let api = SpinApi::new(ledger.clone(), dealer.clone(), Duration::ZERO, stop);
            let played = waiting(&api, "alice").await;
            let round = motherlode_ledger::fields::round_id(&Caller::anyone(), &played.round_id).unwrap();

            let request = SkipRoundRequest {
                request_id: "skip".into(),
                round_id: played.round_id.clone(),
                ..SkipRoundRequest::default()
            };
            let asked = Asked {
                round: &round,
                request_id: "skip".into(),
                fingerprint: motherlode_ledger::fingerprint("skip_round", &request),
                why: &|_: &OpenRound| Some(Automatic::Skipped),
                acted: None,
            };
            let finisher = Finisher { ledgers: ledger.clone().into(), dealer: dealer.clone() };
            finisher.step(&asked).await.unwrap().expect("the first step");
            assert_eq!(causes(&ledger, &round), [0, 1]);

            if sweeper_first {
                Sweeper::new(ledger.clone(), dealer, Waits::default()).sweep().await;
                assert_eq!(causes(&ledger, &round), [0, 1, 1]);
            }
            let steps = api.skip_round(&Caller::anyone(), &request).await.unwrap();
            assert_eq!(causes(&ledger, &round), [0, 1, 1]);
            let numbers: Vec<_> = steps.iter().map(|step| (step.step, step.state())).collect();
            assert_eq!(numbers, [(2, RoundState::Open), (3, RoundState::Settled)]);
            assert_eq!(api.skip_round(&Caller::anyone(), &request).await.unwrap(), steps);
            drop((finisher, api));
            ledger.close().await;
        }
    }
}
