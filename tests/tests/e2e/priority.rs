//! Commands that run long stand behind a service on the same machine.
#![cfg(target_os = "linux")]

use crate::PROGRAM;
use std::{
    fs,
    process::{Command, Stdio},
    thread,
};

/// The niceness of each thread of a process: the 19th field of `proc_pid_stat(5)`, behind the name, which may have anything in it.
fn niceness(process: u32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nice = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(16)?.parse().ok()
    });
    nice.collect()
}

#[test]
fn uf_03_a_command_that_runs_long_is_nicer_than_a_service_unless_told_otherwise() {
    let own = rustix::process::getpriority_process(None).unwrap();
    for (more, expected) in [(None, 19), (Some("--full-speed"), own)] {
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "neptune", "--rounds", "10_000_000_000", "--threads", "2"]).args(more);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // It has said how nice it is before it starts another thread.
        let found = loop {
            let found = niceness(child.id());
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
