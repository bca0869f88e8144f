use motherlode_ledger::offer::offered;
use motherlode_proto::{
    jackpot::v1::WatchCountersRequest,
    ledger::v1::{OpenAccountRequest, SetExchangeRateRequest, WithdrawRequest},
    spin::v1::{GetGameRequest, GetGameResponse},
};
use motherlode_runtime::{Config, config::Rules};
use motherlode_slots::latest_games;
use motherlode_state::Currency;
use motherlode_tests::{Client, account, config, reason, stake_on, start, start_fresh, start_on};
use tonic::{Code, Status};
use tonic_types::StatusExt;

async fn described(client: &mut Client, game: &str, currency_code: &str) -> Result<GetGameResponse, Status> {
    let request =
        GetGameRequest { game: game.to_owned(), currency_code: currency_code.to_owned(), ..GetGameRequest::default() };
    Ok(client.spin.get_game(request).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_35_pl_13_every_game_says_what_it_offers_in_every_currency_and_takes_it() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    for game in latest_games() {
        let all = described(&mut client, game.name(), "").await.unwrap();
        assert_eq!(all.currencies.len(), 16);
        for offer in all.currencies.iter().filter(|offer| !["EUR", "XTS"].contains(&&*offer.currency_code)) {
            let code = offer.currency_code.as_str();
            let one = described(&mut client, game.name(), code).await.unwrap();
            assert_eq!(one.currencies, std::slice::from_ref(offer));
            assert_eq!(one.coin_values, offer.coins.iter().map(|coin| coin.coin_value.clone()).collect::<Vec<_>>());
            for coin in &offer.coins {
                let published: f64 = all.rtp.parse().unwrap();
                let cash: f64 = coin.rtp_cash.parse().unwrap();
                assert!((cash - published).abs() < 0.000_5, "DM-19: {code} {coin:?}");
                assert_eq!(coin.rounds_wins, coin.rtp_cash != all.rtp, "{code} {coin:?}");
            }
            let rate = SetExchangeRateRequest {
                request_id: format!("{}-{code}", game.name()),
                currency_code: code.to_owned(),
                eur_per_unit: "0.01".to_owned(),
                source: "test".to_owned(),
            };
            client.ledger.set_exchange_rate(rate).await.unwrap();
            let player = client.fund(&format!("{}-{code}", game.name()), code, 1_000_000_000).await;
            let coin = offer.default_coin_value.parse().unwrap();
            let bet =
                client.spin(stake_on(*game, "default", &player, coin), None).await.unwrap().bet.unwrap().amount_minor;
            assert_eq!(bet, offer.bet_default_minor, "DM-25: {} in {code}", game.name());
            assert!(offer.bet_min_minor <= bet && bet <= offer.bet_max_minor);
        }
    }
    server.stop().await.unwrap();
}

#[test]
fn pl_35_every_currency_of_iso_4217_can_be_enabled() {
    let neptune = motherlode_slots::latest("neptune").unwrap();
    let mut enabled = 0;
    for code in Currency::all().filter(|currency| currency.is_real()).map(Currency::code) {
        let text = format!(
            "[currencies]\nenabled = [\"{code}\"]\n\
             [currencies.ladders.neptune]\n{code} = {{ coin_values = \"1 2\", default = \"2\" }}"
        );
        let ladders = offered(&Config::parse(&text).unwrap().currencies).unwrap();
        assert!(ladders.offers(neptune, code, 1_000_000) && !ladders.offers(neptune, code, 10_000), "{code}");
        assert_eq!(ladders.currencies().filter(|offered| *offered != "XTS").collect::<Vec<_>>(), [code]);
        enabled += 1;
    }
    assert!(enabled > 150, "{enabled} currencies");
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_19_a_coin_value_that_returns_less_in_cash_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let rules = Rules { superseded_enabled: vec!["dwarf-mine 1.0".into()] };
    let server = start_fresh(&Config { rules, ..config(data.path()) }).await;
    let mut client = Client::connect(server.address()).await;
    let yuki = client.fund("yuki", "JPY", 1_000).await;
    for version in ["1.0", "1.0.1"] {
        let game = motherlode_slots::game("dwarf-mine", version).unwrap();
        let mut bet = stake_on(game, "x", &yuki, "0.04".parse().unwrap());
        bet.rules_version = version.to_owned();
        let refused = client.spin(bet, None).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::InvalidArgument, "INVALID_STAKE"));
        let metadata = refused.get_details_error_info().unwrap().metadata;
        let offered: Vec<_> = metadata["coin_values"].split(' ').collect();
        assert!(offered.contains(&"0.4") && !offered.contains(&"0.04"), "{metadata:?}");
        assert_eq!(metadata["currency_code"], "JPY");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_35_a_currency_that_is_not_enabled_takes_nothing_new_and_gives_back_what_it_has() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let bob = client.fund("bob", "GBP", 500).await;
    server.stop().await.unwrap();

    let eur_only = Config::parse("[currencies]\nenabled = [\"EUR\"]").unwrap().currencies;
    let config = Config { currencies: eur_only, ..config(data.path()) };
    let stores = motherlode_server::open_stores(&config).unwrap();
    let server = start_on(&config, stores).await;
    let mut client = Client::connect(server.address()).await;
    let neptune = motherlode_slots::latest("neptune").unwrap();
    let open = |player: &str| OpenAccountRequest {
        request_id: "open-account".to_owned(),
        account: Some(account(player, "GBP")),
    };
    let watched = WatchCountersRequest {
        pool_id: "bewitched".to_owned(),
        currency_code: "GBP".to_owned(),
        ..WatchCountersRequest::default()
    };
    let refused = [
        client.spin(stake_on(neptune, "x", &bob, "0.01".parse().unwrap()), None).await.unwrap_err(),
        client.ledger.open_account(open("carol")).await.unwrap_err(),
        described(&mut client, "neptune", "GBP").await.unwrap_err(),
        client.jackpot.watch_counters(watched).await.unwrap_err(),
    ];
    for status in refused {
        assert_eq!((status.code(), reason(&status).as_str()), (Code::FailedPrecondition, "CURRENCY_NOT_OFFERED"));
    }
    let all = WithdrawRequest { request_id: "out".to_owned(), account: Some(bob.clone()), amount_minor: 500 };
    client.ledger.withdraw(all).await.unwrap();
    assert_eq!(client.balance(&bob).await, 0);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_21_the_jackpots_returns_are_of_the_coin_values_of_the_currency() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let returns = async |client: &mut Client, code: &str| {
        let returns = described(client, "bewitched", code).await.unwrap().jackpot_returns.unwrap();
        let coins = returns.coins.into_iter().map(|coin| (coin.coin_value, coin.rtp, coin.rtp_now));
        (returns.currency_code, coins.collect::<Vec<_>>())
    };
    let rate = |request_id: &str, currency_code: &str, eur_per_unit: &str| SetExchangeRateRequest {
        request_id: request_id.to_owned(),
        currency_code: currency_code.to_owned(),
        eur_per_unit: eur_per_unit.to_owned(),
        source: "test".to_owned(),
    };
    let same = |coin: &str, rtp: &str| (coin.to_owned(), rtp.to_owned(), rtp.to_owned());
    assert_eq!(
        returns(&mut client, "JPY").await,
        ("JPY".to_owned(), vec![]),
        "without a rate no coin value has a return"
    );
    client.ledger.set_exchange_rate(rate("a", "JPY", "0.006")).await.unwrap();
    let (code, jpy) = returns(&mut client, "JPY").await;
    assert_eq!((code.as_str(), jpy.len()), ("JPY", 10));
    assert_eq!((&jpy[0], &jpy[9]), (&same("1", "0.94600300"), &same("1000", "0.94900000")));
    client.ledger.set_exchange_rate(rate("b", "JPY", "0.011")).await.unwrap();
    let (_, jpy) = returns(&mut client, "JPY").await;
    assert_eq!(jpy.last(), Some(&same("500", "0.94875000")), "the coin of 1000 JPY, worth 11 EUR, has no return");
    for asked in ["", "EUR"] {
        let (code, eur) = returns(&mut client, asked).await;
        assert_eq!((code.as_str(), eur.len(), eur.last()), ("EUR", 10, Some(&same("10", "0.95100000"))));
    }
    let (code, play) = returns(&mut client, "XTS").await;
    assert_eq!((code.as_str(), play.last()), ("XTS", Some(&same("10", "0.941000"))));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_13_the_counters_of_a_currency_are_those_of_its_coin_values() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let request = WatchCountersRequest {
        pool_id: "bewitched".to_owned(),
        currency_code: "JPY".to_owned(),
        ..WatchCountersRequest::default()
    };
    let counters = client.jackpot.watch_counters(request).await.unwrap().into_inner().message().await.unwrap().unwrap();
    let of = |coin: &str| counters.counters.iter().find(|of| of.coin_value == coin).map(|of| of.figure.clone());
    assert_eq!((of("1").as_deref(), of("1000").as_deref()), (Some("2000.00"), Some("2000000.00")));
    assert_eq!(of("0.01"), None);
    server.stop().await.unwrap();
}

#[test]
fn dm_19_a_start_is_refused_with_the_reason() {
    let data = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("[currencies]\nenabled = [\"XAU\"]", "currencies: XAU is not an ISO 4217 currency with a minor unit"),
        ("[currencies]\nenabled = [\"CLF\"]", "currencies: no game has a coin ladder in CLF"),
        (
            "[currencies.ladders.dwarf-mine]\nJPY = { coin_values = \"0.04\", default = \"0.04\" }",
            "currencies: dwarf-mine in JPY, coin value 0.040000: the return with rounded wins, 0.9467,",
        ),
    ] {
        let currencies = Config::parse(text).unwrap().currencies;
        let refused = motherlode_server::check(&Config { currencies, ..config(data.path()) }).unwrap_err();
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
}
