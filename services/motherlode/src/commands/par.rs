//! Prints a game's mathematics, computed exactly and rounded to [`motherlode_picture::par::report::ROUNDING`]. The
//! printed parts of the return add up to the printed total ([`figures::parts`]). The distribution of wins is simulated.

mod cash;
mod json;
mod played;
mod sheet;
mod spread;

use super::{
    ANY_FILE, Failure, say,
    stake::{StakeArgs, newest},
};
use crate::figures;
use motherlode_picture::par::Sheet;
use std::{fs, path::PathBuf};

const ROUNDS: u64 = 100_000_000;
const ROUNDS_SHORT: u64 = 100_000;

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Game to describe.
    #[arg(value_name = "GAME")]
    game: String,
    #[command(flatten)]
    stake: StakeArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Rounds to simulate for the distribution of wins; default: 100 million for html, else 100,000.
    #[arg(long, value_name = "N", value_parser = figures::count)]
    rounds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text for the terminal.
    #[default]
    Text,
    /// JSON for programs.
    Json,
    /// Self-contained HTML page with plots and a simulated distribution of wins.
    Html,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let game = newest(&args.game)?;
    let stake = args.stake.checked(game)?;
    let par = game.par(&stake).map_err(Failure::unusable)?;
    let usual = if args.format == Format::Html { ROUNDS } else { ROUNDS_SHORT };
    let played = played::played(game, &stake, args.rounds.unwrap_or(usual))?;
    let written = match args.format {
        Format::Text => sheet::text(game, &stake, &par, &played),
        Format::Json => super::json(&json::Report::new(game, &stake, &par, &played))?,
        Format::Html => {
            let cash = cash::returns(game, &par);
            let assumes = &game.info().jackpot_assumes;
            Sheet { game, stake: &stake, par: &par, cash: &cash, played: Some(&played), assumes }.page()
        }
    };
    match &args.out {
        None => say(&written),
        Some(file) => fs::write(file, written).map_err(|error| Failure::unwritable(file, &error, ANY_FILE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_picture::par::report::shifted;

    #[test]
    fn a_fraction_becomes_percent_digit_by_digit() {
        assert_eq!(shifted("0.946000000"), "94.6000000 %");
        assert_eq!(shifted("0.005000000"), "0.5000000 %");
        assert_eq!(shifted("1.050000001"), "105.0000001 %");
    }

    #[test]
    fn unknown_games_and_stakes_are_unusable_input() {
        let failure = newest("solitaire").err().unwrap();
        assert_eq!(failure.code, 2);
        assert!(
            failure.message.starts_with("there is no game solitaire; the games are bewitched"),
            "{}",
            failure.message
        );
        let args = StakeArgs { lines: Some(16), ..StakeArgs::default() };
        let failure = args.checked(newest("bewitched").unwrap()).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.starts_with("the number of lines must be 1 to 15, not 16\n"), "{}", failure.message);
    }

    #[test]
    fn mf_d8_text_and_json_have_the_volatility_index_intervals_and_a_distribution_of_wins() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sheet");
        let written = |format| {
            let (game, out) = ("bewitched".to_owned(), Some(file.clone()));
            run(&Args { game, stake: StakeArgs::default(), format, out, rounds: Some(2_000) }).unwrap();
            fs::read_to_string(&file).unwrap()
        };
        let sheet: serde_json::Value = serde_json::from_str(&written(Format::Json)).unwrap();
        let number = |of: &serde_json::Value| of.as_str().unwrap().parse::<f64>().unwrap();
        let std_dev = number(&sheet["std_dev"]);
        assert!((number(&sheet["volatility_index"]) - 1.959_964 * std_dev).abs() < 1e-3 * std_dev);
        let intervals = sheet["confidence_intervals"].as_array().unwrap();
        assert_eq!(intervals.len(), 21);
        for (percent, errors) in [(90, 1.644_854), (95, 1.959_964), (99, 2.575_829)] {
            let of = |of: &&serde_json::Value| of["percent"] == percent && of["rounds"] == 1_000_000;
            let interval = intervals.iter().find(of).unwrap();
            let half = errors * std_dev / 1_000.0;
            assert!((number(&interval["rtp_min"]) - (0.941 - half)).abs() < 1e-5, "{interval}");
            assert!((number(&interval["rtp_max"]) - (0.941 + half)).abs() < 1e-5, "{interval}");
        }
        let classes = sheet["win_distribution"]["classes"].as_array().unwrap();
        assert_eq!(classes.iter().map(|class| class["rounds"].as_u64().unwrap()).sum::<u64>(), 2_000);
        let text = written(Format::Text);
        assert!(
            text.contains("volatility index") && text.contains("95 % of sessions of 1'000'000 rounds")
                || text.contains("95 % of sessions of 1,000,000 rounds"),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let args = Args {
            game: "bewitched".to_owned(),
            stake: StakeArgs::default(),
            format: Format::Text,
            out: Some(folder.path().join("sheet.txt")),
            rounds: Some(1_000),
        };
        run(&args).unwrap();
        assert!(fs::read_to_string(folder.path().join("sheet.txt")).unwrap().starts_with("Bewitched: PAR sheet\n"));
        let failure = run(&Args { out: Some(folder.path().to_owned()), ..args }).unwrap_err();
        assert_eq!(failure.code, 2);
    }
}
