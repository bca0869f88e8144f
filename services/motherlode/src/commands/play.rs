//! `play`: rounds at a running service, drawn on the terminal.
//!
//! Opens and funds the account where it must, goes on with a round that was left open, and makes the round's choices:
//! the player's, asked for on the terminal, or with `--auto` its own. When the input ends the round stays open, and
//! the next `play` goes on with it (PL-02).

mod console;
mod demo;
mod session;

pub use console::Console;

use super::{Failure, stake::StakeArgs};
use crate::{client::Client, draw, figures, target::Target};
use motherlode_books::Currency;
use motherlode_proto::round::v1 as round;
use std::io;

/// The arguments of `play`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The game.
    #[arg(value_name = "GAME")]
    game: String,
    #[command(flatten)]
    target: Target,
    /// The operator whose player plays.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    operator: String,
    /// The player.
    #[arg(long, value_name = "NAME", default_value = "alice")]
    player: String,
    /// Currency of the player's account.
    #[arg(long, value_name = "CODE", default_value_t = Currency::EUR)]
    currency: Currency,
    /// Play for play money, which the service gives (PL-17).
    #[arg(long, conflicts_with_all = ["currency", "campaign"])]
    demo: bool,
    /// Rounds to play.
    #[arg(long, value_name = "N", default_value = "1", value_parser = figures::count)]
    rounds: u64,
    #[command(flatten)]
    stake: StakeArgs,
    /// Play free rounds of this campaign, with its stake.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["lines", "coins", "coin_value", "buy_feature"])]
    campaign: Option<String>,
    /// The witch who comes along; asked for before the first spin, and remembered.
    #[arg(long)]
    witch: Option<Witch>,
    /// Keep the round open after a win that can be gambled.
    #[arg(long)]
    double: bool,
    /// Make all choices without asking: the first objects, free spins and features at once, and with --double one card.
    #[arg(long)]
    auto: bool,
}

impl Args {
    fn currency(&self) -> Currency {
        if self.demo { Currency::PLAY } else { self.currency }
    }
}

/// The witches (BW-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Witch {
    /// The white witch.
    White,
    /// The dark witch.
    Dark,
}

impl From<Witch> for round::Witch {
    fn from(witch: Witch) -> Self {
        match witch {
            Witch::White => Self::White,
            Witch::Dark => Self::Dark,
        }
    }
}

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
