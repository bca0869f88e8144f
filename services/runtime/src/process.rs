use crate::config::Config;
use rustix::{
    process::getpid,
    system::uname,
    time::{ClockId, clock_gettime},
};
use std::{fs, net::SocketAddr, path::Path, sync::OnceLock, time::Duration};

static COMMIT: OnceLock<&str> = OnceLock::new();

pub fn set_commit(commit: &'static str) {
    let _ = COMMIT.set(commit);
}

#[must_use]
pub fn commit() -> &'static str {
    COMMIT.get().copied().unwrap_or("unknown")
}

/// Returns a name for the process: `host:port`, which a restart does not change, or `host:process id` if the system
/// chooses the port.
#[must_use]
pub fn instance(listen: SocketAddr) -> String {
    let host = uname().nodename().to_string_lossy().into_owned();
    match listen.port() {
        0 => format!("{host}:{}", getpid().as_raw_nonzero()),
        port => format!("{host}:{port}"),
    }
}

#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[must_use]
pub fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Returns the lowest memory limit in bytes of the process's control group (version 2) and its parents.
#[must_use]
pub fn memory_limit() -> Option<u64> {
    limit_in(Path::new("/sys/fs/cgroup"), &fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn limit_in(root: &Path, groups: &str) -> Option<u64> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = root.join(group.trim_start_matches('/'));
    let limits = folder.ancestors().take_while(|folder| folder.starts_with(root));
    limits.filter_map(|folder| fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse().ok()).min()
}

/// Memory reserved per player in `players_in_memory`: twice a player's size, because surplus players stay in memory
/// until their eviction.
const PLAYER_BYTES: u64 = 2 * 1024;
const BASE_BYTES: u64 = 512 << 20;

#[must_use]
pub fn memory_estimate(config: &Config) -> u64 {
    let players = config.limits.players_in_memory as u64;
    BASE_BYTES + players.saturating_mul(PLAYER_BYTES) + config.limits.buffer_bytes_max as u64
}

pub fn warn_of_memory(config: &Config) {
    let (estimate, limit) = (memory_estimate(config), memory_limit().unwrap_or(u64::MAX));
    if limit < estimate {
        let fitting =
            limit.saturating_sub(estimate - config.limits.players_in_memory as u64 * PLAYER_BYTES) / PLAYER_BYTES;
        tracing::warn!(
            limit,
            estimate,
            players_in_memory = config.limits.players_in_memory,
            fitting,
            "the control group's memory limit is below the process's estimated maximum memory, so the kernel may end the process: raise the limit, or lower limits.players_in_memory"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    #[test]
    fn a_process_is_named_by_its_host_and_port() {
        let named = |port| instance(([127, 0, 0, 1], port).into());
        let (host, port) =
            named(50051).rsplit_once(':').map(|(host, port)| (host.to_owned(), port.to_owned())).unwrap();
        assert!(!host.is_empty() && port == "50051");
        assert_eq!(named(0), format!("{host}:{}", std::process::id()));
    }

    #[test]
    fn the_lowest_limit_of_the_groups_above_counts() {
        let root = env::temp_dir().join(format!("motherlode-groups-{}", std::process::id()));
        let write = |folder: &str, text: &str| {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("memory.max"), text).unwrap();
        };
        write("", "max\n");
        write("a", "1000\n");
        write("a/b", "2000\n");
        let limit = |groups: &str| limit_in(&root, groups);
        assert_eq!(limit("0::/a/b\n"), Some(1000));
        assert_eq!(limit("1:name=systemd:/a\n0::/\n"), None, "max means no limit");
        assert_eq!(limit("0::/elsewhere\n"), None);
        assert_eq!(limit("4:memory:/a\n"), None, "version 1");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn memory_is_estimated_by_players_and_buffers() {
        let mut config = Config::default();
        assert_eq!(memory_estimate(&config), 2_048_000_000 + (768 << 20));
        config.limits.players_in_memory = 1_000;
        config.limits.buffer_bytes_max = 1 << 20;
        assert_eq!(memory_estimate(&config), 2_048_000 + (513 << 20));
    }

    #[test]
    fn a_process_has_memory_and_processor_time() {
        assert!(memory_bytes().unwrap() > 1 << 20);
        let before = processor_time();
        let sum = (0..1_000_000_u64).fold(0_u64, |sum, number| sum.wrapping_mul(31).wrapping_add(number));
        assert!(std::hint::black_box(sum) > 0 && processor_time() > before);
    }
}
