use crate::common::seed;
use motherlode_slots::{Awaiting, Choice, Draws, Game, Outcome, Stake, Terms, games, latest};
use std::collections::BTreeSet;

const WITH_GAMBLE: Terms = Terms { gamble_max_minor: 12_500_000, ..crate::common::WITH_DOUBLE };

fn smallest(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    Stake {
        coin_value_micros: limits.coin_values_micros[0].max(10_000),
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    }
}

fn by_the_rules(stands: &Outcome) -> Choice {
    match stands.awaiting {
        Awaiting::Pick if stands.pick.unwrap().needs == 3 => crate::common::pick([0, 1, 2]),
        Awaiting::Pick if stands.pick.unwrap().needs == 4 => crate::common::pick([0, 1, 2, 3]),
        Awaiting::Pick => crate::common::pick([0, 1, 2, 3, 4]),
        Awaiting::FreeSpins => Choice::StartFreeSpins,
        Awaiting::Feature => Choice::StartFeature,
        Awaiting::Double => Choice::Collect,
        Awaiting::Nothing | Awaiting::Spin => panic!("the round waits for no choice"),
    }
}

fn left_alone(game: &'static dyn Game, awaited: &[Awaiting]) {
    let mut missing: BTreeSet<_> = awaited.iter().map(|awaiting| format!("{awaiting:?}")).collect();
    for number in 0..200_000 {
        let mut round = game.open(&smallest(game), &WITH_GAMBLE).unwrap();
        let mut draws = Draws::from_seed(seed(number));
        let mut out = Outcome::default();
        round.resolve(&Choice::Spin, &mut draws, &mut out).unwrap();
        while out.awaiting != Awaiting::Nothing {
            missing.remove(&format!("{:?}", out.awaiting));
            assert!(awaited.contains(&out.awaiting), "{} awaits {:?}", game.name(), out.awaiting);
            let (chosen, won) = (round.automatic().unwrap(), out.round_win_minor);
            assert_eq!(chosen, by_the_rules(&out));
            round.resolve(&chosen, &mut draws, &mut out).unwrap();
            assert!(out.card.is_none() && out.round_win_minor >= won);
        }
        assert_eq!(round.automatic(), None, "it's over");
        if missing.is_empty() {
            return;
        }
    }
    panic!("{} never waits for {missing:?}", game.name());
}

#[test]
fn pl_03_what_a_round_awaits_is_chosen_by_the_rules_of_its_game_and_nothing_is_risked() {
    for game in games() {
        left_alone(
            *game,
            match game.name() {
                "bewitched" => &[Awaiting::Pick, Awaiting::FreeSpins, Awaiting::Double],
                "dwarf-mine" | "witch-feature" => &[Awaiting::FreeSpins],
                "mystery-elves" => &[Awaiting::Feature, Awaiting::Double],
                "neptune" => &[Awaiting::Pick, Awaiting::FreeSpins],
                other => panic!("add the choices for which {other} waits"),
            },
        );
    }
}

#[test]
fn dm_21_me_20_games_name_the_hours_that_their_rules_name() {
    let hours = |name: &str| latest(name).unwrap().interruption_hours();
    assert_eq!(hours("dwarf-mine"), Some(24));
    assert_eq!(hours("mystery-elves"), Some(120));
    assert_eq!(["bewitched", "neptune", "witch-feature"].map(hours), [None; 3]);
}

#[test]
fn pl_03_a_pick_for_the_player_is_worth_what_any_pick_is() {
    let game = latest("bewitched").unwrap();
    let picked = |number: u64, choice: Option<Choice>| {
        let mut round = game.open(&smallest(game), &WITH_GAMBLE).unwrap();
        let mut out = Outcome::default();
        round.resolve(&Choice::Spin, &mut Draws::from_seed(seed(number)), &mut out).unwrap();
        (out.awaiting == Awaiting::Pick).then(|| {
            let choice = choice.or(round.automatic()).unwrap();
            round.resolve(&choice, &mut Draws::from_seed(seed(number + 1)), &mut out).unwrap();
            out.prize
        })
    };
    let bonuses: Vec<_> = (0..20_000).filter(|number| picked(*number, None).is_some()).take(20).collect();
    assert_eq!(bonuses.len(), 20);
    for number in bonuses {
        assert_eq!(picked(number, None), picked(number, Some(crate::common::pick([4, 1, 3]))));
    }
}
