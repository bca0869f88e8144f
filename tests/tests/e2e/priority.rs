#![cfg(target_os = "linux")]

use crate::PROGRAM;
use std::{
    fs,
    process::{Command, Stdio},
    thread,
};

/// Returns niceness and scheduling policy of each thread: fields 19 and 41 of `proc_pid_stat(5)`. The function counts
/// fields after the thread's name, because the name may contain any characters.
fn priorities(process: u32) -> Vec<(i32, u32)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let told = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        Some((fields.get(16)?.parse().ok()?, fields.get(38)?.parse().ok()?))
    });
    told.collect()
}

#[test]
fn uf_03_a_command_that_runs_long_stands_behind_a_service_unless_told_otherwise() {
    let own = priorities(std::process::id())[0];
    for (more, expected) in [(None, (19, 5)), (Some("--priority=normal"), own)] {
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "neptune", "--rounds", "10_000_000_000", "--threads", "2"]).args(more);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let found = loop {
            let found = priorities(child.id());
            if found.len() > 1 || child.try_wait().unwrap().is_some() {
                break found;
            }
            thread::yield_now();
        };
        let _ = child.kill();
        child.wait().unwrap();
        assert!(found.len() > 1 && found.iter().all(|of| *of == expected), "{more:?}: {found:?}");
    }
}
