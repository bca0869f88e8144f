//! The history of a player's rounds, page by page (PL-05, DM-20): of one game or of all, in one currency, the latest first.
//!
//! A page is found by the index, whatever else was played in between, and costs what its own rounds cost. A page's token is
//! the number of the round that it begins with, which stays what it is, whatever is played or voided meanwhile.

use crate::{
    error::FetchError,
    handle::Handle,
    projected::Found,
    rounds,
    trails::{Entry, group},
};
use motherlode_books::{Currency, Event, StreamId};
use motherlode_log::Position;
use motherlode_proto::round::v1::Round;
use std::{cmp::Reverse, collections::BTreeMap};

/// The query of a history.
pub(crate) struct Wanted<'a> {
    pub(crate) stream: &'a StreamId,
    pub(crate) currency: Currency,
    /// Empty for all games.
    pub(crate) game: &'a str,
    /// The rounds' highest number.
    pub(crate) first: u64,
    pub(crate) size: usize,
}

/// A page, and the number that the next one begins with.
pub(crate) type Page = (Vec<Round>, Option<u64>);

/// Reads a page.
///
/// # Errors
/// When the log or the index cannot be read, or the index is behind and the page too far back.
pub(crate) fn page(ledger: &Handle, wanted: &Wanted<'_>) -> Result<Page, FetchError> {
    let Wanted { stream, currency, game, first, size } = *wanted;
    let mut within = group(stream, currency, game);
    if game.is_empty() {
        // Its own 0 byte would end the name of a game.
        within.pop();
    }
    // Read before the walk: what is later is walked back to. One more than asked for tells whether there is a next page.
    let Found { to, found } = ledger.projected().rounds(stream, &within, first.saturating_add(1), size + 1)?;
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
