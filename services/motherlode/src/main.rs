//! The `motherlode` binary. Tests start the library in-process.

use std::process::ExitCode;

/// Rounds make many small allocations, which other threads free. With glibc's malloc a round took 18 % more CPU
/// (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    motherlode::cli::main(motherlode_spin::Dealer::from_keys)
}
