use crate::{
    fields::{self, money, timestamp, unknown_account},
    ledgers::Ledgers,
};
use motherlode_proto::{convert::play::hex, ledger::v1 as wire};
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Books, Currency, Minor, PlayerState, Seat};

pub(crate) fn player_day(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::GetPlayerDayRequest,
) -> Result<wire::GetPlayerDayResponse, Refusal> {
    let account = fields::account(caller, request.account.as_ref())?;
    let ledger = ledgers.for_stream(&account.stream)?;
    let now_ms = ledger.now_ms();
    let read = ledger.books_of(&account.stream, |books| {
        let player = books.player(&account.stream)?;
        player.balance(account.currency)?;
        Some(to_wire(books, player, account.currency, now_ms))
    })?;
    read.ok_or_else(unknown_account)
}

fn to_wire(books: &Books, player: &PlayerState, currency: Currency, now_ms: i64) -> wire::GetPlayerDayResponse {
    let (day, rates) = (player.day(currency), |currency| books.rate(currency));
    let limits = day.limits(now_ms).map(|of| wire::PlayerLimits {
        reality_check_ms: of.reality_check_ms.map(Into::into),
        played_ms_max: of.time_ms_max.map(Into::into),
        loss_max: of.loss_max(currency, &rates).map(|limit| money(limit, currency)),
        bet_max: of.bet_max(currency, &rates).map(|limit| money(limit, currency)),
    });
    let net = i64::try_from(day.net(currency, &rates, now_ms)).unwrap_or(i64::MIN);
    let session = |seat: &Seat| {
        let held_ms = seat.held_ms(now_ms);
        (held_ms.is_some() || seat.is_live(day.acted_ms(), now_ms)).then(|| wire::PlayerSession {
            session_name: hex(&seat.session),
            game: seat.game.to_string(),
            open_time: Some(timestamp(seat.opened_ms())),
            held_ms: held_ms.unwrap_or_default().unsigned_abs(),
        })
    };
    wire::GetPlayerDayResponse {
        played_ms: day.played_ms(now_ms).unsigned_abs(),
        unseen_ms: day.unseen_ms(now_ms).unsigned_abs(),
        net: Some(money(Minor(net), currency)),
        act_time: day.acted_ms().map(timestamp),
        limits: Some(limits.unwrap_or_default()),
        sessions: player.seats(currency).filter_map(session).collect(),
        position: player.head.position,
    }
}
