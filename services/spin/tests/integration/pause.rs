use motherlode_ledger::{Handle, LedgerApi};
use motherlode_log::MemoryStore;
use motherlode_proto::{
    ledger::v1::{DepositRequest, OpenAccountRequest, ledger_service_server::LedgerService},
    round::v1::{
        Account, Awaiting, Choice, RoundState, Stake, Witch,
        choice::{self, Kind},
    },
    spin::v1::{
        AutospinRequest, AutospinResponse, AutospinStop, ChooseRequest, Played, spin_service_server::SpinService,
    },
};
use motherlode_spin::{Dealer, SpinApi};
use std::time::Duration;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tonic::Request;

async fn fund(ledger: &Handle) -> Account {
    let account =
        Account { operator_id: "acme".to_owned(), player_id: "alice".to_owned(), currency_code: "EUR".to_owned() };
    let wallet = LedgerApi::new(ledger.clone(), motherlode_runtime::stop::channel().1);
    let open = OpenAccountRequest { request_id: "open".to_owned(), account: Some(account.clone()) };
    wallet.open_account(Request::new(open)).await.unwrap();
    let deposit =
        DepositRequest { request_id: "deposit".to_owned(), account: Some(account.clone()), amount_minor: 100_000 };
    wallet.deposit(Request::new(deposit)).await.unwrap();
    account
}

async fn finish(api: &SpinApi, mut played: Played) {
    while played.state() == RoundState::Open {
        let kind = match played.outcome.as_ref().unwrap().awaiting() {
            Awaiting::Pick => Kind::Pick(choice::Pick { numbers: vec![1, 2, 3] }),
            _ => Kind::StartFreeSpins(choice::StartFreeSpins {}),
        };
        let request = ChooseRequest {
            request_id: format!("c{}.{}", played.position, played.step),
            round_id: played.round_id.clone(),
            choice: Some(Choice { kind: Some(kind) }),
            ..ChooseRequest::default()
        };
        played = SpinService::choose(api, Request::new(request)).await.unwrap().into_inner().played.unwrap();
    }
}

async fn play(api: &SpinApi, request: AutospinRequest) -> (Vec<AutospinResponse>, Duration) {
    let begun = Instant::now();
    let mut series = SpinService::autospin(api, Request::new(request)).await.unwrap().into_inner();
    let mut answers = vec![];
    while let Some(answer) = series.next().await {
        let answer = answer.unwrap();
        if let Some(played) = answer.played.clone() {
            finish(api, played).await;
        }
        answers.push(answer);
    }
    (answers, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn pl_07_the_pause_lies_between_the_rounds_and_not_between_answers_given_again() {
    let index = tempfile::tempdir().unwrap();
    let options = motherlode_ledger::Options { answer_wait_max: None, ..Default::default() };
    let ledger = motherlode_ledger::open(Box::new(MemoryStore::new(0)), index.path(), options).unwrap();
    let account = fund(&ledger).await;
    let (_stopper, stop) = motherlode_runtime::stop::channel();
    let api = SpinApi::new(ledger.clone(), Dealer::new().unwrap(), Duration::ZERO, stop);
    let request = AutospinRequest {
        request_id: "s".to_owned(),
        account: Some(account),
        game: "bewitched".to_owned(),
        stake: Some(Stake { coin_value: "0.01".to_owned(), lines: 15, coins_per_line: 1, buy_feature: false }),
        witch: Witch::White.into(),
        spins: 20,
        pause_ms: 60_000,
        ..AutospinRequest::default()
    };
    let (answers, took) = play(&api, request.clone()).await;
    assert_eq!(answers.last().unwrap().stop(), AutospinStop::Complete);
    assert_eq!(took.as_secs(), 19 * 60);
    let (again, took) = play(&api, request).await;
    assert_eq!(again, answers);
    assert_eq!(took.as_secs(), 0);
    drop(api);
    ledger.close().await;
}
