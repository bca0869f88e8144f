use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, Write},
    net::SocketAddr,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

fn give_draw_key(data: &Path) -> io::Result<()> {
    if fs::read_dir(data).is_ok_and(|mut files| files.next().is_some()) {
        return Ok(());
    }
    let folder = data.join("keys");
    fs::create_dir_all(&folder)?;
    let made = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(folder.join("draws"))?;
    writeln!(file, "{} {}", made.as_millis(), "5c".repeat(32))
}

fn text(log: &File) -> String {
    let length = log.metadata().expect("a file has a length").len();
    let mut text = vec![0; usize::try_from(length).expect("the length fits into usize")];
    log.read_exact_at(&mut text, 0).expect("a file can be read");
    String::from_utf8_lossy(&text).into_owned()
}

pub struct Process {
    child: Child,
    log: File,
    pub address: SocketAddr,
    pub console: Option<SocketAddr>,
}

impl Process {
    #[must_use]
    pub fn start(program: &str, data: &Path, config: Option<&Path>) -> Self {
        Self::start_as(program, data, config, &[])
    }

    #[must_use]
    pub fn memory_peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the process exists");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kilobytes.expect("a peak in kB") * 1024
    }

    #[must_use]
    pub fn start_as(program: &str, data: &Path, config: Option<&Path>, more: &[&str]) -> Self {
        Self::start_where(program, data, config, more, &[])
    }

    #[must_use]
    pub fn start_where(
        program: &str,
        data: &Path,
        config: Option<&Path>,
        more: &[&str],
        variables: &[(&str, &Path)],
    ) -> Self {
        give_draw_key(data).expect("the draw key can be written");
        let mut command = Command::new(program);
        command.args(["serve", "--new-log-key", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more);
        if let Some(config) = config {
            command.arg("--config").arg(config);
        }
        let log = tempfile::tempfile().expect("a file can be made");
        let logged = log.try_clone().expect("a file can be shared");
        command.env("NO_COLOR", "1").envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(logged).spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("the program's output is piped"));
        let mut console = None;
        let address = output.lines().map_while(Result::ok).find_map(|line| {
            if let Some(url) = line.strip_prefix("console: ") {
                console = url.trim_end_matches('/').split_once("://").and_then(|(_, address)| address.parse().ok());
            }
            let address = line.strip_prefix("motherlode listens on ")?.split(',').next()?;
            address.parse().ok()
        });
        let Some(address) = address else {
            let status = child.wait().expect("the program ends");
            panic!("the program prints no address and ends with {status}:\n{}", text(&log));
        };
        Self { child, log, address, console }
    }

    #[must_use]
    pub fn log_line(&self, words: &str) -> Option<String> {
        self.log_lines(words).pop()
    }

    #[must_use]
    pub fn log_lines(&self, words: &str) -> Vec<String> {
        let text = text(&self.log);
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(mut self) {
        self.end();
    }

    pub fn hold(&self) {
        self.signal("STOP");
    }

    pub fn release(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.child.id())]).status();
        assert!(sent.expect("a shell is there").success(), "the process still exists");
    }

    pub fn reload(&self) {
        self.signal("HUP");
    }

    pub async fn terminate(self) -> Option<i32> {
        self.ask_to_stop();
        self.ended().await.0
    }

    pub fn ask_to_stop(&self) {
        self.signal("TERM");
    }

    pub async fn ended(mut self) -> (Option<i32>, String) {
        let waited = tokio::task::spawn_blocking(move || {
            let code = self.child.wait().ok().and_then(|status| status.code());
            let mut text = String::new();
            self.log.rewind().and_then(|()| self.log.read_to_string(&mut text)).expect("a file can be read");
            (code, text)
        });
        tokio::time::timeout(Duration::from_secs(60), waited)
            .await
            .expect("the process ends")
            .expect("waiting does not panic")
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

pub async fn channel(address: SocketAddr) -> Option<Channel> {
    let endpoint = Channel::from_shared(format!("http://{address}")).expect("an address is a URI");
    let endpoint = endpoint.timeout(Duration::from_secs(3)).connect_timeout(Duration::from_secs(1));
    endpoint.connect().await.ok()
}

pub async fn serving(address: SocketAddr) -> bool {
    let Some(channel) = channel(address).await else { return false };
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    answer.is_ok_and(|answer| answer.into_inner().status() == ServingStatus::Serving)
}

pub async fn until(what: &str, done: impl AsyncFn() -> bool) {
    let waiting = async {
        while !done().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(120), waiting).await.unwrap_or_else(|_| panic!("timed out while waiting: {what}"));
}
