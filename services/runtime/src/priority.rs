//! Priority and time slices of threads on Linux (sched(7)). New threads inherit both.

use std::{io, thread};
use tokio::sync::oneshot;

/// Niceness of threads whose caller waits for the result.
const LOWER: i32 = 10;
/// Niceness of work whose duration grows with the log's length.
const LOWEST: i32 = 19;

/// Requests short time slices for the calling thread, so that other threads run sooner after they wake up.
pub fn short_slices() {
    #[cfg(target_os = "linux")]
    if let Err(error) = motherlode_timeslice::request_short() {
        tracing::debug!(%error, "failed to set short time slices for a thread");
    }
}

pub fn lower_priority() {
    be_nicer(LOWER);
}

/// Sets SCHED_IDLE: the thread runs only if the processor is otherwise idle. The thread must not hold a lock that calls
/// need.
pub fn lowest_priority() {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, unix};
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let _ = unix::set_thread_priority_and_policy(unix::thread_native_id(), ThreadPriority::Min, idle);
    }
    be_nicer(LOWEST);
}

fn be_nicer(by: i32) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(by);
    #[cfg(not(target_os = "linux"))]
    let _ = by;
}

/// Runs `work` on a thread of lower priority. The work continues if the caller stops waiting.
pub async fn apart<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (done, over) = oneshot::channel();
    let work = move || {
        lower_priority();
        let _ = done.send(work());
    };
    thread::Builder::new().name(name.to_owned()).spawn(work)?;
    over.await.map_err(|_| io::Error::other(format!("the thread {name:?} ended in a panic")))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    const IDLE: &str = "5";

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    fn policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(38).unwrap().to_owned()
    }

    #[tokio::test]
    async fn uf_03_what_is_done_apart_is_nicer_and_what_lasts_the_nicest() {
        let before = niceness();
        assert_eq!(apart("apart", niceness).await.unwrap(), (before + LOWER).min(19));
        let lowest = thread::spawn(|| {
            lowest_priority();
            thread::spawn(|| (niceness(), policy())).join().unwrap()
        });
        assert_eq!(lowest.join().unwrap(), (19, IDLE.to_owned()), "its child threads inherit the priority");
        assert_eq!(niceness(), before, "the process's niceness is unchanged");
        assert_ne!(policy(), IDLE);
    }

    #[tokio::test]
    async fn what_panics_apart_is_an_error() {
        let failed = apart("apart", || panic!("on purpose")).await.map(|(): ()| ()).unwrap_err();
        assert_eq!(failed.to_string(), "the thread \"apart\" ended in a panic");
    }
}
