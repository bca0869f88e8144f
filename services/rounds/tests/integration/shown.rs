use motherlode_proto::{
    convert::play::choice_to_wire,
    round::v1::{self, MarkKind, SpinKind},
};
use motherlode_rounds::{Live, shown, terms_to_log};
use motherlode_slots::{self as slots, Awaiting, Carried, Choice, Game, Stake, Terms, games};
use motherlode_state::{Currency, FxRate, LoggedTerms, Minor, RoundStarted, StepResolved};
use prost::Message;
use std::collections::BTreeSet;

struct Logged {
    started: RoundStarted,
    steps: Vec<StepResolved>,
    outcomes: Vec<v1::Outcome>,
    bytes: Vec<Vec<u8>>,
}

fn next(live: &Live) -> Option<Choice> {
    Some(Choice::Spin).filter(|_| live.awaiting() == Awaiting::Spin).or_else(|| live.automatic())
}

fn played(game: &'static dyn Game, coin_micros: u64, buy_feature: bool, carried: Carried, number: u64) -> Logged {
    let limits = &game.info().limits;
    let (lines, coins_per_line) = (limits.lines.1, limits.coins_per_line.0);
    let stake = Stake { coin_value_micros: coin_micros, lines, coins_per_line, buy_feature };
    let terms = Terms { jackpot: false, ..Terms::plain(carried) };
    let started = RoundStarted {
        round: 1,
        game: game.name().into(),
        rules_version: game.rules_version().into(),
        model_hash: game.model_hash(),
        currency: Currency::EUR,
        bet: Minor(100),
        coin_value: motherlode_state::CoinValue(coin_micros),
        stake: LoggedTerms::Terms(terms_to_log(&stake, &terms, game.carries())),
        rate: FxRate::ONE,
        contribution: None,
        session: None,
        jurisdiction: "".into(),
        campaign: None,
    };
    let mut live = Live::open(&started).unwrap();
    let (mut steps, mut bytes, mut resolved) = (vec![], vec![], slots::Outcome::default());
    for step in 1_u32.. {
        let Some(choice) = next(&live) else { break };
        let mut seed = [5; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        seed[31] = u8::try_from(step % 251).unwrap();
        let choice = choice_to_wire(&choice).encode_to_vec();
        live.again(seed, &choice, &mut resolved).unwrap();
        let mut outcome = vec![];
        live.write(&resolved, &mut outcome);
        bytes.push(outcome.clone());
        steps.push(StepResolved {
            round: 1,
            step,
            seed: Some(seed),
            choice,
            outcome,
            win: Minor(0),
            automatic: None,
            draw: None,
        });
    }
    let outcomes = bytes.iter().map(|bytes| v1::Outcome::decode(bytes.as_slice()).unwrap()).collect();
    Logged { started, steps, outcomes, bytes }
}

impl Logged {
    fn shown(mut self, over: bool) -> Vec<v1::Outcome> {
        let steps = self.steps.iter().zip(&mut self.outcomes).map(|(step, outcome)| (step.seed, step, outcome));
        shown::complete(&self.started, steps, over).unwrap();
        self.outcomes
    }
}

fn versions(name: &str) -> impl Iterator<Item = &'static dyn Game> {
    games().iter().copied().filter(move |game| game.name() == name)
}

#[test]
fn np_12_unopened_objects_are_shown_once_the_round_is_over_and_never_before() {
    for game in versions("neptune") {
        let mut picks = 0;
        for number in 0..1_500 {
            let round = played(game, 10_000, false, Carried::default(), number);
            if round.outcomes.iter().all(|outcome| outcome.reveals.is_empty()) {
                continue;
            }
            assert!(
                round.outcomes.iter().all(|outcome| outcome.unopened.is_empty()),
                "logged outcomes must have no unopened objects"
            );
            let open = played(game, 10_000, false, Carried::default(), number).shown(false);
            assert_eq!(open, round.outcomes, "an open round must show only logged figures");
            for outcome in round.shown(true).iter().filter(|outcome| !outcome.reveals.is_empty()) {
                picks += 1;
                let all: Vec<_> = outcome.reveals.iter().chain(&outcome.unopened).collect();
                let numbers: BTreeSet<_> = all.iter().map(|of| of.number).collect();
                assert_eq!(numbers, (1..=u32::from(game.info().picks_of)).collect(), "each object must be shown once");
                assert_eq!(numbers.len(), all.len());
                assert!(outcome.unopened.iter().all(|of| of.coins > 0), "each unopened object must have an amount");
            }
        }
        assert!(picks > 2, "{picks} picks");
    }
}

#[test]
fn dm_12_the_mean_coin_value_is_stated_with_its_free_spins() {
    for game in versions("dwarf-mine") {
        let coin = *game.info().limits.coin_values_micros.iter().find(|value| **value >= 40_000).unwrap();
        let mut carried = Carried::default();
        carried.0[..10].copy_from_slice(&[4, 4, 4, 4, 2_000_000, 2_000_000, 2_000_000, 500_000, 3, 1]);
        let mut colours = BTreeSet::new();
        for number in 0..400 {
            for outcome in played(game, coin, false, carried, number).shown(false) {
                let Some(spin) = outcome.spins.first().filter(|spin| spin.kind() == SpinKind::Collection) else {
                    assert_eq!(outcome.mean_coin_value, None);
                    continue;
                };
                let name = &game.info().symbols[spin.collection_symbol as usize].name;
                let (sum, count) = if name == "Ruby Dwarf" { (500_000 + coin, 2) } else { (2_000_000 + coin, 5) };
                let mean = outcome.mean_coin_value.unwrap();
                let micros = |text: &str| (text.parse::<f64>().unwrap() * 1e6).round();
                assert_eq!((micros(&mean.sum), mean.count), (sum as f64, count), "{name}");
                assert_eq!(micros(&mean.value), (sum as f64 / f64::from(count)).round(), "{name}");
                for spin in &outcome.spins {
                    let minor = spin.win_coins as f64 * sum as f64 / f64::from(count) / 10_000.0;
                    assert!((spin.win_minor as f64 - minor).abs() <= 0.5, "{name}: {} of {minor}", spin.win_minor);
                }
                colours.insert(name.clone());
            }
        }
        assert!(colours.len() >= 3 && colours.contains("Ruby Dwarf"), "{colours:?}");
    }
}

#[test]
fn pl_11_nothing_is_added_where_it_is_said_that_nothing_is() {
    let (mut nothing, mut something) = (0, BTreeSet::new());
    for game in games() {
        let coin = *game.info().limits.coin_values_micros.last().unwrap();
        for number in 0..400 {
            let buys = game.name() == "mystery-elves" && number % 2 == 0;
            let round = played(*game, coin, buys, Carried::default(), number);
            let (mut live, mut resolved) = (Live::open(&round.started).unwrap(), slots::Outcome::default());
            for (step, logged) in round.steps.iter().zip(&round.outcomes) {
                live.again(step.seed.unwrap(), &step.choice, &mut resolved).unwrap();
                for over in [false, true] {
                    let mut outcome = logged.clone();
                    shown::add(live.game, &resolved, &mut outcome, over);
                    if outcome != *logged {
                        assert!(shown::adds(&resolved, over), "{} {number}: {outcome:?}", game.name());
                        something.insert(game.name());
                    }
                    nothing += usize::from(!shown::adds(&resolved, over));
                }
            }
        }
    }
    assert!(nothing > 0 && something.len() > 1, "{nothing}, {something:?}");
}

#[test]
fn me_05_special_wins_are_named() {
    for game in versions("mystery-elves") {
        let mut names = BTreeSet::new();
        for number in 0..300 {
            for outcome in played(game, 10_000, true, Carried::default(), number).shown(true) {
                for mark in outcome.spins.iter().flat_map(|spin| &spin.marks) {
                    let revealed = mark.kind() == MarkKind::Mystery && mark.value > 0;
                    assert_eq!(mark.name.is_empty(), !revealed, "{mark:?}");
                    names.extend(Some(mark.name.clone()).filter(|_| revealed));
                }
            }
        }
        let known = ["GRAND", "MAJOR", "MINI", "MINOR"].map(str::to_owned).into();
        assert!(names.is_subset(&known) && names.len() >= 2, "{names:?}");
    }
}

#[test]
fn pl_06_what_is_added_is_not_in_the_log() {
    for game in games() {
        let buy_feature = game.info().buy_feature_bets.is_some();
        let coin = *game.info().limits.coin_values_micros.iter().find(|value| **value >= 10_000).unwrap();
        for number in 0..50 {
            let round = played(*game, coin, buy_feature, Carried::default(), number);
            for (outcome, bytes) in round.outcomes.iter().zip(&round.bytes) {
                assert_eq!(outcome.encode_to_vec(), *bytes, "{}", game.name());
                assert!(outcome.unopened.is_empty() && outcome.mean_coin_value.is_none());
            }
        }
    }
}
