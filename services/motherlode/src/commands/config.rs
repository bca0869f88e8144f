//! `config`: checks a configuration as `serve` would, and prints what its digest is taken over (PL-29).

use super::{Failure, config_file::faulty, say, serve};
use motherlode_proto::convert::play::hex;
use sha2::{Digest, Sha256};

/// The arguments of `config`: the same as those of `serve`, since a flag counts like its key.
#[derive(Debug, clap::Args)]
// What is flattened into it has a group of the same name.
#[group(skip)]
pub struct Args {
    /// Print the configuration in its canonical form: one line of JSON, of which `sha256sum` gives the digest that a service
    /// of this configuration states.
    #[arg(long)]
    canonical: bool,
    #[command(flatten)]
    serve: serve::Args,
}

/// Prints the canonical form, or its digest.
///
/// # Errors
/// The configuration cannot be read, or makes no sense.
pub fn run(args: &Args) -> Result<(), Failure> {
    let config = args.serve.config()?;
    // The canonical form is also for other machines, without the files.
    if !args.canonical {
        motherlode_server::check(&config).map_err(|error| faulty(args.serve.file(), &error))?;
    }
    let canonical = config.canonical();
    match args.canonical {
        true => say(&canonical),
        false => {
            say(&format!("the configuration is sound\nconfiguration_sha256 {}\n", hex(&Sha256::digest(canonical))))
        }
    }
}
