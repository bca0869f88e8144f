//! The `motherlode` binary.

use std::process::ExitCode;

/// A round makes many small allocations, which other threads free. With glibc's malloc a round took 18 % more CPU time
/// (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    motherlode::cli::main(motherlode_spin::Dealer::from_keys)
}
