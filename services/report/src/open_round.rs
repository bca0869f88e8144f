//! A round that is under way, as far as the reports need it.

use crate::{features, shown::Outcome};
use motherlode_books::{RoundStarted, SmolStr, StepResolved};
use motherlode_proto::round::v1::SpinKind;
use motherlode_slots as slots;
use prost::Message;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, mem};

/// A round that is under way, as far as the reports need it.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpenRound<'a> {
    pub(crate) started: Cow<'a, RoundStarted>,
    /// The win before any gamble.
    pub(crate) win: i64,
    /// Its part that was won by features that are collected over rounds.
    pub(crate) collected: i64,
    /// A new player was given something in it.
    pub(crate) gift: bool,
    /// Its game collects something over rounds.
    collects: bool,
    /// Free spins have begun: what follows is theirs.
    in_free_spins: bool,
    /// The first step was taken up.
    spun: bool,
    /// The features that it had, as [`features`] numbers them.
    pub(crate) features: u16,
}

impl<'a> OpenRound<'a> {
    pub(crate) fn new(started: Cow<'a, RoundStarted>) -> Self {
        let game = slots::game(&started.game, &started.rules_version);
        let collects = game.is_some_and(|game| !game.carries().keys.is_empty());
        Self { started, win: 0, collected: 0, gift: false, collects, in_free_spins: false, spun: false, features: 0 }
    }

    /// Takes up a step that is no gamble.
    pub(crate) fn step(&mut self, step: &StepResolved) {
        self.win = step.win.0;
        let first = !mem::replace(&mut self.spun, true);
        if !first && !self.collects {
            return;
        }
        let outcome = Outcome::decode(step.outcome.as_slice()).unwrap_or_default();
        if first {
            self.features = features::seen(&outcome);
        }
        if !self.collects {
            return;
        }
        for spin in &outcome.spins {
            let collected = match spin.kind() {
                SpinKind::Base | SpinKind::Unspecified => false,
                SpinKind::Free => {
                    self.in_free_spins = true;
                    false
                }
                SpinKind::Collection => true,
                _ => !self.in_free_spins,
            };
            if collected {
                self.collected = self.collected.saturating_add(i64::try_from(spin.win_minor).unwrap_or(i64::MAX));
            }
        }
    }

    /// Takes up a change of what the player carries: DM-14's gift is counted where it's made.
    pub(crate) fn carries(&mut self, changes: &[(SmolStr, i64)]) {
        self.gift |= changes.iter().any(|(key, value)| key.ends_with("_gifted") && *value > 0);
    }

    pub(crate) fn into_owned(self) -> OpenRound<'static> {
        OpenRound { started: Cow::Owned(self.started.into_owned()), ..self }
    }
}
