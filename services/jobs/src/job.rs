use crate::{
    going::Going,
    work::{Ended, Work},
};
use motherlode_ledger::fields::timestamp;
use motherlode_proto::job::v1::{self as wire, job::State};
use motherlode_runtime::{Clock, Reason, Refusal, Stop, lowest_priority};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    thread,
};

const KEPT_MAX: usize = 16;

pub(crate) struct Job {
    id: u64,
    request_id: String,
    work: Work,
    actor: String,
    start_ms: i64,
    going: Going,
    ended: Mutex<Option<(i64, Ended)>>,
}

#[derive(Clone)]
pub struct Jobs(Arc<JobList>);

struct JobList {
    clock: Clock,
    jobs: Mutex<(VecDeque<Arc<Job>>, u64)>,
}

impl Jobs {
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(JobList { clock, jobs: Mutex::default() }))
    }

    pub async fn run(self, stop: Stop) {
        stop.requested().await;
        self.0.jobs.lock().0.iter().for_each(|job| job.going.stop.store(true, Ordering::Relaxed));
    }

    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        self.0.jobs.lock().0.iter().rev().cloned().collect()
    }

    pub(crate) fn started_by(&self, request_id: &str) -> Option<Arc<Job>> {
        self.all().into_iter().find(|job| job.request_id == request_id)
    }

    /// Fails with JOB_UNDER_WAY if a job of the same kind is running, and with NO_THREAD if no thread can be
    /// created.
    pub(crate) fn start(&self, request_id: &str, actor: String, work: Work) -> Result<Arc<Job>, Refusal> {
        let mut jobs = self.0.jobs.lock();
        let (kept, count) = &mut *jobs;
        if let Some(running) = kept.iter().find(|job| job.ended.lock().is_none() && job.work.is_like(&work)) {
            let message = "a job of this kind is running: wait for it, or cancel it";
            return Err(Refusal::new(Reason::JobUnderWay, message).with("job_id", running.id));
        }
        let job = Arc::new(Job {
            id: *count + 1,
            request_id: request_id.to_owned(),
            work,
            actor,
            start_ms: (self.0.clock)(),
            going: Going::default(),
            ended: Mutex::default(),
        });
        let (of, clock) = (Arc::clone(&job), Arc::clone(&self.0.clock));
        let started = thread::Builder::new().name(format!("job {}", job.id)).spawn(move || of.run(&clock));
        if let Err(error) = started {
            return Err(Refusal::new(Reason::NoThread, error.to_string()));
        }
        *count = job.id;
        if kept.len() == KEPT_MAX
            && let Some(oldest) = kept.iter().position(|job| job.ended.lock().is_some())
        {
            kept.remove(oldest);
        }
        kept.push_back(Arc::clone(&job));
        Ok(job)
    }

    pub(crate) fn cancel(&self, id: u64) -> Option<Arc<Job>> {
        let job = self.all().into_iter().find(|job| job.id == id)?;
        job.going.stop.store(true, Ordering::Relaxed);
        Some(job)
    }
}

impl Job {
    pub(crate) fn is_for(&self, work: &Work) -> bool {
        self.work == *work
    }

    fn run(&self, clock: &Clock) {
        lowest_priority();
        let ended = catch_unwind(AssertUnwindSafe(|| self.work.run(&self.going)));
        let ended = ended.unwrap_or_else(|_| Ended::failed("the job's thread failed: see the process's log"));
        *self.ended.lock() = Some((clock(), ended));
    }

    pub(crate) fn to_wire(&self) -> wire::Job {
        let ended = self.ended.lock();
        let (end_ms, of) = ended.as_ref().map_or((None, None), |(at, of)| (Some(*at), Some(of)));
        wire::Job {
            job_id: self.id,
            state: of.map_or(State::Running, |of| of.state).into(),
            simulation: self.work.simulation(),
            done: self.going.done.load(Ordering::Relaxed),
            total: self.work.total(),
            start_time: Some(timestamp(self.start_ms)),
            end_time: end_ms.map(timestamp),
            actor: self.actor.clone(),
            findings: of.map(|of| of.findings.clone()).unwrap_or_default(),
            figures: of.map(|of| of.figures.clone()).unwrap_or_default(),
            wins: of.map(|of| of.wins.clone()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_slots::latest;

    fn jobs() -> Jobs {
        Jobs::new(Arc::new(|| 1_700_000_000_000))
    }

    fn rounds(rounds: u64) -> Work {
        let asked = wire::Simulation { game: "neptune".into(), rounds, seed: "07".repeat(32), ..Default::default() };
        Work::simulated(&asked).unwrap()
    }

    fn over(job: &Job) -> wire::Job {
        while job.ended.lock().is_none() {
            thread::yield_now();
        }
        job.to_wire()
    }

    #[test]
    fn pl_23_a_simulation_says_how_far_it_is_and_what_it_found() {
        let told = over(&jobs().start("a", "ann".into(), rounds(150_000)).unwrap());
        assert_eq!((told.state(), told.done, told.total), (State::Done, 150_000, 150_000));
        assert_eq!((told.job_id, told.actor.as_str()), (1, "ann"));
        assert_eq!(told.wins.iter().map(|class| class.rounds).sum::<u64>(), 150_000, "each round is in one class");
        let par = latest("neptune").unwrap().par(&rounds(1).stake().unwrap()).unwrap();
        let hits = told.figures.iter().find(|figure| figure.name == "hit_frequency").unwrap();
        assert_eq!(hits.exact, motherlode_slots::par::decimal(&par.hit_frequency, 9));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn uf_03_all_threads_of_a_job_stand_behind_bets() {
        use std::fs;
        let jobs = jobs();
        jobs.0.jobs.lock().1 = 7_700;
        let job = jobs.start("a", String::new(), rounds(100_000_000)).unwrap();
        while job.going.done.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let threads = fs::read_dir("/proc/self/task").unwrap().filter_map(|task| {
            let stat = fs::read_to_string(task.unwrap().path().join("stat")).ok()?;
            let (name, rest) = stat.split_once(" (")?.1.rsplit_once(") ")?;
            let niceness = rest.split(' ').nth(16)?.parse::<i32>().ok()?;
            (name == "job 7701").then_some(niceness)
        });
        let niceness: Vec<_> = threads.collect();
        jobs.cancel(job.id);
        assert!(niceness.len() > 1 && niceness.iter().all(|of| *of == 19), "{niceness:?}");
    }

    #[test]
    fn uf_02_one_of_a_kind_runs_and_the_latest_are_kept() {
        let jobs = jobs();
        let first = jobs.start("first", String::new(), rounds(100_000_000)).unwrap();
        let refused = jobs.start("second", String::new(), rounds(1)).err().unwrap();
        assert_eq!((refused.reason(), refused.metadata("job_id")), (Reason::JobUnderWay, Some("1")));
        jobs.cancel(1).unwrap();
        let told = over(&first);
        assert_eq!(told.state(), State::Cancelled);
        assert!(told.done < told.total && !told.findings.is_empty(), "{told:?}");
        assert!(jobs.cancel(99).is_none());
        for number in 0..20 {
            over(&jobs.start(&format!("more-{number}"), String::new(), rounds(1)).unwrap());
        }
        let kept: Vec<_> = jobs.all().iter().map(|job| job.id).collect();
        assert_eq!(kept, (6..=21).rev().collect::<Vec<_>>(), "the latest first");
        assert!(jobs.started_by("first").is_none() && jobs.started_by("more-19").is_some());
    }
}
