//! The command line: what can be asked for, and which command does it.

use crate::commands::{
    Failure, audit, config, copy, export, follow, health, key, loadtest, log, par, play, proof, replay, rng, rounds,
    serve, simulate, token, verify, watch, witness,
};
use crate::help::{self, Completions, Man, with_help};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
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
    /// Print completions for a shell.
    Completions(Completions),
    /// Write man pages, one per command.
    Man(Man),
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

/// The command line, with examples and exit codes in its help.
pub(crate) fn command() -> clap::Command {
    with_help(Cli::command())
}

/// Parses the command line and runs the command; `serve` plays with the dealer that is made of its draw keys. Exit codes: 0 done, 1 it failed
/// or found something, 2 unusable input.
#[must_use]
pub fn main(dealer: fn(DrawKeys) -> Dealer) -> ExitCode {
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match cli.command {
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
        Command::Completions(args) => help::completions(command(), &args),
        Command::Man(args) => help::man(command(), &args),
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

    #[test]
    fn every_command_can_be_asked_for() {
        command().debug_assert();
    }

    /// Every command, with the words that lead to it.
    fn commands(command: &clap::Command, path: &[String]) -> Vec<Vec<String>> {
        let mut all = vec![path.to_vec()];
        for nested in command.get_subcommands().filter(|nested| nested.get_name() != "help") {
            let path: Vec<_> = path.iter().cloned().chain([nested.get_name().to_owned()]).collect();
            all.extend(commands(nested, &path));
        }
        all
    }

    #[test]
    fn at_c3_help_fits_80_columns_and_has_examples_exit_codes_and_games() {
        let all = commands(&with_help(Cli::command()), &[]);
        assert!(all.len() > 23, "{all:?}");
        for path in all {
            for flag in ["--help", "-h"] {
                let words = ["motherlode".to_owned()].into_iter().chain(path.clone()).chain([flag.to_owned()]);
                let error = with_help(Cli::command()).term_width(80).try_get_matches_from(words).unwrap_err();
                let help = error.to_string();
                let wide: Vec<_> = help.lines().filter(|line| line.chars().count() > 80).collect();
                assert!(wide.is_empty(), "{path:?}: {wide:#?}");
                assert!(help.contains("Exit codes: 0"), "{path:?}");
                assert!(path.is_empty() || help.contains("Examples:\n  motherlode "), "{path:?}: {help}");
                if path.first().is_some_and(|name| ["play", "par", "simulate", "loadtest"].contains(&name.as_str())) {
                    for game in motherlode_slots::latest_games() {
                        assert!(help.contains(game.name()), "{path:?}: {}", game.name());
                    }
                }
            }
        }
    }

    #[test]
    fn at_c3_examples_of_the_help_are_commands() {
        let text = with_help(Cli::command());
        for command in text.get_subcommands().filter(|command| command.get_name() != "help") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for example in help.lines().filter_map(|line| line.strip_prefix("  motherlode ")) {
                let example = example.split(" > ").next().unwrap_or_default().replace("motherlode-...", KEY);
                let words = ["motherlode"].into_iter().chain(example.split(' '));
                let parsed = with_help(Cli::command()).try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    /// A public key of a log.
    const KEY: &str = "example.com/other/log/0+276a9244+Af+zdc6iunQ6Iji/k5tIcFmFGTPEZgZCMZHhCdthN0Dw";

    #[test]
    fn at_c3_completions_and_man_pages_are_generated_for_every_command() {
        let folder = tempfile::tempdir().unwrap();
        help::man(with_help(Cli::command()), &Man::at(folder.path())).unwrap();
        let page = std::fs::read_to_string(folder.path().join("motherlode-loadtest.1")).unwrap();
        assert!(page.contains("rounds") && page.contains("Exit codes"), "{page}");
        for command in Cli::command().get_subcommands() {
            let page = folder.path().join(format!("motherlode-{}.1", command.get_name()));
            assert!(page.exists(), "{}", page.display());
        }
    }
}
