use motherlode_proto::{
    ledger::v1::SetExchangeRateRequest,
    round::v1::RoundState,
    spin::v1::{AutospinRequest, AutospinStop, SpinRequest},
};
use motherlode_runtime::{Config, config::Rules};
use motherlode_slots::{game, latest};
use motherlode_tests::{
    Client, EUR, Force, Server, campaign, checked, config, free_round, next_choice, play, reason, smallest, stake_on,
    start_on,
};
use std::path::Path;
use tonic::Code;

const DEPOSIT: i64 = 1_000_000;
const OLD: &str = "1.0";

fn enabled(data: &Path, names: &[&str]) -> Config {
    let rules = Rules { superseded_enabled: names.iter().map(|name| (*name).to_owned()).collect() };
    Config { rules, ..config(data) }
}

async fn again(config: &Config) -> (Server, Client) {
    let server = start_on(config, motherlode_server::open_stores(config).unwrap()).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

fn of_old(bet: SpinRequest) -> SpinRequest {
    SpinRequest { rules_version: OLD.into(), ..bet }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_d3_pl_41_a_superseded_version_takes_no_new_bets_and_finishes_what_it_has() {
    let neptune = latest("neptune").unwrap();
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = again(&enabled(data.path(), &["neptune 1.0"])).await;
    let nemo = client.fund("nemo", EUR, DEPOSIT).await;
    let bet = |id: &str| of_old(stake_on(neptune, id, &nemo, smallest(neptune)));
    let first = client.spin(bet("first"), Some(Force::Loss)).await.unwrap();
    let open = client.spin(bet("open"), Some(Force::Pick)).await.unwrap();
    server.stop().await.unwrap();

    let (server, mut client) = again(&config(data.path())).await;
    assert_eq!(client.spin(bet("first"), None).await.unwrap().round_id, first.round_id);
    let mut last = open;
    for step in 1.. {
        let Some(choice) = next_choice(&last) else { break };
        last = client.choose(&format!("open.{step}"), &last.round_id, choice, None).await.unwrap();
    }
    assert_eq!(last.state(), RoundState::Settled);
    let ends = server.ends();
    let refused = client.spin(bet("new"), None).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, "RULES_VERSION_SUPERSEDED"));
    let series = AutospinRequest {
        request_id: "series".into(),
        account: Some(nemo.clone()),
        game: "neptune".into(),
        rules_version: OLD.into(),
        stake: bet("x").stake,
        spins: 3,
        ..AutospinRequest::default()
    };
    let refused = match client.autospin(series, None).await {
        Err(refused) => reason(&refused),
        Ok(mut answers) => {
            let answer = answers.message().await.unwrap().unwrap();
            assert_eq!((answer.stop(), answer.played), (AutospinStop::Refused, None));
            answer.refusal.unwrap().message
        }
    };
    assert!(refused.contains("SUPERSEDED") || refused.contains("which supersedes it"), "{refused}");
    assert_eq!(server.ends(), ends, "the refused bet wrote no commit");
    client.spin.grant_campaign(campaign(neptune, "free", &nemo, 2)).await.unwrap();
    let free = of_old(free_round(neptune, "free-1", &nemo, "free"));
    client.play_out(free).await.unwrap();
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_d3_dm_14_an_older_version_gives_no_second_gift() {
    let (newest, old) = (latest("dwarf-mine").unwrap(), game("dwarf-mine", OLD).unwrap());
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = again(&enabled(data.path(), &["dwarf-mine 1.0"])).await;
    for (currency, rate) in [("SEK", "0.09"), ("USD", "0.9")] {
        let rate = SetExchangeRateRequest {
            request_id: format!("rate-{currency}"),
            currency_code: currency.into(),
            eur_per_unit: rate.into(),
            source: "test".into(),
        };
        client.ledger.set_exchange_rate(rate).await.unwrap();
    }
    let [euro, krona, dollar] = [
        client.fund("dora", EUR, DEPOSIT).await,
        client.fund("dora", "SEK", DEPOSIT).await,
        client.fund("dora", "USD", DEPOSIT).await,
    ];
    let gifted = |server: &Server, scope: &str| {
        let player = server.player("dora");
        player.collection("dwarf-mine", scope).and_then(|of| of.get("red_gifted").copied()).unwrap_or(0)
    };
    let coin = smallest(old);
    play(&mut client, old, of_old(stake_on(newest, "euro", &euro, coin)), 1).await;
    assert_eq!(gifted(&server, EUR), 3);
    play(&mut client, old, of_old(stake_on(newest, "krona", &krona, coin)), 1).await;
    play(&mut client, newest, stake_on(newest, "dollar", &dollar, coin), 1).await;
    play(&mut client, old, of_old(stake_on(newest, "krona-2", &krona, coin)), 1).await;
    assert_eq!((gifted(&server, "SEK"), gifted(&server, "USD")), (0, 0));
    server.stop().await.unwrap();
    checked(data.path());
}

#[test]
fn mf_d3_pl_41_only_superseded_versions_can_be_enabled() {
    let data = tempfile::tempdir().unwrap();
    for name in ["neptune", "neptune 9.9", "poker 1.0", "", "neptune 1.0.1"] {
        let refused = motherlode_server::check(&enabled(data.path(), &[name]));
        assert!(refused.is_err_and(|error| error.to_string().starts_with("rules: ")), "{name}");
    }
    assert!(motherlode_server::check(&enabled(data.path(), &["neptune 1.0", "dwarf-mine 1.0"])).is_ok());
    let text = "[rules]\nsuperseded_enabled = [\"neptune 1.0\"]";
    assert_eq!(Config::parse(text).unwrap().rules.superseded_enabled, ["neptune 1.0"]);
    assert!(Config::parse("[rules]\nenabled = []").is_err());
}
