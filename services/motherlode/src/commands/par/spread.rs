//! The spread of the return: confidence intervals of sessions, and the simulated distribution of wins, as the page has them.
//!
//! Floating point is at home here: all figures are estimates.

use crate::figures::grouped;
use motherlode_picture::par::{BAND_DECADES, BANDS, Played, win_classes};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{Par, par::decimal};
use serde::Serialize;

/// The interval in which the mean return of a session lies, without jackpot and gamble: the normal approximation.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// Rounds of the session.
    rounds: u64,
    /// Confidence in percent.
    percent: u32,
    rtp_min: String,
    rtp_max: String,
}

/// Rounds by their win, as simulated.
#[derive(Debug, Serialize)]
pub(super) struct Distribution {
    rounds: u64,
    seed: String,
    /// The command that plays them again.
    command: String,
    classes: Vec<Class>,
}

/// A class of rounds by their win.
#[derive(Debug, Serialize)]
struct Class {
    wins: String,
    rounds: u64,
    share: String,
}

/// The intervals of sessions of a hundred to a hundred million rounds, the narrowest first.
pub(super) fn intervals(par: &Par) -> Vec<Interval> {
    let rtp: f64 = decimal(&par.rtp_without_jackpot, 12).parse().unwrap_or(f64::NAN);
    let decades = (BAND_DECADES.0..=BAND_DECADES.1).map(|decade| 10_u64.pow(decade));
    let of = |rounds: u64| {
        BANDS.iter().rev().map(move |(errors, percent)| {
            let half = errors * par.std_dev / float(rounds).sqrt();
            let (low, high) = ((rtp - half).max(0.0), rtp + half);
            Interval { rounds, percent: *percent, rtp_min: format!("{low:.6}"), rtp_max: format!("{high:.6}") }
        })
    };
    decades.flat_map(of).collect()
}

/// The distribution of the wins of the rounds played.
pub(super) fn distribution(played: &Played) -> Distribution {
    let rounds = played.tally.rounds;
    let mut classes = win_classes(&played.tally.by_win);
    while classes.last().is_some_and(|class| class.count == 0) {
        classes.pop();
    }
    let class = |class: motherlode_picture::par::WinClass| Class {
        wins: class.title,
        rounds: class.count,
        share: format!("{:.9}", float(class.count) / float(rounds.max(1))),
    };
    Distribution {
        rounds,
        seed: hex(&played.seed),
        command: played.command.clone(),
        classes: classes.into_iter().map(class).collect(),
    }
}

/// Both for people, as labels and figures.
pub(super) fn rows(par: &Par, played: &Played) -> [Vec<(String, String)>; 2] {
    let interval = |of: Interval| {
        let label = format!("{} % of sessions of {} rounds", of.percent, grouped(&of.rounds.to_string()));
        (label, format!("{} to {}", of.rtp_min, of.rtp_max))
    };
    let class = |of: Class| (of.wins, format!("{} rounds, {}", grouped(&of.rounds.to_string()), of.share));
    [intervals(par).into_iter().map(interval).collect(), distribution(played).classes.into_iter().map(class).collect()]
}

#[allow(clippy::cast_precision_loss)] // An estimate needs no more than 53 bits.
fn float(count: u64) -> f64 {
    count as f64
}
