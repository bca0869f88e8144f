//! Rounds as they are shown: read back from the log, never from a copy (PL-05, PL-21).
//!
//! The index says where the commits of a round are, as of some position; what came later is found from the player's latest
//! commit backwards, since each names the one before it. Cost: a read a commit of the round, and one for each commit of
//! the player that the index is behind, at most [`WALK_MAX`]; what is of the last seconds comes from memory.

use crate::{
    error::FetchError,
    fields::{account_of, money, round_name, timestamp},
    handle::Handle,
    projected::Found,
};
use motherlode_books::{Automatic, Commit, Currency, Event, Minor, RoundStarted, SettledRound, StepResolved, StreamId};
use motherlode_log::Position;
use motherlode_proto::{
    convert::{
        Malformed, collection,
        event::automatic_to_wire,
        play::{self, hex},
        record::Logged,
        shown,
    },
    log::v1::RoundTerms,
    round::v1::{
        Awaiting, CarriedFigure, Choice, JackpotWin, Money, Outcome, Round, RoundState, Stake, Step, Void, jackpot_win,
    },
};
use prost::Message;
use std::sync::Arc;

/// The request id under which the award of a hit is paid: its own name, so that it is paid once. Clients' ids have no
/// slash and cannot collide with it.
#[must_use]
pub fn award_request_id(pool: &str, partition: u32, hit: Position) -> String {
    format!("award/{pool}/{partition}/{hit}")
}

/// Commits that are walked back to find a round; past that it's for the index to be there again.
const WALK_MAX: usize = 4096;
/// Commits that are looked at for a round's bet before the index is asked.
const NEAR: usize = 64;

/// The bet of a round and its steps so far, looked for from one of its commits backwards.
///
/// # Errors
/// When the log or the index cannot be read, or does not have the bet.
pub fn steps(handle: &Handle, from: &Arc<Logged>, round: u64) -> Result<(RoundStarted, Vec<StepResolved>), FetchError> {
    let mut walked = vec![Arc::clone(from)];
    while let Some(last) = walked.last()
        && bet_of(last, round).is_none()
        && last.commit.previous > 0
        && walked.len() < NEAR
    {
        walked.push(handle.fetch(last.commit.previous)?);
    }
    walked.reverse();
    if walked.first().is_none_or(|first| bet_of(first, round).is_none()) {
        walked = commits(handle, &from.commit.stream, round)?.unwrap_or_default();
        walked.retain(|logged| logged.commit.position <= from.commit.position);
    }
    let bet = walked.first().and_then(|logged| bet_of(logged, round)).cloned();
    let steps = walked.iter().flat_map(|logged| &logged.commit.events).filter_map(|event| match event {
        Event::StepResolved(step) if step.round == round => Some(step.clone()),
        _ => None,
    });
    Ok((bet.ok_or(FetchError::Missing(0))?, steps.collect()))
}

fn bet_of(logged: &Logged, round: u64) -> Option<&RoundStarted> {
    logged.commit.events.iter().find_map(|event| match event {
        Event::RoundStarted(started) if started.round == round => Some(started),
        _ => None,
    })
}

/// The player's commits from `last` back to the bet of the round, the latest first.
pub(crate) fn walk_back<E>(
    fetch: impl Fn(Position) -> Result<Arc<Logged>, E>,
    last: Arc<Logged>,
    round: u64,
) -> Result<Vec<Arc<Logged>>, E> {
    let mut commits = vec![last];
    while let Some(logged) = commits.last()
        && bet_of(logged, round).is_none()
        && logged.commit.previous > 0
    {
        commits.push(fetch(logged.commit.previous)?);
    }
    Ok(commits)
}

/// A player's commits past a position, the latest first.
///
/// # Errors
/// [`FetchError::Behind`] where they are too many; or when the log cannot be read.
pub(crate) fn since(handle: &Handle, stream: &StreamId, to: Position) -> Result<Vec<Arc<Logged>>, FetchError> {
    let mut next = handle.books(|books| books.player(stream).map_or(0, |player| player.head.position));
    let mut commits = vec![];
    while next > to {
        if commits.len() == WALK_MAX {
            return Err(FetchError::Behind);
        }
        let logged = handle.fetch(next)?;
        next = logged.commit.previous;
        commits.push(logged);
    }
    Ok(commits)
}

/// Whether a commit is of a round.
pub(crate) fn is_of(logged: &Logged, number: u64) -> bool {
    logged.commit.events.iter().any(|event| match event {
        Event::RoundStarted(started) => started.round == number,
        Event::StepResolved(step) => step.round == number,
        Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } | Event::JackpotHit { round, .. } => {
            *round == number
        }
        _ => false,
    })
}

/// The commits of a round, from its bet on; `None` when the player has no such round.
///
/// # Errors
/// When the log or the index cannot be read, or the index is behind.
pub(crate) fn commits(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<Vec<Arc<Logged>>>, FetchError> {
    if !handle.books(|books| books.player(stream).is_some_and(|player| (1..=player.rounds_started).contains(&number))) {
        return Ok(None);
    }
    // Read before the walk: what is later is walked back to.
    let Found { to, found } = handle.projected().round(stream, number)?;
    gather(handle, stream, number, &found, &since(handle, stream, to)?).map(Some)
}

/// The commits of a round from those that the index knows, and those among the player's latest.
pub(crate) fn gather(
    handle: &Handle,
    stream: &StreamId,
    number: u64,
    known: &[Position],
    latest: &[Arc<Logged>],
) -> Result<Vec<Arc<Logged>>, FetchError> {
    // What an index that is being made anew knows of the latest already is not read twice.
    let from = latest.last().map_or(Position::MAX, |first| first.commit.position);
    let known = known.iter().filter(|position| **position < from);
    let mut commits = known.map(|position| handle.fetch(*position)).collect::<Result<Vec<_>, _>>()?;
    commits.extend(latest.iter().rev().filter(|logged| is_of(logged, number)).cloned());
    let void = handle.books(|books| books.player(stream)?.voided_at(number));
    if let Some(void) = void.filter(|void| commits.last().is_some_and(|last| last.commit.position < *void)) {
        commits.push(handle.fetch(void)?);
    }
    match commits.first().is_some_and(|first| bet_of(first, number).is_some()) {
        true => Ok(commits),
        // An index that knows less than it should is as good as none.
        false => Err(FetchError::Behind),
    }
}

/// A settled round as its void needs it (PL-04); `None` when the player has no such round, or it was not settled.
///
/// # Errors
/// When the log or the index cannot be read, or the index is behind.
pub(crate) fn recall(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<SettledRound>, FetchError> {
    let commits = commits(handle, stream, number)?.unwrap_or_default();
    Ok(SettledRound::recall(number, commits.iter().map(|logged| &logged.commit)))
}

/// A round with its whole picture; `None` when the player has no such round.
///
/// # Errors
/// When the log or the index cannot be read, or the index is behind.
pub fn read(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<Round>, FetchError> {
    let Some(commits) = commits(handle, stream, number)? else { return Ok(None) };
    view(handle, stream, number, &commits).map(Some)
}

/// A round as its commits have it.
pub(crate) fn view(
    handle: &Handle,
    stream: &StreamId,
    number: u64,
    commits: &[Arc<Logged>],
) -> Result<Round, FetchError> {
    let bet = commits.first().and_then(|logged| Some((logged, bet_of(logged, number)?)));
    let (first, bet) = bet.ok_or(FetchError::Missing(0))?;
    let mut view = start(first, bet).map_err(|source| malformed(first, source))?;
    let mut last = 0;
    for logged in commits {
        let previous = logged.commit.previous;
        if last != 0 && previous != last {
            // Something else of the player's came in between.
            view.balance = balance(&*handle.fetch(previous)?, view.currency);
        }
        add_all(&mut view, logged, number)?;
        last = logged.commit.position;
    }
    complete(&mut view);
    let mut round = view.round;
    pay(handle, stream, &mut round)?;
    hide(&mut round);
    Ok(round)
}

/// Adds to the outcomes what only resolving the round again tells: nothing that is still hidden (NP-12). A round of a
/// version that this program does not have is shown as it was logged.
fn complete(view: &mut View) {
    let over = view.round.state() != RoundState::Open;
    let outcomes = view.round.steps.iter_mut().filter_map(|step| step.outcome.as_mut());
    if let Err(error) = shown::complete(&view.started, view.resolved.iter().zip(outcomes), over) {
        tracing::warn!(round = view.round.round_id, %error, "the round is shown as it was logged");
    }
}

/// Takes the seeds out of an open round: what is still hidden in it follows from them (NP-12).
fn hide(round: &mut Round) {
    if round.state() == RoundState::Open {
        round.steps.iter_mut().for_each(|step| step.seed.clear());
    }
}

/// Adds what a commit says of the round.
fn add_all(view: &mut View, logged: &Logged, number: u64) -> Result<(), FetchError> {
    let mut events = logged.commit.events.iter();
    events.try_for_each(|event| go_on(view, logged, event, number)).map_err(|source| malformed(logged, source))?;
    view.balance = balance(logged, view.currency);
    Ok(())
}

fn malformed(logged: &Logged, source: Malformed) -> FetchError {
    FetchError::Malformed { position: logged.commit.position, source }
}

/// Adds the payments of the round's jackpots, which may come at any later time.
fn pay(handle: &Handle, stream: &StreamId, round: &mut Round) -> Result<(), FetchError> {
    for jackpot in &mut round.jackpots {
        let id = award_request_id(&jackpot.pool_id, handle.partition(), jackpot.hit_position);
        let Some(position) =
            handle.find_position(stream, &id).map_err(|_| FetchError::Missing(jackpot.hit_position))?
        else {
            if let Some(owed) = set_aside(handle, jackpot.hit_position) {
                jackpot.amount = Some(owed);
                jackpot.state = jackpot_win::State::SetAside.into();
            }
            continue;
        };
        let paid = handle.fetch(position)?;
        jackpot.amount = paid.commit.events.iter().find_map(|event| match event {
            Event::JackpotPaid { amount, currency, .. } => Some(money(*amount, *currency)),
            _ => None,
        });
        jackpot.state = jackpot_win::State::Paid.into();
    }
    Ok(())
}

/// The debt to a player for a hit whose award is set aside.
#[must_use]
pub fn set_aside(handle: &Handle, hit: Position) -> Option<Money> {
    handle.books(|books| {
        let award = books.unpaid_award(handle.partition(), hit).filter(|award| award.set_aside)?;
        Some(money(award.amount, award.currency))
    })
}

/// A round while its commits are folded into it.
struct View {
    round: Round,
    currency: Currency,
    /// The balance after the player's commit before the next one.
    balance: Minor,
    started: RoundStarted,
    resolved: Vec<StepResolved>,
}

fn balance(logged: &Logged, currency: Currency) -> Minor {
    let after = logged.balances_after.iter().find(|(of, _)| *of == currency);
    after.map_or(Minor(0), |(_, amount)| *amount)
}

fn start(logged: &Logged, bet: &RoundStarted) -> Result<View, Malformed> {
    let terms = RoundTerms::decode(bet.stake.as_slice())?;
    let currency = bet.currency;
    let stream = &logged.commit.stream;
    // The commit may have credited a win as well: what was there before is what is there after, undone.
    let credited = logged.commit.events.iter().find_map(|event| match event {
        Event::RoundSettled { win, .. } => Some(win.0),
        _ => None,
    });
    let before = Minor(balance(logged, currency).0 - credited.unwrap_or(0) + bet.charged().0);
    let round = Round {
        round_id: round_name(stream, bet.round),
        account: Some(account_of(stream, currency)),
        game: bet.game.clone(),
        rules_version: bet.rules_version.clone(),
        model_hash: hex(&bet.model_hash),
        stake: Some(Stake {
            coin_value: bet.coin_value.to_string(),
            lines: terms.lines,
            coins_per_line: terms.coins_per_line,
            buy_feature: terms.buy_feature,
        }),
        bet: Some(money(bet.bet, currency)),
        win: Some(money(Minor(0), currency)),
        state: RoundState::Open.into(),
        awaiting: Awaiting::Spin.into(),
        start_time: Some(timestamp(logged.commit.time_ms)),
        contribution_eur: bet.contribution.as_ref().map_or_else(String::new, |part| part.amount.to_string()),
        exchange_rate: if currency.is_real() { bet.rate.to_string() } else { String::new() },
        balance_before: Some(money(before, currency)),
        session_name: bet.session.map_or_else(String::new, |session| hex(&session)),
        jurisdiction: bet.jurisdiction.clone(),
        campaign_id: bet.campaign.clone().unwrap_or_default(),
        witch: witch(logged, bet, &terms),
        carried: carried(bet, &terms),
        ..Round::default()
    };
    Ok(View { round, currency, balance: before, started: bet.clone(), resolved: vec![] })
}

/// The player's collection at the bet; empty where this program doesn't have the game.
fn carried(bet: &RoundStarted, terms: &RoundTerms) -> Vec<CarriedFigure> {
    let keys = play::game_of(bet).map_or(&[][..], |game| game.carries().keys);
    let figures = keys.iter().zip(&terms.carried).filter(|(_, value)| **value != 0);
    figures.map(|(key, value)| CarriedFigure { key: (*key).to_owned(), value: *value }).collect()
}

/// The changes of a commit to the player's collection in the round's game.
fn changed(logged: &Logged, in_game: &str) -> Vec<CarriedFigure> {
    let changes = logged.commit.events.iter().filter_map(|event| match event {
        Event::CollectionChanged { game, scope, changes } if game == in_game && !scope.is_empty() => Some(changes),
        _ => None,
    });
    changes.flatten().map(|(key, value)| CarriedFigure { key: key.clone(), value: *value }).collect()
}

/// The witch as the bet says her, or as she was picked with it: rounds of older logs say no more.
fn witch(logged: &Logged, bet: &RoundStarted, terms: &RoundTerms) -> i32 {
    let picked = logged.commit.events.iter().find_map(|event| collection::picked_witch(event, &bet.game));
    let witch = Some(i64::from(terms.witch)).filter(|witch| *witch > 0).or(picked);
    witch.and_then(|witch| i32::try_from(witch).ok()).unwrap_or_default()
}

fn go_on(view: &mut View, logged: &Logged, event: &Event, number: u64) -> Result<(), Malformed> {
    let (round, currency) = (&mut view.round, view.currency);
    match event {
        Event::StepResolved(step) if step.round == number => {
            let resolved = step.clone();
            let carried = changed(logged, &round.game);
            let closed = matches!(step.automatic, Some(Automatic::Closed { .. }));
            let reference = if closed { reference(&logged.commit) } else { String::new() };
            let step = Step { carried, reference, ..step_of(logged, step, currency, view.balance)? };
            view.resolved.push(resolved);
            round.balance_after = Some(money(balance(logged, currency), currency));
            round.win = step.win.clone();
            round.awaiting = step.outcome.as_ref().map_or(0, |outcome| outcome.awaiting);
            round.steps.push(step);
        }
        Event::WinCredited { round: of, amount } if *of == number => {
            let before = round.credited.as_ref().map_or(0, |credited| credited.amount_minor);
            round.credited = Some(money(Minor(before.saturating_add(amount.0)), currency));
        }
        Event::RoundSettled { round: of, .. } if *of == number => round.state = RoundState::Settled.into(),
        Event::RoundVoided { round: of, reason, actor, refund, win_taken_back } if *of == number => {
            let credited = if round.state() == RoundState::Settled { &round.win } else { &round.credited };
            let left = credited.as_ref().map_or(0, |win| win.amount_minor) - win_taken_back.0;
            round.void = Some(Void {
                reason: reason.clone(),
                actor: actor.clone(),
                refund: Some(money(*refund, currency)),
                win_taken_back: Some(money(*win_taken_back, currency)),
                win_left: Some(money(Minor(left), currency)),
                position: logged.commit.position,
                time: Some(timestamp(logged.commit.time_ms)),
                reference: reference(&logged.commit),
            });
            round.balance_after = Some(money(balance(logged, currency), currency));
            round.state = RoundState::Voided.into();
            round.awaiting = Awaiting::Nothing.into();
        }
        Event::JackpotHit { round: of, pool } if *of == number => round.jackpots.push(JackpotWin {
            state: jackpot_win::State::Pending.into(),
            pool_id: pool.clone(),
            hit_position: logged.commit.position,
            amount: None,
        }),
        _ => {}
    }
    Ok(())
}

fn step_of(logged: &Logged, step: &StepResolved, currency: Currency, before: Minor) -> Result<Step, Malformed> {
    Ok(Step {
        number: step.step,
        position: logged.commit.position,
        seed: step.seed.to_vec(),
        choice: Some(Choice::decode(step.choice.as_slice())?),
        outcome: Some(Outcome::decode(step.outcome.as_slice())?),
        win: Some(money(step.win, currency)),
        time: Some(timestamp(logged.commit.time_ms)),
        automatic: step.automatic.as_ref().map(automatic_to_wire),
        balance_before: Some(money(before, currency)),
        balance_after: Some(money(balance(logged, currency), currency)),
        carried: vec![],
        reference: String::new(),
    })
}

/// The own words of a commit's caller, beside its credential; empty without any.
fn reference(commit: &Commit) -> String {
    commit.acted_by().map_or_else(String::new, |(_, reference)| reference.to_owned())
}
