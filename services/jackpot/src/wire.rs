use motherlode_ledger::fields::{self, money, round_name, timestamp};
use motherlode_proto::{convert::record::Logged, jackpot::v1 as wire};
use motherlode_runtime::Refusal;
use motherlode_state::{Award, CollisionShare, Incident, PoolState, PoolStatus, PoolTerms, UnpaidAward};

pub(crate) fn pool(pool: &PoolState, partitions: u32) -> wire::Pool {
    wire::Pool {
        pool_id: pool.name.to_string(),
        status: status(&pool.status).into(),
        terms: Some(terms(&pool.terms)),
        pending_terms: pool.pending_terms.as_ref().map(terms),
        cycle: pool.cycle,
        base_figure_eur: pool.base().to_string(),
        increments_eur: pool.increments.to_string(),
        reserve_eur: pool.reserve.to_string(),
        house_funding_eur: pool.house_funding.to_string(),
        contributions_eur: pool.contributions.to_string(),
        paid_eur: pool.paid.to_string(),
        pooled_position: pool.pooled_position(pool.head.partition),
        pending_partitions: vec![],
        pooled_positions: (0..partitions).map(|partition| pool.pooled_position(partition)).collect(),
        waiting_hits: 0,
    }
}

pub(crate) fn status(status: &PoolStatus) -> wire::PoolStatus {
    match status {
        PoolStatus::Active => wire::PoolStatus::Active,
        PoolStatus::Suspended => wire::PoolStatus::Suspended,
        PoolStatus::Retired { .. } => wire::PoolStatus::Retired,
    }
}

fn terms(terms: &PoolTerms) -> wire::PoolTerms {
    wire::PoolTerms {
        version: terms.version,
        contribution_ppm: terms.contribution_ppm,
        seed_eur: terms.seed.to_string(),
        base_coin: terms.base_coin.to_string(),
        refresh_ms: terms.refresh_ms,
        collision_share: match terms.collision_share {
            CollisionShare::Full => wire::CollisionShare::Full,
            CollisionShare::Proportional => wire::CollisionShare::Proportional,
        }
        .into(),
    }
}

pub(crate) fn parse_terms(terms: Option<&wire::PoolTerms>, version: u32) -> Result<PoolTerms, Refusal> {
    let terms = terms.ok_or_else(|| Refusal::field("terms", "is required"))?;
    Ok(PoolTerms {
        version,
        contribution_ppm: terms.contribution_ppm,
        seed: fields::nano("terms.seed_eur", &terms.seed_eur)?,
        base_coin: fields::coin_value("terms.base_coin", &terms.base_coin)?,
        refresh_ms: terms.refresh_ms,
        collision_share: match wire::CollisionShare::try_from(terms.collision_share) {
            Ok(wire::CollisionShare::Unspecified | wire::CollisionShare::Full) => CollisionShare::Full,
            Ok(wire::CollisionShare::Proportional) => CollisionShare::Proportional,
            Err(_) => return Err(Refusal::field("terms.collision_share", "must be a value of CollisionShare")),
        },
    })
}

pub(crate) fn set_aside(partition: u32, hit: u64, award: &UnpaidAward) -> wire::SetAsideAward {
    wire::SetAsideAward {
        round_id: round_name(&award.stream, award.round),
        amount: Some(money(award.amount, award.currency)),
        in_the_way: None,
        hit_partition: partition,
        hit_position: hit,
    }
}

pub(crate) fn award(logged: &Logged, award: &Award) -> wire::Award {
    wire::Award {
        round_id: round_name(&award.stream, award.round),
        hit_position: award.hit,
        position: logged.commit.position,
        cycle: award.cycle,
        collision: award.collision,
        coin_value: award.coin_value.to_string(),
        amount: Some(money(award.amount, award.currency)),
        increments_eur: award.increments.to_string(),
        seed_from_reserve_eur: award.seed_from_reserve.to_string(),
        seed_from_house_eur: award.seed_from_house.to_string(),
        to_reserve_eur: award.to_reserve.to_string(),
        paid_eur: award.paid.to_string(),
        time: Some(timestamp(logged.commit.time_ms)),
        hit_partition: award.partition,
    }
}

pub(crate) fn parse_incident(incident: Option<&wire::Incident>, actor: String) -> Result<Incident, Refusal> {
    let incident = incident.ok_or_else(|| Refusal::field("incident", "is required"))?;
    let id = |field, value: &String| fields::id(field, value).map(|id| id.to_owned().into());
    let time = |field, time: Option<&_>| fields::time_ms(field, time);
    let from_ms = time("incident.from_time", incident.from_time.as_ref())?;
    let until_ms = time("incident.until_time", incident.until_time.as_ref())?;
    let minute = Incident::RESOLUTION_MS;
    Ok(Incident {
        id: id("incident.incident_id", &incident.incident_id)?,
        operator: id("incident.operator_id", &incident.operator_id)?,
        game: id("incident.game", &incident.game)?,
        rules_version: fields::optional_id("incident.rules_version", &incident.rules_version)?.to_owned().into(),
        from_ms: from_ms.div_euclid(minute) * minute,
        until_ms: until_ms.saturating_add(minute - 1).div_euclid(minute) * minute,
        reason: fields::reason("incident.reason", &incident.reason)?.to_owned(),
        actor,
    })
}

pub(crate) fn incident(incident: &Incident) -> wire::Incident {
    let Incident { id, operator, game, rules_version, from_ms, until_ms, reason, actor } = incident.clone();
    wire::Incident {
        incident_id: id.to_string(),
        operator_id: operator.to_string(),
        game: game.to_string(),
        rules_version: rules_version.to_string(),
        from_time: Some(timestamp(from_ms)),
        until_time: Some(timestamp(until_ms)),
        reason,
        actor,
    }
}
