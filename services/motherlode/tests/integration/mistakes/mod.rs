//! Tests mistakes on the command line. For each mistake, the program must print the failure, its cause and the next step,
//! end with the documented exit code, and change no file.

mod configurations;
mod table;
mod world;

use std::fs;
use world::World;

type Mistake = (&'static str, i32, [&'static str; 3]);

const INTERNAL: [&str; 9] =
    ["panicked", "RUST_BACKTRACE", "Some(", "Err(", "Ok(", "Error {", "kind: ", "Os {", "code: "];

fn fault(world: &World, command: &str, code: i32, words: &[&str]) -> Option<String> {
    let (ended, said) = world.run(command);
    let missing: Vec<_> = words.iter().filter(|word| !said.contains(**word)).collect();
    let internal: Vec<_> = INTERNAL.iter().filter(|word| said.contains(**word)).collect();
    let fine = ended == Some(code) && missing.is_empty() && internal.is_empty();
    (!fine).then(|| {
        format!("{command}\n  exit code {ended:?}, wanted {code}; without {missing:?}, with {internal:?}:\n{said}")
    })
}

#[test]
fn at_c2_each_mistake_is_answered_with_failure_cause_and_next_step() {
    let world = World::make();
    let before = world.content();
    let mut faults = vec![];
    for (command, code, words) in table::MISTAKES {
        faults.extend(fault(&world, command, *code, words));
        let after = world.content();
        let changed = before
            .iter()
            .chain(&after)
            .filter(|(path, bytes)| before.get(*path) != Some(*bytes) || after.get(*path) != Some(*bytes));
        let changed: Vec<_> = changed.map(|(path, _)| path.display().to_string()).collect();
        assert!(changed.is_empty(), "{command}\n  changed {changed:#?}\n{}", faults.join("\n"));
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), table::MISTAKES.len(), faults.join("\n"));

    let proof = &world.proof;
    let start = proof.find("extra ").unwrap() + 6;
    let end = start + proof[start..].find('\n').unwrap();
    for place in (start..end - 4).step_by(36) {
        let mut tampered = proof.clone();
        let other = if &proof[place..place + 4] == "AAAA" { "BBBB" } else { "AAAA" };
        tampered.replace_range(place..place + 4, other);
        fs::write(world.files().join("tampered"), tampered).unwrap();
        let (code, said) = world.run("verify tampered --key @KEY");
        assert_eq!(code, Some(1), "{place}: {said}");
        assert!(said.contains("Verdict: NOT PROVEN"), "{place}: {said}");
        assert!(!said.contains("underflow") || said.contains("was changed or damaged"), "{place}: {said}");
    }
}

#[test]
fn at_c2_each_faulty_configuration_is_answered_with_its_file_key_and_next_step() {
    let world = World::make();
    let mut faults = vec![];
    for (text, words) in configurations::FAULTY {
        fs::write(world.files().join("faulty.toml"), text).unwrap();
        let words = [words, &["faulty.toml", "motherlode config --config"][..]].concat();
        let commands = ["config --config faulty.toml", "serve --data fresh --config faulty.toml"];
        let [checked, served] = commands.map(|command| world.run(command).1);
        if checked != served {
            faults.push(format!("{text}\n  config and serve differ:\n{checked}\n{served}"));
        }
        for command in commands {
            faults.extend(fault(&world, command, 2, &words).map(|fault| format!("{text}\n{fault}")));
            assert!(!world.files().join("fresh").exists(), "{text}");
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
