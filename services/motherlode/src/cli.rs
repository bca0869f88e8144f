//! The command line: what can be asked for, and which command does it.

use crate::commands::{
    Failure, audit, config, copy, export, follow, health, key, loadtest, log, par, play, proof, replay, rng, rounds,
    serve, simulate, token, verify, watch, witness,
};
use clap::{Args, Parser, Subcommand};
use motherlode_ledger::DrawKeys;
use motherlode_runtime::lowest_priority;
use motherlode_spin::Dealer;
use std::process::ExitCode;

/// An event-sourced jackpot and round ledger.
#[derive(Parser)]
#[command(name = "motherlode", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve spin, ledger and jackpot from one process, with an embedded log or one on JetStream.
    Serve(serve::Args),
    /// Check a configuration, and print what its digest is taken over.
    Config(config::Args),
    /// Play rounds at a running service, drawn on the terminal.
    Play(play::Args),
    /// Watch a running service live.
    Watch(watch::Args),
    /// Ask whether a service takes calls; for probes.
    Health(health::Args),
    /// Keep an independent copy of a running service's log current.
    Follow(Long<follow::Args>),
    /// List rounds that wait for their players, or close one.
    Rounds(rounds::Args),
    /// Print a game's exact mathematics: return by part, spread, paytable, features.
    Par(par::Args),
    /// Play many rounds without a service and hold them against the exact mathematics.
    Simulate(Long<simulate::Args>),
    /// Play many rounds at a running service at once, time them, and check its books.
    Loadtest(loadtest::Args),
    /// Make a token for an operator, and what the configuration stores of it.
    Token(token::Args),
    /// Verify a log, or an operator's copy of one, from its first byte to its last, without a service and believing nothing.
    Audit(Long<audit::Args>),
    /// Resolve one round of a log again and show it step by step.
    Replay(Long<replay::Args>),
    /// Make a key for the log's checkpoints or for a witness, or show its public half.
    Key(key::Args),
    /// Print the proof of a round: that it is in the log, and how it was played.
    Proof(proof::Args),
    /// Verify a round's proof by itself, and show the round.
    Verify(verify::Args),
    /// Cosign the checkpoints of logs, if each continues the one before.
    Witness(witness::Args),
    /// Copy a log to another place, byte for byte, or follow a running service's.
    Copy(Long<copy::Args>),
    /// Write rounds, transactions, revenue or events as CSV, JSON Lines or Parquet.
    Export(Long<export::Args>),
    /// Look into a log: its last records, one of them, or whether the chain is sound.
    Log(Long<log::Args>),
    /// Write what the service's random generator gives, raw or scaled, for statistical tests.
    Rng(rng::Args),
}

/// A command that reads a log from end to end or plays for long: it stands behind a service on the same machine.
#[derive(Args)]
struct Long<Of: Args> {
    #[command(flatten)]
    args: Of,
    /// Take as much of the processors as a service on this machine does; without it, what that and others leave (SCHED_IDLE).
    #[arg(long, global = true)]
    full_speed: bool,
}

impl<Of: Args> Long<Of> {
    fn run(&self, command: fn(&Of) -> Result<(), Failure>) -> Result<(), Failure> {
        if !self.full_speed {
            // This thread's, and so that of all that the command starts.
            lowest_priority();
        }
        command(&self.args)
    }
}

/// Parses the command line and runs the command; `serve` plays with the dealer that is made of its draw keys. Exit codes: 0 done, 1 it failed
/// or found something, 2 unusable input.
#[must_use]
pub fn main(dealer: fn(DrawKeys) -> Dealer) -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args, dealer),
        Command::Config(args) => config::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Follow(args) => args.run(follow::run),
        Command::Rounds(args) => rounds::run(&args),
        Command::Par(args) => par::run(&args),
        Command::Simulate(args) => args.run(simulate::run),
        Command::Loadtest(args) => loadtest::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Audit(args) => args.run(audit::run),
        Command::Replay(args) => args.run(replay::run),
        Command::Key(args) => key::run(&args),
        Command::Proof(args) => proof::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Witness(args) => witness::run(&args),
        Command::Copy(args) => args.run(copy::run),
        Command::Export(args) => args.run(export::run),
        Command::Log(args) => args.run(log::run),
        Command::Rng(args) => rng::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, message }) => {
            if !message.is_empty() {
                eprintln!("motherlode: {message}");
            }
            ExitCode::from(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_can_be_asked_for() {
        Cli::command().debug_assert();
    }
}
