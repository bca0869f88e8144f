use motherlode_proto::{
    ledger::v1::{GetRoundRequest, ListRoundsRequest, VoidRoundRequest},
    round::v1::{Account, Round, RoundState, Stake, Witch},
    spin::v1::{AutospinRequest, AutospinResponse, AutospinStop, SpinRequest},
};
use motherlode_slots::{Game, latest_games};
use motherlode_tests::{Client, EUR, Force, config, next_choice, start, start_fresh};

const DEPOSIT: i64 = 100_000_000;

fn spin(game: &dyn Game, id: &str, account: &Account) -> SpinRequest {
    let limits = &game.info().limits;
    let whole = limits.coin_values_micros.iter().filter(|micros| micros.is_multiple_of(10_000));
    let coin = whole.take_while(|micros| **micros < 1_000_000).last().unwrap();
    SpinRequest {
        request_id: id.to_owned(),
        account: Some(account.clone()),
        game: game.name().to_owned(),
        stake: Some(Stake {
            coin_value: format!("0.{:02}", coin / 10_000),
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        }),
        witch: if game.name() == "bewitched" { Witch::White.into() } else { Witch::Unspecified.into() },
        offer_double: game.info().doubles_max > 0,
        ..SpinRequest::default()
    }
}

fn series(game: &dyn Game, id: &str, account: &Account, spins: u32) -> AutospinRequest {
    let SpinRequest { account, game, stake, witch, .. } = spin(game, "", account);
    AutospinRequest { request_id: id.to_owned(), account, game, stake, witch, spins, ..AutospinRequest::default() }
}

async fn play(client: &mut Client, request: AutospinRequest) -> (Vec<AutospinResponse>, Vec<Round>) {
    let mut stream = client.autospin(request, None).await.unwrap();
    let (mut answers, mut rounds) = (vec![], vec![]);
    while let Some(answer) = stream.message().await.unwrap() {
        if let Some(played) = &answer.played {
            let mut last = played.clone();
            while let Some(choice) = next_choice(&last) {
                let id = format!("{}.{}", played.round_id.replace('/', "-"), last.step);
                last = client.choose(&id, &played.round_id, choice, None).await.unwrap();
            }
            rounds.push(last.round_id);
        }
        answers.push(answer);
    }
    let mut whole = vec![];
    for round_id in rounds {
        whole.push(client.ledger.get_round(GetRoundRequest { round_id }).await.unwrap().into_inner().round.unwrap());
    }
    (answers, whole)
}

fn won(round: &Round) -> i64 {
    let jackpots = round.jackpots.iter().map(|jackpot| jackpot.amount.as_ref().unwrap().amount_minor);
    round.win.as_ref().unwrap().amount_minor + jackpots.sum::<i64>()
}

fn feature(round: &Round) -> bool {
    round.steps.iter().map(|step| step.outcome.as_ref().unwrap().spins.len()).sum::<usize>() > 1
        || round.steps.len() > 1
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_26_me_19_wf_19_autoplay_ends_at_its_number_and_at_each_limit() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, DEPOSIT).await;
    for game in latest_games() {
        let bet = |round: &Round| round.bet.as_ref().unwrap().amount_minor;
        let one = series(*game, &format!("{}-number", game.name()), &account, 25);
        let (answers, rounds) = play(&mut client, one).await;
        assert_eq!((rounds.len(), answers.last().unwrap().stop()), (25, AutospinStop::Complete));
        let left: Vec<_> = answers.iter().map(|answer| answer.spins_left).collect();
        assert!(left.is_sorted_by(|a, b| a >= b) && left.last() == Some(&0), "{left:?}");

        let limit = 3 * bet(&rounds[0]);
        let lossy = AutospinRequest {
            loss_limit_minor: Some(limit),
            ..series(*game, &format!("{}-loss", game.name()), &account, 1000)
        };
        let (answers, rounds) = play(&mut client, lossy).await;
        // WF-19: a series stops when its loss reaches the limit. DM-26: a series stops before a bet could exceed the limit.
        // Games without such a rule: a series stops when its loss exceeds the limit.
        let least = match game.name() {
            "witch-feature" => 1,
            "dwarf-mine" => bet(&rounds[0]),
            _ => 0,
        };
        let balance = |played: usize| rounds[..played].iter().map(|of| won(of) - bet(of)).sum::<i64>();
        let below = |played: usize| limit + balance(played) < least;
        if game.name() == "dwarf-mine" {
            assert!(
                (1..=rounds.len()).all(|played| balance(played) >= -limit),
                "DM-26: the loss never exceeds the limit"
            );
        }
        let stop = answers.last().unwrap().stop();
        assert_eq!(below(rounds.len()), stop == AutospinStop::LossLimit, "{} {stop:?}", game.name());
        assert!((1..rounds.len()).all(|played| !below(played)), "no round was played after the loss limit was passed");

        let limit = 2 * bet(&rounds[0]);
        let winning = AutospinRequest {
            win_limit_minor: Some(limit),
            ..series(*game, &format!("{}-win", game.name()), &account, 1000)
        };
        let (answers, rounds) = play(&mut client, winning).await;
        let (last, earlier) = rounds.split_last().unwrap();
        // ME-19: in Mystery Elves, a win equal to the limit does not stop the series.
        let least = limit + i64::from(game.name() == "mystery-elves");
        assert_eq!((answers.last().unwrap().stop(), won(last) >= least), (AutospinStop::WinLimit, true));
        assert!(earlier.iter().all(|round| won(round) < least));

        let curious = AutospinRequest {
            stop_on_feature: true,
            ..series(*game, &format!("{}-feature", game.name()), &account, 1000)
        };
        let (answers, rounds) = play(&mut client, curious).await;
        let (last, earlier) = rounds.split_last().unwrap();
        let stop = answers.last().unwrap().stop();
        assert_eq!(feature(last), stop == AutospinStop::Feature, "{} {stop:?}", game.name());
        assert!(earlier.iter().all(|round| !feature(round)), "{}", game.name());
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_26_a_series_that_may_not_lose_a_bet_plays_none() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, DEPOSIT).await;
    let game = motherlode_slots::latest("dwarf-mine").unwrap();
    let (_, rounds) = play(&mut client, series(game, "one", &account, 1)).await;
    let bet = rounds[0].bet.as_ref().unwrap().amount_minor;
    for (limit, some) in [(0, false), (bet - 1, false), (bet, true)] {
        let id = format!("s{limit}");
        let lossy = AutospinRequest { loss_limit_minor: Some(limit), ..series(game, &id, &account, 5) };
        let (answers, rounds) = play(&mut client, lossy).await;
        assert_eq!(!rounds.is_empty(), some, "{limit}");
        let last = answers.last().unwrap();
        assert!(some || (answers.len(), last.stop(), last.spins_left) == (1, AutospinStop::LossLimit, 5));
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_22_me_22_np_14_wf_22_a_malfunction_voids_the_round_and_refunds_the_bet() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, DEPOSIT).await;
    for game in latest_games() {
        let before = client.balance(&account).await;
        let open = client.spin(spin(*game, game.name(), &account), Some(Force::Open)).await.unwrap();
        assert_eq!(open.state(), RoundState::Open);
        let void = VoidRoundRequest {
            request_id: format!("void-{}", game.name()),
            round_id: open.round_id.clone(),
            reason: "reel 3 stuck".into(),
            actor: "ann".into(),
        };
        client.ledger.void_round(void).await.unwrap();
        assert_eq!(client.balance(&account).await, before);
        let request = GetRoundRequest { round_id: open.round_id };
        let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
        assert_eq!(round.state(), RoundState::Voided);
        client.play_out(spin(*game, &format!("{}-on", game.name()), &account)).await.unwrap();
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wf_20_pl_02_on_return_the_final_state_is_shown_and_features_go_on() {
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, DEPOSIT).await;
    for game in latest_games() {
        let id = game.name();
        let open = client.spin(spin(*game, id, &account), Some(Force::Open)).await.unwrap();
        let balance = client.balance(&account).await;
        server.stop().await.unwrap();
        server = start(data.path()).await;
        client = Client::connect(server.address()).await;

        assert_eq!(client.balance(&account).await, balance);
        let list = ListRoundsRequest {
            account: Some(account.clone()),
            game: game.name().into(),
            ..ListRoundsRequest::default()
        };
        let shown = client.ledger.list_rounds(list).await.unwrap().into_inner().rounds.remove(0);
        assert_eq!((&shown.round_id, shown.state()), (&open.round_id, RoundState::Open));
        assert_eq!(shown.steps.last().unwrap().outcome, open.outcome);

        let mut last = open;
        for step in 1.. {
            let Some(choice) = next_choice(&last) else { break };
            last = client.choose(&format!("{id}.{step}"), &last.round_id, choice, None).await.unwrap();
        }
        assert_eq!(last.state(), RoundState::Settled);
        let jackpot = last.jackpot.as_ref().map_or(0, |jackpot| jackpot.amount.as_ref().unwrap().amount_minor);
        let win = last.win.as_ref().unwrap().amount_minor + jackpot;
        assert_eq!(client.balance(&account).await, balance + win);
    }
    server.stop().await.unwrap();
}
