//! The service as a process of its own, for tests that kill it.

use std::process::ExitCode;

fn main() -> ExitCode {
    motherlode::cli::main()
}
