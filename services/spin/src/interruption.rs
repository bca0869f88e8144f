use crate::{api::SpinApi, automatic::AutomaticStep, completer::RoundCompleter, session_id};
use motherlode_ledger::{
    FetchError, Handle,
    fields::{self, RoundId, timestamp},
    fingerprint, rounds, unknown_account, unknown_round,
};
use motherlode_proto::spin::v1::{
    self as wire, CloseRoundRequest, ListOpenRoundsRequest, ListOpenRoundsResponse, Played, SkipRoundRequest,
};
use motherlode_runtime::{Caller, Reason, Refusal};
use motherlode_state::{Automatic, Books, Event, OpenRound, StreamId};

const PAGE_SIZE: usize = 10;
const PAGE_SIZE_MAX: usize = 100;

impl SpinApi {
    pub(crate) async fn skip_round(&self, caller: &Caller, request: &SkipRoundRequest) -> Result<Vec<Played>, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let round = fields::round_id(caller, &request.round_id)?;
        let session = session_id::optional(&request.session_id)?;
        let content = SkipRoundRequest { session_id: String::new(), ..request.clone() };
        let acts = self.act(session, &round);
        let why = Why { automatic: Automatic::Skipped, acted: None };
        self.finish(&round, request_id, fingerprint("skip_round", &content), why, acts).await
    }

    pub(crate) async fn close_round(
        &self,
        caller: &Caller,
        request: &CloseRoundRequest,
    ) -> Result<Vec<Played>, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let round = fields::round_id(caller, &request.round_id)?;
        let reason = fields::reason("reason", &request.reason)?.to_owned();
        let reference = fields::reference("actor", &request.actor)?;
        let closed = Automatic::Closed { actor: caller.signature(), reason };
        let why = Why { automatic: closed, acted: Some(fields::acted_by(caller, reference)) };
        self.finish(&round, request_id, fingerprint("close_round", request), why, Ok(())).await
    }

    async fn finish(
        &self,
        round: &RoundId,
        request_id: &str,
        fingerprint: [u8; 16],
        why: Why,
        allowed: Result<(), Refusal>,
    ) -> Result<Vec<Played>, Refusal> {
        let completer = RoundCompleter { ledgers: self.ledgers.clone(), dealer: self.dealer.clone() };
        let Why { automatic, acted } = why;
        let why = &|_: &OpenRound| Some(automatic.clone());
        let asked = AutomaticStep { round, request_id: request_id.into(), fingerprint, why, acted };
        // A repeated request gets the original answer.
        let first = match self.ledgers.for_stream(&round.stream)?.find(&round.stream, request_id, fingerprint)? {
            Some(logged) => logged,
            None => {
                allowed?;
                completer.step(&asked).await?.ok_or_else(|| self.not_open(round))?
            }
        };
        let mut played = vec![];
        for logged in completer.finish(round, first).await? {
            played.push(self.played(&logged, None).await?.message());
        }
        Ok(played)
    }

    fn not_open(&self, round: &RoundId) -> Refusal {
        let name = fields::round_name(&round.stream, round.number);
        let of = |books: &Books| books.player(&round.stream).map(|player| player.rounds_started);
        let ledger = self.ledgers.for_stream(&round.stream);
        let started = match ledger.and_then(|ledger| Ok(ledger.books_of(&round.stream, of)?)) {
            Ok(started) => started,
            Err(refusal) => return refusal,
        };
        match started.is_some_and(|started| round.number <= started) {
            true => Refusal::new(Reason::AlreadySettled, "the round is not open").with("round_id", name),
            false => unknown_round(&name),
        }
    }

    pub(crate) async fn list_open_rounds(
        &self,
        caller: &Caller,
        request: &ListOpenRoundsRequest,
    ) -> Result<ListOpenRoundsResponse, Refusal> {
        let operator = fields::id("operator_id", &request.operator_id)?;
        let player = match request.player_id.as_str() {
            "" => None,
            player => Some(StreamId::player(operator, fields::id("player_id", player)?)),
        };
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size.min(PAGE_SIZE_MAX),
            Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
        };
        let (partition, after) = match fields::page_token(&request.page_token)?[..] {
            [] => (0, 0),
            [position] => (0, position),
            [partition, position] if partition > 0 => {
                (u32::try_from(partition).map_err(|_| fields::page_token_unknown())?, position)
            }
            _ => return Err(fields::page_token_unknown()),
        };
        let own = caller.owns(operator);
        let listed = |ledger: &Handle, stream: StreamId, open: &OpenRound| Listed {
            number: open.started.round,
            partition: ledger.partition(),
            opened_at: open.opened_at,
            resolve_ms: self.waits.resolve_ms(open),
            stream,
        };
        let mut found = vec![];
        match player {
            Some(stream) => {
                let ledger = self.ledgers.for_stream(&stream)?;
                ledger.books_of(&stream, |books| {
                    let player = books.player(&stream).filter(|_| own).ok_or_else(unknown_account)?;
                    let open = player.open_rounds().filter(|open| open.opened_at > after).take(size + 1);
                    found.extend(open.map(|open| listed(ledger, stream.clone(), open)));
                    Ok::<_, Refusal>(())
                })??;
            }
            None if !own => {}
            None => {
                self.ledgers.whole()?;
                for ledger in self.ledgers.all().filter(|ledger| ledger.partition() >= partition) {
                    let after = if ledger.partition() == partition { after } else { 0 };
                    let more = open_rounds(ledger, operator, after, size + 1 - found.len(), |stream, open| {
                        Some(listed(ledger, stream.clone(), open))
                    });
                    for (_, listed) in more {
                        found.extend(listed?);
                    }
                }
            }
        }
        let mut page = ListOpenRoundsResponse::default();
        if found.len() > size
            && let Some(last) = found.get(size - 1)
        {
            page.next_page_token = page_token(last.partition, last.opened_at);
        }
        let ledgers = self.ledgers.clone();
        let read = move || {
            let listed = found.into_iter().take(size).map(|Listed { stream, number, resolve_ms, .. }| {
                let round = rounds::read(ledgers.for_stream(&stream)?, &stream, number)?;
                Ok::<_, Refusal>(wire::OpenRound { round, resolve_time: resolve_ms.map(timestamp) })
            });
            listed.collect::<Result<Vec<_>, _>>()
        };
        page.rounds = self.ledgers.reads().run(caller, read).await??;
        Ok(page)
    }
}

pub(crate) fn open_rounds<T>(
    ledger: &Handle,
    operator: &str,
    after: u64,
    most: usize,
    make: impl Fn(&StreamId, &OpenRound) -> Option<T>,
) -> Vec<(u64, Result<Option<T>, FetchError>)> {
    let names: Vec<_> = ledger.books(|books| {
        let open = books.open_names(operator, after).take(most);
        open.map(|(at, player, number)| (at, StreamId::player(operator, player), number)).collect()
    });
    let each = names.into_iter().map(|(at, stream, number)| {
        let made = |books: &Books| make(&stream, books.player(&stream)?.open_round(number)?);
        (at, ledger.books_of(&stream, made))
    });
    each.collect()
}

struct Why {
    automatic: Automatic,
    acted: Option<Event>,
}

struct Listed {
    stream: StreamId,
    number: u64,
    partition: u32,
    opened_at: u64,
    resolve_ms: Option<i64>,
}

/// A page token omits the partition if it is 0, because older tokens contain no partition.
fn page_token(partition: u32, position: u64) -> String {
    if partition == 0 { position.to_string() } else { format!("{partition}.{position}") }
}
