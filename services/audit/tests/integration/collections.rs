use crate::common::{Tale, audited, found, player, step};
use motherlode_proto::convert::record::Logged;
use motherlode_slots::{Awaiting, Card, Choice, Outcome, Stake};
use motherlode_state::{Currency, Event, FxRate, LoggedTerms, Minor, RoundTerms, StreamId};
use prost::Message;
use std::sync::Arc;

const RED: usize = 3;
const RED_MICROS: usize = 7;
const RED_GIFTED: usize = 8;
const GIVEN: usize = 9;

const GIFT: usize = 2;
const FOURTH: usize = 3;
const QUIET: usize = 4;
const FIFTH: usize = 5;
const SERIES: usize = 6;
const OPEN: usize = 7;
const VOID: usize = 8;
const AFTER: usize = 9;

fn mine_stake(coin_value_micros: u64) -> Stake {
    Stake { coin_value_micros, lines: 1, coins_per_line: 25, buy_feature: false }
}

fn elves_stake() -> Stake {
    Stake { coin_value_micros: 100_000, lines: 10, coins_per_line: 1, buy_feature: false }
}

fn carries(outcome: &Outcome, figures: &[(usize, i64)]) -> bool {
    let mut wanted = [0; 12];
    for (place, figure) in figures {
        wanted[*place] = *figure;
    }
    outcome.carried.is_some_and(|carried| carried.0 == wanted)
}

fn mine() -> Tale {
    let mut tale = Tale::with_players(&["dora"]);
    let over = |outcome: &Outcome| outcome.awaiting == Awaiting::Nothing;
    let gift = [(RED, 3), (RED_GIFTED, 3), (GIVEN, 1)];
    tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| over(outcome) && carries(outcome, &gift));
    let fourth = [(RED, 4), (RED_MICROS, 10_000), (RED_GIFTED, 3), (GIVEN, 1)];
    tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| over(outcome) && carries(outcome, &fourth));
    tale.bet_on("dwarf-mine", "dora", mine_stake(20_000), |outcome| over(outcome) && outcome.carried.is_none());
    let fifth = tale.bet_on("dwarf-mine", "dora", mine_stake(20_000), |outcome| {
        outcome.awaiting == Awaiting::FreeSpins && carries(outcome, &[(GIVEN, 1)])
    });
    tale.choose("dora", fifth, Choice::StartFreeSpins, |outcome| {
        over(outcome) && outcome.round_win_minor != 2 * outcome.round_win_coins
    });
    let open = tale.bet_on("dwarf-mine", "dora", mine_stake(40_000), |outcome| {
        outcome.awaiting == Awaiting::FreeSpins && carries(outcome, &[(RED, 1), (RED_MICROS, 40_000), (GIVEN, 1)])
    });
    let (reason, actor) = ("reel 3 stuck".into(), "support".into());
    let voided = Event::RoundVoided {
        round: open,
        reason,
        actor,
        refund: Minor(100),
        win_taken_back: Minor(0),
        jackpot: motherlode_state::VoidedJackpot::TakenBack,
        settled: None,
    };
    tale.write(player("dora"), vec![voided, changed(&[("red", 0), ("red_micros", 0)])]);
    tale.bet_on("dwarf-mine", "dora", mine_stake(40_000), |outcome| over(outcome) && outcome.carried.is_none());
    assert_eq!(tale.log.len(), AFTER + 1);
    tale
}

fn changed(changes: &[(&str, i64)]) -> Event {
    let changes = changes.iter().map(|(key, value)| ((*key).into(), *value)).collect();
    Event::CollectionChanged { game: "dwarf-mine".into(), scope: "EUR".into(), changes }
}

fn is_change(event: &Event) -> bool {
    matches!(event, Event::CollectionChanged { .. })
}

fn replace(logged: &mut Logged, with: Event) {
    *logged.commit.events.iter_mut().find(|event| is_change(event)).unwrap() = with;
}

fn change_terms(logged: &mut Logged, change: impl FnOnce(&mut RoundTerms)) {
    let Event::RoundStarted(started) = &mut logged.commit.events[0] else { unreachable!() };
    let started = Arc::make_mut(started);
    let LoggedTerms::Terms(terms) = &mut started.stake else { unreachable!() };
    change(terms);
}

#[test]
fn the_untouched_log_is_clean() {
    let report = audited(&mine().log);
    assert_eq!(report.divergence, None);
    assert_eq!((report.position, report.voids.get(Currency::EUR).unwrap().rounds), (AFTER as u64 + 1, 1));
}

#[test]
fn pl_04_dm_14_figures_that_the_player_did_not_carry_are_found() {
    let tale = mine();
    let more = found(&tale, FOURTH, |logged| change_terms(logged, |terms| terms.carried[RED] = 4));
    assert_eq!(more.what, "the player's saved progress differs from the progress stated in the round");
    assert!(more.expected.starts_with("[0, 0, 0, 3, 0, 0, 0, 0, 3, 1, 0, 0] of "), "{more}");
    assert!(more.found.starts_with("[0, 0, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0] of "), "{more}");
    for (at, place, figure) in [(GIFT, GIVEN, 1), (QUIET, GIVEN, 0), (AFTER, RED, 1)] {
        let other = found(&tale, at, |logged| change_terms(logged, |terms| terms.carried[place] = figure));
        assert_eq!(other.what, more.what);
    }
}

#[test]
fn mf_d3_dm_14_logs_of_an_older_version_with_a_gift_in_each_currency_stay_valid() {
    let krona: Currency = "SEK".parse().unwrap();
    for sealed in [false, true] {
        let mut tale = if sealed { Tale::sealed(&["dora"]) } else { Tale::with_players(&["dora"]) };
        let rate = Event::RateSet { currency: krona, rate: FxRate::ONE, source: "test".into() };
        tale.write(StreamId::Rates, vec![rate]);
        let deposit = Event::Deposited { currency: krona, amount: Minor(1_000_000) };
        tale.write(player("dora"), vec![Event::AccountOpened { currency: krona }, deposit]);
        tale.version = Some("1.0");
        let over = |outcome: &Outcome| outcome.awaiting == Awaiting::Nothing;
        let gift = [(RED, 3), (RED_GIFTED, 3), (GIVEN, 1)];
        tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| over(outcome) && carries(outcome, &gift));
        tale.currency = Some(krona);
        let second = tale.log.len();
        tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| over(outcome) && carries(outcome, &gift));
        tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| over(outcome) && outcome.carried.is_none());
        tale.version = None;
        tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| over(outcome) && outcome.carried.is_none());
        assert_eq!(audited(&tale.log).divergence, None);
        let more = found(&tale, second, |logged| change_terms(logged, |terms| terms.carried[RED] = 1));
        assert_eq!(more.what, "the player's saved progress differs from the progress stated in the round");
        let again = found(&tale, second + 2, |logged| change_terms(logged, |terms| terms.carried[GIVEN] = 0));
        assert_eq!(again.what, more.what);
    }
}

#[test]
fn pl_01_figures_that_are_too_few_are_found() {
    let few = found(&mine(), FOURTH, |logged| change_terms(logged, |terms| _ = terms.carried.pop()));
    assert!(few.what.starts_with("the round cannot be resolved"), "{few}");
}

#[test]
fn dm_11_dm_14_a_change_of_a_collection_that_is_missing_is_found() {
    let tale = mine();
    for (at, expected) in [
        (GIFT, r#"dwarf-mine "EUR": red 3, red_gifted 3, given 1"#),
        (FOURTH, r#"dwarf-mine "EUR": red 4, red_micros 10000"#),
        (FIFTH, r#"dwarf-mine "EUR": red 0, red_micros 0, red_gifted 0"#),
    ] {
        let missing = found(&tale, at, |logged| logged.commit.events.retain(|event| !is_change(event)));
        assert_eq!(missing.what, "the outcome changes a collection, but the log has no such change");
        assert_eq!((missing.expected.as_str(), missing.found.as_str()), (expected, "no change"));
    }
}

#[test]
fn dm_11_a_change_of_a_collection_that_no_outcome_made_is_found() {
    let tale = mine();
    let gain = || changed(&[("red", 4)]);
    for at in [1, QUIET, SERIES, FOURTH] {
        let extra = found(&tale, at, |logged| {
            let after = logged.commit.events.iter().position(|event| matches!(event, Event::RoundSettled { .. }));
            let end = logged.commit.events.len();
            logged.commit.events.insert(after.unwrap_or(end), gain());
        });
        assert_eq!(extra.what, "the logged change of saved progress differs from the outcome's");
        assert_eq!((extra.expected.as_str(), extra.found.as_str()), ("no change", r#"dwarf-mine "EUR": red 4"#));
    }
}

#[test]
fn dm_11_dm_15_a_change_of_another_value_key_scope_or_game_is_found() {
    let tale = mine();
    let fourth = [("red", 4), ("red_micros", 10_000)];
    let in_another = |game: &str, scope: &str| {
        let Event::CollectionChanged { changes, .. } = changed(&fourth) else { unreachable!() };
        Event::CollectionChanged { game: game.into(), scope: scope.into(), changes }
    };
    for (other, told) in [
        (changed(&[("red", 4), ("red_micros", 20_000)]), r#"dwarf-mine "EUR": red 4, red_micros 20000"#),
        (changed(&[("red", 4)]), r#"dwarf-mine "EUR": red 4"#),
        (changed(&[("blue", 4), ("red_micros", 10_000)]), r#"dwarf-mine "EUR": blue 4, red_micros 10000"#),
        (in_another("dwarf-mine", "USD"), r#"dwarf-mine "USD": red 4, red_micros 10000"#),
        (in_another("witch-feature", "EUR"), r#"witch-feature "EUR": red 4, red_micros 10000"#),
    ] {
        let found = found(&tale, FOURTH, |logged| replace(logged, other));
        assert_eq!(found.what, "the logged change of saved progress differs from the outcome's");
        assert_eq!(found.expected, r#"dwarf-mine "EUR": red 4, red_micros 10000"#);
        assert_eq!(found.found, told);
    }
}

#[test]
fn pl_04_a_void_that_does_not_restore_the_collection_is_found() {
    let tale = mine();
    let kept = found(&tale, VOID, |logged| logged.commit.events.retain(|event| !is_change(event)));
    assert_eq!(kept.expected, r#"dwarf-mine "EUR": red 0, red_micros 0"#);
    assert_eq!(kept.found, "no change");
    let half = found(&tale, VOID, |logged| replace(logged, changed(&[("red", 0)])));
    assert_eq!(half.expected, kept.expected);
    let taken = found(&tale, VOID, |logged| replace(logged, changed(&[("red", 0), ("red_micros", 0), ("given", 0)])));
    assert_eq!(taken.found, r#"dwarf-mine "EUR": red 0, red_micros 0, given 0"#);
    assert_eq!(audited(&tale.log).divergence, None);
    assert!(matches!(tale.log[OPEN].commit.events.as_slice(), [_, _, Event::CollectionChanged { .. }]));
}

fn change_win(logged: &mut Logged, other: i64) {
    let before = std::mem::replace(&mut step(logged).win, Minor(other));
    for event in &mut logged.commit.events {
        if let Event::RoundSettled { win, .. } = event {
            *win = Minor(other);
        }
    }
    logged.balances_after[0].1.0 += other - before.0;
}

#[test]
fn dm_12_pl_09_a_win_at_the_spins_coin_value_is_found_where_a_collections_mean_is_due() {
    let tale = mine();
    let (mut coins, mut minor) = (0, 0);
    let other = found(&tale, SERIES, |logged| {
        let outcome = motherlode_proto::round::v1::Outcome::decode(step(logged).outcome.as_slice()).unwrap();
        (coins, minor) = (outcome.round_win_coins, outcome.round_win_minor);
        change_win(logged, i64::try_from(2 * coins).unwrap());
    });
    assert_eq!(other.what, "the step's win differs from the outcome's win");
    assert_eq!((other.expected, other.found), (minor.to_string(), (2 * coins).to_string()));
}

#[test]
fn me_16_pl_09_a_win_that_is_not_the_gambles_minor_units_is_found() {
    let mut tale = Tale::with_players(&["eve"]);
    tale.double = true;
    let round = tale.bet_on("mystery-elves", "eve", elves_stake(), |outcome| {
        outcome.awaiting == Awaiting::Double && outcome.round_win_coins == 5
    });
    tale.choose("eve", round, Choice::Halve, |_| true);
    tale.choose("eve", round, Choice::Double(Card::RedHeart), |outcome| outcome.card.is_some_and(|turn| !turn.won));
    assert_eq!(audited(&tale.log).divergence, None);
    let last = tale.log.len() - 1;
    let other = found(&tale, last, |logged| change_win(logged, 50));
    assert_eq!(other.what, "the step's win differs from the outcome's win");
    assert_eq!((other.expected.as_str(), other.found.as_str()), ("25", "50"));
}

#[test]
fn me_16_a_credit_that_is_not_the_outcomes_is_found() {
    let mut tale = Tale::with_players(&["eve"]);
    tale.double = true;
    let round = tale.bet_on("mystery-elves", "eve", elves_stake(), |outcome| {
        outcome.awaiting == Awaiting::Double && outcome.round_win_coins == 5
    });
    tale.choose("eve", round, Choice::Halve, |_| true);
    assert_eq!(audited(&tale.log).divergence, None);
    let halved = tale.log.len() - 1;
    let less = found(&tale, halved, |logged| {
        for event in &mut logged.commit.events {
            if let Event::WinCredited { amount, .. } = event {
                assert_eq!(*amount, Minor(25), "half of 50 cents");
                *amount = Minor(24);
            }
        }
        logged.balances_after[0].1.0 -= 1;
    });
    assert_eq!(less.what, "the logged credit of a partial win differs from the credit in the outcome");
    assert_eq!((less.expected.as_str(), less.found.as_str()), ("25", "24"));
    let none = found(&tale, halved, |logged| {
        logged.commit.events.retain(|event| !matches!(event, Event::WinCredited { .. }));
        logged.balances_after[0].1.0 -= 25;
    });
    assert_eq!(none.what, "the outcome credits a part of the win, but the log has no such credit");
    let (reason, actor) = ("reel 3 stuck".into(), "support".into());
    let voided = Event::RoundVoided {
        round,
        reason,
        actor,
        refund: Minor(100),
        win_taken_back: Minor(25),
        jackpot: motherlode_state::VoidedJackpot::TakenBack,
        settled: None,
    };
    tale.write(player("eve"), vec![voided]);
    assert_eq!(audited(&tale.log).divergence, None);
}

#[test]
fn me_14_another_limit_of_the_gamble_than_the_rate_gives_is_found() {
    let mut tale = Tale::with_players(&["eve"]);
    for offered in [false, true] {
        tale.double = offered;
        tale.bet_on("mystery-elves", "eve", elves_stake(), |outcome| outcome.awaiting == Awaiting::Nothing);
    }
    assert_eq!(audited(&tale.log).divergence, None);
    for (at, expected, other) in
        [(2, "0", 1), (3, "12500000", 12_500_001), (3, "12500000", 12_499_999), (3, "12500000", 0)]
    {
        let limit = found(&tale, at, |logged| change_terms(logged, |terms| terms.gamble_max_minor = other));
        assert_eq!(limit.what, "ME-14: the gamble limit is not the EUR limit at the bet's exchange rate");
        assert_eq!((limit.expected.as_str(), limit.found), (expected, other.to_string()));
    }
}
