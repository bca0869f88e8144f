//! Third stage of the audit: resolves each step again (PL-06), and checks the events that follow from the step. A step
//! with a sealed draw (hash of its random value) is resolved when the value is revealed; until then the step's logged
//! events are assumed to be correct.

use crate::{
    divergence::Fault,
    outcome::difference,
    playing::{DeferredStep, Player, Players, Playing},
    recalled::Recalled,
    report::Return,
};
use motherlode_log::Position;
use motherlode_rounds::{
    Live,
    collection::{self, Led, Sharing},
    gamble_max_minor, round_name,
};
use motherlode_slots::{Carried, Outcome, Seed};
use motherlode_state::{Commit, Dealt, Event, Minor, RoundStarted, StepResolved, StreamId, cash, draw};
use std::collections::BTreeMap;

pub(crate) struct Plays<'a> {
    recalled: &'a Recalled,
    returns: Vec<Return>,
    first: Vec<Position>,
    hits: BTreeMap<Position, usize>,
    outcome: Outcome,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Required {
    collection: Option<Event>,
    credit: Option<Minor>,
    hit: bool,
    settlement: Option<Minor>,
}

impl<'a> Plays<'a> {
    pub(crate) fn new(recalled: &'a Recalled) -> Self {
        Self {
            recalled,
            returns: vec![],
            first: vec![],
            hits: BTreeMap::new(),
            outcome: Outcome::default(),
            bytes: vec![],
        }
    }

    pub(crate) fn take(&mut self, players: &mut Players, commit: &Commit) -> Result<(), Fault> {
        match &commit.stream {
            StreamId::Player { .. } => self.commit(players.for_stream(&commit.stream), commit),
            _ => Ok(()),
        }
    }

    pub(crate) fn commit(&mut self, player: &mut Player, commit: &Commit) -> Result<(), Fault> {
        player.days.take(commit)?;
        self.player_commit(player, commit)
    }

    pub(crate) fn into_returns(self) -> Vec<Return> {
        self.returns
    }

    pub(crate) fn joined(all: Vec<Self>, awarded: &[(Position, Minor)]) -> Vec<Return> {
        let mut joined: Vec<(Position, Return)> = vec![];
        for mut plays in all {
            for (hit, amount) in awarded {
                if let Some(of) = plays.hits.remove(hit) {
                    plays.returns[of].awarded += i128::from(amount.0);
                }
            }
            for (first, of) in plays.first.into_iter().zip(plays.returns) {
                match joined.iter_mut().find(|(_, other)| other.is_for(&of.game, &of.rules_version, of.currency)) {
                    Some((position, other)) => {
                        *position = first.min(*position);
                        other.add(&of);
                    }
                    None => joined.push((first, of)),
                }
            }
        }
        joined.sort_by_key(|(first, _)| *first);
        joined.into_iter().map(|(_, of)| of).collect()
    }

    fn player_commit(&mut self, player: &mut Player, commit: &Commit) -> Result<(), Fault> {
        let Commit { stream, position, events, .. } = commit;
        let mut playing: Option<Playing> = None;
        let mut due = Required::default();
        let mut holds = false;
        for (event, at) in events.iter().zip(0..) {
            match event {
                Event::RoundStarted(started) => {
                    due.nothing()?;
                    holds = false;
                    let begun = self.start(player, started, *position)?;
                    player.keep(playing.replace(begun));
                }
                Event::StepResolved(step) => {
                    due.nothing()?;
                    if playing.as_ref().is_none_or(|playing| playing.number != step.round) {
                        let taken = player.take(step.round)?;
                        player.keep(playing.replace(taken));
                    }
                    let Some(round) = &mut playing else { continue };
                    let seed = self.seed_of(round, step, commit)?;
                    holds = seed.is_none();
                    match seed {
                        Some(seed) => due = self.resolve(player, round, step, seed)?,
                        None => self.defer(player, round, step, commit, &events[at + 1..]),
                    }
                }
                Event::CollectionChanged { .. } if holds && !collection::picks_companion(event) => {}
                Event::CollectionChanged { .. } => due.collection(event)?,
                Event::JackpotHit { round, pool } => {
                    let hit = playing.as_ref();
                    let hit = hit.filter(|playing| playing.number == *round && playing.pool.as_ref() == Some(pool));
                    let hit = hit.filter(|_| due.hit || holds);
                    let unfounded =
                        || Fault::new("the log has a jackpot hit, but the outcome has none", "no jackpot hit", pool);
                    let of = hit.ok_or_else(unfounded)?.of;
                    due.hit = false;
                    self.returns[of].hits += 1;
                    self.hits.insert(*position, of);
                }
                Event::WinCredited { .. } if holds => {}
                Event::WinCredited { amount, .. } => due.credit(*amount)?,
                Event::RoundSettled { round, win } => {
                    due.credited()?;
                    let settled = playing.take_if(|playing| playing.number == *round && due.settlement == Some(*win));
                    let Some(settled) = settled else {
                        let expected =
                            due.settlement.map_or("none".into(), |win| format!("the settled win must be {win}"));
                        return Err(Fault::new(
                            "the settlement differs from the round's outcome",
                            expected,
                            format!("round {round} was settled with a win of {win}"),
                        ));
                    };
                    due.settlement = None;
                    self.returns[settled.of].wins += i128::from(win.0);
                }
                Event::RoundVoided { round, .. } => {
                    due.nothing()?;
                    holds = false;
                    let here = playing.take_if(|playing| playing.number == *round);
                    due.collection = match here.or_else(|| player.open.remove(round)) {
                        Some(mut voided) => {
                            if let Some(dealt) = revealed(events, *round) {
                                self.release(&mut voided, stream, dealt)?;
                            }
                            player.carry(&voided, voided.live.terms.carried)
                        }
                        None => self.undo(player, stream, *round)?,
                    };
                }
                _ => {}
            }
        }
        due.nothing()?;
        player.keep(playing);
        Ok(())
    }

    fn seed_of(&mut self, round: &mut Playing, step: &StepResolved, commit: &Commit) -> Result<Option<Seed>, Fault> {
        let Some(drawn) = &step.draw else { return Ok(step.seed) };
        round.sealed += 1;
        let Some(dealt) = revealed(&commit.events, step.round) else { return Ok(None) };
        self.release(round, &commit.stream, dealt)?;
        let missing =
            || Fault::new("the commit lacks the dealt value of a draw", "one dealt value per sealed draw", dealt.len());
        let dealt = dealt.get(round.sealed - 1).ok_or_else(missing)?;
        let name = round_name(&commit.stream, step.round);
        Ok(Some(draw::seed(dealt, drawn.client_seed(&commit.request_id), &name, step.step)))
    }

    fn defer(
        &mut self,
        player: &mut Player,
        round: &mut Playing,
        step: &StepResolved,
        commit: &Commit,
        after: &[Event],
    ) {
        let Some(drawn) = &step.draw else { return };
        self.returns[round.of].steps += 1;
        let place = round.place.as_ref();
        let before = place.map_or_else(Carried::default, |place| player.carried(round.live.game, round.sharing, place));
        let client_seed = drawn.client_seed(&commit.request_id).to_vec();
        let mut deferred =
            DeferredStep { step: step.clone(), client_seed, before, collection: None, credit: None, hit: false };
        let is_next = |event: &&Event| matches!(event, Event::RoundStarted(_) | Event::StepResolved(_));
        for event in after.iter().take_while(|event| !is_next(event)) {
            match event {
                Event::CollectionChanged { changes, .. } if !collection::picks_companion(event) => {
                    deferred.collection = Some(event.clone());
                    player.carry_logged(round, &before, changes);
                }
                Event::WinCredited { amount, .. } => deferred.credit = Some(*amount),
                Event::JackpotHit { .. } => deferred.hit = true,
                _ => {}
            }
        }
        round.deferred.push(deferred);
    }

    fn release(&mut self, round: &mut Playing, stream: &StreamId, dealt: &[Dealt]) -> Result<(), Fault> {
        if round.deferred.is_empty() {
            return Ok(());
        }
        let name = round_name(stream, round.number);
        for (deferred, dealt) in std::mem::take(&mut round.deferred).into_iter().zip(dealt) {
            let DeferredStep { step, client_seed, before, collection, credit, hit } = deferred;
            let seed = draw::seed(dealt, &client_seed, &name, step.step);
            let due = self.outcome(round, &step, seed)?;
            let (game, carried) = (round.live.game, self.outcome.carried);
            let change = carried.zip(round.place.as_ref());
            let change = change.and_then(|(after, place)| collection::change(game, &place.1, &before, &after));
            let said = Required { collection: change, credit: due.credit, hit: due.hit, settlement: None };
            said.was(collection.as_ref(), credit, hit)?;
            if due.over {
                return Err(Fault::new(
                    "the round ended without a settlement",
                    format!("the settled win must be {}", due.win),
                    "none",
                ));
            }
        }
        Ok(())
    }

    fn start(&mut self, player: &Player, started: &RoundStarted, position: Position) -> Result<Playing, Fault> {
        let live = Live::open(started)
            .map_err(|error| Fault::new("the round cannot be resolved", "the round's game must be known", error))?;
        let RoundStarted { coin_value, currency, .. } = *started;
        let Live { game, terms, .. } = live;
        let coins = game.check_stake(&live.stake).ok();
        let bet = coins.and_then(|coins| cash(coins.into(), coin_value, currency).ok());
        if bet != Some(started.bet) {
            let expected = bet.map_or("none".into(), |bet| bet.to_string());
            return Err(Fault::new(
                "the bet differs from the stake's coins times the coin value",
                expected,
                started.bet,
            ));
        }
        if terms.jackpot != started.contribution.is_some() {
            return Err(Fault::new(
                "a round must be able to win the jackpot if and only if its bet contributed to the pool",
                format!("a contribution: {}", terms.jackpot),
                started.contribution.as_ref().map_or("none".into(), |given| format!("{} EUR", given.amount)),
            ));
        }
        let gamble_max = if terms.double { gamble_max_minor(game, currency, started.rate).ok() } else { Some(0) };
        if gamble_max != Some(terms.gamble_max_minor) {
            let expected = gamble_max.map_or("none".into(), |most| most.to_string());
            let what = "ME-14: the gamble limit is not the EUR limit at the bet's exchange rate";
            return Err(Fault::new(what, expected, terms.gamble_max_minor));
        }
        let carries = !game.carries().keys.is_empty();
        let place = carries.then(|| (game.name(), collection::scope(game, currency, started.bet)));
        let carried =
            |sharing| place.as_ref().map_or_else(Carried::default, |place| player.carried(game, sharing, place));
        // In older logs, the round's rules version, not the game's newest, determines which saved progress applies in
        // all currencies. The log does not state which version was used.
        let sharing = [Sharing::Game, Sharing::Version].into_iter().find(|sharing| carried(*sharing) == terms.carried);
        let Some(sharing) = sharing else {
            let carried = carried(Sharing::Game);
            let figures = |of: &Carried| format!("{:?} of {:?}", of.0, game.carries().keys);
            let what = "the player's saved progress differs from the progress stated in the round";
            return Err(Fault::new(what, figures(&carried), figures(&terms.carried)));
        };
        let of = self.returns_of(started, position);
        let figures = &mut self.returns[of];
        figures.rounds += 1;
        figures.contributing += u64::from(started.contribution.is_some());
        figures.bets += i128::from(started.bet.0);
        if started.campaign.is_some() {
            figures.free += 1;
            figures.free_bets += i128::from(started.bet.0);
        }
        let pool = started.contribution.as_ref().map(|given| given.pool.clone());
        Ok(Playing { number: started.round, of, pool, place, sharing, live, sealed: 0, deferred: vec![] })
    }

    fn returns_of(&mut self, started: &RoundStarted, position: Position) -> usize {
        let RoundStarted { game, rules_version, currency, .. } = started;
        self.returns.iter().position(|of| of.is_for(game, rules_version, *currency)).unwrap_or_else(|| {
            self.first.push(position);
            self.returns.push(Return::new(game, rules_version, *currency));
            self.returns.len() - 1
        })
    }

    fn resolve(
        &mut self,
        player: &mut Player,
        playing: &mut Playing,
        step: &StepResolved,
        seed: Seed,
    ) -> Result<Required, Fault> {
        let due = self.outcome(playing, step, seed)?;
        self.returns[playing.of].steps += 1;
        let carried = self.outcome.carried;
        Ok(Required {
            collection: carried.and_then(|carried| player.carry(playing, carried)),
            credit: due.credit,
            hit: due.hit,
            settlement: due.over.then_some(due.win),
        })
    }

    fn outcome(
        &mut self,
        playing: &mut Playing,
        step: &StepResolved,
        seed: Seed,
    ) -> Result<motherlode_rounds::StepEvents, Fault> {
        let outcome = &mut self.outcome;
        let live = &mut playing.live;
        live.logged(step, seed, outcome).map_err(|error| {
            Fault::new("the step cannot be resolved", "the round must be waiting for this choice", error)
        })?;
        self.bytes.clear();
        live.write(outcome, &mut self.bytes);
        if self.bytes != step.outcome {
            let (field, expected, found) = difference(&self.bytes, &step.outcome);
            let what = format!("PL-06: the seed and choice of step {} do not give its outcome: {field}", step.step);
            return Err(Fault::new(what, expected, found));
        }
        let due = motherlode_rounds::StepEvents::from_outcome(outcome, playing.pool.is_some(), None);
        let due =
            due.map_err(|error| Fault::new("the win is not a valid amount", "the win must fit in 64 bits", error))?;
        if due.win != step.win {
            return Err(Fault::new("the step's win differs from the outcome's win", due.win, step.win));
        }
        self.returns[playing.of].spins += outcome.spins.len() as u64;
        Ok(due)
    }

    fn undo(&self, player: &mut Player, stream: &StreamId, round: u64) -> Result<Option<Event>, Fault> {
        let settled = self.recalled.round(stream, round)?;
        let led = Led::from_started(&settled.started, &settled.collected).map_err(|error| {
            Fault::new("the voided round cannot be resolved", "the round's game must be known", error)
        })?;
        let Some(led) = led else { return Ok(None) };
        let place = (led.game.name(), led.scope.clone());
        let now = player.carried(led.game, Sharing::Game, &place);
        let left = led.undone(&now);
        if let Some(open) = player.open.values().find(|open| open.place.as_ref() == Some(&place))
            && left != now
        {
            let what = "the void changed saved progress in use by an open round";
            return Err(Fault::new(
                what,
                "saved progress must not change while an open round uses it",
                format!("round {} is open", open.number),
            ));
        }
        player.note(&place, &now, &left);
        Ok(collection::change(led.game, &led.scope, &now, &left))
    }
}

impl Required {
    fn collection(&mut self, changed: &Event) -> Result<(), Fault> {
        match &self.collection {
            Some(due) if due == changed => {
                self.collection = None;
                Ok(())
            }
            None if collection::picks_companion(changed) => Ok(()),
            due => {
                let what = "the logged change of saved progress differs from the outcome's";
                Err(Fault::new(what, due.as_ref().map_or("no change".into(), describe), describe(changed)))
            }
        }
    }

    fn credit(&mut self, amount: Minor) -> Result<(), Fault> {
        match self.credit.take() {
            Some(due) if due == amount => Ok(()),
            due => {
                let expected = due.map_or("none".into(), |due| due.to_string());
                Err(Fault::new(
                    "the logged credit of a partial win differs from the credit in the outcome",
                    expected,
                    amount,
                ))
            }
        }
    }

    fn credited(&self) -> Result<(), Fault> {
        match self.credit {
            Some(due) => Err(Fault::new(
                "the outcome credits a part of the win, but the log has no such credit",
                due,
                "no credit",
            )),
            None => Ok(()),
        }
    }

    fn was(mut self, collection: Option<&Event>, credit: Option<Minor>, hit: bool) -> Result<(), Fault> {
        if let Some(changed) = collection {
            self.collection(changed)?;
        }
        if let Some(amount) = credit {
            self.credit(amount)?;
        }
        if hit && !std::mem::take(&mut self.hit) {
            return Err(Fault::new(
                "the log has a jackpot hit, but the outcome has none",
                "no jackpot hit",
                "a jackpot hit",
            ));
        }
        self.nothing()
    }

    fn nothing(&self) -> Result<(), Fault> {
        self.credited()?;
        if let Some(due) = &self.collection {
            return Err(Fault::new(
                "the outcome changes a collection, but the log has no such change",
                describe(due),
                "no change",
            ));
        }
        if self.hit {
            return Err(Fault::new(
                "the outcome hits the jackpot, but the log has no jackpot hit",
                "the log must have a jackpot hit",
                "none",
            ));
        }
        match self.settlement {
            Some(win) => Err(Fault::new(
                "the round ended without a settlement",
                format!("the settled win must be {win}"),
                "none",
            )),
            None => Ok(()),
        }
    }
}

fn revealed(events: &[Event], of: u64) -> Option<&[Dealt]> {
    events.iter().find_map(|event| match event {
        Event::DrawsRevealed { round, dealt } if *round == of => Some(dealt.as_slice()),
        _ => None,
    })
}

fn describe(event: &Event) -> String {
    match event {
        Event::CollectionChanged { game, scope, changes } => {
            let changes: Vec<_> = changes.iter().map(|(key, value)| format!("{key} {value}")).collect();
            format!("{game} {scope:?}: {}", changes.join(", "))
        }
        event => format!("{event:?}"),
    }
}
