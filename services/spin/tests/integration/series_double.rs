use motherlode_ledger::{Handle, LedgerApi, rounds};
use motherlode_log::MemoryStore;
use motherlode_proto::{
    ledger::v1::{DepositRequest, OpenAccountRequest, ledger_service_server::LedgerService},
    round::v1::{
        Account, Awaiting, Card, Choice, Round, RoundState, Stake, Witch,
        choice::{self, Kind},
    },
    spin::v1::{
        AutospinRequest, AutospinResponse, AutospinStop, ChooseRequest, Played, spin_service_server::SpinService,
    },
};
use motherlode_runtime::stop;
use motherlode_spin::{Dealer, SpinApi};
use std::{pin::Pin, time::Duration};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Status};

type Series = Pin<Box<dyn Stream<Item = Result<AutospinResponse, Status>> + Send>>;

struct Table {
    ledger: Handle,
    api: SpinApi,
    account: Account,
    _index: tempfile::TempDir,
    _stopper: stop::Stopper,
}

impl Table {
    async fn new() -> Self {
        let index = tempfile::tempdir().unwrap();
        let ledger = motherlode_ledger::open(Box::new(MemoryStore::new(0)), index.path(), Default::default()).unwrap();
        let account = Account { operator_id: "acme".into(), player_id: "alice".into(), currency_code: "EUR".into() };
        let wallet = LedgerApi::new(ledger.clone(), stop::channel().1);
        let open = OpenAccountRequest { request_id: "open".into(), account: Some(account.clone()) };
        wallet.open_account(Request::new(open)).await.unwrap();
        let deposit =
            DepositRequest { request_id: "d".into(), account: Some(account.clone()), amount_minor: 1_000_000 };
        wallet.deposit(Request::new(deposit)).await.unwrap();
        let (stopper, stop) = stop::channel();
        let dealer = Dealer::from_master([7; 32]);
        let api = SpinApi::new(ledger.clone(), dealer, Duration::ZERO, stop);
        Self { ledger, api, account, _index: index, _stopper: stopper }
    }

    fn request(&self, request_id: &str, spins: u32) -> AutospinRequest {
        AutospinRequest {
            request_id: request_id.into(),
            account: Some(self.account.clone()),
            game: "bewitched".into(),
            stake: Some(Stake { coin_value: "0.01".into(), lines: 15, coins_per_line: 1, buy_feature: false }),
            witch: Witch::White.into(),
            spins,
            offer_double: true,
            ..AutospinRequest::default()
        }
    }

    async fn begin(&self, request: &AutospinRequest) -> Series {
        SpinService::autospin(&self.api, Request::new(request.clone())).await.unwrap().into_inner()
    }

    async fn choose(&self, played: &Played, kind: Kind) -> Played {
        let request = ChooseRequest {
            request_id: format!("c{}.{}", played.position, played.step),
            round_id: played.round_id.clone(),
            choice: Some(Choice { kind: Some(kind) }),
            ..ChooseRequest::default()
        };
        SpinService::choose(&self.api, Request::new(request)).await.unwrap().into_inner().played.unwrap()
    }

    async fn finish(&self, mut played: Played) {
        while played.state() == RoundState::Open && !waits(&played) {
            let kind = match played.outcome.as_ref().unwrap().awaiting() {
                Awaiting::Pick => Kind::Pick(choice::Pick { numbers: vec![1, 2, 3] }),
                _ => Kind::StartFreeSpins(choice::StartFreeSpins {}),
            };
            played = self.choose(&played, kind).await;
        }
    }

    async fn until_double(&self, series: &mut Series) -> (Played, AutospinResponse) {
        loop {
            let answer = series.next().await.unwrap().unwrap();
            assert_eq!(answer.stop(), AutospinStop::Unspecified);
            let Some(played) = answer.played.clone() else { continue };
            if waits(&played) {
                return (played, answer);
            }
            self.finish(played).await;
        }
    }

    fn round(&self, played: &Played) -> Round {
        let number = played.round_id.rsplit('/').next().unwrap().parse().unwrap();
        rounds::read(&self.ledger, &motherlode_state::StreamId::player("acme", "alice"), number).unwrap().unwrap()
    }

    fn rounds_started(&self) -> u64 {
        let alice = motherlode_state::StreamId::player("acme", "alice");
        self.ledger.books(|books| books.player(&alice).unwrap().rounds_started)
    }

    async fn close(self) {
        drop(self.api);
        self.ledger.close().await;
    }
}

fn waits(played: &Played) -> bool {
    played.outcome.as_ref().unwrap().awaiting() == Awaiting::Double
}

#[tokio::test]
async fn bw_23_a_win_waits_until_the_next_spin_and_is_collected_before_it() {
    let table = Table::new().await;
    let mut series = table.begin(&table.request("s", 1000)).await;
    let (first, told) = table.until_double(&mut series).await;
    assert_eq!((first.state(), table.round(&first).state()), (RoundState::Open, RoundState::Open));
    let next = series.next().await.unwrap().unwrap();
    let shown = table.round(&first);
    assert_eq!((shown.state(), shown.steps.len(), &shown.win), (RoundState::Settled, 2, &first.win));
    assert_eq!(shown.steps[1].choice.as_ref().unwrap().kind, Some(Kind::Collect(choice::Collect {})));
    let spun = next.played.clone().expect("the series must continue");
    assert!(shown.steps[1].position < spun.position);
    let counted = |answer: &AutospinResponse| answer.total_win.as_ref().unwrap().amount_minor;
    assert!(
        counted(&told) >= first.win.as_ref().unwrap().amount_minor,
        "a win that can be doubled must be counted at once"
    );
    drop(series);
    let mut again = table.begin(&table.request("s", 1000)).await;
    let mut found = 0;
    while let Some(Ok(answer)) = again.next().await {
        found += u32::from(answer == told);
        if answer == next {
            break;
        }
    }
    assert_eq!(found, 1);
    drop(again);
    table.close().await;
}

#[tokio::test]
async fn bw_23_the_win_of_a_series_that_is_stopped_before_its_next_spin_can_be_doubled() {
    let table = Table::new().await;
    let mut series = table.begin(&table.request("s", 1000)).await;
    let (win, _) = table.until_double(&mut series).await;
    drop(series);
    let doubled = table.choose(&win, Kind::Double(Card::RedHeart.into())).await;
    assert_eq!((&doubled.round_id, doubled.step), (&win.round_id, 2));
    if waits(&doubled) {
        table.choose(&doubled, Kind::Collect(choice::Collect {})).await;
    }
    let limited = AutospinRequest { win_limit_minor: Some(1), ..table.request("t", 1000) };
    for (number, request) in
        [limited].into_iter().chain((0..200).map(|n| table.request(&format!("u{n}"), 1))).enumerate()
    {
        let mut series = table.begin(&request).await;
        let mut last = AutospinResponse::default();
        while let Some(Ok(answer)) = series.next().await {
            last = answer;
            if let Some(played) = last.played.clone().filter(|played| !waits(played)) {
                table.finish(played).await;
            }
        }
        let Some(open) = last.played.filter(waits) else { continue };
        assert_eq!(table.round(&open).state(), RoundState::Open);
        let collected = table.choose(&open, Kind::Collect(choice::Collect {})).await;
        assert_eq!((collected.state(), &collected.win), (RoundState::Settled, &open.win));
        if number > 0 {
            table.close().await;
            return;
        }
    }
    panic!("none of 200 series ended with a win that can be doubled");
}

#[tokio::test]
async fn bw_23_no_win_is_doubled_while_the_series_runs_a_player_who_does_stops_it() {
    let table = Table::new().await;
    let request = table.request("s", 1000);
    let mut series = table.begin(&request).await;
    let (win, _) = table.until_double(&mut series).await;
    let rounds = table.rounds_started();
    table.choose(&win, Kind::Double(Card::RedHeart.into())).await;
    let last = series.next().await.unwrap().unwrap();
    assert_eq!((last.stop(), last.played), (AutospinStop::Player, None));
    assert!(series.next().await.is_none());
    let mut again = table.begin(&request).await;
    let mut stop = AutospinStop::Unspecified;
    while let Some(answer) = again.next().await {
        stop = answer.unwrap().stop();
    }
    assert_eq!(
        (stop, table.rounds_started()),
        (AutospinStop::Player, rounds),
        "a repeated request must not spin again"
    );
    drop((series, again));
    table.close().await;
}
