//! Compares the balances that the service reports with the sums of its answers, including answers of the warm-up, in minor
//! units of EUR.

use crate::player::Expected;
use motherlode_state::{Currency, Minor, Nano};
use serde::Serialize;

const NAMED_MAX: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actual {
    pub player: String,
    pub balance: i64,
    pub open_rounds: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Books {
    pub players: usize,
    pub balances: Balances,
    pub wrong_balances: usize,
    pub open_rounds: usize,
    pub unpaid_jackpots: usize,
    pub pool: PoolBooks,
    pub faults: Vec<String>,
    pub ok: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Balances {
    pub deposits_minor: i64,
    pub bets_minor: i64,
    pub wins_minor: i64,
    pub jackpots_minor: i64,
    pub told_minor: i64,
    pub found_minor: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolCheck {
    /// The pool must have received exactly this run's contributions, because no other players play.
    Exact,
    /// The pool must have received at least this run's contributions, because other players play too.
    AtLeast,
    /// The pool is not compared, because it was not active during the whole run.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolBooks {
    pub check: PoolCheck,
    pub told_eur: String,
    /// Contributions that the pool received during the run, in EUR.
    pub found_eur: String,
    pub caught_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pooled {
    pub(crate) check: PoolCheck,
    pub(crate) contribution_ppm: u32,
    pub(crate) contributions: Nano,
    pub(crate) caught_up: bool,
}

pub(crate) fn contribution(bets_minor: i64, ppm: u32) -> Nano {
    let nanos_a_millionth = Currency::EUR.nanos_per_minor() / 1_000_000;
    Nano(i128::from(bets_minor) * i128::from(ppm) * nanos_a_millionth)
}

pub(crate) fn check(accounts: &[(&Expected, Actual)], pooled_bets: i64, pooled: Pooled) -> Books {
    let mut balances = Balances::default();
    let (mut wrong_balances, mut open_rounds, mut unpaid_jackpots) = (0, 0, 0);
    let mut faults = vec![];
    for (expected, found) in accounts {
        balances.add(expected, found);
        if expected.balance() != found.balance {
            wrong_balances += 1;
            let cash = |minor: i64| Minor(minor).to_decimal(Currency::EUR);
            let (expected, actual) = (cash(expected.balance()), cash(found.balance));
            faults.push(format!(
                "{}: the balance is {actual} EUR, but the amounts in the service's answers add up to {expected} EUR",
                found.player
            ));
        }
        open_rounds += found.open_rounds.len();
        faults.extend(found.open_rounds.iter().map(|round| format!("{round}: left open")));
        unpaid_jackpots += expected.pending.len();
        faults.extend(
            expected
                .pending
                .iter()
                .map(|(round, hit)| format!("{round}: the jackpot hit at log position {hit} is not paid")),
        );
    }
    let expected = contribution(pooled_bets, pooled.contribution_ppm);
    faults.extend(pool_fault(expected, pooled));
    let ok = faults.is_empty();
    faults.truncate(NAMED_MAX);
    let pool = PoolBooks {
        check: pooled.check,
        told_eur: expected.to_string(),
        found_eur: pooled.contributions.to_string(),
        caught_up: pooled.caught_up,
    };
    Books { players: accounts.len(), balances, wrong_balances, open_rounds, unpaid_jackpots, pool, faults, ok }
}

fn pool_fault(expected: Nano, pooled: Pooled) -> Option<String> {
    let found = pooled.contributions;
    match pooled.check {
        PoolCheck::None => None,
        _ if !pooled.caught_up => Some("the pool did not add the contribution of the last bet in time".to_owned()),
        PoolCheck::Exact | PoolCheck::AtLeast if found < expected => {
            Some(format!("the pool received {found} EUR, but the bets' contributions are {expected} EUR"))
        }
        PoolCheck::Exact if found > expected => Some(format!(
            "the pool received {found} EUR, but the bets' contributions are {expected} EUR: either other players also use \
            the service (then add --shared), or the books are wrong"
        )),
        PoolCheck::Exact | PoolCheck::AtLeast => None,
    }
}

impl Balances {
    fn add(&mut self, expected: &Expected, found: &Actual) {
        self.deposits_minor += expected.deposits;
        self.bets_minor += expected.bets;
        self.wins_minor += expected.wins;
        self.jackpots_minor += expected.jackpots;
        self.told_minor += expected.balance();
        self.found_minor += found.balance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(deposits: i64, bets: i64, wins: i64) -> Expected {
        Expected { deposits, bets, wins, ..Expected::default() }
    }

    fn found(balance: i64) -> Actual {
        Actual { player: "p".to_owned(), balance, open_rounds: vec![] }
    }

    const POOLED: Pooled = Pooled {
        check: PoolCheck::Exact,
        contribution_ppm: 5_000,
        contributions: Nano(3_000_000_000),
        caught_up: true,
    };

    #[test]
    fn books_that_agree_are_ok() {
        let (one, other) = (expected(100_000, 40_000, 38_000), expected(100_000, 20_000, 0));
        let books = check(&[(&one, found(98_000)), (&other, found(80_000))], 60_000, POOLED);
        assert!(books.ok, "{books:?}");
        assert_eq!(books.balances.told_minor, 178_000);
        assert_eq!(books.balances.found_minor, 178_000);
        assert_eq!((books.pool.told_eur.as_str(), books.pool.found_eur.as_str()), ("3.00", "3.00"));
    }

    #[test]
    fn a_balance_that_is_a_cent_off_is_named_even_when_the_sum_is_right() {
        let player = expected(100_000, 30_000, 0);
        let books = check(&[(&player, found(70_001)), (&player, found(69_999))], 60_000, POOLED);
        assert!(!books.ok);
        assert_eq!(books.wrong_balances, 2);
        assert_eq!(books.balances.told_minor, books.balances.found_minor);
        assert_eq!(
            books.faults[0],
            "p: the balance is 700.01 EUR, but the amounts in the service's answers add up to 700.00 EUR"
        );
    }

    #[test]
    fn an_open_round_and_an_unpaid_jackpot_are_faults() {
        let mut player = expected(100_000, 60_000, 0);
        player.pending.push(("o/p/3".to_owned(), 17));
        let open = Actual { open_rounds: vec!["o/p/4".to_owned()], ..found(40_000) };
        let books = check(&[(&player, open)], 60_000, POOLED);
        assert!(!books.ok);
        assert_eq!((books.open_rounds, books.unpaid_jackpots), (1, 1));
        assert_eq!(books.faults, ["o/p/4: left open", "o/p/3: the jackpot hit at log position 17 is not paid"]);
    }

    #[test]
    fn the_pool_must_have_got_the_bets_share_to_the_last_fraction() {
        let player = expected(100_000, 60_000, 0);
        let ok = |check_, nanos, caught_up| {
            let pooled = Pooled { check: check_, contributions: Nano(nanos), caught_up, ..POOLED };
            check(&[(&player, found(40_000))], 60_000, pooled).ok
        };
        assert!(ok(PoolCheck::Exact, 3_000_000_000, true));
        assert!(!ok(PoolCheck::Exact, 2_999_999_999, true));
        assert!(!ok(PoolCheck::Exact, 3_000_000_001, true));
        assert!(ok(PoolCheck::AtLeast, 3_000_000_001, true));
        assert!(!ok(PoolCheck::AtLeast, 2_999_999_999, true));
        assert!(!ok(PoolCheck::Exact, 3_000_000_000, false));
        assert!(ok(PoolCheck::None, 0, false));
    }

    #[test]
    fn bw_11_a_bet_of_a_cent_adds_0_00005_eur() {
        assert_eq!(contribution(1, 5_000).to_string(), "0.00005");
    }

    #[test]
    fn no_more_than_ten_faults_are_named() {
        let player = expected(0, 0, 0);
        let accounts: Vec<_> = (0..12).map(|_| (&player, found(1))).collect();
        let books = check(&accounts, 60_000, POOLED);
        assert_eq!((books.faults.len(), books.wrong_balances), (10, 12));
    }
}
