use crate::service::run;
use std::fs;

#[test]
fn at_c3_a_replaced_flag_is_answered_with_its_replacement() {
    for (command, replacement) in [
        ("export data --what rounds", "motherlode export rounds data"),
        ("export rounds data --what=rounds", "motherlode export rounds data"),
        ("audit data --full-speed", "--priority normal"),
        ("serve --writes 0", "--write-partitions"),
        ("serve --holds=1", "--read-partitions"),
        ("serve --verify behind", "--verify background"),
        ("serve --verify=behind", "--verify background"),
    ] {
        let refused = run(command);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("was replaced") && said.contains(replacement), "{command}: {said}");
    }
}

#[test]
fn at_c3_a_replaced_key_is_answered_with_its_replacement() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motherlode.toml");
    for (text, replacement) in [
        ("[ledger]\nwrites = [0]", "ledger.write_partitions"),
        ("[ledger]\nholds = [1]", "ledger.read_partitions"),
        ("verify = \"behind\"", "verify = \"background\""),
    ] {
        fs::write(&file, text).unwrap();
        let refused = run(&format!("config --config {}", file.display()));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains("was replaced") && said.contains(replacement), "{text}: {said}");
    }
}
