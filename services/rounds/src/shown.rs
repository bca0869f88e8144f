//! Displayed figures that logged outcomes omit: names of special wins, mean coin values and unopened treasure objects
//! (ME-05, DM-12, NP-12). The figures are computed by resolving the round again.

use crate::live::{Live, Unresolvable};
use motherlode_proto::round::v1::{self, MarkKind};
use motherlode_slots::{self as slots, Game, MeanCoin, Seed, par};
use motherlode_state::{CoinValue, RoundStarted, StepResolved};

/// Adds the displayed figures to the outcomes. From the first step without a seed onward, only the names of special wins
/// are added. Unopened treasure objects are added only if the round is `over`. After an error, some outcomes may be
/// incomplete.
pub fn complete<'a>(
    started: &RoundStarted,
    steps: impl Iterator<Item = (Option<Seed>, &'a StepResolved, &'a mut v1::Outcome)>,
    over: bool,
) -> Result<(), Unresolvable> {
    let mut live = Live::open(started)?;
    let (mut resolved, mut sealed) = (slots::Outcome::default(), false);
    for (seed, step, outcome) in steps {
        match seed.filter(|_| !sealed) {
            Some(seed) => {
                live.again(seed, &step.choice, &mut resolved)?;
                add(live.game, &resolved, outcome, over);
            }
            None => {
                sealed = true;
                name_special_wins(live.game, outcome);
            }
        }
    }
    Ok(())
}

#[must_use]
pub fn adds(resolved: &slots::Outcome, over: bool) -> bool {
    resolved.mean_coin.is_some()
        || (over && !resolved.unopened.is_empty())
        || resolved.marks.iter().any(|mark| mark.kind == slots::MarkKind::Mystery)
}

pub fn add(game: &dyn Game, resolved: &slots::Outcome, outcome: &mut v1::Outcome, over: bool) {
    name_special_wins(game, outcome);
    outcome.mean_coin_value = resolved.mean_coin.map(mean_to_wire);
    let unopened = resolved.unopened.iter().filter(|_| over);
    outcome.unopened =
        unopened.map(|reveal| v1::Reveal { number: u32::from(reveal.object) + 1, coins: reveal.coins }).collect();
}

fn name_special_wins(game: &dyn Game, outcome: &mut v1::Outcome) {
    for mark in outcome.spins.iter_mut().flat_map(|spin| &mut spin.marks) {
        if mark.kind() == MarkKind::Mystery
            && let Some(name) = game.special_win(mark.value)
        {
            name.clone_into(&mut mark.name);
        }
    }
}

fn mean_to_wire(mean: MeanCoin) -> v1::MeanCoinValue {
    let MeanCoin { sum_micros, count } = mean;
    let exact = par::ratio(sum_micros, u128::from(count.max(1)) * 1_000_000);
    let value = par::decimal(&exact, 6);
    v1::MeanCoinValue {
        sum: CoinValue(sum_micros).to_string(),
        count: u32::try_from(count).unwrap_or(u32::MAX),
        value: value.trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
