//! The `motherlode` binary. The code is in the library, so that tests can start it in-process.

use std::process::ExitCode;

/// Rounds make many small allocations that other threads free. With glibc's malloc a round took 18 % more CPU
/// (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    motherlode::cli::main(motherlode_spin::Dealer::of)
}
