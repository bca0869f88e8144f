//! Rounds of an operator in pages, latest bet first (PL-34).

use crate::{
    events::{Filter, Look, Unreadable},
    figures::Figures,
    follower::Follower,
    revenue::page_size,
};
use motherlode_ledger::{
    FetchError, Handle,
    fields::{self, round_name, timestamp},
    rounds,
};
use motherlode_proto::{
    convert::record::{self, Logged},
    report::v1::{self as wire, SignificantKind},
    round::v1::{Round, RoundState},
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Currency, Event, RoundStarted, StreamId};
use prost_types::Timestamp;
use std::collections::BTreeSet;

const PAGE_SIZE: usize = 50;
const PAGE_SIZE_MAX: usize = 200;
const RECORDS_MAX: u64 = 20_000;
const LOOKUPS_MAX: usize = 400;
const STRETCH: u64 = 512;
const STRETCH_MIN: u64 = 16;
const BYTES_MAX: usize = 1 << 20;
const VOIDS_MAX: usize = 1_000;

/// Time, partition, position.
type Place = (i64, u32, u64);

const LATEST: Place = (i64::MAX, u32::MAX, u64::MAX);

struct RoundFilter {
    operator: String,
    from_ms: i64,
    game: String,
    currency: Option<Currency>,
    state: RoundState,
    win_min: i64,
    free_only: bool,
    voided: Option<BTreeSet<String>>,
    size: usize,
}

#[derive(Default)]
struct Page {
    rounds: Vec<Round>,
    next: Option<Place>,
}

pub(crate) async fn list(
    follower: &Follower,
    caller: &Caller,
    request: &wire::ListOperatorRoundsRequest,
) -> Result<wire::ListOperatorRoundsResponse, Refusal> {
    let wanted = RoundFilter::new(request)?;
    let (end_ms, from) = (time_ms("end_time", request.end_time.as_ref(), i64::MAX)?, place(&request.page_token)?);
    if !caller.owns(&wanted.operator) {
        return Ok(wire::ListOperatorRoundsResponse::default());
    }
    let ledgers = follower.ledgers();
    ledgers.whole()?;
    let handles: Vec<Handle> = ledgers.all().cloned().collect();
    let looks = |partitions: &[&Figures]| -> Vec<Look> {
        partitions.iter().map(|figures| figures.significant.events.look()).collect()
    };
    let looks = if wanted.state == RoundState::Voided { follower.read(looks).await?.0 } else { vec![] };
    let read = move || {
        let voided = if looks.is_empty() { None } else { voided(&looks, &wanted.operator)? };
        let wanted = RoundFilter { voided, ..wanted };
        let partitions = handles.into_iter().map(|ledger| Partition::open(ledger, end_ms, from));
        Ok::<_, Refusal>(page(partitions.collect::<Result<_, FetchError>>()?, &wanted)?)
    };
    let page = ledgers.reads().run(caller, read).await??;
    let token = |(time_ms, partition, position): Place| format!("{time_ms}.{partition}.{position}");
    Ok(wire::ListOperatorRoundsResponse {
        rounds: page.rounds,
        next_page_token: page.next.map(token).unwrap_or_default(),
        searched_time: page.next.map(|(time_ms, ..)| timestamp(time_ms)),
    })
}

impl RoundFilter {
    fn new(request: &wire::ListOperatorRoundsRequest) -> Result<Self, Refusal> {
        if request.win_min_minor < 0 {
            return Err(Refusal::field("win_min_minor", "must not be negative"));
        }
        let state = |_| Refusal::field("state", "must be a defined state");
        Ok(Self {
            operator: fields::id("operator_id", &request.operator_id)?.to_owned(),
            from_ms: time_ms("from_time", request.from_time.as_ref(), i64::MIN)?,
            game: fields::optional_id("game", &request.game)?.to_owned(),
            currency: match request.currency_code.as_str() {
                "" => None,
                code => Some(fields::currency("currency_code", code)?),
            },
            state: RoundState::try_from(request.state).map_err(state)?,
            win_min: request.win_min_minor,
            free_only: request.free_only,
            voided: None,
            size: page_size(request.page_size, PAGE_SIZE, PAGE_SIZE_MAX)?,
        })
    }
}

fn time_ms(field: &str, time: Option<&Timestamp>, otherwise: i64) -> Result<i64, Refusal> {
    time.map_or(Ok(otherwise), |time| fields::time_ms(field, Some(time)))
}

fn place(page_token: &str) -> Result<Place, Refusal> {
    let place = match fields::page_token(page_token)?[..] {
        [] => Some(LATEST),
        [time_ms, partition, position] if position > 0 => i64::try_from(time_ms)
            .ok()
            .zip(u32::try_from(partition).ok())
            .map(|(time_ms, partition)| (time_ms, partition, position)),
        _ => None,
    };
    place.ok_or_else(fields::page_token_unknown)
}

fn voided(looks: &[Look], operator: &str) -> Result<Option<BTreeSet<String>>, Unreadable> {
    let filter = Filter { own: Some(operator.to_owned()), kinds: vec![SignificantKind::Void.into()], before: None };
    let voids = looks.iter().flat_map(|look| look.back(&filter)).take(VOIDS_MAX + 1);
    let voided = voids.map(|event| Ok(event?.subject.clone())).collect::<Result<Vec<_>, Unreadable>>()?;
    Ok((voided.len() <= VOIDS_MAX).then(|| voided.into_iter().collect()))
}

struct Partition {
    ledger: Handle,
    /// Position of the next record to read; records are read backwards.
    next: u64,
    /// Time of the oldest record that was read.
    reached_ms: i64,
}

impl Partition {
    fn open(ledger: Handle, end_ms: i64, (time_ms, partition, position): Place) -> Result<Self, FetchError> {
        let number = ledger.partition();
        let next = match number {
            _ if number == partition => (position - 1).min(last_before(&ledger, end_ms)?),
            _ if number < partition => last_before(&ledger, end_ms.min(time_ms.saturating_add(1)))?,
            _ => last_before(&ledger, end_ms.min(time_ms))?,
        };
        Ok(Self { ledger, next, reached_ms: i64::MAX })
    }

    fn reached(&self) -> (i64, u32) {
        (self.reached_ms, self.ledger.partition())
    }

    fn read(&mut self, count: u64, wanted: &RoundFilter) -> Result<Vec<Bet>, FetchError> {
        let (mut found, mut next) = (vec![], self.next.saturating_sub(count - 1).max(self.ledger.first()));
        let (first, last) = (next, self.next);
        while next <= last {
            let records =
                self.ledger.records(next, usize::try_from(last - next + 1).unwrap_or(usize::MAX), BYTES_MAX)?;
            next = records.last().map(|record| record.position + 1).ok_or(FetchError::Missing(next))?;
            for stored in records.iter().filter(|record| record.position <= last) {
                let malformed = |source| FetchError::Malformed { position: stored.position, source };
                let is_own = match record::stream(&stored.bytes).map_err(malformed)? {
                    StreamId::Player { operator, .. } => operator == wanted.operator,
                    _ => false,
                };
                if !is_own && stored.position != first {
                    continue;
                }
                let logged = record::decode(&stored.bytes).map_err(malformed)?;
                if stored.position == first {
                    self.reached_ms = logged.commit.time_ms;
                }
                found.extend(bet(&logged, wanted).filter(|_| is_own && logged.commit.time_ms >= wanted.from_ms));
            }
        }
        self.next = first - 1;
        Ok(found)
    }

    fn is_over(&self, wanted: &RoundFilter) -> bool {
        self.next < self.ledger.first() || self.reached_ms < wanted.from_ms
    }
}

/// Uses binary search, because a partition's times never decrease.
fn last_before(ledger: &Handle, end_ms: i64) -> Result<u64, FetchError> {
    let (mut low, mut high) = (ledger.first().saturating_sub(1), ledger.durable());
    if end_ms == i64::MAX {
        return Ok(high);
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match ledger.fetch(middle)?.commit.time_ms < end_ms {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    Ok(low)
}

struct Bet {
    place: Place,
    stream: StreamId,
    round: u64,
}

fn bet(logged: &Logged, wanted: &RoundFilter) -> Option<Bet> {
    let commit = &logged.commit;
    let started = commit.events.iter().find_map(|event| match event {
        Event::RoundStarted(started) => Some(&**started),
        _ => None,
    })?;
    let settled = commit.events.iter().find_map(|event| match event {
        Event::RoundSettled { round, win } if *round == started.round => Some(win.0),
        _ => None,
    });
    let may_match = is_wanted(started, wanted)
        && settled.is_none_or(|win| win >= wanted.win_min && wanted.state != RoundState::Open)
        && wanted.voided.as_ref().is_none_or(|voided| voided.contains(&round_name(&commit.stream, started.round)));
    let place = (commit.time_ms, commit.partition, commit.position);
    may_match.then(|| Bet { place, stream: commit.stream.clone(), round: started.round })
}

fn is_wanted(started: &RoundStarted, wanted: &RoundFilter) -> bool {
    (wanted.game.is_empty() || started.game == wanted.game)
        && wanted.currency.is_none_or(|currency| started.currency == currency)
        && (!wanted.free_only || started.campaign.is_some())
}

fn has(round: &Round, wanted: &RoundFilter) -> bool {
    let win = round.win.as_ref().map_or(0, |win| win.amount_minor);
    win >= wanted.win_min && (wanted.state == RoundState::Unspecified || round.state() == wanted.state)
}

/// Merges the partitions' rounds, latest first. Each read is from the partition that was read the least far back.
fn page(mut partitions: Vec<Partition>, wanted: &RoundFilter) -> Result<Page, FetchError> {
    let stretch = (STRETCH / partitions.len().max(1) as u64).max(STRETCH_MIN);
    let (mut page, mut bets, mut looked, mut lookups) = (Page::default(), Vec::<Bet>::new(), 0, 0);
    loop {
        let latest = partitions.iter_mut().filter(|of| !of.is_over(wanted)).max_by_key(|of| of.reached());
        bets.sort_unstable_by_key(|bet| bet.place);
        let reached = latest.as_ref().map(|of| of.reached());
        while bets.last().is_some_and(|bet| reached.is_none_or(|reached| (bet.place.0, bet.place.1) >= reached)) {
            if page.rounds.len() == wanted.size || lookups == LOOKUPS_MAX {
                return Ok(page);
            }
            let Some(Bet { place, stream, round }) = bets.pop() else { break };
            let ledger = partitions.iter().find(|of| of.ledger.partition() == place.1);
            if let Some(ledger) = ledger.map(|of| &of.ledger) {
                page.rounds
                    .extend(Some(rounds::summary(ledger, &stream, round, place.2)?).filter(|of| has(of, wanted)));
            }
            (page.next, lookups) = (Some(place), lookups + 1);
        }
        let latest = partitions.iter_mut().filter(|of| !of.is_over(wanted)).max_by_key(|of| of.reached());
        let Some(latest) = latest else {
            return Ok(Page { next: None, ..page });
        };
        if looked >= RECORDS_MAX && latest.reached_ms < i64::MAX {
            page.next = Some((latest.reached_ms, latest.ledger.partition(), latest.next + 1));
            return Ok(page);
        }
        looked += stretch.min(latest.next);
        bets.extend(latest.read(stretch, wanted)?);
    }
}
