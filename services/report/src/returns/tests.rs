use super::*;
use motherlode_proto::convert::play::{choice_to_wire, write_outcome};
use motherlode_rounds::terms_to_log;
use motherlode_slots::{Carried, Draws, Outcome, Stake, Terms};
use motherlode_state::{CoinValue, FxRate, LoggedTerms, Minor, RoundStarted, StepResolved};
use prost::Message;
use std::borrow::Cow;

struct Player {
    game: &'static dyn Game,
    carried: Carried,
    draws: Draws,
    returns: Returns,
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

    fn started(&self, coin_micros: u64) -> (RoundStarted, Stake, Terms) {
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
        (started, stake, terms)
    }

    fn round(&mut self, coin_micros: u64) {
        let (started, stake, terms) = self.started(coin_micros);
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

    fn play(&mut self, rounds: u32) -> ReturnList {
        let coins = &self.game.info().limits.coin_values_micros;
        let (low, high) = (*coins.iter().find(|coin| **coin >= 40_000).unwrap(), *coins.last().unwrap());
        for _ in 0..rounds {
            let nearly = self.carried.0[..4].contains(&4);
            self.round(if nearly { low } else { high });
        }
        self.report()
    }

    fn report(&self) -> ReturnList {
        self.returns.report(&ReturnFilter { game: String::new(), operator: None, out_of_band_only: false, days: false })
    }
}

fn figure(text: &str) -> f64 {
    text.parse().unwrap()
}

#[test]
fn pl_23_sound_play_at_mixed_coin_values_raises_no_false_alarm() {
    let found = Player::new(100).play(12_000);
    let low = &found.levels[0];
    assert!(figure(&low.rtp) > 2.0, "the level returns more than its own bets could: {low:?}");
    assert!((figure(&low.held_rtp) - figure(&low.held_theoretical_rtp)).abs() < 0.5, "{low:?}");
    for of in found.levels.iter().chain(&found.totals) {
        assert!(!of.out_of_band, "{of:?}");
    }
    let weightings: Vec<_> = found.totals.iter().map(wire::Return::weighting).collect();
    assert_eq!(weightings, [Weighting::Stake, Weighting::Round]);
    let rounds: u64 = found.levels.iter().map(|of| of.rounds).sum();
    assert!(found.totals.iter().all(|of| of.rounds == rounds && of.stake.is_none() && of.currency_code == "EUR"));
    let high = &found.levels[1];
    assert!((figure(&found.totals[0].effective_rounds) / high.rounds as f64 - 1.0).abs() < 0.1, "{:?}", found.totals);
    assert!((figure(&found.totals[1].effective_rounds) - rounds as f64).abs() < 1.0, "{:?}", found.totals);
}

#[test]
fn pl_23_a_fault_is_found_at_mixed_coin_values() {
    let found = Player::new(300).play(8_000);
    assert!(found.levels.iter().all(|of| of.out_of_band), "{:?}", found.levels);
    assert!(found.totals.iter().all(|of| of.out_of_band), "{:?}", found.totals);
}

#[test]
fn pl_23_features_come_as_often_as_they_should() {
    for game in slots::latest_games() {
        let mut player = Player::at(game.name(), 100);
        let coin = game.info().limits.coin_values_micros[0];
        for _ in 0..20_000 {
            player.round(coin);
        }
        let found = player.report();
        let [by_stake, by_round] = &found.totals[..] else { panic!("{:?}", found.totals) };
        assert!(by_stake.features.is_empty() && !by_round.features.is_empty(), "{}", game.name());
        let keys = by_round.features.iter().map(|of| &*of.key);
        assert!(keys.eq(game.features().iter().map(|feature| feature.key)), "{}", game.name());
        for of in &by_round.features {
            assert!(of.rounds > 0 && figure(&of.theoretical_frequency) > 0.0, "{} {of:?}", game.name());
            assert!(figure(&of.standard_errors).abs() < 5.0, "{} {of:?}", game.name());
        }
    }
}

#[test]
fn pl_23_mf_d6_features_of_new_players_come_as_often_as_they_should() {
    for game in slots::latest_games() {
        let mut player = Player::at(game.name(), 100);
        let coin = game.info().limits.coin_values_micros[0];
        for round in 0..20_000 {
            if round % 40 == 0 {
                player.carried = Carried::default();
            }
            player.round(coin);
        }
        let found = player.report();
        let features = &found.totals[1].features;
        assert_eq!(features.len(), game.features().len());
        for of in features {
            assert!(figure(&of.standard_errors).abs() < 5.0, "{} {of:?}", game.name());
        }
        let (limits, game) = (&game.info().limits, *game);
        let stake = Stake {
            coin_value_micros: coin,
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        let par = game.par(&stake).unwrap();
        let far = |of: &&wire::FeatureFrequency| {
            let long_run = float(par.rate(&of.key).unwrap());
            (of.rounds as f64 - 20_000.0 * long_run).abs() > 5.0 * (20_000.0 * long_run).sqrt()
        };
        let states = features.iter().any(|of| game.chances_in(1).iter().any(|(key, _)| *key == of.key));
        assert_eq!(features.iter().any(|of| far(&of)), states, "{}: {features:?}", game.name());
    }
}

#[test]
fn mf_d6_the_chances_in_states_have_the_long_runs_mean() {
    const PLAYERS: u8 = 100;
    for game in slots::latest_games() {
        let coin = game.info().limits.coin_values_micros[0];
        let mut known = vec![];
        let mut means = |seed: u8| {
            let mut player = Player { draws: Draws::from_seed([seed; 32]), ..Player::at(game.name(), 100) };
            for _ in 0..1_000 {
                player.round(coin);
            }
            player.returns = Returns::default();
            for _ in 0..1_000 {
                player.round(coin);
            }
            let level = player.returns.0.keys().next().unwrap().clone();
            known = level.known().unwrap().chances.to_vec();
            player.report().totals[1].features.iter().map(|of| figure(&of.theoretical_frequency)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..PLAYERS).map(&mut means).collect();
        for (at, feature) in game.features().iter().enumerate() {
            let of: Vec<_> = all.iter().map(|means| means[at]).collect();
            let players = f64::from(PLAYERS);
            let mean = of.iter().sum::<f64>() / players;
            let variance = of.iter().map(|of| (of - mean) * (of - mean)).sum::<f64>() / (players - 1.0);
            let (off, error) = (mean - known[at], (variance / players).sqrt());
            let most = 5.0 * error + 5e-7;
            assert!(off.abs() <= most, "{} {}: {mean} is {off:+} off {}", game.name(), feature.key, known[at]);
            assert!(
                most < 0.125 * known[at],
                "{} {}: a standard error of {error} is too large to find an error of an eighth of {}",
                game.name(),
                feature.key,
                known[at]
            );
        }
    }
}

#[test]
fn mf_d6_an_unknown_spin_kind_is_not_collected() {
    let mut player = Player::at("witch-feature", 100);
    let coin = player.game.info().limits.coin_values_micros[0];
    let mut open = OpenRound::new(Cow::Owned(player.started(coin).0));
    let window = |kind: i32, win: u64| crate::shown::Spin { kind, win_minor: win, ..Default::default() };
    let known = motherlode_proto::round::v1::SpinKind::MegaWild.into();
    let outcome = crate::shown::Outcome { spins: vec![window(1, 5), window(99, 70), window(known, 300)] };
    open.step(&StepResolved {
        round: 1,
        step: 1,
        seed: Some([0; 32]),
        choice: vec![],
        outcome: outcome.encode_to_vec(),
        win: Minor(375),
        automatic: None,
        draw: None,
    });
    assert_eq!((open.win, open.collected), (375, 300));
    player.round(coin);
}

#[test]
fn mf_d6_only_collected_parts_are_left_out_of_a_rounds_own_return() {
    for game in slots::games() {
        let limits = &game.info().limits;
        let level = Level {
            game: game.name().into(),
            rules_version: game.rules_version().into(),
            currency: Currency::EUR,
            coin_value: limits.coin_values_micros[0],
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        let known = level.in_coins(*game).unwrap();
        let left_out = known.all.rtp - known.own.rtp;
        let collects = game.parts().iter().any(|part| part.nature == Nature::Collected);
        assert_eq!(left_out > 1e-9, collects, "{}: {left_out}", game.name());
        assert_eq!(collects, !game.carries().keys.is_empty(), "{}", game.name());
    }
}

#[test]
fn a_figure_that_rounds_to_nothing_has_no_sign() {
    assert_eq!([decimal(-0.0), decimal(-4e-7), decimal(0.0)], ["0.000000"; 3]);
    assert_eq!((decimal(-6e-7).as_str(), decimal(-1.5).as_str()), ("-0.000001", "-1.500000"));
}
