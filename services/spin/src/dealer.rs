//! The dealer: the cryptographic master generator that gives each step its seed when it's resolved, never earlier.
//!
//! ChaCha20, seeded with 256 bits from the operating system and reseeded from there every [`RESEED_EVERY`] (PL-14,
//! PL-28); a reseeding is an event in the log, without the seed. No clock, counter or process id goes into a seed.

use motherlode_books::{Event, StreamId};
use motherlode_ledger::{Handle, Proposal};
use motherlode_runtime::Refusal;
use motherlode_slots::Seed;
use parking_lot::Mutex;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use std::{sync::Arc, time::Duration};
use tonic::metadata::MetadataMap;

/// How often fresh entropy is taken.
pub const RESEED_EVERY: Duration = Duration::from_secs(600);

/// The operating system gave no entropy: nothing can be played.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random bytes: {0}")]
pub struct EntropyError(getrandom::Error);

/// Resolves the step that is being decided with a seed: its proposal, or why there is none.
pub type Resolve<'a> = &'a dyn Fn(Seed) -> Result<Proposal, Refusal>;

/// Chooses among dealt seeds, so that tests meet rare outcomes. Nothing that is shipped implements it; a server whose dealer
/// has a script says so in its identity (`test_build`).
pub trait Script: Send + Sync {
    /// The seed of a step. `metadata` is that of the request which asks for the step, `deal` gives the next fair seed.
    fn seed(&self, metadata: &MetadataMap, deal: &dyn Fn() -> Seed, resolve: Resolve<'_>) -> Seed;
}

/// The dealer; clones deal from the same generator.
#[derive(Clone)]
pub struct Dealer {
    generator: Arc<Mutex<ChaCha20Rng>>,
    script: Option<Arc<dyn Script>>,
}

impl Dealer {
    /// Seeds the generator.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn new() -> Result<Self, EntropyError> {
        Ok(Self::from_master(entropy()?))
    }

    /// A dealer whose every seed is known to whoever knows the master: for tests and for exports that can be repeated.
    /// Nothing that serves uses it.
    #[must_use]
    pub fn from_master(master: Seed) -> Self {
        Self { generator: Arc::new(Mutex::new(ChaCha20Rng::from_seed(master))), script: None }
    }

    /// The same dealer with a script: for tests.
    #[must_use]
    pub fn scripted(self, script: Arc<dyn Script>) -> Self {
        Self { script: Some(script), ..self }
    }

    /// Whether a script chooses among the seeds: such a server is not for play.
    #[must_use]
    pub fn is_scripted(&self) -> bool {
        self.script.is_some()
    }

    /// The seed of the step that a request asks for.
    pub(crate) fn deal_to(&self, metadata: &MetadataMap, resolve: Resolve<'_>) -> Seed {
        match &self.script {
            Some(script) => script.seed(metadata, &|| self.deal(), resolve),
            None => self.deal(),
        }
    }

    /// Deals the seed of one step.
    #[must_use]
    pub fn deal(&self) -> Seed {
        let mut seed = Seed::default();
        self.generator.lock().fill_bytes(&mut seed);
        seed
    }

    /// Replaces the generator's state with fresh entropy, mixed with what it would have dealt next: the new state is
    /// as hard to know as the harder of the two.
    ///
    /// # Errors
    /// When the operating system gives no entropy; the generator goes on as it was.
    pub fn reseed(&self) -> Result<(), EntropyError> {
        let fresh = entropy()?;
        let mut generator = self.generator.lock();
        let mut seed = Seed::default();
        generator.fill_bytes(&mut seed);
        for (byte, fresh) in seed.iter_mut().zip(fresh) {
            *byte ^= fresh;
        }
        *generator = ChaCha20Rng::from_seed(seed);
        Ok(())
    }

    /// Reseeds for as long as it's polled, and logs that it did.
    pub async fn reseed_periodically(self, ledger: Handle) {
        loop {
            tokio::time::sleep(RESEED_EVERY).await;
            if let Err(error) = self.reseed() {
                tracing::error!(%error, "the generator was not reseeded");
                continue;
            }
            let proposal = Proposal {
                stream: StreamId::System,
                expected_version: None,
                request_id: format!("generator/{}", hex(&self.deal()[..16])),
                fingerprint: [0; 16],
                events: vec![Event::GeneratorReseeded],
            };
            if let Err(error) = ledger.append(proposal).await {
                tracing::warn!(%error, "a reseeding was not logged");
            }
        }
    }
}

fn entropy() -> Result<Seed, EntropyError> {
    let mut seed = Seed::default();
    getrandom::fill(&mut seed).map_err(EntropyError)?;
    Ok(seed)
}

fn hex(bytes: &[u8]) -> String {
    motherlode_proto::convert::play::hex(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pl_28_no_two_seeds_are_the_same_across_dealers_and_reseedings() {
        let (one, other) = (Dealer::new().unwrap(), Dealer::new().unwrap());
        let mut seeds = BTreeSet::new();
        for _ in 0..100 {
            seeds.extend([one.deal(), other.deal()]);
            one.reseed().unwrap();
        }
        assert_eq!(seeds.len(), 200);
    }

    #[test]
    fn pl_28_reseeding_changes_what_comes_next() {
        let dealer = Dealer::from_master([7; 32]);
        let mut twin = ChaCha20Rng::from_seed([7; 32]);
        dealer.reseed().unwrap();
        let (mut skipped, mut next) = (Seed::default(), Seed::default());
        twin.fill_bytes(&mut skipped);
        twin.fill_bytes(&mut next);
        assert_ne!(dealer.deal(), next);
    }
}
