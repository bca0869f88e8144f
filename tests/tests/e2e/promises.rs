use motherlode_proto::{
    ledger::v1::SetExchangeRateRequest,
    round::v1::Stake,
    spin::v1::{GetGameRequest, GetGameResponse, GrantCampaignsRequest, Played, SpinRequest},
};
use motherlode_slots::{latest, latest_games};
use motherlode_tests::{Client, EUR, checked, config, free_round, next_choice, stake_on, start, start_fresh};
use std::collections::BTreeMap;
use tonic::Request;

const DEPOSIT: i64 = 1_000_000;

async fn collecting(client: &mut Client, bet: SpinRequest, figure: &str) -> Vec<Played> {
    let id = bet.request_id.clone();
    let mut request = Request::new(bet);
    request.metadata_mut().insert("motherlode-force", format!("carries {figure}").parse().unwrap());
    let mut played = vec![client.spin.spin(request).await.unwrap().into_inner().played.unwrap()];
    while let Some(choice) = next_choice(played.last().unwrap()) {
        let (round, step) = (played[0].round_id.clone(), format!("{id}.{}", played.len()));
        played.push(client.choose(&step, &round, choice, None).await.unwrap());
    }
    played
}

async fn described(client: &mut Client, game: &str) -> GetGameResponse {
    let request = GetGameRequest { game: game.into(), ..GetGameRequest::default() };
    client.spin.get_game(request).await.unwrap().into_inner()
}

fn won(played: &[Played]) -> u64 {
    played.last().unwrap().outcome.as_ref().unwrap().round_win_minor
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_d2_pl_36_the_liability_of_free_rounds_covers_collections_of_higher_coin_values() {
    let game = latest("dwarf-mine").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let dora = client.fund("dora", EUR, DEPOSIT).await;
    let mut colours = BTreeMap::new();
    for colour in ["green", "yellow", "blue"] {
        for has in 1..=4 {
            if colours.get(colour).copied().unwrap_or(0) >= has {
                continue;
            }
            let bet = stake_on(game, &format!("{colour}-{has}"), &dora, "2".parse().unwrap());
            collecting(&mut client, bet, &format!("{colour}={has}")).await;
            let player = server.player("dora");
            let figures = player.collection("dwarf-mine", EUR).cloned().unwrap_or_default();
            for of in ["green", "yellow", "blue"] {
                colours.insert(of, figures.get(of).copied().unwrap_or(0));
            }
        }
    }
    let request = GrantCampaignsRequest {
        request_id: "grant".into(),
        operator_id: dora.operator_id.clone(),
        player_ids: vec!["dora".into()],
        currency_code: EUR.into(),
        campaign_id: "small".into(),
        game: "dwarf-mine".into(),
        stake: Some(Stake { coin_value: "0.004".into(), lines: 1, coins_per_line: 25, buy_feature: false }),
        rounds: 3,
        expire_time: Some(prost_types::Timestamp { seconds: 2_000_000_000, nanos: 0 }),
    };
    let liability = client.spin.grant_campaigns(request).await.unwrap().into_inner().liability.unwrap();
    let mut all = 0;
    for (number, colour) in ["green", "yellow", "blue"].into_iter().enumerate() {
        let bet = free_round(game, &format!("free-{number}"), &dora, "small");
        let figure = match server.player("dora").collection("dwarf-mine", EUR).and_then(|of| of.get(colour).copied()) {
            Some(4) => format!("{colour}=0"),
            has => format!("{colour}={}", has.unwrap_or(0) + 1),
        };
        let played = collecting(&mut client, bet, &figure).await;
        all += won(&played);
    }
    let number = |text: &str| text.parse::<f64>().unwrap();
    let (highest, expected, long_run) = (
        number(&liability.highest_minor),
        number(&liability.expected_minor),
        number(&liability.expected_long_run_minor),
    );
    assert!((long_run - 29.04).abs() < 0.02, "{liability:?}");
    assert!(all as f64 > 10.0 * long_run, "{all} of {liability:?}");
    assert!((all as f64) < highest && expected > 10.0 * long_run, "{all} of {liability:?}");
    assert_eq!(liability.exceeded_probability_at_most, "0");
    let told = described(&mut client, "dwarf-mine").await;
    let euro = told.currencies.iter().find(|of| of.currency_code == EUR).unwrap();
    assert_eq!(euro.coins[0].coin_value, "0.004");
    assert_eq!(3.0 * number(&euro.coins[0].win_up_to_minor), highest);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_d1_wf_04_every_game_states_the_highest_win_over_all_stakes() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    for (currency, rate) in [("SEK", "0.09"), ("JPY", "0.006")] {
        let rate = SetExchangeRateRequest {
            request_id: format!("rate-{currency}"),
            currency_code: currency.into(),
            eur_per_unit: rate.into(),
            source: "test".into(),
        };
        client.ledger.set_exchange_rate(rate).await.unwrap();
    }
    for game in latest_games() {
        let told = described(&mut client, game.name()).await;
        let top = told.win_up_to.clone().unwrap();
        let bets: f64 = top.bets.parse().unwrap();
        let coins_per_line = u64::from(game.info().limits.coins_per_line.1);
        for offer in &told.currencies {
            for coin in &offer.coins {
                let highest: f64 = coin.win_up_to_minor.parse().unwrap();
                let gambled: f64 = coin.win_up_to_gambled_minor.parse().unwrap();
                let bet = offer.bet_max_minor as f64 * coin.coin_value.parse::<f64>().unwrap()
                    / offer.coins.last().unwrap().coin_value.parse::<f64>().unwrap();
                assert!(highest <= (bets + 1.0) * bet + 1.0, "{} {coin:?}", game.name());
                assert!(gambled >= highest && coins_per_line > 0, "{} {coin:?}", game.name());
                let has_rate = [EUR, "SEK", "JPY"].contains(&offer.currency_code.as_str());
                if has_rate && game.info().doubles_max > 0 && highest < 1_000_000.0 {
                    assert!(gambled > highest, "{} {} {coin:?}", game.name(), offer.currency_code);
                }
            }
        }
        assert_eq!(top.gambled_bets.is_empty(), game.info().doubles_max == 0, "{}", game.name());
        assert_eq!(top.currency_code.is_empty(), game.info().collection_needs == 0, "{}", game.name());
        assert!(!told.max_win_probability.chars().all(|digit| "0.".contains(digit)), "{}", told.max_win_probability);
    }
    let mine = described(&mut client, "dwarf-mine").await.win_up_to.unwrap();
    assert_eq!((&*mine.currency_code, &*mine.coin_value), ("SEK", "0.004"));
    assert!(mine.bets.parse::<u64>().unwrap() > 4_000 * 20_000, "{mine:?}");
    for name in ["bewitched", "neptune"] {
        assert_eq!(described(&mut client, name).await.win_up_to.unwrap().lines, 1, "{name}");
    }
    let witch = described(&mut client, "witch-feature").await;
    assert_eq!(witch.win_up_to.unwrap().bets, "50869");
    let fact = |key: &str| witch.facts.iter().find(|fact| fact.key == key).unwrap().value.clone();
    assert_eq!((fact("unlock_spins"), fact("unlock_cost_bets")), ("160.3".into(), "48.8".into()));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_d2_gambles_of_free_rounds_are_in_the_liability() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    client.fund("gina", EUR, DEPOSIT).await;
    for game in latest_games() {
        let limits = &game.info().limits;
        let stake = Stake {
            coin_value: "0.1".into(),
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        let request = GrantCampaignsRequest {
            request_id: format!("grant-{}", game.name()),
            operator_id: "demo".into(),
            player_ids: vec!["gina".into()],
            currency_code: EUR.into(),
            campaign_id: game.name().into(),
            game: game.name().into(),
            stake: Some(stake),
            rounds: 2,
            expire_time: Some(prost_types::Timestamp { seconds: 2_000_000_000, nanos: 0 }),
        };
        let account = motherlode_tests::account("gina", EUR);
        let request = GrantCampaignsRequest { operator_id: account.operator_id.clone(), ..request };
        let liability = client.spin.grant_campaigns(request).await.unwrap().into_inner().liability.unwrap();
        let told = described(&mut client, game.name()).await;
        let euro = told.currencies.iter().find(|of| of.currency_code == EUR).unwrap();
        let coin = euro.coins.iter().find(|of| of.coin_value == "0.1").unwrap();
        let [highest, most, gambled] = [&liability.highest_minor, &coin.win_up_to_minor, &coin.win_up_to_gambled_minor]
            .map(|text| text.parse::<u128>().unwrap());
        if game.info().doubles_max > 0 && game.info().limits.coins_per_line.1 == 1 {
            assert_eq!(highest, 2 * gambled, "{}", game.name());
        }
        assert_eq!(liability.highest_says.contains("the gamble is included"), game.info().doubles_max > 0);
        assert!(
            !told.win_up_to.as_ref().unwrap().says.contains("gamble"),
            "a win is stated with and without the gamble"
        );
        assert_eq!(liability.exceeded_probability_at_most == "0", !told.win_up_to.unwrap().unlimited);
        assert!(highest > 0 && gambled >= most);
        let expected = |text: &str| text.parse::<f64>().unwrap();
        assert!(expected(&liability.expected_minor) >= expected(&liability.expected_long_run_minor) - 0.001);
        if game.carries().keys.is_empty() {
            assert!(expected(&liability.expected_minor) - expected(&liability.expected_long_run_minor) < 0.001);
        }
    }
    server.stop().await.unwrap();
}
