use crate::{append::AppendError, error::FetchError, fields::round_name, handle::Handle, walk::bet_of};
use motherlode_log::{Position, ReadError};
use motherlode_proto::{
    convert::record::Logged,
    round::v1::{Round, RoundState, Step},
};
use motherlode_rounds::{Award, Fold, RoundView, draws, wire};
use motherlode_state::{
    Bet, Books, Event, InternalRequest, Minor, RoundKey, RoundStarted, SettledRound, StreamId, rounds_named,
};
use std::{collections::BTreeMap, sync::Arc};

const WALK_MAX: usize = 4096;
const NEAR: usize = 64;

pub fn as_of(handle: &Handle, from: &Arc<Logged>, round: u64) -> Result<RoundView, FetchError> {
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
    folded(handle, round, &walked)
}

#[must_use]
pub fn is_for(logged: &Logged, number: u64) -> bool {
    logged.commit.events.iter().any(|event| match event {
        Event::RoundStarted(started) => started.round == number,
        Event::StepResolved(step) => step.round == number,
        Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } | Event::JackpotHit { round, .. } => {
            *round == number
        }
        _ => false,
    })
}

pub(crate) fn commits(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<Vec<Arc<Logged>>>, FetchError> {
    let started = handle.books_of(stream, |books| books.player(stream).map_or(0, |player| player.rounds_started))?;
    if !(1..=started).contains(&number) {
        return Ok(None);
    }
    gather(handle, stream, number, None).map(Some)
}

pub fn opening(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<Arc<Logged>>, FetchError> {
    Ok(commits(handle, stream, number)?.and_then(|commits| commits.into_iter().next()))
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub round: Vec<Position>,
    pub sealing: Vec<Position>,
    pub over: bool,
}

/// Finds a round's commits and, in `sealing`, the earlier commits that sealed its draws. At most `WALK_MAX` earlier
/// commits of the player are read, so `sealing` can be incomplete.
pub fn places(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<Places>, FetchError> {
    let Some(commits) = commits(handle, stream, number)? else { return Ok(None) };
    let ends = |event: &Event| match event {
        Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } => *round == number,
        _ => false,
    };
    let over = commits.iter().flat_map(|logged| &logged.commit.events).any(ends);
    let round = commits.iter().map(|logged| logged.commit.position).collect();
    Ok(Some(Places { round, sealing: sealing(handle, number, &commits)?, over }))
}

fn sealing(handle: &Handle, number: u64, commits: &[Arc<Logged>]) -> Result<Vec<Position>, FetchError> {
    let (mut found, mut walked) = (vec![], 0);
    for logged in commits {
        let Some(draw) = draws::used(&logged.commit.events, number).next() else { continue };
        let mut next = logged.commit.previous;
        while next > 0 && walked < WALK_MAX {
            let before = handle.fetch(next)?;
            walked += 1;
            let events = &before.commit.events;
            if draws::sealed(events).any(|sealed| sealed.name.number == draw) {
                let of_round = commits.iter().any(|logged| logged.commit.position == next);
                found.extend((!of_round && draws::may_be_shown(events)).then_some(next));
                break;
            }
            next = before.commit.previous;
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

pub(crate) fn gather(
    handle: &Handle,
    stream: &StreamId,
    number: u64,
    bet: Option<Position>,
) -> Result<Vec<Arc<Logged>>, FetchError> {
    let positions = handle.index().round(stream, number, bet)?;
    // The last record is fetched first, because a read from the archive also loads earlier records.
    let commits = positions.iter().rev().map(|position| handle.fetch(*position));
    let mut commits = commits.collect::<Result<Vec<_>, _>>()?;
    commits.reverse();
    // Streams of two players can have the same hash, so the index may also return the other player's commits.
    commits.retain(|logged| logged.commit.stream == *stream);
    match commits.first().is_some_and(|first| bet_of(first, number).is_some()) {
        true => Ok(commits),
        false => Err(FetchError::Missing(positions.first().copied().unwrap_or_default())),
    }
}

pub(crate) fn recall(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<SettledRound>, FetchError> {
    let mut commits = commits(handle, stream, number)?.unwrap_or_default();
    let hits = commits.iter().flat_map(|logged| {
        let position = logged.commit.position;
        logged.commit.events.iter().filter_map(move |event| match event {
            Event::JackpotHit { round, pool } if *round == number => Some((pool.clone(), position)),
            _ => None,
        })
    });
    for (pool, hit) in hits.collect::<Vec<_>>() {
        commits.extend(payment(handle, stream, &pool, hit)?);
    }
    Ok(SettledRound::recall(number, commits.iter().map(|logged| &logged.commit)))
}

fn payment(handle: &Handle, stream: &StreamId, pool: &str, hit: Position) -> Result<Option<Arc<Logged>>, FetchError> {
    let id = InternalRequest::PayAward { pool, partition: handle.partition(), hit }.to_string();
    let position = handle.find_position(stream, &id).map_err(|error| match error {
        AppendError::Archived { position, first } => ReadError::Archived { position, first }.into(),
        _ => FetchError::Missing(hit),
    })?;
    position.map(|position| handle.fetch(position)).transpose()
}

fn is_held(handle: &Handle, stream: &StreamId, number: u64) -> Result<bool, FetchError> {
    let now_ms = handle.now_ms();
    let is_held = |books: &Books| books.player(stream)?.waiting_void(number, now_ms).map(|_| ());
    Ok(handle.books_of(stream, is_held)?.is_some())
}

/// For each earlier round whose money the commit moves, returns the bet and the amount credited before the commit
/// (PL-34).
pub fn bets_before(handle: &Handle, of: &Logged) -> Result<BTreeMap<RoundKey, Bet>, FetchError> {
    let mut rounds: Vec<_> = rounds_named(&of.commit).collect();
    rounds.dedup();
    let bet = |round| Ok(((of.commit.stream.clone(), round), bet_before(handle, of, round)?));
    rounds.into_iter().map(bet).collect()
}

fn bet_before(handle: &Handle, of: &Logged, number: u64) -> Result<Bet, FetchError> {
    let (mut next, mut credited, mut walked) = (of.commit.previous, 0_i64, 0);
    while next > 0 {
        if walked == NEAR
            && let Ok(Some(commits)) = commits(handle, &of.commit.stream, number)
        {
            let earlier = commits.iter().filter(|logged| logged.commit.position < of.commit.position);
            credited = earlier.map(|logged| credited_of(logged, number)).sum();
            let started = commits.iter().find_map(|logged| bet_of(logged, number));
            return started.map(|started| bet(started, credited)).ok_or(FetchError::Missing(next));
        }
        let logged = handle.fetch(next)?;
        credited = credited.saturating_add(credited_of(&logged, number));
        if let Some(started) = bet_of(&logged, number) {
            return Ok(bet(started, credited));
        }
        next = logged.commit.previous;
        walked += 1;
    }
    Err(FetchError::Missing(of.commit.position))
}

fn bet(started: &RoundStarted, credited: i64) -> Bet {
    Bet { credited: Minor(credited), ..Bet::from_started(started) }
}

fn credited_of(logged: &Logged, number: u64) -> i64 {
    let of = |event: &Event| match event {
        Event::WinCredited { round, amount } if *round == number => amount.0,
        _ => 0,
    };
    logged.commit.events.iter().map(of).sum()
}

pub fn read(handle: &Handle, stream: &StreamId, number: u64) -> Result<Option<Round>, FetchError> {
    let Some(commits) = commits(handle, stream, number)? else { return Ok(None) };
    view(handle, stream, number, &commits).map(Some)
}

/// Returns a round without its steps, except for the last step's number, time and win.
pub fn summary(handle: &Handle, stream: &StreamId, number: u64, bet: Position) -> Result<Round, FetchError> {
    let commits = gather(handle, stream, number, Some(bet))?;
    let mut round = wire::round(awarded(handle, stream, number, &commits)?, stream);
    let last =
        round.steps.pop().map(|last| Step { number: last.number, time: last.time, win: last.win, ..Step::default() });
    round.steps = last.into_iter().collect();
    Ok(round)
}

pub(crate) fn view(
    handle: &Handle,
    stream: &StreamId,
    number: u64,
    commits: &[Arc<Logged>],
) -> Result<Round, FetchError> {
    let mut view = awarded(handle, stream, number, commits)?;
    let generations = handle.generations();
    let dealt_of = |name| handle.draws().dealt(stream, name, &generations);
    if let Err(error) = view.complete(&dealt_of) {
        tracing::warn!(round = round_name(stream, number), %error, "failed to compute a round's steps from the \
             round's draws: the round is shown with the logged fields only");
    }
    let mut round = wire::round(view, stream);
    hide(&mut round);
    Ok(round)
}

fn awarded(handle: &Handle, stream: &StreamId, number: u64, commits: &[Arc<Logged>]) -> Result<RoundView, FetchError> {
    let mut view = folded(handle, number, commits)?;
    for jackpot in &mut view.jackpots {
        let is_void = jackpot.award == Award::Voided;
        jackpot.award = match award(handle, stream, &jackpot.pool, jackpot.hit)? {
            Award::Pending if is_void => Award::Voided,
            Award::Pending | Award::SetAside(..) if is_held(handle, stream, number)? => Award::Held,
            award => award,
        };
    }
    Ok(view)
}

fn folded(handle: &Handle, number: u64, commits: &[Arc<Logged>]) -> Result<RoundView, FetchError> {
    let mut fold = Fold::new(number);
    let mut add = |logged: &Logged| {
        fold.add(logged).map_err(|source| FetchError::Malformed { position: logged.commit.position, source })
    };
    let mut last = 0;
    for logged in commits {
        let previous = logged.commit.previous;
        if last != 0 && previous != last {
            add(&*handle.fetch(previous)?)?;
        }
        add(logged)?;
        last = logged.commit.position;
    }
    let mut view = fold.view().ok_or(FetchError::Missing(0))?;
    for step in &mut view.steps {
        let position = step.position;
        step.malformed.take().map_or(Ok(()), |source| Err(FetchError::Malformed { position, source }))?;
    }
    Ok(view)
}

/// Hides the seeds of an open round, because they determine outcomes that the player has not seen (NP-12).
fn hide(round: &mut Round) {
    if round.state() == RoundState::Open {
        round.steps.iter_mut().for_each(|step| step.seed.clear());
    }
}

pub fn award(handle: &Handle, stream: &StreamId, pool: &str, hit: Position) -> Result<Award, FetchError> {
    let Some(paid) = payment(handle, stream, pool, hit)? else {
        return Ok(set_aside(handle, hit).unwrap_or_default());
    };
    Ok(paid.commit.events.iter().find_map(|event| Award::from_event(event, hit)).unwrap_or_default())
}

#[must_use]
pub fn set_aside(handle: &Handle, hit: Position) -> Option<Award> {
    handle.books(|books| {
        let award = books.unpaid_award(handle.partition(), hit).filter(|award| award.set_aside)?;
        Some(Award::SetAside(award.amount, award.currency))
    })
}
