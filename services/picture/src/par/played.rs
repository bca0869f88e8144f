use super::{
    parts::{note, section},
    plot,
};
use crate::figures::{grouped, number, percent};
use crate::markup::table;
use maud::{Markup, Render, html};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{Par, Seed, Tally, simulate::WIN_BOUNDS_TENTHS};

pub struct Played {
    pub tally: Tally,
    pub seed: Seed,
    pub command: String,
    /// Whether the game keeps a player's progress between rounds; if so, simulated players first play uncounted warm-up
    /// rounds.
    pub carries: bool,
}

#[allow(clippy::cast_precision_loss)]
fn float(count: impl Into<u128>) -> f64 {
    count.into() as f64
}

impl Played {
    /// Returns the mean win as a multiple of the bet, and its distance from the exact mean in standard errors.
    fn mean(&self, par: &Par) -> (f64, f64) {
        let (bet, rounds) = (float(self.tally.bet_coins), float(self.tally.rounds));
        let mean = float(self.tally.win.coins) / bet;
        (mean, (mean - number(&par.rtp_without_jackpot)) / (par.std_dev / rounds.sqrt()))
    }

    pub(super) fn section(&self, par: &Par) -> Markup {
        let tally = &self.tally;
        let rounds = float(tally.rounds);
        let (mean, sigmas) = self.mean(par);
        let before = match self.carries {
            true => {
                "  Each simulated player first plays uncounted rounds, because the exact return is a long-term average and not the return of a new player."
            }
            false => "",
        };
        let says = format!(
            "This section is simulated, not exact: {} rounds were played by the code that serves players, with the fixed seed {}. \
             They include features, but neither the jackpot nor the gamble.{before} The simulated return is {:.4} %, {sigmas:+.2} standard errors from the \
             exact return of {}; the highest simulated win of a whole round was {} bets. This command repeats the simulation:",
            grouped(&tally.rounds.to_string()),
            hex(&self.seed),
            mean * 100.0,
            percent(&par.rtp_without_jackpot, 4),
            grouped(&format!("{:.2}", float(tally.max_win_coins) / (float(tally.bet_coins) / rounds))),
        );
        let mut classes = win_classes(&tally.by_win);
        while classes.last().is_some_and(|class| class.count == 0) {
            classes.pop();
        }
        let mut left = tally.rounds;
        let rows: Vec<_> = classes
            .iter()
            .map(|class| {
                let at_least = left;
                left -= class.count;
                let share = |count: u64| format!("{:.7} %", float(count) / rounds * 100.0);
                let cells =
                    [class.title.clone(), grouped(&class.count.to_string()), share(class.count), share(at_least)];
                cells.map(|cell| cell.render()).to_vec()
            })
            .collect();
        let bars: Vec<_> = classes
            .iter()
            .map(|class| {
                let count = grouped(&class.count.to_string());
                (class.from.clone(), float(class.count) / rounds, format!("{}: {count} rounds", class.title))
            })
            .collect();
        let inner = html! {
            (note(says))
            p { code { (self.command) } }
            (plot::distribution(&bars, 1.0 / rounds))
            (table(&["win of a round (multiple of the bet)", "rounds", "share", "share of rounds with this or a higher win"], rows))
        };
        section("Distribution of a round's win (simulated)", &inner)
    }
}

pub struct WinClass {
    pub from: String,
    pub title: String,
    pub count: u64,
}

#[must_use]
pub fn win_classes(by_win: &[u64]) -> Vec<WinClass> {
    let bets = |tenths: u64| match (tenths / 10, tenths % 10) {
        (whole, 0) => grouped(&whole.to_string()),
        (whole, tenth) => format!("{whole}.{tenth}"),
    };
    let short = |tenths: u64| match tenths {
        10_000.. => format!("{}k", tenths / 10_000),
        _ => bets(tenths),
    };
    let mut classes = vec![];
    for (place, &count) in by_win.iter().enumerate() {
        let from = place.checked_sub(2).and_then(|before| WIN_BOUNDS_TENTHS.get(before)).copied();
        let below = place.checked_sub(1).and_then(|bound| WIN_BOUNDS_TENTHS.get(bound)).copied();
        let (from, title) = match (place, from, below) {
            (0, ..) => ("none".to_owned(), "no win".to_owned()),
            (_, None, Some(below)) => ("> 0".to_owned(), format!("less than {}", bets(below))),
            (_, Some(from), Some(below)) => (short(from), format!("{} to below {}", bets(from), bets(below))),
            (_, from, None) => (short(from.unwrap_or(0)), format!("{} and more", bets(from.unwrap_or(0)))),
        };
        classes.push(WinClass { from, title, count });
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_slots::simulate::WIN_CLASSES;

    #[test]
    fn classes_are_named_by_their_bounds() {
        let titles: Vec<_> =
            win_classes(&[1; WIN_CLASSES]).into_iter().map(|class| (class.from, class.title)).collect();
        let title = |place: usize| (titles[place].0.as_str(), titles[place].1.as_str());
        assert_eq!(title(0), ("none", "no win"));
        assert_eq!(title(1), ("> 0", "less than 0.1"));
        assert_eq!(title(2), ("0.1", "0.1 to below 0.2"));
        assert_eq!(title(5), ("1", "1 to below 2"));
        assert_eq!(title(14), ("1k", "1,000 to below 2,000"));
        assert_eq!(title(WIN_CLASSES - 1), ("50k", "50,000 and more"));
    }
}
