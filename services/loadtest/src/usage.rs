//! Resources that a process on this machine has used, from /proc (Linux).

use serde::Serialize;
use std::{fs, io};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub cpu_ns: u64,
    pub switches: u64,
    pub resident_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    pub cpu_us_per_round: f64,
    pub switches_per_round: f64,
    pub resident_bytes: u64,
}

impl Usage {
    pub fn for_process(pid: u32) -> io::Result<Self> {
        let (mut cpu_ns, mut switches) = (0, 0);
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = task?.path();
            let Ok(times) = fs::read_to_string(task.join("schedstat")) else { continue };
            cpu_ns += times.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
            switches += figures(&fs::read_to_string(task.join("status"))?, "_ctxt_switches:");
        }
        let resident_bytes = 1024 * figures(&fs::read_to_string(format!("/proc/{pid}/status"))?, "VmRSS:");
        Ok(Self { cpu_ns, switches, resident_bytes })
    }

    #[must_use]
    pub fn cost(self, since: Self, rounds: u64) -> Cost {
        #[allow(clippy::cast_precision_loss, reason = "for display")]
        let a_round = |used: u64| used as f64 / rounds.max(1) as f64;
        Cost {
            cpu_us_per_round: a_round(self.cpu_ns.saturating_sub(since.cpu_ns)) / 1e3,
            switches_per_round: a_round(self.switches.saturating_sub(since.switches)),
            resident_bytes: self.resident_bytes,
        }
    }
}

fn figures(status: &str, name: &str) -> u64 {
    let lines = status.lines().filter_map(|line| line.split_once(name));
    lines.filter_map(|(_, figure)| figure.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn work_shows_in_what_a_process_has_used() {
        let before = Usage::for_process(std::process::id()).unwrap();
        let mut sum = 0_u64;
        let after = loop {
            sum = (0..100_000_u64).fold(sum, |sum, more| std::hint::black_box(sum.wrapping_mul(31).wrapping_add(more)));
            let after = Usage::for_process(std::process::id()).unwrap();
            if after.cpu_ns >= before.cpu_ns + 1_000_000 {
                break after;
            }
        };
        assert!(after.resident_bytes > 1 << 20 && after.switches >= before.switches);
        assert!(after.cost(before, 1_000).cpu_us_per_round >= 1.0);
        assert!(Usage::for_process(u32::MAX).is_err());
    }

    #[test]
    fn both_kinds_of_switches_count() {
        let status = "VmRSS:\t  42 kB\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!([figures(status, "_ctxt_switches:"), figures(status, "VmRSS:")], [12, 42]);
    }
}
