use crate::common::{POOL, Tale, chained, pool, store_partition, terms};
use motherlode_audit::{Divergence, Options, Whole, audit_all};
use motherlode_proto::convert::record::Logged;
use motherlode_slots::Awaiting;
use motherlode_state::*;

const PARTITIONS: u32 = 3;

#[derive(Clone)]
struct Tales(Vec<Tale>);

impl Tales {
    fn new() -> Self {
        let tale = |partition| Tale { partition, now_ms: 1_700_000_000_000, ..Tale::default() };
        let mut tales = Self((0..PARTITIONS).map(tale).collect());
        tales.0[0].write(pool(), vec![Event::PoolOpened { pool: POOL.into(), terms: terms() }]);
        tales.tend();
        for partition in 0..PARTITIONS {
            let currency = Currency::EUR;
            let deposit = Event::Deposited { currency, amount: Minor(100_000_000) };
            for name in [name(partition), waiter(partition)] {
                let events = vec![Event::AccountOpened { currency }, deposit.clone()];
                tales.0[partition as usize].write(crate::common::player(&name), events);
            }
        }
        tales
    }

    fn spin(&mut self, partition: u32) {
        self.0[partition as usize].plain_spin(&name(partition));
    }

    fn wait(&mut self, partition: u32) -> u64 {
        self.0[partition as usize].spin(&waiter(partition), |outcome| outcome.awaiting == Awaiting::Pick)
    }

    fn hit(&mut self, partition: u32) {
        self.0[partition as usize].hit(&name(partition), CoinValue(200_000));
    }

    fn void(&mut self, partition: u32, round: u64) {
        let (reason, actor) = ("reel 3 stuck".into(), "support".into());
        let voided = Event::RoundVoided {
            round,
            reason,
            actor,
            refund: Minor(150),
            win_taken_back: Minor(0),
            jackpot: motherlode_state::VoidedJackpot::TakenBack,
            settled: None,
        };
        self.0[partition as usize].write(crate::common::player(&waiter(partition)), vec![voided]);
    }

    fn set(&mut self, stream: StreamId, event: Event) -> u64 {
        self.0[0].write(stream, vec![event])
    }

    fn copy(&mut self, partition: u32, position: u64, spoil: impl FnOnce(&mut Event)) -> u64 {
        let original = self.0[0].log.iter().find(|logged| logged.commit.position == position);
        let commit = original.unwrap().commit.clone();
        let mut event = commit.events[0].clone();
        spoil(&mut event);
        let there = &mut self.0[partition as usize];
        there.request_id = Some(format!("copy/{position}"));
        there.write(commit.stream, vec![event])
    }

    fn report(&mut self, partition: u32, spoil: impl FnOnce(&mut PartitionReported)) -> u64 {
        let there = &self.0[partition as usize].books;
        let mut report = self.0[0].books.partition_report(POOL, partition, there).expect("something to report");
        spoil(&mut report);
        self.0[0].write(pool(), vec![Event::PartitionReported(report.into())])
    }

    fn mirror(&mut self, partition: u32, spoil: impl FnOnce(&mut PoolMirrored)) -> u64 {
        let there = &self.0[partition as usize].books;
        let mut mirror = self.0[0].books.pool_mirror(POOL, partition, there).expect("something to mirror");
        spoil(&mut mirror);
        self.0[partition as usize].write(pool(), vec![Event::PoolMirrored(mirror.into())])
    }

    fn tend(&mut self) {
        loop {
            let before: usize = self.0.iter().map(|tale| tale.log.len()).sum();
            for partition in 1..PARTITIONS {
                while self.0[0].books.partition_report(POOL, partition, &self.0[partition as usize].books).is_some() {
                    self.report(partition, |_| {});
                }
            }
            self.0[0].tend();
            for partition in 1..PARTITIONS {
                if self.0[0].books.pool_mirror(POOL, partition, &self.0[partition as usize].books).is_some() {
                    self.mirror(partition, |_| {});
                }
                self.0[partition as usize].tend();
            }
            if before == self.0.iter().map(|tale| tale.log.len()).sum::<usize>() {
                return;
            }
        }
    }

    fn of_everything() -> Self {
        let mut tales = Self::new();
        for partition in (0..PARTITIONS).cycle().take(12) {
            tales.spin(partition);
        }
        tales.tend();
        let (source, rate) = ("bank".into(), "0.1".parse().unwrap());
        let rate = tales.set(StreamId::Rates, Event::RateSet { currency: Currency::SEK, rate, source });
        let off = |on| {
            let switch = Switch { operator: "other".into(), ..Switch::default() };
            Event::SwitchSet { switch, on, reason: "test".into(), actor: "ops".into() }
        };
        let (off, on) = (tales.set(StreamId::System, off(false)), tales.set(StreamId::System, off(true)));
        for partition in 1..PARTITIONS {
            for position in [off, rate, on] {
                tales.copy(partition, position, |_| {});
            }
        }
        (0..PARTITIONS).for_each(|partition| tales.hit(partition));
        tales.tend();
        let round = tales.wait(1);
        tales.tend();
        tales.void(1, round);
        tales.wait(2);
        let suspended = Event::PoolSuspended { reason: "test".into(), actor: "ops".into() };
        tales.set(pool(), suspended);
        tales.spin(2);
        tales.tend();
        tales.spin(2);
        tales.set(pool(), Event::PoolResumed { actor: "ops".into() });
        tales.set(pool(), Event::PoolTermsChanged { terms: PoolTerms { version: 2, ..terms() } });
        tales.tend();
        tales.hit(2);
        tales.tend();
        tales
    }

    fn audited(&self) -> Whole {
        audited(&self.0.iter().map(|tale| &tale.log[..]).collect::<Vec<_>>())
    }

    fn found(&self) -> Divergence {
        let whole = self.audited();
        for report in &whole.partitions {
            assert_eq!(report.divergence, None, "each partition alone is sound");
        }
        let found = whole.divergence().expect("a divergence").clone();
        assert_ne!(found.expected, found.found, "{found}");
        found
    }
}

fn name(partition: u32) -> String {
    living("player", partition)
}

fn waiter(partition: u32) -> String {
    living("waiter", partition)
}

fn living(kind: &str, partition: u32) -> String {
    let lives = |name: &String| crate::common::player(name).partition(PARTITIONS) == partition;
    (0..).map(|number| format!("{kind}-{number}")).find(lives).unwrap()
}

fn audited(logs: &[&[Logged]]) -> Whole {
    let folder = tempfile::tempdir().unwrap();
    let options = (0..).zip(logs).map(|(partition, log)| {
        let log_folder = folder.path().join(partition.to_string());
        store_partition(&log_folder, partition, &chained(log));
        Options { log: log_folder, index: None, partition, ..Options::default() }
    });
    audit_all(&options.collect::<Vec<_>>()).unwrap()
}

#[test]
fn pl_09_a_clean_log_of_several_partitions_holds_and_adds_up() {
    let tales = Tales::of_everything();
    let whole = tales.audited();
    assert_eq!(whole.divergence(), None);
    for (report, tale) in whole.partitions.iter().zip(&tales.0) {
        assert!(report.books == tale.books, "partition {}", report.partition);
    }
    let events = || tales.0.iter().flat_map(|tale| &tale.log).flat_map(|logged| &logged.commit.events);
    let rounds = events().filter(|event| matches!(event, Event::RoundStarted(_))).count();
    let paid = events().map(|event| if let Event::JackpotPaid { amount, .. } = event { amount.0 } else { 0 });
    let [returns] = &whole.returns()[..] else { panic!("one game in one currency") };
    assert_eq!((returns.rounds, returns.hits), (rounds as u64, 4));
    assert_eq!(returns.awarded, i128::from(paid.sum::<i64>()));
    assert_eq!(whole.partitions[0].awards[POOL].len(), 4, "home has the pool's awards");
    assert_eq!((whole.voids().get(Currency::EUR).unwrap().rounds, whole.in_transit), (1, Nano::ZERO));
}

#[test]
fn pl_09_what_is_under_way_between_partitions_is_what_their_accounts_hold() {
    let mut tales = Tales::new();
    tales.spin(1);
    tales.tend();
    let round = tales.wait(1);
    tales.hit(1);
    tales.void(1, round);
    let mut seen = vec![];
    let mut check = |tales: &Tales| {
        let whole = tales.audited();
        assert_eq!(whole.divergence(), None);
        seen.push(whole.in_transit);
    };
    for _ in 0..2 {
        tales.report(1, |_| {});
        check(&tales);
        let events = tales.0[0].books.pool_step(POOL).unwrap().unwrap();
        tales.0[0].write(pool(), events);
        check(&tales);
    }
    tales.mirror(1, |_| {});
    check(&tales);
    assert!(seen[0] < Nano::ZERO && seen[1] > Nano::ZERO && seen[2] > seen[1], "{seen:?}");
    assert_eq!(seen.pop(), Some(Nano::ZERO));
}

#[test]
fn a_partition_that_is_behind_holds_unless_something_names_what_it_lacks() {
    let mut tales = Tales::new();
    let reported = tales.0[1].log.len();
    tales.spin(1);
    assert_eq!(tales.audited().divergence(), None, "home is behind");
    let at = tales.report(1, |_| {});
    tales.0[1].log.truncate(reported);
    let found = tales.found();
    assert_eq!((found.partition, found.position), (0, at));
    assert!(found.what.contains("past that partition's end"), "{found}");

    let mut tales = Tales::new();
    tales.spin(1);
    tales.report(1, |_| {});
    tales.0[0].tend();
    let at = tales.mirror(1, |_| {});
    let mut behind = tales.clone();
    behind.0[0].log.pop();
    let found = behind.found();
    assert_eq!((found.partition, found.position), (1, at));
    assert!(found.what.contains("past that partition's end"), "{found}");
}

#[test]
fn pl_09_a_partition_that_is_missing_is_found() {
    let tales = Tales::of_everything();
    let logs: Vec<_> = tales.0.iter().take(2).map(|tale| &tale.log[..]).collect();
    let whole = audited(&logs);
    assert!(whole.divergence().is_some());
    let mut tales = Tales::new();
    tales.0.iter_mut().for_each(|tale| tale.log.retain(|logged| logged.commit.stream == pool()));
    let logs: Vec<_> = tales.0.iter().take(2).map(|tale| &tale.log[..]).collect();
    let found = audited(&logs).divergence().cloned().unwrap();
    assert!(found.what.contains("the pool has a report from a nonexistent partition"), "{found}");
}

#[test]
fn a_player_in_another_partition_is_found() {
    let mut tales = Tales::new();
    let stream = crate::common::player(&name(2));
    let at = tales.0[1].write(stream, vec![Event::AccountOpened { currency: Currency::EUR }]);
    let whole = tales.audited();
    let found = whole.divergence().unwrap();
    assert_eq!((found.partition, found.position, &*found.expected), (1, at, "partition 2"), "{found}");
}

#[test]
fn bw_16_a_report_that_is_not_what_the_partition_says_is_found() {
    let lie = |prepare: fn(&mut Tales), spoil: fn(&mut PartitionReported)| {
        let mut tales = Tales::new();
        tales.spin(1);
        tales.tend();
        prepare(&mut tales);
        let at = tales.report(1, spoil);
        while let Some(events) = tales.0[0].books.pool_step(POOL).unwrap() {
            tales.0[0].write(pool(), events);
        }
        let found = tales.found();
        assert_eq!((found.partition, found.position), (0, at), "{found}");
    };
    let spin = |tales: &mut Tales| {
        tales.spin(1);
        tales.0[0].write(StreamId::System, vec![Event::GeneratorReseeded { key: None }]);
    };
    lie(spin, |report| report.contributions.0 += 1);
    lie(spin, |report| report.contributions.0 = 0);
    lie(spin, |report| report.to -= 1);
    lie(spin, |report| report.end = StretchEnd::Standing { open_rounds: 1, mirrored: mirrored(report) });
    lie(spin, |report| report.end = StretchEnd::Standing { open_rounds: 0, mirrored: mirrored(report) + 1 });
    let hit = |tales: &mut Tales| tales.hit(1);
    let standing = |report: &mut PartitionReported| {
        report.end = StretchEnd::Standing { open_rounds: 0, mirrored: 1_000 };
    };
    lie(hit, |report| hit_of(report).coin_value.0 *= 2);
    lie(hit, |report| hit_of(report).time_ms += 1);
    lie(hit, |report| hit_of(report).round += 1);
    lie(hit, |report| hit_of(report).rate = "1.1".parse().unwrap());
    lie(hit, |report| hit_of(report).stream = crate::common::player("mallory"));
    let void = |tales: &mut Tales| {
        let round = tales.wait(1);
        tales.void(1, round);
    };
    lie(void, |report| void_of(report).amount.0 -= 1);
    lie(void, |report| void_of(report).contributed_at -= 1);
    lie(spin, |report| report.end = StretchEnd::Decision(Decision::Hit(made_up(report))));
    let mut tales = Tales::new();
    tales.hit(1);
    let until = tales.0[0].log.len() as u64;
    let at = tales.report(1, |report| {
        standing(report);
        report.end = StretchEnd::Standing { open_rounds: 0, mirrored: until };
    });
    assert_eq!(tales.found().position, at);
}

fn mirrored(report: &PartitionReported) -> u64 {
    match report.end {
        StretchEnd::Standing { mirrored, .. } => mirrored,
        StretchEnd::Decision(_) => panic!("the report ends with a decision"),
    }
}

fn hit_of(report: &mut PartitionReported) -> &mut Hit {
    match &mut report.end {
        StretchEnd::Decision(Decision::Hit(hit)) => hit,
        other => panic!("{other:?}"),
    }
}

fn void_of(report: &mut PartitionReported) -> &mut TakeBack {
    match &mut report.end {
        StretchEnd::Decision(Decision::TakeBack(void)) => void,
        other => panic!("{other:?}"),
    }
}

fn made_up(report: &PartitionReported) -> Hit {
    let (stream, currency) = (crate::common::player(&name(1)), Currency::EUR);
    let (coin_value, rate) = (CoinValue(200_000), FxRate::ONE);
    Hit { partition: 1, position: report.to, time_ms: 1_700_000_000_000, stream, round: 1, currency, coin_value, rate }
}

#[test]
fn bw_20_a_mirror_that_is_not_what_home_says_is_found() {
    let lie = |prepare: fn(&mut Tales), spoil: fn(&mut PoolMirrored)| {
        let mut tales = Tales::new();
        prepare(&mut tales);
        tales.report(1, |_| {});
        tales.0[0].tend();
        let at = tales.mirror(1, spoil);
        let found = tales.found();
        assert_eq!((found.partition, found.position), (1, at), "{found}");
    };
    let spin = |tales: &mut Tales| tales.spin(1);
    lie(spin, |mirror| mirror.home_position -= 1);
    lie(spin, |mirror| mirror.home_position += 1);
    lie(spin, |mirror| mirror.pooled_position -= 1);
    lie(spin, |mirror| mirror.status = PoolStatus::Suspended);
    lie(spin, |mirror| (mirror.terms.version, mirror.terms.contribution_ppm) = (2, 0));
    let hit = |tales: &mut Tales| tales.hit(1);
    lie(hit, |mirror| mirror.awards[0].amount.0 += 1);
    lie(hit, |mirror| mirror.awards[0].paid.0 += 1);
}

#[test]
fn pl_25_a_copy_that_is_not_what_was_set_at_home_is_found() {
    let rate =
        |rate: &str| Event::RateSet { currency: Currency::SEK, rate: rate.parse().unwrap(), source: "bank".into() };
    let mut tales = Tales::new();
    let first = tales.set(StreamId::Rates, rate("0.1"));
    let second = tales.set(StreamId::Rates, rate("0.2"));
    assert_eq!(tales.audited().divergence(), None, "a partition may be behind");
    let lie = |spoil: &dyn Fn(&mut Tales) -> u64| {
        let mut tales = tales.clone();
        let at = spoil(&mut tales);
        let found = tales.found();
        assert_eq!((found.partition, found.position), (1, at), "{found}");
    };
    lie(&|tales| {
        tales.copy(1, first, |event| {
            if let Event::RateSet { rate, .. } = event {
                *rate = "0.11".parse().unwrap();
            }
        })
    });
    lie(&|tales| tales.copy(1, second, |_| {}));
    lie(&|tales| {
        tales.copy(1, first, |_| {});
        tales.copy(1, first, |_| {})
    });
    lie(&|tales| tales.0[1].write(StreamId::Rates, vec![rate("0.1")]));
    lie(&|tales| {
        tales.0[1].request_id = Some("copy/1000".into());
        tales.0[1].write(StreamId::Rates, vec![rate("0.1")])
    });
}

#[test]
fn pl_09_whatever_is_changed_in_a_report_mirror_or_copy_is_found() {
    let tales = Tales::of_everything();
    let mut changed = 0;
    for (partition, tale) in tales.0.iter().enumerate() {
        for at in 0..tale.log.len() {
            let commit = &tale.log[at].commit;
            let copied = partition > 0 && !matches!(commit.stream, StreamId::Player { .. });
            for spoil in 0..6 {
                let mut spoilt = commit.clone();
                change(&mut spoilt.events[0], spoil, copied);
                if spoilt == *commit {
                    continue;
                }
                let mut logs: Vec<_> = tales.0.iter().map(|tale| tale.log.clone()).collect();
                logs[partition][at].commit = spoilt;
                let logs: Vec<_> = logs.iter().map(|log| &log[..]).collect();
                assert!(audited(&logs).divergence().is_some(), "{partition} {spoil}: {:?}", commit.events[0]);
                changed += 1;
            }
        }
    }
    assert!(changed > 100, "{changed}");
}

fn change(event: &mut Event, spoil: u8, copied: bool) {
    match (event, spoil) {
        (Event::PartitionReported(report), 0) => report.from += 1,
        (Event::PartitionReported(report), 1) => report.to += 1,
        (Event::PartitionReported(report), 2) => report.contributions.0 += 1,
        (Event::PartitionReported(report), 3) => report.partition = 3 - report.partition,
        (Event::PartitionReported(report), spoil) => match (&mut report.end, spoil) {
            (StretchEnd::Standing { open_rounds, .. }, 4) => *open_rounds += 1,
            (StretchEnd::Standing { mirrored, .. }, _) => *mirrored = mirrored.saturating_sub(1),
            (StretchEnd::Decision(Decision::Hit(hit)), 4) => hit.coin_value.0 += 1,
            (StretchEnd::Decision(Decision::Hit(hit)), _) => hit.time_ms += 3_000,
            (StretchEnd::Decision(Decision::Reversal(reversal)), _) => reversal.amount.0 += 1,
            (StretchEnd::Decision(Decision::TakeBack(void)), 4) => void.amount.0 -= 1,
            (StretchEnd::Decision(Decision::TakeBack(void)), _) => void.contributed_at -= 1,
        },
        (Event::PoolMirrored(mirror), 0) => mirror.home_position += 1_000,
        (Event::PoolMirrored(mirror), 1) => mirror.pooled_position = mirror.pooled_position.saturating_sub(1),
        (Event::PoolMirrored(mirror), 2) => mirror.decided_to = mirror.decided_to.saturating_sub(1),
        (Event::PoolMirrored(mirror), 3) => {
            mirror.status = match mirror.status {
                PoolStatus::Active => PoolStatus::Suspended,
                _ => PoolStatus::Active,
            }
        }
        (Event::PoolMirrored(mirror), 4) => mirror.awards.iter_mut().for_each(|award| award.amount.0 += 1),
        (Event::PoolMirrored(mirror), _) => mirror.awards.iter_mut().for_each(|award| award.paid.0 -= 1),
        (Event::RateSet { rate, .. }, 0) if copied => *rate = "0.3".parse().unwrap(),
        (Event::RateSet { source, .. } | Event::SwitchSet { reason: source, .. }, 1) if copied => source.push('!'),
        _ => {}
    }
}
