pub const FAULTY: &[(&str, &[&str])] = &[
    ("listne = 3\n", &["unknown field `listne`", "expected one of"]),
    ("[limits]\nnonsense = 1\n", &["unknown field `nonsense`", "message_bytes_max"]),
    ("[currencies]\nEUR = 3\n", &["unknown field `EUR`", "ladders"]),
    ("listen = 3\n", &["line 1", "integer `3`", "socket address"]),
    ("listen = \"x\"\n", &["line 1", "invalid socket address"]),
    ("partitions = \"a\"\n", &["line 1", "string \"a\""]),
    ("[limits]\nsegment_bytes = -1\n", &["line 2", "`-1`"]),
    ("[draws]\nkey_file = 3\n", &["line 2", "integer `3`"]),
    ("role = \"king\"\n", &["unknown variant `king`", "`console`"]),
    ("[console\n", &["line 1", "unclosed table"]),
    ("reflection = true\nreflection = true\n", &["line 2", "duplicate key"]),
    ("[tls]\ncertificate = \"tls.pem\"\n", &["missing field `key`"]),
    // Out of range.
    ("partitions = 0\n", &["partitions is 0", "1 to 64"]),
    ("partitions = 70\n", &["partitions is 70", "1 to 64"]),
    ("[limits]\nmessage_bytes_max = 0\n", &["limits.message_bytes_max is 0", "1024 to"]),
    ("[limits]\nrequest_ms_max = 0\n", &["limits.request_ms_max is 0", "100 to"]),
    ("[limits]\nbuffer_bytes_max = 1\n", &["limits.buffer_bytes_max is 1", "1048576 to"]),
    ("[interruption]\nsweep_ms = 0\n", &["interruption.sweep_ms is 0", "100 to"]),
    ("[store]\nreplicas = 9\n", &["store: replicas", "1, 3 or 5"]),
    ("[[operators]]\nid = \"a\"\ncalls_per_second_max = 0\n", &["operator \"a\"", "above 0"]),
    // Unknown names.
    ("[jurisdictions]\ndefault = \"mars\"\n", &["jurisdictions", "no profile mars"]),
    ("[rules]\nsuperseded_enabled = [\"chess 1.0\"]\n", &["rules", "chess 1.0", "a superseded rules version"]),
    ("[store]\nurl = \"http://x\"\n", &["store: url", "nats://host:port"]),
    ("[[proofs.witnesses]]\nurl = \"x\"\nkey = \"y\"\n", &["proofs: witness x", "not an Ed25519 verifier key"]),
    ("[[operators]]\nid = \"a b\"\n", &["operator \"a b\"", "1 to 64 characters"]),
    // Contradictions.
    ("role = \"spin\"\n", &["ledger: targets", "has no log"]),
    ("[[operators]]\nid = \"a\"\n[[operators]]\nid = \"a\"\n", &["operator \"a\"", "configured twice"]),
    ("[[operators]]\nid = \"a\"\nwallet = \"seamless\"\n", &["operator \"a\"", "needs operators.seamless"]),
    (
        "listen = \"0.0.0.0:0\"\n",
        &["0.0.0.0:0 is reachable beyond loopback", "[allow_beyond_loopback] plaintext = true"],
    ),
    // Credentials.
    (
        "[[operators]]\nid = \"a\"\n[[operators.credentials]]\nname = \"x\"\ntoken_sha256 = \"12\"\nroles = [\"play\"]\n",
        &["line 5", "64 hexadecimal digits"],
    ),
    (
        "[[operators]]\nid = \"a\"\n[[operators.credentials]]\nname = \"x\"\nroles = [\"play\"]\n",
        &["operator \"a\"", "token_sha256 or certificate_sha256"],
    ),
    (
        "[[operators]]\nid = \"a\"\n[[operators.credentials]]\nname = \"x\"\nroles = [\"fly\"]\n",
        &["unknown variant `fly`", "`support`"],
    ),
    // TLS files.
    (
        "[tls]\ncertificate = \"nowhere\"\nkey = \"tls.key\"\n",
        &["tls.certificate names /", "/nowhere, which cannot be read", "No such file"],
    ),
    (
        "[tls]\ncertificate = \"folder\"\nkey = \"tls.key\"\n",
        &["tls.certificate names /", "/folder, which cannot be read", "Is a directory"],
    ),
    (
        "[tls]\ncertificate = \"plain\"\nkey = \"tls.key\"\n",
        &["[tls] names certificate plain", "no certificate in PEM"],
    ),
    ("[tls]\ncertificate = \"tls.pem\"\nkey = \"plain\"\n", &["key plain", "must be PEM"]),
    ("[tls]\ncertificate = \"tls.pem\"\nkey = \"expired.key\"\n", &["key expired.key", "do not match", "KeyMismatch"]),
    // Telemetry.
    ("[telemetry]\nfilter = \"wran\"\n", &["telemetry.filter: \"wran\" is neither a level", "TARGET=LEVEL"]),
    (
        "[telemetry]\nfilter = \"info,motherlode_ledger=loud\"\n",
        &["telemetry.filter:", "level filter: expected one of"],
    ),
    ("[telemetry]\notlp_endpoint = \"collector:4317\"\n", &["telemetry.otlp_endpoint: \"collector:4317\"", "http://"]),
    (
        "[telemetry]\notlp_endpoint = \"http://collector:4317\"\notlp_ca = \"plain\"\n",
        &["telemetry.otlp_ca: a root certificate needs an https endpoint"],
    ),
    (
        "[telemetry]\notlp_endpoint = \"https://collector:4317\"\notlp_ca = \"plain\"\n",
        &["telemetry.otlp_ca: the file contains no certificate"],
    ),
    (
        "[telemetry]\notlp_endpoint = \"https://collector\"\notlp_protocol = \"http\"\notlp_ca = \"plain\"\n",
        &["telemetry.otlp_ca: the file contains no certificate"],
    ),
    ("[telemetry]\notlp_protocol = \"xml\"\n", &["unknown variant `xml`", "`grpc` or `http`"]),
    (
        "[telemetry]\nlisten = \"0.0.0.0:0\"\n",
        &["0.0.0.0:0 is reachable beyond loopback and serves metrics", "[allow_beyond_loopback] telemetry = true"],
    ),
    ("[telemetry]\nlog_format = \"xml\"\n", &["unknown variant `xml`", "`json`"]),
    // Currencies.
    (
        "[currencies.ladders.neptune]\nEUR = { coin_values = \"0.003\", default = \"0.003\" }\n",
        &["currencies:", "0.003"],
    ),
    // Files and addresses.
    (
        "[proofs]\nkey_file = \"nowhere\"\n",
        &["proofs.key_file names /", "/nowhere, which cannot be read", "No such file"],
    ),
    ("[proofs]\nkey_file = \"plain\"\n", &["proofs:", "key file plain:"]),
    (
        "[proofs]\nkey_file = \"other.key\"\nname = \"example.com/mine\"\n",
        &["other.key has the key of example.com/other", "name = \"example.com/mine\""],
    ),
    (
        "[store]\nurl = \"nats://127.0.0.1:1\"\ncredentials = \"nowhere\"\n",
        &["store.credentials names /", "/nowhere, which cannot be read"],
    ),
    (
        "[store]\nurl = \"nats://127.0.0.1:1\"\nkey_file = \"nowhere\"\n",
        &["store.key_file names /", "/nowhere, which cannot be read"],
    ),
    ("role = \"spin\"\nledger.targets = [\"ledger:1\"]\n", &["ledger.targets: ledger:1:", "must be a URL"]),
    (
        "role = \"spin\"\n[ledger]\ntargets = [\"https://ledger:1\"]\nca = \"folder\"\n",
        &["ledger.ca names /", "/folder, which cannot be read", "Is a directory"],
    ),
    (
        "[[operators]]\nid = \"a\"\nwallet = \"seamless\"\nseamless = { url = \"http://127.0.0.1:1\", token_file = \"nowhere\" }\n",
        &["operators.seamless.token_file names /", "/nowhere, which cannot be read"],
    ),
    (
        "[[operators]]\nid = \"a\"\nwallet = \"seamless\"\nseamless = { url = \"wallet\" }\n",
        &["operators.seamless.url: wallet:", "must be a URL"],
    ),
    ("[console]\nlisten = \"0.0.0.0:0\"\n", &["console: 0.0.0.0:0 is reachable beyond loopback", "no log-in"]),
];
