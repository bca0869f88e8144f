use motherlode_spin::Dealer;
use std::process::ExitCode;

fn main() -> ExitCode {
    motherlode::cli::main(|keys| motherlode_tests::scripted(Dealer::from_keys(keys)))
}
