use super::{Failure, NEW_FILE, say};
use motherlode_proofs::{KeyError, load, make, of_partition};
use motherlode_tiles::KeyKind;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    /// Create a key of 256 random bits in a file readable by its owner only, and print its public key.
    New(New),
    /// Print the public key of a key file, for verifiers.
    Show(Show),
}

#[derive(Debug, Clone, clap::Args)]
struct New {
    /// Name of the log or of the witness, such as example.com/motherlode.
    #[arg(value_name = "NAME")]
    name: String,
    /// File to create; an existing file is not replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Create a key with which `witness` signs, instead of a log's key for `serve`.
    #[arg(long)]
    witness: bool,
}

#[derive(Debug, Clone, clap::Args)]
struct Show {
    /// Key file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of partitions of the log; a public key is printed for each.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    partitions: u32,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let (key, partitions) = match &args.what {
        What::New(New { name, out, witness }) => {
            let kind = if *witness { KeyKind::Witness } else { KeyKind::Log };
            let made = make(out, Some(name), kind).map_err(|error| match error {
                KeyError::File { source, .. } => Failure::unwritable(out, &source, NEW_FILE),
                KeyError::Malformed { source, .. } => {
                    Failure::unusable(format!("the name {name:?} is not allowed: {source}"))
                        .with_step("Name the key after its owner, such as example.com/motherlode")
                }
                error => Failure::found(error),
            });
            (made?, 1)
        }
        What::Show(Show { file, partitions }) => {
            let step = "Name a key file created by `motherlode key new` or `serve`, such as proofs.key in the data folder of `serve`";
            (load(file).map_err(|error| Failure::unusable(error).with_step(step))?, *partitions)
        }
    };
    let key = key.verifier();
    let keys = match key.kind() {
        KeyKind::Witness => vec![key.clone()],
        KeyKind::Log => {
            let each = (0..partitions).map(|partition| of_partition(key, partition));
            each.collect::<Result<_, _>>().map_err(Failure::unusable)?
        }
    };
    say(&keys.iter().map(|key| format!("{key}\n")).collect::<String>())
}
