use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_motherlode");

pub struct Service {
    child: Child,
    pub address: String,
    pub console: String,
}

impl Service {
    pub fn start(data: &Path, config: Option<&Path>) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--data"]).arg(data);
        if let Some(config) = config {
            command.arg("--config").arg(config);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut console, mut address) = (None, None);
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix("console: ") {
                console = url.split_once("://").map(|(_, authority)| authority.trim_end_matches('/').to_owned());
            }
            if let Some(rest) = line.strip_prefix("motherlode listens on ") {
                address = rest.split(',').next().map(str::to_owned);
                break;
            }
        }
        Self { child, address: address.unwrap(), console: console.unwrap() }
    }

    pub fn stop(mut self) {
        interrupt(&self.child);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

pub fn run(words: &str) -> Output {
    Command::new(PROGRAM).args(words.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
