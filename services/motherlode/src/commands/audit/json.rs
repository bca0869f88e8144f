//! Money and pool figures are decimal strings with their currency.

use super::sums::{cash, returned, to_be_pooled, totals};
use motherlode_audit::{Comparison, Divergence, Report, Return, Seals, Voids, Whole};
use motherlode_log::Tail;
use motherlode_proto::convert::play::hex;
use motherlode_slots::par::decimal;
use motherlode_state::{Award, Currency, Nano, PerCurrency, PoolState, PoolStatus};
use serde_json::{Value, json};

const PLACES: usize = 6;

pub(super) fn whole(whole: &Whole) -> Value {
    if let Some(divergence) = whole.divergence() {
        return json!({"ok": false, "divergence": of_divergence(divergence)});
    }
    let count = whole.partitions.len();
    let mut reports: Vec<_> = whole.partitions.iter().map(|report| of_partition(report, count)).collect();
    if count == 1 {
        return reports.remove(0);
    }
    let returns = whole.returns();
    let sum = |figure: fn(&Return) -> u64| returns.iter().map(figure).sum::<u64>();
    let pools = reports[0]["pools"].clone();
    json!({
        "ok": true,
        "partitions": reports,
        "commits": whole.partitions.iter().map(|report| report.position).sum::<u64>(),
        "players": whole.partitions.iter().map(|report| report.books.players().count()).sum::<usize>(),
        "rounds": sum(|of| of.rounds),
        "steps": sum(|of| of.steps),
        "spins": sum(|of| of.spins),
        "totals": of_totals(&returns),
        "games": returns.iter().map(of_game).collect::<Vec<_>>(),
        "voids": voids(&whole.voids()),
        "draws": draws(&whole.seals(), whole.sealed()),
        "pools": pools,
        "under_way_between_partitions": eur(whole.in_transit),
    })
}

fn of_totals(returns: &[Return]) -> Vec<Value> {
    let of = |(currency, rounds, bets, wins, awarded): (Currency, u64, i128, i128, i128)| {
        let (bets, wins, awards) = (cash(bets, currency), cash(wins, currency), cash(awarded, currency));
        json!({"currency_code": currency.code(), "rounds": rounds, "bets": bets, "wins": wins, "awards": awards})
    };
    totals(returns).map(of).collect()
}

fn draws(seals: &Seals, held: u64) -> Value {
    json!({"opened": seals.opened, "unsealed": seals.unsealed, "key_lost": seals.key_lost,
           "ended": seals.ended, "unsure_starts": seals.unsure_starts, "refused_starts": seals.refused_starts,
           "rounds_lost": seals.rounds_lost, "steps_not_revealed": held,
           "seals_of_keys": seals.checked, "seals_of_unknown_keys": seals.unchecked})
}

fn of_partition(report: &Report, partitions: usize) -> Value {
    let Report { books, returns, partition, position, head, tail, .. } = report;
    let sum = |figure: fn(&Return) -> u64| returns.iter().map(figure).sum::<u64>();
    let unpaid = books.unpaid_awards().map(|(partition, hit, award)| {
        let (round, amount) = (award.round, cash(award.amount.0.into(), award.currency));
        json!({"pool_id": &*award.pool, "partition": partition, "hit": hit, "stream": award.stream.to_string(),
               "round_id": round, "amount": amount})
    });
    let open = books.players().flat_map(|(operator, player, state)| {
        state.open_rounds().map(move |open| {
            json!({"round_id": format!("{operator}/{player}/{}", open.started.round), "game": open.started.game,
                   "bet": cash(open.started.bet.0.into(), open.started.currency), "position": open.opened_at,
                   "steps": open.steps.len()})
        })
    });
    let off = books.switched_off().map(|(switch, off)| {
        json!({"operator_id": switch.operator, "game": switch.game, "rules_version": switch.rules_version,
               "reason": off.reason, "actor": off.actor, "position": off.position})
    });
    let mut value = json!({
        "ok": true,
        "partition": partition,
        "commits": position,
        "last_position": position,
        "head_hash": hex(head),
        "tail": match tail {
            Tail::Clean => json!({"state": "clean"}),
            Tail::Torn { file, offset, bytes } => {
                json!({"state": "torn", "file": file.display().to_string(), "offset": offset, "bytes": bytes})
            }
        },
        "players": books.players().count(),
        "rounds": sum(|of| of.rounds),
        "steps": sum(|of| of.steps),
        "spins": sum(|of| of.spins),
        "totals": of_totals(returns),
        "games": returns.iter().map(of_game).collect::<Vec<_>>(),
        "voids": voids(&report.voids),
        "draws": draws(&report.seals, report.sealed()),
        "pools": books.pools().filter(|pool| pool.mirrors().is_none()).map(|pool| of_pool(report, pool, partitions))
            .collect::<Vec<_>>(),
        "unpaid_awards": unpaid.collect::<Vec<_>>(),
        "open_rounds": open.collect::<Vec<_>>(),
        "under_way_with_wallets": report.under_way(),
        "switched_off": off.collect::<Vec<_>>(),
        "checkpoints": report.checkpoints,
        "tree_size": report.tree,
        "index": match &report.index {
            Comparison::Compared { balances, held } => {
                json!({"compared": true, "balances": balances, "held_position": held})
            }
            Comparison::NotCompared { why } => json!({"compared": false, "why": why}),
        },
    });
    if let Some(base) = &report.base {
        value["base"] = json!({"position": base.position, "record_hash": hex(&base.record_hash), "form": base.form,
                               "digest": hex(&base.digest), "is_logged": base.is_logged});
    }
    value
}

pub(super) fn of_divergence(divergence: &Divergence) -> Value {
    let Divergence { partition, position, file, offset, what, expected, found } = divergence;
    let mut value = json!({"partition": partition, "position": position, "what": what, "expected": expected,
                           "found": found});
    if let (Some(file), Some(offset)) = (file, offset) {
        value["file"] = file.display().to_string().into();
        value["offset"] = (*offset).into();
    }
    value
}

fn of_game(of: &Return) -> Value {
    let share = |won| returned(won, of.bets).map(|share| decimal(&share, PLACES));
    json!({
        "game": of.game,
        "rules_version": of.rules_version,
        "currency_code": of.currency.code(),
        "rounds": of.rounds,
        "rounds_contributing": of.contributing,
        "rounds_free": of.free,
        "steps": of.steps,
        "spins": of.spins,
        "bets": cash(of.bets, of.currency),
        "bets_free": cash(of.free_bets, of.currency),
        "wins": cash(of.wins, of.currency),
        "jackpot_hits": of.hits,
        "jackpot_awards": cash(of.awarded, of.currency),
        "rtp_without_jackpot": share(of.wins),
        "rtp_with_jackpot": share(of.wins + of.awarded),
    })
}

fn voids(voids: &PerCurrency<Voids>) -> Vec<Value> {
    let voids = voids.iter().filter(|(_, voids)| voids.rounds > 0);
    let of = |(currency, voids): (Currency, &Voids)| {
        json!({"currency_code": currency.code(), "rounds": voids.rounds, "refunds": cash(voids.refunds, currency),
               "wins_taken_back": cash(voids.wins_taken_back, currency), "wins_left": cash(voids.wins_left, currency)})
    };
    voids.map(of).collect()
}

fn of_pool(report: &Report, pool: &PoolState, partitions: usize) -> Value {
    let (status, into) = match &pool.status {
        PoolStatus::Active => ("active", None),
        PoolStatus::Suspended => ("suspended", None),
        PoolStatus::Retired { into, .. } => ("retired", Some(into)),
    };
    let waiting = to_be_pooled(report, &pool.name, partitions);
    let awards = report.awards.get(&*pool.name).into_iter().flatten();
    json!({
        "pool_id": &*pool.name,
        "status": status,
        "retired_into": into,
        "terms_version": pool.terms.version,
        "cycle": pool.cycle,
        "contributions": eur(pool.contributions),
        "contributions_waiting": eur(waiting),
        "house_funding": eur(pool.house_funding),
        "paid": eur(pool.paid),
        "increments": eur(pool.increments),
        "reserve": eur(pool.reserve),
        "moved_in": eur(pool.moved_in),
        "moved_out": eur(pool.moved_out),
        "base_pool": eur(pool.base()),
        "balanced": pool.is_balanced(),
        "awards": awards.map(of_award).collect::<Vec<_>>(),
    })
}

fn of_award(award: &Award) -> Value {
    json!({
        "partition": award.partition,
        "hit": award.hit,
        "stream": award.stream.to_string(),
        "round_id": award.round,
        "cycle": award.cycle,
        "collision": award.collision,
        "coin_value": award.coin_value.to_string(),
        "amount": cash(award.amount.0.into(), award.currency),
        "increments": eur(award.increments),
        "seed_from_reserve": eur(award.seed_from_reserve),
        "seed_from_house": eur(award.seed_from_house),
        "to_reserve": eur(award.to_reserve),
        "paid": eur(award.paid),
    })
}

fn eur(figure: Nano) -> String {
    format!("{figure} EUR")
}
