use crate::Client;
use motherlode_proto::{
    jackpot::v1::{GetPoolRequest, ListAwardsRequest},
    ledger::v1::{GetAccountRequest, ListCollectionsRequest, ListRoundsRequest},
    report::v1::{GetPoolStatementRequest, ListReturnsRequest},
    round::v1::Account,
    spin::v1::ListOpenRoundsRequest,
};
use std::{collections::BTreeMap, fmt::Debug};

const PAGE: i32 = 100;

pub type Answers = BTreeMap<String, String>;

pub async fn of_players(client: &mut Client, accounts: &[Account]) -> Answers {
    let mut answers = Answers::new();
    for account in accounts {
        let (name, of) = (&account.player_id, Some(account.clone()));
        let mut note =
            |what: &str, answer: &dyn Debug| answers.insert(format!("{name}: {what}"), format!("{answer:?}"));
        let answer = client.ledger.get_account(GetAccountRequest { account: of.clone() }).await;
        let answer = answer.expect("the account exists").into_inner();
        note("account", &(answer.balance, answer.open_round_ids));
        let (mut rounds, mut page_token) = (vec![], String::new());
        loop {
            let (account, game) = (of.clone(), String::new());
            let request = ListRoundsRequest { account, game, page_size: PAGE, page_token };
            let answer = client.ledger.list_rounds(request).await.expect("rounds are listed").into_inner();
            rounds.extend(answer.rounds);
            page_token = answer.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        note("rounds", &rounds);
        let request = ListCollectionsRequest { account: of, game: String::new() };
        let answer = client.ledger.list_collections(request).await.expect("collections are listed").into_inner();
        note("collections", &answer.collections);
        let (operator_id, player_id) = (account.operator_id.clone(), name.clone());
        let request =
            ListOpenRoundsRequest { operator_id, player_id, page_size: PAGE, ..ListOpenRoundsRequest::default() };
        let answer = client.spin.list_open_rounds(request).await.expect("open rounds are listed").into_inner();
        note("open rounds", &answer);
    }
    answers
}

pub async fn of_house(client: &mut Client, pool_id: &str, date: &str) -> Answers {
    let pool = || pool_id.to_owned();
    let mut answers = Answers::new();
    let mut note = |what: &str, answer: &dyn Debug| answers.insert(what.to_owned(), format!("{answer:?}"));
    let answer = client.jackpot.get_pool(GetPoolRequest { pool_id: pool() }).await;
    note("pool", &answer.expect("the pool exists").into_inner());
    let request = ListAwardsRequest { pool_id: pool(), page_size: PAGE, ..ListAwardsRequest::default() };
    note("awards", &client.jackpot.list_awards(request).await.expect("awards are listed").into_inner());
    let request = GetPoolStatementRequest { pool_id: pool(), date: date.to_owned() };
    let mut answer = client.report.get_pool_statement(request).await.expect("a statement").into_inner();
    answer.position = 0;
    note("statement", &answer);
    let answer = client.report.list_returns(ListReturnsRequest::default()).await.expect("returns are listed");
    note("returns", &answer.into_inner().returns);
    answers
}
