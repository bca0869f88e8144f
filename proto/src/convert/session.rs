//! Sessions in the log, as messages and back.

use super::{Malformed, values::currency};
use crate::log::v1;
use motherlode_books::{Currency, DayLimits, Minor, SessionName, SessionOpened};
use std::num::NonZeroU32;

pub(super) fn opened(opened: &SessionOpened) -> v1::SessionOpened {
    let number = |limit: Option<NonZeroU32>| limit.map_or(0, NonZeroU32::get);
    let DayLimits { reality_check_ms, time_ms_max, loss_eur_max, losses_max, bets_max } = &opened.limits;
    v1::SessionOpened {
        session: opened.session.to_vec(),
        game: opened.game.clone(),
        currency: opened.currency.code().to_owned(),
        jurisdiction: opened.jurisdiction.clone(),
        idle_ms: opened.idle_ms.get(),
        limits: Some(v1::DayLimits {
            reality_check_ms: number(*reality_check_ms),
            time_ms_max: number(*time_ms_max),
            loss_eur_max: number(*loss_eur_max),
            losses_max: amounts(losses_max),
            bets_max: amounts(bets_max),
        }),
    }
}

pub(super) fn parse_opened(opened: v1::SessionOpened) -> Result<SessionOpened, Malformed> {
    let limits = opened.limits.unwrap_or_default();
    Ok(SessionOpened {
        session: name(&opened.session)?,
        game: opened.game,
        currency: currency(&opened.currency)?,
        jurisdiction: opened.jurisdiction,
        idle_ms: NonZeroU32::new(opened.idle_ms).ok_or(Malformed::Field("session_opened.idle_ms"))?,
        limits: DayLimits {
            reality_check_ms: NonZeroU32::new(limits.reality_check_ms),
            time_ms_max: NonZeroU32::new(limits.time_ms_max),
            loss_eur_max: NonZeroU32::new(limits.loss_eur_max),
            losses_max: parse_amounts(&limits.losses_max)?,
            bets_max: parse_amounts(&limits.bets_max)?,
        },
    })
}

/// A session's name: 16 bytes.
pub(super) fn name(bytes: &[u8]) -> Result<SessionName, Malformed> {
    bytes.try_into().map_err(|_| Malformed::Field("session"))
}

fn amounts(amounts: &[(Currency, Minor)]) -> Vec<v1::Balance> {
    let amount =
        |(currency, amount): &(Currency, Minor)| v1::Balance { currency: currency.code().to_owned(), amount: amount.0 };
    amounts.iter().map(amount).collect()
}

fn parse_amounts(amounts: &[v1::Balance]) -> Result<Vec<(Currency, Minor)>, Malformed> {
    amounts.iter().map(|of| Ok((currency(&of.currency)?, Minor(of.amount)))).collect()
}
