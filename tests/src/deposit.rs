//! Appends a deposit in EUR to the log of a stopped service, without checking limits: `deposit-of-old DATA OPERATOR PLAYER
//! CENTS`.

use motherlode_state::StreamId;
use motherlode_tests::deposit_of_old;
use std::{env, path::Path};

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [data, operator, player, cents] = arguments.as_slice() else {
        panic!("deposit-of-old DATA OPERATOR PLAYER CENTS")
    };
    let cents = cents.parse().expect("cents are a whole number");
    deposit_of_old(Path::new(data), &StreamId::player(operator, player), cents);
}
