//! Audits an operator's copy of its own records (PL-30). The report lists the checks that need the whole log.

use super::{args::Args, json::of_divergence, sums::cash};
use crate::commands::{Failure, Format, json, say};
use motherlode_audit::{CopyReport, Digest, NOT_CHECKED, Return, audit_copy};
use motherlode_proto::convert::play::hex;
use motherlode_server::copy_folder;
use motherlode_state::Currency;
use motherlode_state::HOME;
use serde_json::{Value, json};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.operator.is_some() {
        return Err(Failure::unusable(
            "--operator needs a whole log, but this is an operator's copy: leave out --operator",
        ));
    }
    let folders = (HOME..).map(|partition| copy_folder(&args.data, partition)).take_while(|folder| folder.is_dir());
    let reports = folders.map(|folder| audit_copy(&folder)).collect::<Result<Vec<_>, _>>();
    let reports = reports.map_err(Failure::unusable)?;
    say(&match (args.format, &reports[..]) {
        (Format::Text, reports) => reports.iter().map(text).collect::<Vec<_>>().join("\n"),
        (Format::Json, [report]) => json(&value(report))?,
        (Format::Json, reports) => {
            let ok = reports.iter().all(|report| report.divergence.is_none());
            json(&json!({"ok": ok, "partitions": reports.iter().map(value).collect::<Vec<_>>()}))?
        }
    })?;
    if reports.iter().any(|report| report.divergence.is_some()) { Err(Failure::found("")) } else { Ok(()) }
}

pub(super) fn digest_text(digest: &Digest) -> String {
    let Digest { operator, records, position, digest } = digest;
    format!("Operator {operator}: {records} records up to log position {position}\n  digest  {}\n", hex(digest))
}

pub(super) fn digest_json(digest: &Digest) -> Value {
    let Digest { operator, records, position, digest } = digest;
    json!({"operator_id": operator, "records": records, "last_position": position, "digest": hex(digest)})
}

fn text(report: &CopyReport) -> String {
    if let Some(divergence) = &report.divergence {
        return format!("DIVERGENCE at {divergence}\n");
    }
    let sum = |figure: fn(&Return) -> u64| report.returns.iter().map(figure).sum::<u64>();
    let mut text = format!(
        "Copy of partition {}\n{}  head hash of the copy  {}\n\n",
        report.partition,
        digest_text(&report.digest),
        hex(&report.head)
    );
    text += &format!(
        "{} players, {} rounds, {} steps, each recomputed; all bytes match the log.\n",
        report.books.players().count(),
        sum(|of| of.rounds),
        sum(|of| of.steps)
    );
    for of in &report.returns {
        let (bets, wins) = (cash(of.bets, of.currency), cash(of.wins, of.currency));
        text += &format!("  {} {}: {} rounds, bets {bets}, wins {wins}\n", of.game, of.rules_version, of.rounds);
    }
    for (currency, sum) in jackpots(report) {
        text += &format!("  jackpots paid to players: {}\n", cash(sum, currency));
    }
    text += "\nNot checked, because a copy cannot show it:\n";
    for unchecked in NOT_CHECKED {
        text += &format!("  {unchecked}\n");
    }
    text + "\nPassed: all checks that a copy allows.\n"
}

fn value(report: &CopyReport) -> Value {
    if let Some(divergence) = &report.divergence {
        return json!({"ok": false, "divergence": of_divergence(divergence)});
    }
    let sum = |figure: fn(&Return) -> u64| report.returns.iter().map(figure).sum::<u64>();
    let games = report.returns.iter().map(|of| {
        json!({"game": of.game, "rules_version": of.rules_version, "currency_code": of.currency.code(), "rounds": of.rounds,
               "bets": cash(of.bets, of.currency), "wins": cash(of.wins, of.currency)})
    });
    json!({
        "ok": true,
        "partition": report.partition,
        "copy": digest_json(&report.digest),
        "head_hash": hex(&report.head),
        "players": report.books.players().count(),
        "rounds": sum(|of| of.rounds),
        "steps": sum(|of| of.steps),
        "games": games.collect::<Vec<_>>(),
        "jackpots": jackpots(report).map(|(currency, sum)| cash(sum, currency)).collect::<Vec<_>>(),
        "not_checked": NOT_CHECKED,
    })
}

fn jackpots(report: &CopyReport) -> impl Iterator<Item = (Currency, i128)> {
    report.jackpots.iter().map(|(currency, sum)| (currency, *sum)).filter(|(_, sum)| *sum > 0)
}
