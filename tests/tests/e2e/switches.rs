use motherlode_proto::{
    jackpot::v1::{GetPoolRequest, PoolStatus, ResumePoolRequest, SuspendPoolRequest},
    ledger::v1::{ListSwitchesRequest, SetSwitchRequest, Switch, SwitchedOff, set_switch_request::State},
    round::v1::{Account, RoundState, Stake},
    spin::v1::{
        AutospinRequest, AutospinStop, PlayStreamRequest, Played, SpinRequest, play_stream_request::Call,
        play_stream_response::Answer,
    },
};
use motherlode_tests::{Client, EUR, Force, audited, bet, config, next_choice, reason, start, start_fresh};
use tonic::{Code, Status};
use tonic_types::StatusExt;

fn part(operator_id: &str, game: &str, rules_version: &str) -> Switch {
    let [operator_id, game, rules_version] = [operator_id, game, rules_version].map(str::to_owned);
    Switch { operator_id, game, rules_version }
}

fn request(request_id: &str, switch: &Switch, state: State) -> SetSwitchRequest {
    let (reason, actor, state) = ("reel 3 stuck".to_owned(), "ann".to_owned(), state.into());
    SetSwitchRequest {
        request_id: request_id.to_owned(),
        switch: Some(switch.clone()),
        state,
        reason,
        actor,
        preview: false,
    }
}

async fn set(client: &mut Client, request: SetSwitchRequest) -> Result<u64, Status> {
    Ok(client.ledger.set_switch(request).await?.into_inner().position)
}

async fn off(client: &mut Client) -> Vec<SwitchedOff> {
    client.ledger.list_switches(ListSwitchesRequest {}).await.unwrap().into_inner().switched_off
}

fn neptune(request_id: &str, account: &Account) -> SpinRequest {
    let stake = Some(Stake { coin_value: "0.01".to_owned(), lines: 15, coins_per_line: 1, buy_feature: false });
    let (request_id, account, game) = (request_id.to_owned(), Some(account.clone()), "neptune".to_owned());
    SpinRequest { request_id, account, game, stake, ..SpinRequest::default() }
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) -> Status {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
    status
}

async fn open_round(client: &mut Client, account: &Account) -> Played {
    client.spin(bet("r", account, "0.01"), Some(Force::Open)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_25_a_game_is_off_at_once_for_new_rounds_and_its_open_round_concludes_after_a_restart_too() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let bob = client.fund("bob", EUR, 1_000_000).await;
    let first = client.spin(bet("first", &bob, "0.01"), None).await.unwrap();
    let open = open_round(&mut client, &alice).await;
    let switch = part("", "bewitched", "");
    let position = set(&mut client, request("off", &switch, State::Off)).await.unwrap();
    server.stop().await.unwrap();

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let listed = off(&mut client).await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].switch.as_ref(), listed[0].position), (Some(&switch), position));
    assert_eq!((listed[0].reason.as_str(), listed[0].actor.as_str()), ("reel 3 stuck", "(anyone)"));

    let version = || server.player("bob").head.version;
    let before = version();
    let refused =
        expect(client.spin(bet("second", &bob, "0.01"), None).await, Code::FailedPrecondition, "GAME_DISABLED");
    let details = refused.get_error_details();
    let metadata = &details.error_info().unwrap().metadata;
    assert_eq!((metadata["game"].as_str(), metadata["reason"].as_str()), ("bewitched", "reel 3 stuck"));
    assert_eq!(version(), before, "a refusal changes nothing");
    assert_eq!(
        client.spin(bet("first", &bob, "0.01"), None).await.unwrap(),
        first,
        "PL-11: a repeated request is answered while the game is off"
    );
    client.spin(neptune("n", &bob), None).await.expect("another game can be played");

    let mut played = open;
    while let Some(kind) = next_choice(&played) {
        let id = format!("c{}", played.step);
        played = client.choose(&id, &played.round_id, kind, None).await.unwrap();
    }
    assert_eq!(played.state(), RoundState::Settled);

    set(&mut client, request("on", &switch, State::On)).await.unwrap();
    assert_eq!(off(&mut client).await, []);
    client
        .spin(bet("second", &bob, "0.01"), None)
        .await
        .expect("the game is on again, and the refused request id can be used");
    let repeated = set(&mut client, request("off", &switch, State::Off)).await.unwrap();
    assert_eq!(repeated, position, "the repeated request has no second effect");
    assert_eq!(off(&mut client).await, []);
    server.stop().await.unwrap();

    let whole = audited(data.path(), config(data.path()).partitions as usize);
    assert!(whole.partitions.iter().all(|report| report.books.switched_off().count() == 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_25_service_operator_game_and_version_are_switched_and_the_refusal_says_which() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    client.fund_account(&Account { operator_id: "other".into(), ..alice.clone() }, 1).await;
    let version = motherlode_slots::latest("neptune").unwrap().rules_version();
    let cases = [
        (part("", "", ""), Some("SERVICE_DISABLED")),
        (part("acme", "", ""), Some("OPERATOR_DISABLED")),
        (part("", "neptune", ""), Some("GAME_DISABLED")),
        (part("acme", "neptune", ""), Some("GAME_DISABLED")),
        (part("", "neptune", version), Some("VERSION_DISABLED")),
        (part("other", "", ""), None),
        (part("", "bewitched", ""), None),
    ];
    for (number, (switch, refused)) in (0..).zip(&cases) {
        set(&mut client, request(&format!("off{number}"), switch, State::Off)).await.unwrap();
        for way in 0..3 {
            let id = format!("n{number}.{way}");
            let why = match way {
                0 => client.spin(neptune(&id, &alice), None).await.err().map(|status| reason(&status)),
                1 => streamed(&mut client, neptune(&id, &alice)).await,
                _ => of_series(&mut client, neptune(&id, &alice)).await,
            };
            assert_eq!(why.as_deref(), *refused, "{switch:?}");
            finish(&mut client, &alice).await;
        }
        set(&mut client, request(&format!("on{number}"), switch, State::On)).await.unwrap();
    }
    server.stop().await.unwrap();
}

async fn streamed(client: &mut Client, spin: SpinRequest) -> Option<String> {
    let call = PlayStreamRequest { tag: 1, call: Some(Call::Spin(spin)) };
    let mut answers = client.spin.play_stream(tokio_stream::iter([call])).await.unwrap().into_inner();
    match answers.message().await.unwrap().unwrap().answer.unwrap() {
        Answer::Played(_) => None,
        Answer::Error(error) => Some(why(&error)),
    }
}

async fn of_series(client: &mut Client, spin: SpinRequest) -> Option<String> {
    let SpinRequest { request_id, account, game, stake, .. } = spin;
    let series = AutospinRequest { request_id, account, game, stake, spins: 1, ..AutospinRequest::default() };
    let first = client.autospin(series, None).await.unwrap().message().await.unwrap().unwrap();
    assert_eq!(first.refusal.is_some(), first.stop() == AutospinStop::Refused);
    first.refusal.as_ref().map(why)
}

fn why(error: &tonic_types::pb::Status) -> String {
    use prost::Message;
    let details = error.encode_to_vec().into();
    reason(&Status::with_details(Code::from_i32(error.code), error.message.as_str(), details))
}

async fn finish(client: &mut Client, account: &Account) {
    use motherlode_proto::ledger::v1::{GetAccountRequest, GetRoundRequest};
    loop {
        let shown = client.ledger.get_account(GetAccountRequest { account: Some(account.clone()) }).await.unwrap();
        let Some(round_id) = shown.into_inner().open_round_ids.into_iter().next() else { return };
        let round = client.ledger.get_round(GetRoundRequest { round_id: round_id.clone() }).await.unwrap();
        let step = round.into_inner().round.unwrap().steps.pop().unwrap();
        let outcome = step.outcome;
        let kind = next_choice(&Played { outcome, ..Played::default() }).unwrap();
        let id = format!("{}.{}", round_id.replace('/', "-"), step.number);
        client.choose(&id, &round_id, kind, None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_25_a_pool_is_switched_by_its_suspension() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let open = open_round(&mut client, &alice).await;
    let (pool_id, actor) = ("bewitched".to_owned(), "ann".to_owned());
    let (request_id, reason) = ("s".to_owned(), "test".to_owned());
    let suspend = SuspendPoolRequest { request_id, pool_id: pool_id.clone(), reason, actor: actor.clone() };
    client.jackpot.suspend_pool(suspend).await.unwrap();
    let bob = client.fund("bob", EUR, 1_000_000).await;
    let played = client.spin(bet("b", &bob, "0.01"), None).await.unwrap();
    let logged = server.ledger_of("bob").fetch(played.position).unwrap();
    let contributed = logged.commit.events.iter().find_map(|event| match event {
        motherlode_state::Event::RoundStarted(started) => Some(started.contribution.is_some()),
        _ => None,
    });
    assert_eq!(contributed, Some(false), "a new round does not contribute to the disabled pool");
    let opened = server.player("alice");
    assert!(
        opened.open_rounds().next().unwrap().started.contribution.is_some(),
        "an open round keeps its contribution"
    );
    let kind = next_choice(&open).unwrap();
    client.choose("c", &open.round_id, kind, None).await.unwrap();
    let resume = ResumePoolRequest { request_id: "r".to_owned(), pool_id: pool_id.clone(), actor };
    client.jackpot.resume_pool(resume).await.unwrap();
    let pool = client.jackpot.get_pool(GetPoolRequest { pool_id }).await.unwrap().into_inner().pool.unwrap();
    assert_eq!(pool.status(), PoolStatus::Active);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_pl_25_a_malformed_or_idle_switch_is_refused_and_logs_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let all = part("", "", "");
    let good = request("x", &all, State::Off);
    let logged = server.ends();
    let cases = [
        (SetSwitchRequest { request_id: String::new(), ..good.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (SetSwitchRequest { switch: None, ..good.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (SetSwitchRequest { reason: String::new(), ..good.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (SetSwitchRequest { actor: "a\nb".into(), ..good.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (SetSwitchRequest { state: 7, ..good.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (request("x", &all, State::Unspecified), Code::InvalidArgument, "INVALID_FIELD"),
        (request("x", &part("a b", "", ""), State::Off), Code::InvalidArgument, "INVALID_FIELD"),
        (request("x", &part("", "", "1"), State::Off), Code::InvalidArgument, "INVALID_FIELD"),
        (request("x", &part("", "bewiched", ""), State::Off), Code::NotFound, "GAME_UNKNOWN"),
        (request("x", &part("", "bewitched", "0.0"), State::Off), Code::NotFound, "GAME_UNKNOWN"),
        (request("x", &all, State::On), Code::FailedPrecondition, "SWITCH_UNCHANGED"),
    ];
    for (request, code, why) in cases {
        expect(set(&mut client, request).await, code, why);
    }
    assert_eq!(server.ends(), logged);
    set(&mut client, good.clone()).await.unwrap();
    let other = SetSwitchRequest { actor: "bob".into(), ..good };
    expect(set(&mut client, other).await, Code::AlreadyExists, "REQUEST_ID_REUSED");
    server.stop().await.unwrap();
}
