use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

const WRITE: &str = "MOTHERLODE_WRITE_DIGESTS";

pub type Digests = BTreeMap<String, String>;

#[must_use]
pub fn digest(state: &[u8]) -> String {
    Sha256::digest(state).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Compares digests with a file in `tests/golden`. If the digests differ, the error names `constant`, the version
/// constant in the sources. If `MOTHERLODE_WRITE_DIGESTS` is set, and `version` is higher than in the file or only
/// logs were added, rewrites the file instead.
pub fn check(file: &str, constant: &str, version: u32, digests: &Digests) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(file);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let difference = compare(&text, version, digests);
    let writes = std::env::var_os(WRITE).is_some();
    match difference {
        None => {}
        Some(Difference::Allowed) if writes => fs::write(&path, format(version, digests)).expect("the file is written"),
        Some(Difference::Allowed) => panic!(
            "tests/golden/{file} lacks the digests of {constant} {version} or of a new log: run this test with {WRITE}=1 to write them"
        ),
        Some(Difference::Changed(logs)) => panic!(
            "the serialized state of {logs} differs from tests/golden/{file}, but {constant} is still {version}: the service would load \
             incompatible files of earlier builds. Raise {constant} and run this test with {WRITE}=1 to write the new digests, or undo \
             an unintended change. Existing logs never change: add a new one"
        ),
        Some(Difference::Older { held }) => panic!(
            "{constant} is {version}, but the digests in tests/golden/{file} are of {held}: versions only increase"
        ),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Difference {
    Allowed,
    Changed(String),
    Older { held: u32 },
}

fn compare(text: &str, version: u32, digests: &Digests) -> Option<Difference> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let held: Digests = lines.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect();
    let of: u32 = held.get("version").and_then(|version| version.parse().ok()).unwrap_or_default();
    if of > version {
        return Some(Difference::Older { held: of });
    }
    if of < version {
        return Some(Difference::Allowed);
    }
    let held = held.iter().filter(|(name, _)| *name != "version");
    let changed: Vec<_> = held.filter(|(name, digest)| digests.get(*name) != Some(*digest)).collect();
    if !changed.is_empty() {
        let names: Vec<_> = changed.into_iter().map(|(name, _)| name.as_str()).collect();
        return Some(Difference::Changed(names.join(", ")));
    }
    (format(version, digests) != text).then_some(Difference::Allowed)
}

fn format(version: u32, digests: &Digests) -> String {
    let lines = digests.iter().map(|(name, digest)| format!("{name} {digest}\n"));
    [format!("version {version}\n")].into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(of: &[(&str, &str)]) -> Digests {
        of.iter().map(|(name, state)| ((*name).to_owned(), digest(state.as_bytes()))).collect()
    }

    #[test]
    fn state_version_a_changed_digest_needs_a_raised_version_and_a_new_log_does_not() {
        let before = digests(&[("a", "1"), ("b", "2")]);
        let text = format(4, &before);
        assert_eq!(compare(&text, 4, &before), None);
        let changed = digests(&[("a", "1"), ("b", "3")]);
        assert_eq!(compare(&text, 4, &changed), Some(Difference::Changed("b".to_owned())));
        assert_eq!(compare(&text, 5, &changed), Some(Difference::Allowed));
        assert_eq!(compare(&text, 5, &before), Some(Difference::Allowed), "a raised version is written to the file");
        assert_eq!(compare(&text, 3, &before), Some(Difference::Older { held: 4 }));
        let without = digests(&[("b", "2")]);
        assert_eq!(
            compare(&text, 4, &without),
            Some(Difference::Changed("a".to_owned())),
            "no log is removed from the file"
        );
        let more = digests(&[("a", "1"), ("b", "2"), ("c", "3")]);
        assert_eq!(compare(&text, 4, &more), Some(Difference::Allowed));
        assert_eq!(compare("", 1, &before), Some(Difference::Allowed));
    }
}
