//! Work that stands behind bets: on threads of a lower priority than those that answer (on Linux, sched(7)). Threads that such a thread
//! starts have its priority.

use std::{io, thread};
use tokio::sync::oneshot;

/// The niceness of work that somebody waits for, or that holds what others wait for: such a thread gets a tenth of a processor that
/// another one wants too.
const LOWER: i32 = 10;
/// That of work that lasts as long as a log is long.
const LOWEST: i32 = 19;

/// Lowers the calling thread's priority below that of the threads that answer.
pub fn lower_priority() {
    be_nicer(LOWER);
}

/// Lowers the calling thread's priority as far as it goes: it has a processor while nobody else wants it. Not for what holds a lock that
/// answers wait for.
///
/// A thread that is nice only keeps its processor for a slice of some milliseconds after another one is woken; one of SCHED_IDLE gives it
/// up at once.
pub fn lowest_priority() {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, unix};
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        // What is refused is done without.
        let _ = unix::set_thread_priority_and_policy(unix::thread_native_id(), ThreadPriority::Min, idle);
    }
    be_nicer(LOWEST);
}

fn be_nicer(by: i32) {
    // What is refused is done without.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(by);
    #[cfg(not(target_os = "linux"))]
    let _ = by;
}

/// Does something on a thread of its own, of a lower priority than those that answer, and awaits it. It's done to its end, whether or not
/// somebody still waits.
///
/// # Errors
/// The system gives no thread, or the work panicked.
pub async fn apart<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (done, over) = oneshot::channel();
    let work = move || {
        lower_priority();
        // Whoever waited may have gone.
        let _ = done.send(work());
    };
    thread::Builder::new().name(name.to_owned()).spawn(work)?;
    over.await.map_err(|_| io::Error::other(format!("the thread {name:?} ended in a panic")))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// SCHED_IDLE of sched(7).
    const IDLE: &str = "5";

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    /// The scheduling policy: the 41st field of proc_pid_stat(5).
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
        assert_eq!(lowest.join().unwrap(), (19, IDLE.to_owned()), "and what such a thread starts");
        assert_eq!(niceness(), before, "it's a thread's, not the process's");
        assert_ne!(policy(), IDLE);
    }

    #[tokio::test]
    async fn what_panics_apart_is_an_error() {
        let failed = apart("apart", || panic!("on purpose")).await.map(|(): ()| ()).unwrap_err();
        assert_eq!(failed.to_string(), "the thread \"apart\" ended in a panic");
    }
}
