//! The dealer: gives each step its draw when it's resolved, from what was sealed before the request for it existed.
//!
//! A step's seed follows from a dealt value, the caller's client seed, the round and the step (see
//! [`motherlode_books::draw`]), so nobody chooses it and nobody knows it alone: the service knows no client seed when it
//! seals, the caller no dealt value before it's revealed. The keys come from the operating system, a fresh one each day
//! (PL-28); that is an event in the log. No clock, counter or process id goes into a key.

use crate::bet::DrawnFor;
use futures_util::future::BoxFuture;
use motherlode_books::{
    Dealt, Draw, DrawName, Event, Generations, InternalRequest, OpenRound, PlayerState, Refused, Seal, SealReason,
    StreamId, draw,
};
use motherlode_ledger::{AppendError, DrawKeys, Handle, Proposal, draws::DrawKeysError, fields::round_name};
use motherlode_proto::convert::play::hex;
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::Seed;
use std::{sync::Arc, time::Duration};
use tonic::{Code, metadata::MetadataMap};

/// How often the keys are looked at: whether the last is a day old.
pub const RENEW_EVERY: Duration = Duration::from_secs(600);

/// Resolves the step that is being decided with another client seed: its proposal, or none where it can't be.
pub type Resolve<'a> = &'a dyn Fn(&[u8]) -> Option<Proposal>;

/// Chooses client seeds, so that tests meet rare outcomes. Nothing that is shipped implements it; a server whose dealer has
/// a script says so in its identity (`test_build`).
pub trait Script: Send + Sync {
    /// The client seed of a step; none for the caller's own. `metadata` is that of the request which asks for the step.
    ///
    /// # Errors
    /// It finds none with which the step is as it's wished for: then nothing is played.
    fn client_seed(&self, metadata: &MetadataMap, resolve: Resolve<'_>) -> Result<Option<Vec<u8>>, Refusal>;
}

/// The dealer; clones deal from the same keys.
#[derive(Clone)]
pub struct Dealer {
    keys: DrawKeys,
    script: Option<Arc<dyn Script>>,
}

impl Dealer {
    /// Deals from keys.
    #[must_use]
    pub fn of(keys: DrawKeys) -> Self {
        Self { keys, script: None }
    }

    /// A dealer with a fresh key that ends with the process: for tests.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn new() -> Result<Self, DrawKeysError> {
        DrawKeys::fresh().map(Self::of)
    }

    /// A dealer whose every draw is known to whoever knows the key: for tests. Nothing that serves uses it.
    #[must_use]
    pub fn from_master(master: Seed) -> Self {
        Self::of(DrawKeys::of(master))
    }

    /// The same dealer with a script: for tests.
    #[must_use]
    pub fn scripted(self, script: Arc<dyn Script>) -> Self {
        Self { script: Some(script), ..self }
    }

    /// Whether a script chooses client seeds: such a server is not for play.
    #[must_use]
    pub fn is_scripted(&self) -> bool {
        self.script.is_some()
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &DrawKeys {
        &self.keys
    }

    /// The client seed that a script chooses for the step that a request asks for.
    pub(crate) fn scripted_seed(
        &self,
        metadata: &MetadataMap,
        resolve: Resolve<'_>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        self.script.as_ref().map_or(Ok(None), |script| script.client_seed(metadata, resolve))
    }

    /// The dealt value of the player's next draw, its seed for a step, and the seal of the draw after it.
    pub(crate) fn deal(
        &self,
        player: &PlayerState,
        generations: &Generations,
        step: &Asked<'_>,
    ) -> Result<Dealing, Undecided> {
        let Some(next) = player.draw else { return Err(Undecided::Unsealed(1, SealReason::Unsealed)) };
        let again = |reason| Undecided::Unsealed(next.number.saturating_add(1), reason);
        if !generations.is_usable(next.generation) {
            return Err(again(SealReason::SealsEnded));
        }
        let lost = || again(SealReason::KeyLost);
        let dealt = self.keys.dealt_under(step.stream, &next, generations).ok_or_else(lost)?;
        if step.sealed.is_some_and(|named| named != next.seal) {
            return Err(seal_changed(&next.seal).into());
        }
        let sealed = self.keys.seal(step.stream, next.number.saturating_add(1), generations);
        let (after, next_seal) = sealed.ok_or_else(lost)?;
        let draw = Draw {
            number: next.number,
            epoch: next.epoch,
            generation: next.generation,
            client_seed: step.client_seed.to_vec(),
            next_epoch: after.epoch,
            next_generation: after.generation,
            next_seal,
            sealed_by: next.sealed_by,
        };
        let round = round_name(step.stream, step.round);
        let seed = draw::seed(&dealt, draw.client_seed(step.request_id), &round, step.step);
        Ok(Dealing { seed, dealt, draw })
    }

    /// The dealt values of draws of a player, as [`motherlode_rounds::draws::DealtOf`].
    pub(crate) fn dealt_of<'a>(
        &'a self,
        stream: &'a StreamId,
        generations: &'a Generations,
    ) -> impl Fn(DrawName) -> Option<Dealt> + 'a {
        |name| self.keys.dealt(stream, name, generations)
    }

    /// The reveal of a round whose last step used this draw: the dealt values of all its sealed steps.
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

    /// Seals a player's draw apart from a step, since the player has none or its key is gone. What somebody else did in the
    /// meantime is as good.
    pub(crate) async fn seal(
        &self,
        ledger: &Handle,
        stream: &StreamId,
        player: &PlayerState,
        (number, reason): (u64, SealReason),
    ) -> Result<(), Refusal> {
        let event = self.keys.sealed(stream, number, reason, &ledger.generations());
        let event = event.ok_or_else(|| {
            Refusal::new(Reason::NoDrawKeys, "this process has no draw keys").with_code(Code::Unavailable)
        })?;
        if reason == SealReason::KeyLost {
            tracing::error!(%stream, number, "the key of the player's draw is gone: another is sealed in its place");
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

    /// As [`Dealer::seal`], for the step of a request. A client seed chosen by the caller is older than this seal, so the request is refused
    /// once with SEAL_CHANGED, and has to name the new seal (PL-40).
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

    /// Takes a fresh key when the last is a day old, for as long as it's polled, and logs that it did.
    pub fn renew_periodically(self, ledger: Handle) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            loop {
                tokio::time::sleep(RENEW_EVERY).await;
                if let Err(error) = self.renew(&ledger).await {
                    tracing::error!(%error, "failed to renew the draw keys");
                }
            }
        })
    }

    /// Renews the draw keys and logs the name of a new one.
    ///
    /// # Errors
    /// The keys can't be read or written. The next start logs a name if this call failed to.
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
            tracing::warn!(%error, "failed to log the name of a fresh draw key");
        }
        Ok(())
    }
}

/// Whether a draw was not sealed because the player, or the generation, has changed in the meantime: then it's decided again.
fn is_overtaken(error: &AppendError) -> bool {
    use AppendError::{Conflict, Refused as Judged};
    matches!(error, Conflict { .. } | Judged(Refused::SealOfOtherGeneration { .. } | Refused::SealUnfounded { .. }))
}

/// The step that a draw is for.
pub(crate) struct Asked<'a> {
    pub(crate) stream: &'a StreamId,
    pub(crate) request_id: &'a str,
    pub(crate) round: u64,
    pub(crate) step: u32,
    /// The caller's part; empty where the request id serves.
    pub(crate) client_seed: &'a [u8],
    /// The seal that the request was made for.
    pub(crate) sealed: Option<Seal>,
}

/// A draw of a step.
pub(crate) struct Dealing {
    pub(crate) seed: Seed,
    /// For the reveal, and never to be logged before.
    pub(crate) dealt: Dealt,
    pub(crate) draw: Draw,
}

/// Why a step was not decided.
#[derive(Debug)]
pub(crate) enum Undecided {
    /// It's refused.
    Refused(Refusal),
    /// The player's draw of this number must be sealed first.
    Unsealed(u64, SealReason),
}

impl From<Refusal> for Undecided {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The player's next draw has another seal than the request names.
fn seal_changed(seal: &Seal) -> Refusal {
    let message = "the request was made for another seal than that of the player's next draw: draw a new client seed";
    Refusal::new(Reason::SealChanged, message).with("seal", hex(seal))
}

/// An open round can't go on without the keys of its draws.
pub(crate) fn key_lost(round: &str) -> Refusal {
    let message = "a draw key of the open round is gone: it can only be voided";
    Refusal::new(Reason::DrawKeyLost, message).with("round_id", round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_books::NextDraw;
    use std::collections::BTreeSet;

    /// The generations of a log that began none.
    fn none() -> Generations {
        Generations::default()
    }

    /// A player whose next draw a dealer has sealed.
    fn player(dealer: &Dealer, stream: &StreamId, number: u64) -> PlayerState {
        let (DrawName { epoch, generation, .. }, seal) = dealer.keys.seal(stream, number, &none()).unwrap();
        let mut player = PlayerState::default();
        player.draw = Some(NextDraw { number, epoch, generation, seal, sealed_by: Some([9; 32]) });
        player
    }

    fn asked<'a>(stream: &'a StreamId, client_seed: &'a [u8], sealed: Option<Seal>) -> Asked<'a> {
        Asked { stream, request_id: "r", round: 1, step: 1, client_seed, sealed }
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
                        seeds.insert(dealer.deal(&player, &none(), &asked(&stream, client_seed, None)).unwrap().seed);
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
        let dealing = dealer.deal(&alice, &none(), &asked(&stream, b"mine", Some(sealed))).unwrap();
        assert_eq!(draw::seal(&dealing.dealt), sealed);
        assert_eq!(dealing.seed, draw::seed(&dealing.dealt, b"mine", "acme/alice/1", 1));
        let next = {
            let name = DrawName { number: 8, epoch: dealing.draw.next_epoch, generation: 0 };
            dealer.keys.dealt(&stream, name, &none()).unwrap()
        };
        assert_eq!(draw::seal(&next), dealing.draw.next_seal);
        let Err(Undecided::Refused(refusal)) = dealer.deal(&alice, &none(), &asked(&stream, b"mine", Some([1; 32])))
        else {
            panic!("another seal was named");
        };
        assert_eq!(refusal.reason(), Reason::SealChanged);
        let lost = other.deal(&alice, &none(), &asked(&stream, b"mine", Some(sealed)));
        assert!(matches!(lost, Err(Undecided::Unsealed(8, SealReason::KeyLost))));
        let unsealed = dealer.deal(&PlayerState::default(), &none(), &asked(&stream, b"mine", None));
        assert!(matches!(unsealed, Err(Undecided::Unsealed(1, SealReason::Unsealed))));
    }
}
