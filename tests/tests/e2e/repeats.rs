use motherlode_proto::{
    jackpot::v1::SuspendPoolRequest,
    ledger::v1::{
        DepositRequest, OpenAccountRequest, SetExchangeRateRequest, SetSwitchRequest, Switch, VoidRoundRequest,
        WithdrawRequest, set_switch_request::State,
    },
    round::v1::{Account, Stake},
    spin::v1::{
        AutospinRequest, AutospinResponse, CancelCampaignRequest, CloseRoundRequest, Played, SkipRoundRequest,
        SpinRequest,
    },
};
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_slots::latest;
use motherlode_tests::{Client, account, campaign, config, free_round, next_choice, reason, stake_on, start, start_on};
use tonic::{Response, Status};

const GBP: &str = "GBP";

#[derive(Default)]
struct Answers(Vec<(&'static str, Result<String, Status>)>);

impl Answers {
    fn answer<T: std::fmt::Debug>(&mut self, call: &'static str, answer: Result<Response<T>, Status>) {
        self.0.push((call, answer.map(|answer| format!("{:?}", answer.into_inner()))));
    }

    fn played(&mut self, call: &'static str, played: Result<Played, Status>) -> Option<Played> {
        self.0.push((call, played.as_ref().map(|played| format!("{played:?}")).map_err(Clone::clone)));
        played.ok()
    }

    async fn wallet(&mut self, client: &mut Client, player: &str) -> Account {
        let account = account(player, GBP);
        let open = OpenAccountRequest { request_id: "open".to_owned(), account: Some(account.clone()) };
        self.answer("OpenAccount", client.ledger.open_account(open).await);
        let (request_id, of) = ("in".to_owned(), Some(account.clone()));
        let deposit = DepositRequest { request_id, account: of.clone(), amount_minor: 1_000_000 };
        self.answer("Deposit", client.ledger.deposit(deposit).await);
        let withdraw = WithdrawRequest { request_id: "out".to_owned(), account: of, amount_minor: 1 };
        self.answer("Withdraw", client.ledger.withdraw(withdraw).await);
        account
    }

    async fn rounds(&mut self, client: &mut Client) {
        let neptune = latest("neptune").unwrap();
        let ann = self.wallet(client, "ann").await;
        let plain = stake_on(neptune, "plain", &ann, "0.02".parse().unwrap());
        let plain = self.played("Spin", client.spin(plain, None).await);
        for grant in [campaign(neptune, "spring", &ann, 2), campaign(neptune, "autumn", &ann, 2)] {
            self.answer("GrantCampaign", client.spin.grant_campaign(grant).await);
        }
        self.played("Spin, free", client.spin(free_round(neptune, "free", &ann, "spring"), None).await);
        let cancel = CancelCampaignRequest {
            request_id: "cancel".to_owned(),
            account: Some(ann.clone()),
            campaign_id: "autumn".to_owned(),
            reason: "a typo".to_owned(),
            actor: String::new(),
        };
        self.answer("CancelCampaign", client.spin.cancel_campaign(cancel).await);
        if let Some(Played { round_id, .. }) = plain {
            let (request_id, reason) = ("void".to_owned(), "reel 3 stuck".to_owned());
            let void = VoidRoundRequest { request_id, round_id, reason, actor: String::new() };
            self.answer("VoidRound", client.ledger.void_round(void).await);
        }
        self.series(client, &ann).await;
    }

    async fn series(&mut self, client: &mut Client, account: &Account) {
        let elves = latest("mystery-elves").unwrap();
        let SpinRequest { account, game, stake, .. } = stake_on(elves, "", account, "0.02".parse().unwrap());
        let request_id = "series".to_owned();
        let series = AutospinRequest { request_id, account, game, stake, spins: 3, ..AutospinRequest::default() };
        let answers = match client.autospin(series, None).await {
            Err(refused) => Err(refused),
            Ok(mut stream) => {
                let mut answers: Vec<AutospinResponse> = vec![];
                while let Ok(Some(answer)) = stream.message().await {
                    answers.push(answer);
                }
                Ok(Response::new(answers))
            }
        };
        self.answer("Autospin", answers);
    }

    async fn bought(&mut self, client: &mut Client) {
        let elves = latest("mystery-elves").unwrap();
        for player in ["chooses", "skips", "closes"] {
            let account = self.wallet(client, player).await;
            let buy = stake_on(elves, "buy", &account, "0.02".parse().unwrap());
            let stake = buy.stake.clone().map(|stake| Stake { buy_feature: true, ..stake });
            let Some(played) = self.played("Spin, bought", client.spin(SpinRequest { stake, ..buy }, None).await)
            else {
                continue;
            };
            let (round_id, request_id) = (played.round_id.clone(), "go-on".to_owned());
            match player {
                "chooses" => {
                    let kind = next_choice(&played).unwrap();
                    self.played("Choose", client.choose(&request_id, &round_id, kind, None).await);
                }
                "skips" => {
                    let skip = SkipRoundRequest { request_id, round_id, ..SkipRoundRequest::default() };
                    self.answer("SkipRound", client.spin.skip_round(skip).await);
                }
                _ => {
                    let (reason, actor) = ("the player left".to_owned(), String::new());
                    let close = CloseRoundRequest { request_id, round_id, reason, actor };
                    self.answer("CloseRound", client.spin.close_round(close).await);
                }
            }
        }
    }

    async fn everything(client: &mut Client) -> Self {
        let mut asked = Self::default();
        let rate = SetExchangeRateRequest {
            request_id: "rate".to_owned(),
            currency_code: GBP.to_owned(),
            eur_per_unit: "1.15".to_owned(),
            source: "test".to_owned(),
        };
        asked.answer("SetExchangeRate", client.ledger.set_exchange_rate(rate).await);
        asked.rounds(client).await;
        asked.bought(client).await;
        let (request_id, reason) = ("off".to_owned(), "reel 3 stuck".to_owned());
        let switch = Some(Switch { game: "witch-feature".to_owned(), ..Switch::default() });
        let off = SetSwitchRequest { request_id, switch, state: State::Off.into(), reason, ..Default::default() };
        asked.answer("SetSwitch", client.ledger.set_switch(off).await);
        let (request_id, pool_id) = ("stop".to_owned(), "bewitched".to_owned());
        let stop = SuspendPoolRequest { request_id, pool_id, reason: "a test".to_owned(), actor: String::new() };
        asked.answer("SuspendPool", client.jackpot.suspend_pool(stop).await);
        asked
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_pl_35_a_repeated_request_is_answered_as_before_whatever_is_offered_now() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let before = Answers::everything(&mut client).await;
    for (call, answer) in &before.0 {
        assert!(answer.is_ok(), "{call}: {answer:?}");
    }
    let ends = server.ends();
    server.stop().await.unwrap();

    for taken in [
        "[currencies.ladders.neptune]\nGBP = { coin_values = \"0.5\", default = \"0.5\" }\n\
         [currencies.ladders.mystery-elves]\nGBP = { coin_values = \"0.5\", default = \"0.5\" }",
        "[currencies]\nenabled = [\"USD\"]\n[jurisdictions]\n\
         operators.acme = { limits = { autoplay = false, buy_feature = false, gamble = false } }",
    ] {
        let Config { currencies, jurisdictions, .. } = Config::parse(taken).unwrap();
        let config = Config { currencies, jurisdictions, ..config(data.path()) };
        let server = start_on(&config, open_stores(&config).unwrap()).await;
        let mut client = Client::connect(server.address()).await;
        let again = Answers::everything(&mut client).await;
        for ((call, before), (_, again)) in before.0.iter().zip(&again.0) {
            let again = again.as_ref().unwrap_or_else(|refused| panic!("{call}: {refused}"));
            assert_eq!(before.as_ref().unwrap(), again, "{call}");
        }
        assert_eq!(server.ends(), ends, "no commit was written");
        let ann = account("ann", GBP);
        let neptune = latest("neptune").unwrap();
        let refused = client.spin(stake_on(neptune, "new", &ann, "0.02".parse().unwrap()), None).await.unwrap_err();
        assert!(["INVALID_STAKE", "CURRENCY_NOT_OFFERED"].contains(&reason(&refused).as_str()), "{refused}");
        let refused = client.spin.grant_campaign(campaign(neptune, "winter", &ann, 2)).await.unwrap_err();
        assert!(["INVALID_STAKE", "CURRENCY_NOT_OFFERED"].contains(&reason(&refused).as_str()), "{refused}");
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_pl_08_a_series_goes_no_further_than_it_was_played_where_autoplay_is_no_longer_allowed() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let ann = client.fund("ann", "EUR", 1_000_000).await;
    let neptune = latest("neptune").unwrap();
    let SpinRequest { account, game, stake, .. } = stake_on(neptune, "", &ann, "0.01".parse().unwrap());
    let request_id = "series".to_owned();
    let series = AutospinRequest {
        request_id,
        account,
        game,
        stake,
        spins: 1_000,
        pause_ms: 60_000,
        ..AutospinRequest::default()
    };
    let mut stream = client.autospin(series.clone(), None).await.unwrap();
    let first = stream.message().await.unwrap().unwrap();
    drop(stream);
    server.stop().await.unwrap();

    let forbidden = Config::parse("[jurisdictions]\noperators.acme = { limits = { autoplay = false } }").unwrap();
    let config = Config { jurisdictions: forbidden.jurisdictions, ..config(data.path()) };
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    let mut client = Client::connect(server.address()).await;
    let started = server.player("ann").rounds_started;
    let mut stream = client.autospin(series.clone(), None).await.unwrap();
    assert_eq!(stream.message().await.unwrap().unwrap(), first);
    let last = stream.message().await.unwrap().unwrap();
    let why = last.refusal.expect("a refusal");
    assert!(String::from_utf8_lossy(&why.details[0].value).contains("AUTOPLAY_FORBIDDEN"), "{why:?}");
    assert_eq!(stream.message().await.unwrap(), None);
    let other = AutospinRequest { request_id: "other".to_owned(), ..series };
    let refused = client.autospin(other, None).await.map(|_| ()).unwrap_err();
    assert_eq!(reason(&refused), "AUTOPLAY_FORBIDDEN");
    assert_eq!(server.player("ann").rounds_started, started);
    server.stop().await.unwrap();
}
