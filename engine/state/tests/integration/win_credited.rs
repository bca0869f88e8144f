use crate::common::{World, player, settled, step, voided};
use motherlode_state::{Currency, Event, Minor, Refused};

const EUR: Currency = Currency::EUR;

fn credited(round: u64, amount: i64) -> Event {
    Event::WinCredited { round, amount: Minor(amount) }
}

fn gambling() -> (World, u64) {
    let mut world = World::default();
    world.open_account("eve", EUR, 1_000);
    let started = world.start("eve", "mystery-elves", EUR, 100, "0.1");
    let round = started.round;
    world.write(player("eve"), vec![Event::RoundStarted(started.into()), step(round, 1, 51)]);
    assert_eq!(world.balance("eve", EUR), 900);
    (world, round)
}

#[test]
fn me_16_the_half_is_on_the_balance_at_once_and_the_settlement_credits_the_rest() {
    let (mut world, round) = gambling();
    world.write(player("eve"), vec![step(round, 2, 51), credited(round, 26)]);
    assert_eq!(world.balance("eve", EUR), 926);
    world.write(player("eve"), vec![step(round, 3, 51), credited(round, 13)]);
    assert_eq!(world.balance("eve", EUR), 939);
    world.write(player("eve"), vec![step(round, 4, 63), settled(round, 63)]);
    assert_eq!(world.balance("eve", EUR), 963);
}

#[test]
fn me_16_what_is_credited_stays_when_the_rest_is_lost() {
    let (mut world, round) = gambling();
    world.write(player("eve"), vec![step(round, 2, 51), credited(round, 26)]);
    world.write(player("eve"), vec![step(round, 3, 26), settled(round, 26)]);
    assert_eq!(world.balance("eve", EUR), 926);
}

#[test]
fn me_16_pl_04_a_void_takes_back_both() {
    let (mut world, round) = gambling();
    world.write(player("eve"), vec![step(round, 2, 51), credited(round, 26)]);
    assert!(matches!(world.void("eve", round, 100, 0), Err(Refused::WrongAmount { .. })));
    world.void("eve", round, 100, 26).unwrap();
    assert_eq!(world.balance("eve", EUR), 1_000);
    let (mut world, round) = gambling();
    world.write(player("eve"), vec![step(round, 2, 51), credited(round, 26)]);
    world.write(player("eve"), vec![step(round, 3, 76), settled(round, 76)]);
    assert_eq!(world.balance("eve", EUR), 976);
    world.void("eve", round, 100, 76).unwrap();
    assert_eq!(world.balance("eve", EUR), 1_000);
}

#[test]
fn me_16_pl_09_a_void_takes_back_as_far_as_the_balance_goes() {
    let (mut world, round) = gambling();
    world.write(player("eve"), vec![step(round, 2, 51), credited(round, 26)]);
    world.write(player("eve"), vec![Event::Withdrawn { currency: EUR, amount: Minor(926) }]);
    world.write(player("eve"), vec![voided(round, 100, 26)]);
    assert_eq!(world.balance("eve", EUR), 74);
}

#[test]
fn me_16_only_what_an_open_round_has_won_is_credited_and_only_after_a_step() {
    let (mut world, round) = gambling();
    let mut refused = |events| world.try_write(player("eve"), events).unwrap_err();
    let bad = |amount| Refused::BadAmount { amount: Minor(amount) };
    assert_eq!(refused(vec![step(round, 2, 51), credited(round, 52)]), bad(52), "a credit above the win is refused");
    assert_eq!(refused(vec![step(round, 2, 51), credited(round, 0)]), bad(0));
    assert_eq!(refused(vec![step(round, 2, 51), credited(round, -1)]), bad(-1));
    assert_eq!(refused(vec![credited(round, 10)]), Refused::NoSuchRound { round }, "without a step");
    let other = round + 1;
    assert_eq!(refused(vec![step(round, 2, 51), credited(other, 10)]), Refused::NoSuchRound { round: other });
    world.write(player("eve"), vec![step(round, 2, 51), credited(round, 26)]);
    let lost = world.try_write(player("eve"), vec![step(round, 3, 25), settled(round, 25)]);
    assert_eq!(lost.unwrap_err(), bad(25));
    let past = world.try_write(player("eve"), vec![step(round, 3, 51), credited(round, 26)]);
    assert_eq!(past.unwrap_err(), bad(26), "26 and 26 are more than 51");
}
