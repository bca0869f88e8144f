//! Random histories over several partitions, in which the coordinator crashes. The pool's figures must equal those of the
//! same history in a single partition.

use std::collections::BTreeMap;

use crate::common::*;
use crate::parts::{Parts, number};
use motherlode_state::*;
use proptest::prelude::*;

const COINS: [&str; 5] = ["0.01", "0.2", "0.25", "1", "2.5"];
const SEED: i128 = 20_000_000_000_000;

type Op = (u8, usize, u64);

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec((0u8..26, 0usize..4, 0u64..10_000), 1..110)
}

struct History {
    parts: Parts,
    in_mind: Vec<(usize, Event)>,
}

impl History {
    fn new(partitions: u32) -> Self {
        Self { parts: Parts::new(partitions), in_mind: vec![] }
    }

    fn attempt(&mut self, (kind, who, x): Op) {
        let at = who % self.parts.0.len();
        let name = format!("p{at}");
        let actor = || "ops".to_owned();
        let home = &mut self.parts.0[0];
        let _ = match kind {
            0..=5 => return self.play(at, x),
            6 | 7 => return self.go_on(at, x),
            8 | 9 => return self.void(at, x),
            10 => return self.parts.0[at].now_ms += i64::try_from(x / 4).unwrap(),
            11 if x % 3 > 0 => home.try_write(pool_stream(), vec![Event::PoolResumed { actor: actor() }]),
            11 => home.try_write(pool_stream(), vec![Event::PoolSuspended { reason: "test".into(), actor: actor() }]),
            12 if x % 4 == 0 => {
                let version = home.pool().next_terms_version();
                let contribution_ppm = u32::try_from(x).unwrap();
                let next = PoolTerms { contribution_ppm, ..terms(version) };
                home.try_write(pool_stream(), vec![Event::PoolTermsChanged { terms: next }])
            }
            12 | 13 if at > 0 => {
                self.parts.report(at);
                Ok(())
            }
            14 | 15 => {
                self.parts.step();
                Ok(())
            }
            16 | 17 if at > 0 => {
                self.parts.mirror(at);
                Ok(())
            }
            18 => {
                self.parts.pay(at);
                Ok(())
            }
            21 => {
                self.parts.give_back();
                Ok(())
            }
            22 => {
                let now = home.now_ms.max(240_000) / 60_000 * 60_000;
                let minutes = i64::try_from(x % 5).unwrap() + 1;
                let incident = Incident {
                    id: format!("i{}", home.log.len()).into(),
                    operator: if x % 11 == 0 { "other" } else { "acme" }.into(),
                    game: POOL.into(),
                    rules_version: if x % 2 == 0 { "" } else { "1.6" }.into(),
                    from_ms: (now - minutes * 60_000).max(0),
                    until_ms: now + if x % 3 == 0 { 60_000 } else { 0 },
                    reason: "test".into(),
                    actor: actor(),
                };
                home.try_write(pool_stream(), vec![Event::IncidentDeclared(incident.into())])
            }
            23 => {
                let reason = "test".into();
                home.try_write(pool_stream(), vec![Event::HitsReleased { reason, actor: actor() }])
            }
            19 if at > 0 => {
                self.in_mind.extend(self.parts.report_of(at).map(|event| (0, event)));
                self.in_mind.extend(self.parts.mirror_of(at).map(|event| (at, event)));
                Ok(())
            }
            20 if !self.in_mind.is_empty() => {
                let (at, event) = self.in_mind[usize::try_from(x).unwrap() % self.in_mind.len()].clone();
                self.parts.0[at].try_write(pool_stream(), vec![event])
            }
            _ => self.parts.0[at].try_write(
                player(&name),
                vec![Event::Deposited { currency: Currency::EUR, amount: Minor(i64::try_from(x).unwrap()) }],
            ),
        };
    }

    fn play(&mut self, at: usize, x: u64) {
        let (name, coin) = (format!("p{at}"), COINS[usize::try_from(x / 7 % 5).unwrap()]);
        let world = &mut self.parts.0[at];
        let started = world.start(&name, POOL, Currency::EUR, i64::try_from(x).unwrap(), coin);
        let (round, pools) = (started.round, started.contribution.is_some());
        let win = i64::try_from(x % 11 * 20).unwrap();
        let mut events = vec![Event::RoundStarted(started.into()), step(round, 1, win)];
        if pools && x.is_multiple_of(5) {
            events.push(Event::JackpotHit { round, pool: POOL.into() });
        }
        if !x.is_multiple_of(4) {
            events.push(settled(round, win));
        }
        let _ = world.try_write(player(&name), events);
    }

    fn go_on(&mut self, at: usize, x: u64) {
        let stream = player(&format!("p{at}"));
        let world = &mut self.parts.0[at];
        let Some(open) = world.books.player(&stream).unwrap().open_rounds().next() else { return };
        let (round, win) = (open.started.round, i64::try_from(x).unwrap());
        let mut events = vec![step(round, u32::try_from(open.steps.len()).unwrap() + 1, win)];
        if open.started.contribution.is_some() && x.is_multiple_of(3) {
            events.push(Event::JackpotHit { round, pool: POOL.into() });
        }
        if x.is_multiple_of(2) {
            events.push(settled(round, win));
        }
        let _ = world.try_write(stream, events);
    }

    fn void(&mut self, at: usize, x: u64) {
        let stream = player(&format!("p{at}"));
        let world = &mut self.parts.0[at];
        let state = world.books.player(&stream).unwrap();
        let round = 1 + x % (state.rounds_started + 1);
        let facts = match state.open_round(round) {
            Some(open) => Some((open.started.bet, Minor::ZERO)),
            None => SettledRound::recall(round, world.log.iter().filter(|commit| commit.stream == stream))
                .map(|round| (round.started.bet, round.win)),
        };
        let (bet, win) = facts.unwrap_or((Minor(1), Minor(0)));
        let back = win.0.min(state.balance(Currency::EUR).unwrap().0 + bet.0);
        let _ = world.try_write(stream, vec![voided_as(round, bet.0, back, effect(x / 3))]);
    }

    fn under_way(&self) -> i128 {
        let mirrors: Vec<Vec<&PoolMirrored>> = (self.parts.0.iter())
            .map(|world| {
                events(&world.log)
                    .filter_map(|event| if let Event::PoolMirrored(m) = event { Some(&**m) } else { None })
            })
            .map(Iterator::collect)
            .collect();
        let of = |partition: u32| &mirrors[partition as usize];
        let mut sum = 0;
        for event in events(&self.parts.home().log) {
            match event {
                Event::PartitionReported(report) => {
                    let PartitionReported { partition, to, contributions, end, .. } = &**report;
                    let last = of(*partition).last();
                    if last.is_none_or(|mirror| mirror.pooled_position < *to) {
                        sum -= contributions.0;
                    }
                    if let StretchEnd::Decision(Decision::TakeBack(void)) = end
                        && last.is_none_or(|mirror| mirror.decided_to < *to)
                    {
                        sum += void.amount.0;
                    }
                    if let StretchEnd::Decision(Decision::Reversal(reversal)) = end
                        && last.is_none_or(|mirror| mirror.decided_to < *to)
                    {
                        sum -= reversal.amount.0;
                    }
                }
                Event::JackpotAwarded(award) if award.partition > 0 => {
                    let mut mirrored = of(award.partition).iter().flat_map(|mirror| &mirror.awards);
                    if mirrored.all(|mirrored| mirrored.hit != award.hit) {
                        sum += award.paid.0;
                    }
                }
                Event::ContributionsReturned { partition, amount, .. } if *partition > 0 => sum += amount.0,
                _ => {}
            }
        }
        for mirror in mirrors.iter().flatten() {
            sum -= mirror.returns.iter().map(|returned| returned.amount.0).sum::<i128>();
        }
        sum
    }

    fn tell(&self, model: &mut Model) {
        for event in events(&self.parts.home().log) {
            match event {
                Event::ContributionsPooled { partition, from, to, .. } => {
                    let log = &self.parts.0[*partition as usize].log;
                    let stretch = log.iter().filter(|commit| (*from..=*to).contains(&commit.position));
                    stretch.for_each(|commit| model.tell(commit));
                }
                Event::IncidentDeclared(incident) => model.incidents.push((**incident).clone()),
                Event::ContributionsReturned { incident, partition, .. } => model.give_back(incident, *partition),
                _ => {}
            }
        }
    }
}

fn events(log: &[Commit]) -> impl Iterator<Item = &Event> {
    log.iter().flat_map(|commit| &commit.events)
}

type ModelHit = ((StreamId, u64), i128, i128, bool);

#[derive(Debug, Default)]
struct Model {
    k: i128,
    r: i128,
    h: i128,
    contributed: i128,
    paid: i128,
    told: u64,
    last_hit: Option<(u64, i64)>,
    rounds: BTreeMap<(StreamId, u64), (i128, i128, u64)>,
    awards: Vec<(u32, u64, i64)>,
    incidents: Vec<Incident>,
    bets: BTreeMap<(StreamId, u64), (u32, i64)>,
    kept: Vec<(StreamId, u64)>,
    hits: BTreeMap<(u32, u64), ModelHit>,
    returned: i128,
}

impl Model {
    fn tell(&mut self, commit: &Commit) {
        self.told += 1;
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) => {
                    let RoundStarted { round, coin_value, contribution: Some(given), .. } = &**started else {
                        continue;
                    };
                    self.k += given.amount.0;
                    self.contributed += given.amount.0;
                    let round_of = (i128::from(coin_value.0), given.amount.0, self.told);
                    self.rounds.insert((commit.stream.clone(), *round), round_of);
                    let bet = (commit.partition, commit.time_ms);
                    self.bets.insert((commit.stream.clone(), *round), bet);
                }
                Event::JackpotHit { round, .. } => self.hit(commit, *round),
                Event::RoundVoided { round, jackpot: VoidedJackpot::TakenBack, .. } => {
                    self.void(&(commit.stream.clone(), *round));
                }
                Event::RoundVoided { round, jackpot, .. } => {
                    self.keep(&(commit.stream.clone(), *round), *jackpot == VoidedJackpot::Charged);
                }
                Event::JackpotPaid { hit, .. } => self.hits.get_mut(&(commit.partition, *hit)).unwrap().3 = true,
                _ => {}
            }
        }
    }

    fn hit(&mut self, commit: &Commit, round: u64) {
        let (coin, ..) = self.rounds[&(commit.stream.clone(), round)];
        let collision = self.last_hit.is_some_and(|(_, last)| last / 3_000 == commit.time_ms / 3_000);
        let top = if collision { SEED * coin + self.k * 10_000_000 } else { (SEED + self.k) * coin };
        let amount = top / 10_000_000 / 10_000_000;
        let from_house = (SEED * coin / 10_000_000 - self.r).max(0);
        self.r += self.k + from_house - amount * 10_000_000;
        self.h += from_house;
        self.k = 0;
        self.paid += amount * 10_000_000;
        self.last_hit = Some((self.told, commit.time_ms));
        self.awards.push((commit.partition, commit.position, i64::try_from(amount).unwrap()));
        let round = (commit.stream.clone(), round);
        self.hits.insert((commit.partition, commit.position), (round, amount * 10_000_000, from_house, false));
    }

    fn keep(&mut self, round: &(StreamId, u64), charged: bool) {
        if self.rounds.contains_key(round) {
            self.kept.push(round.clone());
        }
        for (_, paid, from_house, is_paid) in self.hits.values().filter(|(of, ..)| of == round) {
            let to_house = if *is_paid { 0 } else { (*from_house).min(*paid) };
            if !is_paid || charged {
                self.paid -= paid;
                self.h -= to_house;
                self.r += paid - to_house;
            }
        }
    }

    fn give_back(&mut self, id: &str, partition: u32) {
        let incident = self.incidents.iter().find(|incident| incident.id == id).unwrap();
        let (from_ms, until_ms, is_ours) = (incident.from_ms, incident.until_ms, incident.operator == "acme");
        let (bets, rounds, last_hit) = (&self.bets, &self.rounds, self.last_hit);
        let due: Vec<_> = self
            .kept
            .extract_if(.., |round| {
                let (of, bet_ms) = bets[round];
                is_ours && of == partition && (from_ms..until_ms).contains(&bet_ms)
            })
            .map(|round| rounds[&round])
            .collect();
        assert!(!due.is_empty(), "there are no contributions to return");
        let amount: i128 = due.iter().map(|(_, amount, _)| amount).sum();
        let in_cycle = due.iter().filter(|(.., told)| last_hit.is_none_or(|(last, _)| *told > last));
        let from_k = in_cycle.map(|(_, amount, _)| amount).sum::<i128>().min(self.k);
        let from_r = (amount - from_k).min(self.r);
        self.k -= from_k;
        self.r -= from_r;
        self.h += amount - from_k - from_r;
        self.contributed -= amount;
        self.returned += amount;
    }

    fn void(&mut self, round: &(StreamId, u64)) {
        let Some(&(_, mut amount, told)) = self.rounds.get(round) else { return };
        self.contributed -= amount;
        if self.last_hit.is_none_or(|(last, _)| told > last) {
            self.k -= amount;
            return;
        }
        let from_reserve = amount.min(self.r);
        self.r -= from_reserve;
        amount -= from_reserve;
        self.h += amount;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bw_16_any_number_of_partitions_comes_to_what_the_decided_order_makes(ops in ops(), partitions in 1u32..5) {
        let mut history = History::new(partitions);
        for op in ops {
            history.attempt(op);
            prop_assert_eq!(history.parts.interpartition().0, history.under_way());
        }
        let resumed = Event::PoolResumed { actor: "ops".into() };
        let _ = history.parts.0[0].try_write(pool_stream(), vec![resumed]);
        history.parts.settle();
        prop_assert_eq!(history.parts.interpartition(), Nano::ZERO);
        prop_assert_eq!(history.under_way(), 0);

        let mut model = Model::default();
        history.tell(&mut model);
        let pool = history.parts.pool();
        let figures = [pool.increments, pool.reserve, pool.house_funding, pool.contributions, pool.paid];
        prop_assert_eq!(figures.map(|figure| figure.0), [model.k, model.r, model.h, model.contributed, model.paid]);
        let awards: Vec<_> = events(&history.parts.home().log).filter_map(|event| match event {
            Event::JackpotAwarded(award) => Some((award.partition, award.hit, award.amount.0)),
            _ => None,
        }).collect();
        prop_assert_eq!(&awards, &model.awards);
        let paid: usize = (history.parts.0.iter())
            .map(|world| events(&world.log).filter(|event| matches!(event, Event::JackpotPaid { .. })).count())
            .sum();
        let mut left = model.hits.len() - paid;
        for ((partition, hit), (round, ..)) in &model.hits {
            let log = &history.parts.0[*partition as usize].log;
            let is_paid = events(log).any(|event| matches!(event, Event::JackpotPaid { hit: of, .. } if of == hit));
            let is_void = history.parts.0.iter().any(|world| {
                world.books.player(&round.0).is_some_and(|player| player.voided_at(round.1).is_some())
            });
            prop_assert!(is_paid || is_void, "each award is paid in the winner's partition, unless its round was voided");
            left -= usize::from(!is_paid);
        }
        prop_assert_eq!(left, 0, "each once");
        let left: i128 = model.kept.iter().map(|round| model.rounds[round].1).sum();
        let sums = history.parts.home().books.voids_not_returned(POOL);
        prop_assert_eq!(sums.values().map(|sum| sum.amount().0).sum::<i128>(), left);

    }

    #[test]
    fn pl_06_each_partition_replays_by_itself(ops in ops(), size in 1usize..9) {
        let mut history = History::new(3);
        ops.into_iter().for_each(|op| history.attempt(op));
        for (at, world) in history.parts.0.iter().enumerate().rev() {
            let (mut books, mut stage, mut room) = (Books::new(), Stage::new(), size);
            for commit in &world.log {
                prop_assert_eq!(commit.partition, number(at));
                if room == 0 || matches!(commit.stream, StreamId::Pool(_)) {
                    books.absorb(std::mem::take(&mut stage));
                    room = size;
                }
                stage.apply_recalling(&books, commit, recall(&world.log, commit).as_ref()).unwrap();
                room -= 1;
            }
            books.absorb(stage);
            prop_assert_eq!(&books, &world.books);
        }
    }
}
