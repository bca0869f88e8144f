//! Conformance kit: runs an operator's wallet through the cases of the contract, and reports each result.
//!
//! The kit creates rounds for players that the operator names. Players need no initial balances: the kit credits a free
//! round's win to pay for bets, and debits the rest at the end.

mod case;
mod credits;
mod debits;
mod kit;
mod make;
mod players;
mod report;
mod rollbacks;
mod rounds;
mod transport;

pub use players::Players;
pub use report::{CaseReport, Report, Verdict};

use crate::wallets::{WalletError, client_of};
use case::Case;
use kit::Kit;
use motherlode_runtime::config::Seamless;
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub cases: Vec<String>,
    /// Time within which the tester restarts the wallet; if zero, the restart case is skipped.
    pub restart_within: Duration,
}

fn all() -> impl Iterator<Item = Case> {
    debits::CASES.into_iter().chain(rollbacks::CASES).chain(credits::CASES).chain(rounds::CASES).chain(transport::CASES)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|case| case.name)
}

pub async fn check(
    settings: &Seamless,
    players: Players,
    options: Options,
    say: fn(&str),
) -> Result<Report, WalletError> {
    let client = client_of(&players.operator, settings)?;
    let mut kit = Kit::new(settings.clone(), client, players, say);
    kit.restart_within = options.restart_within;
    kit.fund().await;
    let mut cases = vec![];
    for case in all() {
        let is_named = options.cases.is_empty() || options.cases.iter().any(|name| name == case.name);
        let ended = if is_named { (case.play)(&mut kit).await } else { Err("not selected by --case") };
        let (calls, verdict) = kit.outcome(ended);
        let name = case.name.rsplit("::").next().unwrap_or(case.name);
        cases.push(CaseReport { number: case.number, name, contract: case.contract, calls, verdict });
    }
    Ok(Report { url: settings.url.clone(), cases })
}
