//! What partitions tell each other about a pool, as messages of the log, and back.

use super::Malformed;
use super::values::{Result, currency, nano, parse_nano, parse_rate, parse_terms, rate, terms};
use crate::log::v1::{self, partition_reported as reported, pool_mirrored::Award};
use motherlode_books::{
    CoinValue, Decision, Hit, Minor, MirroredAward, PartitionReported, PoolMirrored, PoolStatus, StretchEnd, TakeBack,
};

/// The place of a hit or void is the report's: it's written once.
pub(super) fn report(report: &PartitionReported) -> v1::PartitionReported {
    let PartitionReported { partition, from, to, contributions, ref end } = *report;
    let end = match end {
        StretchEnd::Decision(Decision::Hit(hit)) => reported::End::Hit(reported::Hit {
            time_unix_ms: hit.time_ms,
            stream: hit.stream.to_string(),
            round: hit.round,
            currency: hit.currency.code().to_owned(),
            coin_value: hit.coin_value.0,
            rate: rate(hit.rate),
        }),
        StretchEnd::Decision(Decision::TakeBack(TakeBack { contributed_at, amount, .. })) => {
            reported::End::TakeBack(reported::TakeBack { contributed_at: *contributed_at, amount: nano(*amount) })
        }
        StretchEnd::Standing { open_rounds, mirrored } => {
            reported::End::Standing(reported::Standing { open_rounds: *open_rounds, mirrored: *mirrored })
        }
    };
    v1::PartitionReported { partition, from, to, contributions: nano(contributions), end: Some(end) }
}

pub(super) fn parse_report(message: v1::PartitionReported) -> Result<PartitionReported> {
    let v1::PartitionReported { partition, from, to, contributions, end } = message;
    let end = match end.ok_or(Malformed::Field("reported.end"))? {
        reported::End::Hit(hit) => StretchEnd::Decision(Decision::Hit(Hit {
            partition,
            position: to,
            time_ms: hit.time_unix_ms,
            stream: hit.stream.parse().map_err(|_| Malformed::Field("reported.hit.stream"))?,
            round: hit.round,
            currency: currency(&hit.currency)?,
            coin_value: CoinValue(hit.coin_value),
            rate: parse_rate(hit.rate)?,
        })),
        reported::End::TakeBack(back) => StretchEnd::Decision(Decision::TakeBack(TakeBack {
            partition,
            position: to,
            contributed_at: back.contributed_at,
            amount: parse_nano(&back.amount, "reported.take_back.amount")?,
        })),
        reported::End::Standing(reported::Standing { open_rounds, mirrored }) => {
            StretchEnd::Standing { open_rounds, mirrored }
        }
    };
    let contributions = parse_nano(&contributions, "reported.contributions")?;
    Ok(PartitionReported { partition, from, to, contributions, end })
}

pub(super) fn mirror(mirrored: &PoolMirrored) -> v1::PoolMirrored {
    let retired = match &mirrored.status {
        PoolStatus::Retired { into, increments, reserve } => Some(v1::PoolRetired {
            into: into.clone(),
            increments: nano(*increments),
            reserve: nano(*reserve),
            actor: String::new(),
        }),
        PoolStatus::Active | PoolStatus::Suspended => None,
    };
    let award = |award: &MirroredAward| Award {
        hit: award.hit,
        stream: award.stream.to_string(),
        round: award.round,
        amount: award.amount.0,
        currency: award.currency.code().to_owned(),
        paid: nano(award.paid),
    };
    v1::PoolMirrored {
        home_position: mirrored.home_position,
        terms: terms(&mirrored.terms),
        suspended: mirrored.status == PoolStatus::Suspended,
        retired,
        pooled_to: mirrored.pooled_to,
        decided_to: mirrored.decided_to,
        awards: mirrored.awards.iter().map(award).collect(),
    }
}

pub(super) fn parse_mirror(message: v1::PoolMirrored) -> Result<PoolMirrored> {
    let status = match (message.suspended, message.retired) {
        (false, None) => PoolStatus::Active,
        (true, None) => PoolStatus::Suspended,
        (false, Some(retired)) if retired.actor.is_empty() => PoolStatus::Retired {
            into: retired.into,
            increments: parse_nano(&retired.increments, "mirrored.retired.increments")?,
            reserve: parse_nano(&retired.reserve, "mirrored.retired.reserve")?,
        },
        _ => return Err(Malformed::Field("mirrored.retired")),
    };
    let award = |award: Award| {
        Ok(MirroredAward {
            hit: award.hit,
            stream: award.stream.parse().map_err(|_| Malformed::Field("mirrored.award.stream"))?,
            round: award.round,
            amount: Minor(award.amount),
            currency: currency(&award.currency)?,
            paid: parse_nano(&award.paid, "mirrored.award.paid")?,
        })
    };
    Ok(PoolMirrored {
        home_position: message.home_position,
        terms: parse_terms(message.terms)?,
        status,
        pooled_to: message.pooled_to,
        decided_to: message.decided_to,
        awards: message.awards.into_iter().map(award).collect::<Result<_>>()?,
    })
}
