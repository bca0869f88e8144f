use crate::common::*;
use motherlode_state::*;

#[derive(Clone)]
pub struct Parts(pub Vec<World>);

impl Parts {
    pub fn new(partitions: u32) -> Self {
        let worlds = (0..partitions).map(|partition| World { partition, ..World::default() });
        let mut parts = Self(worlds.collect());
        parts.0[0].write(pool_stream(), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
        parts.settle();
        for (at, world) in parts.0.iter_mut().enumerate() {
            world.open_account(&format!("p{at}"), Currency::EUR, 100_000_000);
        }
        parts
    }

    pub fn home(&self) -> &World {
        &self.0[0]
    }

    pub fn pool(&self) -> &PoolState {
        self.home().pool()
    }

    pub fn others(&self) -> std::ops::Range<usize> {
        1..self.0.len()
    }

    pub fn report_of(&self, at: usize) -> Option<Event> {
        let report = self.home().books.partition_report(POOL, number(at), &self.0[at].books);
        report.map(|report| Event::PartitionReported(report.into()))
    }

    pub fn mirror_of(&self, at: usize) -> Option<Event> {
        self.home()
            .books
            .pool_mirror(POOL, number(at), &self.0[at].books)
            .map(|mirror| Event::PoolMirrored(mirror.into()))
    }

    pub fn report(&mut self, at: usize) -> bool {
        let report = self.report_of(at);
        report.map(|report| self.0[0].write(pool_stream(), vec![report])).is_some()
    }

    pub fn mirror(&mut self, at: usize) -> bool {
        let mirror = self.mirror_of(at);
        mirror.map(|mirror| self.0[at].write(pool_stream(), vec![mirror])).is_some()
    }

    pub fn step(&mut self) -> bool {
        let events = self.home().books.pool_step(POOL).unwrap();
        events.map(|events| self.0[0].write(pool_stream(), events)).is_some()
    }

    pub fn give_back(&mut self) -> bool {
        let returned = self.home().books.pool_return(POOL);
        returned.map(|returned| self.0[0].write(pool_stream(), vec![returned])).is_some()
    }

    pub fn pay(&mut self, at: usize) -> usize {
        let world = &mut self.0[at];
        let unpaid = world.books.unpaid_awards().map(|(_, hit, award)| (hit, award.clone())).collect::<Vec<_>>();
        for (hit, award) in &unpaid {
            let UnpaidAward { stream, round, amount, currency, .. } = award.clone();
            let event = Event::JackpotPaid { round, pool: POOL.into(), hit: *hit, amount, currency };
            world.write(stream, vec![event]);
        }
        unpaid.len()
    }

    pub fn settle(&mut self) -> usize {
        let commits = |parts: &Self| parts.0.iter().map(|world| world.log.len()).sum::<usize>();
        let before = commits(self);
        loop {
            let begun = commits(self);
            assert!(begun < before + 10_000, "reports and mirrors do not end");
            for at in self.others() {
                while self.report(at) {}
            }
            while self.step() {}
            while self.give_back() {}
            for at in self.others() {
                self.mirror(at);
            }
            (0..self.0.len()).for_each(|at| {
                self.pay(at);
            });
            if commits(self) == begun {
                return begun - before;
            }
        }
    }

    pub fn interpartition(&self) -> Nano {
        Nano(self.0.iter().map(|world| world.books.holding(Account::Interpartition, Currency::EUR).0).sum())
    }
}

pub fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap()
}
