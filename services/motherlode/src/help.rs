use crate::commands::{Failure, say};
use clap::Command;
use clap_complete::Shell;
use motherlode_slots::{latest_games, standard};
use std::{fs, io, path::PathBuf};

const WIDTH: usize = 80;

const EXIT_CODES: &str = "Exit codes: 0 success; 1 a failure, or a discrepancy found; 2 unusable input.";

const EXAMPLES: [(&str, &[&str]); 31] = [
    ("serve", &["motherlode serve", "motherlode serve --data /var/lib/motherlode --config motherlode.toml"]),
    ("config", &["motherlode config --config motherlode.toml"]),
    ("play", &["motherlode play GAME", "motherlode play GAME --auto --rounds 20"]),
    ("watch", &["motherlode watch jackpots"]),
    ("health", &["motherlode health", "motherlode health --target https://localhost:50051"]),
    ("reload", &["motherlode reload --target https://localhost:50051 --token-file admin.token"]),
    ("follow", &["motherlode follow --to /backup/log"]),
    ("rounds", &["motherlode rounds open acme", "motherlode rounds close acme/alice/7 --reason left --actor anna"]),
    ("par", &["motherlode par GAME", "motherlode par GAME --format html --out game.html"]),
    ("simulate", &["motherlode simulate GAME --rounds 10000000"]),
    ("loadtest", &["motherlode loadtest --rounds 50000", "motherlode loadtest --rate 1000 --format json"]),
    ("token", &["motherlode token new --out acme.token"]),
    (
        "wallet",
        &[
            "motherlode wallet players > players.toml",
            "motherlode wallet check --url http://127.0.0.1:50061 --players players.toml",
        ],
    ),
    ("base", &["motherlode base show data", "motherlode base take data --actor anna"]),
    ("audit", &["motherlode audit data"]),
    ("replay", &["motherlode replay data acme/alice/7"]),
    ("key", &["motherlode key show data/proofs.key"]),
    ("proof", &["motherlode proof acme/alice/7 > round.tlog-proof", "motherlode proof acme/alice/7 --data data"]),
    ("verify", &["motherlode verify round.tlog-proof --key motherlode-..."]),
    ("witness", &["motherlode witness --key witness.key --log motherlode-... --data witness"]),
    ("copy", &["motherlode copy --from data --to /backup/log"]),
    ("archive", &["motherlode archive --from data --to s3://backup/log"]),
    ("views", &["motherlode views /var/lib/motherlode --to /var/lib/motherlode-next"]),
    ("prune", &["motherlode prune /var/lib/motherlode --archive s3://backup/log --keep-days 90"]),
    (
        "restore",
        &["motherlode restore --from /backup/archive --to data", "motherlode restore --from /backup/archive --check"],
    ),
    ("doctor", &["motherlode doctor /var/lib/motherlode"]),
    ("export", &["motherlode export rounds data --out rounds.csv"]),
    ("log", &["motherlode log tail data"]),
    ("rng", &["motherlode rng --bytes 1000000 > random.bin"]),
    ("completions", &["motherlode completions bash > /etc/bash_completion.d/motherlode"]),
    ("man", &["motherlode man --out /usr/local/share/man/man1"]),
];

const WITH_GAMES: [&str; 4] = ["play", "par", "simulate", "loadtest"];

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Completions {
    /// Shell for which to print completions.
    shell: Shell,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Man {
    /// Folder to write the manual pages to, one per command.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

#[cfg(test)]
impl Man {
    pub(crate) fn at(folder: &std::path::Path) -> Self {
        Self { out: folder.to_owned() }
    }
}

pub(crate) fn with_help(command: Command) -> Command {
    let command = command.max_term_width(WIDTH).after_help(EXIT_CODES);
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let text = after_help(name, examples);
        command.mut_subcommand(name, |command| {
            let nested: Vec<_> = command.get_subcommands().map(|nested| nested.get_name().to_owned()).collect();
            let command = command.after_help(text.clone());
            nested.iter().fold(command, |command, nested| {
                command.mut_subcommand(nested, |nested| nested.after_help(text.clone()))
            })
        })
    })
}

fn after_help(name: &str, examples: &[&str]) -> String {
    let mut text = String::from("Examples:\n");
    for example in examples {
        text.push_str(&format!("  {}\n", example.replace("GAME", standard().name())));
    }
    if WITH_GAMES.contains(&name) {
        let games: Vec<_> = latest_games().iter().map(|game| game.name()).collect();
        text.push_str(&format!("\nGames: {}\n", games.join(", ")));
    }
    text.push_str(&format!("\n{EXIT_CODES}"));
    text
}

pub(crate) fn completions(mut command: Command, args: &Completions) -> Result<(), Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "motherlode", &mut script);
    say(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(command: Command, args: &Man) -> Result<(), Failure> {
    let unwritten =
        |error: io::Error| Failure::unwritable(&args.out, &error, "With --out, name a folder that this user may write");
    fs::create_dir_all(&args.out).map_err(unwritten)?;
    clap_mangen::generate_to(command, &args.out).map_err(unwritten)
}
