use crate::common::{Tale, audited, chained, change_outcome, divergence, found, options, segments, step, store};
use motherlode_audit::audit;
use motherlode_proto::{convert::record::Logged, round::v1::Outcome};
use motherlode_slots::Awaiting;
use motherlode_state::{Event, Nano, PoolTerms, StreamId, Switch};
use prost::Message;
use std::{fs, sync::Arc};

fn first_step(tale: &Tale) -> usize {
    tale.find(|event| matches!(event, Event::StepResolved(step) if step.win.0 > 0))
}

#[test]
fn pl_06_every_changed_byte_of_an_outcome_is_found() {
    let tale = Tale::of_everything();
    let at = first_step(&tale);
    let bytes = step(&mut tale.log[at].clone()).outcome.len();
    for byte in 0..bytes {
        let found = found(&tale, at, |logged| step(logged).outcome[byte] ^= 1);
        assert!(found.what.starts_with("PL-06"), "{found}");
    }
}

#[test]
fn pl_06_the_field_of_an_outcome_that_differs_is_named() {
    let tale = Tale::of_everything();
    let found = found(&tale, first_step(&tale), |logged| {
        change_outcome(step(logged), |outcome| outcome.spins[0].stops[2] += 1);
    });
    assert!(found.what.ends_with("spin 1, stops"), "{found}");
}

#[test]
fn pl_06_another_seed_or_choice_is_found_in_every_step() {
    let tale = Tale::of_everything();
    let (mut seeds, mut choices) = (0, 0);
    for at in 0..tale.log.len() {
        let events = &tale.log[at].commit.events;
        let Some(resolved) = events.iter().find_map(|event| match event {
            Event::StepResolved(step) => Some(step.clone()),
            _ => None,
        }) else {
            continue;
        };
        if !Outcome::decode(resolved.outcome.as_slice()).unwrap().spins.is_empty() {
            found(&tale, at, |logged| step(logged).seed.as_mut().unwrap()[9] ^= 0x80);
            seeds += 1;
        }
        found(&tale, at, |logged| step(logged).choice.clear());
        choices += 1;
    }
    assert!(seeds > 40 && choices > seeds);
}

#[test]
fn pl_09_a_win_that_is_not_the_outcomes_is_found_even_when_the_books_agree() {
    let tale = Tale::of_everything();
    let at = first_step(&tale);
    let found = found(&tale, at, |logged| {
        step(logged).win.0 += 1;
        for event in &mut logged.commit.events {
            if let Event::RoundSettled { win, .. } = event {
                win.0 += 1;
            }
        }
        logged.balances_after[0].1.0 += 1;
    });
    assert!(found.what.starts_with("the step's win differs"), "{found}");
}

#[test]
fn pl_09_another_balance_is_found() {
    let tale = Tale::of_everything();
    let at = first_step(&tale);
    let changed = found(&tale, at, |logged| logged.balances_after[0].1.0 += 1);
    assert!(changed.what.starts_with("the balances stated in the commit"), "{changed}");
    found(&tale, at, |logged| logged.balances_after.clear());
}

#[test]
fn pl_09_money_from_nowhere_is_found() {
    let tale = Tale::of_everything();
    let deposit = tale.find(|event| matches!(event, Event::Deposited { .. }));
    found(&tale, deposit, |logged| {
        let Event::Deposited { amount, .. } = &mut logged.commit.events[1] else { unreachable!() };
        amount.0 += 100;
    });
}

#[test]
fn bw_02_a_bet_that_is_not_its_coins_is_found_even_when_the_books_agree() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::RoundStarted(_)));
    let found = found(&tale, at, |logged| {
        let Event::RoundStarted(started) = &mut logged.commit.events[0] else { unreachable!() };
        let started = Arc::make_mut(started);
        started.bet.0 -= 50;
        started.contribution.as_mut().unwrap().amount = Nano(5_000_000);
        logged.balances_after[0].1.0 += 50;
    });
    assert!(found.what.starts_with("the bet differs from"), "{found}");
}

#[test]
fn bw_11_a_changed_or_dropped_contribution_is_found() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::RoundStarted(_)));
    let change = |change: fn(&mut Option<motherlode_state::Contribution>)| {
        found(&tale, at, |logged| {
            let Event::RoundStarted(started) = &mut logged.commit.events[0] else { unreachable!() };
            let started = Arc::make_mut(started);
            change(&mut started.contribution);
        })
    };
    let changed = change(|given| given.as_mut().unwrap().amount.0 += 1);
    assert_eq!((changed.expected.as_str(), changed.found.as_str()), ("0.0075 EUR", "0.007500001 EUR"));
    let dropped = change(|given| *given = None);
    assert!(dropped.what.contains("must contribute to the active pool"), "{dropped}");
}

#[test]
fn pl_01_a_model_that_this_program_lacks_stops_the_audit_with_its_name() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::RoundStarted(_)));
    let found = found(&tale, at, |logged| {
        let Event::RoundStarted(started) = &mut logged.commit.events[0] else { unreachable!() };
        let started = Arc::make_mut(started);
        started.model_hash = [0xAB; 32];
    });
    assert!(found.found.contains(&"ab".repeat(32)), "{found}");
}

#[test]
fn bw_15_a_hit_stands_exactly_where_the_outcome_says() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::JackpotHit { .. }));
    let dropped = found(&tale, at, |logged| {
        logged.commit.events.retain(|event| !matches!(event, Event::JackpotHit { .. }));
    });
    assert_eq!(dropped.what, "the outcome hits the jackpot, but the log has no jackpot hit");
    let plain = first_step(&tale);
    let invented = found(&tale, plain, |logged| {
        let hit = Event::JackpotHit { round: step(logged).round, pool: crate::common::POOL.into() };
        logged.commit.events.insert(2, hit);
    });
    assert!(invented.what.starts_with("the log has a jackpot hit"), "{invented}");
}

#[test]
fn pl_02_a_round_is_settled_exactly_when_it_waits_for_nothing() {
    let mut tale = Tale::with_players(&["alice"]);
    tale.plain_spin("alice");
    let open = tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Pick && outcome.round_win_coins == 0);
    let over = tale.log.len() - 2;
    let unsettled = found(&tale, over, |logged| {
        logged.commit.events.retain(|event| !matches!(event, Event::RoundSettled { .. }));
        let win = step(logged).win.0;
        logged.balances_after[0].1.0 -= win;
    });
    assert_eq!(unsettled.what, "the round ended without a settlement");
    let settled = found(&tale, over + 1, |logged| {
        logged.commit.events.push(Event::RoundSettled { round: open, win: motherlode_state::Minor(0) });
    });
    assert!(settled.what.starts_with("the settlement differs"), "{settled}");
}

#[test]
fn bw_16_an_award_that_is_not_the_hits_price_is_found() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::JackpotAwarded(_)));
    let change = |change: fn(&mut motherlode_state::Award)| {
        found(&tale, at, |logged| {
            for event in &mut logged.commit.events {
                if let Event::JackpotAwarded(award) = event {
                    change(award);
                }
            }
        })
    };
    let amount = change(|award| award.amount.0 += 1);
    assert!(amount.what.contains("the award's amount differs from the amount due"), "{amount}");
    change(|award| award.increments.0 += 1);
    change(|award| award.to_reserve.0 -= 1);
    change(|award| award.seed_from_house.0 += 1);
    change(|award| award.cycle += 1);
}

fn renumbered(log: &[Logged]) -> Vec<Logged> {
    let mut heads = std::collections::BTreeMap::new();
    let mut log = log.to_vec();
    for (logged, position) in log.iter_mut().zip(1..) {
        let commit = &mut logged.commit;
        let (version, previous) = heads.get(&commit.stream).copied().unwrap_or((0, 0));
        (commit.position, commit.version, commit.previous) = (position, version + 1, previous);
        heads.insert(commit.stream.clone(), (version + 1, position));
    }
    log
}

#[test]
fn bw_16_a_dropped_award_is_found_at_what_rests_on_it() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::JackpotAwarded(_)));
    let mut log = tale.log.clone();
    log.remove(at);
    let next = |log: &[Logged], from: usize| {
        let speaks = |logged: &Logged| {
            let of_award =
                |event: &Event| matches!(event, Event::JackpotPaid { .. } | Event::ContributionsPooled { .. });
            logged.commit.events.iter().any(of_award)
        };
        (from..log.len()).find(|at| speaks(&log[*at])).unwrap() as u64 + 1
    };
    assert_eq!(divergence(&renumbered(&log)).position, next(&log, at));
    let paid = log.iter().position(|logged| matches!(logged.commit.events[0], Event::JackpotPaid { .. })).unwrap();
    log.remove(paid);
    assert_eq!(divergence(&renumbered(&log)).position, next(&log, at));
}

#[test]
fn bw_17_a_duplicated_award_or_payment_is_found() {
    let tale = Tale::of_everything();
    for wanted in [(|event: &Event| matches!(event, Event::JackpotAwarded(_))) as fn(&Event) -> bool, |event| {
        matches!(event, Event::JackpotPaid { .. })
    }] {
        let at = tale.find(wanted);
        let mut log = tale.log.clone();
        log.insert(at + 1, log[at].clone());
        assert_eq!(divergence(&renumbered(&log)).position, at as u64 + 2);
    }
}

#[test]
fn commits_in_another_order_are_found() {
    let tale = Tale::of_everything();
    let at = first_step(&tale);
    let mut log = tale.log.clone();
    log.swap(at, at + 1);
    assert_eq!(divergence(&log).position, at as u64 + 1, "a moved record names another position");
    let mut log = tale.log.clone();
    log.swap(2, 4);
    assert_eq!(divergence(&renumbered(&log)).position, 3);
}

#[test]
fn the_first_of_several_divergences_is_reported_whichever_stage_finds_it() {
    let tale = Tale::of_everything();
    let steps: Vec<_> = (0..tale.log.len())
        .filter(|at| tale.log[*at].commit.events.iter().any(|event| matches!(event, Event::StepResolved(_))))
        .collect();
    let (early, late) = (steps[3], steps[steps.len() - 2]);
    for (outcome, balance) in [(early, late), (late, early)] {
        let mut log = tale.log.clone();
        step(&mut log[outcome]).outcome[3] ^= 1;
        log[balance].balances_after[0].1.0 += 1;
        assert_eq!(divergence(&log).position, early as u64 + 1);
    }
}

#[test]
fn bw_20_terms_of_a_pool_that_were_changed_after_the_fact_are_found() {
    let tale = Tale::of_everything();
    let mut log = tale.log.clone();
    let Event::PoolOpened { terms, .. } = &mut log[0].commit.events[0] else { unreachable!() };
    *terms = PoolTerms { contribution_ppm: 4_000, ..terms.clone() };
    let first_bet = tale.find(|event| matches!(event, Event::RoundStarted(_)));
    assert_eq!(divergence(&log).position, first_bet as u64 + 1);
}

#[test]
fn pl_30_every_changed_byte_of_the_files_is_found_and_its_place_named() {
    let mut tale = Tale::with_players(&["alice"]);
    for _ in 0..5 {
        tale.plain_spin("alice");
    }
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(&tale.log));
    let files = segments(folder.path());
    for file in &files {
        let clean = fs::read(file).unwrap();
        let used = clean.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        for byte in 0..used {
            let mut bytes = clean.clone();
            bytes[byte] ^= 1 << (byte % 8);
            fs::write(file, &bytes).unwrap();
            let found = audit(&options(folder.path())).unwrap().divergence;
            let found = found.unwrap_or_else(|| panic!("byte {byte} of {} unnoticed", file.display()));
            assert_eq!(found.file.as_deref(), Some(&**file), "byte {byte}");
            assert!(found.offset.unwrap() <= byte as u64, "byte {byte}: {found}");
            assert!((1..=tale.log.len() as u64).contains(&found.position), "byte {byte}: {found}");
        }
        fs::write(file, &clean).unwrap();
    }
}

#[test]
fn pl_25_a_bet_on_what_is_switched_off_is_found() {
    let mut tale = Tale::with_players(&["alice"]);
    let off = |game: &str| {
        let (switch, reason, actor) = (Switch { game: game.into(), ..Switch::default() }, "test".into(), "ann".into());
        Event::SwitchSet { switch, on: false, reason, actor }
    };
    tale.write(StreamId::System, vec![off("neptune")]);
    let at = tale.log.len();
    tale.plain_spin("alice");
    assert_eq!(audited(&tale.log).books.switched_off().count(), 1);
    tale.log[at - 1].commit.events = vec![off("bewitched")];
    let found = divergence(&tale.log);
    assert_eq!(found.position, tale.log[at].commit.position);
    assert!(found.what.contains("game bewitched is switched off"), "{found}");
}
