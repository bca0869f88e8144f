//! A restore that lost the log's end (PL-28, PL-30): what had been revealed there is never dealt again, a start says what to do,
//! and each draw that is given up is in the books.

use crate::proofs::{in_folder, key_in, signed_in};
use motherlode_books::Event;
use motherlode_ledger::{DrawKeys, Options};
use motherlode_proto::{convert::record::decode, spin::v1::Played};
use motherlode_runtime::Config;
use motherlode_server::{ServeError, Server, log_folder, open_stores};
use motherlode_spin::Dealer;
use motherlode_tests::{Client, EUR, Force, account, bet, checked, scripted};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// With the draw keys in their file, as a process has them.
async fn started(config: &Config) -> Result<Server, ServeError> {
    let keys = DrawKeys::open(&config.draw_key_file().unwrap(), (Options::default().clock)()).unwrap();
    Server::start(config, open_stores(config)?, Options::default(), scripted(Dealer::of(keys))).await
}

async fn plays(config: &Config, rounds: std::ops::Range<u32>) -> Vec<Played> {
    let server = started(config).await.unwrap();
    let (mut client, ann, mut played) = (Client::connect(server.address()).await, account("ann", EUR), vec![]);
    for round in rounds {
        played.push(client.spin(bet(&format!("r{round}"), &ann, "0.05"), Some(Force::Loss)).await.unwrap());
    }
    server.stop().await.unwrap();
    played
}

/// Every file of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn lay(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
}

fn dealt(played: &[Played]) -> BTreeSet<Vec<u8>> {
    played.iter().flat_map(|played| played.dealt.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_what_a_lost_end_had_revealed_is_never_dealt_again() {
    let data = tempfile::tempdir().unwrap();
    let config = in_folder(data.path());
    let (log, keys) = (log_folder(data.path(), 0), config.draw_key_file().unwrap());
    let (mark, proofs_key) = (keys.with_file_name("draws.log-0"), data.path().join("proofs.key"));
    let server = started(&config).await.unwrap();
    Client::connect(server.address()).await.fund("ann", EUR, 1_000_000).await;
    server.stop().await.unwrap();
    plays(&config, 0..5).await;
    let (kept, key) = (files(&log), fs::read(&keys).unwrap());
    let lost = dealt(&plays(&config, 5..15).await);
    let signed = signed_in(data.path());
    assert_eq!(
        (lost.len(), fs::read_to_string(&mark).unwrap().split(' ').next()),
        (10, Some(&*signed.size.to_string()))
    );

    // The start says what is wrong, and what to do.
    let restored = || {
        lay(&log, &kept);
        fs::remove_dir_all(data.path().join("index")).unwrap();
    };
    restored();
    let refused = started(&config).await.err().expect("the log is shorter than what was signed").to_string();
    for said in ["the log ends at", "Bring back the log", &format!("move the key {} away", proofs_key.display())] {
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(fs::read(&keys).unwrap(), key, "what is refused gives nothing up");

    // So it's done: another log from here on, and all that the keys had sealed is given up.
    let old = key_in(data.path(), 0);
    fs::rename(&proofs_key, data.path().join("proofs.key.old")).unwrap();
    let again = plays(&config, 5..20).await;
    assert!(again.len() == 15 && dealt(&again).is_disjoint(&lost), "a value that was revealed is dealt again");
    assert_ne!(key_in(data.path(), 0).name(), old.name(), "nobody takes the one log for the other");
    let aside =
        files(keys.parent().unwrap()).into_iter().find(|(path, _)| path.to_string_lossy().contains("draws.given-up-"));
    assert_eq!(aside.expect("the old keys are kept aside").1, key);
    let events =
        motherlode_log::scan(&log).unwrap().flat_map(|record| decode(&record.unwrap().bytes).unwrap().commit.events);
    let given_up = events.filter(|event| matches!(event, Event::DrawSealed(sealed) if sealed.number > 1)).count();
    assert_eq!(given_up, 1, "the player's one draw, in everybody's sight");
    checked(data.path());
    // Once: what is sealed from then on stays.
    let key = fs::read(&keys).unwrap();
    plays(&config, 20..22).await;
    assert_eq!(fs::read(&keys).unwrap(), key);
}

/// The control: what the mark is for. Without it the same values are dealt to the same player again, who knows them by then.
#[tokio::test(flavor = "multi_thread")]
async fn pl_28_a_log_of_another_history_has_other_keys_whatever_its_length() {
    for with_mark in [true, false] {
        let data = tempfile::tempdir().unwrap();
        let config = in_folder(data.path());
        let (log, keys) = (log_folder(data.path(), 0), config.draw_key_file().unwrap());
        let server = started(&config).await.unwrap();
        Client::connect(server.address()).await.fund("ann", EUR, 1_000_000).await;
        server.stop().await.unwrap();
        let kept = files(&log);
        let lost = dealt(&plays(&config, 0..5).await);
        lay(&log, &kept);
        for beside in ["index", "proofs"] {
            fs::remove_dir_all(data.path().join(beside)).unwrap();
        }
        if !with_mark {
            fs::remove_file(keys.with_file_name("draws.log-0")).unwrap();
        }
        // Longer than the log that was lost.
        let again = dealt(&plays(&config, 0..9).await);
        assert_eq!(again.is_disjoint(&lost), with_mark);
        checked(data.path());
    }
}
