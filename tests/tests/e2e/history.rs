use motherlode_ledger::Options;
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::{GetRoundRequest, ListRoundsRequest, VoidRoundRequest},
    report::v1::{GetRoundPageRequest, report_service_client::ReportServiceClient},
    round::v1::{Account, Awaiting, Round, RoundState, Witch},
    spin::v1::SpinRequest,
};
use motherlode_server::open_stores;
use motherlode_slots::{latest, latest_games};
use motherlode_tests::{Client, EUR, Force, bet, config, next_choice, play, smallest, stake_on, start, start_with};

const DEPOSIT: i64 = 1_000_000_000;
const NOW_MS: i64 = 1_760_000_000_123;

async fn page(client: &mut Client, account: &Account, game: &str, token: &str) -> (Vec<Round>, String) {
    let request = ListRoundsRequest {
        account: Some(account.clone()),
        game: game.to_owned(),
        page_size: 7,
        page_token: token.to_owned(),
    };
    let page = client.ledger.list_rounds(request).await.unwrap().into_inner();
    (page.rounds, page.next_page_token)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_05_pages_of_a_games_history_neither_repeat_nor_skip_whatever_is_played_meanwhile() {
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("hana", EUR, DEPOSIT).await;
    let mut played = vec![];
    for number in 0..30 {
        for game in latest_games().iter().copied() {
            let bet = stake_on(game, &format!("{}-{number}", game.name()), &account, smallest(game));
            let steps = play(&mut client, game, bet, number).await;
            if game.name() == "neptune" {
                played.insert(0, steps[0].round_id.clone());
            }
        }
    }
    let (mut listed, mut token, mut pages) = (vec![], String::new(), 0);
    loop {
        let (rounds, next) = page(&mut client, &account, "neptune", &token).await;
        let (again, same) = page(&mut client, &account, "neptune", &token).await;
        if pages > 0 {
            assert_eq!((&rounds, &next), (&again, &same), "a page stays the same while rounds are added");
        }
        listed.extend(rounds.into_iter().map(|round| round.round_id));
        pages += 1;
        if next.is_empty() {
            break;
        }
        token = next;
        for game in latest_games().iter().copied() {
            let bet = stake_on(game, &format!("{}-more-{pages}", game.name()), &account, smallest(game));
            play(&mut client, game, bet, 3).await;
        }
        for round_id in [listed.last().unwrap().clone(), played[played.len() - pages].clone()] {
            let (reason, actor) = ("reel 3 stuck".to_owned(), "ann".to_owned());
            let request_id = format!("void-{}", round_id.replace('/', "-"));
            let void = VoidRoundRequest { request_id, round_id, reason, actor };
            client.ledger.void_round(void).await.unwrap();
        }
        if pages == 2 {
            server.stop().await.unwrap();
            server = start(data.path()).await;
            client = Client::connect(server.address()).await;
        }
    }
    assert!(pages >= 5, "{pages}");
    assert_eq!(listed, played);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_03_pl_05_a_games_rounds_are_found_behind_a_thousand_of_another() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let disk = motherlode_testkit::sim::SimDisk::new();
    let mut server = start_with(&config, motherlode_tests::store_on(&disk), Options::default()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("hana", EUR, DEPOSIT).await;
    let (rare, common) = (latest("neptune").unwrap(), latest("witch-feature").unwrap());
    let mut expected = vec![];
    for number in 0..12 {
        let bet = stake_on(rare, &format!("rare-{number}"), &account, smallest(rare));
        expected.insert(0, play(&mut client, rare, bet, number).await[0].round_id.clone());
    }
    let mut last = String::new();
    for number in 0..1_010 {
        let bet = stake_on(common, &format!("common-{number}"), &account, smallest(common));
        last = play(&mut client, common, bet, number).await[0].round_id.clone();
    }
    for restarted in [false, true] {
        let (rounds, token) = page(&mut client, &account, "neptune", "").await;
        let first: Vec<_> = rounds.into_iter().map(|round| round.round_id).collect();
        assert_eq!(first, expected[..7], "the first page");
        let (rounds, end) = page(&mut client, &account, "neptune", &token).await;
        let second: Vec<_> = rounds.into_iter().map(|round| round.round_id).collect();
        assert_eq!((second.as_slice(), end.as_str()), (&expected[7..], ""));
        let (rounds, _) = page(&mut client, &account, "", "").await;
        assert_eq!(
            (rounds.len(), rounds[0].round_id.as_str()),
            (7, last.as_str()),
            "without a filter the latest rounds of all games are listed"
        );
        for round_id in [&expected[11], &expected[0], &last] {
            let request = GetRoundRequest { round_id: round_id.clone() };
            let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
            assert_eq!(round.round_id, *round_id);
        }
        if !restarted {
            server.stop().await.unwrap();
            server = start_with(&config, motherlode_tests::store_on(&disk.after_kill()), Options::default()).await;
            client = Client::connect(server.address()).await;
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_19_pl_21_a_round_of_every_game_keeps_everything_that_it_must() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let options = Options::on_clock(|| NOW_MS);
    let server = start_with(&config, open_stores(&config).unwrap(), options).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("hana", EUR, DEPOSIT).await;
    let mut gambles = 0;
    for game in latest_games().iter().copied() {
        for number in 0..40 {
            let before = client.balance(&account).await;
            let bet = stake_on(game, &format!("{}-{number}", game.name()), &account, smallest(game));
            let steps = play(&mut client, game, bet.clone(), number).await;
            let request = GetRoundRequest { round_id: steps[0].round_id.clone() };
            let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
            let (first, last) = (&steps[0], steps.last().unwrap());

            let time = |of: &Option<prost_types::Timestamp>| of.as_ref().map(|at| (at.seconds, at.nanos));
            assert_eq!(time(&round.start_time), Some((1_760_000_000, 123_000_000)));
            assert_eq!((&round.account, round.game.as_str()), (&bet.account, game.name()));
            assert_eq!(
                (round.rules_version.as_str(), round.model_hash.as_str()),
                (game.rules_version(), hex(&game.model_hash()).as_str())
            );
            assert_eq!((&round.stake, &round.bet), (&bet.stake, &first.bet));
            let minor = |of: &Option<motherlode_proto::round::v1::Money>| of.as_ref().unwrap().amount_minor;
            assert_eq!(minor(&round.balance_before), before);
            assert_eq!(minor(&round.balance_after), client.balance(&account).await);
            assert_eq!(minor(&round.balance_after), before - minor(&round.bet) + minor(&round.win));
            assert_eq!((round.state(), round.awaiting(), &round.void), (RoundState::Settled, Awaiting::Nothing, &None));
            assert_eq!(!round.contribution_eur.is_empty(), game.info().jackpot);
            assert_eq!((round.exchange_rate.as_str(), &round.win), ("1", &last.win));

            assert_eq!(round.steps.len(), steps.len());
            for ((kept, answered), number) in round.steps.iter().zip(&steps).zip(1..) {
                assert_eq!((kept.number, kept.position, answered.step), (number, answered.position, number));
                assert_eq!((kept.seed.len(), time(&kept.time)), (32, time(&round.start_time)));
                let mut outcome = kept.outcome.clone().unwrap();
                if number < last.step {
                    outcome.unopened.clear();
                }
                assert_eq!((Some(&outcome), &kept.win), (answered.outcome.as_ref(), &answered.win));
                let earlier =
                    (number as usize).checked_sub(2).map(|earlier| minor(&round.steps[earlier].balance_after));
                assert_eq!(minor(&kept.balance_before), earlier.unwrap_or(before));
                assert_eq!(kept.balance_after, answered.balance);
                assert!(kept.choice.as_ref().is_some_and(|choice| choice.kind.is_some()));
                gambles += usize::from(kept.outcome.as_ref().unwrap().card.is_some());
            }
        }
    }
    assert!(gambles > 0, "the rounds include gambles");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_05_pl_19_a_round_names_the_witch_as_she_was_then() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("hana", EUR, DEPOSIT).await;
    let witches = [Witch::White, Witch::Unspecified, Witch::Dark, Witch::Unspecified];
    for (number, witch) in witches.into_iter().enumerate() {
        let bet = SpinRequest { witch: witch.into(), ..bet(&format!("w{number}"), &account, "0.10") };
        client.play_out(bet).await.unwrap();
    }
    for (number, witch) in [(1, Witch::White), (2, Witch::White), (3, Witch::Dark), (4, Witch::Dark)] {
        let round = get(&mut client, &format!("acme/hana/{number}")).await;
        assert_eq!(round.witch(), witch, "{number}");
        let page = page_of(&server, &round.round_id).await;
        let name = if witch == Witch::White { "the white witch" } else { "the dark witch" };
        assert!(page.contains(name), "{page}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn np_12_pl_19_unopened_objects_are_shown_once_the_round_is_over() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("hana", EUR, DEPOSIT).await;
    let game = motherlode_slots::latest("neptune").unwrap();
    let mut pages = 0;
    for number in 0..2 {
        let bet = stake_on(game, &format!("n{number}"), &account, smallest(game));
        let mut played = client.spin(bet, Some(Force::Pick)).await.unwrap();
        let mut step = 0;
        while let Some(kind) = next_choice(&played) {
            let open = get(&mut client, &played.round_id).await;
            assert_eq!(open.state(), RoundState::Open);
            let answered =
                |round: &Round| round.steps.iter().any(|step| !step.outcome.as_ref().unwrap().unopened.is_empty());
            assert!(!answered(&open) && open.steps.iter().all(|step| step.seed.is_empty()), "{open:?}");
            assert!(!page_of(&server, &played.round_id).await.contains("unopened"));
            step += 1;
            played = client.choose(&format!("n{number}.{step}"), &played.round_id, kind, None).await.unwrap();
        }
        let round = get(&mut client, &played.round_id).await;
        let outcomes = round.steps.iter().map(|step| step.outcome.as_ref().unwrap());
        for outcome in outcomes.filter(|outcome| !outcome.reveals.is_empty()) {
            pages += 1;
            let numbers = outcome.reveals.iter().chain(&outcome.unopened).map(|of| of.number);
            let numbers: std::collections::BTreeSet<_> = numbers.collect();
            assert_eq!(numbers.len(), usize::from(game.info().picks_of), "{outcome:?}");
            let page = page_of(&server, &round.round_id).await;
            assert!(page.contains("Unopened objects:"), "{page}");
        }
    }
    assert_eq!(pages, 2);
    server.stop().await.unwrap();
}

async fn get(client: &mut Client, round_id: &str) -> Round {
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
}

async fn page_of(server: &motherlode_tests::Server, round_id: &str) -> String {
    let url = format!("http://{}", server.address());
    let mut reports = ReportServiceClient::connect(url).await.unwrap();
    let request = GetRoundPageRequest { round_id: round_id.to_owned() };
    String::from_utf8(reports.get_round_page(request).await.unwrap().into_inner().content).unwrap()
}
