use crate::error::OpenError;
use motherlode_log::{Position, Reader};
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{Commit, Event, RoundStarted, SettledRound};
use std::sync::Arc;

pub(crate) fn bet_of(logged: &Logged, round: u64) -> Option<&RoundStarted> {
    logged.commit.events.iter().find_map(|event| match event {
        Event::RoundStarted(started) if started.round == round => Some(&**started),
        _ => None,
    })
}

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

pub(crate) fn recall(reader: &dyn Reader, void: &Commit, round: u64) -> Result<Option<SettledRound>, OpenError> {
    let stated = void.events.iter().find_map(|event| match event {
        Event::RoundVoided { round: of, settled: Some(settled), .. } if *of == round => Some(settled),
        _ => None,
    });
    if let Some(settled) = stated {
        return Ok(Some((**settled).clone()));
    }
    let fetch = |position| {
        let stored = reader.read(position, 1, usize::MAX)?;
        let stored =
            stored.first().ok_or_else(|| OpenError::Chain(format!("the record at position {position} is missing")))?;
        let decoded = record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source });
        Ok::<_, OpenError>(Arc::new(decoded?))
    };
    let commits = walk_back(fetch, fetch(void.previous)?, round)?;
    Ok(SettledRound::recall(round, commits.iter().rev().map(|logged| &logged.commit)))
}
