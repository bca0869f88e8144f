use crate::proofs::{in_folder, key_in, played, signed_in, started};
use motherlode_proofs::{Files, load, make, of_partition, proofs_folder};
use motherlode_runtime::Config;
use motherlode_state::HOME;
use motherlode_tiles::KeyKind;
use std::fs;

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_log_that_a_key_signed_gets_another_key_only_on_request() {
    let data = tempfile::tempdir().unwrap();
    let (mut config, file) = (in_folder(data.path()), data.path().join("proofs.key"));
    config.proofs.accept_new_key = false;
    played(&config, 3).await;
    let (signed, first) = (signed_in(data.path()), key_in(data.path(), HOME));
    let refused = async |config: &Config| started(config).await.err().expect("the start is refused").to_string();
    fs::rename(&file, data.path().join("kept.key")).unwrap();
    let [index, aside] = ["index", "index.aside"].map(|name| data.path().join(name));
    fs::rename(&index, &aside).unwrap();
    let error = refused(&config).await;
    assert!(error.contains(&format!("the log has records up to position {}, and the key", signed.size)), "{error}");
    assert!(!index.exists(), "the start is refused before it replays the log");
    fs::rename(&aside, &index).unwrap();
    assert!(error.contains("serve --new-log-key") && !file.exists(), "{error}");
    // Without the checkpoint, the log's records alone must cause the start to be refused.
    let folder = proofs_folder(data.path(), HOME);
    fs::rename(&folder, data.path().join("aside")).unwrap();
    assert!(
        refused(&config).await.contains("the log has records"),
        "the start is refused even without the tree's folder"
    );
    fs::remove_dir_all(&folder).ok();
    fs::rename(data.path().join("aside"), &folder).unwrap();
    config.proofs.key_file = Some(data.path().join("new.key"));
    let name = load(&data.path().join("kept.key")).unwrap().verifier().name().to_owned();
    make(&data.path().join("new.key"), Some(&name), KeyKind::Log).unwrap();
    let error = refused(&config).await;
    assert!(error.contains("was not signed with the key in") && error.contains("new.key"), "{error}");
    assert_eq!(Files::checkpoint(&folder, &first).unwrap().unwrap().0, signed, "the checkpoint is unchanged");
    config.proofs.accept_new_key = true;
    started(&config).await.unwrap().stop().await.unwrap();
    let second = of_partition(load(&data.path().join("new.key")).unwrap().verifier(), HOME).unwrap();
    assert!(Files::checkpoint(&folder, &second).unwrap().unwrap().0.size > signed.size);
    config.proofs.accept_new_key = false;
    started(&config).await.unwrap().stop().await.unwrap();
}
