//! Runs a witness (c2sp.org/tlog-witness).

use super::{Failure, address, say};
use motherlode_proofs::{Witness, load};
use motherlode_runtime::stop;
use motherlode_tiles::{KeyKind, VerifierKey};
use std::{net::SocketAddr, path::PathBuf};
use tokio::net::TcpListener;

const MAKE: &str = "Create a key with: motherlode key new NAME --witness --out FILE";

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 lets the system choose.
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = "127.0.0.1:50061")]
    listen: SocketAddr,
    /// Key file of the witness, created by `key new --witness`.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Public key of a log; a log has one key per partition, so this option can be repeated.
    #[arg(long = "log", value_name = "VKEY", required = true)]
    logs: Vec<VerifierKey>,
    /// Folder of the cosigned checkpoints. If it is lost, the witness cannot compare a log's next checkpoint with the
    /// earlier ones.
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let key = load(&args.key).map_err(|error| Failure::unusable(error).with_step(MAKE))?;
    if key.verifier().kind() != KeyKind::Witness {
        return Err(Failure::unusable(format!("{} is not a witness's key", args.key.display())).with_step(MAKE));
    }
    if let Some(other) = args.logs.iter().find(|key| key.kind() != KeyKind::Log) {
        let what = format!("{other} is a witness's key, not a log's key");
        return Err(Failure::unusable(what)
            .with_step("`motherlode key show` prints the public key of a log from its proofs.key"));
    }
    let verifier = key.verifier().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    runtime.block_on(async {
        let signalled = stop::signalled().map_err(Failure::found)?;
        // The folder must not be created if the bind fails.
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            Failure::found(format!("cannot listen on {}: {error}", args.listen))
                .with_step("Specify another address with --listen")
        })?;
        let witness = Witness::open(key, args.logs.clone(), args.data.clone()).map_err(|error| {
            Failure::found(error).with_step("With --data, specify the data folder of this witness or a new folder")
        })?;
        let address = listener.local_addr().map_err(Failure::found)?;
        say(&format!("Witness {verifier}\n  http://{address}/add-checkpoint\n"))?;
        let (stopper, stop) = stop::channel();
        let serving = witness.serve(listener, stop);
        let stopped = async {
            signalled.await;
            stopper.stop();
        };
        tokio::join!(serving, stopped);
        Ok(())
    })
}
