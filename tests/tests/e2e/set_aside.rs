use motherlode_ledger::{Ledgers, Options};
use motherlode_proto::{
    jackpot::v1::ResolveAwardsRequest,
    ledger::v1::{GetRoundRequest, WithdrawRequest},
    report::v1::{ListSignificantEventsRequest, SignificantEvent, SignificantKind as Kind},
    round::v1::{Account, Choice, JackpotWin, jackpot_win::State},
    spin::v1::{ChooseRequest, spin_service_server::SpinService},
};
use motherlode_runtime::stop;
use motherlode_spin::{Dealer, SpinApi};
use motherlode_state::{Currency, StreamId};
use motherlode_tests::{
    Client, EUR, Force, Server, bet, checked, config, deposit_of_old, partitions::settled, reason, scripted, start,
    vials,
};
use std::time::Duration;
use tonic::Request;

async fn significant(client: &mut Client, kind: Kind) -> Vec<SignificantEvent> {
    let request = ListSignificantEventsRequest { page_size: 100, ..ListSignificantEventsRequest::default() };
    let mut events = client.report.list_significant_events(request).await.unwrap().into_inner().events;
    events.retain(|event| event.kind() == kind);
    events
}

async fn waiting(client: &mut Client, player: &str) -> (Account, String) {
    let account = client.fund(player, EUR, 1_000_000).await;
    let mut request = bet("hit", &account, "0.20");
    request.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(request, Some(Force::Pick)).await.unwrap();
    (account, spun.round_id)
}

fn fill(server: &Server, player: &str) -> i64 {
    i64::MAX - server.player(player).balance(Currency::EUR).unwrap().0
}

async fn jackpot(client: &mut Client, round_id: &str) -> JackpotWin {
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
    round.jackpots[0].clone()
}

async fn until(client: &mut Client, round_id: &str, state: State) -> JackpotWin {
    let stands = async {
        loop {
            let won = jackpot(client, round_id).await;
            if won.state() == state {
                break won;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), stands).await.expect("the award reaches the expected state")
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_01_an_award_that_cannot_be_paid_is_set_aside_blocks_no_other_and_is_paid_in_the_end() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (alice, round) = waiting(&mut client, "alice").await;
    let (_, bobs) = waiting(&mut client, "bob").await;
    let room = fill(&server, "alice");
    server.stop().await.unwrap();
    deposit_of_old(data.path(), &StreamId::player("acme", "alice"), room);

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let played = client.choose("hit.1", &round, vials(), Some(Force::Jackpot)).await.unwrap();
    let won = played.jackpot.unwrap();
    assert_eq!((won.state(), won.amount.as_ref().unwrap().amount_minor), (State::SetAside, 40_000));
    assert_eq!(until(&mut client, &round, State::SetAside).await.amount, won.amount);
    let others = client.choose("hit.1", &bobs, vials(), Some(Force::Jackpot)).await.unwrap();
    assert_eq!(others.jackpot.unwrap().state(), State::Paid, "another award is paid");
    let events = significant(&mut client, Kind::AwardSetAside).await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].subject.as_str(), events[0].after.as_str()), (round.as_str(), "set aside"));

    let resolve = || ResolveAwardsRequest { pool_id: "bewitched".into(), reference: "ticket 7".into() };
    let answer = client.jackpot.resolve_awards(resolve()).await.unwrap().into_inner();
    assert_eq!((answer.paid.len(), answer.waiting.len()), (0, 1));
    let in_the_way = answer.waiting[0].in_the_way.as_ref().unwrap().amount_minor;
    let fullest = client.balance(&alice).await;
    assert_eq!(in_the_way, 40_000 - (i64::MAX - fullest));
    let refused_bet = client.spin(bet("more", &alice, "0.01"), None).await;
    assert_eq!(reason(&refused_bet.unwrap_err()), "BALANCE_ABOVE_LIMIT");
    server.stop().await.unwrap();

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    assert_eq!(until(&mut client, &round, State::SetAside).await.amount, won.amount);
    let withdraw = WithdrawRequest { request_id: "out".into(), account: Some(alice.clone()), amount_minor: in_the_way };
    client.ledger.withdraw(withdraw).await.unwrap();
    client.jackpot.resolve_awards(resolve()).await.unwrap();
    until(&mut client, &round, State::Paid).await;
    assert_eq!(client.balance(&alice).await, i64::MAX);
    settled(server.ledgers()).await;
    let events = significant(&mut client, Kind::AwardSetAside).await;
    assert_eq!((events.len(), events[0].before.as_str()), (2, "set aside"));
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_01_a_start_on_a_log_with_an_award_that_cannot_be_paid_serves() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (_, round) = waiting(&mut client, "alice").await;
    let room = fill(&server, "alice");
    server.stop().await.unwrap();
    deposit_of_old(data.path(), &StreamId::player("acme", "alice"), room);

    let settings = config(data.path());
    let stores = motherlode_server::open_stores(&settings).unwrap();
    let index = tempfile::tempdir().unwrap();
    let folder = |partition: u32| index.path().join(partition.to_string());
    let ledgers = Ledgers::open(stores, folder, &Options::default()).unwrap();
    let (_stopper, stop) = stop::channel();
    let api = SpinApi::new(
        ledgers.clone(),
        scripted(Dealer::from_master(*b"the same for all tests, for good")),
        Duration::ZERO,
        stop,
    );
    let choice = Some(Choice { kind: Some(vials()) });
    let choose = ChooseRequest { request_id: "hit.1".into(), round_id: round.clone(), choice, ..Default::default() };
    let mut choose = Request::new(choose);
    choose.metadata_mut().insert("motherlode-force", "jackpot".parse().unwrap());
    let played = SpinService::choose(&api, choose).await.unwrap().into_inner().played.unwrap();
    assert_eq!(played.jackpot.unwrap().state(), State::Pending);
    drop(api);
    ledgers.close().await;

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    until(&mut client, &round, State::SetAside).await;
    let bob = client.fund("bob", EUR, 1_000).await;
    client.play_out(bet("b", &bob, "0.01")).await.expect("other players' rounds continue");
    server.stop().await.unwrap();
    checked(data.path());
}
