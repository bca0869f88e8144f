//! Recomputes a round (PL-06, PL-19). The exit code is 1 if a step differs from the log or the log is damaged, and 2 if the
//! round does not exist.

mod json;

use super::{DAMAGED, Failure, NO_LOG, config_file::LogAccess, say};
use crate::draw;
use motherlode_audit::{ReplayError, Replayed, replay};
use motherlode_picture::round::{page_of, sections, text_of};
use motherlode_rounds::{draws::no_key, wire};
use motherlode_state::{StreamId, is_id, number};
use std::{fmt, io::stdout, path::PathBuf, str::FromStr};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Data folder of `serve`, or nats://host:port,... A log on JetStream is first copied to a temporary folder.
    #[arg(value_name = "PLACE")]
    data: PathBuf,
    #[command(flatten)]
    access: LogAccess,
    /// Round, as operator/player/number.
    #[arg(value_name = "ROUND")]
    round: RoundName,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Picture,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Picture {
    /// Text for the terminal.
    #[default]
    Text,
    /// Self-contained HTML page, for player support (PL-19).
    Html,
    /// JSON for programs, with the symbols' names.
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoundName {
    pub(super) stream: StreamId,
    pub(super) number: u64,
}

impl FromStr for RoundName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let malformed = "must be operator/player/number, such as demo/alice/17";
        let parts: Vec<_> = name.split('/').collect();
        let [operator, player, digits] = parts[..] else { return Err(malformed) };
        let number = number(digits).filter(|number| *number > 0 && is_id(operator) && is_id(player));
        Ok(Self { stream: StreamId::player(operator, player), number: number.ok_or(malformed)? })
    }
}

impl fmt::Display for RoundName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = self.stream.to_string();
        write!(f, "{}/{}", stream.trim_start_matches("player/"), self.number)
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let RoundName { stream, number } = &args.round;
    let local = args.access.local(&args.data)?;
    let replayed =
        replay(&local.log(stream.partition(local.partitions())), stream, *number).map_err(|error| match error {
            ReplayError::Unusable(_) => Failure::unusable(error).with_step(NO_LOG),
            ReplayError::Damaged(_) => Failure::found(error).with_step(DAMAGED),
        })?;
    let Some(replayed) = replayed else {
        return Err(no_round(*number, stream));
    };
    say(&shown(&args.round.to_string(), stream, &replayed, args.format)?)?;
    if replayed.matches() {
        Ok(())
    } else {
        Err(Failure::found("the replayed bytes differ from the bytes in the log: compare the steps marked DIFFERS"))
    }
}

pub(super) fn no_round(number: u64, stream: &StreamId) -> Failure {
    Failure::unusable(format!("{stream} has no round {number} in this log"))
        .with_step("Rounds are named operator/player/number; `motherlode export rounds PLACE` lists them")
}

pub(super) fn shown(name: &str, stream: &StreamId, replayed: &Replayed, format: Picture) -> Result<String, Failure> {
    let mut view = replayed.view.clone();
    let _ = view.complete(&no_key);
    let round = wire::round(view, stream);
    if format == Picture::Json {
        return super::json(&json::to_json(&round, replayed));
    }
    let mut sections = sections(&round, format == Picture::Text && draw::colour_wanted(&stdout()));
    let steps = replayed.view.steps.iter().zip(&replayed.differs).zip(1..);
    let verdicts = steps.map(|((step, differs), number)| match differs {
        None if number > replayed.resolved => {
            "not replayed yet: the step's draw is sealed until the round ends".to_owned()
        }
        None => format!("the replay gives the same {} bytes as the log", step.logged.outcome.len()),
        Some(how) => format!("DIFFERS in {how}"),
    });
    for (section, verdict) in sections.iter_mut().skip(1).zip(verdicts) {
        section.facts.push(("Replay", verdict));
    }
    Ok(match format {
        Picture::Html => page_of(name, &sections),
        _ => text_of(name, &sections),
    })
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
    fn no_folder_is_unusable() {
        let round = "demo/alice/1".parse().unwrap();
        let args = Args { data: "/nonexistent".into(), access: LogAccess::default(), round, format: Picture::Text };
        assert_eq!(run(&args).unwrap_err().code, 2);
    }
}
