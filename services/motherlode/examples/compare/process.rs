use motherlode_runtime::connect::Credentials;
use std::{
    io::{self, BufRead, BufReader},
    process::{Child, Command, Stdio},
};

pub struct Process {
    child: Child,
    address: String,
    pub credentials: Option<Credentials>,
}

impl Process {
    pub fn start(arguments: &[&str], credentials: Option<Credentials>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args(arguments).env("RUST_LOG", "warn").stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("the server's output is not piped"))?;
        let said = BufReader::new(output).lines().map_while(Result::ok);
        let address = said.into_iter().find_map(|line| {
            let (_, rest) = line.split_once("listens on ")?;
            Some(rest.split(',').next()?.trim().to_owned())
        });
        let process = Self { child, address: address.unwrap_or_default(), credentials };
        if process.address.is_empty() { Err(io::Error::other("the server did not start")) } else { Ok(process) }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn target(&self) -> String {
        format!("{}://{}", if self.credentials.is_some() { "https" } else { "http" }, self.address)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
