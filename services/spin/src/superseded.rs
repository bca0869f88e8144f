use crate::bet::Bet;
use motherlode_ledger::SupersededRules;
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::latest;

pub(crate) fn check(rules: &SupersededRules, bet: &Bet) -> Result<(), Refusal> {
    let (name, version) = (bet.game.name(), bet.game.rules_version());
    if bet.campaign.is_some() || rules.takes_bets(name, version) {
        return Ok(());
    }
    let latest = latest(name).map_or("", |game| game.rules_version());
    let message = format!("rules version {version} of {name} accepts no new bets: use {latest}, which supersedes it");
    Err(Refusal::new(Reason::RulesVersionSuperseded, message)
        .with("game", name)
        .with("rules_version", version)
        .with("latest_rules_version", latest))
}
