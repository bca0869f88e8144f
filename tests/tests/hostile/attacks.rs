use futures_util::future::join_all;
use motherlode_proto::{
    jackpot::v1::WatchCountersRequest,
    ledger::v1::{
        DepositRequest, FollowLogRequest, ListRoundsRequest, SetSwitchRequest, Switch, set_switch_request::State,
    },
    report::v1::RunSelfCheckRequest,
    round::v1::Account,
    spin::v1::{OpenSessionRequest, PlayMode, SpinRequest},
};
use motherlode_runtime::connect::connect;
use motherlode_slots::{games, latest};
use motherlode_tests::{
    Client, Force, bet,
    hostile::{GREETING, Target, Unread, frame, framed, unread},
    reason, smallest, stake_on, vials,
};
use prost::bytes::Bytes;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    io::AsyncWriteExt,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tonic::{Code, Status};

const KEPT: usize = 200;
const ANSWER_MAX: Duration = Duration::from_secs(5);
const DEPOSIT_MAX: i64 = 10_000_000_000_000;
const GREAT: i64 = 1_000_000_000_000_000;

const LEDGER: &str = "/motherlode.ledger.v1.LedgerService/";
const SPIN: &str = "/motherlode.spin.v1.SpinService/";

#[derive(Clone, Default)]
pub struct Tally(Arc<Mutex<BTreeMap<(&'static str, String), u64>>>);

impl Tally {
    fn count(&self, what: &'static str, how: impl Into<String>) {
        *self.0.lock().unwrap().entry((what, how.into())).or_default() += 1;
    }

    fn answer<T>(&self, what: &'static str, answer: &Result<T, Status>) {
        self.count(
            what,
            match answer {
                Ok(_) => "OK".to_owned(),
                Err(status) => format!("{:?} {}", status.code(), reason(status)),
            },
        );
    }

    pub fn check(&self) {
        let tally = self.0.lock().unwrap();
        for what in ATTACKS {
            assert!(tally.keys().any(|(made, _)| *made == what), "the attack {what} was not tried");
        }
        let count = |what, how: &str| tally.get(&(what, how.to_owned())).copied().unwrap_or_default();
        assert!(count("great amounts", "FailedPrecondition BALANCE_ABOVE_LIMIT") > 0, "no balance reached its ceiling");
        assert!(count("a jackpot on top", "OK") > 0, "no jackpot was hit while a balance was at its ceiling");
        let superseded = tally.iter().filter(|((what, _), _)| *what == "superseded rules");
        let taken: Vec<_> = superseded.filter(|((_, how), _)| how == "OK").collect();
        assert!(taken.is_empty(), "superseded versions accepted bets: {taken:?}");
        let refused = count("superseded rules", "FailedPrecondition RULES_VERSION_SUPERSEDED");
        assert!(refused > 0, "no superseded version refused a bet");
        let silent: Vec<_> =
            tally.iter().filter(|((what, how), _)| *what == "odd names" && how.ends_with(' ')).collect();
        assert!(silent.is_empty(), "{silent:?}");
        let broken =
            |how: &str| how.starts_with("Internal") || how.starts_with("Unknown") || how.starts_with("DataLoss");
        let broken: Vec<_> = tally.iter().filter(|((_, how), _)| broken(how)).collect();
        assert!(broken.is_empty(), "{broken:?}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.lock().unwrap().iter().try_for_each(|((what, how), count)| writeln!(f, "  {what}: {how} {count}"))
    }
}

const ATTACKS: [&str; 14] = [
    "silence",
    "half a greeting",
    "resets",
    "unread streams",
    "half a message",
    "history by game",
    "self-checks",
    "demo sessions",
    "proposals",
    "no message",
    "a giant message",
    "great amounts",
    "superseded rules",
    "bad tokens",
];

#[derive(Clone)]
pub struct Attack {
    mallory: Target,
    marvin: Target,
    platform: Target,
    tally: Tally,
    until: Instant,
}

impl Attack {
    pub async fn prepare(target: &Target) {
        for (operator, player, money) in
            [("mallory", "alice", 1_000_000_000), ("marvin", "alice", 1_000_000), ("marvin", "rich", DEPOSIT_MAX)]
        {
            let (url, credentials) = target.with(operator).honest();
            let mut client = Client::on(connect(&url, &credentials, None).await.unwrap());
            client.fund_account(&account(operator, player, "EUR"), money).await;
        }
    }

    pub fn all(target: &Target, tally: &Tally, until: Instant) -> Vec<JoinHandle<()>> {
        let with = |token| target.with(token);
        let (mallory, marvin, platform) = (with("mallory"), with("marvin"), with("first"));
        let attack = Self { mallory, marvin, platform, tally: tally.clone(), until };
        let one = || attack.clone();
        vec![
            tokio::spawn(one().silence()),
            tokio::spawn(one().half_greetings()),
            tokio::spawn(one().resets()),
            tokio::spawn(one().unread()),
            tokio::spawn(one().half_messages()),
            tokio::spawn(one().history()),
            tokio::spawn(one().self_checks()),
            tokio::spawn(one().demo_sessions()),
            tokio::spawn(one().proposals()),
            tokio::spawn(one().messages()),
            tokio::spawn(one().great_amounts()),
            tokio::spawn(one().superseded_rules()),
            tokio::spawn(one().bad_tokens()),
        ]
    }

    async fn again(&self, a_second: u32) -> bool {
        sleep(Duration::from_secs(1) / a_second).await;
        Instant::now() < self.until
    }

    async fn client(&self, target: &Target) -> Option<Client> {
        let (url, credentials) = target.honest();
        connect(&url, &credentials, Some(ANSWER_MAX)).await.ok().map(Client::on)
    }

    async fn connected(&self, target: &Target) -> Option<Client> {
        loop {
            if let Some(client) = self.client(target).await {
                return Some(client);
            }
            if !self.again(2).await {
                return None;
            }
        }
    }

    async fn silence(self) {
        let mut kept = VecDeque::new();
        let mut number = 0_u8;
        while self.again(40).await {
            number = (number + 1) % 4;
            let opened = self.mallory.from(1 + number).tcp().await;
            self.tally.count("silence", if opened.is_ok() { "opened" } else { "refused" });
            kept.extend(opened.ok());
            while kept.len() > 2 * KEPT {
                kept.pop_front();
            }
        }
    }

    async fn half_greetings(self) {
        let mut kept = VecDeque::new();
        while self.again(2).await {
            if let Ok(Ok(mut wire)) = timeout(ANSWER_MAX, self.marvin.from(7).wire()).await {
                let written = wire.write_all(&GREETING[..GREETING.len() - 12]).await;
                self.tally.count("half a greeting", if written.is_ok() { "said" } else { "refused" });
                kept.push_back(wire);
            }
            if let Ok(mut stream) = self.marvin.from(8).tcp().await {
                let _ = stream.write_all(&[0x16, 3, 1, 2, 0, 1]).await;
                kept.push_back(Box::new(stream));
            }
            while kept.len() > KEPT {
                kept.pop_front();
            }
        }
    }

    async fn resets(self) {
        while self.again(1).await {
            let Ok((mut send, connection)) = self.mallory.http().await else { continue };
            let driver = tokio::spawn(connection);
            for _ in 0..500 {
                let Ok(ready) = send.ready().await else { break };
                send = ready;
                let head = self.mallory.head("/motherlode.jackpot.v1.JackpotService/WatchCounters");
                let Ok((_, mut body)) = send.send_request(head, false) else { break };
                body.send_reset(h2::Reason::CANCEL);
            }
            tokio::task::yield_now().await;
            self.tally.count("resets", if driver.is_finished() { "ended by the service" } else { "500" });
            driver.abort();
        }
    }

    async fn unread(self) {
        let account = Some(account("mallory", "alice", "EUR"));
        let list = ListRoundsRequest { account, page_size: 100, ..ListRoundsRequest::default() };
        let counters = WatchCountersRequest { pool_id: "bewitched".into(), ..WatchCountersRequest::default() };
        let calls = [
            (LEDGER.to_owned() + "FollowLog", framed(&FollowLogRequest::default())),
            (LEDGER.to_owned() + "ListRounds", framed(&list)),
            ("/motherlode.jackpot.v1.JackpotService/WatchCounters".to_owned(), framed(&counters)),
        ];
        let mut kept: VecDeque<Unread> = VecDeque::new();
        let mut number = 0;
        while self.again(1).await {
            number += 1;
            let target = if number % 2 == 0 { &self.mallory } else { &self.marvin };
            let (path, message) = &calls[number % calls.len()];
            match timeout(ANSWER_MAX, unread(target, path, message, 200)).await {
                Ok(Ok(begun)) => {
                    self.tally.count("unread streams", "200 begun");
                    kept.push_back(begun);
                }
                _ => self.tally.count("unread streams", "refused"),
            }
            while kept.len() > 20 {
                kept.pop_front();
            }
        }
    }

    async fn half_messages(self) {
        let mut kept: VecDeque<Unread> = VecDeque::new();
        let announced = Bytes::from_static(b"\0\0\0\xff\xff\x0a");
        while self.again(1).await {
            for path in ["PlayStream", "Spin"] {
                match timeout(ANSWER_MAX, unread(&self.marvin, &(SPIN.to_owned() + path), &announced, 100)).await {
                    Ok(Ok(begun)) => {
                        self.tally.count("half a message", "100 begun");
                        kept.push_back(begun);
                    }
                    _ => self.tally.count("half a message", "refused"),
                }
            }
            while kept.len() > 20 {
                kept.pop_front();
            }
        }
    }

    async fn history(self) {
        let Some(mut client) = self.connected(&self.mallory).await else { return };
        let alice = account("mallory", "alice", "EUR");
        let mut number = 0;
        while self.again(4).await {
            number += 1;
            let played = client.play_out(bet(&format!("history-{number}"), &alice, "0.01")).await;
            self.tally.answer("history", &played);
            for game in ["neptune", "bewitched"] {
                let list = ListRoundsRequest {
                    account: Some(alice.clone()),
                    game: game.into(),
                    page_size: 100,
                    ..Default::default()
                };
                let listed = client.ledger.list_rounds(list).await;
                self.tally.answer("history by game", &listed);
            }
        }
    }

    async fn self_checks(self) {
        let Some(client) = self.connected(&self.platform).await else { return };
        loop {
            let checks = (0..50).map(|_| {
                let mut report = client.report.clone();
                async move { report.run_self_check(RunSelfCheckRequest {}).await }
            });
            for checked in join_all(checks).await {
                self.tally.answer("self-checks", &checked);
                if let Ok(checked) = checked {
                    assert_eq!(checked.into_inner().failures, Vec::<String>::new());
                }
            }
            sleep(Duration::from_secs(3)).await;
            if !self.again(1).await {
                return;
            }
        }
    }

    async fn demo_sessions(self) {
        let Some(mut client) = self.connected(&self.marvin).await else { return };
        let mut number = 0;
        while self.again(40).await {
            number += 1;
            let open = OpenSessionRequest {
                request_id: format!("s{number}"),
                account: Some(account("marvin", &format!("demo{number}"), "XTS")),
                game: "neptune".into(),
                mode: PlayMode::Demo.into(),
                ..OpenSessionRequest::default()
            };
            self.tally.answer("demo sessions", &client.spin.open_session(open).await);
        }
    }

    async fn proposals(self) {
        let Some(mut client) = self.connected(&self.platform).await else { return };
        let mut number = 0;
        while self.again(5).await {
            number += 1;
            let switch = Switch { operator_id: format!("nobody{number}"), ..Switch::default() };
            let set = SetSwitchRequest {
                request_id: format!("p{number}"),
                switch: Some(switch),
                state: State::Off.into(),
                reason: "because".into(),
                actor: "first".into(),
                preview: false,
            };
            self.tally.answer("proposals", &client.ledger.set_switch(set).await);
        }
    }

    async fn messages(self) {
        let Some(mut client) = self.connected(&self.marvin).await else { return };
        let mut number = 0_usize;
        while self.again(2).await {
            number += 1;
            let path = SPIN.to_owned() + ["Spin", "PlayStream", "Autospin", "OpenSession"][number % 4];
            let no_message = Bytes::from_static([&b"\0\0\0\0\x01\xff"[..], b"\x02\0\0\0\0", b"\0\0\0"][number % 3]);
            let answer = self.marvin.call(&path, no_message).await;
            self.tally.answer("no message", &answer);
            if let Err(status) = answer {
                assert!(
                    matches!(status.code(), Code::InvalidArgument | Code::ResourceExhausted | Code::Unavailable),
                    "{status:?}"
                );
            }
            let giant = if number.is_multiple_of(2) {
                frame(&vec![0; 1 << 20])
            } else {
                Bytes::from_static(b"\0\xff\xff\xff\xff")
            };
            self.tally.answer("a giant message", &self.marvin.call(&path, giant).await);
            let game =
                ["x".repeat(60_000), "..".to_owned(), "\u{202e}".to_owned(), "\u{2028}".to_owned()][number % 4].clone();
            let spin = SpinRequest { game, ..bet("odd", &account("marvin", "alice", "EUR"), "0.01") };
            let refused = client.spin(spin, None).await;
            self.tally.answer("odd names", &refused);
            assert!(
                refused.is_err_and(|status| status.message().len() < 1_000),
                "the refusal must not repeat long input"
            );
        }
    }

    async fn great_amounts(self) {
        let Some(mut client) = self.connected(&self.marvin).await else { return };
        let rich = account("marvin", "rich", "EUR");
        let mut number = 0_usize;
        while self.again(20).await {
            number += 1;
            let amount_minor = [DEPOSIT_MAX, DEPOSIT_MAX, GREAT, i64::MAX][number % 4];
            let request_id = format!("great-{number}");
            let deposit = DepositRequest { request_id, account: Some(rich.clone()), amount_minor };
            self.tally.answer("great amounts", &client.ledger.deposit(deposit).await);
            if number.is_multiple_of(40) {
                let forced = |force| Some(force);
                let hit = format!("hit-{number}");
                let mut great = bet(&hit, &rich, "0.20");
                if let Some(stake) = &mut great.stake {
                    stake.coins_per_line = 10;
                }
                let spun = client.spin(great, forced(Force::Pick)).await;
                self.tally.answer("a bet on top", &spun);
                let Ok(spun) = spun else { continue };
                let hit = client.choose(&format!("{hit}.1"), &spun.round_id, vials(), forced(Force::Jackpot)).await;
                self.tally.answer("a jackpot on top", &hit);
            }
        }
    }

    async fn superseded_rules(self) {
        let Some(mut client) = self.connected(&self.mallory).await else { return };
        let older: Vec<_> = games()
            .iter()
            .filter(|game| latest(game.name()).is_some_and(|of| of.rules_version() != game.rules_version()))
            .collect();
        let mut number = 0_usize;
        while self.again(10).await {
            number += 1;
            let game = older[number % older.len()];
            let currency = ["EUR", "SEK", "XTS"][number % 3];
            let stake =
                stake_on(*game, &format!("old-{number}"), &account("mallory", "alice", currency), smallest(*game));
            let spin = SpinRequest { rules_version: game.rules_version().into(), ..stake };
            self.tally.answer("superseded rules", &client.spin(spin, None).await);
        }
    }

    async fn bad_tokens(self) {
        let mut number = 0;
        let Some(_) = self.connected(&self.mallory).await else { return };
        while self.again(1).await {
            let Some(mut client) = self.client(&self.mallory.with(&format!("guess-{number}"))).await else { continue };
            for _ in 0..10 {
                number += 1;
                let listed = client.ledger.list_rounds(ListRoundsRequest::default()).await;
                self.tally.answer("bad tokens", &listed);
                assert!(listed.is_err());
            }
        }
    }
}

fn account(operator: &str, player: &str, currency: &str) -> Account {
    Account { operator_id: operator.into(), player_id: player.into(), currency_code: currency.into() }
}
