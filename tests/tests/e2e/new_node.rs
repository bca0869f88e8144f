use crate::PROGRAM;
use motherlode_ledger::Options;
use motherlode_proto::{
    jackpot::v1::GetPoolRequest,
    ledger::v1::{GetRoundRequest, VoidRoundRequest},
    round::v1::{Account, RoundState},
    spin::v1::Played,
};
use motherlode_runtime::{Config, config::Store};
use motherlode_server::open_stores;
use motherlode_slots::latest_games;
use motherlode_testkit::nats::Node;
use motherlode_tests::Server;
use motherlode_tests::{
    Client, EUR, Force, account, answers, config, next_choice, play, smallest, stake_on, start_with,
};
use std::{path::Path, process::Command, time::Duration};

const NOW_MS: i64 = 1_760_000_000_000;
const TODAY: &str = "2025-10-09";
const DEPOSIT: i64 = 1_000_000_000;

async fn node(data: &Path, store: &Store) -> (Server, Client) {
    let config = Config { store: store.clone(), ..config(data) };
    let options = Options::on_clock(|| NOW_MS);
    let server = start_with(&config, open_stores(&config).unwrap(), options).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

async fn plays(client: &mut Client, account: &Account) -> u64 {
    let mut last = 0;
    for number in 0..6 {
        for game in latest_games().iter().copied() {
            let bet = stake_on(game, &format!("{}-{number}", game.name()), account, smallest(game));
            let steps = play(client, game, bet, number).await;
            if game.name() == "bewitched" {
                last = steps[0].position;
            }
        }
    }
    let (round_id, reason, actor) = (format!("acme/{}/5", account.player_id), "reel 3 stuck".into(), "ann".into());
    client.ledger.void_round(VoidRoundRequest { request_id: "void".into(), round_id, reason, actor }).await.unwrap();
    last
}

async fn waits(client: &mut Client, account: &Account) -> Played {
    let game = motherlode_slots::latest("dwarf-mine").unwrap();
    client.spin(stake_on(game, "open", account, smallest(game)), Some(Force::Open)).await.unwrap()
}

async fn pooled(client: &mut Client, position: u64) {
    let request = GetPoolRequest { pool_id: "bewitched".into() };
    let all = async {
        while client.jackpot.get_pool(request.clone()).await.unwrap().into_inner().pool.unwrap().pooled_position
            < position
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("the pool takes in the contributions");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_new_node_with_an_empty_disk_answers_as_the_one_that_is_lost() {
    let at = tempfile::tempdir().unwrap();
    let nats = Node::start(&at.path().join("nats"), "");
    let store = nats.config("S");
    let (server, mut client) = node(&at.path().join("lost"), &store).await;
    let players = ["ann", "bob", "eve"].map(|name| account(name, EUR));
    let (mut last, mut open) = (0, vec![]);
    for account in &players {
        client.fund_account(account, DEPOSIT).await;
        last = plays(&mut client, account).await;
        open.push(waits(&mut client, account).await);
    }
    pooled(&mut client, last).await;
    let mut before = answers::of_players(&mut client, &players).await;
    before.extend(answers::of_house(&mut client, "bewitched", TODAY).await);
    let shown = client.ledger.get_round(GetRoundRequest { round_id: open[0].round_id.clone() }).await.unwrap();
    server.stop().await.unwrap();
    std::fs::remove_dir_all(at.path().join("lost")).unwrap();

    let (server, mut client) = node(&at.path().join("new"), &store).await;
    let mut after = answers::of_players(&mut client, &players).await;
    after.extend(answers::of_house(&mut client, "bewitched", TODAY).await);
    assert_eq!(before.len(), 3 * 4 + 4);
    assert_eq!(after, before);
    let again = client.ledger.get_round(GetRoundRequest { round_id: open[0].round_id.clone() }).await.unwrap();
    assert_eq!(again.into_inner(), shown.into_inner());

    for mut played in open {
        for step in 1.. {
            let Some(choice) = next_choice(&played) else { break };
            played = client.choose(&format!("on-{step}"), &played.round_id, choice, None).await.unwrap();
        }
        assert_eq!(played.state(), RoundState::Settled);
    }
    server.stop().await.unwrap();
    let mut audit = Command::new(PROGRAM);
    let audit =
        audit.args(["audit", &format!("{}/S", nats.url()), "--stream-key"]).arg(nats.key_file()).output().unwrap();
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
}
