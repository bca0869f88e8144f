//! Plays rounds in the terminal. If the input ends, the round stays open and the next `play` continues it (PL-02).

mod args;
mod console;
mod demo;
mod session;

pub use args::Args;
pub use console::Console;

use super::Failure;
use crate::{client::Client, draw};
use std::{
    env, io,
    process::{Command, Stdio},
};

pub fn run(args: &Args) -> Result<(), Failure> {
    // The worker thread answers pings while the main thread waits for input.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(Failure::found)?;
    let colour = draw::colour_wanted(&io::stdout());
    let mut console = Console::new(io::stdout().lock(), io::stdin().lock(), colour).with_columns(columns());
    match runtime.block_on(play(args, &mut console)) {
        Err(_) if console.is_closed() => Ok(()),
        played => played,
    }
}

fn columns() -> usize {
    let set = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let ask = || {
        let size = Command::new("stty").arg("size").stdin(Stdio::inherit()).stderr(Stdio::null()).output().ok()?;
        std::str::from_utf8(&size.stdout).ok()?.split_whitespace().nth(1)?.parse().ok()
    };
    set.or_else(ask).filter(|columns| *columns > 0).unwrap_or(80)
}

pub async fn play<W: io::Write, R: io::BufRead>(args: &Args, console: &mut Console<W, R>) -> Result<(), Failure> {
    let client = Client::connect(&args.target).await?;
    session::Session::start(client, args, console).await?.play().await
}

#[cfg(test)]
mod tests;
