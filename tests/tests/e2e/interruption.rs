use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::{GetRoundRequest, ListRoundsRequest, VoidRoundRequest},
    round::v1::{Account, Automatic, Awaiting, Choice, Round, RoundState, Stake, Witch, automatic::Cause, choice},
    spin::v1::{
        ChooseRequest, CloseRoundRequest, GetGameRequest, ListOpenRoundsRequest, OpenRound, OpenSessionRequest, Played,
        SkipRoundRequest, SpinRequest,
    },
};
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_slots::latest;
use motherlode_tests::Server;
use motherlode_tests::{Client, EUR, Force, checked, config, next_choice, reason, start_with};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use tonic::{Code, Status};

const HOUR: i64 = 3_600_000;

struct Timed {
    config: Config,
    clock: Arc<AtomicI64>,
    server: Server,
    client: Client,
}

impl Timed {
    async fn start(data: &Path) -> Self {
        Self::with(config(data)).await
    }

    async fn with(config: Config) -> Self {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let (server, client) = Self::serve(&config, &clock).await;
        Self { config, clock, server, client }
    }

    async fn serve(config: &Config, clock: &Arc<AtomicI64>) -> (Server, Client) {
        let time = Arc::clone(clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let server = start_with(config, open_stores(config).unwrap(), options).await;
        let client = Client::connect(server.address()).await;
        (server, client)
    }

    async fn restart(self) -> Self {
        let Self { config, clock, server, .. } = self;
        server.stop().await.unwrap();
        let (server, client) = Self::serve(&config, &clock).await;
        Self { config, clock, server, client }
    }

    fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    async fn sweep(&self) {
        self.server.abandoned_rounds().sweep().await;
    }

    async fn wait(&mut self, game: &str, account: &Account, wish: Awaiting) -> Played {
        let force = match wish {
            Awaiting::Pick => Force::Pick,
            Awaiting::FreeSpins => Force::FreeSpins,
            Awaiting::Feature | Awaiting::Double => Force::Feature,
            other => panic!("the test cannot make a round of {game} await {other:?}"),
        };
        let mut played = self.client.spin(bet(game, game, account), Some(force)).await.unwrap();
        while awaits(&played) != wish {
            let (step, kind) = (format!("{game}.{}", played.step), next_choice(&played).unwrap());
            played = self.client.choose(&step, &played.round_id, kind, None).await.unwrap();
        }
        played
    }

    async fn round(&mut self, round_id: &str) -> Round {
        let request = GetRoundRequest { round_id: round_id.to_owned() };
        self.client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
    }

    async fn skip(&mut self, request_id: &str, round_id: &str) -> Result<Vec<Played>, Status> {
        let (request_id, round_id) = (request_id.to_owned(), round_id.to_owned());
        let request = SkipRoundRequest { request_id, round_id, ..SkipRoundRequest::default() };
        Ok(self.client.spin.skip_round(request).await?.into_inner().steps)
    }

    async fn close(&mut self, request_id: &str, round_id: &str, why: &str) -> Result<Vec<Played>, Status> {
        let (request_id, round_id) = (request_id.to_owned(), round_id.to_owned());
        let request = CloseRoundRequest { request_id, round_id, reason: why.to_owned(), actor: "ann".to_owned() };
        Ok(self.client.spin.close_round(request).await?.into_inner().steps)
    }

    async fn open_rounds(&mut self, player: &str) -> Vec<OpenRound> {
        let mut request = ListOpenRoundsRequest { operator_id: "acme".into(), page_size: 2, ..Default::default() };
        request.player_id = player.to_owned();
        let mut rounds = vec![];
        loop {
            let page = self.client.spin.list_open_rounds(request.clone()).await.unwrap().into_inner();
            assert!(page.rounds.len() <= 2);
            rounds.extend(page.rounds);
            request.page_token = page.next_page_token;
            if request.page_token.is_empty() {
                return rounds;
            }
        }
    }

    async fn load(&mut self, request_id: &str, account: &Account, game: &str) -> Option<Round> {
        let (account, game) = (Some(account.clone()), game.to_owned());
        let request = OpenSessionRequest { request_id: request_id.to_owned(), account, game, ..Default::default() };
        self.client.spin.open_session(request).await.unwrap().into_inner().open_round
    }

    async fn audited(self) {
        self.server.stop().await.unwrap();
        checked(&self.config.data);
    }
}

fn bet(game: &str, request_id: &str, account: &Account) -> SpinRequest {
    let info = latest(game).unwrap().info();
    SpinRequest {
        request_id: request_id.to_owned(),
        account: Some(account.clone()),
        game: game.to_owned(),
        stake: Some(Stake {
            coin_value: motherlode_state::CoinValue(info.limits.coin_values_micros[0]).to_string(),
            lines: info.limits.lines.1,
            coins_per_line: info.limits.coins_per_line.0,
            buy_feature: game == "mystery-elves",
        }),
        witch: if game == "bewitched" { Witch::White.into() } else { Witch::Unspecified.into() },
        offer_double: info.doubles_max > 0,
        ..SpinRequest::default()
    }
}

fn awaits(played: &Played) -> Awaiting {
    played.outcome.as_ref().unwrap().awaiting()
}

fn won(played: &Played) -> i64 {
    played.win.as_ref().unwrap().amount_minor
}

fn causes(round: &Round) -> Vec<Option<Cause>> {
    round.steps.iter().map(|step| step.automatic.as_ref().map(Automatic::cause)).collect()
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_21_an_interrupted_round_is_shown_again_for_24_hours_and_the_win_of_a_skipped_one_is_added_at_once() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    timed.client.spin(bet("dwarf-mine", "lost", &alice), Some(Force::Loss)).await.unwrap();
    let open = timed.wait("dwarf-mine", &alice, Awaiting::FreeSpins).await;
    let before = timed.client.balance(&alice).await;
    timed.pass(24 * HOUR - 1);
    timed.sweep().await;
    let shown = timed.load("o1", &alice, "dwarf-mine").await.expect("the interrupted round can be shown again");
    assert_eq!((&shown.round_id, shown.state()), (&open.round_id, RoundState::Open));
    assert_eq!(shown.steps.last().unwrap().outcome, open.outcome);

    let steps = timed.skip("s1", &open.round_id).await.unwrap();
    let last = steps.last().unwrap();
    assert!(steps.iter().all(|step| !step.outcome.as_ref().unwrap().spins.is_empty()), "the free spins are played");
    assert_eq!((last.state(), awaits(last)), (RoundState::Settled, Awaiting::Nothing));
    assert_eq!(timed.client.balance(&alice).await, before + won(last));
    assert_eq!(last.balance.as_ref().unwrap().amount_minor, before + won(last));
    let round = timed.round(&open.round_id).await;
    assert_eq!(causes(&round)[..], [&[None][..], &vec![Some(Cause::Skipped); steps.len()]].concat());
    assert_eq!(timed.open_rounds("alice").await, []);

    assert_eq!(timed.skip("s1", &open.round_id).await.unwrap(), steps);
    assert_eq!(timed.client.balance(&alice).await, before + won(last));
    expect(timed.skip("s1", "acme/alice/1").await, Code::AlreadyExists, "REQUEST_ID_REUSED");
    expect(timed.close("s1", &open.round_id, "why").await, Code::AlreadyExists, "REQUEST_ID_REUSED");
    expect(timed.skip("s2", &open.round_id).await, Code::FailedPrecondition, "ALREADY_SETTLED");
    expect(timed.skip("s2", "acme/alice/999999").await, Code::NotFound, "ROUND_UNKNOWN");
    expect(timed.skip("s2", "acme/nobody/1").await, Code::NotFound, "ROUND_UNKNOWN");
    expect(timed.skip("s 2", &open.round_id).await, Code::InvalidArgument, "INVALID_FIELD");
    expect(timed.skip("s2", "17").await, Code::InvalidArgument, "INVALID_FIELD");
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_21_pl_03_after_24_hours_the_round_is_resolved_and_paid_and_shown_no_more() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    let open = timed.wait("dwarf-mine", &alice, Awaiting::FreeSpins).await;
    let before = timed.client.balance(&alice).await;
    timed.pass(24 * HOUR - 1);
    timed.sweep().await;
    assert_eq!(timed.round(&open.round_id).await.state(), RoundState::Open);
    timed.pass(1);
    timed.sweep().await;
    let round = timed.round(&open.round_id).await;
    assert_eq!(round.state(), RoundState::Settled);
    assert!(causes(&round)[1..].iter().all(|cause| *cause == Some(Cause::TimeOver)) && round.steps.len() > 1);
    let win = round.win.unwrap().amount_minor;
    assert_eq!(timed.client.balance(&alice).await, before + win);
    assert_eq!(timed.load("o1", &alice, "dwarf-mine").await, None);
    timed.pass(HOUR);
    timed.client.spin(bet("dwarf-mine", "again", &alice), None).await.unwrap();
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn me_20_an_incomplete_game_is_resolved_after_120_hours_over_a_restart_and_nothing_is_gambled() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    let bob = timed.client.fund("bob", EUR, 100_000_000).await;
    let feature = timed.wait("mystery-elves", &alice, Awaiting::Feature).await;
    timed.pass(HOUR);
    let gamble = timed.wait("mystery-elves", &bob, Awaiting::Double).await;
    let before = [timed.client.balance(&alice).await, timed.client.balance(&bob).await];
    timed.pass(119 * HOUR - 1);
    timed.sweep().await;
    assert_eq!(timed.open_rounds("").await.len(), 2);
    let mut timed = timed.restart().await;
    timed.pass(1);
    timed.sweep().await;
    let round = timed.round(&feature.round_id).await;
    assert_eq!(causes(&round), [None, Some(Cause::TimeOver), Some(Cause::TimeOver)]);
    assert_eq!(round.state(), RoundState::Settled);
    assert_eq!(timed.client.balance(&alice).await, before[0] + round.win.as_ref().unwrap().amount_minor);
    assert_eq!(timed.round(&gamble.round_id).await.state(), RoundState::Open);
    timed.pass(HOUR - 1);
    timed.pass(1);
    let mut timed = timed.restart().await;
    timed.sweep().await;
    let round = timed.round(&gamble.round_id).await;
    assert_eq!(causes(&round), [None, None, Some(Cause::TimeOver)]);
    assert_eq!(round.steps[2].choice.clone().unwrap().kind, Some(choice::Kind::Collect(choice::Collect {})));
    assert_eq!(round.win.unwrap().amount_minor, won(&gamble), "the win is paid");
    assert_eq!(timed.client.balance(&bob).await, before[1] + won(&gamble));
    assert_eq!(timed.open_rounds("").await, []);
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_02_pl_03_other_games_wait_for_their_player_unless_the_configuration_names_a_time() {
    let data = tempfile::tempdir().unwrap();
    let waits = [("bewitched", Awaiting::Pick), ("neptune", Awaiting::Pick), ("witch-feature", Awaiting::FreeSpins)];
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 1_000_000_000).await;
    for (game, awaiting) in waits {
        timed.wait(game, &alice, awaiting).await;
    }
    timed.pass(10_000 * HOUR);
    timed.sweep().await;
    let open = timed.open_rounds("alice").await;
    let games: Vec<_> = open.iter().map(|open| open.round.as_ref().unwrap().game.as_str()).collect();
    assert_eq!(games, waits.map(|(game, _)| game), "open rounds are listed from the oldest (PL-20)");
    assert!(open.iter().all(|open| open.resolve_time.is_none()));

    timed.config.interruption.hours = waits[1..].iter().map(|(game, _)| ((*game).to_owned(), 48)).collect();
    let here = BTreeMap::from([("bewitched".to_owned(), 48)]);
    timed.config.interruption.jurisdictions = BTreeMap::from([("default".to_owned(), here)]);
    let mut timed = timed.restart().await;
    timed.sweep().await;
    for open in open {
        let round = open.round.unwrap();
        let resolved = timed.round(&round.round_id).await;
        assert_eq!(resolved.state(), RoundState::Settled, "{}", round.game);
        assert!(causes(&resolved)[round.steps.len()..].iter().all(|cause| *cause == Some(Cause::TimeOver)));
        // NP-12, BW-06: an automatic choice picks the hidden objects with the lowest numbers.
        let offer = round.steps.last().unwrap().outcome.as_ref().unwrap().pick;
        if let Some(offer) = offer {
            let numbers = (1..=offer.needs).collect();
            let chosen = resolved.steps[round.steps.len()].choice.clone().unwrap().kind;
            assert_eq!(chosen, Some(choice::Kind::Pick(choice::Pick { numbers })));
        }
    }
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_20_open_rounds_are_listed_the_oldest_first_and_closed_by_the_operator() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let mut rounds = vec![];
    for name in ["carl", "alice", "bob", "dora", "emil"] {
        let account = timed.client.fund(name, EUR, 100_000_000).await;
        rounds.push(timed.wait("mystery-elves", &account, Awaiting::Feature).await);
        timed.pass(1_000);
    }
    let game = GetGameRequest { game: "mystery-elves".into(), ..Default::default() };
    assert_eq!(timed.client.spin.get_game(game).await.unwrap().into_inner().interruption_hours, 120);
    rounds.sort_by_key(|round| timed.server.ledger_of(round.round_id.split('/').nth(1).unwrap()).partition());
    let listed = timed.open_rounds("").await;
    let names: Vec<_> = listed.iter().map(|open| open.round.as_ref().unwrap().round_id.clone()).collect();
    assert_eq!(names, rounds.iter().map(|round| round.round_id.clone()).collect::<Vec<_>>());
    for open in &listed {
        let (round, resolve) = (open.round.as_ref().unwrap(), open.resolve_time.unwrap());
        assert_eq!(resolve.seconds - round.start_time.unwrap().seconds, 120 * 3600);
        assert!(round.steps.iter().all(|step| step.seed.is_empty()), "the seeds of an open round stay hidden");
    }
    let again = bet("mystery-elves", "again", &motherlode_tests::account("carl", EUR));
    expect(timed.client.spin(again, None).await, Code::FailedPrecondition, "ROUND_IN_PROGRESS");

    let closed = timed.close("c1", &names[1], "the player asked for it").await.unwrap();
    assert_eq!(timed.close("c1", &names[1], "the player asked for it").await.unwrap(), closed);
    expect(timed.close("c1", &names[1], "another reason").await, Code::AlreadyExists, "REQUEST_ID_REUSED");
    expect(timed.close("c2", &names[1], "why").await, Code::FailedPrecondition, "ALREADY_SETTLED");
    expect(timed.close("c2", &names[2], "").await, Code::InvalidArgument, "INVALID_FIELD");
    expect(timed.close("c2", "acme/nobody/1", "why").await, Code::NotFound, "ROUND_UNKNOWN");
    let round = timed.round(&names[1]).await;
    assert_eq!(
        (round.state(), causes(&round)),
        (RoundState::Settled, vec![None, Some(Cause::Closed), Some(Cause::Closed)])
    );
    let by = round.steps[2].automatic.as_ref().unwrap();
    assert_eq!((by.actor.as_str(), by.reason.as_str()), ("(anyone)", "the player asked for it"));
    let left: Vec<_> = timed.open_rounds("").await.into_iter().map(|open| open.round.unwrap().round_id).collect();
    assert_eq!(left, [&names[..1], &names[2..]].concat());

    let malformed = [
        ListOpenRoundsRequest::default(),
        ListOpenRoundsRequest { operator_id: "acme".into(), page_size: -1, ..Default::default() },
        ListOpenRoundsRequest { operator_id: "acme".into(), page_token: "x".into(), ..Default::default() },
        ListOpenRoundsRequest { operator_id: "acme".into(), player_id: "a b".into(), ..Default::default() },
    ];
    for request in malformed {
        expect(timed.client.spin.list_open_rounds(request).await, Code::InvalidArgument, "INVALID_FIELD");
    }
    let other = ListOpenRoundsRequest { operator_id: "other".into(), ..Default::default() };
    assert_eq!(timed.client.spin.list_open_rounds(other).await.unwrap().into_inner().rounds, []);
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_03_pl_04_a_voided_round_is_not_resolved() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    let open = timed.wait("mystery-elves", &alice, Awaiting::Feature).await;
    let before = timed.client.balance(&alice).await;
    let void = VoidRoundRequest {
        request_id: "v".into(),
        round_id: open.round_id.clone(),
        reason: "reel 3 stuck".into(),
        actor: "ann".into(),
    };
    timed.client.ledger.void_round(void).await.unwrap();
    timed.pass(121 * HOUR);
    timed.sweep().await;
    let round = timed.round(&open.round_id).await;
    assert_eq!((round.state(), causes(&round)), (RoundState::Voided, vec![None]));
    assert_eq!(timed.client.balance(&alice).await, before + open.bet.unwrap().amount_minor);
    expect(timed.skip("s", &open.round_id).await, Code::FailedPrecondition, "ALREADY_SETTLED");
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_03_pl_04_a_round_that_was_resolved_for_the_player_can_be_voided() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    for game in ["mystery-elves", "dwarf-mine"] {
        let awaiting = if game == "dwarf-mine" { Awaiting::FreeSpins } else { Awaiting::Feature };
        let open = timed.wait(game, &alice, awaiting).await;
        let before = timed.client.balance(&alice).await;
        timed.pass(120 * HOUR);
        timed.sweep().await;
        let resolved = timed.round(&open.round_id).await;
        assert_eq!(resolved.state(), RoundState::Settled);
        let void = VoidRoundRequest {
            request_id: format!("v-{game}"),
            round_id: open.round_id.clone(),
            reason: "reel 3 stuck".into(),
            actor: "ann".into(),
        };
        timed.client.ledger.void_round(void).await.unwrap();
        let round = timed.round(&open.round_id).await;
        assert_eq!((round.state(), causes(&round)), (RoundState::Voided, causes(&resolved)));
        assert_eq!(timed.client.balance(&alice).await, before + open.bet.unwrap().amount_minor);
    }
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wf_20_after_a_disconnection_the_last_round_that_reached_the_server_is_shown() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    let reached = timed.client.play_out(bet("witch-feature", "first", &alice)).await.unwrap();
    let last = reached.last().unwrap();
    let lost = bet("witch-feature", "second", &alice);
    let mut timed = timed.restart().await;
    let list = ListRoundsRequest { account: Some(alice.clone()), game: "witch-feature".into(), ..Default::default() };
    let shown = timed.client.ledger.list_rounds(list.clone()).await.unwrap().into_inner().rounds;
    assert_eq!(shown.len(), 1);
    assert_eq!((&shown[0].round_id, shown[0].state()), (&last.round_id, RoundState::Settled));
    assert_eq!(shown[0].steps.last().unwrap().outcome, last.outcome);
    assert_eq!(timed.client.balance(&alice).await, last.balance.as_ref().unwrap().amount_minor);
    let answer = timed.client.spin(lost.clone(), None).await.unwrap();
    let mut timed = timed.restart().await;
    let shown = timed.client.ledger.list_rounds(list).await.unwrap().into_inner().rounds;
    assert_eq!((shown.len(), &shown[0].round_id), (2, &answer.round_id));
    assert_eq!(shown[0].steps[0].outcome, answer.outcome);
    assert_eq!(timed.client.spin(lost, None).await.unwrap(), answer);
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_03_a_choice_of_the_players_own_comes_before_the_sweep_or_after_it() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    let alice = timed.client.fund("alice", EUR, 100_000_000).await;
    let open = timed.wait("mystery-elves", &alice, Awaiting::Feature).await;
    timed.pass(121 * HOUR);
    let start = choice::Kind::StartFeature(choice::StartFeature {});
    let chosen = timed.client.choose("late", &open.round_id, start, None).await.unwrap();
    assert_eq!(awaits(&chosen), Awaiting::Double);
    timed.sweep().await;
    assert_eq!(causes(&timed.round(&open.round_id).await), [None, None]);
    timed.pass(120 * HOUR);
    timed.sweep().await;
    assert_eq!(causes(&timed.round(&open.round_id).await), [None, None, Some(Cause::TimeOver)]);
    let collect = choice::Kind::Collect(choice::Collect {});
    let refused = timed.client.choose("later", &open.round_id, collect, None).await;
    expect(refused, Code::FailedPrecondition, "ALREADY_SETTLED");
    timed.audited().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_03_pl_11_sweepers_the_operator_and_the_player_at_once_resolve_each_step_once() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path()).await;
    for number in 0..20 {
        let account = timed.client.fund(&format!("player-{number}"), EUR, 100_000_000).await;
        let open = timed.wait("mystery-elves", &account, Awaiting::Feature).await;
        let before = timed.client.balance(&account).await;
        timed.pass(120 * HOUR);
        let (mut spin, mut other) = (timed.client.spin.clone(), timed.client.spin.clone());
        let kind = Some(choice::Kind::StartFeature(choice::StartFeature {}));
        let chooses = ChooseRequest {
            request_id: "mine".into(),
            round_id: open.round_id.clone(),
            choice: Some(Choice { kind }),
            ..ChooseRequest::default()
        };
        let closes = CloseRoundRequest {
            request_id: "close".into(),
            round_id: open.round_id.clone(),
            reason: "test".into(),
            actor: "ann".into(),
        };
        let abandoned_rounds = timed.server.abandoned_rounds();
        let (chosen, closed, (), ()) = tokio::join!(
            spin.choose(chooses.clone()),
            other.close_round(closes.clone()),
            abandoned_rounds.sweep(),
            abandoned_rounds.sweep()
        );
        timed.pass(120 * HOUR);
        timed.sweep().await;
        let round = timed.round(&open.round_id).await;
        assert_eq!((round.state(), round.steps.len()), (RoundState::Settled, 3));
        assert_eq!(timed.client.balance(&account).await, before + round.win.unwrap().amount_minor);
        match chosen {
            Ok(played) => {
                let played = played.into_inner().played;
                assert_eq!(played.as_ref().unwrap().step, 2);
                assert_eq!(timed.client.spin.choose(chooses).await.unwrap().into_inner().played, played);
            }
            Err(refused) => assert!(["ALREADY_SETTLED", "CHOICE_NOT_AWAITED"].contains(&reason(&refused).as_str())),
        }
        match closed {
            Ok(steps) => {
                let again = timed.client.spin.close_round(closes).await.unwrap().into_inner();
                assert_eq!(again, steps.into_inner());
            }
            Err(refused) => assert_eq!(reason(&refused), "ALREADY_SETTLED"),
        }
    }
    timed.audited().await;
}
