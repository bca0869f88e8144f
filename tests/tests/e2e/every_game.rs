use motherlode_jobs::compared::Report;
use motherlode_proto::{
    round::v1::{RoundState, SpinKind},
    spin::v1::{GetGameRequest, ListGamesRequest},
};
use motherlode_slots::{
    Carried, Draws, Game, Nature, Outcome, Par, Stake, Tally, Terms, games, latest_games,
    par::{Condition, exact, float, ratio},
    simulate, warm_up,
};
use motherlode_tests::{Client, EUR, config, play, smallest, stake_on, start_fresh};
use std::time::Duration;

const SIGMAS: f64 = 5.0;
const ROUNDS: u64 = 50_000;

fn stake(game: &dyn Game, most: bool) -> Stake {
    let limits = &game.info().limits;
    Stake {
        coin_value_micros: limits.coin_values_micros[0],
        lines: limits.lines.1,
        coins_per_line: if most { limits.coins_per_line.1 } else { limits.coins_per_line.0 },
        buy_feature: false,
    }
}

fn promise(game: &dyn Game) -> f64 {
    let line = game.data_file().lines().find_map(|line| line.strip_prefix("rtp = \"")).unwrap();
    line.trim_end_matches('"').parse().unwrap()
}

#[test]
fn pl_02_mf_d7_every_game_keeps_the_promise_of_its_data_file() {
    for game in games().iter().copied() {
        let name = format!("{} {}", game.name(), game.rules_version());
        for most in [false, true] {
            let par = game.par(&stake(game, most)).unwrap();
            let off = float(&par.rtp_without_jackpot) - promise(game);
            assert!(off.abs() <= 0.000_05, "{name}: {off:+}");
            let own = par.of_nature(Nature::Cash) + par.of_nature(Nature::Collected);
            assert_eq!(own, par.rtp_without_jackpot, "{name}");
            assert!(exact(0) < par.hit_frequency && par.hit_frequency < exact(1) && par.std_dev > 0.0, "{name}");
            assert!(par.parts.iter().zip(game.parts()).all(|(part, name)| part.name == *name), "{name}");
            if let Some((min, max)) = game.info().rtp_span_micros {
                let (min, max) = (ratio(min, 1_000_000), ratio(max, 1_000_000));
                assert!(min <= par.rtp && par.rtp_with_increments() <= max, "{name}");
            }
            for feature in game.features() {
                let chance = par.rate(feature.key).unwrap_or_else(|| panic!("{name}: {}", feature.key));
                assert!(exact(0) < *chance && *chance < exact(1), "{name}: {}", feature.key);
            }
        }
        assert_eq!(game.carries().keys.is_empty(), game.parts().iter().all(|part| part.nature == Nature::Cash));
    }
}

fn rounds(game: &'static dyn Game, held: Option<(&str, i64)>, rounds: u64, player: u64) -> Vec<f64> {
    let stake = stake(game, false);
    let bet = f64::from(game.check_stake(&stake).unwrap());
    let held = held.map(|(key, value)| (game.carries().keys.iter().position(|of| *of == key).unwrap(), value));
    let mut seed = [5; 32];
    seed[..8].copy_from_slice(&player.to_be_bytes());
    let (mut draws, mut outcome) = (Draws::from_seed(seed), Outcome::default());
    let mut carried = Carried::default();
    let mut round = game.open(&stake, &Terms::plain(carried)).unwrap();
    let mut wins = vec![];
    for _ in 0..rounds {
        if let Some((place, value)) = held {
            carried.0[place] = value;
        }
        round.reopen(&carried);
        while let Some(choice) = round.automatic() {
            round.resolve(&choice, &mut draws, &mut outcome).unwrap();
            carried = outcome.carried.unwrap_or(carried);
        }
        wins.push(outcome.round_win_coins as f64 / bet);
    }
    wins
}

#[test]
fn pl_43_mf_d7_every_conditional_return_is_played() {
    for game in latest_games().iter().copied() {
        let usual = stake(game, false);
        let par = game.par(&usual).unwrap();
        for of in &par.conditional_rtps {
            let (mean, error) = match of.condition {
                Condition::Bought => {
                    let bought = Stake { buy_feature: true, ..usual };
                    let tally = simulate(game, &bought, Carried::default(), ROUNDS, [7; 32]).unwrap();
                    let par = game.par(&bought).unwrap();
                    (tally.win.coins as f64 / tally.bet_coins as f64, par.std_dev / (ROUNDS as f64).sqrt())
                }
                Condition::FirstSpins(spins) => {
                    let players = ROUNDS / u64::from(spins);
                    let one = |player| rounds(game, None, spins.into(), player).iter().sum::<f64>();
                    let played = (players * u64::from(spins)) as f64;
                    let won: f64 = (0..players).map(one).sum();
                    (won / played, 2.0 * par.std_dev / played.sqrt())
                }
                Condition::Held { key, value } => {
                    let wins = rounds(game, Some((key, value)), ROUNDS, 9);
                    (wins.iter().sum::<f64>() / wins.len() as f64, par.std_dev / (ROUNDS as f64).sqrt())
                }
            };
            let off = (mean - float(&of.rtp)) / error;
            assert!(
                off.abs() < SIGMAS,
                "{} {}: the mean {mean} is {off:+.2} standard errors from {}",
                game.name(),
                of.key,
                float(&of.rtp)
            );
        }
    }
}

fn simulated(game: &'static dyn Game, stake: &Stake) -> Tally {
    let carried = warm_up(game, stake, 10_000, [3; 32]).unwrap();
    simulate(game, stake, carried, ROUNDS, [4; 32]).unwrap()
}

#[test]
fn pl_43_mf_d7_every_figure_of_every_game_is_judged() {
    for game in latest_games().iter().copied() {
        let usual = stake(game, false);
        let (par, tally) = (game.par(&usual).unwrap(), simulated(game, &usual));
        let judged = |par: &Par| Report::new(game, &usual, par, &tally, [4; 32], 1, Duration::from_secs(1));
        assert_eq!(judged(&par).contradiction(), None, "{}", game.name());
        let found = |change: &dyn Fn(&mut Par)| {
            let mut par = par.clone();
            change(&mut par);
            judged(&par).contradiction().unwrap_or_default()
        };
        let hits = found(&|par| par.hit_frequency = &par.hit_frequency * ratio(9, 10));
        assert!(hits.starts_with("hit frequency is +"), "{}: {hits}", game.name());
        for feature in game.features() {
            let seen = found(&|par| {
                par.rates.iter_mut().filter(|rate| rate.key == feature.key).for_each(|rate| rate.value = ratio(1, 2));
            });
            assert!(
                seen.contains(&format!("{} frequency is -", feature.key.replace('_', " "))),
                "{}: {seen}",
                game.name()
            );
        }
        if game.info().buy_feature_bets.is_some() {
            let bought = Stake { buy_feature: true, ..usual };
            let (par, tally) = (game.par(&bought).unwrap(), simulated(game, &bought));
            let report = Report::new(game, &bought, &par, &tally, [4; 32], 1, Duration::from_secs(1));
            assert_eq!(report.contradiction(), None, "{} bought", game.name());
        }
    }
}

const STRETCH: u64 = 4_000_000;
const STRETCHES_MAX: u8 = 40;

#[test]
fn pl_43_mf_d7_the_variance_of_every_game_is_judged_from_both_sides() {
    for game in latest_games().iter().copied() {
        let usual = stake(game, false);
        let par = game.par(&usual).unwrap();
        let carried = warm_up(game, &usual, 10_000, [3; 32]).unwrap();
        let mut tally = Tally::default();
        let judged =
            |par: &Par, tally: &Tally| Report::new(game, &usual, par, tally, [4; 32], 1, Duration::from_secs(1));
        let is_judged = |report: &Report| report.figures().iter().any(|(name, _)| name == "variance");
        for stretch in 0..STRETCHES_MAX {
            tally.merge(&simulate(game, &usual, carried, STRETCH, [stretch; 32]).unwrap());
            if is_judged(&judged(&par, &tally)) {
                break;
            }
        }
        let report = judged(&par, &tally);
        assert!(is_judged(&report), "{}: {} rounds do not suffice for a verdict", game.name(), tally.rounds);
        assert_eq!(report.contradiction(), None, "{}: {}", game.name(), report.text());
        for (factor, side) in [(2.0, "variance is -"), (2.0 / 3.0, "variance is +")] {
            let mut par = par.clone();
            par.std_dev *= f64::sqrt(factor);
            let found = judged(&par, &tally).contradiction().unwrap_or_default();
            assert!(found.contains(side), "{} x {factor}: {found} {}", game.name(), report.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_13_mf_d7_every_game_is_played_as_it_is_described() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let listed = client.spin.list_games(ListGamesRequest {}).await.unwrap().into_inner().games;
    assert_eq!(listed.len(), games().len());
    for game in latest_games().iter().copied() {
        let request = GetGameRequest { game: game.name().into(), ..GetGameRequest::default() };
        let told = client.spin.get_game(request).await.unwrap().into_inner();
        let par = game.par(&stake(game, false)).unwrap();
        let number = |text: &str| text.parse::<f64>().unwrap();
        assert!((number(&told.hit_frequency) - float(&par.hit_frequency)).abs() < 1e-6, "{}", game.name());
        assert!((number(&told.rtp) - float(&par.rtp)).abs() < 1e-6, "{}", game.name());
        assert_eq!(told.conditional_returns.len(), par.conditional_rtps.len());
        for (of, known) in told.conditional_returns.iter().zip(&par.conditional_rtps) {
            assert!(of.key == known.key && (number(&of.rtp) - float(&known.rtp)).abs() < 1e-6, "{of:?}");
        }
        let highest = number(&told.win_up_to.as_ref().unwrap().bets);
        let account = client.fund(game.name(), EUR, 1_000_000).await;
        for round in 0..40 {
            let bet = stake_on(game, &format!("every{round}"), &account, smallest(game));
            let coins = bet.stake.as_ref().map(|stake| f64::from(stake.lines * stake.coins_per_line)).unwrap();
            let steps = play(&mut client, game, bet, round).await;
            assert_eq!(steps.last().unwrap().state(), RoundState::Settled);
            for spin in steps.iter().flat_map(|step| &step.outcome.as_ref().unwrap().spins) {
                assert!(spin.kind() != SpinKind::Unspecified);
                assert!((told.rows..=told.rows_max).contains(&spin.rows), "{}", game.name());
                assert!(spin.wins.iter().all(|win| (win.symbol as usize) < told.symbols.len()));
                assert!(spin.win_coins as f64 / coins <= highest, "{}", game.name());
            }
        }
    }
    server.stop().await.unwrap();
}
