use crate::abandoned_rounds::*;
use crate::api::SpinApi;
use motherlode_ledger::{Options, Proposal};
use motherlode_log::MemoryStore;
use motherlode_proto::{
    round::v1::{Account, Awaiting, RoundState, Stake},
    spin::v1::{Played, SkipRoundRequest, SpinRequest, play_stream_request::Call as Asked},
};
use motherlode_runtime::Caller;
use motherlode_state::{Currency, Event, Minor, StreamId};

pub(crate) async fn waiting(api: &SpinApi, player: &str) -> Played {
    let currency = Currency::EUR;
    let proposal = Proposal {
        stream: StreamId::player("acme", player),
        expected_version: None,
        request_id: "fund".into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events: vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount: Minor(100_000) }],
    };
    api.ledgers.append(proposal).await.unwrap();
    let account = Account { operator_id: "acme".into(), player_id: player.into(), currency_code: "EUR".into() };
    let request = SpinRequest {
        request_id: "spin".into(),
        account: Some(account),
        game: "mystery-elves".into(),
        stake: Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true }),
        offer_double: true,
        ..SpinRequest::default()
    };
    let played = api.answer(tonic::Request::new(Asked::Spin(request))).await.unwrap().message();
    assert_eq!(played.outcome.as_ref().unwrap().awaiting(), Awaiting::Feature);
    played
}

fn causes(ledger: &Handle, round: &RoundId) -> Vec<i32> {
    let round = motherlode_ledger::rounds::read(ledger, &round.stream, round.number).unwrap().unwrap();
    round.steps.iter().map(|step| step.automatic.as_ref().map_or(0, |automatic| automatic.cause)).collect()
}

#[tokio::test]
async fn pl_03_pl_11_what_a_crash_left_half_finished_is_finished_once() {
    for service_first in [true, false] {
        let index = tempfile::tempdir().unwrap();
        let ledger = motherlode_ledger::open(Box::new(MemoryStore::new(0)), index.path(), Options::default()).unwrap();
        let dealer = Dealer::from_master([5; 32]);
        let (_stopper, stop) = motherlode_runtime::stop::channel();
        let api = SpinApi::new(ledger.clone(), dealer.clone(), Duration::ZERO, stop);
        let played = waiting(&api, "alice").await;
        let round = motherlode_ledger::fields::round_id(&Caller::ANYONE, &played.round_id).unwrap();

        let request = SkipRoundRequest {
            request_id: "skip".into(),
            round_id: played.round_id.clone(),
            ..SkipRoundRequest::default()
        };
        let asked = AutomaticStep {
            round: &round,
            request_id: "skip".into(),
            fingerprint: motherlode_ledger::fingerprint("skip_round", &request),
            why: &|_: &OpenRound| Some(Automatic::Skipped),
            acted: None,
        };
        let completer = RoundCompleter { ledgers: ledger.clone().into(), dealer: dealer.clone() };
        completer.step(&asked).await.unwrap().expect("the first step");
        assert_eq!(causes(&ledger, &round), [0, 1]);

        if service_first {
            AbandonedRounds::new(ledger.clone(), dealer, Waits::default()).sweep().await;
            assert_eq!(causes(&ledger, &round), [0, 1, 1]);
        }
        let steps = api.skip_round(&Caller::ANYONE, &request).await.unwrap();
        assert_eq!(causes(&ledger, &round), [0, 1, 1]);
        let numbers: Vec<_> = steps.iter().map(|step| (step.step, step.state())).collect();
        assert_eq!(numbers, [(2, RoundState::Open), (3, RoundState::Settled)]);
        assert_eq!(api.skip_round(&Caller::ANYONE, &request).await.unwrap(), steps);
        drop((completer, api));
        ledger.close().await;
    }
}
