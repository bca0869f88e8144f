//! Compiles the protos with a compiler written in Rust, so that a fresh machine needs no protoc.

use prost::Message;
use prost_types::FileDescriptorSet;
use std::{
    env,
    fmt::{self, Write as _},
    fs,
    path::PathBuf,
};

const PROTOS: [&str; 18] = [
    "motherlode/round/v1/round.proto",
    "motherlode/spin/v1/spin.proto",
    "motherlode/ledger/v1/day.proto",
    "motherlode/ledger/v1/ledger.proto",
    "motherlode/jackpot/v1/jackpot.proto",
    "motherlode/log/v1/acts.proto",
    "motherlode/log/v1/draws.proto",
    "motherlode/log/v1/log.proto",
    "motherlode/log/v1/wallets.proto",
    "motherlode/log/v1/copied.proto",
    "motherlode/log/v1/log_service.proto",
    "motherlode/report/v1/lists.proto",
    "motherlode/report/v1/report.proto",
    "motherlode/report/v1/vitals.proto",
    "motherlode/proof/v1/proof.proto",
    "motherlode/wallet/v1/wallet.proto",
    "motherlode/job/v1/job.proto",
    // What refusals are made of: in JSON they are told by it.
    "google/rpc/error_details.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=motherlode");
    println!("cargo:rerun-if-changed=google");
    let descriptors = protox::compile(PROTOS, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("motherlode.bin"), descriptors.encode_to_vec())?;
    fs::write(out.join("calls.rs"), calls(&descriptors)?)?;
    tonic_prost_build::configure()
        // tonic-types has these messages; generating them again would split the type in two.
        .extern_path(".google.rpc", "::tonic_types::pb")
        // By far its largest answer, and moved through many hands.
        .boxed(".motherlode.spin.v1.PlayStreamResponse.answer.played")
        .compile_fds(descriptors)?;
    Ok(())
}

/// The list of the services and their calls, for the macro in `src/calls.rs`.
fn calls(descriptors: &FileDescriptorSet) -> Result<String, fmt::Error> {
    let mut list = String::new();
    for file in &descriptors.file {
        for service in &file.service {
            let (package, name) = (file.package(), service.name());
            let module = package.strip_prefix("motherlode.").unwrap_or(package).replace('.', "::");
            writeln!(
                list,
                "served! {{ crate::{module}::{}_server::{name}, {name}Calls, \"{package}.{name}\",",
                snake(name)
            )?;
            for method in &service.method {
                let kind = match (method.client_streaming(), method.server_streaming()) {
                    (false, false) => "unary",
                    (false, true) => "server_streaming",
                    (true, _) => "streaming",
                };
                writeln!(list, "    \"/{package}.{name}/{1}\" {kind} {0}", snake(method.name()), method.name())?;
            }
            list.push_str("}\n");
        }
    }
    Ok(list)
}

/// `OpenAccount` as `open_account`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
