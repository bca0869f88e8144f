use crate::PROGRAM;
use motherlode_audit::Comparison;
use motherlode_proto::{
    jackpot::v1::{Award, ListAwardsRequest},
    ledger::v1::{ListRoundsRequest, SetExchangeRateRequest},
    report::v1::{
        ListReturnsRequest, ListSignificantEventsRequest, Return, SignificantEvent,
        report_service_client::ReportServiceClient,
    },
    round::v1::{Account, Round},
};
use motherlode_server::{index_folder, log_folder};
use motherlode_slots::latest;
use motherlode_tests::{
    Client, EUR, Force, Process, bet, config, partitions::settled, reason, smallest, stake_on, start, vials,
};
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

async fn play(data: &Path, name: &str, rounds: usize) {
    let server = start(data).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let neptune = latest("neptune").unwrap();
    for number in 0..rounds {
        client.play_out(bet(&format!("{name}-b{number}"), &account, "0.10")).await.unwrap();
        let stake = stake_on(neptune, &format!("{name}-n{number}"), &account, smallest(neptune));
        client.play_out(stake).await.unwrap();
    }
    let spun = client.spin(bet(&format!("{name}-hit"), &account, "0.20"), Some(Force::Pick)).await.unwrap();
    let (won, forced) = (format!("{name}-won"), Some(Force::Jackpot));
    let mut last = client.choose(&won, &spun.round_id, vials(), forced).await.unwrap();
    for step in 1.. {
        let Some(choice) = motherlode_tests::next_choice(&last) else { break };
        last = client.choose(&format!("{won}-{step}"), &spun.round_id, choice, None).await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();
}

type Lists = (Vec<Round>, Vec<Award>, Vec<SignificantEvent>, Vec<Return>);

async fn lists(data: &Path) -> Lists {
    let server = start(data).await;
    let lists = listed(server.address()).await;
    server.stop().await.unwrap();
    lists
}

async fn listed(address: SocketAddr) -> Lists {
    let mut client = Client::connect(address).await;
    let (mut rounds, mut awards) = (vec![], vec![]);
    for game in ["", "bewitched", "neptune"] {
        let mut request = ListRoundsRequest { account: Some(alice()), game: game.to_owned(), ..Default::default() };
        loop {
            let page = client.ledger.list_rounds(request.clone()).await.unwrap().into_inner();
            rounds.extend(page.rounds);
            request.page_token = page.next_page_token;
            if request.page_token.is_empty() {
                break;
            }
        }
    }
    let mut request = ListAwardsRequest { pool_id: "bewitched".to_owned(), page_size: 1, ..Default::default() };
    loop {
        let page = client.jackpot.list_awards(request.clone()).await.unwrap().into_inner();
        awards.extend(page.awards);
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    let mut reports = ReportServiceClient::connect(format!("http://{address}")).await.unwrap();
    let request = ListSignificantEventsRequest { page_size: 500, ..Default::default() };
    let events = loop {
        match reports.list_significant_events(request.clone()).await {
            Ok(answer) => break answer.into_inner().events,
            Err(status) => assert_eq!(reason(&status), "EVENTS_UNREADABLE", "{status}"),
        }
    };
    let returns = reports.list_returns(ListReturnsRequest::default()).await.unwrap().into_inner().returns;
    (rounds, awards, events, returns)
}

fn alice() -> Account {
    Account { operator_id: "acme".to_owned(), player_id: "alice".to_owned(), currency_code: EUR.to_owned() }
}

fn views(data: &Path, partition: u32) -> PathBuf {
    index_folder(data, partition).with_extension("views")
}

fn saved(data: &Path) -> TempDir {
    let kept = tempfile::tempdir().unwrap();
    for partition in 0..config(data).partitions {
        copy(&views(data, partition), &views(kept.path(), partition));
    }
    kept
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

struct Logs {
    data: TempDir,
    oldest: TempDir,
    older: TempDir,
    newest: TempDir,
    others: TempDir,
}

impl Logs {
    async fn new() -> Self {
        let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut stops = vec![];
        for name in ["one", "two", "three"] {
            play(data.path(), name, 8).await;
            stops.push(saved(data.path()));
        }
        play(other.path(), "other", 5).await;
        let [oldest, older, newest] = <[TempDir; 3]>::try_from(stops).unwrap();
        Self { data, oldest, older, newest, others: saved(other.path()) }
    }

    fn change(&self, change: impl Fn(&Path, &dyn Fn(&TempDir) -> PathBuf)) {
        for partition in 0..config(self.data.path()).partitions {
            let folder = views(self.data.path(), partition);
            fs::remove_dir_all(&folder).unwrap();
            copy(&views(self.newest.path(), partition), &folder);
            change(&folder, &|kept| views(kept.path(), partition));
        }
    }

    fn kept(&self, name: &str) -> &TempDir {
        match name {
            "older" => &self.older,
            "oldest" => &self.oldest,
            "other" => &self.others,
            _ => &self.newest,
        }
    }

    fn check(&self, what: &str) {
        for partition in 0..config(self.data.path()).partitions {
            let options = motherlode_audit::Options {
                log: log_folder(self.data.path(), partition),
                index: Some(index_folder(self.data.path(), partition)),
                partition,
                ..motherlode_audit::Options::default()
            };
            let report = motherlode_audit::audit(&options).unwrap();
            assert_eq!(report.divergence, None, "{what}");
            let compared = matches!(report.index, Comparison::Compared { .. });
            assert!(compared, "{what}: {:?}", report.index);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a4_lists_answer_alike_whatever_catalogue_stands_beside_whatever_checkpoint() {
    let logs = Logs::new().await;
    let expected = lists(logs.data.path()).await;
    assert_eq!((expected.0.len(), expected.1.len()), (2 * 3 * 17, 3));
    assert!(!expected.2.is_empty() && !expected.3.is_empty());
    for catalogue in ["newest", "older", "other", "emptied", "deleted"] {
        for checkpoints in ["newest", "older", "oldest", "other", "deleted"] {
            logs.change(|folder, counterpart| {
                let kept = |name: &str| counterpart(logs.kept(name));
                fs::remove_dir_all(folder.join("catalogue")).unwrap();
                match catalogue {
                    "deleted" => {}
                    "emptied" => fs::create_dir(folder.join("catalogue")).unwrap(),
                    name => copy(&kept(name).join("catalogue"), &folder.join("catalogue")),
                }
                for of in ["checkpoints", "tables"] {
                    fs::remove_dir_all(folder.join(of)).unwrap();
                    if checkpoints != "deleted" && kept(checkpoints).join(of).exists() {
                        copy(&kept(checkpoints).join(of), &folder.join(of));
                    }
                }
            });
            let what = format!("catalogue: {catalogue}, checkpoints: {checkpoints}");
            assert_eq!(lists(logs.data.path()).await, expected, "{what}");
            logs.check(&what);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a4_lists_answer_alike_when_single_files_of_the_views_are_cut_garbled_or_gone() {
    let logs = Logs::new().await;
    let expected = lists(logs.data.path()).await;
    for file in ["catalogue/db", "checkpoints", "tables"] {
        for how in ["half", "empty", "gone", "garbled"] {
            logs.change(|folder, _| {
                let path = folder.join(file);
                let files = match path.is_dir() {
                    true => fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect(),
                    false => vec![path],
                };
                for path in files {
                    let mut bytes = fs::read(&path).unwrap();
                    let middle = bytes.len() / 2;
                    match how {
                        "half" => fs::write(path, &bytes[..middle]).unwrap(),
                        "empty" => fs::write(path, "").unwrap(),
                        "gone" => fs::remove_file(path).unwrap(),
                        _ => {
                            bytes[middle] ^= 1;
                            fs::write(path, bytes).unwrap();
                        }
                    }
                }
            });
            let what = format!("{file}: {how}");
            assert_eq!(lists(logs.data.path()).await, expected, "{what}");
            logs.check(&what);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a4_lists_after_kills_are_those_of_the_log_alone() {
    let data = tempfile::tempdir().unwrap();
    for turn in 0..10 {
        let process = Process::start(PROGRAM, data.path(), None);
        let mut client = Client::connect(process.address).await;
        let account = client.fund("alice", EUR, 1_000_000).await;
        client.play_out(bet(&format!("b{turn}"), &account, "0.10")).await.unwrap();
        let rate = SetExchangeRateRequest {
            request_id: format!("r{turn}"),
            currency_code: "SEK".into(),
            eur_per_unit: format!("0.{}", 10 + turn),
            source: "ECB".into(),
        };
        client.ledger.set_exchange_rate(rate).await.unwrap();
        match turn % 3 {
            0 => assert_eq!(process.terminate().await, Some(0)),
            _ => process.kill(),
        }
    }
    let process = Process::start(PROGRAM, data.path(), None);
    let found = listed(process.address).await;
    assert_eq!(process.terminate().await, Some(0));
    assert!(found.0.len() == 2 * 10 && found.2.len() >= 10, "{} rounds, {} events", found.0.len(), found.2.len());
    fs::remove_dir_all(views(data.path(), 0)).unwrap();
    let process = Process::start(PROGRAM, data.path(), None);
    assert_eq!(listed(process.address).await, found);
    assert_eq!(process.terminate().await, Some(0));
}
