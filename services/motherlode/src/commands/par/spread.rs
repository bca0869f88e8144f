//! Computes confidence intervals and the simulated distribution of wins in floating point.

use crate::figures::grouped;
use motherlode_picture::par::{BAND_DECADES, BANDS, Played, win_classes};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{Par, par::decimal};
use serde::Serialize;

/// Confidence interval of the mean return over `rounds`, excluding jackpot and gamble, by the normal approximation.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    rounds: u64,
    percent: u32,
    rtp_min: String,
    rtp_max: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Distribution {
    rounds: u64,
    seed: String,
    command: String,
    classes: Vec<Class>,
}

#[derive(Debug, Serialize)]
struct Class {
    wins: String,
    rounds: u64,
    share: String,
}

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

pub(super) fn rows(par: &Par, played: &Played) -> [Vec<(String, String)>; 2] {
    let interval = |of: Interval| {
        let label = format!("{} % of sessions of {} rounds", of.percent, grouped(&of.rounds.to_string()));
        (label, format!("{} to {}", of.rtp_min, of.rtp_max))
    };
    let class = |of: Class| (of.wins, format!("{} rounds, {}", grouped(&of.rounds.to_string()), of.share));
    [intervals(par).into_iter().map(interval).collect(), distribution(played).classes.into_iter().map(class).collect()]
}

#[allow(clippy::cast_precision_loss)] // 53 bits are precise enough for an estimate.
fn float(count: u64) -> f64 {
    count as f64
}
