use motherlode_audit::Comparison;
use motherlode_ledger::index::Index;
use motherlode_proto::{
    jackpot::v1::{Award, ListAwardsRequest},
    ledger::v1::ListRoundsRequest,
    round::v1::{Account, Round},
};
use motherlode_server::{index_folder, log_folder};
use motherlode_slots::latest;
use motherlode_tests::{Client, EUR, Force, bet, config, partitions::settled, smallest, stake_on, start, vials};
use std::{
    fs,
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

async fn lists(data: &Path) -> (Vec<Round>, Vec<Award>) {
    let server = start(data).await;
    let mut client = Client::connect(server.address()).await;
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
    server.stop().await.unwrap();
    (rounds, awards)
}

fn alice() -> Account {
    Account { operator_id: "acme".to_owned(), player_id: "alice".to_owned(), currency_code: EUR.to_owned() }
}

fn indexes(data: &Path) -> Vec<PathBuf> {
    (0..config(data).partitions).map(|partition| index_folder(data, partition)).collect()
}

fn saved(data: &Path) -> TempDir {
    let kept = tempfile::tempdir().unwrap();
    for (from, to) in indexes(data).iter().zip(indexes(kept.path())) {
        copy(from, &to);
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
        for (partition, folder) in (0..).zip(indexes(self.data.path())) {
            fs::remove_dir_all(&folder).unwrap();
            copy(&index_folder(self.newest.path(), partition), &folder);
            change(&folder, &|kept| index_folder(kept.path(), partition));
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
            let kept = Index::open(&index_folder(self.newest.path(), partition)).unwrap();
            let expected = kept.balances().count() as u64;
            kept.close().unwrap();
            if options.log.exists() {
                let report = motherlode_audit::audit(&options).unwrap();
                assert_eq!(report.divergence, None, "{what}");
                let compared = matches!(report.index, Comparison::Compared { balances, .. } if balances == expected);
                assert!(compared, "{what}: {:?} of {expected}", report.index);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a4_lists_answer_alike_whatever_sled_folder_stands_beside_whatever_mark() {
    let logs = Logs::new().await;
    let expected = lists(logs.data.path()).await;
    assert_eq!((expected.0.len(), expected.1.len()), (2 * 3 * 17, 3));
    for sled in ["newest", "older", "oldest", "other", "emptied", "deleted", "new"] {
        for held in ["newest", "older", "oldest", "other", "deleted"] {
            logs.change(|folder, counterpart| {
                let kept = |name: &str| {
                    counterpart(match name {
                        "older" => &logs.older,
                        "oldest" => &logs.oldest,
                        "other" => &logs.others,
                        _ => &logs.newest,
                    })
                };
                fs::remove_dir_all(folder.join("sled")).unwrap();
                match sled {
                    "deleted" => {}
                    "emptied" => fs::create_dir(folder.join("sled")).unwrap(),
                    "new" => Index::open(folder).unwrap().close().unwrap(),
                    name => copy(&kept(name).join("sled"), &folder.join("sled")),
                }
                fs::remove_file(folder.join("held")).unwrap();
                let mark = kept(held).join("held");
                if held != "deleted" && mark.exists() {
                    fs::copy(mark, folder.join("held")).unwrap();
                }
            });
            let what = format!("sled: {sled}, held: {held}");
            assert_eq!(lists(logs.data.path()).await, expected, "{what}");
            logs.check(&what);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a4_lists_answer_alike_when_single_files_of_sled_are_older_cut_or_gone() {
    let logs = Logs::new().await;
    let expected = lists(logs.data.path()).await;
    let is_table = |name: &str| name.starts_with("snap.");
    for (what, of) in [("db", 0), ("tables", 1)] {
        for how in ["older", "oldest", "other", "half", "empty", "gone"] {
            logs.change(|folder, counterpart| {
                let sled = folder.join("sled");
                let names = |sled: &Path| {
                    let all = fs::read_dir(sled).unwrap().map(|of| of.unwrap().file_name().into_string().unwrap());
                    all.filter(|name| if of == 0 { name == "db" } else { is_table(name) }).collect::<Vec<_>>()
                };
                let from = match how {
                    "older" => &logs.older,
                    "oldest" => &logs.oldest,
                    _ => &logs.others,
                };
                let from = counterpart(from).join("sled");
                for name in names(&sled) {
                    let path = sled.join(name);
                    let bytes = fs::read(&path).unwrap();
                    match how {
                        "half" => fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
                        "empty" => fs::write(path, "").unwrap(),
                        _ => fs::remove_file(path).unwrap(),
                    }
                }
                if matches!(how, "older" | "oldest" | "other") {
                    for name in names(&from) {
                        fs::copy(from.join(&name), sled.join(&name)).unwrap();
                    }
                }
            });
            let what = format!("{what}: {how}");
            assert_eq!(lists(logs.data.path()).await, expected, "{what}");
            logs.check(&what);
        }
    }
}
