use crate::common::*;
use motherlode_state::*;
use proptest::{collection::vec, prelude::*, test_runner::RngSeed};

const NAMES: [&str; 2] = ["ann", "ben"];

type Op = (u8, usize, i64);

type Special = (usize, usize, i64, i64);

fn config() -> ProptestConfig {
    ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(4), ..ProptestConfig::default() }
}

fn happen(world: &mut World, (kind, who, x): Op) {
    match kind {
        0..=3 => _ = world.play(NAMES[who], 1 + x % 500, "0.2", x * 7 % 600),
        4 => _ = world.settle_pool(),
        5 => world.now_ms += x,
        6 => {
            let deposit = Event::Deposited { currency: Currency::EUR, amount: Minor(1 + x) };
            world.write(player(NAMES[who]), vec![deposit]);
        }
        _ => _ = world.hit(NAMES[who], Currency::EUR, 1 + x % 500, "0.2"),
    }
}

fn told(ops: &[Op], special: Option<Special>) -> World {
    let mut world = World::with_players(&NAMES);
    let mut played = None;
    for (number, op) in ops.iter().enumerate() {
        if let Some((at, who, bet, win)) = special
            && at % ops.len() == number
        {
            played = Some((who, bet, win, world.play(NAMES[who], bet, "0.2", win).0));
        }
        happen(&mut world, *op);
    }
    world.settle_pool();
    if let Some((who, bet, win, round)) = played {
        world.void(NAMES[who], round, bet, win).unwrap();
        world.settle_pool();
    }
    world
}

fn holdings(world: &World) -> Vec<i128> {
    let accounts = [Account::House("acme"), Account::External("acme"), Account::ContributionsDue(POOL)];
    let eur = |account| world.books.holding(account, Currency::EUR).0;
    let players = NAMES.map(|name| i128::from(world.balance(name, Currency::EUR)));
    accounts.into_iter().map(eur).chain(players).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn pl_04_bw_19_a_voided_round_leaves_the_books_as_if_it_had_never_been(
        ops in vec((0..7_u8, 0..2_usize, 0..5_000_i64), 1..40),
        special in (0..40_usize, 0..2_usize, 1..1_000_i64, 0..5_000_i64),
    ) {
        let (with, without) = (told(&ops, Some(special)), told(&ops, None));
        prop_assert_eq!(holdings(&with), holdings(&without));
        let figures = |world: &World| {
            let PoolState { increments, reserve, house_funding, contributions, paid, .. } = world.pool();
            [*increments, *reserve, *house_funding, *contributions, *paid]
        };
        prop_assert_eq!(figures(&with), figures(&without));
    }

    #[test]
    fn pl_04_bw_19_a_jackpot_won_meanwhile_stands_and_is_the_only_difference(
        ops in vec((0..9_u8, 0..2_usize, 0..5_000_i64), 1..40),
        special in (0..40_usize, 0..2_usize, 1..1_000_i64, 0..5_000_i64),
    ) {
        let (with, without) = (told(&ops, Some(special)), told(&ops, None));
        prop_assert_eq!(holdings(&with), holdings(&without));
        let (pool, other) = (with.pool(), without.pool());
        prop_assert_eq!((pool.increments, pool.contributions), (other.increments, other.contributions));
        let more = pool.paid.0 - other.paid.0;
        prop_assert!(more >= 0);
        let net = |pool: &PoolState| pool.house_funding.0 - pool.reserve.0;
        prop_assert_eq!(net(pool) - net(other), more);
    }
}
