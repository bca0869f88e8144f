//! Deals each step's draw: a random value that was sealed, with its SHA-256 in the log, before the step was requested.
//!
//! The seed derives from the dealt value, the caller's client seed, the round and the step (see
//! [`motherlode_state::draw`]). The service seals a draw before it receives the client seed, and the caller learns the
//! dealt value only when the draw is revealed. Thus neither service nor caller can choose the seed. Dealt values derive
//! from a random draw key. Each day, a new key is created and its id is logged (PL-28).

use crate::bet::{DrawnFor, Named};
use futures_util::future::BoxFuture;
use motherlode_ledger::{AppendError, DrawKeys, Handle, Proposal, draws::DrawKeysError, fields::round_name};
use motherlode_proto::convert::play::hex;
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::Seed;
use motherlode_state::{
    Dealt, Draw, DrawName, Event, Generations, InternalRequest, OpenRound, PlayerState, Refused, Seal, SealReason,
    StreamId, draw,
};
use std::{sync::Arc, time::Duration};
use tonic::{Code, metadata::MetadataMap};

pub const RENEW_EVERY: Duration = Duration::from_secs(600);

pub type Resolve<'a> = &'a dyn Fn(&[u8]) -> Option<Proposal>;

/// Selects client seeds in tests. With a script, GetIdentity answers that outcomes can be forced (`test_build`).
pub trait Script: Send + Sync {
    /// Returns a client seed for a step, or `None` to use the caller's seed. If this function fails, the step is not
    /// played.
    fn client_seed(&self, metadata: &MetadataMap, resolve: Resolve<'_>) -> Result<Option<Vec<u8>>, Refusal>;
}

#[derive(Clone)]
pub struct Dealer {
    keys: DrawKeys,
    script: Option<Arc<dyn Script>>,
}

impl Dealer {
    #[must_use]
    pub fn from_keys(keys: DrawKeys) -> Self {
        Self { keys, script: None }
    }

    pub fn new() -> Result<Self, DrawKeysError> {
        DrawKeys::fresh().map(Self::from_keys)
    }

    #[must_use]
    pub fn from_master(master: Seed) -> Self {
        Self::from_keys(DrawKeys::from_key(master))
    }

    #[must_use]
    pub fn scripted(self, script: Arc<dyn Script>) -> Self {
        Self { script: Some(script), ..self }
    }

    #[must_use]
    pub fn is_scripted(&self) -> bool {
        self.script.is_some()
    }

    #[must_use]
    pub fn keys(&self) -> &DrawKeys {
        &self.keys
    }

    pub(crate) fn scripted_seed(
        &self,
        metadata: &MetadataMap,
        resolve: Resolve<'_>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        self.script.as_ref().map_or(Ok(None), |script| script.client_seed(metadata, resolve))
    }

    pub(crate) fn deal(
        &self,
        player: &PlayerState,
        generations: &Generations,
        named: Named<'_>,
        (round, step): (u64, u32),
    ) -> Result<Dealing, Undecided> {
        let (stream, drawn) = (named.stream, named.drawn);
        let Some(next) = player.draw else { return Err(Undecided::Unsealed(1, SealReason::Unsealed)) };
        let again = |reason| Undecided::Unsealed(next.number.saturating_add(1), reason);
        if !generations.is_usable(next.generation) {
            return Err(again(SealReason::SealsEnded));
        }
        let lost = || again(SealReason::KeyLost);
        let dealt = self.keys.dealt_under(stream, &next, generations).ok_or_else(lost)?;
        if drawn.sealed.is_some_and(|seal| seal != next.seal) {
            return Err(seal_changed(&next.seal).into());
        }
        let sealed = self.keys.seal(stream, next.number.saturating_add(1), generations);
        let (after, next_seal) = sealed.ok_or_else(lost)?;
        let draw = Draw {
            number: next.number,
            epoch: next.epoch,
            generation: next.generation,
            client_seed: drawn.client_seed.clone(),
            next_epoch: after.epoch,
            next_generation: after.generation,
            next_seal,
            sealed_by: next.sealed_by,
        };
        let round = round_name(stream, round);
        let seed = draw::seed(&dealt, draw.client_seed(named.request_id), &round, step);
        Ok(Dealing { seed, dealt, draw })
    }

    pub(crate) fn dealt_of<'a>(
        &'a self,
        stream: &'a StreamId,
        generations: &'a Generations,
    ) -> impl Fn(DrawName) -> Option<Dealt> + 'a {
        |name| self.keys.dealt(stream, name, generations)
    }

    pub(crate) fn revealed(
        &self,
        stream: &StreamId,
        round: u64,
        (earlier, generations): (Option<&OpenRound>, &Generations),
        last: Dealt,
    ) -> Result<Event, Refusal> {
        let mut dealt = match earlier {
            Some(open) => {
                self.keys.revealed(stream, open, generations).ok_or_else(|| key_lost(&round_name(stream, round)))?
            }
            None => Vec::with_capacity(1),
        };
        dealt.push(last);
        Ok(Event::DrawsRevealed { round, dealt })
    }

    /// Logs the seal of a new draw for a player who has no usable draw. Succeeds even if another process logs it first.
    pub(crate) async fn seal(
        &self,
        ledger: &Handle,
        stream: &StreamId,
        player: &PlayerState,
        (number, reason): (u64, SealReason),
    ) -> Result<(), Refusal> {
        let event = self.keys.sealed(stream, number, reason, &ledger.generations());
        let event = event.ok_or_else(|| {
            Refusal::new(Reason::NoDrawKeys, "this process has no draw keys: set draws.key_file")
                .with_code(Code::Unavailable)
        })?;
        if reason == SealReason::KeyLost {
            tracing::error!(%stream, number, "the key of the player's next draw is lost: replacing the draw");
        }
        let proposal = Proposal {
            stream: stream.clone(),
            expected_version: Some(player.head.version),
            request_id: InternalRequest::SealDraw { number }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: vec![event],
        };
        match ledger.append(proposal).await {
            Ok(_) => Ok(()),
            Err(error) if is_overtaken(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Seals a draw for a request. Fails with SEAL_CHANGED if the caller chose a client seed before this seal existed: the
    /// caller must then name the new seal (PL-40).
    pub(crate) async fn seal_for(
        &self,
        ledger: &Handle,
        stream: &StreamId,
        player: &PlayerState,
        (number, reason): (u64, SealReason),
        drawn: &DrawnFor,
    ) -> Result<(), Refusal> {
        self.seal(ledger, stream, player, (number, reason)).await?;
        let replaces = matches!(reason, SealReason::KeyLost | SealReason::SealsEnded);
        if !replaces || drawn.client_seed.is_empty() || drawn.sealed.is_some() {
            return Ok(());
        }
        match ledger.player(stream)?.and_then(|player| player.draw) {
            Some(next) => Err(seal_changed(&next.seal)),
            None => Ok(()),
        }
    }

    pub fn renew_periodically(self, ledger: Handle) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            loop {
                tokio::time::sleep(RENEW_EVERY).await;
                if let Err(error) = self.renew(&ledger).await {
                    tracing::error!(%error, "failed to renew the draw keys; retrying later");
                }
            }
        })
    }

    pub async fn renew(&self, ledger: &Handle) -> Result<(), DrawKeysError> {
        let Some(key) = self.keys.renew(ledger.clock_ms())? else { return Ok(()) };
        let proposal = Proposal {
            stream: StreamId::System,
            expected_version: None,
            request_id: format!("generator/{}", hex(&key)).into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: vec![Event::GeneratorReseeded { key: Some(key) }],
        };
        if let Err(error) = ledger.append(proposal).await {
            tracing::warn!(%error, "failed to append a new draw key's id to the event log: the next start retries");
        }
        Ok(())
    }
}

fn is_overtaken(error: &AppendError) -> bool {
    use AppendError::{Conflict, Refused as Judged};
    matches!(error, Conflict { .. } | Judged(Refused::SealOfOtherGeneration { .. } | Refused::SealUnfounded { .. }))
}

pub(crate) struct Dealing {
    pub(crate) seed: Seed,
    pub(crate) dealt: Dealt,
    pub(crate) draw: Draw,
}

#[derive(Debug)]
pub(crate) enum Undecided {
    Refused(Refusal),
    Unsealed(u64, SealReason),
}

impl From<Refusal> for Undecided {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

fn seal_changed(seal: &Seal) -> Refusal {
    let message = "the request's seal is not the hash of the player's next draw: \
                   retry with the seal in this error and a client seed chosen after it";
    Refusal::new(Reason::SealChanged, message).with("seal", hex(seal))
}

pub(crate) fn key_lost(round: &str) -> Refusal {
    let message = "a draw key of the open round is lost, so the round can only be voided";
    Refusal::new(Reason::DrawKeyLost, message).with("round_id", round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_state::NextDraw;
    use std::collections::BTreeSet;

    fn none() -> Generations {
        Generations::default()
    }

    fn player(dealer: &Dealer, stream: &StreamId, number: u64) -> PlayerState {
        let (DrawName { epoch, generation, .. }, seal) = dealer.keys.seal(stream, number, &none()).unwrap();
        let mut player = PlayerState::default();
        player.draw = Some(NextDraw { number, epoch, generation, seal, sealed_by: Some([9; 32]) });
        player
    }

    fn deal(dealer: &Dealer, player: &PlayerState, stream: &StreamId, drawn: &DrawnFor) -> Result<Dealing, Undecided> {
        let request_id = &"r".into();
        let named = Named { stream, request_id, fingerprint: [0; 16], drawn, series: None };
        dealer.deal(player, &none(), named, (1, 1))
    }

    fn drawn(client_seed: &[u8], sealed: Option<Seal>) -> DrawnFor {
        DrawnFor { client_seed: client_seed.to_vec(), sealed }
    }

    #[test]
    fn pl_28_no_two_seeds_are_the_same_across_dealers_players_draws_and_client_seeds() {
        let mut seeds = BTreeSet::new();
        for dealer in [Dealer::new().unwrap(), Dealer::new().unwrap()] {
            for name in ["alice", "bob"] {
                let stream = StreamId::player("acme", name);
                for number in 1..=50 {
                    let player = player(&dealer, &stream, number);
                    for client_seed in [&b"one"[..], b"other", b""] {
                        seeds.insert(deal(&dealer, &player, &stream, &drawn(client_seed, None)).unwrap().seed);
                    }
                }
            }
        }
        assert_eq!(seeds.len(), 2 * 2 * 50 * 3);
    }

    #[test]
    fn a_draw_is_dealt_under_its_seal_alone() {
        let (dealer, other) = (Dealer::new().unwrap(), Dealer::new().unwrap());
        let stream = StreamId::player("acme", "alice");
        let alice = player(&dealer, &stream, 7);
        let sealed = alice.draw.unwrap().seal;
        let dealing = deal(&dealer, &alice, &stream, &drawn(b"mine", Some(sealed))).unwrap();
        assert_eq!(draw::seal(&dealing.dealt), sealed);
        assert_eq!(dealing.seed, draw::seed(&dealing.dealt, b"mine", "acme/alice/1", 1));
        let next = {
            let name = DrawName { number: 8, epoch: dealing.draw.next_epoch, generation: 0 };
            dealer.keys.dealt(&stream, name, &none()).unwrap()
        };
        assert_eq!(draw::seal(&next), dealing.draw.next_seal);
        let Err(Undecided::Refused(refusal)) = deal(&dealer, &alice, &stream, &drawn(b"mine", Some([1; 32]))) else {
            panic!("the request names another seal and must be refused");
        };
        assert_eq!(refusal.reason(), Reason::SealChanged);
        let lost = deal(&other, &alice, &stream, &drawn(b"mine", Some(sealed)));
        assert!(matches!(lost, Err(Undecided::Unsealed(8, SealReason::KeyLost))));
        let unsealed = deal(&dealer, &PlayerState::default(), &stream, &drawn(b"mine", None));
        assert!(matches!(unsealed, Err(Undecided::Unsealed(1, SealReason::Unsealed))));
    }
}
