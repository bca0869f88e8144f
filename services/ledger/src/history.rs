//! Pages of a player's rounds, newest first (PL-05, DM-20). A page token is a round number, so it stays valid after
//! later play.

use crate::{
    error::FetchError,
    handle::Handle,
    projected::IndexAnswer,
    rounds,
    trails::{Entry, group},
};
use motherlode_log::Position;
use motherlode_proto::round::v1::Round;
use motherlode_state::{Currency, Event, StreamId};
use std::{cmp::Reverse, collections::BTreeMap};

pub(crate) struct HistoryFilter<'a> {
    pub(crate) stream: &'a StreamId,
    pub(crate) currency: Currency,
    pub(crate) game: &'a str,
    pub(crate) first: u64,
    pub(crate) size: usize,
}

pub(crate) type Page = (Vec<Round>, Option<u64>);

pub(crate) fn page(ledger: &Handle, wanted: &HistoryFilter<'_>) -> Result<Page, FetchError> {
    let HistoryFilter { stream, currency, game, first, size } = *wanted;
    let mut within = group(stream, currency, game);
    if game.is_empty() {
        // The trailing 0 byte would end a game's name.
        within.pop();
    }
    // Read before the walk, which finds later rounds. The extra round shows whether there is a next page.
    let IndexAnswer { to, found } = ledger.projected().rounds(stream, &within, first.saturating_add(1), size + 1)?;
    let latest = rounds::since(ledger, stream, to)?;
    let mut numbers: BTreeMap<Reverse<u64>, Vec<Position>> = BTreeMap::new();
    for Entry { round, at } in found {
        numbers.insert(Reverse(round), at);
    }
    for event in latest.iter().flat_map(|logged| &logged.commit.events) {
        if let Event::RoundStarted(started) = event
            && started.round <= first
            && started.currency == currency
            && (game.is_empty() || started.game == game)
        {
            numbers.entry(Reverse(started.round)).or_default();
        }
    }
    let next = numbers.keys().nth(size).map(|Reverse(number)| *number);
    let page = numbers.into_iter().take(size).map(|(Reverse(number), known)| {
        let commits = rounds::gather(ledger, stream, number, &known, &latest)?;
        rounds::view(ledger, stream, number, &commits)
    });
    Ok((page.collect::<Result<_, FetchError>>()?, next))
}
