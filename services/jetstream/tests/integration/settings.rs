use motherlode_jetstream::{JetStreamStore, OpenError};
use motherlode_runtime::config::{AllowUnsafe, Store as Config};
use motherlode_testkit::nats::Node;

fn refused(config: &Config) -> &'static str {
    match JetStreamStore::open(config, 0) {
        Err(OpenError::Unsafe(refused)) => {
            assert!(refused.to_string().contains(&format!("[store.allow_unsafe] {} = true", refused.key)));
            refused.key
        }
        other => panic!("{other:?}"),
    }
}

fn api(node: &Node, call: &'static str, body: &'static str) {
    let url = node.url().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let client = async_nats::connect(url).await.unwrap();
        let answer = client.request(format!("$JS.API.{call}"), body.into()).await.unwrap();
        let answer = String::from_utf8(answer.payload.to_vec()).unwrap();
        assert!(!answer.contains("\"error\""), "{answer}");
    });
}

#[test]
fn a_server_that_does_not_sync_always_or_cannot_be_seen_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lazy = Node::start_lazy(folder.path());
    let config = lazy.config("S");
    assert_eq!(refused(&config), "sync_interval");
    assert_eq!(refused(&Config { monitor: vec![], ..config.clone() }), "sync_interval");
    let allowed = AllowUnsafe { sync_interval: true, ..config.allow_unsafe };
    JetStreamStore::open(&Config { allow_unsafe: allowed, ..config }, 0).unwrap();
}

#[test]
fn a_server_that_syncs_always_is_believed_only_by_its_own_page() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let lazy = Node::start_lazy(folder.path());
    let always = Node::start(elsewhere.path(), "");
    JetStreamStore::open(&always.config("S"), 0).unwrap();
    let monitor = vec![always.monitor().to_owned()];
    assert_eq!(refused(&Config { monitor, ..lazy.config("S") }), "sync_interval");
    let nowhere = vec!["http://127.0.0.1:1".to_owned()];
    assert_eq!(refused(&Config { monitor: nowhere, ..always.config("S") }), "sync_interval");
}

#[test]
fn fewer_than_three_replicas_and_small_messages_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), "");
    let config = node.config("S");
    assert_eq!(refused(&Config { allow_unsafe: AllowUnsafe::default(), ..config.clone() }), "replicas");
    let three = Config { replicas: 3, allow_unsafe: AllowUnsafe::default(), ..config };
    assert!(matches!(JetStreamStore::open(&three, 0), Err(OpenError::Api { .. })));

    let folder = tempfile::tempdir().unwrap();
    let small = Node::start(folder.path(), "max_payload: 1MB");
    let config = small.config("S");
    assert_eq!(refused(&config), "max_payload");
    let allowed = AllowUnsafe { max_payload: true, ..config.allow_unsafe };
    JetStreamStore::open(&Config { allow_unsafe: allowed, ..config }, 0).unwrap();
}

#[test]
fn a_stream_that_somebody_made_otherwise_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), "");
    let memory = r#"{"name":"M_0","subjects":["M_0.>"],"storage":"memory","num_replicas":1,"discard":"new","deny_delete":true,"deny_purge":true,"allow_direct":true}"#;
    api(&node, "STREAM.CREATE.M_0", memory);
    let config = node.config("M");
    assert_eq!(refused(&config), "storage");
    let allowed = AllowUnsafe { storage: true, ..config.allow_unsafe };
    JetStreamStore::open(&Config { allow_unsafe: allowed, ..config }, 0).unwrap();

    let old =
        r#"{"name":"O_0","subjects":["O_0.>"],"storage":"file","num_replicas":1,"discard":"old","allow_direct":true}"#;
    api(&node, "STREAM.CREATE.O_0", old);
    match JetStreamStore::open(&node.config("O"), 0) {
        Err(OpenError::Stream { stream, fault }) => {
            assert_eq!(stream, "O_0");
            assert!(fault.starts_with("deny_delete is") || fault.starts_with("discard is"), "{fault}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_there_is_an_error_with_the_address() {
    let config = Config::default().at("nats://127.0.0.1:1").unwrap();
    let error = JetStreamStore::open(&config, 0).unwrap_err().to_string();
    assert!(error.starts_with("cannot connect to nats://127.0.0.1:1"), "{error}");
}
