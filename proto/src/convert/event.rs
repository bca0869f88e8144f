//! The events of the books as messages of the log, and back.

use super::{
    Malformed, partition, session,
    values::{Result, currency, nano, parse_nano, parse_rate, parse_terms, rate, terms},
};
use crate::{
    log::v1::{self, event::Kind},
    round::v1::{Automatic as Automated, automatic::Cause},
};
use motherlode_books::{
    Automatic, Award, Campaign, ChangeProposed, CoinValue, Contribution, Currency, Event, Minor, RoundStarted,
    StepResolved, Switch,
};

/// Why a step was chosen by its game's rule, as a message.
pub fn automatic_to_wire(automatic: &Automatic) -> Automated {
    let (cause, actor, reason) = match automatic {
        Automatic::Skipped => (Cause::Skipped, "", ""),
        Automatic::TimeOver => (Cause::TimeOver, "", ""),
        Automatic::Closed { actor, reason } => (Cause::Closed, actor.as_str(), reason.as_str()),
    };
    Automated { cause: cause.into(), actor: actor.to_owned(), reason: reason.to_owned() }
}

fn automatic_from_wire(message: Automated) -> Result<Automatic> {
    let Automated { actor, reason, .. } = &message;
    match message.cause() {
        Cause::Closed => Ok(Automatic::Closed { actor: actor.clone(), reason: reason.clone() }),
        Cause::Skipped if actor.is_empty() && reason.is_empty() => Ok(Automatic::Skipped),
        Cause::TimeOver if actor.is_empty() && reason.is_empty() => Ok(Automatic::TimeOver),
        _ => Err(Malformed::Field("step.automatic")),
    }
}

/// An event as a message.
pub fn to_log(event: &Event) -> v1::Event {
    let code = |currency: &Currency| currency.code().to_owned();
    let kind = match event {
        Event::AccountOpened { currency } => Kind::AccountOpened(v1::AccountOpened { currency: code(currency) }),
        Event::Deposited { currency, amount } => {
            Kind::Deposited(v1::Deposited { currency: code(currency), amount: amount.0 })
        }
        Event::Withdrawn { currency, amount } => {
            Kind::Withdrawn(v1::Withdrawn { currency: code(currency), amount: amount.0 })
        }
        Event::CollectionChanged { game, scope, changes } => Kind::CollectionChanged(v1::CollectionChanged {
            game: game.clone(),
            scope: scope.clone(),
            changes: changes
                .iter()
                .map(|(key, value)| v1::collection_changed::Entry { key: key.clone(), value: *value })
                .collect(),
        }),
        Event::RoundStarted(started) => Kind::RoundStarted(round_started(started)),
        Event::StepResolved(step) => Kind::StepResolved(v1::StepResolved {
            round: step.round,
            step: step.step,
            seed: step.seed.to_vec(),
            choice: step.choice.clone(),
            outcome: step.outcome.clone(),
            win: step.win.0,
            automatic: step.automatic.as_ref().map(automatic_to_wire),
        }),
        Event::JackpotHit { round, pool } => Kind::JackpotHit(v1::JackpotHit { round: *round, pool: pool.clone() }),
        Event::WinCredited { round, amount } => Kind::WinCredited(v1::WinCredited { round: *round, amount: amount.0 }),
        Event::RoundSettled { round, win } => Kind::RoundSettled(v1::RoundSettled { round: *round, win: win.0 }),
        Event::RoundVoided { round, reason, actor, refund, win_taken_back } => Kind::RoundVoided(v1::RoundVoided {
            round: *round,
            reason: reason.clone(),
            actor: actor.clone(),
            refund: refund.0,
            win_taken_back: win_taken_back.0,
        }),
        Event::JackpotPaid { round, pool, hit, amount, currency } => Kind::JackpotPaid(v1::JackpotPaid {
            round: *round,
            pool: pool.clone(),
            hit: *hit,
            amount: amount.0,
            currency: code(currency),
        }),
        Event::AwardSetAside { round, pool, hit, amount, currency, reason } => Kind::AwardSetAside(v1::AwardSetAside {
            round: *round,
            pool: pool.clone(),
            hit: *hit,
            amount: amount.0,
            currency: code(currency),
            reason: reason.clone(),
        }),
        Event::ActedBy { actor, reference } => {
            Kind::ActedBy(v1::ActedBy { actor: actor.clone(), reference: reference.clone() })
        }
        Event::PlayMoneyGiven { amount } => Kind::PlayMoneyGiven(v1::PlayMoneyGiven { amount: amount.0 }),
        Event::SessionOpened(opened) => Kind::SessionOpened(session::opened(opened)),
        Event::SessionEnded { session, hold_ms } => {
            Kind::SessionEnded(v1::SessionEnded { session: session.to_vec(), hold_ms: *hold_ms })
        }
        Event::RealityCheckAcknowledged { session } => {
            Kind::RealityCheckAcknowledged(v1::RealityCheckAcknowledged { session: session.to_vec() })
        }
        Event::ClockSkewed { by_ms } => Kind::ClockSkewed(v1::ClockSkewed { by_ms: *by_ms }),
        Event::CampaignGranted(campaign) => Kind::CampaignGranted(campaign_granted(campaign)),
        Event::CampaignCancelled { campaign, reason, actor } => Kind::CampaignCancelled(v1::CampaignCancelled {
            campaign: campaign.clone(),
            reason: reason.clone(),
            actor: actor.clone(),
        }),
        Event::RateSet { currency, rate: set, source } => {
            Kind::RateSet(v1::RateSet { currency: code(currency), rate: rate(*set), source: source.clone() })
        }
        Event::PoolOpened { pool, terms: first } => {
            Kind::PoolOpened(v1::PoolOpened { pool: pool.clone(), terms: terms(first) })
        }
        Event::ContributionsPooled { partition, from, to, amount } => {
            Kind::ContributionsPooled(v1::ContributionsPooled {
                partition: *partition,
                from: *from,
                to: *to,
                amount: nano(*amount),
            })
        }
        Event::ContributionTakenBack { partition, position, amount, from_increments, from_reserve, from_house } => {
            Kind::ContributionTakenBack(v1::ContributionTakenBack {
                partition: *partition,
                position: *position,
                amount: nano(*amount),
                from_increments: nano(*from_increments),
                from_reserve: nano(*from_reserve),
                from_house: nano(*from_house),
            })
        }
        Event::JackpotAwarded(award) => Kind::JackpotAwarded(jackpot_awarded(award)),
        Event::PoolTermsChanged { terms: next } => Kind::PoolTermsChanged(v1::PoolTermsChanged { terms: terms(next) }),
        Event::PoolSuspended { reason, actor } => {
            Kind::PoolSuspended(v1::PoolSuspended { reason: reason.clone(), actor: actor.clone() })
        }
        Event::PoolResumed { actor } => Kind::PoolResumed(v1::PoolResumed { actor: actor.clone() }),
        Event::PoolRetired { into, increments, reserve, actor } => Kind::PoolRetired(v1::PoolRetired {
            into: into.clone(),
            increments: nano(*increments),
            reserve: nano(*reserve),
            actor: actor.clone(),
        }),
        Event::PoolReceived { from, increments, reserve } => Kind::PoolReceived(v1::PoolReceived {
            from: from.clone(),
            increments: nano(*increments),
            reserve: nano(*reserve),
        }),
        Event::PartitionReported(reported) => Kind::PartitionReported(partition::report(reported)),
        Event::PoolMirrored(mirrored) => Kind::PoolMirrored(partition::mirror(mirrored)),
        Event::GeneratorReseeded => Kind::GeneratorReseeded(v1::GeneratorReseeded {}),
        Event::IntegrityFailed { check, finding } => {
            Kind::IntegrityFailed(v1::IntegrityFailed { check: check.clone(), finding: finding.clone() })
        }
        Event::ChangeProposed(ChangeProposed { stream, change, actor, lapses_ms }) => {
            Kind::ChangeProposed(Box::new(v1::ChangeProposed {
                stream: stream.to_string(),
                change: Some(Box::new(to_log(change))),
                actor: actor.clone(),
                lapses_unix_ms: *lapses_ms,
            }))
        }
        Event::ChangeApproved { change, proposed_by, actor } => Kind::ChangeApproved(v1::ChangeApproved {
            change: *change,
            proposed_by: proposed_by.clone(),
            actor: actor.clone(),
        }),
        Event::ChangeRejected { change, actor, reason } => {
            Kind::ChangeRejected(v1::ChangeRejected { change: *change, actor: actor.clone(), reason: reason.clone() })
        }
        Event::SwitchSet { switch, on, reason, actor } => Kind::SwitchSet(v1::SwitchSet {
            operator: switch.operator.clone(),
            game: switch.game.clone(),
            rules_version: switch.rules_version.clone(),
            on: *on,
            reason: reason.clone(),
            actor: actor.clone(),
        }),
    };
    v1::Event { kind: Some(kind) }
}

fn round_started(started: &RoundStarted) -> v1::RoundStarted {
    v1::RoundStarted {
        round: started.round,
        game: started.game.clone(),
        rules_version: started.rules_version.clone(),
        model_hash: started.model_hash.to_vec(),
        currency: started.currency.code().to_owned(),
        bet: started.bet.0,
        coin_value: started.coin_value.0,
        stake: started.stake.clone(),
        rate: rate(started.rate),
        contribution: started.contribution.as_ref().map(|contribution| v1::Contribution {
            pool: contribution.pool.clone(),
            terms_version: contribution.terms_version,
            amount: nano(contribution.amount),
        }),
        session: started.session.map_or_else(Vec::new, |session| session.to_vec()),
        jurisdiction: started.jurisdiction.clone(),
        campaign: started.campaign.clone().unwrap_or_default(),
    }
}

fn campaign_granted(campaign: &Campaign) -> v1::CampaignGranted {
    v1::CampaignGranted {
        campaign: campaign.id.clone(),
        game: campaign.game.clone(),
        currency: campaign.currency.code().to_owned(),
        bet: campaign.bet.0,
        coin_value: campaign.coin_value.0,
        lines: campaign.lines,
        coins_per_line: campaign.coins_per_line,
        rounds: campaign.rounds,
        expires_unix_ms: campaign.expires_ms,
    }
}

pub(super) fn jackpot_awarded(award: &Award) -> v1::JackpotAwarded {
    v1::JackpotAwarded {
        partition: award.partition,
        hit: award.hit,
        stream: award.stream.to_string(),
        round: award.round,
        cycle: award.cycle,
        collision: award.collision,
        currency: award.currency.code().to_owned(),
        coin_value: award.coin_value.0,
        rate: rate(award.rate),
        amount: award.amount.0,
        increments: nano(award.increments),
        seed_from_reserve: nano(award.seed_from_reserve),
        seed_from_house: nano(award.seed_from_house),
        to_reserve: nano(award.to_reserve),
        paid: nano(award.paid),
    }
}

/// A message as an event.
///
/// # Errors
/// [`Malformed`] names the field at fault; an event of a later format has none of the known kinds.
pub fn from_log(event: v1::Event) -> Result<Event> {
    Ok(match event.kind.ok_or(Malformed::Field("event.kind"))? {
        Kind::AccountOpened(opened) => Event::AccountOpened { currency: currency(&opened.currency)? },
        Kind::Deposited(moved) => {
            Event::Deposited { currency: currency(&moved.currency)?, amount: Minor(moved.amount) }
        }
        Kind::Withdrawn(moved) => {
            Event::Withdrawn { currency: currency(&moved.currency)?, amount: Minor(moved.amount) }
        }
        Kind::CollectionChanged(changed) => Event::CollectionChanged {
            game: changed.game,
            scope: changed.scope,
            changes: changed.changes.into_iter().map(|entry| (entry.key, entry.value)).collect(),
        },
        Kind::RoundStarted(started) => Event::RoundStarted(parse_round_started(started)?),
        Kind::StepResolved(step) => Event::StepResolved(StepResolved {
            round: step.round,
            step: step.step,
            seed: step.seed.as_slice().try_into().map_err(|_| Malformed::Field("step.seed"))?,
            choice: step.choice,
            outcome: step.outcome,
            win: Minor(step.win),
            automatic: step.automatic.map(automatic_from_wire).transpose()?,
        }),
        Kind::JackpotHit(hit) => Event::JackpotHit { round: hit.round, pool: hit.pool },
        Kind::WinCredited(credited) => Event::WinCredited { round: credited.round, amount: Minor(credited.amount) },
        Kind::RoundSettled(settled) => Event::RoundSettled { round: settled.round, win: Minor(settled.win) },
        Kind::RoundVoided(voided) => Event::RoundVoided {
            round: voided.round,
            reason: voided.reason,
            actor: voided.actor,
            refund: Minor(voided.refund),
            win_taken_back: Minor(voided.win_taken_back),
        },
        Kind::JackpotPaid(paid) => Event::JackpotPaid {
            round: paid.round,
            pool: paid.pool,
            hit: paid.hit,
            amount: Minor(paid.amount),
            currency: currency(&paid.currency)?,
        },
        Kind::AwardSetAside(waits) => Event::AwardSetAside {
            round: waits.round,
            pool: waits.pool,
            hit: waits.hit,
            amount: Minor(waits.amount),
            currency: currency(&waits.currency)?,
            reason: waits.reason,
        },
        Kind::ActedBy(by) => Event::ActedBy { actor: by.actor, reference: by.reference },
        Kind::PlayMoneyGiven(given) => Event::PlayMoneyGiven { amount: Minor(given.amount) },
        Kind::SessionOpened(opened) => Event::SessionOpened(session::parse_opened(opened)?),
        Kind::SessionEnded(ended) => {
            Event::SessionEnded { session: session::name(&ended.session)?, hold_ms: ended.hold_ms }
        }
        Kind::RealityCheckAcknowledged(seen) => {
            Event::RealityCheckAcknowledged { session: session::name(&seen.session)? }
        }
        Kind::ClockSkewed(skewed) => Event::ClockSkewed { by_ms: skewed.by_ms },
        Kind::CampaignGranted(granted) => Event::CampaignGranted(Campaign {
            currency: currency(&granted.currency)?,
            id: granted.campaign,
            game: granted.game,
            bet: Minor(granted.bet),
            coin_value: CoinValue(granted.coin_value),
            lines: granted.lines,
            coins_per_line: granted.coins_per_line,
            rounds: granted.rounds,
            expires_ms: granted.expires_unix_ms,
        }),
        Kind::CampaignCancelled(cancelled) => {
            Event::CampaignCancelled { campaign: cancelled.campaign, reason: cancelled.reason, actor: cancelled.actor }
        }
        Kind::RateSet(set) => {
            Event::RateSet { currency: currency(&set.currency)?, rate: parse_rate(set.rate)?, source: set.source }
        }
        Kind::PoolOpened(opened) => Event::PoolOpened { pool: opened.pool, terms: parse_terms(opened.terms)? },
        Kind::ContributionsPooled(pooled) => Event::ContributionsPooled {
            partition: pooled.partition,
            from: pooled.from,
            to: pooled.to,
            amount: parse_nano(&pooled.amount, "pooled.amount")?,
        },
        Kind::ContributionTakenBack(back) => Event::ContributionTakenBack {
            partition: back.partition,
            position: back.position,
            amount: parse_nano(&back.amount, "taken_back.amount")?,
            from_increments: parse_nano(&back.from_increments, "taken_back.from_increments")?,
            from_reserve: parse_nano(&back.from_reserve, "taken_back.from_reserve")?,
            from_house: parse_nano(&back.from_house, "taken_back.from_house")?,
        },
        Kind::JackpotAwarded(award) => Event::JackpotAwarded(parse_award(award)?),
        Kind::PoolTermsChanged(changed) => Event::PoolTermsChanged { terms: parse_terms(changed.terms)? },
        Kind::PoolSuspended(suspended) => Event::PoolSuspended { reason: suspended.reason, actor: suspended.actor },
        Kind::PoolResumed(resumed) => Event::PoolResumed { actor: resumed.actor },
        Kind::PoolRetired(retired) => Event::PoolRetired {
            into: retired.into,
            increments: parse_nano(&retired.increments, "retired.increments")?,
            reserve: parse_nano(&retired.reserve, "retired.reserve")?,
            actor: retired.actor,
        },
        Kind::PoolReceived(received) => Event::PoolReceived {
            from: received.from,
            increments: parse_nano(&received.increments, "received.increments")?,
            reserve: parse_nano(&received.reserve, "received.reserve")?,
        },
        Kind::PartitionReported(reported) => Event::PartitionReported(partition::parse_report(reported)?),
        Kind::PoolMirrored(mirrored) => Event::PoolMirrored(partition::parse_mirror(mirrored)?),
        Kind::GeneratorReseeded(_) => Event::GeneratorReseeded,
        Kind::IntegrityFailed(failed) => Event::IntegrityFailed { check: failed.check, finding: failed.finding },
        Kind::ChangeProposed(proposed) => {
            let change = proposed.change.ok_or(Malformed::Field("proposed.change"))?;
            Event::ChangeProposed(ChangeProposed {
                stream: proposed.stream.parse().map_err(|_| Malformed::Field("proposed.stream"))?,
                change: Box::new(from_log(*change)?),
                actor: proposed.actor,
                lapses_ms: proposed.lapses_unix_ms,
            })
        }
        Kind::ChangeApproved(approved) => {
            Event::ChangeApproved { change: approved.change, proposed_by: approved.proposed_by, actor: approved.actor }
        }
        Kind::ChangeRejected(rejected) => {
            Event::ChangeRejected { change: rejected.change, actor: rejected.actor, reason: rejected.reason }
        }
        Kind::SwitchSet(set) => Event::SwitchSet {
            switch: Switch { operator: set.operator, game: set.game, rules_version: set.rules_version },
            on: set.on,
            reason: set.reason,
            actor: set.actor,
        },
    })
}

fn parse_round_started(started: v1::RoundStarted) -> Result<RoundStarted> {
    Ok(RoundStarted {
        round: started.round,
        game: started.game,
        rules_version: started.rules_version,
        model_hash: started.model_hash.as_slice().try_into().map_err(|_| Malformed::Field("started.model_hash"))?,
        currency: currency(&started.currency)?,
        bet: Minor(started.bet),
        coin_value: CoinValue(started.coin_value),
        stake: started.stake,
        rate: parse_rate(started.rate)?,
        contribution: started
            .contribution
            .map(|contribution| {
                Ok::<_, Malformed>(Contribution {
                    pool: contribution.pool,
                    terms_version: contribution.terms_version,
                    amount: parse_nano(&contribution.amount, "contribution.amount")?,
                })
            })
            .transpose()?,
        session: match started.session.as_slice() {
            [] => None,
            session => Some(session.try_into().map_err(|_| Malformed::Field("started.session"))?),
        },
        jurisdiction: started.jurisdiction,
        campaign: Some(started.campaign).filter(|campaign| !campaign.is_empty()),
    })
}

pub(super) fn parse_award(award: v1::JackpotAwarded) -> Result<Award> {
    Ok(Award {
        hit: award.hit,
        partition: award.partition,
        stream: award.stream.parse().map_err(|_| Malformed::Field("award.stream"))?,
        round: award.round,
        cycle: award.cycle,
        collision: award.collision,
        currency: currency(&award.currency)?,
        coin_value: CoinValue(award.coin_value),
        rate: parse_rate(award.rate)?,
        amount: Minor(award.amount),
        increments: parse_nano(&award.increments, "award.increments")?,
        seed_from_reserve: parse_nano(&award.seed_from_reserve, "award.seed_from_reserve")?,
        seed_from_house: parse_nano(&award.seed_from_house, "award.seed_from_house")?,
        to_reserve: parse_nano(&award.to_reserve, "award.to_reserve")?,
        paid: parse_nano(&award.paid, "award.paid")?,
    })
}
