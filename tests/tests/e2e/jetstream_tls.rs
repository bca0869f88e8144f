use crate::PROGRAM;
use data_encoding::BASE64URL_NOPAD;
use motherlode_testkit::nats::Node;
use motherlode_tests::{Client, Player, Process, operators::Certificates, serving, until};
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

fn signed(by: &KeyPair, who: &KeyPair, kind: &str, more: Value) -> String {
    let part = |value: Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let mut nats = more;
    (nats["type"], nats["version"]) = (json!(kind), json!(2));
    let header = part(json!({ "typ": "JWT", "alg": "ed25519-nkey" }));
    let claims = json!({ "jti": who.public_key(), "iat": 0, "iss": by.public_key(), "sub": who.public_key(), "name": kind, "nats": nats });
    let text = format!("{header}.{}", part(claims));
    let signature = BASE64URL_NOPAD.encode(&by.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

struct Accounts {
    settings: String,
    account: KeyPair,
}

impl Accounts {
    fn new() -> Self {
        let (operator, system, account) = (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
        let all = json!({ "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
            "conn": -1, "leaf": -1 });
        let mut stored = all.clone();
        for limit in ["mem_storage", "disk_storage", "streams", "consumer"] {
            stored[limit] = json!(-1);
        }
        let of = |account: &KeyPair, limits: &Value| {
            format!("{}: {}", account.public_key(), signed(&operator, account, "account", json!({ "limits": limits })))
        };
        let settings = format!(
            "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{\n{}\n{}\n}}\n",
            signed(&operator, &operator, "operator", json!({ "system_account": system.public_key() })),
            system.public_key(),
            of(&system, &all),
            of(&account, &stored)
        );
        Self { settings, account }
    }

    fn user(&self, file: &Path, signer: Option<&KeyPair>) -> PathBuf {
        self.user_with(file, signer, json!({ "pub": {}, "sub": {} }))
    }

    fn user_with(&self, file: &Path, signer: Option<&KeyPair>, permissions: Value) -> PathBuf {
        let user = KeyPair::new_user();
        let mut claims = permissions;
        for limit in ["subs", "data", "payload"] {
            claims[limit] = json!(-1);
        }
        let jwt = signed(signer.unwrap_or(&self.account), &user, "user", claims);
        let seed = user.seed().unwrap();
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        fs::write(file, text).unwrap();
        file.to_owned()
    }
}

struct Protected {
    folder: tempfile::TempDir,
    node: Node,
    accounts: Accounts,
}

impl Protected {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let _certificates = Certificates::make(folder.path());
        let path = |name: &str| folder.path().join(name).display().to_string();
        let accounts = Accounts::new();
        // The server's own timeouts of 2 and 3 seconds would end connections of a machine that is busy with other
        // tests.
        let more = format!(
            "tls {{ cert_file: {:?}, key_file: {:?}, timeout: 60 }}\nauthorization {{ timeout: 60 }}\n{}",
            path("service.pem"),
            path("service.key"),
            accounts.settings
        );
        let node = Node::start(&folder.path().join("nats"), &more);
        Self { folder, node, accounts }
    }

    fn configure(&self, name: &str, lines: &[String]) -> PathBuf {
        let (url, monitor) = (self.node.url().replace("127.0.0.1", "localhost"), self.node.monitor());
        let key = self.node.key_file();
        let file = self.folder.path().join(format!("{name}.toml"));
        let text = format!(
            "[store]\nurl = {url:?}\nstream = \"S\"\nreplicas = 1\nmonitor = [{monitor:?}]\nkey_file = {key:?}\n{}\n\
             [store.allow_unsafe]\nreplicas = true\n",
            lines.join("\n")
        );
        fs::write(&file, text).unwrap();
        file
    }

    fn root(&self) -> String {
        format!("tls.ca = {:?}", self.folder.path().join("root.pem"))
    }

    fn user(&self, name: &str, signer: Option<&KeyPair>) -> String {
        format!("credentials = {:?}", self.accounts.user(&self.folder.path().join(name), signer))
    }

    fn shipped_user(&self, name: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../deploy/nats/{name}.json"));
        let permissions = fs::read_to_string(file).unwrap().replace("MOTHERLODE_", "S_");
        let permissions = serde_json::from_str(&permissions).unwrap();
        let file = self.folder.path().join(format!("{name}.creds"));
        format!("credentials = {:?}", self.accounts.user_with(&file, None, permissions))
    }

    fn refused(&self, name: &str, lines: &[String]) -> String {
        let (data, config) = (self.folder.path().join("never"), self.configure(name, lines));
        let mut serve = Command::new(PROGRAM);
        let serve = serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).arg("--config").arg(config);
        let output = serve.output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(if name.starts_with("missing") { 2 } else { 1 }), "{name}: {printed}");
        printed
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_behind_tls_and_credentials_is_served_copied_and_audited() {
    let server = Protected::start();
    let config = server.configure("right", &[server.user("user.creds", None), server.root()]);
    let service = Process::start(PROGRAM, &server.folder.path().join("data"), Some(&config));
    let mut client = Client::connect(service.address).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    player.play_rounds(&mut client, 5).await.unwrap();
    player.check(&mut client).await;
    assert_eq!(service.terminate().await, Some(0));
    let place = server.node.url().replace("127.0.0.1", "localhost") + "/S";
    let audit = Command::new(PROGRAM).args(["audit", &place, "--config"]).arg(&config).output().unwrap();
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
}

#[test]
fn a_server_that_does_not_let_us_in_is_told_by_what_is_wrong() {
    let server = Protected::start();
    let strange = tempfile::tempdir().unwrap();
    let _certificates = Certificates::make(strange.path());
    let other_root = format!("tls.ca = {:?}", strange.path().join("root.pem"));
    let (user, root) = (server.user("user.creds", None), server.root());
    let stranger = server.user("stranger.creds", Some(&KeyPair::new_account()));
    let missing = format!("credentials = {:?}", strange.path().join("missing.creds"));
    for (name, lines, why) in [
        ("another-root", vec![user.clone(), other_root], "invalid peer certificate"),
        ("no-root", vec![user.clone()], "invalid peer certificate: UnknownIssuer"),
        ("no-credentials", vec![root.clone()], "authorization violation; set [store] credentials"),
        ("a-strangers-credentials", vec![stranger, root.clone()], "authorization violation"),
        ("missing-credentials", vec![missing, root.clone()], "missing.creds"),
        ("missing-root", vec![user, format!("tls.ca = {:?}", strange.path().join("no.pem"))], "no.pem"),
    ] {
        let printed = server.refused(name, &lines);
        let place =
            if name.starts_with("missing") { "which cannot be read" } else { "cannot connect to nats://localhost:" };
        assert!(printed.contains(place) && printed.contains(why), "{name}: {printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e6_the_shipped_nats_permissions_are_enough() {
    let server = Protected::start();
    let ledger = server.configure("ledger", &[server.shipped_user("ledger"), server.root()]);
    let reader = server.configure("reader", &[server.shipped_user("reader"), server.root()]);
    let data = |name: &str| server.folder.path().join(name);
    let first = Process::start(PROGRAM, &data("first"), Some(&ledger));
    let mut client = Client::connect(first.address).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    player.play_rounds(&mut client, 5).await.unwrap();
    let standby = Process::start_as(PROGRAM, &data("standby"), Some(&ledger), &["--role", "ledger"]);
    player.play_rounds(&mut client, 5).await.unwrap();
    first.kill();
    until("the standby serves", async || serving(standby.address).await).await;
    player.balance_is_served(&mut Client::connect(standby.address).await).await;
    assert_eq!(standby.terminate().await, Some(0));
    let place = server.node.url().replace("127.0.0.1", "localhost") + "/S";
    let audit = Command::new(PROGRAM).args(["audit", &place, "--config"]).arg(&reader).output().unwrap();
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e6_pl_37_the_shipped_nats_permissions_are_enough_for_a_prune() {
    let server = Protected::start();
    let path = |name: &str| server.folder.path().join(name).display().to_string();
    let [ledger, prune] = ["ledger", "prune"].map(|name| {
        let file = server.configure(name, &[server.shipped_user(name), server.root()]);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("data = {:?}\n{text}", path("data"))).unwrap();
        file
    });
    let run = |arguments: &[&str], config: Option<&Path>| {
        let config = config.into_iter().flat_map(|file| [Path::new("--config"), file]);
        let output = Command::new(PROGRAM).args(arguments).args(config).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let start = || Process::start(PROGRAM, Path::new(&path("data")), Some(&ledger));
    let process = start();
    let mut client = Client::connect(process.address).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(7) {
        player.play_rounds(&mut client, 20).await.unwrap();
    }
    assert_eq!(process.terminate().await, Some(0));
    let process = start();
    let (place, target) =
        (server.node.url().replace("127.0.0.1", "localhost") + "/S", format!("http://{}", process.address));
    let taken = run(&["base", "take", &path("data"), "--actor", "anna", "--target", &target], None);
    let after = |words| taken.split_once(words).unwrap().1.split([',', '\n']).next().unwrap().trim();
    let (position, digest) = (after("state at position "), after("digest  "));
    run(&["audit", &place, "--base", position], Some(&ledger));
    run(&["base", "confirm", position, digest, "--actor", "bob", "--target", &target], None);
    let mut client = Client::connect(process.address).await;
    player.play_rounds(&mut client, 20).await.unwrap();
    assert_eq!(process.terminate().await, Some(0));
    run(&["archive", "--from", &place, "--to", &path("archive"), "--segment-bytes", "4096"], Some(&ledger));
    let arguments = ["prune", &place, "--archive", &path("archive"), "--keep-days", "0", "--margin-seconds", "5"];
    let pruned = run(&arguments, Some(&prune));
    assert!(pruned.contains("partition 0 now starts at position "), "{pruned}");
    let process = start();
    let mut client = Client::connect(process.address).await;
    player.play_rounds(&mut client, 5).await.unwrap();
    assert_eq!(process.terminate().await, Some(0));
}
