use crate::common::{Tale, audited, divergence, found, player};
use motherlode_slots::{Awaiting, Outcome, Stake};
use motherlode_state::{Currency, Event, Minor, SettledRound};

const BLUE: usize = 2;
const RED: usize = 3;

fn mine_stake(coin_value_micros: u64) -> Stake {
    Stake { coin_value_micros, lines: 1, coins_per_line: 25, buy_feature: false }
}

fn dig(tale: &mut Tale, coin_micros: u64, blue: i64, red: i64) -> u64 {
    let wish = |outcome: &Outcome| {
        let over = outcome.awaiting == Awaiting::Nothing && outcome.round_win_minor > 0;
        let crystals = |carried: [i64; 12]| (carried[0], carried[1], carried[BLUE], carried[RED]);
        over && outcome.carried.is_some_and(|carried| crystals(carried.0) == (0, 0, blue, red))
    };
    tale.bet_on("dwarf-mine", "dora", mine_stake(coin_micros), wish)
}

fn changed(changes: &[(&str, i64)]) -> Event {
    let changes = changes.iter().map(|(key, value)| ((*key).into(), *value)).collect();
    Event::CollectionChanged { game: "dwarf-mine".into(), scope: "EUR".into(), changes }
}

#[test]
fn mf_b1_pl_04_false_facts_of_a_voided_round_are_found() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.plain_spin("alice");
    tale.plain_spin("alice");
    let settled = SettledRound::recall(round, tale.log.iter().map(|logged| &logged.commit)).unwrap();
    let mut event = voided(round, settled.started.bet, settled.win);
    let Event::RoundVoided { settled: stated, .. } = &mut event else { panic!("a void") };
    *stated = Some(Box::new(settled.clone()));
    tale.write_recalling(player("alice"), vec![event], Some(&settled));
    tale.tend();
    assert_eq!(audited(&tale.log).divergence, None);
    let at = tale.find(|event| matches!(event, Event::RoundVoided { .. }));
    let changes: [fn(&mut SettledRound); 3] =
        [|of| of.win.0 += 1, |of| of.opened_at += 1, |of| std::sync::Arc::make_mut(&mut of.started).bet.0 += 1];
    for change in changes {
        found(&tale, at, |logged| match &mut logged.commit.events[0] {
            Event::RoundVoided { settled: Some(settled), .. } => change(settled),
            other => panic!("{other:?}"),
        });
    }
}

fn voided(round: u64, refund: Minor, win_taken_back: Minor) -> Event {
    let (reason, actor) = ("reel 3 stuck".into(), "support".into());
    Event::RoundVoided {
        round,
        reason,
        actor,
        refund,
        win_taken_back,
        jackpot: motherlode_state::VoidedJackpot::TakenBack,
        settled: None,
    }
}

fn void(tale: &mut Tale, name: &str, round: u64, change: Option<Event>) -> usize {
    let commits = tale.log.iter().map(|logged| &logged.commit).filter(|commit| commit.stream == player(name));
    let settled = SettledRound::recall(round, commits).unwrap();
    let events = [voided(round, settled.started.bet, settled.win)].into_iter().chain(change).collect();
    tale.write_recalling(player(name), events, Some(&settled));
    tale.log.len() - 1
}

fn mine() -> (Tale, usize, usize) {
    let mut tale = Tale::with_players(&["dora"]);
    let gift = dig(&mut tale, 10_000, 0, 3);
    let fourth = dig(&mut tale, 10_000, 0, 4);
    dig(&mut tale, 20_000, 1, 4);
    let first = void(&mut tale, "dora", fourth, Some(changed(&[("red", 3), ("red_micros", 0)])));
    let second = void(&mut tale, "dora", gift, Some(changed(&[("red", 0), ("red_gifted", 0), ("given", 0)])));
    dig(&mut tale, 10_000, 1, 3);
    (tale, first, second)
}

#[test]
fn pl_04_dm_22_sound_voids_of_settled_rounds_are_found_sound() {
    let (tale, ..) = mine();
    let report = audited(&tale.log);
    assert_eq!(report.divergence, None);
    assert!(report.books == tale.books);
    let voids = report.voids.get(Currency::EUR).copied().unwrap();
    assert_eq!((voids.rounds, voids.wins_left), (2, 0));
}

#[test]
fn pl_04_a_void_that_leaves_a_collection_or_takes_too_much_is_found() {
    let (tale, first, second) = mine();
    let kept = found(&tale, first, |logged| _ = logged.commit.events.pop());
    assert_eq!(kept.what, "the outcome changes a collection, but the log has no such change");
    assert_eq!(kept.expected, r#"dwarf-mine "EUR": red 3, red_micros 0"#);
    for other in [changed(&[("red", 3)]), changed(&[("red", 2), ("red_micros", 0)]), changed(&[("blue", 0)])] {
        let otherwise = found(&tale, first, |logged| logged.commit.events[1] = other.clone());
        assert_eq!(otherwise.expected, kept.expected);
    }
    let gift_kept = found(&tale, second, |logged| logged.commit.events[1] = changed(&[("red", 0), ("red_gifted", 0)]));
    assert_eq!(gift_kept.expected, r#"dwarf-mine "EUR": red 0, red_gifted 0, given 0"#);
}

#[test]
fn pl_04_pl_09_a_void_of_another_refund_or_win_is_found_even_when_the_balance_is_put_right() {
    let (tale, first, _) = mine();
    let forged = |refund: i64, win: i64| {
        found(&tale, first, |logged| {
            let Event::RoundVoided { refund: given, win_taken_back, .. } = &mut logged.commit.events[0] else {
                unreachable!()
            };
            given.0 += refund;
            win_taken_back.0 += win;
            logged.balances_after[0].1.0 += refund - win;
        })
    };
    for (refund, win) in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)] {
        let forged = forged(refund, win);
        assert!(forged.what.starts_with("the auditor's books refuse the commit"), "{forged}");
    }
}

#[test]
fn pl_04_a_round_is_voided_once_and_only_one_that_was_played() {
    let (tale, first, second) = mine();
    let Event::RoundVoided { round, .. } = tale.log[first].commit.events[0] else { unreachable!() };
    for number in [round, 77, 0] {
        let found = found(&tale, second, |logged| {
            let Event::RoundVoided { round, .. } = &mut logged.commit.events[0] else { unreachable!() };
            *round = number;
        });
        assert!(found.what.starts_with("the auditor's books refuse the commit"), "{number}: {found}");
    }
}

#[test]
fn pl_04_a_void_that_changes_what_an_open_round_plays_with_is_found() {
    let mut tale = Tale::with_players(&["dora"]);
    let gift = dig(&mut tale, 10_000, 0, 3);
    tale.bet_on("dwarf-mine", "dora", mine_stake(10_000), |outcome| outcome.awaiting == Awaiting::FreeSpins);
    let at = void(&mut tale, "dora", gift, None);
    let found = divergence(&tale.log);
    assert_eq!(
        (found.position, found.what.as_str()),
        (at as u64 + 1, "the void changed saved progress in use by an open round",)
    );
}

#[test]
fn bw_19_pl_04_the_pool_takes_back_what_a_voided_settled_round_had_added() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.plain_spin("alice");
    tale.plain_spin("alice");
    tale.tend();
    void(&mut tale, "alice", round, None);
    tale.tend();
    let report = audited(&tale.log);
    assert_eq!(report.divergence, None);
    let pool = report.books.pool(crate::common::POOL).unwrap();
    assert_eq!(pool.contributions.to_string(), "0.0075");
    let at = tale.find(|event| matches!(event, Event::ContributionTakenBack { .. }));
    let less = found(&tale, at, |logged| {
        for event in &mut logged.commit.events {
            if let Event::ContributionTakenBack { amount, from_increments, .. } = event {
                amount.0 -= 1;
                from_increments.0 -= 1;
            }
        }
    });
    assert!(less.what.starts_with("the auditor's books refuse the commit"), "{less}");
}

#[test]
fn pl_09_pl_04_a_spent_win_is_reported_as_the_houses_loss() {
    let mut tale = Tale::with_players(&["dora"]);
    let round = dig(&mut tale, 2_000_000, 0, 3);
    let (currency, stream) = (Currency::EUR, player("dora"));
    let amount = tale.books.player(&stream).unwrap().balance(currency).unwrap();
    tale.write(stream.clone(), vec![Event::Withdrawn { currency, amount }]);
    let settled = SettledRound::recall(round, tale.log.iter().map(|logged| &logged.commit)).unwrap();
    let taken = settled.win.min(settled.started.bet);
    let change = changed(&[("red", 0), ("red_gifted", 0), ("given", 0)]);
    tale.write_recalling(stream, vec![voided(round, settled.started.bet, taken), change], Some(&settled));
    let report = audited(&tale.log);
    assert_eq!(report.divergence, None);
    let voids = report.voids.get(currency).copied().unwrap_or_default();
    assert_eq!(voids.wins_left, i128::from((settled.win.0 - settled.started.bet.0).max(0)));
    assert_eq!(
        report.books.players_total("acme", currency).0 / 10_000_000,
        i128::from(settled.started.bet.0 - taken.0)
    );
}
