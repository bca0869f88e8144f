//! Mistakes of callers: each is answered with the failure, its cause and the next step, under the documented exit code.

use crate::service::{Service, run, text};
use std::fs;

/// A mistake: the command, the exit code, and words of the failure, its cause and the next step.
struct Mistake {
    command: String,
    code: i32,
    words: Vec<String>,
}

fn mistake(command: impl Into<String>, code: i32, words: &[&str]) -> Mistake {
    Mistake { command: command.into(), code, words: words.iter().map(|word| (*word).to_owned()).collect() }
}

#[test]
fn at_c2_each_mistake_is_answered_with_failure_cause_and_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let open = Service::start(&folder.path().join("open"), None);
    let (address, console) = (&open.address, &open.console);
    let http = format!("http://{address}");
    assert!(run(&format!("play dwarf-mine --auto --target {http}")).status.success());

    // Operators: one token that is good, one that has expired.
    let token = |name: &str, line: &str| {
        let made = text(&run(&format!("token new --out {}", at(name))));
        let digest = made.split('"').find(|word| word.len() == 64).unwrap_or_else(|| panic!("{made}")).to_owned();
        format!("[[operators.credentials]]\nname = \"{name}\"\ntoken_sha256 = \"{digest}\"\nroles = [\"play\"]\n{line}")
    };
    let operators = "[[operators]]\nid = \"demo\"\n".to_owned()
        + &token("good", "")
        + &token("late", "expires = 2020-01-01T00:00:00Z\n");
    fs::write(at("operators.toml"), operators).unwrap();
    fs::write(at("wrong"), "no-such-token").unwrap();
    let closed = Service::start(&folder.path().join("closed"), Some(&folder.path().join("operators.toml")));
    let guarded = format!("--target http://{}", closed.address);

    // A proof, as it is and damaged.
    let proof = String::from_utf8(run(&format!("proof demo/alice/1 --target {http}")).stdout).unwrap();
    let key = text(&run(&format!("key show {}", at("open/proofs.key"))));
    let key = key.split_whitespace().find(|word| word.starts_with("motherlode-")).unwrap().to_owned();
    fs::write(at("proof"), &proof).unwrap();
    fs::write(at("other"), "something else\n").unwrap();
    let other_key = text(&run(&format!("key new example.com/other --out {}", at("other.key"))));
    let other_key = other_key.split_whitespace().find(|word| word.contains("+")).unwrap_or_default().to_owned();

    // A stopped service's folder with one byte changed in its log.
    let damaged = folder.path().join("damaged");
    let service = Service::start(&damaged, None);
    assert!(run(&format!("play dwarf-mine --auto --target http://{}", service.address)).status.success());
    service.stop();
    let segment = fs::read_dir(damaged.join("log/0")).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.filter(|path| path.is_file()).max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[300] ^= 1;
    fs::write(&segment, bytes).unwrap();
    fs::write(at("unknown.toml"), "listne = 3\n").unwrap();

    let play = "play dwarf-mine --auto";
    let mistakes = [
        // Wrong port, scheme and address.
        mistake(
            format!("{play} --target http://{console}"),
            1,
            &["not a gRPC service", "motherlode listens on", "https://"],
        ),
        mistake(
            format!("watch jackpots --target http://{console}"),
            1,
            &["not a gRPC service", "motherlode listens on"],
        ),
        mistake(format!("health --target http://{console}"), 1, &["not a gRPC service", "motherlode listens on"]),
        mistake(format!("loadtest --target http://{console}"), 1, &["not a gRPC service", "motherlode listens on"]),
        mistake(
            format!("{play} --target https://{address}"),
            1,
            &["InvalidContentType", "does not use TLS", "--target http://"],
        ),
        mistake(
            format!("loadtest --target https://{address}"),
            1,
            &["InvalidContentType", "does not use TLS", "--target http://"],
        ),
        mistake(
            format!("{play} --target http://127.0.0.1:1"),
            1,
            &["no service answers", "refused", "motherlode serve --listen"],
        ),
        mistake(format!("{play} --target {address}"), 2, &["must be a URL such as http://"]),
        // Credentials.
        mistake(format!("{play} {guarded}"), 1, &["TOKEN_MISSING", "--token-file"]),
        mistake(format!("{play} {guarded} --token-file {}", at("wrong")), 1, &["TOKEN_UNKNOWN", "Check which file"]),
        mistake(format!("{play} {guarded} --token-file {}", at("late")), 1, &["TOKEN_EXPIRED", "newer token"]),
        mistake(
            format!("rounds close demo/alice/1 --reason x --actor y {guarded} --token-file {}", at("good")),
            1,
            &["ROLE_MISSING", "roles ="],
        ),
        mistake(format!("{play} {guarded} --token-file {}", at("none")), 2, &["none", "No such file"]),
        // Games and rounds.
        mistake(format!("play chess --auto --target {http}"), 1, &["GAME_UNKNOWN", "chess", "ListGames"]),
        mistake("par chess", 2, &["no game chess", "bewitched", "neptune"]),
        mistake(format!("loadtest --game chess --target {http}"), 2, &["no game chess", "bewitched"]),
        mistake(format!("{play} --lines 99 --target {http}"), 1, &["INVALID_STAKE", "GetGame"]),
        mistake(format!("proof demo/alice/99 --target {http}"), 1, &["ROUND_UNKNOWN", "demo/alice/99"]),
        // Folders, files and ports.
        mistake(
            format!("serve --listen 127.0.0.1:0 --no-console --data {}", at("open")),
            1,
            &["in use by another process", "--data"],
        ),
        mistake(
            format!("serve --listen {address} --no-console --data {}", at("fresh")),
            1,
            &["cannot listen", "in use", "--listen"],
        ),
        mistake(format!("serve --config {}", at("none")), 2, &["none", "No such file"]),
        mistake(format!("serve --config {}", at("unknown.toml")), 2, &["unknown.toml", "listne", "expected one of"]),
        mistake(format!("audit {}", at("none")), 2, &["none", "no such folder"]),
        mistake(format!("audit {}", at("damaged")), 1, &["damaged", "position"]),
        // Proofs.
        mistake(format!("verify {} --key {key}", at("none")), 2, &["none", "No such file"]),
        mistake(format!("verify {} --key {key}", at("other")), 2, &["other", "not a"]),
        mistake(format!("verify {} --key {other_key}", at("proof")), 1, &["checkpoint", "NOT PROVEN", "which key"]),
    ];
    let mut faults = vec![];
    for Mistake { command, code, words } in mistakes {
        let output = run(&command);
        let said = text(&output);
        let missing: Vec<_> = words.iter().filter(|word| !said.contains(word.as_str())).collect();
        if output.status.code() != Some(code) || !missing.is_empty() {
            faults.push(format!(
                "{command}\n  exit code {:?} and not {code}, without {missing:?}:\n{said}",
                output.status.code()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    // A proof that was changed anywhere within its records.
    let start = proof.find("extra ").unwrap() + 6;
    let end = start + proof[start..].find('\n').unwrap();
    for place in (start..end - 4).step_by(36) {
        let mut tampered = proof.clone();
        let other = if &proof[place..place + 4] == "AAAA" { "BBBB" } else { "AAAA" };
        tampered.replace_range(place..place + 4, other);
        fs::write(at("tampered"), tampered).unwrap();
        let output = run(&format!("verify {} --key {key}", at("tampered")));
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{place}: {said}");
        assert!(said.contains("Verdict: NOT PROVEN"), "{place}: {said}");
        assert!(!said.contains("underflow") || said.contains("was changed or damaged"), "{place}: {said}");
    }
}
