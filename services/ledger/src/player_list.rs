//! Lists an operator's players in the order of their names (PL-20). A page reads at most one block of each table of
//! players per partition, and the listed players' states.

use crate::{
    fields::{self, money, timestamp},
    ledgers::Ledgers,
};
use motherlode_proto::ledger::v1 as wire;
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{PlayerState, is_name};
use std::collections::BTreeMap;

const PAGE_SIZE: usize = 10;
const PAGE_SIZE_MAX: usize = 100;

pub(crate) async fn list(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &wire::ListPlayersRequest,
) -> Result<wire::ListPlayersResponse, Refusal> {
    let operator = fields::id("operator_id", &request.operator_id)?.to_owned();
    let prefix = fields::optional_id("prefix", &request.prefix)?.to_owned();
    let size = match usize::try_from(request.page_size) {
        Ok(0) => PAGE_SIZE,
        Ok(size) => size.min(PAGE_SIZE_MAX),
        Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
    };
    let after = request.page_token.clone();
    if !after.is_empty() && !is_name(&after) {
        return Err(fields::page_token_unknown());
    }
    if !caller.owns(&operator) {
        return Ok(wire::ListPlayersResponse::default());
    }
    ledgers.whole()?;
    let all = ledgers.clone();
    let read = move || {
        let mut found = BTreeMap::new();
        for ledger in all.all() {
            found.append(&mut ledger.players_after(&operator, (&prefix, &after), size + 1, summary)?);
        }
        Ok::<_, Refusal>(found)
    };
    let mut found = ledgers.reads().run(caller, read).await??.into_iter();
    let players: Vec<_> = found.by_ref().take(size).map(|(id, of)| wire::Player { player_id: id, ..of }).collect();
    let next_page_token = match (found.next(), players.last()) {
        (Some(_), Some(last)) => last.player_id.clone(),
        _ => String::new(),
    };
    Ok(wire::ListPlayersResponse { players, next_page_token })
}

fn summary(player: &PlayerState) -> wire::Player {
    wire::Player {
        player_id: String::new(),
        balances: player.balances().map(|(currency, balance)| money(balance, currency)).collect(),
        open_round_count: u32::try_from(player.open_rounds().count()).unwrap_or(u32::MAX),
        rounds_started: player.rounds_started,
        last_bet_time: player.last_bet_ms().map(timestamp),
        position: player.head.position,
    }
}
