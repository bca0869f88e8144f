use crate::common::*;
use crate::parts::Parts;
use motherlode_state::*;

#[test]
fn bw_16_a_pool_takes_up_several_partitions_each_in_its_own_order() {
    let mut parts = Parts::new(2);
    parts.0[0].play("p0", 1_000, "1", 0); // contributes 0.05
    let (_, hit_at) = parts.0[1].hit("p1", Currency::EUR, 2_000, "1");
    assert!(parts.report(1));
    let awards = parts.0[0].settle_pool();
    assert_eq!((awards.len(), awards[0].partition, awards[0].hit), (1, 1, hit_at));
    assert_eq!(awards[0].increments, nano("0.01"));
    assert_eq!((parts.pool().increments, parts.pool().reserve), (nano("0.05"), nano("0.09")));
    assert_eq!(parts.pay(0), 0, "an award is not paid outside the winner's partition");
    assert_eq!(parts.pay(1), 0, "an award is not paid before the winner's partition has it");
    assert!(parts.mirror(1));
    assert_eq!(parts.pay(1), 1);
    assert_eq!(parts.0[1].balance("p1", Currency::EUR), 100_000_000 - 2_000 + 200_001);
    assert_eq!(parts.interpartition(), Nano::ZERO);
    assert_eq!((parts.report_of(1), parts.mirror_of(1)), (None, None));
}

#[test]
fn bw_17_order_decides_between_partitions_too() {
    let amounts = [[1, 2], [2, 1]].map(|order| {
        let mut parts = Parts::new(3);
        for at in parts.others() {
            parts.0[at].hit(&format!("p{at}"), Currency::EUR, 2_000, "10");
        }
        order.map(|at| {
            assert!(parts.report(at));
            parts.0[0].settle_pool()[0].clone()
        })
    });
    for [first, second] in amounts {
        assert_eq!((first.amount, first.collision), (Minor(2_000_010), false));
        assert_eq!((second.amount, second.collision), (Minor(2_000_010), true));
    }
}

#[test]
fn bw_19_a_void_in_another_partition_takes_its_contribution_back() {
    let mut parts = Parts::new(2);
    let (round, _) = parts.0[1].play("p1", 2_000, "1", 0);
    parts.settle();
    assert_eq!(parts.pool().increments, nano("0.10"));
    parts.0[1].void("p1", round, 2_000, 0).unwrap();
    assert!(parts.report(1));
    assert_eq!(parts.interpartition(), nano("0.10"), "the home partition has it, but the other partition does not yet");
    parts.settle();
    assert_eq!((parts.pool().increments, parts.pool().contributions), (Nano::ZERO, Nano::ZERO));
    let (round, _) = parts.0[1].play("p1", 2_000, "1", 0);
    parts.0[1].hit("p1", Currency::EUR, 2_000, "1");
    parts.settle();
    let reserve = parts.pool().reserve;
    parts.0[1].void("p1", round, 2_000, 0).unwrap();
    parts.settle();
    assert_eq!(parts.pool().reserve.0, reserve.0 - nano("0.10").0);
    assert_eq!(parts.interpartition(), Nano::ZERO);
}

#[test]
fn pl_09_what_is_said_on_one_side_only_is_between_the_partitions() {
    let mut parts = Parts::new(2);
    parts.0[1].play("p1", 2_000, "1", 0);
    let held = |parts: &Parts| [0, 1].map(|at| parts.0[at].books.holding(Account::Interpartition, Currency::EUR));
    assert_eq!(held(&parts), [Nano::ZERO; 2]);
    assert!(parts.report(1));
    assert_eq!(held(&parts), [-nano("0.10"), Nano::ZERO]);
    assert!(parts.step());
    assert_eq!(held(&parts), [-nano("0.10"), Nano::ZERO]);
    assert!(parts.mirror(1));
    assert_eq!(held(&parts), [-nano("0.10"), nano("0.10")]);
    assert_eq!(parts.settle(), 0, "there is nothing left to report or mirror");
}

#[test]
fn bw_20_bets_are_judged_by_the_mirror_of_their_partition() {
    let mut parts = Parts::new(2);
    let suspended = Event::PoolSuspended { reason: "fault".into(), actor: "ops".into() };
    parts.0[0].write(pool_stream(), vec![suspended]);
    parts.0[1].play("p1", 2_000, "1", 0);
    parts.settle();
    assert_eq!(parts.pool().contributions, nano("0.10"), "the bet preceded the mirrored suspension");
    let mirror = parts.0[1].pool();
    assert_eq!((&mirror.status, mirror.mirrors().is_some()), (&PoolStatus::Suspended, true));
    let started = parts.0[1].start("p1", POOL, Currency::EUR, 2_000, "1");
    assert_eq!(started.contribution, None);
    parts.0[0].write(pool_stream(), vec![Event::PoolResumed { actor: "ops".into() }]);
    let next = PoolTerms { contribution_ppm: 10_000, ..terms(2) };
    parts.0[0].write(pool_stream(), vec![Event::PoolTermsChanged { terms: next.clone() }]);
    parts.settle();
    assert_eq!(parts.0[1].pool().terms, terms(1), "the new terms apply from the next cycle on");
    parts.0[1].hit("p1", Currency::EUR, 2_000, "1");
    parts.settle();
    assert_eq!(parts.0[1].pool().terms, next);
}

#[test]
fn bw_20_a_pool_is_retired_when_all_partitions_are_done() {
    let mut parts = Parts::new(3);
    parts.0[0].write(StreamId::pool("heir"), vec![Event::PoolOpened { pool: "heir".into(), terms: terms(1) }]);
    let actor = || "ops".to_owned();
    let started = parts.0[2].start("p2", POOL, Currency::EUR, 2_000, "1");
    parts.0[2].write(player("p2"), vec![Event::RoundStarted(started.into()), step(1, 1, 0)]);
    parts.settle();
    let retire = |parts: &mut Parts| {
        let (increments, reserve) = (parts.pool().increments, parts.pool().reserve);
        let retired = Event::PoolRetired { into: "heir".into(), increments, reserve, actor: actor() };
        parts.0[0].try_write(pool_stream(), vec![retired])
    };
    parts.0[0].write(pool_stream(), vec![Event::PoolSuspended { reason: "closing".into(), actor: actor() }]);
    assert_eq!(retire(&mut parts), Err(Refused::PoolOutstanding), "no partition has confirmed the suspension");
    for at in parts.others() {
        assert!(parts.mirror(at));
        assert_eq!(retire(&mut parts), Err(Refused::PoolOutstanding));
        assert!(parts.report(at));
        assert_eq!(retire(&mut parts), Err(Refused::PoolOutstanding));
    }
    assert!(parts.step() || parts.settle() > 0);
    parts.settle();
    assert_eq!(retire(&mut parts), Err(Refused::PoolOutstanding), "an open round can still hit the jackpot");
    parts.0[2].write(player("p2"), vec![settled(1, 0)]);
    assert_eq!(retire(&mut parts), Err(Refused::PoolOutstanding));
    parts.settle();
    assert_eq!(retire(&mut parts), Ok(()));
    parts.settle();
    let PoolStatus::Retired { into, increments, .. } = &parts.0[1].pool().status else { panic!("not retired") };
    assert_eq!((into.as_str(), *increments), ("heir", nano("0.10")));
    parts.0[2].void("p2", 1, 2_000, 0).unwrap();
    parts.settle();
    assert_eq!((parts.pool().house_funding, parts.interpartition()), (nano("0.10"), Nano::ZERO));
}

#[test]
fn pl_09_a_report_or_mirror_that_is_late_or_repeated_or_out_of_order_is_refused() {
    let mut parts = Parts::new(2);
    parts.0[1].play("p1", 2_000, "1", 0);
    let first = parts.report_of(1).unwrap();
    assert!(parts.report(1));
    let again = parts.0[0].try_write(pool_stream(), vec![first]);
    assert!(matches!(again, Err(Refused::WrongStretch { .. })), "{again:?}");
    assert!(parts.step());
    let first = parts.mirror_of(1).unwrap();
    assert!(parts.mirror(1));
    let again = parts.0[1].try_write(pool_stream(), vec![first.clone()]);
    assert!(matches!(again, Err(Refused::StaleMirror { .. })), "{again:?}");
    assert_eq!(parts.0[0].try_write(pool_stream(), vec![first]), Err(Refused::DecidedAtHome));
    let opened = Event::PoolOpened { pool: POOL.into(), terms: terms(1) };
    assert_eq!(parts.0[1].try_write(pool_stream(), vec![opened]), Err(Refused::DecidedAtHome));
    parts.0[1].play("p1", 2_000, "1", 0);
    let report = parts.report_of(1).unwrap();
    let twice = parts.0[0].try_write(pool_stream(), vec![report.clone(), report]);
    assert_eq!(twice, Err(Refused::SecondDecision));
}

#[test]
fn pl_09_a_spoilt_report_is_refused() {
    let mut parts = Parts::new(2);
    let (round, _) = parts.0[1].play("p1", 2_000, "1", 0);
    parts.settle();
    parts.0[1].void("p1", round, 2_000, 0).unwrap();
    let Some(Event::PartitionReported(void)) = parts.report_of(1) else { panic!("a void waits") };
    let standing = PartitionReported { end: StretchEnd::Standing { open_rounds: 0, mirrored: 0 }, ..*void.clone() };
    let refuse = |report: &PartitionReported, spoil: fn(&mut PartitionReported)| {
        let mut report = report.clone();
        spoil(&mut report);
        parts.0[0].clone().try_write(pool_stream(), vec![Event::PartitionReported(report.into())]).unwrap_err()
    };
    assert!(matches!(refuse(&void, |report| report.from += 1), Refused::WrongStretch { .. }));
    assert!(matches!(refuse(&void, |report| report.partition = 0), Refused::BadReport { .. }));
    assert!(matches!(refuse(&void, |report| report.to += 1), Refused::BadReport { .. }));
    assert!(matches!(refuse(&void, |report| report.contributions.0 = -1), Refused::BadReport { .. }));
    assert!(matches!(refuse(&standing, |report| report.to = report.from - 1), Refused::WrongStretch { .. }));
    let copied_less = refuse(&standing, |_| {});
    assert!(matches!(copied_less, Refused::BadReport { .. }), "{copied_less:?}");
    let spoil = |report: &mut PartitionReported| report.end = StretchEnd::Standing { open_rounds: 0, mirrored: 1_000 };
    assert!(matches!(refuse(&standing, spoil), Refused::BadReport { .. }));
    let spoil = |report: &mut PartitionReported| match &mut report.end {
        StretchEnd::Decision(Decision::TakeBack(void)) => void.contributed_at = void.position,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refuse(&void, spoil), Refused::BadReport { .. }));
    let states_voids = |report: &mut PartitionReported| {
        (report.from, report.to, report.contributions) = (1, 0, Nano::ZERO);
        let (operator, game, rules_version) = ("op".into(), POOL.into(), "1".into());
        let [in_stretch, in_cycle, earlier] = [Nano::ZERO; 3];
        let voids = ReportedVoids { operator, game, rules_version, minute: 1, voids: 1, in_stretch, in_cycle, earlier };
        report.voids = vec![voids];
    };
    let Refused::BadReport { reason } = refuse(&standing, states_voids) else { panic!("a first report has no voids") };
    assert!(reason.contains("first report") && reason.contains("voids"), "{reason}");
    let joins = |report: &mut PartitionReported| (report.partition, report.from) = (7, 1);
    assert!(matches!(refuse(&standing, joins), Refused::WrongStretch { .. }));
}

#[test]
fn pl_09_a_spoilt_mirror_is_refused() {
    let mut parts = Parts::new(2);
    parts.0[1].hit("p1", Currency::EUR, 2_000, "1");
    parts.report(1);
    parts.step();
    let Some(Event::PoolMirrored(mirror)) = parts.mirror_of(1) else { panic!("an award must be mirrored") };
    let refuse = |spoil: fn(&mut PoolMirrored)| {
        let mut mirror = mirror.clone();
        spoil(&mut mirror);
        parts.0[1].clone().try_write(pool_stream(), vec![Event::PoolMirrored(mirror)]).unwrap_err()
    };
    assert!(matches!(refuse(|mirror| mirror.home_position = 1), Refused::StaleMirror { .. }));
    assert!(matches!(refuse(|mirror| mirror.awards.clear()), Refused::NoSuchAward { .. }));
    assert!(matches!(refuse(|mirror| mirror.awards.push(mirror.awards[0].clone())), Refused::NoSuchAward { .. }));
    assert!(matches!(refuse(|mirror| mirror.awards[0].round += 1), Refused::NoSuchAward { .. }));
    assert!(matches!(refuse(|mirror| mirror.awards[0].amount.0 = -1), Refused::NoSuchAward { .. }));
    assert!(matches!(refuse(|mirror| mirror.awards[0].paid.0 = -1), Refused::NoSuchAward { .. }));
    assert!(matches!(refuse(|mirror| mirror.pooled_position += 1), Refused::NotDurable { .. }));
    assert!(matches!(refuse(|mirror| mirror.pooled_position -= 1), Refused::WrongStretch { .. }));
    assert!(matches!(refuse(|mirror| mirror.decided_to -= 1), Refused::NoSuchAward { .. }));
    let undecided = |mirror: &mut PoolMirrored| (mirror.decided_to, mirror.awards) = (0, vec![]);
    let mut twice = parts.clone();
    twice.0[1].play("p1", 2_000, "1", 0);
    let mut mirror = mirror.clone();
    undecided(&mut mirror);
    mirror.pooled_position += 1;
    let refused = twice.0[1].try_write(pool_stream(), vec![Event::PoolMirrored(mirror)]);
    assert!(matches!(refused, Err(Refused::DecisionWaits { .. })), "{refused:?}");
    assert!(matches!(refuse(|mirror| mirror.terms.refresh_ms += 1), Refused::WrongTerms { .. }));
    assert!(matches!(refuse(|mirror| mirror.terms.version = 0), Refused::WrongTerms { .. }));
    let base = |mirror: &mut PoolMirrored| (mirror.terms.version, mirror.terms.base_coin) = (2, CoinValue(1));
    assert!(matches!(refuse(base), Refused::BadTerms { .. }));
}
