//! Plays rounds with arbitrary stakes, seeds and choices. A refused choice must change nothing, every round must end, and a
//! replay must give the same outcomes.
#![cfg_attr(feature = "libfuzzer", no_main)]

use arbitrary::{Result, Unstructured};
use motherlode_fuzz::fuzz_target;
use motherlode_proto::{
    convert::{outcome::write_outcome, play},
    round::v1,
};
use motherlode_slots::{Awaiting, Carried, Choice, Draws, Game, Outcome, Picked, Seed, Stake, Terms, games};
use prost::Message;

const STEPS_MAX: usize = 400;

fn choice(choose: &mut Unstructured<'_>, rule: Option<Choice>) -> Result<Choice> {
    if choose.ratio(2, 3)?
        && let Some(rule) = rule
    {
        return Ok(rule);
    }
    Ok(match choose.int_in_range(0..=6u8)? {
        0 => Choice::Spin,
        1 => Choice::StartFreeSpins,
        2 => Choice::StartFeature,
        3 => Choice::Halve,
        4 => Choice::Collect,
        5 => {
            let many = usize::from(choose.int_in_range(0..=5u8)?).min(choose.len());
            let picked = choose.bytes(many)?.to_vec();
            Choice::Pick(Picked::new(&picked.iter().map(|byte| byte % 24).collect::<Vec<_>>()).unwrap_or_default())
        }
        _ => {
            let (rank, suit) = (choose.arbitrary::<u8>()?, choose.arbitrary::<u8>()?);
            let wire = v1::Choice::decode(&[0x2a, 4, 8, rank & 0x7f, 16, suit & 0x7f][..]).unwrap_or_default();
            play::choice_from_wire(&wire).unwrap_or(Choice::Spin)
        }
    })
}

fn run(choose: &mut Unstructured<'_>) -> Result<()> {
    let game: &'static dyn Game = *choose.choose(games())?;
    let limits = &game.info().limits;
    let (lines, coins) = (limits.lines, limits.coins_per_line);
    let stake = Stake {
        coin_value_micros: *choose.choose(&limits.coin_values_micros)?,
        lines: choose.int_in_range(lines.0.saturating_sub(1)..=lines.1 + 1)?,
        coins_per_line: choose.int_in_range(coins.0.saturating_sub(1)..=coins.1 + 1)?,
        buy_feature: choose.arbitrary()?,
    };
    let terms = Terms {
        jackpot: choose.arbitrary()?,
        double: choose.arbitrary()?,
        minor_micros: *choose.choose(&[10_000, 1_000_000, 1_000])?,
        gamble_max_minor: *choose.choose(&[0, 1, 100_000, 10_000_000, u64::from(u32::MAX)])?,
        carried: Carried::default(),
    };
    assert_eq!(game.check_stake(&stake).is_ok(), game.open(&stake, &terms).is_ok());
    let (Ok(mut round), Ok(mut again)) = (game.open(&stake, &terms), game.open(&stake, &terms)) else { return Ok(()) };
    let (mut out, mut second) = (Outcome::default(), Outcome::default());
    for _ in 0..STEPS_MAX {
        let before = round.awaiting();
        if before == Awaiting::Nothing {
            break;
        }
        let rule = if before == Awaiting::Spin { Some(Choice::Spin) } else { round.automatic() };
        let given = if choose.is_empty() { rule.unwrap_or(Choice::Collect) } else { choice(choose, rule)? };
        let seed: Seed = std::array::from_fn(|_| choose.arbitrary().unwrap_or(7));
        let done = round.resolve(&given, &mut Draws::from_seed(seed), &mut out);
        let done_again = again.resolve(&given, &mut Draws::from_seed(seed), &mut second);
        assert_eq!(done, done_again);
        match done {
            Err(_) => {
                assert_eq!(round.awaiting(), before, "a refused choice changed the round");
                assert!(rule != Some(given), "a choice made by the game's rule was refused");
            }
            Ok(()) => {
                let (mut one, mut other) = (vec![], vec![]);
                write_outcome(game, &out, &mut one);
                write_outcome(game, &second, &mut other);
                assert_eq!(one, other);
                v1::Outcome::decode(&one[..]).expect("an encoded outcome can be decoded");
            }
        }
    }
    assert!(!choose.is_empty() || round.awaiting() == Awaiting::Nothing, "the round does not end");
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(&mut Unstructured::new(bytes));
});
