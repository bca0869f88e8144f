//! How often a paid spin of a game has its features, beside the chance that its mathematics give (PL-23).
//!
//! Counted is what the first step of a round shows; what comes of it in later steps is not. Rounds whose feature was bought don't count.
//! Features that come whenever enough was collected are no independent draws: their spread is narrower than the one that is told.

use crate::shown::{Outcome, Spin};
use motherlode_proto::{report::v1 as wire, round::v1::SpinKind};
use motherlode_slots::{Par, par::Exact};

/// Features that are known; a game has those whose keys its PAR sheet names.
pub(crate) const MAX: usize = 13;

/// A feature.
struct Feature {
    /// The key of its chance in the PAR sheet.
    key: &'static str,
    title: &'static str,
    is: fn(&Spin) -> bool,
}

const fn feature(key: &'static str, title: &'static str, is: fn(&Spin) -> bool) -> Feature {
    Feature { key, title, is }
}

const FEATURES: [Feature; MAX] = [
    feature("bonus", "Bonus", |spin| spin.bonus),
    feature("treasure", "Treasure", |spin| spin.bonus),
    feature("hold_and_win", "Hold and Win", |spin| spin.bonus),
    feature("scatter_free_spins", "Free spins by scatters", |spin| spin.free_spins_won > 0),
    // Where rows grow, the seventh comes with them; what a collection awards without it is no part of the chance.
    feature("free_spins", "Free spins", |spin| spin.free_spins_won > 0 && (spin.ways == 0 || spin.rows == 7)),
    feature("free_spins_trigger", "Free spins", |spin| spin.free_spins_won > 0),
    feature("five_rows", "Five rows", |spin| spin.rows == 5),
    feature("six_rows", "Six rows", |spin| spin.rows == 6),
    feature("high_symbols", "High Symbols Respin", |spin| spin.kind() == SpinKind::HighSymbols),
    feature("random_wilds", "Random Wilds Respin", |spin| spin.kind() == SpinKind::RandomWilds),
    feature("multiplier", "Multiplier", |spin| spin.kind() == SpinKind::MultiplierRespin),
    feature("mega_wild", "Mega Wild Respin", |spin| spin.kind() == SpinKind::MegaWild),
    feature("explosion", "Explosion", |spin| spin.kind() == SpinKind::Explosion),
];

/// The features that a first step has, a bit each in their order.
pub(crate) fn seen(first: &Outcome) -> u16 {
    let bits = (0..).zip(&FEATURES).filter(|(_, feature)| first.spins.iter().any(feature.is));
    bits.fold(0, |seen, (at, _)| seen | 1 << at)
}

/// The chances of all features; 0 of those that a game does not have.
pub(crate) fn chances(par: &Par, float: impl Fn(&Exact) -> f64) -> [f64; MAX] {
    FEATURES.each_ref().map(|feature| par.rate(feature.key).map_or(0.0, &float))
}

/// Rounds at one stake: how many they are, in how many each feature came, and the chances of one.
pub(crate) struct Counted<'a> {
    pub(crate) rounds: u64,
    pub(crate) seen: &'a [u64; MAX],
    pub(crate) chances: [f64; MAX],
}

/// The frequencies of a game's features in its rounds at any stakes.
#[allow(clippy::cast_precision_loss, reason = "statistics")]
pub(crate) fn frequencies(counted: &[Counted<'_>]) -> Vec<wire::FeatureFrequency> {
    let rounds: u64 = counted.iter().map(|of| of.rounds).sum();
    let one = |(at, feature): (usize, &Feature)| {
        let seen: u64 = counted.iter().map(|of| of.seen[at]).sum();
        let expected: f64 = counted.iter().map(|of| of.rounds as f64 * of.chances[at]).sum();
        let variance: f64 = counted.iter().map(|of| of.rounds as f64 * of.chances[at] * (1.0 - of.chances[at])).sum();
        let errors = if variance > 0.0 { (seen as f64 - expected) / variance.sqrt() } else { 0.0 };
        wire::FeatureFrequency {
            key: feature.key.to_owned(),
            title: feature.title.to_owned(),
            rounds: seen,
            frequency: format!("{:.6}", seen as f64 / rounds as f64),
            theoretical_frequency: format!("{:.6}", expected / rounds as f64),
            standard_errors: format!("{errors:+.2}"),
        }
    };
    match rounds {
        0 => vec![],
        _ => FEATURES
            .iter()
            .enumerate()
            .filter(|(at, _)| counted.iter().any(|of| of.chances[*at] > 0.0))
            .map(one)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_23_frequencies_are_those_of_all_stakes_together() {
        // 100 x 0.1 + 100 x 0.2 are 30 expected, with a variance of 9 + 16. Of the first it's not known that there is such a feature.
        let at = |seen: u64, chance: f64| {
            let (mut all, mut chances) = ([0; MAX], [0.0; MAX]);
            (all[0], all[1], chances[1]) = (9, seen, chance);
            (all, chances)
        };
        let ((few, rare), (many, common)) = (at(1, 0.1), at(26, 0.2));
        let counted =
            [Counted { rounds: 100, seen: &few, chances: rare }, Counted { rounds: 100, seen: &many, chances: common }];
        let told = frequencies(&counted);
        let [treasure] = &told[..] else { panic!("{told:?}") };
        assert_eq!((treasure.key.as_str(), treasure.rounds), ("treasure", 27));
        assert_eq!((&*treasure.frequency, &*treasure.theoretical_frequency), ("0.135000", "0.150000"));
        assert_eq!(treasure.standard_errors, "-0.60");
        assert!(frequencies(&[]).is_empty());
    }

    #[test]
    fn a_first_step_is_seen_with_each_of_its_windows() {
        let base = Spin { kind: SpinKind::Base.into(), rows: 4, free_spins_won: 10, ..Spin::default() };
        let blown = Spin { kind: SpinKind::Explosion.into(), ..Spin::default() };
        let seen = seen(&Outcome { spins: vec![base, blown] });
        let keys: Vec<_> = (0..MAX).filter(|at| seen >> at & 1 == 1).map(|at| FEATURES[at].key).collect();
        assert_eq!(keys, ["scatter_free_spins", "free_spins", "free_spins_trigger", "explosion"]);
    }
}
