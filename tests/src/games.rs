use crate::{
    client::{Client, next_choice},
    config,
};
use motherlode_audit::{Checkpoints, Options, Replayed, Whole, audit_all, replay};
use motherlode_proofs::{of_partition, proofs_folder};
use motherlode_proto::{
    round::v1::{Account, Awaiting, Card, Stake, Witch, choice},
    spin::v1::{GrantCampaignRequest, Played, SpinRequest},
};
use motherlode_runtime::Config;
use motherlode_server::{LocalLog, LogLocation, copy};
use motherlode_slots::Game;
use motherlode_state::{CoinValue, StreamId};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64},
};
use tonic::Code;

#[must_use]
pub fn stake_on(game: &dyn Game, id: &str, account: &Account, coin: CoinValue) -> SpinRequest {
    let info = game.info();
    SpinRequest {
        request_id: id.to_owned(),
        account: Some(account.clone()),
        game: game.name().to_owned(),
        stake: Some(Stake {
            coin_value: coin.to_string(),
            lines: info.limits.lines.1,
            coins_per_line: info.limits.coins_per_line.0,
            buy_feature: false,
        }),
        witch: if info.companions.is_empty() { Witch::Unspecified } else { Witch::White }.into(),
        offer_double: info.doubles_max > 0,
        ..SpinRequest::default()
    }
}

#[must_use]
pub fn campaign(game: &dyn Game, id: &str, account: &Account, rounds: u32) -> GrantCampaignRequest {
    GrantCampaignRequest {
        request_id: format!("grant-{id}"),
        account: Some(account.clone()),
        campaign_id: id.to_owned(),
        game: game.name().to_owned(),
        stake: stake_on(game, "", account, smallest(game)).stake,
        rounds,
        expire_time: Some(prost_types::Timestamp { seconds: 4_102_444_800, nanos: 0 }),
    }
}

#[must_use]
pub fn free_round(game: &dyn Game, id: &str, account: &Account, campaign_id: &str) -> SpinRequest {
    let campaign_id = campaign_id.to_owned();
    SpinRequest { stake: None, campaign_id, ..stake_on(game, id, account, smallest(game)) }
}

#[must_use]
pub fn smallest(game: &dyn Game) -> CoinValue {
    CoinValue(game.info().limits.coin_values_micros[0])
}

pub async fn play(client: &mut Client, game: &dyn Game, request: SpinRequest, turn: usize) -> Vec<Played> {
    let id = request.request_id.clone();
    let mut last = client.bet(request).await.expect("the bet is accepted");
    let mut steps = vec![];
    loop {
        steps.push(last.clone());
        let awaiting = last.outcome.as_ref().map(|outcome| outcome.awaiting());
        let gamble = awaiting == Some(Awaiting::Double);
        let choice = match (turn + steps.len()) % 4 {
            0 if gamble => choice::Kind::Double(Card::RedHeart.into()),
            1 if gamble => choice::Kind::Double(Card::BlackSpade.into()),
            2 if gamble && game.info().halve => choice::Kind::Halve(choice::Halve {}),
            _ => match next_choice(&last) {
                Some(choice) => choice,
                None => return steps,
            },
        };
        let (step, round) = (format!("{id}.{}", steps.len()), last.round_id.clone());
        let chosen = match (client.choose(&step, &round, choice, None).await, next_choice(&last)) {
            (Err(status), Some(collect)) if gamble && status.code() == Code::InvalidArgument => {
                client.choose(&step, &round, collect, None).await
            }
            (chosen, _) => chosen,
        };
        last = chosen.expect("the choice is accepted");
    }
}

fn local(data: &Path) -> LocalLog {
    let from = LogLocation::from_config(&config(data));
    if let LogLocation::Stream(_) = from {
        let to = LogLocation::Folder { data: data.to_owned(), segment_bytes: 1 << 20 };
        copy(&from, &to, false, &AtomicBool::new(false), &AtomicU64::new(0)).expect("the log is copied");
    }
    LocalLog::open(data, &Config::default()).expect("the log is there")
}

#[must_use]
pub fn replayed(data: &Path, player: &str, round: u64) -> Replayed {
    let (local, stream) = (local(data), StreamId::player("acme", player));
    let log = local.log(stream.partition(local.partitions()));
    replay(&log, &stream, round).expect("the log can be read").expect("the log has the round")
}

pub fn checked(data: &Path) {
    audit_of(data);
}

pub fn audited(data: &Path, partitions: usize) -> Whole {
    let whole = audit_of(data);
    assert_eq!(whole.partitions.len(), partitions);
    whole
}

#[must_use]
pub fn audited_parts(local: &LocalLog) -> Vec<Options> {
    let of = |partition| Options {
        log: local.log(partition),
        index: Some(local.index(partition)),
        partition,
        ..Options::default()
    };
    (0..local.partitions()).map(of).collect()
}

fn signed(data: &Path, parts: &mut [Options]) {
    let Ok(key) = motherlode_proofs::load(&data.join("proofs.key")) else { return };
    for part in parts {
        let key = of_partition(key.verifier(), part.partition).expect("a name");
        let folder = proofs_folder(data, part.partition);
        part.checkpoints = Checkpoints::in_folder(&folder, &key).expect("a signed checkpoint");
    }
}

fn audit_of(data: &Path) -> Whole {
    let local = local(data);
    let mut parts = audited_parts(&local);
    signed(data, &mut parts);
    let whole = audit_all(&parts).expect("the log can be read");
    assert!(whole.divergence().is_none(), "{}", whole.divergence().map(ToString::to_string).unwrap_or_default());
    whole
}
