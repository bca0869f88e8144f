use super::{
    scripted::End,
    world::{World, serve},
};
use crate::archive::printed;
use motherlode_tests::{Client, Force, audited, bet};
use serde_json::Value;
use std::{collections::BTreeSet, fs};

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_wallet_transactions_after_a_restore_differ_from_the_undone_ones() {
    let world = World::in_folder(1).await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 100_000).await;
    for round in 0..6 {
        client.spin(bet(&format!("before-{round}"), &alice, "0.10"), Some(Force::Loss)).await.unwrap();
    }
    world.settled(&["alice"]).await;
    let position = world.server.ledger().durable().to_string();
    let before: BTreeSet<_> = world.wallet.books().transactions.keys().cloned().collect();
    let play = async |client: &mut Client| {
        for round in 0..20 {
            client.play_out(bet(&format!("after-{round}"), &alice, "0.10")).await.unwrap();
        }
    };
    play(&mut client).await;
    world.settled(&["alice"]).await;
    let both: BTreeSet<_> = world.wallet.books().transactions.keys().cloned().collect();
    let (balance, applied) = (world.wallet.balance("alice"), world.wallet.books().transactions.clone());
    let at = tempfile::tempdir().unwrap();
    let [archive, target, undone] = ["archive", "target", "undone"].map(|name| at.path().join(name));
    let World { server, wallet, clock, config, log, data } = world;
    server.stop().await.unwrap();
    let to = archive.to_str().unwrap();
    printed(&["archive", "--from", log.to_str().unwrap(), "--to", to]);
    let restore = ["restore", "--from", to, "--to", target.to_str().unwrap(), "--position", &position];
    let text = printed(&[&restore[..], &["--undone", undone.to_str().unwrap()]].concat());
    assert!(text.contains("the restored log lacks 20 debits for the wallet of acme"), "{text}");

    let lines: Vec<Value> =
        fs::read_to_string(&undone).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: BTreeSet<_> = lines.iter().map(|line| line["transaction_id"].as_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<_> = both.difference(&before).filter(|id| !id.starts_with("close/")).cloned().collect();
    assert_eq!(ids, expected, "each undone transaction is listed");
    assert!(lines.iter().all(|line| line["confirmed"] == true && line["repeated"] == false), "{lines:?}");
    for line in &lines {
        let amount = line["amount_minor"].as_i64().unwrap();
        let moved = if line["kind"] == "debit" { -amount } else { amount };
        assert_eq!(applied[line["transaction_id"].as_str().unwrap()].amount, moved, "{line}");
    }

    let (keys, key) = (data.path().join("keys"), data.path().join("proofs.key"));
    fs::create_dir_all(target.join("keys")).unwrap();
    for entry in fs::read_dir(keys).into_iter().flatten() {
        let path = entry.unwrap().path();
        fs::copy(&path, target.join("keys").join(path.file_name().unwrap())).unwrap();
    }
    fs::copy(key, target.join("proofs.key")).unwrap();
    let mut config = config;
    config.data.clone_from(&target);
    let server = serve(&config, &clock).await;
    let world = World { server, wallet, clock, config, log: target.clone(), data };
    let mut client = world.client("acme").await;
    play(&mut client).await;
    world.settled(&["alice"]).await;
    let after: BTreeSet<_> = world.wallet.books().transactions.keys().cloned().collect();
    let new: Vec<_> = after.difference(&both).collect();
    let prefix = format!("r{}/", world.server.ledger().restores().current());
    assert!(new.len() >= 20 && new.iter().all(|id| id.starts_with(&prefix)), "{new:?}");
    assert!(
        (0..20).all(|round| world.wallet.end(&format!("{prefix}debit/acme/alice/after-{round}")) == Some(End::Applied))
    );
    let made: i64 = new.iter().map(|id| world.wallet.books().transactions[*id].amount).sum();
    assert_eq!(world.wallet.balance("alice") - balance, made, "the wallet has made the new transactions");
    world.server.stop().await.unwrap();
    audited(&target, 1);
}
