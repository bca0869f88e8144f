//! `play`: rounds at a running service, drawn on the terminal.
//!
//! Opens and funds the account where it must, goes on with a round that was left open, and makes the round's choices:
//! the player's, asked for on the terminal, or with `--auto` its own. When the input ends the round stays open, and
//! the next `play` goes on with it (PL-02).

mod args;
mod console;
mod demo;
mod session;

pub use args::Args;
pub use console::Console;

use super::Failure;
use crate::{client::Client, draw};
use std::io;

/// Plays on the process's own terminal.
///
/// # Errors
/// The service cannot be reached, or refused something.
pub fn run(args: &Args) -> Result<(), Failure> {
    // A worker thread of its own answers the connection's pings while the player thinks.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(Failure::found)?;
    let colour = draw::colour_wanted(&io::stdout());
    let mut console = Console::new(io::stdout().lock(), io::stdin().lock(), colour);
    match runtime.block_on(play(args, &mut console)) {
        // Whoever read the output has seen enough.
        Err(_) if console.is_closed() => Ok(()),
        played => played,
    }
}

/// Plays on any console.
///
/// # Errors
/// As [`run`].
pub async fn play<W: io::Write, R: io::BufRead>(args: &Args, console: &mut Console<W, R>) -> Result<(), Failure> {
    let client = Client::connect(&args.target).await?;
    session::Session::start(client, args, console).await?.play().await
}

#[cfg(test)]
mod tests;
