use std::sync::Arc;

use super::transition::Transition;
use crate::events::{Commit, Event, Refused, StartEvidence};
use crate::state::SwitchedOff;
use crate::values::{Currency, HOME, operator_of};

impl Transition<'_, '_> {
    pub fn rates_event(&mut self, event: &Event) -> Result<(), Refused> {
        match (event, &mut self.delta.rates) {
            (Event::RateSet { currency: currency @ (Currency::EUR | Currency::PLAY), .. }, _) => {
                Err(Refused::WrongRate { currency: *currency })
            }
            (Event::RateSet { currency, rate, .. }, Some(rates)) => {
                rates.current.set(*currency, *rate);
                Ok(())
            }
            _ => Err(Refused::WrongStream),
        }
    }

    pub fn system_event(&mut self, event: &Event) -> Result<(), Refused> {
        if *event == Event::RequestCancelled {
            return if self.commit.partition == HOME { self.cancel_request() } else { Err(Refused::DecidedAtHome) };
        }
        match (event, &mut self.delta.system) {
            (Event::IntegrityFailed { check, .. }, Some(system)) => {
                system.log_damaged |= check == Event::CHECK_OF_LOG;
                Ok(())
            }
            (Event::LogVerified { .. }, Some(system)) => {
                system.log_damaged = false;
                Ok(())
            }
            (Event::BaseTaken(base), Some(system)) => system.bases.take(base, self.commit.position),
            (Event::BaseConfirmed(confirmed), Some(system)) => system.bases.confirm(confirmed),
            (Event::GeneratorReseeded { key: None }, _) => Ok(()),
            (Event::GeneratorReseeded { key: Some(key) }, Some(system)) => {
                Arc::make_mut(&mut system.generations).add_key(*key);
                Ok(())
            }
            (Event::GenerationBegun(begun), Some(system)) => {
                let ends = matches!(begun.evidence, StartEvidence::Missing | StartEvidence::Restored);
                let begins = (begun.unused_seals_end || !ends) && Arc::make_mut(&mut system.generations).begin(begun);
                if begins { Ok(()) } else { Err(Refused::BadGeneration { number: begun.number }) }
            }
            (Event::LogRestored(restored), Some(system)) => {
                // Lost records may have revealed the values of seals that look unused again, so these must be revoked.
                let ends = |event: &Event| matches!(event, Event::GenerationBegun(begun) if begun.evidence == StartEvidence::Restored);
                if !self.commit.events.iter().any(ends) {
                    return Err(Refused::BadRestore { number: restored.number });
                }
                Arc::make_mut(&mut system.restores).add(restored, self.commit.position)
            }
            (Event::ClockSkewed { .. } | Event::WalletOverdue { .. } | Event::ConfigurationReloaded(_), _) => Ok(()),
            (Event::SwitchSet { switch, on, reason, actor }, Some(system)) => {
                let Commit { position, time_ms, .. } = *self.commit;
                let off = || SwitchedOff { reason: reason.clone(), actor: actor.clone(), position, time_ms };
                system.switches.set(switch, (!on).then(off))
            }
            (Event::LiabilityReserved(_), _) if self.commit.partition != HOME => Err(Refused::DecidedAtHome),
            (Event::LiabilityReserved(reserved), Some(system)) => {
                system.liabilities.reserve(reserved, self.commit.time_ms)
            }
            (Event::ChangeProposed(proposed), Some(system)) => {
                system.changes.propose(self.commit.position, self.commit.time_ms, proposed)
            }
            (Event::ChangeRejected { change, .. }, Some(system)) => {
                system.changes.take(*change, self.commit.time_ms).map(|_| ())
            }
            _ => Err(Refused::WrongStream),
        }
    }

    pub fn approve(&mut self, change: u64, proposed_by: &str, actor: &str) -> Result<(), Refused> {
        let view = self.view;
        let system = self.delta.system.get_or_insert_with(|| Box::new(view.system().clone()));
        let proposed = system.changes.take(change, self.commit.time_ms)?;
        if proposed.stream != self.commit.stream {
            return Err(Refused::WrongStream);
        }
        if proposed.actor != proposed_by || actor.is_empty() {
            return Err(Refused::NotAsProposed);
        }
        if operator_of(&proposed.actor) != operator_of(actor) {
            return Err(Refused::OtherActors { change });
        }
        if proposed.actor == actor {
            return Err(Refused::SameActor { change, actor: actor.to_owned() });
        }
        self.approved = Some(proposed.change);
        Ok(())
    }
}
