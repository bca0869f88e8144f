//! Pages of a player's rounds. A page token is a round number, so it stays valid when further rounds are played.

use crate::{error::FetchError, handle::Handle, index::group, rounds};
use motherlode_proto::round::v1::Round;
use motherlode_state::{Currency, StreamId};
use std::cmp::Reverse;

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
    let within = group(stream, currency, game);
    let mut found = ledger.index().bets(stream, &within, first.saturating_add(1), size + 1)?;
    found.sort_unstable_by_key(|(number, _)| Reverse(*number));
    found.dedup();
    let next = found.get(size).map(|(number, _)| *number);
    let page = found.into_iter().take(size).map(|(number, bet)| {
        let commits = rounds::gather(ledger, stream, number, Some(bet))?;
        rounds::view(ledger, stream, number, &commits)
    });
    Ok((page.collect::<Result<_, FetchError>>()?, next))
}
