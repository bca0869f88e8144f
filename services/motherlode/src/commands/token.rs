use super::{Failure, NEW_FILE, say};
use crate::client::random;
use motherlode_proto::convert::play::hex;
use motherlode_runtime::access::digest;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Create a token of 256 random bits. The token is shown once; the configuration contains only its digest.
    New(New),
}

#[derive(Debug, clap::Args)]
struct New {
    /// Write the token to this file, readable by its owner only, instead of printing it.
    #[arg(long, value_name = "FILE")]
    out: Option<std::path::PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let What::New(New { out }) = &args.what;
    let token = format!("ml_{}", hex(&random::<32>()?));
    match out {
        Some(path) => write(path, &token)?,
        None => say(&format!("{token}\n"))?,
    }
    say(&format!(
        "
Store the token: it is not shown again. Add its digest to the operator in the configuration:

[[operators.credentials]]
name = \"give it a name\"
token_sha256 = \"{}\"
roles = [\"play\", \"wallet\"]             # of play, wallet, support, audit, admin
# expires = 2027-12-31T00:00:00Z
",
        digest(token.as_bytes())
    ))
}

fn write(path: &std::path::Path, token: &str) -> Result<(), Failure> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| writeln!(file, "{token}"));
    written.map_err(|error| Failure::unwritable(path, &error, NEW_FILE))
}
