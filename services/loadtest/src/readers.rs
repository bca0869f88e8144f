//! Concurrent readers, which read players' histories page by page without pause. A refusal with READS_BUSY is counted and
//! retried after a wait.

use motherlode_proto::{
    ledger::v1::{ListRoundsRequest, ledger_service_client::LedgerServiceClient},
    round::v1::Account,
};
use motherlode_runtime::connect::Connection;
use serde::Serialize;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;
use tonic::Code;

const PAGE: i32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Reads {
    pub readers: usize,
    pub pages: u64,
    pub rounds: u64,
    pub refused: u64,
    pub failed: u64,
}

pub(crate) struct Readers {
    tasks: JoinSet<()>,
    counted: Arc<ReadCounts>,
}

#[derive(Default)]
struct ReadCounts {
    pages: AtomicU64,
    rounds: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

impl Readers {
    pub(crate) fn start(count: usize, connections: &[Connection], accounts: &[Account], game: &str) -> Self {
        let (mut tasks, counted, accounts) =
            (JoinSet::new(), Arc::new(ReadCounts::default()), Arc::new(accounts.to_vec()));
        for (number, connection) in (0..count).zip(connections.iter().cycle()) {
            let ledger = LedgerServiceClient::new(connection.clone()).max_decoding_message_size(64 << 20);
            tasks.spawn(read(ledger, Arc::clone(&accounts), number, game.to_owned(), Arc::clone(&counted)));
        }
        Self { tasks, counted }
    }

    pub(crate) async fn end(mut self) -> Reads {
        let readers = self.tasks.len();
        self.tasks.shutdown().await;
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let ReadCounts { pages, rounds, refused, failed } = &*self.counted;
        Reads { readers, pages: count(pages), rounds: count(rounds), refused: count(refused), failed: count(failed) }
    }
}

async fn read(
    mut ledger: LedgerServiceClient<Connection>,
    accounts: Arc<Vec<Account>>,
    first: usize,
    game: String,
    counted: Arc<ReadCounts>,
) {
    for account in accounts.iter().cycle().skip(first % accounts.len().max(1)) {
        let mut page_token = String::new();
        loop {
            let (account, game, token) = (Some(account.clone()), game.clone(), page_token.clone());
            let request = ListRoundsRequest { account, game, page_size: PAGE, page_token: token };
            match ledger.list_rounds(request).await {
                Ok(answer) => {
                    let page = answer.into_inner();
                    counted.pages.fetch_add(1, Ordering::Relaxed);
                    counted.rounds.fetch_add(page.rounds.len() as u64, Ordering::Relaxed);
                    page_token = page.next_page_token;
                }
                Err(status) => {
                    let of = if status.code() == Code::ResourceExhausted { &counted.refused } else { &counted.failed };
                    of.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
            }
            if page_token.is_empty() {
                break;
            }
        }
    }
}
