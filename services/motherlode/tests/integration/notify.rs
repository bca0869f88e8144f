use crate::service::PROGRAM;
use std::{
    io::ErrorKind,
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

const SILENCE_MAX: Duration = Duration::from_secs(60);

fn serve(folder: &Path, listen: &str) -> (UnixDatagram, Child) {
    let path = folder.join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(SILENCE_MAX)).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--no-console", "--listen", listen, "--data"]).arg(folder.join("data"));
    command.env("NOTIFY_SOCKET", path).env("WATCHDOG_USEC", "200000").env_remove("WATCHDOG_PID");
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    (manager, child)
}

fn heard(manager: &UnixDatagram) -> Vec<String> {
    let mut bytes = [0; 4096];
    let length = manager.recv(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..length]).lines().map(str::to_owned).collect()
}

#[test]
fn a_service_is_ready_once_it_serves_then_feeds_the_watchdog_and_announces_its_stop() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, mut child) = serve(folder.path(), "127.0.0.1:0");
    let ready = loop {
        match heard(&manager) {
            beat if beat == ["WATCHDOG=1"] => {}
            other => break other,
        }
    };
    assert_eq!(ready, ["READY=1", "STATUS=serving"]);
    for _ in 0..3 {
        assert_eq!(heard(&manager), ["WATCHDOG=1"]);
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    while heard(&manager) != ["STOPPING=1"] {}
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_start_that_is_refused_is_never_ready() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, mut child) = serve(folder.path(), "0.0.0.0:0");
    assert_eq!(child.wait().unwrap().code(), Some(2));
    manager.set_nonblocking(true).unwrap();
    assert_eq!(manager.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
