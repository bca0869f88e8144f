//! Frequencies of a game's features per paid spin, compared with their chances (PL-23).
//!
//! Counts the features in the first step of each round that did not buy a feature. The expected number of features is
//! the sum of the chances of these rounds. A round's chance depends on the player's state.

use crate::shown::{Outcome, Spin};
use motherlode_proto::report::v1 as wire;
use motherlode_slots::{FEATURES_MAX as MAX, Feature, Game, Par, Sign, par::Exact};

fn shows(sign: Sign, spin: &Spin) -> bool {
    match sign {
        Sign::Bonus => spin.bonus,
        Sign::FreeSpins => spin.free_spins_won > 0,
        Sign::Rows(rows) => spin.rows == rows,
        Sign::FreeSpinsAtRows(rows) => spin.free_spins_won > 0 && spin.rows == rows,
        Sign::Window(kind) => spin.slots_kind() == Some(kind),
    }
}

pub(crate) fn seen(game: &dyn Game, first: &Outcome) -> u16 {
    let has = |feature: &Feature| first.spins.iter().any(|spin| shows(feature.sign, spin));
    let bits = (0..).zip(game.features().iter().take(MAX)).filter(|(_, feature)| has(feature));
    bits.fold(0, |seen, (at, _)| seen | 1 << at)
}

pub(crate) fn chances(game: &dyn Game, par: &Par, float: impl Fn(&Exact) -> f64) -> [f64; MAX] {
    let mut chances = [0.0; MAX];
    for (figure, feature) in chances.iter_mut().zip(game.features()) {
        *figure = par.rate(feature.key).map_or(0.0, &float);
    }
    chances
}

pub(crate) fn in_state(
    game: &dyn Game,
    mut chances: [f64; MAX],
    state: u16,
    float: impl Fn(&Exact) -> f64,
) -> [f64; MAX] {
    for (key, chance) in game.chances_in(state) {
        for (figure, _) in chances.iter_mut().zip(game.features()).filter(|(_, feature)| feature.key == key) {
            *figure = float(&chance);
        }
    }
    chances
}

pub(crate) struct FeatureCounts<'a> {
    pub(crate) seen: &'a [u64; MAX],
    pub(crate) states: Vec<(u64, [f64; MAX])>,
}

#[allow(clippy::cast_precision_loss, reason = "statistics")]
pub(crate) fn frequencies(features: &[Feature], counted: &[FeatureCounts<'_>]) -> Vec<wire::FeatureFrequency> {
    let states = || counted.iter().flat_map(|of| &of.states);
    let rounds: u64 = states().map(|(rounds, _)| rounds).sum();
    let sum = |at: usize, of: fn(f64) -> f64| states().map(|(rounds, chances)| *rounds as f64 * of(chances[at])).sum();
    let one = |(at, feature): (usize, &Feature)| {
        let seen: u64 = counted.iter().map(|of| of.seen[at]).sum();
        let expected: f64 = sum(at, |chance| chance);
        let variance: f64 = sum(at, |chance| chance * (1.0 - chance));
        // With a variance of 0, any difference counts as infinitely many standard deviations.
        let distance = seen as f64 - expected;
        let errors = if distance == 0.0 { 0.0 } else { distance / variance.sqrt() };
        wire::FeatureFrequency {
            key: feature.key.to_owned(),
            title: feature.title.to_owned(),
            rounds: seen,
            frequency: format!("{:.6}", seen as f64 / rounds as f64),
            theoretical_frequency: format!("{:.6}", expected / rounds as f64),
            standard_errors: format!("{errors:+.2}"),
        }
    };
    if rounds == 0 { vec![] } else { features.iter().take(MAX).enumerate().map(one).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::SpinKind;
    use motherlode_slots as slots;

    #[test]
    fn pl_23_frequencies_are_those_of_all_stakes_and_states_together() {
        let features = [Feature::cash("treasure", "Treasure", Sign::Bonus)];
        let at = |seen: u64| {
            let mut all = [0; MAX];
            all[0] = seen;
            all
        };
        let chances = |chance: f64| {
            let mut chances = [0.0; MAX];
            chances[0] = chance;
            chances
        };
        let (few, many) = (at(1), at(26));
        let counted = [
            FeatureCounts { seen: &few, states: vec![(100, chances(0.1))] },
            FeatureCounts { seen: &many, states: vec![(60, chances(0.2)), (40, chances(0.2))] },
        ];
        let told = frequencies(&features, &counted);
        let [treasure] = &told[..] else { panic!("{told:?}") };
        assert_eq!((treasure.key.as_str(), treasure.rounds), ("treasure", 27));
        assert_eq!((&*treasure.frequency, &*treasure.theoretical_frequency), ("0.135000", "0.150000"));
        assert_eq!(treasure.standard_errors, "-0.60");
        assert!(frequencies(&features, &[]).is_empty());
        let impossible = [FeatureCounts { seen: &few, states: vec![(100, chances(0.0))] }];
        assert_eq!(frequencies(&features, &impossible)[0].standard_errors, "+inf");
    }

    #[test]
    fn mf_d6_a_first_step_is_seen_with_each_of_its_windows() {
        let base = Spin { kind: SpinKind::Base.into(), rows: 4, free_spins_won: 10, ..Spin::default() };
        let blown = Spin { kind: SpinKind::Explosion.into(), ..Spin::default() };
        let unknown = Spin { kind: 99, ..Spin::default() };
        let first = Outcome { spins: vec![base, blown, unknown] };
        let seen = |game: &str| {
            let game = slots::latest(game).unwrap();
            let bits = seen(game, &first);
            let features = (0..).zip(game.features()).filter(|(at, _)| bits >> at & 1 == 1);
            features.map(|(_, feature)| feature.key).collect::<Vec<_>>()
        };
        assert_eq!(seen("witch-feature"), ["explosion", "free_spins_trigger"]);
        assert_eq!(seen("bewitched"), ["scatter_free_spins"]);
        assert!(seen("dwarf-mine").is_empty() && seen("mystery-elves").is_empty());
    }
}
