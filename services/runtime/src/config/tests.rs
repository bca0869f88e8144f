use super::*;
use crate::{connect::Credentials, roles::Roles};

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(Config::parse("").unwrap(), Config::default());
}

#[test]
fn the_example_of_deployments_can_be_served_to_others() {
    let example = Config::parse(include_str!("../../../../deploy/motherlode.toml")).unwrap();
    assert_eq!(example.listen, ([0, 0, 0, 0], 50051).into());
    example.check_exposure().unwrap();
    let operators: Vec<_> = example.operators.iter().map(|operator| operator.id.as_str()).collect();
    assert_eq!(operators, ["platform", "acme"]);
}

#[test]
fn an_unknown_key_is_refused_by_name() {
    let error = Config::parse("[limits]\nqueue_lenght_max = 3").unwrap_err().to_string();
    assert!(error.contains("queue_lenght_max"), "{error}");
}

#[test]
fn a_value_out_of_range_is_refused_with_its_range() {
    let error = Config::parse("[limits]\nbatch_commits_max = 0").unwrap_err().to_string();
    assert_eq!(error, "limits.batch_commits_max is 0; it must be 1 to 4096");
    let error = Config::parse("[interruption.hours]\nneptune = 0").unwrap_err().to_string();
    assert_eq!(error, "interruption.hours is 0; it must be 1 to 87600");
    let error = Config::parse("[interruption.jurisdictions.uk]\nneptune = 87601").unwrap_err().to_string();
    assert_eq!(error, "interruption.jurisdictions is 87601; it must be 1 to 87600");
}

const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn credential(id: &str, more: &str) -> String {
    format!("[[operators]]\nid = \"{id}\"\n[[operators.credentials]]\nname = \"one\"\n{more}\n")
}

#[test]
fn pl_27_an_operator_is_read_with_its_credentials() {
    let token = format!("token_sha256 = \"{DIGEST}\"\nroles = [\"play\", \"wallet\"]\nexpires = 2027-01-01T00:00:00Z");
    let config = Config::parse(&credential("acme", &token)).unwrap();
    let operator = &config.operators[0];
    assert_eq!((operator.id.as_str(), operator.calls_per_second_max), ("acme", None));
    let credential = &operator.credentials[0];
    assert_eq!(credential.token_sha256.unwrap().to_string(), DIGEST);
    assert_eq!(credential.roles, Roles::PLAY | Roles::WALLET);
    assert_eq!(credential.expires_ms, Some(1_798_761_600_000));
}

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn pl_27_mf_c6_operators_that_make_no_sense_are_refused_with_their_name() {
    let token = format!("token_sha256 = \"{DIGEST}\"");
    let play = "roles = [\"play\"]";
    let good = credential("acme", &format!("{token}\n{play}"));
    assert!(Config::parse(&good).is_ok());
    let wallet = |of: &str| format!("[[operators]]\nid = \"acme\"\nseamless = {{ url = \"https://a\", {of} }}");
    for (text, said) in [
        (credential("a/b", &format!("{token}\n{play}")), "id must be"),
        (good.clone() + &good, "is configured twice"),
        (good.clone() + &credential("other", &format!("{token}\n{play}")), "two credentials have the same digest"),
        (credential("acme", &format!("{token}\nroles = []")), "at least one role"),
        (credential("acme", &format!("token_sha256 = \"{EMPTY}\"\n{play}")), "empty or blank token"),
        (credential("acme", play), "either token_sha256 or certificate_sha256"),
        (credential("acme", &format!("certificate_sha256 = \"{DIGEST}\"\n{play}")), "needs tls.client_ca"),
        (credential("acme", &format!("{token}\n{play}\nsecret = 1")), "unknown field `secret`"),
        (credential("acme", &format!("{token}\nroles = [\"god\"]")), "unknown variant `god`"),
        (credential("acme", &format!("token_sha256 = \"00\"\n{play}")), "64 hexadecimal digits"),
        (credential("acme", &format!("{token}\n{play}\nexpires = 2027-01-01")), "with its offset"),
        ("[[operators]]\nid = \"acme\"\ncalls_per_second_max = 0".to_owned(), "above 0"),
        ("[[operators]]\nid = \"acme\"\ncalls_burst_max = 1".to_owned(), "needs calls_per_second_max"),
        ("[[operators]]\nid = \"acme\"\nwallet = \"seamless\"".to_owned(), "needs operators.seamless"),
        ("[[operators]]\nid = \"platform\"\nseamless = { url = \"http://a\" }".to_owned(), "no players"),
        ("[[operators]]\nid = \"acme\"\nseamless = { url = \"http://a\", bets_max = 0 }".to_owned(), "above 0"),
        (wallet("protocol = \"json\""), "needs signing_key_file"),
        (
            wallet("protocol = \"json\", signing_key_file = \"k\", token_file = \"t\""),
            "is only for a wallet with protocol = \"grpc\"",
        ),
        (wallet("signing_key_file = \"k\""), "is only for a wallet with protocol = \"json\""),
        (wallet("protocol = \"xml\""), "unknown variant `xml`"),
    ] {
        let error = Config::parse(&text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}\n{error}");
    }
}

#[test]
fn pl_27_beyond_loopback_tls_and_operators_are_needed_unless_allowed_by_name() {
    let tls = "[tls]\ncertificate = \"a\"\nkey = \"b\"\n";
    let operator = "[[operators]]\nid = \"acme\"\n";
    let allow = |key: &str| format!("[allow_beyond_loopback]\n{key} = true\n");
    let exposed = |text: &str| Config::parse(text).unwrap().check_exposure().map_err(|error| error.to_string());
    let anywhere = |text: &str| exposed(&format!("listen = \"0.0.0.0:50051\"\n{text}"));
    assert_eq!(exposed(""), Ok(()));
    assert_eq!(exposed("listen = \"[::1]:50051\""), Ok(()));
    assert_eq!(anywhere(&format!("{tls}{operator}")), Ok(()));
    assert_eq!(anywhere(&(operator.to_owned() + &allow("plaintext"))), Ok(()));
    assert_eq!(anywhere(&(tls.to_owned() + &allow("anyone"))), Ok(()));
    assert!(anywhere(operator).unwrap_err().contains("plaintext = true"));
    assert!(anywhere(tls).unwrap_err().contains("anyone = true"));
}

#[test]
fn a_role_without_the_log_needs_to_know_where_it_is() {
    let checked = |text: &str| Config::parse(text).unwrap().check_role().map_err(|error| error.to_string());
    let targets = "[ledger]\ntargets = [\"http://127.0.0.1:50051\"]";
    for role in ["all", "ledger"] {
        assert_eq!(checked(&format!("role = \"{role}\"")), Ok(()));
    }
    for role in ["spin", "jackpot"] {
        assert_eq!(checked(&format!("role = \"{role}\"\n{targets}")), Ok(()));
        assert!(checked(&format!("role = \"{role}\"")).unwrap_err().contains("ledger: targets must name"));
    }
    assert!(checked("[ledger]\nkey = \"k\"").unwrap_err().contains("set together"));
    let part =
        |of: &str, writes: &str| checked(&format!("{of}\npartitions = 3\n{targets}\nwrite_partitions = {writes}"));
    assert_eq!(part("role = \"ledger\"", "[0, 2]"), Ok(()));
    assert!(part("role = \"ledger\"", "[3]").unwrap_err().contains("unknown partition"));
    assert!(part("role = \"spin\"", "[0]").unwrap_err().contains("for the role ledger"));
    let holding = |of: &str, rest: &str| checked(&format!("role = \"{of}\"\npartitions = 3\n{targets}\n{rest}"));
    assert_eq!(holding("spin", "read_partitions = [2]"), Ok(()));
    assert_eq!(holding("ledger", "write_partitions = [1]\nread_partitions = [2]"), Ok(()));
    assert!(holding("spin", "read_partitions = [3]").unwrap_err().contains("unknown partition"));
    assert!(holding("jackpot", "read_partitions = [1]").unwrap_err().contains("for the roles spin and ledger"));
    assert!(holding("ledger", "read_partitions = [1]").unwrap_err().contains("read_partitions needs write_partitions"));
    let held = |rest: &str| Config::parse(&format!("partitions = 4\n[ledger]\n{rest}")).unwrap().read_partitions();
    assert_eq!(held(""), [0, 1, 2, 3].into());
    assert_eq!(held("write_partitions = [1]\nread_partitions = [3]"), [0, 1, 3].into());
    let alone = checked("role = \"ledger\"\npartitions = 2\n[ledger]\nwrite_partitions = [1]");
    assert!(alone.unwrap_err().contains("that write the other partitions"));
    assert_eq!(checked("role = \"ledger\"\npartitions = 2\n[ledger]\nwrite_partitions = [0, 1]"), Ok(()));
    assert!(Config::parse("role = \"god\"").is_err());
    assert!(Config::parse("[ledger]\ntarget = \"x\"").is_err());
}

#[test]
fn what_is_shown_is_read_from_its_files_and_a_missing_one_is_named() {
    let targets = LedgerTargets { token_file: Some("/none/token".into()), ..LedgerTargets::default() };
    assert!(targets.credentials().unwrap_err().to_string().contains("/none/token"));
    assert_eq!(LedgerTargets::default().credentials().unwrap(), Credentials::default());
}

#[test]
fn an_address_names_servers_and_perhaps_the_streams() {
    let store = Store::default();
    assert!(store.servers().is_empty());
    let one = store.at("nats://a:4222").unwrap();
    assert_eq!((one.servers(), one.stream.as_str()), (vec!["nats://a:4222".to_owned()], "MOTHERLODE"));
    let two = store.at("nats://a:1,b:2/TRY").unwrap();
    assert_eq!((two.servers().join(" "), two.stream.as_str()), ("nats://a:1 nats://b:2".to_owned(), "TRY"));
    for wrong in ["", "a:4222", "nats://", "nats://a:1,", "nats://a:1/", "nats://a:1/x.y", "http://a:1"] {
        assert!(store.at(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn mf_e6_the_token_of_a_process_is_sent_to_another_machine_by_tls_alone() {
    let check = |target: &str, token: &str| {
        let text = format!("role = \"spin\"\n[ledger]\ntargets = [\"https://a:1\", \"{target}\"]\n{token}");
        Config::parse(&text).unwrap().check_role()
    };
    let token = "token_file = \"node.token\"";
    for target in ["http://10.0.0.7:50051", "http://ledger-0.ledger-nodes:50051", "HTTP://ledger:1"] {
        let refused = check(target, token).unwrap_err().to_string();
        assert!(refused.contains(target) && refused.contains("use https"), "{refused}");
        assert!(check(target, "").is_ok(), "{target}");
    }
    for target in ["https://ledger:50051", "http://127.0.0.1:50051", "http://[::1]:50051", "http://localhost:1"] {
        assert!(check(target, token).is_ok(), "{target}");
    }
}

#[test]
fn a_store_that_makes_no_sense_is_refused() {
    let url = "url = \"nats://a:4222\"\n";
    assert!(Config::parse(&format!("[store]\n{url}[store.allow_unsafe]\nreplicas = true")).is_ok());
    for (wrong, said) in [
        ("replicas = 2", "1, 3 or 5"),
        ("stream = \"a.b\"", "1 to 64 characters"),
        ("monitor = [\"a:8222\"]", "http://"),
        ("append_ms_max = 1", "1000 to 600000"),
        ("[store.tls]\nkey = \"k\"", "set together"),
        ("[store.allow_unsafe]\nanything = true", "unknown field"),
    ] {
        let error = Config::parse(&format!("[store]\n{url}{wrong}")).unwrap_err().to_string();
        assert!(error.contains(said), "{wrong}: {error}");
    }
}

#[test]
fn pl_31_no_token_and_no_money_go_to_another_machine_in_the_clear() {
    let of = |url: &str| Config::parse(&format!("[[operators]]\nid = \"acme\"\nseamless = {{ url = \"{url}\" }}"));
    let here =
        ["http://127.0.0.1:1", "http://127.8.8.8:1", "http://[::1]:1", "http://localhost:1", "HTTP://LOCALHOST:1"];
    for url in here.into_iter().chain(["https://wallet.example:1", "https://10.0.0.1"]) {
        assert!(of(url).is_ok(), "{url}");
    }
    let far =
        ["http://wallet.example:1", "http://10.0.0.1:1", "http://localhost.example:1", "http://127.0.0.1.example"];
    for url in
        far.into_iter().chain(["http://[2001:db8::1]:1", "http://127.0.0.1@wallet.example:1", "http://0.0.0.0:1"])
    {
        let error = of(url).unwrap_err().to_string();
        assert!(error.contains("use https"), "{url}: {error}");
    }
}

#[test]
fn pl_27_no_setting_opens_a_service_that_has_operators() {
    for key in ["open = true", "wallets_beside = []", "[[wallets_beside]]\nid = \"acme\""] {
        let error = Config::parse(&format!("{key}\n[[operators]]\nid = \"acme\"")).unwrap_err().to_string();
        assert!(error.contains("unknown field"), "{error}");
    }
}

#[test]
fn pl_27_a_credential_serves_other_configured_operators_without_its_name() {
    let check = |acme: &str, platform: &str, name: &str, gamma: &str| {
        let credential = |name: &str, digit: &str, served: &str| {
            let digest = digit.repeat(64);
            format!(
                "credentials = [{{ name = '{name}', token_sha256 = '{digest}', roles = ['play'], operators = [{served}] }}]\n"
            )
        };
        let operators = [
            ("acme", credential("gateway", "1", acme)),
            ("beta", credential(name, "2", "")),
            ("gamma", credential("gateway", "3", gamma)),
            ("platform", credential("ops", "4", platform)),
        ];
        let text: String = operators.iter().map(|(id, more)| format!("[[operators]]\nid = '{id}'\n{more}")).collect();
        Config::parse(&text).map_or_else(|fault| fault.to_string(), |_| String::new())
    };
    assert_eq!(check("'beta'", "", "other", ""), "");
    for (acme, platform, name, gamma, fault) in [
        ("'beta'", "", "gateway", "", "with the same name"),
        ("'gamma'", "", "other", "", "with the same name"),
        ("'beta'", "", "other", "'beta'", "with the same name"),
        ("'beta', 'beta'", "", "other", "", "an operator twice"),
        ("'acme'", "", "other", "", "must not include its own operator"),
        ("'platform'", "", "other", "", "credential of the platform"),
        ("", "'beta'", "other", "", "credential of the platform"),
        ("'delta'", "", "other", "", "must be configured"),
    ] {
        let refused = check(acme, platform, name, gamma);
        assert!(refused.contains(fault), "{acme} {platform} {name} {gamma}: {refused}");
    }
}
