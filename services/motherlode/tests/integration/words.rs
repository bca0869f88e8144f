use crate::service::{PROGRAM, Service, interrupt, run, text};
use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

#[test]
fn at_c3_verify_ends_with_a_verdict_and_the_proof_of_a_stopped_service_is_had_as_the_readme_prints_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let service = Service::start(&data, None);
    assert!(run(&format!("play dwarf-mine --auto --target http://{}", service.address)).status.success());
    service.stop();
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let line = readme.lines().find(|line| line.contains("-- proof ")).unwrap();
    let words = line.split_once("-- ").unwrap().1.split('>').next().unwrap();
    let output = Command::new(PROGRAM).args(words.split_whitespace()).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{words}: {}", text(&output));
    let proof = folder.path().join("round.tlog-proof");
    fs::write(&proof, output.stdout).unwrap();
    let key = text(&run(&format!("key show {}", data.join("proofs.key").display())));
    let key = key.split_whitespace().find(|word| word.starts_with("motherlode-")).unwrap();
    let verified = run(&format!("verify {} --key {key}", proof.display()));
    assert!(verified.status.success(), "{}", text(&verified));
    let last = text(&verified).lines().last().unwrap().to_owned();
    assert!(last.starts_with("Verdict: PROVEN. Round demo/alice/1 is in the log motherlode-"), "{last}");
}

#[test]
fn at_c3_play_without_input_says_that_it_played_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("data"), None);
    let played = run(&format!("play bewitched --target http://{}", service.address));
    assert_eq!(played.status.code(), Some(1), "{}", text(&played));
    assert!(text(&played).contains("no round was played") && text(&played).contains("--auto"), "{}", text(&played));
}

#[test]
fn at_c3_an_interrupted_loadtest_prints_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("data"), None);
    let target = format!("http://{}", service.address);
    let words = ["loadtest", "--rounds", "100000000", "--players", "64", "--format", "json", "--target", &target];
    let child = Command::new(PROGRAM).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let position = || {
        let status = text(&run(&format!("health --target {target}")));
        assert!(!status.is_empty());
        fs::read_dir(folder.path().join("data/log/0"))
            .unwrap()
            .map(|it| it.unwrap().metadata().unwrap().len())
            .sum::<u64>()
    };
    let until = Instant::now() + Duration::from_secs(60);
    let begun = position();
    while position() < begun + 500_000 {
        assert!(Instant::now() < until, "the load test played no rounds");
        std::thread::yield_now();
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let (report, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{report}{said}");
    assert!(report.contains("\"rounds\":") && report.contains("\"books\""), "{report}");
    assert!(said.contains("interrupted: ") && said.contains(" of 100000000 rounds were played"), "{said}");
}
