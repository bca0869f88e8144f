//! Draws the opened treasure objects and, after the end of the round, also the unopened ones (NP-10, NP-12).

use super::pen::{Hue, Pen};
use crate::figures::{coins, grouped};
use motherlode_proto::round::v1::{Outcome, Reveal};

const WIDTH: usize = 9;
const ACROSS_MAX: usize = 7;

pub(super) fn opened(outcome: &Outcome, pen: Pen) -> Vec<String> {
    let Outcome { reveals, unopened, .. } = outcome;
    if reveals.is_empty() {
        return vec![];
    }
    let mut lines = boxes(reveals, pen);
    let sum = reveals.iter().fold(0_u64, |sum, of| sum.saturating_add(of.coins));
    lines.push(format!("  The opened objects hold {} in total.", pen.bold(Hue::Gold, &coins(sum))));
    if !unopened.is_empty() {
        lines.push("  Unopened objects:".to_owned());
        lines.extend(boxes(unopened, pen));
    }
    lines
}

fn boxes(reveals: &[Reveal], pen: Pen) -> Vec<String> {
    let mut lines = vec![];
    let across = pen.columns().saturating_sub(3) / (WIDTH + 1);
    for row in reveals.chunks(across.clamp(1, ACROSS_MAX)) {
        let rule = |left: &str, middle: &str, right: &str| {
            format!("  {left}{}{right}", vec!["─".repeat(WIDTH); row.len()].join(middle))
        };
        let cells =
            |text: &dyn Fn(&Reveal) -> String| -> String { row.iter().map(|of| format!("│{}", text(of))).collect() };
        lines.push(rule("╭", "┬", "╮"));
        lines.push(format!("  {}│", cells(&|of| pen.dim(&format!("{:^WIDTH$}", format!("no. {}", of.number))))));
        let held = |of: &Reveal| pen.bold(Hue::Gold, &format!("{:^WIDTH$}", grouped(&of.coins.to_string())));
        lines.push(format!("  {}│", cells(&held)));
        lines.push(rule("╰", "┴", "╯"));
    }
    lines
}
