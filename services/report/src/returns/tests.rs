use super::*;
use motherlode_books::{CoinValue, FxRate, LoggedTerms, Minor, RoundStarted, StepResolved};
use motherlode_proto::convert::play::{choice_to_wire, write_outcome};
use motherlode_rounds::terms_to_log;
use motherlode_slots::{Carried, Draws, Outcome, Stake, Terms};
use prost::Message;
use std::borrow::Cow;

/// A player of Dwarf Mine, whose rounds are counted as the follower counts them.
struct Player {
    game: &'static dyn Game,
    carried: Carried,
    draws: Draws,
    returns: Returns,
    /// The wins of a faulty game, in percent of the right ones.
    percent: u64,
}

impl Player {
    fn new(percent: u64) -> Self {
        Self::at("dwarf-mine", percent)
    }

    fn at(game: &str, percent: u64) -> Self {
        let game = slots::latest(game).unwrap();
        let carried = Carried::default();
        Self { game, carried, draws: Draws::from_seed([9; 32]), returns: Returns::default(), percent }
    }

    /// A round at a coin value, with the choices of the game's rule.
    fn round(&mut self, coin_micros: u64) {
        let limits = &self.game.info().limits;
        let (lines, coins_per_line) = (limits.lines.1, limits.coins_per_line.0);
        let stake = Stake { coin_value_micros: coin_micros, lines, coins_per_line, buy_feature: false };
        let terms = Terms { jackpot: false, ..Terms::plain(self.carried) };
        let started = RoundStarted {
            round: 1,
            game: self.game.name().into(),
            rules_version: self.game.rules_version().into(),
            model_hash: self.game.model_hash(),
            currency: Currency::EUR,
            bet: Minor(i64::try_from(coin_micros * 25 / 10_000).unwrap()),
            coin_value: CoinValue(coin_micros),
            stake: LoggedTerms::Terms(terms_to_log(&stake, &terms, self.game.carries())),
            rate: FxRate::ONE,
            contribution: None,
            session: None,
            jurisdiction: "".into(),
            campaign: None,
        };
        let mut open = OpenRound::new(Cow::Owned(started));
        let (mut round, mut outcome) = (self.game.open(&stake, &terms).unwrap(), Outcome::default());
        while let Some(choice) = round.automatic() {
            round.resolve(&choice, &mut self.draws, &mut outcome).unwrap();
            for spin in &mut outcome.spins {
                spin.win_minor = spin.win_minor * self.percent / 100;
            }
            let mut bytes = vec![];
            write_outcome(self.game, &outcome, &mut bytes);
            let win = i64::try_from(outcome.round_win_minor * self.percent / 100).unwrap();
            open.step(&StepResolved {
                round: 1,
                step: 1,
                seed: Some([0; 32]),
                choice: choice_to_wire(&choice).encode_to_vec(),
                outcome: bytes,
                win: Minor(win),
                automatic: None,
                draw: None,
            });
            self.carried = outcome.carried.unwrap_or(self.carried);
        }
        self.returns.settled("acme", &open, 0);
    }

    /// Collects at the highest coin value, and plays at a low one while any collection lacks but one crystal.
    fn play(&mut self, rounds: u32) -> Found {
        let coins = &self.game.info().limits.coin_values_micros;
        let (low, high) = (*coins.iter().find(|coin| **coin >= 40_000).unwrap(), *coins.last().unwrap());
        for _ in 0..rounds {
            let nearly = self.carried.0[..4].contains(&4);
            self.round(if nearly { low } else { high });
        }
        self.returns.report(&Wanted { game: String::new(), operator: None, out_of_band_only: false, days: false })
    }
}

fn figure(text: &str) -> f64 {
    text.parse().unwrap()
}

/// Crystals are collected at a high stake and won at a low one: the low level returns several times its bets, and all is
/// as it must be.
#[test]
fn pl_23_sound_play_at_mixed_coin_values_raises_no_false_alarm() {
    let found = Player::new(100).play(12_000);
    let low = &found.levels[0];
    assert!(figure(&low.rtp) > 2.0, "the level returns more than it ever could by itself: {low:?}");
    assert!((figure(&low.held_rtp) - figure(&low.held_theoretical_rtp)).abs() < 0.5, "{low:?}");
    for of in found.levels.iter().chain(&found.totals) {
        assert!(!of.out_of_band, "{of:?}");
    }
    let weightings: Vec<_> = found.totals.iter().map(wire::Return::weighting).collect();
    assert_eq!(weightings, [Weighting::Stake, Weighting::Round]);
    let rounds: u64 = found.levels.iter().map(|of| of.rounds).sum();
    assert!(found.totals.iter().all(|of| of.rounds == rounds && of.stake.is_none() && of.currency_code == "EUR"));
    // Nearly all was staked at the high level: the low one's rounds count for next to nothing.
    let high = &found.levels[1];
    assert!((figure(&found.totals[0].effective_rounds) / high.rounds as f64 - 1.0).abs() < 0.1, "{:?}", found.totals);
    assert!((figure(&found.totals[1].effective_rounds) - rounds as f64).abs() < 1.0, "{:?}", found.totals);
}

/// The same play of a game that pays three times what is due.
#[test]
fn pl_23_a_fault_is_found_at_mixed_coin_values() {
    let found = Player::new(300).play(8_000);
    assert!(found.levels.iter().all(|of| of.out_of_band), "{:?}", found.levels);
    assert!(found.totals.iter().all(|of| of.out_of_band), "{:?}", found.totals);
}

/// Whole rounds of each game have each feature as often as mathematics say, but for chance: one figure in 500,000 is 5 standard errors off.
#[test]
fn pl_23_features_come_as_often_as_they_should() {
    for game in slots::latest_games() {
        let mut player = Player::at(game.name(), 100);
        let coin = game.info().limits.coin_values_micros[0];
        for _ in 0..20_000 {
            player.round(coin);
        }
        let found = player.returns.report(&Wanted {
            game: String::new(),
            operator: None,
            out_of_band_only: false,
            days: false,
        });
        let [by_stake, by_round] = &found.totals[..] else { panic!("{:?}", found.totals) };
        assert!(by_stake.features.is_empty() && !by_round.features.is_empty(), "{}", game.name());
        for of in &by_round.features {
            assert!(of.rounds > 0 && figure(&of.theoretical_frequency) > 0.0, "{} {of:?}", game.name());
            assert!(figure(&of.standard_errors).abs() < 5.0, "{} {of:?}", game.name());
        }
    }
}

#[test]
fn a_figure_that_rounds_to_nothing_has_no_sign() {
    assert_eq!([decimal(-0.0), decimal(-4e-7), decimal(0.0)], ["0.000000"; 3]);
    assert_eq!((decimal(-6e-7).as_str(), decimal(-1.5).as_str()), ("-0.000001", "-1.500000"));
}
