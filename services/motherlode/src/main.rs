//! The `motherlode` binary. All of it is in the library, so that tests can start it in their own process.

use std::process::ExitCode;

/// Many small allocations, freed on other threads: with glibc's malloc a round took some 18 % more CPU (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    motherlode::cli::main(motherlode_spin::Dealer::of)
}
