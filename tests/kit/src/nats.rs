use motherlode_runtime::config::{AllowUnsafe, Store as Config};
use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

const STARTS_MAX: usize = 5;
const FORMING_MAX: Duration = Duration::from_secs(60);
const ANSWER_MAX: Duration = Duration::from_secs(5);
const LOOK_PAUSE: Duration = Duration::from_millis(50);
const RESTARTS_MAX: usize = 50;
const RESTART_PAUSE: Duration = Duration::from_millis(200);
const KEY_FILE: &str = "stream.key";

#[must_use]
pub fn binary() -> PathBuf {
    if let Some(named) = env::var_os("MOTHERLODE_NATS_SERVER") {
        let named = PathBuf::from(named);
        assert!(named.is_file(), "MOTHERLODE_NATS_SERVER names {}, which is not a file", named.display());
        return named;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in the repository");
    let installed = root.join("tests/.nats/bin/nats-server");
    assert!(
        installed.is_file(),
        "no nats-server: install it with `tests/run nats`, or name one (2.15.1 or newer) in MOTHERLODE_NATS_SERVER"
    );
    installed
}

#[derive(Debug)]
pub struct Node {
    folder: PathBuf,
    settings: String,
    process: Child,
    url: String,
    monitor: String,
}

impl Node {
    #[must_use]
    pub fn start(folder: &Path, more: &str) -> Self {
        Self::start_as("alone", folder, "sync_interval: always", more).expect("nats-server starts")
    }

    #[must_use]
    pub fn start_lazy(folder: &Path) -> Self {
        Self::start_as("lazy", folder, "", "").expect("nats-server starts")
    }

    fn start_as(name: &str, folder: &Path, jetstream: &str, more: &str) -> Result<Self, String> {
        fs::create_dir_all(folder).expect("the test's folder can be written");
        let key = folder.join(KEY_FILE);
        fs::write(&key, "5a".repeat(32)).expect("the test's folder can be written");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("the key's permissions can be set");
        let data = folder.join("data");
        let settings = format!(
            "server_name: {name}\nlisten: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\nmax_payload: 8MB\n\
             jetstream {{ store_dir: {data:?}\n{jetstream}\n}}\n{more}\n"
        );
        let (process, url, monitor) = spawn(folder, &settings)?;
        let at = |settings: String, key: &str, url: &str| {
            let address = url.split_once("://").unwrap_or_default().1;
            settings.replacen(&format!("{key}: \"127.0.0.1:-1\""), &format!("{key}: \"{address}\""), 1)
        };
        let settings = at(at(settings, "listen", &url), "http", &monitor);
        Ok(Self { folder: folder.to_owned(), settings, process, url, monitor })
    }

    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    #[must_use]
    pub fn monitor(&self) -> &str {
        &self.monitor
    }

    pub fn kill(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).expect("the server can be killed");
    }

    pub fn restart(&mut self) {
        self.restart_with("");
    }

    pub fn restart_with(&mut self, more: &str) {
        self.kill();
        let mut why = String::new();
        for _ in 0..RESTARTS_MAX {
            match spawn(&self.folder, &format!("{}{more}\n", self.settings)) {
                Ok((process, ..)) => {
                    self.process = process;
                    return;
                }
                Err(error) => why = error,
            }
            thread::sleep(RESTART_PAUSE);
        }
        panic!("nats-server does not start again: {why}");
    }

    /// Waits until the streams of this server are up to date. If a second server stopped before that, a stream could lose
    /// its quorum permanently.
    pub fn catch_up(&self) {
        let until = Instant::now() + FORMING_MAX;
        while let Err(not) = self.healthy("/healthz") {
            assert!(Instant::now() < until, "nats-server has not caught up after {FORMING_MAX:?}: {not}");
            thread::sleep(LOOK_PAUSE);
        }
    }

    fn healthy(&self, page: &str) -> Result<(), String> {
        let ask = || {
            let mut connection = TcpStream::connect(self.monitor.trim_start_matches("http://"))?;
            write!(connection, "GET {page} HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            connection.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = ask().map_err(|error: std::io::Error| error.to_string())?;
        if answer.lines().next().is_some_and(|status| status.contains(" 200 ")) { Ok(()) } else { Err(answer) }
    }

    #[must_use]
    pub fn ask(&self, subject: &str, body: &str) -> String {
        let ask = || -> std::io::Result<String> {
            let mut connection = TcpStream::connect(self.url.trim_start_matches("nats://"))?;
            connection.set_read_timeout(Some(ANSWER_MAX))?;
            let length = body.len();
            write!(
                connection,
                "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {length}\r\n{body}\r\n"
            )?;
            let mut output = BufReader::new(connection);
            loop {
                let mut line = String::new();
                if output.read_line(&mut line)? == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                if let Some(length) = line.strip_prefix("MSG ").and_then(|message| message.split_whitespace().last()) {
                    let mut answer = vec![0; length.parse().map_err(std::io::Error::other)?];
                    output.read_exact(&mut answer)?;
                    return String::from_utf8(answer).map_err(std::io::Error::other);
                }
                assert!(!line.starts_with("-ERR"), "{line}");
            }
        };
        let until = Instant::now() + FORMING_MAX;
        loop {
            match ask() {
                Ok(answer) => return answer,
                Err(error) => assert!(Instant::now() < until, "the server does not answer: {error}"),
            }
        }
    }

    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.folder.join(KEY_FILE)
    }

    #[must_use]
    pub fn config(&self, stream: &str) -> Config {
        let allow_unsafe = AllowUnsafe { replicas: true, ..AllowUnsafe::default() };
        let (url, monitor, key_file) = (Some(self.url.clone()), vec![self.monitor.clone()], Some(self.key_file()));
        Config { url, stream: stream.to_owned(), replicas: 1, monitor, key_file, allow_unsafe, ..Config::default() }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug)]
pub struct Cluster {
    pub nodes: Vec<Node>,
}

impl Cluster {
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        // Another process may take the port before the server listens on it, so the start is retried.
        let mut why = String::new();
        for attempt in 0..STARTS_MAX {
            match Self::start_once(&folder.join(attempt.to_string())) {
                Ok(cluster) => return cluster,
                Err(error) => why = error,
            }
        }
        panic!("nats-server does not start as a cluster: {why}");
    }

    fn start_once(folder: &Path) -> Result<Self, String> {
        static CLUSTERS: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), CLUSTERS.fetch_add(1, Ordering::Relaxed));
        let free = || TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let held = [free(), free(), free()];
        let ports = held.each_ref().map(|port| port.local_addr().expect("bound").port());
        let routes = ports.map(|port| format!("\"nats://127.0.0.1:{port}\"")).join(", ");
        let mut nodes = vec![];
        for ((number, port), held) in (1..).zip(ports).zip(held) {
            let cluster = format!(
                "cluster {{ name: {name:?}, no_advertise: true, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}"
            );
            let node = format!("node{number}");
            drop(held);
            nodes.push(Node::start_as(&node, &folder.join(&node), "sync_interval: always", &cluster)?);
        }
        let until = Instant::now() + FORMING_MAX;
        let formed = |node: &Node| node.healthy("/healthz?js-meta-only=true");
        while let Some(not) = nodes.iter().find_map(|node| formed(node).err()) {
            if Instant::now() > until {
                return Err(format!("no cluster after {FORMING_MAX:?}: {not}"));
            }
            thread::sleep(LOOK_PAUSE);
        }
        Ok(Self { nodes })
    }

    #[must_use]
    pub fn config(&self, stream: &str) -> Config {
        let servers: Vec<_> = self.nodes.iter().map(|node| node.url.trim_start_matches("nats://")).collect();
        let monitor = self.nodes.iter().map(|node| node.monitor.clone()).collect();
        let url = Some(format!("nats://{}", servers.join(",")));
        let key_file = self.nodes.first().map(Node::key_file);
        Config { url, stream: stream.to_owned(), monitor, key_file, ..Config::default() }
    }
}

#[must_use]
pub fn toml(store: &Config) -> String {
    let key = store.key_file.iter().map(|file| format!("key_file = {file:?}\n")).collect::<String>();
    format!(
        "[store]\nurl = {:?}\nstream = {:?}\nreplicas = {}\nmonitor = {:?}\n{key}[store.allow_unsafe]\nreplicas = {}\n",
        store.url.as_ref().expect("an address"),
        store.stream,
        store.replicas,
        store.monitor,
        store.allow_unsafe.replicas
    )
}

fn spawn(folder: &Path, settings: &str) -> Result<(Child, String, String), String> {
    let file = folder.join("server.conf");
    fs::write(&file, settings).expect("the test's folder can be written");
    let mut server = Command::new(binary());
    let server = server.arg("-c").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = server.spawn().map_err(|error| error.to_string())?;
    let mut output = BufReader::new(process.stderr.take().ok_or("no standard error")?);
    let (mut url, mut monitor, mut said) = (None, None, String::new());
    let address = |line: &str, before: &str| Some(line.split_once(before)?.1.trim().to_owned());
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            let _ = process.wait();
            return Err(said);
        }
        url = url.or_else(|| address(&line, "Listening for client connections on "));
        monitor = monitor.or_else(|| address(&line, "Starting http monitor on "));
        said += &line;
        if line.contains("Server is ready") {
            break;
        }
    }
    // The server's output is read to the end, because a full pipe would block the server.
    let mut log = fs::OpenOptions::new().create(true).append(true).open(folder.join("server.log"));
    let log = log.as_mut().map_err(|error| error.to_string())?.try_clone().map_err(|error| error.to_string())?;
    thread::spawn(move || std::io::copy(&mut output, &mut { log }));
    match (url, monitor) {
        (Some(url), Some(monitor)) => Ok((process, format!("nats://{url}"), format!("http://{monitor}"))),
        _ => Err(said),
    }
}
