//! Plain values inside events, as fields of messages and back.

use super::Malformed;
use crate::log::v1;
use motherlode_books::{CoinValue, CollisionShare, Currency, FxRate, Nano, PoolTerms};

pub(super) type Result<T> = std::result::Result<T, Malformed>;

pub(super) fn currency(code: &str) -> Result<Currency> {
    code.parse().map_err(|_| Malformed::Field("currency"))
}

pub(super) fn nano(amount: Nano) -> Vec<u8> {
    amount.0.to_be_bytes().to_vec()
}

pub(super) fn parse_nano(bytes: &[u8], field: &'static str) -> Result<Nano> {
    Ok(Nano(i128::from_be_bytes(bytes.try_into().map_err(|_| Malformed::Field(field))?)))
}

pub(super) fn rate(rate: FxRate) -> Option<v1::Rate> {
    Some(v1::Rate { mantissa: rate.mantissa(), exponent: rate.exponent().into() })
}

pub(super) fn parse_rate(rate: Option<v1::Rate>) -> Result<FxRate> {
    let rate = rate.ok_or(Malformed::Field("rate"))?;
    let exponent = rate.exponent.try_into().map_err(|_| Malformed::Field("rate.exponent"))?;
    FxRate::new(rate.mantissa, exponent).map_err(|_| Malformed::Field("rate"))
}

pub(super) fn terms(terms: &PoolTerms) -> Option<v1::PoolTerms> {
    Some(v1::PoolTerms {
        version: terms.version,
        contribution_ppm: terms.contribution_ppm,
        seed: nano(terms.seed),
        base_coin: terms.base_coin.0,
        refresh_ms: terms.refresh_ms,
        proportional_collisions: terms.collision_share == CollisionShare::Proportional,
    })
}

pub(super) fn parse_terms(terms: Option<v1::PoolTerms>) -> Result<PoolTerms> {
    let terms = terms.ok_or(Malformed::Field("terms"))?;
    Ok(PoolTerms {
        version: terms.version,
        contribution_ppm: terms.contribution_ppm,
        seed: parse_nano(&terms.seed, "terms.seed")?,
        base_coin: CoinValue(terms.base_coin),
        refresh_ms: terms.refresh_ms,
        collision_share: match terms.proportional_collisions {
            true => CollisionShare::Proportional,
            false => CollisionShare::Full,
        },
    })
}
