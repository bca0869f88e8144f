//! `replay`: one round of a log resolved again and shown step by step (PL-06).
//!
//! Exit code 0 when every step gives the very bytes that were logged, 1 when one does not or the log is damaged, 2 when
//! there is no such round.

use super::{Failure, say};
use crate::{draw, figures::grouped, place::Local};
use motherlode_audit::{ReplayError, Replayed, ReplayedStep, ReplayedVoid, replay};
use motherlode_books::{Currency, Minor, StreamId, is_id};
use motherlode_picture::round::{chosen, drawing, section, sheet};
use motherlode_proto::convert::{event::automatic_to_wire, play::hex};
use motherlode_slots::{GameInfo, game};
use std::{collections::BTreeMap, fmt, io::stdout, path::PathBuf, str::FromStr};

/// What `replay` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The data folder of `serve`, or nats://host:port,... (which is copied to a temporary folder first).
    #[arg(value_name = "PLACE")]
    data: PathBuf,
    /// Configuration file (TOML) as for serve: its [store] says how to reach nats://.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The round: operator/player/number.
    #[arg(value_name = "ROUND")]
    round: RoundName,
    /// How to show it.
    #[arg(long, value_enum, default_value_t)]
    format: Picture,
}

/// How a round is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Picture {
    /// For a terminal.
    #[default]
    Text,
    /// As one self-contained page, for support (PL-19).
    Html,
}

/// A round's name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RoundName {
    stream: StreamId,
    number: u64,
}

impl FromStr for RoundName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let malformed = "must be operator/player/number, such as demo/alice/17";
        let parts: Vec<_> = name.split('/').collect();
        let [operator, player, number] = parts[..] else { return Err(malformed) };
        let number = number.parse().ok().filter(|number| *number > 0 && is_id(operator) && is_id(player));
        Ok(Self { stream: StreamId::player(operator, player), number: number.ok_or(malformed)? })
    }
}

impl fmt::Display for RoundName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = self.stream.to_string();
        write!(f, "{}/{}", stream.trim_start_matches("player/"), self.number)
    }
}

/// Replays and shows.
///
/// # Errors
/// There is no such round, the log is damaged, or a step gives other bytes than the logged.
pub fn run(args: &Args) -> Result<(), Failure> {
    let RoundName { stream, number } = &args.round;
    let local = Local::of(&args.data, args.config.as_deref())?;
    let replayed =
        replay(&local.log(stream.partition(local.partitions())), stream, *number).map_err(|error| match error {
            ReplayError::Unusable(_) => Failure::unusable(error),
            ReplayError::Damaged(_) => Failure::found(error),
        })?;
    let Some(replayed) = replayed else {
        return Err(Failure::unusable(format!("the log has no round {number} of {stream}")));
    };
    let name = args.round.to_string();
    say(&match args.format {
        Picture::Text => parts(stream, &replayed, draw::colour_wanted(&stdout())).concat(),
        Picture::Html => html(&name, &parts(stream, &replayed, false)),
    })?;
    if replayed.matches() { Ok(()) } else { Err(Failure::found("the replay gives other bytes than the log has")) }
}

/// The bet, each step, and the end.
fn parts(stream: &StreamId, replayed: &Replayed, colour: bool) -> Vec<String> {
    let started = &replayed.started;
    let known = game(&started.game, &started.rules_version).filter(|game| game.model_hash() == started.model_hash);
    let mut parts = vec![head(stream, replayed)];
    let mut carried: BTreeMap<&str, i64> = BTreeMap::new();
    if let Some(game) = known {
        carried.extend(game.carries().keys.iter().copied().zip(replayed.terms.carried.iter().copied()));
    }
    for step in &replayed.steps {
        carried.extend(step.collected.iter().map(|(key, value)| (key.as_str(), *value)));
        parts.push(of_step(step, known.map(|game| game.info()), &carried, started.currency, colour));
    }
    parts.push(end(replayed));
    parts
}

/// The same as a page: what is drawn for a terminal stands on it letter by letter.
fn html(name: &str, parts: &[String]) -> String {
    let last = parts.len().saturating_sub(1);
    let sections = parts.iter().enumerate().map(|(number, text)| {
        let title = match number {
            0 => "The bet".to_owned(),
            number if number == last => "The end".to_owned(),
            step => format!("Step {step}"),
        };
        section(&title, drawing(text))
    });
    sheet(name, sections)
}

fn head(stream: &StreamId, replayed: &Replayed) -> String {
    let Replayed { started, terms, position, time_ms, balance_before, .. } = replayed;
    let currency = started.currency;
    let pooled = started
        .contribution
        .as_ref()
        .map_or("no jackpot".to_owned(), |given| format!("{} EUR to the pool {}", given.amount, given.pool));
    let rate = match currency.is_real() {
        true => format!("1 {currency} = {} EUR", started.rate),
        false => "play money".to_owned(),
    };
    let free = started.campaign.as_ref().map_or(String::new(), |campaign| format!(", free by campaign {campaign}"));
    format!(
        "Round {} of {stream}: {} {}, model {}\n  \
           position {position}, {time_ms} ms since 1970, {rate}\n  \
           {} lines x {} of {} {currency}, bet {}{free}; {pooled}\n  \
           balance before: {}\n",
        started.round,
        started.game,
        started.rules_version,
        hex(&started.model_hash[..8]),
        terms.lines,
        terms.coins_per_line,
        started.coin_value,
        cash(started.bet, currency),
        cash(*balance_before, currency),
    )
}

/// A step; `carried` is what the player carries after it.
fn of_step(
    step: &ReplayedStep,
    info: Option<&GameInfo>,
    carried: &BTreeMap<&str, i64>,
    currency: Currency,
    colour: bool,
) -> String {
    let ReplayedStep { position, logged, choice, outcome, collected, differs, balance_after, .. } = step;
    let drawn = match info {
        Some(info) => {
            let figure = |key: &str| carried.get(key).copied().unwrap_or_default();
            let shelf = if logged.step == 1 { draw::shelf(info, &figure, colour) } else { String::new() };
            draw::outcome(info, outcome, currency, colour) + &shelf
        }
        // Without the model there are no names for what the reels show.
        None => String::new(),
    };
    let verdict = match differs {
        None => format!("the replay gives the logged {} bytes", logged.outcome.len()),
        Some(how) => format!("DIFFERS in {how}"),
    };
    let collected = match &collected[..] {
        [] => String::new(),
        changes => {
            let changes: Vec<_> = changes.iter().map(|(key, value)| format!("{key} {value}")).collect();
            format!("  the collection has now: {}\n", changes.join(", "))
        }
    };
    format!(
        "\nStep {} at position {position}: {}\n  seed {}\n{drawn}{collected}  \
           win so far {}, balance after {}\n  {verdict}\n",
        logged.step,
        chosen(choice, logged.automatic.as_ref().map(automatic_to_wire).as_ref()),
        hex(&logged.seed),
        cash(logged.win, currency),
        cash(*balance_after, currency),
    )
}

fn end(replayed: &Replayed) -> String {
    let Replayed { started, settled, voided, jackpots, .. } = replayed;
    let mut text = String::from("\n");
    for jackpot in jackpots {
        let paid = jackpot.paid.map_or("the award is pending".to_owned(), |(amount, currency, position)| {
            format!("{} paid at position {position}", cash(amount, currency))
        });
        text += &format!("Jackpot of the pool {}, hit at position {}: {paid}\n", jackpot.pool, jackpot.hit);
    }
    text += &match (settled, voided) {
        (_, Some(void)) => {
            let back = match &started.campaign {
                None => format!("the bet of {} refunded", cash(void.refund, started.currency)),
                Some(campaign) => format!("the round given back to campaign {campaign}"),
            };
            let ReplayedVoid { actor, position, reason, win_taken_back, .. } = void;
            let taken = cash(*win_taken_back, started.currency);
            format!("Voided by {actor} at position {position} ({reason}): {back}, {taken} of the win taken back\n")
        }
        (Some(win), None) => format!("Settled with a win of {}\n", cash(*win, started.currency)),
        (None, None) => "Still open\n".to_owned(),
    };
    text
}

fn cash(amount: Minor, currency: Currency) -> String {
    format!("{} {currency}", grouped(&amount.to_decimal(currency)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_named_by_operator_player_and_number() {
        let name: RoundName = "demo/alice/17".parse().unwrap();
        assert_eq!(name, RoundName { stream: StreamId::player("demo", "alice"), number: 17 });
        for bad in ["", "demo/alice", "demo/alice/0", "demo/alice/x", "demo/alice/1/2", "demo//1", "de mo/alice/1"] {
            assert!(bad.parse::<RoundName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn pl_19_the_page_has_every_part_and_escapes_what_was_typed() {
        let parts = ["the bet\n", "\nStep 1: | A | K |\n", "\nVoided by <b>ann</b>\n"].map(str::to_owned);
        let page = html("demo/alice/17", &parts);
        assert!(
            page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">") && page.contains("<h1>Round demo/alice/17</h1>")
        );
        for part in ["<h2>The bet</h2>", "<pre>Step 1: | A | K |</pre>", "<h2>The end</h2>", "&lt;b&gt;ann&lt;/b&gt;"] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("http") && !page.contains("<script"), "nothing is loaded");
    }

    #[test]
    fn no_folder_is_unusable() {
        let round = "demo/alice/1".parse().unwrap();
        let args = Args { data: "/nonexistent".into(), config: None, round, format: Picture::Text };
        assert_eq!(run(&args).unwrap_err().code, 2);
    }
}
