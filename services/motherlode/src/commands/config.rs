use super::{Failure, config_file::faulty, say, serve};
use motherlode_proto::convert::play::hex;
use sha2::{Digest, Sha256};

#[derive(Debug, clap::Args)]
// These arguments have no clap group, because they include the arguments of `serve`, whose group has the same name.
#[group(skip)]
pub struct Args {
    /// Print the canonical form: one line of JSON, whose SHA-256 is the digest reported by a service.
    #[arg(long)]
    canonical: bool,
    #[command(flatten)]
    serve: serve::Args,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let config = args.serve.config()?;
    if !args.canonical {
        motherlode_server::check(&config).map_err(|error| faulty(args.serve.file(), &error))?;
    }
    let canonical = config.canonical();
    match args.canonical {
        true => say(&canonical),
        false => {
            say(&format!("the configuration is valid\nconfiguration_sha256 {}\n", hex(&Sha256::digest(canonical))))
        }
    }
}
