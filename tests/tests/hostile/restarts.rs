use crate::{
    PROGRAM,
    honest::Honest,
    strangers::{configure, rate},
};
use futures_util::future::join_all;
use motherlode_proto::{ledger::v1::FollowLogRequest, round::v1::Account};
use motherlode_runtime::connect::connect;
use motherlode_tests::{
    Client, Process, bet,
    hostile::{GREETING, Target, Wire, framed, unread},
};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

const TURNS: u32 = 10;
const IDLE: usize = 1_000;
const ADDRESSES: u8 = 10;
const UNREAD: u8 = 60;
const STREAMS: usize = 10;
const GAP_MAX: Duration = Duration::from_secs(1);

async fn idle(target: &Target) -> Wire {
    let mut wire = target.wire().await.unwrap();
    wire.write_all(GREETING).await.unwrap();
    wire.flush().await.unwrap();
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a6_restarts_with_idle_and_unread_connections_leave_no_more_than_a_second_without_service() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path(), "connections_max = 2048");
    let data = folder.path().join("data");
    let mut process = Process::start(PROGRAM, &data, Some(&file));
    let mut gaps = vec![];
    for turn in 0..TURNS {
        let at = target.at(process.address);
        let honest = Honest::connect(&at.with("honest"), rate()).await;
        if turn == 0 {
            honest.fund().await;
        }
        let addresses: Vec<_> = (0..ADDRESSES).map(|number| at.from(2 + number)).collect();
        let mut held = vec![];
        for _ in 0..IDLE / addresses.len() {
            held.extend(join_all(addresses.iter().map(idle)).await);
        }
        let path = "/motherlode.ledger.v1.LedgerService/FollowLog";
        let follow = framed(&FollowLogRequest::default());
        let mut followers = vec![];
        for number in 0..UNREAD {
            let target = at.with("mallory").from(100 + number);
            followers.push(unread(&target, path, &follow, STREAMS).await.unwrap());
        }
        let before = honest.play(Duration::from_secs(1)).await;
        assert_eq!(before.failed, vec![] as Vec<String>);

        let asked = Instant::now();
        process.ask_to_stop();
        let (code, said) = process.ended().await;
        let ended = asked.elapsed();
        assert_eq!(code, Some(0), "{said}");
        process = Process::start(PROGRAM, &data, Some(&file));
        let listens = asked.elapsed();
        let (url, credentials) = target.at(process.address).with("honest").honest();
        let mut client = Client::on(connect(&url, &credentials, None).await.unwrap());
        let player = Account { operator_id: "honest".into(), player_id: "p0".into(), currency_code: "EUR".into() };
        client.bet(bet(&format!("after-{turn}"), &player, "0.01")).await.unwrap();
        let gap = asked.elapsed();
        println!(
            "restart {turn}: ended after {ended:.0?}, the next one listens after {listens:.0?}, a bet is answered after {gap:.0?}"
        );
        gaps.push(gap);
        client.play_out(bet(&format!("after-{turn}"), &player, "0.01")).await.unwrap();
        drop((held, followers));
    }
    assert_eq!(process.terminate().await, Some(0));
    assert!(gaps.iter().all(|gap| *gap <= GAP_MAX), "{gaps:?}");
}
