use crate::{
    award::Award,
    collection,
    draws::{DealtOf, StepDraw},
    live::{Unresolvable, game_of},
    name::round_name,
    shown,
    terms::terms_of,
};
use motherlode_proto::{
    convert::{Malformed, record::Logged},
    round::v1,
};
use motherlode_slots::Seed;
use motherlode_state::{
    Automatic, Currency, Dealt, Event, Minor, RoundStarted, RoundTerms, SmolStr, StepResolved, VoidedJackpot, draw,
};
use prost::Message;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct RoundView {
    /// Name of the round, `operator/player/number`.
    pub name: String,
    pub started: RoundStarted,
    pub terms: RoundTerms,
    /// Number of the companion that the player picked (BW-05), or 0.
    pub companion: u32,
    pub position: u64,
    pub time_ms: i64,
    pub balance_before: Minor,
    pub steps: Vec<StepView>,
    /// Part of the win that was credited before the round ended (ME-16).
    pub credited: Minor,
    pub settled: Option<Minor>,
    pub voided: Option<VoidView>,
    pub jackpots: Vec<JackpotView>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    pub position: u64,
    pub time_ms: i64,
    pub logged: StepResolved,
    /// Seed of the step; `None` unless it is logged or revealed (NP-12).
    pub seed: Option<Seed>,
    pub draw: Option<StepDraw>,
    pub choice: v1::Choice,
    pub outcome: v1::Outcome,
    pub malformed: Option<Malformed>,
    pub collection: Option<Event>,
    pub reference: String,
    pub balance_before: Minor,
    pub balance_after: Minor,
}

impl StepView {
    #[must_use]
    pub fn collected(&self) -> &[(SmolStr, i64)] {
        match &self.collection {
            Some(Event::CollectionChanged { changes, .. }) => changes,
            _ => &[],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoidView {
    pub reason: String,
    pub actor: String,
    pub reference: String,
    pub refund: Minor,
    pub win_taken_back: Minor,
    pub position: u64,
    pub time_ms: i64,
    pub balance_after: Minor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JackpotView {
    pub pool: SmolStr,
    pub hit: u64,
    pub award: Award,
}

impl RoundView {
    #[must_use]
    pub fn win(&self) -> Minor {
        self.steps.last().map_or(Minor::ZERO, |step| step.logged.win)
    }

    #[must_use]
    pub fn state(&self) -> v1::RoundState {
        match (&self.voided, self.settled) {
            (Some(_), _) => v1::RoundState::Voided,
            (None, Some(_)) => v1::RoundState::Settled,
            (None, None) => v1::RoundState::Open,
        }
    }

    #[must_use]
    pub fn balance_after(&self) -> Minor {
        let step = || self.steps.last().map(|step| step.balance_after);
        self.voided.as_ref().map(|void| void.balance_after).or_else(step).unwrap_or(self.balance_before)
    }

    #[must_use]
    pub fn carried(&self) -> Vec<(&'static str, i64)> {
        let keys = game_of(&self.started).map_or(&[][..], |game| game.carries().keys);
        let figures = keys.iter().copied().zip(self.terms.carried.iter().copied());
        figures.filter(|(_, value)| *value != 0).collect()
    }

    pub fn complete(&mut self, dealt_of: &DealtOf<'_>) -> Result<(), Unresolvable> {
        let over = self.state() != v1::RoundState::Open;
        let name = &self.name;
        let steps = self.steps.iter_mut().map(|step| {
            let seed = step.seed.or_else(|| {
                let draw = step.draw.as_mut()?;
                let dealt = dealt_of(draw.name)?;
                draw.seal = Some(draw::seal(&dealt));
                Some(draw::seed(&dealt, &draw.client_seed, name, step.logged.step))
            });
            (seed, &step.logged, &mut step.outcome)
        });
        shown::complete(&self.started, steps, over)
    }

    fn reveal(&mut self, dealt: &[Dealt]) {
        let name = &self.name;
        let sealed = self.steps.iter_mut().filter(|step| step.draw.is_some());
        for (step, dealt) in sealed.zip(dealt) {
            let number = step.logged.step;
            step.seed = step.draw.as_mut().map(|draw| draw.reveal(*dealt, name, number));
        }
    }

    fn add(&mut self, logged: &Logged, event: &Event, balance_before: Minor) -> Result<(), Malformed> {
        let commit = &logged.commit;
        let (number, currency) = (self.started.round, self.started.currency);
        let reference = || commit.acted_by().map_or_else(String::new, |(_, reference)| reference.to_owned());
        match event {
            Event::StepResolved(step) if step.round == number => {
                let closed = matches!(step.automatic, Some(Automatic::Closed { .. }));
                let (outcome, malformed) = match v1::Outcome::decode(step.outcome.as_slice()) {
                    Ok(outcome) => (outcome, None),
                    Err(error) => (v1::Outcome::default(), Some(error.into())),
                };
                self.steps.push(StepView {
                    position: commit.position,
                    time_ms: commit.time_ms,
                    logged: (**step).clone(),
                    seed: step.seed,
                    draw: StepDraw::from_step(step, &commit.request_id),
                    choice: v1::Choice::decode(step.choice.as_slice())?,
                    outcome,
                    malformed,
                    collection: commit.events.iter().find(|event| plays_with(event, &self.started.game)).cloned(),
                    reference: if closed { reference() } else { String::new() },
                    balance_before,
                    balance_after: balance_after(logged, currency),
                });
            }
            Event::WinCredited { round, amount } if *round == number => {
                self.credited = Minor(self.credited.0.saturating_add(amount.0));
            }
            Event::RoundSettled { round, win } if *round == number => self.settled = Some(*win),
            Event::DrawsRevealed { round, dealt } if *round == number => self.reveal(dealt),
            Event::RoundVoided { round, reason, actor, refund, win_taken_back, jackpot, .. } if *round == number => {
                if *jackpot != VoidedJackpot::TakenBack {
                    let unpaid = self.jackpots.iter_mut().filter(|jackpot| !matches!(jackpot.award, Award::Paid(..)));
                    unpaid.for_each(|jackpot| jackpot.award = Award::Voided);
                }
                self.voided = Some(VoidView {
                    reason: reason.clone(),
                    actor: actor.clone(),
                    reference: reference(),
                    refund: *refund,
                    win_taken_back: *win_taken_back,
                    position: commit.position,
                    time_ms: commit.time_ms,
                    balance_after: balance_after(logged, currency),
                });
            }
            Event::JackpotHit { round, pool } if *round == number => {
                let (pool, hit) = (pool.clone(), commit.position);
                self.jackpots.push(JackpotView { pool, hit, award: Award::Pending });
            }
            Event::AwardSetAside { round, .. } | Event::JackpotPaid { round, .. } if *round == number => {
                for jackpot in &mut self.jackpots {
                    jackpot.award = Award::from_event(event, jackpot.hit).unwrap_or(jackpot.award);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

pub struct Fold {
    number: u64,
    balance: Minor,
    companions: BTreeMap<SmolStr, u32>,
    view: Option<RoundView>,
}

impl Fold {
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self { number, balance: Minor::ZERO, companions: BTreeMap::new(), view: None }
    }

    pub fn add(&mut self, logged: &Logged) -> Result<(), Malformed> {
        for event in &logged.commit.events {
            match (event, &mut self.view) {
                (Event::RoundStarted(started), _) if started.round == self.number => self.start(logged, started)?,
                (Event::CollectionChanged { game, scope, changes }, _) => {
                    if let Some(companion) = collection::picked_companion(changes, scope) {
                        self.companions.insert(game.clone(), u32::try_from(companion).unwrap_or_default());
                    }
                }
                (event, Some(view)) => view.add(logged, event, self.balance)?,
                (_, None) => {}
            }
        }
        if let Some(view) = &self.view {
            self.balance = balance_after(logged, view.started.currency);
        }
        Ok(())
    }

    #[must_use]
    pub fn view(self) -> Option<RoundView> {
        self.view
    }

    fn start(&mut self, logged: &Logged, started: &RoundStarted) -> Result<(), Malformed> {
        let commit = &logged.commit;
        let is_bet = |event: &Event| matches!(event, Event::RoundStarted(of) if of.round == started.round);
        let from_bet_on = commit.events.iter().skip_while(|event| !is_bet(event));
        let before = i128::from(balance_after(logged, started.currency).0) - moved(from_bet_on, started.currency);
        self.balance = Minor(before.clamp(i64::MIN.into(), i64::MAX.into()).try_into().unwrap_or_default());
        let terms = terms_of(started)?.clone();
        let picked = self.companions.get(&started.game).copied().unwrap_or_default();
        self.view = Some(RoundView {
            name: round_name(&commit.stream, started.round),
            started: started.clone(),
            companion: if terms.witch == 0 { picked } else { terms.witch },
            terms,
            position: commit.position,
            time_ms: commit.time_ms,
            balance_before: self.balance,
            steps: vec![],
            credited: Minor::ZERO,
            settled: None,
            voided: None,
            jackpots: vec![],
        });
        Ok(())
    }
}

fn moved<'a>(events: impl Iterator<Item = &'a Event>, currency: Currency) -> i128 {
    let (mut moved, mut credited) = (0_i128, BTreeMap::new());
    for event in events {
        moved += match event {
            Event::RoundStarted(started) if started.currency == currency => {
                credited.insert(started.round, 0);
                -i128::from(started.charged().0)
            }
            Event::WinCredited { round, amount } => credited.get_mut(round).map_or(0, |credited| {
                *credited += i128::from(amount.0);
                amount.0.into()
            }),
            Event::RoundSettled { round, win } => {
                credited.get(round).map_or(0, |credited| i128::from(win.0) - credited)
            }
            Event::RoundVoided { round, refund, win_taken_back, .. } => {
                credited.get(round).map_or(0, |_| i128::from(refund.0) - i128::from(win_taken_back.0))
            }
            _ => 0,
        };
    }
    moved
}

fn plays_with(event: &Event, of: &str) -> bool {
    matches!(event, Event::CollectionChanged { game, scope, .. } if game == of && !scope.is_empty())
}

#[must_use]
pub fn balance_after(logged: &Logged, currency: Currency) -> Minor {
    logged.balances_after.iter().find(|(of, _)| *of == currency).map_or(Minor::ZERO, |(_, amount)| *amount)
}
