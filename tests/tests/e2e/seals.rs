use motherlode_ledger::Options;
use motherlode_proto::{
    convert::record,
    ledger::v1::{
        FollowLogRequest, GetAccountRequest, GetRoundRequest, ListRoundsRequest, OpenAccountRequest, VoidRoundRequest,
    },
    report::v1::{ListSignificantEventsRequest, SignificantKind},
    round::v1::{Account, Awaiting, Round, RoundState},
    spin::v1::{ChooseRequest, Played, SpinRequest},
};
use motherlode_runtime::Config;
use motherlode_server::{LogLocation, copy, open_stores};
use motherlode_slots::{latest, latest_games};
use motherlode_spin::Dealer;
use motherlode_state::{Event, SealReason, StreamId, draw};
use motherlode_tests::{
    Client, EUR, Force, Server, account, audited, bet, checked, config, next_choice, reason, smallest, stake_on, start,
    start_dealt,
};
use prost::Message;
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64},
};

async fn seal(client: &mut Client, account: &Account) -> Vec<u8> {
    let request = GetAccountRequest { account: Some(account.clone()) };
    client.ledger.get_account(request).await.unwrap().into_inner().seal
}

async fn round(client: &mut Client, round_id: &str) -> Round {
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
}

fn bytes32(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap()
}

fn check(round: &Round, seals: &[Vec<u8>], client_seeds: &[&[u8]]) {
    assert_eq!(round.steps.len(), seals.len());
    for ((step, seal), client_seed) in round.steps.iter().zip(seals).zip(client_seeds) {
        let drawn = step.draw.as_ref().unwrap();
        assert_eq!((&drawn.seal, drawn.client_seed.as_slice()), (seal, *client_seed));
        let dealt = bytes32(&drawn.dealt);
        assert_eq!(draw::seal(&dealt).as_slice(), seal);
        assert_eq!(draw::seed(&dealt, client_seed, &round.round_id, step.number).as_slice(), step.seed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_06_a_player_checks_each_draw_from_its_seal_before_the_request_to_the_value_after_the_round() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let alice = account("alice", EUR);
    let open = OpenAccountRequest { request_id: "open".to_owned(), account: Some(alice.clone()) };
    let opened = client.ledger.open_account(open.clone()).await.unwrap().into_inner();
    assert_eq!(opened.seal.len(), 32);
    assert_eq!(
        opened,
        client.ledger.open_account(open).await.unwrap().into_inner(),
        "a repeated request gets the same answer"
    );
    client.fund_account(&account("bob", EUR), 1).await;
    assert_ne!(seal(&mut client, &account("bob", EUR)).await, opened.seal);
    let deposit = motherlode_proto::ledger::v1::DepositRequest {
        request_id: "in".to_owned(),
        account: Some(alice.clone()),
        amount_minor: 1_000_000,
    };
    client.ledger.deposit(deposit).await.unwrap();

    let spin = SpinRequest {
        client_seed: b"drawn by the aggregator".to_vec(),
        seal: opened.seal.clone(),
        ..bet("one", &alice, "0.05")
    };
    let first = client.spin(spin.clone(), Some(Force::Loss)).await.unwrap();
    assert_eq!((first.state(), first.dealt.len(), first.seal.len()), (RoundState::Settled, 1, 32));
    assert_eq!(draw::seal(&bytes32(&first.dealt[0])).as_slice(), opened.seal);
    assert_eq!(seal(&mut client, &alice).await, first.seal);
    let played = SpinRequest { request_id: "two".to_owned(), seal: first.seal.clone(), ..spin.clone() };
    let second = client.spin(played.clone(), None).await.unwrap();
    assert_eq!(draw::seal(&bytes32(&second.dealt.first().cloned().unwrap_or_default())).as_slice(), first.seal);
    check(
        &round(&mut client, &second.round_id).await,
        std::slice::from_ref(&first.seal),
        &[b"drawn by the aggregator"],
    );

    let before = server.player("alice").head;
    let stale = SpinRequest { request_id: "three".to_owned(), ..played.clone() };
    let refused = client.spin(stale.clone(), None).await.unwrap_err();
    assert_eq!(reason(&refused), "SEAL_CHANGED");
    assert_eq!(server.player("alice").head, before);
    assert_eq!(second, client.spin(played.clone(), None).await.unwrap(), "a repeated request gets the same answer");
    let other = SpinRequest { seal: vec![7; 32], ..played.clone() };
    assert_eq!(second, client.spin(other, None).await.unwrap());
    let other = SpinRequest { client_seed: b"another".to_vec(), ..played.clone() };
    assert_eq!(reason(&client.spin(other, None).await.unwrap_err()), "REQUEST_ID_REUSED");
    for bad in
        [SpinRequest { client_seed: vec![1; 65], ..stale.clone() }, SpinRequest { seal: vec![1; 31], ..stale.clone() }]
    {
        assert_eq!(reason(&client.spin(bad, None).await.unwrap_err()), "INVALID_FIELD");
    }
    assert_eq!(server.player("alice").head, before);
    let now = SpinRequest { seal: second.seal.clone(), ..stale };
    let third = client.spin(now, Some(Force::Loss)).await.unwrap();

    let (mut seals, mut seeds) = (vec![third.seal.clone()], vec![]);
    let buy = stake_on(latest("mystery-elves").unwrap(), "many", &alice, "0.02".parse().unwrap());
    let stake = buy.stake.clone().map(|stake| motherlode_proto::round::v1::Stake { buy_feature: true, ..stake });
    let mut last = client.spin(SpinRequest { stake, ..buy }, None).await.unwrap();
    seeds.push(b"many".to_vec());
    while last.state() == RoundState::Open {
        assert!(last.dealt.is_empty());
        let open = round(&mut client, &last.round_id).await;
        for (step, seal) in open.steps.iter().zip(&seals) {
            let drawn = step.draw.as_ref().unwrap();
            assert!(step.seed.is_empty() && drawn.dealt.is_empty());
            assert_eq!(drawn.seal, *seal);
        }
        let request = ChooseRequest {
            request_id: format!("many-{}", last.step),
            round_id: last.round_id.clone(),
            choice: Some(motherlode_proto::round::v1::Choice { kind: next_choice(&last) }),
            client_seed: format!("mine {}", last.step).into_bytes(),
            seal: last.seal.clone(),
            ..ChooseRequest::default()
        };
        seals.push(last.seal.clone());
        seeds.push(request.client_seed.clone());
        last = client.spin.choose(request).await.unwrap().into_inner().played.unwrap();
    }
    assert!(seals.len() > 1 && last.dealt.len() == seals.len());
    let seeds: Vec<_> = seeds.iter().map(Vec::as_slice).collect();
    check(&round(&mut client, &last.round_id).await, &seals, &seeds);
    server.stop().await.unwrap();
    checked(data.path());
}

#[derive(Default)]
struct Reader(Vec<(String, Vec<u8>)>);

impl Reader {
    fn has(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((name.into(), bytes.into()));
    }

    fn has_files(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => self.has_files(&entry.path()),
                false => self.has(entry.path().display().to_string(), fs::read(entry.path()).unwrap()),
            }
        }
    }

    fn finds(&self, secrets: &[[u8; 32]], sealed: &Sealed) -> Option<&str> {
        let leads = |bytes: &[u8]| {
            let bytes = bytes32(bytes);
            bytes[..4] != [0; 4]
                && (secrets.contains(&bytes)
                    || (bytes != sealed.seal
                        && (draw::seal(&bytes) == sealed.seal
                            || draw::seal(&draw::deal(&bytes, &sealed.stream, sealed.number)) == sealed.seal)))
        };
        let found = self.0.iter().find(|(_, bytes)| {
            let raw = bytes.windows(32).any(leads);
            let digit = |digit: &u8| digit.is_ascii_hexdigit();
            let hex = bytes.windows(64).filter(|digits| digits.iter().all(digit));
            raw || hex.map(unhex).any(|bytes| leads(&bytes))
        });
        found.map(|(name, _)| name.as_str())
    }
}

fn unhex(digits: &[u8]) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

struct Sealed {
    stream: StreamId,
    number: u64,
    seal: [u8; 32],
}

/// NP-12, BW-05: log, copy, index, snapshots and answers do not suffice to compute a draw without the draw key.
#[tokio::test(flavor = "multi_thread")]
async fn np_12_nothing_that_a_reader_has_tells_what_an_open_round_hides() {
    let (data, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut reader, mut open) = (Reader::default(), vec![]);
    const KEY: [u8; 32] = *b"a key that no reader of it knows";
    let config = Config { store: motherlode_runtime::config::Store::default(), ..config(data.path()) };
    for start in 0..2 {
        let stores = open_stores(&config).unwrap();
        let server =
            start_dealt(&config, stores, Options::default(), motherlode_tests::scripted(Dealer::from_master(KEY)))
                .await;
        let mut client = Client::connect(server.address()).await;
        if start == 0 {
            let other = client.fund("other", EUR, 100_000_000).await;
            for number in 0..30 {
                client.spin(bet(&format!("r{number}"), &other, "0.05"), Some(Force::Loss)).await.unwrap();
            }
            for game in latest_games().iter().copied() {
                let account = client.fund(game.name(), EUR, 100_000_000).await;
                let mut last =
                    client.spin(stake_on(game, "hides", &account, smallest(game)), Some(Force::Open)).await.unwrap();
                while game.name() == "neptune" && last.outcome.as_ref().unwrap().awaiting() != Awaiting::Pick {
                    let choice = next_choice(&last).unwrap();
                    let id = format!("on-{}", last.step);
                    last = client.choose(&id, &last.round_id, choice, None).await.unwrap();
                    if last.state() != RoundState::Open {
                        let again = stake_on(game, &format!("hides-{}", last.position), &account, smallest(game));
                        last = client.spin(again, Some(Force::Pick)).await.unwrap();
                    }
                }
                open.push(last);
            }
        }
        everything(&mut client, &server, &open, &mut reader).await;
        server.stop().await.unwrap();
    }
    reader.has_files(&data.path().join("log"));
    reader.has_files(&data.path().join("index"));
    reader.has_files(&data.path().join("proofs"));
    let to = LogLocation::Folder { data: kept.path().to_owned(), segment_bytes: 1 << 20 };
    copy(&LogLocation::from_config(&config), &to, false, &AtomicBool::new(false), &AtomicU64::new(0)).unwrap();
    let replica = Config { data: kept.path().to_owned(), ..config.clone() };
    let server =
        start_dealt(&replica, open_stores(&replica).unwrap(), Options::default(), Dealer::new().unwrap()).await;
    let mut client = Client::connect(server.address()).await;
    everything(&mut client, &server, &open, &mut reader).await;
    server.stop().await.unwrap();
    reader.has_files(kept.path());
    assert!(reader.0.iter().any(|(name, _)| name.contains("checkpoints")), "{:?}", names(&reader));

    let mut searched = 0;
    for played in &open {
        let (player, _) = played.round_id.strip_prefix("acme/").unwrap().split_once('/').unwrap();
        let stream = StreamId::player("acme", player);
        for (number, client_seed) in draws_of(&config, &stream, &played.round_id) {
            let dealt = draw::deal(&KEY, &stream, number.0);
            let secrets = [KEY, dealt, draw::seed(&dealt, &client_seed, &played.round_id, number.1)];
            let sealed = Sealed { stream: stream.clone(), number: number.0, seal: draw::seal(&dealt) };
            assert_eq!(reader.finds(&secrets, &sealed), None, "{player}");
            // `finds` must find each given secret, and the draw key even if no secrets are given.
            for secret in secrets {
                let mut control = Reader::default();
                control.has("control", [b"at any place ".as_slice(), &secret, b" of it"].concat());
                assert!(control.finds(&secrets, &sealed).is_some());
                let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
                let mut control = Reader::default();
                control.has("control", digits);
                assert!(control.finds(&secrets, &sealed).is_some());
            }
            let mut control = Reader::default();
            control.has("key", KEY.to_vec());
            assert!(control.finds(&[], &sealed).is_some());
            searched += 1;
        }
    }
    assert!(searched >= latest_games().len());
}

fn names(reader: &Reader) -> Vec<&String> {
    reader.0.iter().map(|(name, _)| name).collect()
}

fn draws_of(config: &Config, stream: &StreamId, round_id: &str) -> Vec<((u64, u32), Vec<u8>)> {
    let number: u64 = round_id.rsplit('/').next().unwrap().parse().unwrap();
    let mut draws = vec![];
    for partition in 0..config.partitions {
        let records = LogLocation::from_config(config).existing(partition).unwrap();
        for stored in records {
            let logged = record::decode(&stored.unwrap().bytes).unwrap();
            for event in logged.commit.events.iter().filter(|_| logged.commit.stream == *stream) {
                if let Event::StepResolved(step) = event
                    && step.round == number
                {
                    assert_eq!(step.seed, None);
                    let drawn = step.draw.as_ref().unwrap();
                    draws.push(((drawn.number, step.step), drawn.client_seed(&logged.commit.request_id).to_vec()));
                }
            }
        }
    }
    assert!(!draws.is_empty());
    draws
}

async fn everything(client: &mut Client, server: &Server, open: &[Played], reader: &mut Reader) {
    for played in open {
        reader.has("Played", played.encode_to_vec());
        let shown = round(client, &played.round_id).await;
        assert_eq!(shown.state(), RoundState::Open);
        reader.has("GetRound", shown.encode_to_vec());
        let account = shown.account.clone();
        let listed = ListRoundsRequest { account: account.clone(), ..ListRoundsRequest::default() };
        reader.has("ListRounds", client.ledger.list_rounds(listed).await.unwrap().into_inner().encode_to_vec());
        let read = GetAccountRequest { account };
        reader.has("GetAccount", client.ledger.get_account(read).await.unwrap().into_inner().encode_to_vec());
    }
    for (partition, end) in (0..).zip(server.ends()) {
        let request = FollowLogRequest { after_position: 0, partition };
        let mut followed = client.ledger.follow_log(request).await.unwrap().into_inner();
        loop {
            let message = followed.message().await.unwrap().unwrap();
            reader.has("FollowLog", message.encode_to_vec());
            if message.sent_position >= end {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_a_lost_key_is_in_the_books_draw_by_draw() {
    let data = tempfile::tempdir().unwrap();
    let config = Config { store: motherlode_runtime::config::Store::default(), ..config(data.path()) };
    let dealt = async |key: [u8; 32]| {
        let dealer = motherlode_tests::scripted(Dealer::from_master(key));
        start_dealt(&config, open_stores(&config).unwrap(), Options::default(), dealer).await
    };
    let server = dealt([1; 32]).await;
    let mut client = Client::connect(server.address()).await;
    let (alice, bob) = (client.fund("alice", EUR, 1_000_000).await, client.fund("bob", EUR, 1_000_000).await);
    let open = client.spin(bet("pick", &alice, "0.05"), Some(Force::Pick)).await.unwrap();
    client.spin(bet("one", &bob, "0.05"), Some(Force::Loss)).await.unwrap();
    server.stop().await.unwrap();

    let server = dealt([2; 32]).await;
    let mut client = Client::connect(server.address()).await;
    let before = seal(&mut client, &bob).await;
    let shown = round(&mut client, &open.round_id).await;
    assert_eq!((shown.state(), shown.steps.len()), (RoundState::Open, 1));
    let choice = next_choice(&open).unwrap();
    let refused = client.choose("choice", &open.round_id, choice, None).await.unwrap_err();
    assert_eq!(reason(&refused), "DRAW_KEY_LOST");
    let repeated = client.spin(bet("pick", &alice, "0.05"), None).await.unwrap();
    assert_eq!(
        (&repeated.round_id, &repeated.seal),
        (&open.round_id, &open.seal),
        "the repeated request is answered although the key is lost"
    );
    let for_that = SpinRequest { seal: before.clone(), ..bet("two", &bob, "0.05") };
    let refused = client.spin(for_that, None).await.unwrap_err();
    assert_eq!(reason(&refused), "SEAL_CHANGED");
    let after = seal(&mut client, &bob).await;
    assert_ne!(before, after);
    let two = client.spin(SpinRequest { seal: after, ..bet("two", &bob, "0.05") }, Some(Force::Loss)).await.unwrap();
    assert_eq!(two.state(), RoundState::Settled);
    let void = VoidRoundRequest {
        request_id: "void".to_owned(),
        round_id: open.round_id.clone(),
        reason: "the key is gone".to_owned(),
        actor: String::new(),
    };
    client.ledger.void_round(void).await.unwrap();
    let shown = round(&mut client, &open.round_id).await;
    assert!(shown.state() == RoundState::Voided && shown.steps[0].seed.is_empty());
    let again = client.spin(bet("again", &alice, "0.05"), Some(Force::Loss)).await.unwrap();
    let told = round(&mut client, &again.round_id).await;
    let client_seed = told.steps[0].draw.as_ref().unwrap().client_seed.clone();
    check(&told, &[seal_used(&again)], &[&client_seed]);
    let kinds = vec![SignificantKind::DrawKeyLost.into()];
    let told = ListSignificantEventsRequest { kinds, ..ListSignificantEventsRequest::default() };
    motherlode_tests::until("both draws and the round are reported", async || {
        let told = client.report.clone().list_significant_events(told.clone()).await.unwrap().into_inner();
        told.events.len() == 3
    })
    .await;
    server.stop().await.unwrap();
    let whole = audited(data.path(), usize::try_from(config.partitions).unwrap());
    let seals = whole.seals();
    assert_eq!((seals.opened, seals.unsealed, seals.key_lost, seals.rounds_lost), (2, 0, 2, 1));
    let reasons: Vec<_> = (0..config.partitions)
        .flat_map(|partition| LogLocation::from_config(&config).existing(partition).unwrap())
        .flat_map(|stored| record::decode(&stored.unwrap().bytes).unwrap().commit.events)
        .filter_map(|event| match event {
            Event::DrawSealed(sealed) => Some((sealed.number, sealed.reason)),
            _ => None,
        })
        .filter(|(_, reason)| *reason == SealReason::KeyLost)
        .collect();
    assert_eq!(reasons.len(), 2);
}

fn seal_used(played: &Played) -> Vec<u8> {
    draw::seal(&bytes32(&played.dealt[0])).to_vec()
}
