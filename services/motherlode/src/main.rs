//! The `motherlode` binary. The code is in the library, so that tests can start it in-process.

use std::process::ExitCode;

/// mimalloc frees small allocations on other threads cheaply: a round took 18 % more CPU with glibc's malloc
/// (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    motherlode::cli::main(motherlode_spin::Dealer::of)
}
