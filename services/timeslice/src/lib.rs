//! Time slices of threads. The system call has no safe wrapper for ordinary threads, so this crate contains the only unsafe
//! code of the workspace ([decision 019](../../../docs/explanation/decisions/019-short-time-slices.md)).

#![cfg(target_os = "linux")]

use std::{io, time::Duration};

/// The shortest slice that Linux accepts.
pub const SHORT: Duration = Duration::from_micros(100);

/// Requests [`SHORT`] slices for the calling thread and for threads that it creates later (sched_setattr(2)). After
/// that, a thread that wakes up waits less time for this thread's slice to end.
///
/// # Errors
///
/// Fails if the thread has a real-time policy, or a sandbox forbids the call. Linux before 6.12 ignores the request.
pub fn request_short() -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: 0,
        sched_flags: libc::SCHED_FLAG_KEEP_POLICY as u64,
        sched_nice: rustix::process::getpriority_process(None)?,
        sched_priority: 0,
        sched_runtime: SHORT.as_nanos() as u64,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads `size` bytes of `attributes` during the call and keeps no pointer. A thread id of 0
    // means the calling thread.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, thread};

    /// Returns the niceness and the slice in nanoseconds of the calling thread (sched_getattr(2)).
    fn niceness_and_slice() -> (i32, u64) {
        let mut bytes = [0_u8; 48];
        // SAFETY: the kernel writes at most the given number of bytes to `bytes`.
        #[allow(unsafe_code)]
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, bytes.as_mut_ptr(), bytes.len(), 0) };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
        let [nice, slice] = [16, 24].map(|at| bytes[at..at + 8].try_into().unwrap());
        (u64::from_ne_bytes(nice) as u32 as i32, u64::from_ne_bytes(slice))
    }

    fn kernel_has_slices() -> bool {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release.split(['.', '-']).map_while(|part| part.trim().parse::<u32>().ok());
        (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 12)
    }

    #[test]
    fn a_thread_gets_short_slices_and_keeps_its_niceness() {
        let (before, (niceness, slice)) = thread::spawn(|| {
            rustix::process::nice(3).unwrap();
            let before = niceness_and_slice().0;
            request_short().unwrap();
            (before, niceness_and_slice())
        })
        .join()
        .unwrap();
        assert_eq!(niceness, before);
        if kernel_has_slices() {
            assert_eq!(slice, 100_000);
        }
    }
}
