use crate::commands::{
    Failure, archive, audit, base, config, copy, doctor, export, follow, health, key, loadtest, log, par, play, proof,
    prune, reload, replay, restore, rng, rounds, serve, simulate, token, verify, views, wallet, watch, witness,
};
use crate::help::{self, Completions, Man, with_help};
use crate::replaced;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use motherlode_ledger::DrawKeys;
use motherlode_runtime::{lowest_priority, process};
use motherlode_spin::Dealer;
use std::process::ExitCode;

const COMMIT: &str = env!("MOTHERLODE_COMMIT");
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("MOTHERLODE_COMMIT"), ")");

/// Event-sourced jackpot and round ledger.
#[derive(Parser)]
#[command(name = "motherlode", version = VERSION, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve all services, or those of one role, with the log on disk or on JetStream.
    Serve(serve::Args),
    /// Check a configuration and print its digest or its canonical form.
    Config(config::Args),
    /// Play rounds on a running service in the terminal.
    Play(play::Args),
    /// Show the jackpots of a running service live.
    Watch(watch::Args),
    /// Check whether a service accepts calls (for probes).
    Health(health::Args),
    /// Apply a service's changed configuration file without a restart.
    Reload(reload::Args),
    /// Keep an independent copy of a running service's log, or stream its changes.
    Follow(Long<follow::Args>),
    /// List open rounds, or close one.
    Rounds(rounds::Args),
    /// Print a game's exact figures: return by component, volatility, paytable and features.
    Par(par::Args),
    /// Play many rounds without a service, and compare the results with the exact figures.
    Simulate(Long<simulate::Args>),
    /// Play many concurrent rounds on a running service, measure latencies, and check its books.
    Loadtest(loadtest::Args),
    /// Create a bearer token for an operator and print its digest for the configuration.
    Token(token::Args),
    /// Check an operator's wallet against the wallet contract.
    Wallet(wallet::Args),
    /// Verify a whole log, or an operator's copy, without a service.
    Audit(Long<audit::Args>),
    /// Recompute one round of a log and show it step by step.
    Replay(Long<replay::Args>),
    /// Create a key for a log's checkpoints or a witness, or print its public key.
    Key(key::Args),
    /// Print a round's proof: evidence of its position in the log and of how it was played.
    Proof(proof::Args),
    /// Verify a round's proof offline, and show the round.
    Verify(verify::Args),
    /// Cosign checkpoints of logs; each must extend the log's previous checkpoint.
    Witness(witness::Args),
    /// Copy a log byte for byte, once or continuously from a running service.
    Copy(Long<copy::Args>),
    /// Archive a log in a folder or an S3 bucket, in verified segments.
    Archive(Long<archive::Args>),
    /// Remove old records that are already archived.
    Prune(Long<prune::Args>),
    /// Build this version's views (state files) from the log of a running service, to shorten the start after an
    /// upgrade.
    Views(Long<views::Args>),
    /// Show, take or confirm a base: the digest of the state at a position of the log.
    Base(Long<base::Args>),
    /// Examine a data folder: intact records, lost records, and the next step.
    Doctor(Long<doctor::Args>),
    /// Verify a whole archive, and restore the log from it.
    Restore(Long<restore::Args>),
    /// Export rounds, transactions, revenue or events as CSV, JSON Lines or Parquet.
    Export(Long<export::Args>),
    /// Inspect a log: its last records, a single record, or the integrity of its hash chain.
    Log(Long<log::Args>),
    /// Write output of the service's random number generator for statistical tests.
    Rng(rng::Args),
    /// Print completions for a shell.
    Completions(Completions),
    /// Write man pages, one per command.
    Man(Man),
}

/// Runs a command at idle priority by default, so that a service on the same machine has precedence.
#[derive(Args)]
struct Long<Of: Args> {
    #[command(flatten)]
    args: Of,
    /// Scheduling priority; idle uses only idle processor time (SCHED_IDLE).
    #[arg(long, global = true, value_enum, default_value_t = Priority::Idle)]
    priority: Priority,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Priority {
    Idle,
    Normal,
}

impl<Of: Args> Long<Of> {
    fn run(&self, command: fn(&Of) -> Result<(), Failure>) -> Result<(), Failure> {
        if self.priority == Priority::Idle {
            lowest_priority();
        }
        command(&self.args)
    }
}

pub(crate) fn command() -> clap::Command {
    with_help(Cli::command())
}

/// Runs the command line. The exit code is 0 for success, 1 for a failure or a discrepancy, and 2 for unusable input.
#[must_use]
pub fn main(dealer: fn(DrawKeys) -> Dealer) -> ExitCode {
    process::set_commit(COMMIT);
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => match replaced::flag(std::env::args().skip(1)) {
            Some(failure) => return ended(Err(failure)),
            None => error.exit(),
        },
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    ended(match cli.command {
        Command::Serve(args) => serve::run(&args, dealer),
        Command::Config(args) => config::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Reload(args) => reload::run(&args),
        Command::Follow(args) => args.run(follow::run),
        Command::Rounds(args) => rounds::run(&args),
        Command::Par(args) => par::run(&args),
        Command::Simulate(args) => args.run(simulate::run),
        Command::Loadtest(args) => loadtest::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Wallet(args) => wallet::run(&args),
        Command::Audit(args) => args.run(audit::run),
        Command::Replay(args) => args.run(replay::run),
        Command::Key(args) => key::run(&args),
        Command::Proof(args) => proof::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Witness(args) => witness::run(&args),
        Command::Copy(args) => args.run(copy::run),
        Command::Archive(args) => args.run(archive::run),
        Command::Prune(args) => args.run(prune::run),
        Command::Views(args) => args.run(views::run),
        Command::Base(args) => args.run(base::run),
        Command::Doctor(args) => args.run(doctor::run),
        Command::Restore(args) => args.run(restore::run),
        Command::Export(args) => args.run(export::run),
        Command::Log(args) => args.run(log::run),
        Command::Rng(args) => rng::run(&args),
        Command::Completions(args) => help::completions(command(), &args),
        Command::Man(args) => help::man(command(), &args),
    })
}

fn ended(done: Result<(), Failure>) -> ExitCode {
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
