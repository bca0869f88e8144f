use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::{SetExchangeRateRequest, VoidRoundRequest, WithdrawRequest},
    report::v1::{ListRevenueRequest, ListTransactionsRequest, Revenue, Transaction, transaction::Kind},
    round::v1::Account,
};
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_slots::latest;
use motherlode_state::Event;
use motherlode_tests::{
    Client, EUR, Force, Server, audited, bet, campaign, config, free_round, next_choice,
    operators::{Service, operator},
    partitions::settled,
    reason, smallest, stake_on, start_with, vials,
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use tonic::Code;

const DAY_MS: i64 = 86_400_000;
pub const NOON: i64 = 20_777 * DAY_MS + DAY_MS / 2;
pub const DATES: [&str; 3] = ["2026-11-20", "2026-11-21", "2026-11-22"];

pub async fn serve(data: &Path, clock: &Arc<AtomicI64>) -> (Server, Client) {
    let config = Config { partitions: 2, ..config(data) };
    let time = Arc::clone(clock);
    let options = Options::on_clock(move || time.load(Ordering::SeqCst));
    let server = start_with(&config, open_stores(&config).unwrap(), options).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

async fn transactions(client: &mut Client, player: &str, date: &str, page_size: i32) -> Vec<Transaction> {
    let (mut all, mut page_token) = (vec![], String::new());
    loop {
        let request = ListTransactionsRequest {
            operator_id: "acme".into(),
            player_id: player.into(),
            date: date.into(),
            page_size,
            page_token,
            ..Default::default()
        };
        let page = client.report.list_transactions(request).await.unwrap().into_inner();
        assert!(page_size == 0 || page.transactions.len() <= usize::try_from(page_size).unwrap() + 8);
        all.extend(page.transactions);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

async fn revenue(client: &mut Client, from: &str, to: &str, page_size: i32) -> Vec<Revenue> {
    let (mut all, mut page_token) = (vec![], String::new());
    loop {
        let (from_date, to_date) = (from.into(), to.into());
        let request = ListRevenueRequest { from_date, to_date, page_size, page_token, ..Default::default() };
        let page = client.report.list_revenue(request).await.unwrap().into_inner();
        all.extend(page.rows);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

pub async fn play(server: &Server, client: &mut Client, clock: &AtomicI64) {
    let rate = SetExchangeRateRequest {
        request_id: "rate".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.0875".into(),
        source: "ECB".into(),
    };
    client.ledger.set_exchange_rate(rate).await.unwrap();
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let bob = client.fund("bob", EUR, 500_000).await;
    let dora = client.fund("dora", "SEK", 10_000_000).await;
    let neptune = latest("neptune").unwrap();
    let mut first = vec![];
    for day in 0..3 {
        for number in 0..25 {
            let played = client.play_out(bet(&format!("a{day}.{number}"), &alice, "0.10")).await.unwrap();
            first.push(played[0].round_id.clone());
            let stake = stake_on(neptune, &format!("d{day}.{number}"), &dora, smallest(neptune));
            client.play_out(stake).await.unwrap();
        }
        if day == 0 {
            let grant = campaign(neptune, "free", &bob, 5);
            let id = grant.campaign_id.clone();
            client.spin.grant_campaign(grant).await.unwrap();
            for number in 0..3 {
                let played = client.play_out(free_round(neptune, &format!("f{number}"), &bob, &id)).await.unwrap();
                if number == 0 {
                    void(client, &played[0].round_id).await;
                }
            }
            let open = client.spin(bet("open", &bob, "0.10"), Some(Force::Open)).await.unwrap();
            void(client, &open.round_id).await;
            let spun = client.spin(bet("hit", &bob, "0.20"), Some(Force::Pick)).await.unwrap();
            let mut last = client.choose("vials", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
            for step in 1.. {
                let Some(choice) = next_choice(&last) else { break };
                last = client.choose(&format!("on-{step}"), &spun.round_id, choice, None).await.unwrap();
            }
            settled(server.ledgers()).await;
        }
        clock.fetch_add(if day < 2 { DAY_MS } else { 0 }, Ordering::SeqCst);
    }
    void(client, &first[0]).await;
    void(client, &first[70]).await;
    let (request_id, account) = ("out".into(), Some(bob));
    client.ledger.withdraw(WithdrawRequest { request_id, account, amount_minor: 777 }).await.unwrap();
    settled(server.ledgers()).await;
}

async fn void(client: &mut Client, round_id: &str) {
    let (request_id, reason, actor) = (format!("void-{}", round_id.replace('/', "-")), "reel".into(), "ann".into());
    let request = VoidRoundRequest { request_id, round_id: round_id.to_owned(), reason, actor };
    client.ledger.void_round(request).await.unwrap();
}

pub fn counted(server: &Server) -> BTreeMap<(i64, String, String), [i128; 5]> {
    let (mut rounds, mut sums) = (BTreeMap::new(), BTreeMap::<_, [i128; 5]>::new());
    for ledger in server.ledgers().all() {
        for position in 1..=ledger.durable() {
            let logged = ledger.fetch(position).unwrap();
            let commit = &logged.commit;
            for event in &commit.events {
                let (round, of) = match event {
                    Event::RoundStarted(started) => {
                        let bet = (started.game.to_string(), started.currency.to_string());
                        rounds.insert((commit.stream.clone(), started.round), bet);
                        (started.round, [started.charged().0, 0, 0, 0, 0])
                    }
                    Event::RoundSettled { round, win } => (*round, [0, win.0, 0, 0, 0]),
                    Event::JackpotPaid { round, amount, .. } => (*round, [0, 0, amount.0, 0, 0]),
                    Event::RoundVoided { round, refund, win_taken_back, .. } => {
                        (*round, [0, 0, 0, refund.0, win_taken_back.0])
                    }
                    _ => continue,
                };
                let (game, currency) = rounds[&(commit.stream.clone(), round)].clone();
                let sum = sums.entry((commit.time_ms.div_euclid(DAY_MS), game, currency)).or_default();
                sum.iter_mut().zip(of).for_each(|(sum, of)| *sum += i128::from(of));
            }
        }
    }
    sums
}

fn minor(sum: &str) -> i128 {
    sum.parse().unwrap()
}

fn sums(row: &Revenue) -> [i128; 5] {
    let of = [&row.bets_minor, &row.wins_minor, &row.jackpots_minor, &row.refunds_minor, &row.wins_taken_back_minor];
    of.map(|sum| minor(sum))
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_transactions_and_revenue_add_up_to_the_log_page_by_page_and_after_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(NOON));
    let (server, mut client) = serve(data.path(), &clock).await;
    assert_eq!(revenue(&mut client, "", "", 0).await, [], "no activity");
    play(&server, &mut client, &clock).await;

    let all = transactions(&mut client, "", "", 0).await;
    assert_eq!(transactions(&mut client, "", "", 7).await, all, "the pages together equal the whole list");
    let mut players = vec![];
    for (player, currency) in [("alice", EUR), ("bob", EUR), ("dora", "SEK")] {
        let own = transactions(&mut client, player, "", 3).await;
        let is_own = |of: &&Transaction| of.account.as_ref().unwrap().player_id == player;
        assert_eq!(
            own,
            all.iter().filter(is_own).cloned().collect::<Vec<_>>(),
            "a player's list equals the player's part of the whole list"
        );
        let account = Account { operator_id: "acme".into(), player_id: player.into(), currency_code: currency.into() };
        let balance = client.balance(&account).await;
        assert_eq!(own.iter().map(|of| of.amount.as_ref().unwrap().amount_minor).sum::<i64>(), balance, "{player}");
        assert_eq!(
            own[0].balance.as_ref().unwrap().amount_minor,
            balance,
            "the list begins with the latest transaction"
        );
        let mut by_day = vec![];
        for date in DATES.iter().rev() {
            by_day.extend(transactions(&mut client, player, date, 0).await);
        }
        assert_eq!(by_day, own, "the lists of single days together equal the whole list");
        players.extend(own);
    }
    assert_eq!(players.len(), all.len());
    let mut by_day = 0;
    for date in DATES {
        by_day += transactions(&mut client, "", date, 11).await.len();
    }
    assert_eq!(by_day, all.len());
    assert_eq!(transactions(&mut client, "", "2026-11-19", 0).await, []);
    let of = |kind: Kind| all.iter().filter(|of| of.kind() == kind).count();
    assert_eq!((of(Kind::Refund), of(Kind::FreeBetReturned), of(Kind::FreeBet)), (3, 1, 3));
    assert_eq!((of(Kind::Deposit), of(Kind::Withdrawal), of(Kind::Jackpot)), (3, 1, 1));

    let rows = revenue(&mut client, "", "", 0).await;
    assert_eq!(revenue(&mut client, "", "", 1).await, rows, "the pages together equal the whole report");
    let found: BTreeMap<_, _> = rows
        .iter()
        .map(|row| {
            let day = 20_777 + i64::try_from(DATES.iter().position(|date| *date == row.date).unwrap()).unwrap();
            ((day, row.game.clone(), row.currency_code.clone()), sums(row))
        })
        .collect();
    assert_eq!(found, counted(&server));
    for row in &rows {
        let [bets, wins, _, refunds, taken_back] = sums(row);
        assert_eq!(minor(&row.revenue_minor), bets - refunds - wins + taken_back);
        assert_eq!((row.operator_id.as_str(), row.currency_digits), ("acme", 2));
    }
    let second = revenue(&mut client, DATES[1], DATES[1], 0).await;
    assert_eq!(second, rows.iter().filter(|row| row.date == DATES[1]).cloned().collect::<Vec<_>>());
    assert_eq!(revenue(&mut client, DATES[2], DATES[1], 0).await, []);
    server.stop().await.unwrap();

    let (server, mut client) = serve(data.path(), &clock).await;
    assert_eq!(revenue(&mut client, "", "", 0).await, rows, "the report rebuilt from the log is the same");
    assert_eq!(transactions(&mut client, "", "", 0).await, all);
    server.stop().await.unwrap();

    let whole = audited(data.path(), 2);
    let (returns, voids) = (whole.returns(), whole.voids());
    let total = |sum: fn(&Revenue) -> i128| rows.iter().map(sum).sum::<i128>();
    assert_eq!(total(|row| minor(&row.wins_minor)), returns.iter().map(|of| of.wins).sum::<i128>());
    let bets = returns.iter().map(|of| of.bets).sum::<i128>();
    assert_eq!(total(|row| minor(&row.bets_minor) + minor(&row.free_bets_minor)), bets);
    assert_eq!(total(|row| minor(&row.free_bets_minor)), returns.iter().map(|of| of.free_bets).sum::<i128>());
    assert_eq!(total(|row| minor(&row.refunds_minor)), voids.iter().map(|(_, of)| of.refunds).sum::<i128>());
    let taken_back = voids.iter().map(|(_, of)| of.wins_taken_back).sum::<i128>();
    assert_eq!(total(|row| minor(&row.wins_taken_back_minor)), taken_back);
    let voided = voids.iter().map(|(_, of)| of.rounds).sum::<u64>();
    assert_eq!(rows.iter().map(|row| row.voided_rounds).sum::<u64>(), voided);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_pl_27_lists_have_nothing_of_another_operator_and_refuse_what_is_malformed() {
    let all = r#"["play", "wallet", "support", "audit"]"#;
    let text = operator("acme", &[("acme", all)])
        + &operator("other", &[("other", all)])
        + &operator("platform", &[("platform", r#"["audit"]"#)]);
    let service = Service::start(&text).await;
    let (mut acme, mut other) = (service.client("acme").await, service.client("other").await);
    let mut platform = service.client("platform").await;
    let alice = acme.fund("alice", EUR, 10_000).await;
    acme.play_out(bet("a", &alice, "0.10")).await.unwrap();
    let own = Account { operator_id: "other".into(), ..alice.clone() };
    other.fund_account(&own, 20_000).await;
    other.play_out(bet("a", &own, "0.10")).await.unwrap();

    for (client, operators) in [(&mut acme, vec!["acme"]), (&mut other, vec!["other"])] {
        let rows = client.report.list_revenue(ListRevenueRequest::default()).await.unwrap().into_inner().rows;
        assert_eq!(rows.iter().map(|row| row.operator_id.as_str()).collect::<Vec<_>>(), operators);
    }
    let rows = platform.report.list_revenue(ListRevenueRequest::default()).await.unwrap().into_inner().rows;
    assert_eq!(rows.iter().map(|row| row.operator_id.as_str()).collect::<Vec<_>>(), ["acme", "other"]);
    let of_acme = ListRevenueRequest { operator_id: "acme".into(), ..Default::default() };
    assert_eq!(other.report.list_revenue(of_acme).await.unwrap().into_inner().rows, []);

    let asked = |operator: &str, player: &str, page_token: &str| ListTransactionsRequest {
        operator_id: operator.into(),
        player_id: player.into(),
        page_token: page_token.into(),
        ..Default::default()
    };
    assert_eq!(other.report.list_transactions(asked("acme", "", "")).await.unwrap().into_inner().transactions, []);
    assert_eq!(platform.report.list_transactions(asked("acme", "", "")).await.unwrap().into_inner().transactions, []);
    let refused = other.report.list_transactions(asked("acme", "alice", "")).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::NotFound, "ACCOUNT_UNKNOWN"));
    for position in 1..=service.server.ledger().durable() {
        for player in ["", "alice"] {
            let page = acme.report.list_transactions(asked("acme", player, &format!("0.{position}"))).await;
            let Ok(page) = page else { continue };
            let accounts = page.into_inner().transactions.into_iter().filter_map(|of| of.account);
            assert!(accounts.into_iter().all(|account| account.operator_id == "acme"));
        }
    }
    for bad in ["0", "7.1", "0.0", "x", "0.1.2", "0.99999"] {
        let refused = acme.report.list_transactions(asked("acme", "alice", bad)).await.unwrap_err();
        assert_eq!((refused.code(), &*reason(&refused)), (Code::InvalidArgument, "INVALID_FIELD"), "{bad}");
    }
    for page_token in ["x", "2026-11-20", "2026-11-20/acme/neptune/XXX", "2026-11-20/acme/neptune/EUR/x", "//"] {
        let request = ListRevenueRequest { page_token: page_token.into(), ..Default::default() };
        let refused = acme.report.list_revenue(request).await.unwrap_err();
        assert_eq!((refused.code(), &*reason(&refused)), (Code::InvalidArgument, "INVALID_FIELD"), "{page_token}");
    }
    for date in ["2026-02-30", "today", "2026-1-1"] {
        let request = ListTransactionsRequest { date: date.into(), ..asked("acme", "", "") };
        let refused = acme.report.list_transactions(request).await.unwrap_err();
        assert_eq!((refused.code(), &*reason(&refused)), (Code::InvalidArgument, "INVALID_FIELD"), "{date}");
    }
}
