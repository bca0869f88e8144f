//! Compiles the protos with a compiler written in Rust, so that a fresh machine needs no protoc.

use prost::Message;
use std::{env, fs, path::PathBuf};

const PROTOS: [&str; 11] = [
    "motherlode/round/v1/round.proto",
    "motherlode/spin/v1/spin.proto",
    "motherlode/ledger/v1/ledger.proto",
    "motherlode/jackpot/v1/jackpot.proto",
    "motherlode/log/v1/acts.proto",
    "motherlode/log/v1/draws.proto",
    "motherlode/log/v1/log.proto",
    "motherlode/log/v1/copied.proto",
    "motherlode/log/v1/log_service.proto",
    "motherlode/report/v1/report.proto",
    "motherlode/proof/v1/proof.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=motherlode");
    println!("cargo:rerun-if-changed=google");
    let descriptors = protox::compile(PROTOS, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("motherlode.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        // tonic-types has these messages; generating them again would split the type in two.
        .extern_path(".google.rpc", "::tonic_types::pb")
        // By far its largest answer, and moved through many hands.
        .boxed(".motherlode.spin.v1.PlayStreamResponse.answer.played")
        .compile_fds(descriptors)?;
    Ok(())
}
