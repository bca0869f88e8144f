use crate::{features, shown::Outcome};
use motherlode_slots::{self as slots, Nature, Source, SpinKind};
use motherlode_state::{RoundStarted, SmolStr, StepResolved};
use prost::Message;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, mem};

#[derive(Serialize, Deserialize)]
pub(crate) struct OpenRound<'a> {
    pub(crate) started: Cow<'a, RoundStarted>,
    pub(crate) win: i64,
    pub(crate) collected: i64,
    pub(crate) gift: bool,
    collects: bool,
    in_free_spins: bool,
    spun: bool,
    pub(crate) features: u16,
}

impl<'a> OpenRound<'a> {
    pub(crate) fn new(started: Cow<'a, RoundStarted>) -> Self {
        let game = slots::game(&started.game, &started.rules_version);
        let collects = game.is_some_and(|game| !game.carries().keys.is_empty());
        Self { started, win: 0, collected: 0, gift: false, collects, in_free_spins: false, spun: false, features: 0 }
    }

    pub(crate) fn step(&mut self, step: &StepResolved) {
        let won_before = mem::replace(&mut self.win, step.win.0);
        let first = !mem::replace(&mut self.spun, true);
        if !first && !self.collects {
            return;
        }
        let Some(game) = slots::game(&self.started.game, &self.started.rules_version) else { return };
        let outcome = Outcome::decode(step.outcome.as_slice()).unwrap_or_default();
        if first {
            self.features = features::seen(game, &outcome);
        }
        if !self.collects {
            return;
        }
        let mut beside = self.win.saturating_sub(won_before);
        for spin in &outcome.spins {
            let won = i64::try_from(spin.win_minor).unwrap_or(i64::MAX);
            beside = beside.saturating_sub(won);
            let Some(kind) = spin.slots_kind() else { continue };
            self.in_free_spins |= kind == SpinKind::Free;
            if game.nature(Source::Window { kind, in_free_spins: self.in_free_spins }) == Nature::Collected {
                self.collected = self.collected.saturating_add(won);
            }
        }
        if beside > 0 && game.nature(Source::BesideWindows) == Nature::Collected {
            self.collected = self.collected.saturating_add(beside);
        }
    }

    pub(crate) fn state(&self) -> u16 {
        let game = slots::game(&self.started.game, &self.started.rules_version);
        let carried = self.started.stake.terms().map(|terms| {
            let mut carried = slots::Carried::default();
            carried.0.iter_mut().zip(&terms.carried).for_each(|(figure, logged)| *figure = *logged);
            carried
        });
        game.zip(carried).map_or(0, |(game, carried)| game.state(&carried))
    }

    pub(crate) fn carries(&mut self, changes: &[(SmolStr, i64)]) {
        self.gift |= changes.iter().any(|(key, value)| key.ends_with("_gifted") && *value > 0);
    }

    pub(crate) fn into_owned(self) -> OpenRound<'static> {
        OpenRound { started: Cow::Owned(self.started.into_owned()), ..self }
    }
}
