use crate::{documents::paths, root, sources};
use std::{collections::BTreeSet, fs};

const PREFIXES: [&str; 7] = ["DM", "ME", "NP", "BW", "WF", "PL", "UF"];

const FILES: [&str; 12] = ["css", "html", "js", "md", "mjs", "proto", "py", "rs", "sh", "toml", "ts", "yaml"];

const NOT_IMPLEMENTED: &str = " **Not implemented**: ";

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    number: String,
    is_implemented: bool,
}

/// Parses entries of the form `- **PL-01**: statement. *source.*`, wrapped over several lines.
fn entries(text: &str) -> Result<Vec<Rule>, String> {
    let mut items: Vec<String> = vec![];
    let mut is_open = false;
    for line in text.lines() {
        if line.starts_with("- **") {
            items.push(line.to_owned());
            is_open = true;
        } else if let Some(item) = items.last_mut().filter(|_| is_open && line.starts_with("  ")) {
            *item += " ";
            *item += line.trim();
        } else {
            is_open = false;
        }
    }
    items
        .iter()
        .map(|item| entry(item).ok_or_else(|| format!("not an entry with statement and source: {item}")))
        .collect()
}

fn entry(item: &str) -> Option<Rule> {
    let (number, text) = item.strip_prefix("- **")?.split_once("**: ")?;
    let (text, reason) = text.split_once(NOT_IMPLEMENTED).map_or((text, None), |(text, reason)| (text, Some(reason)));
    let (statement, source) = text.strip_suffix(".*")?.rsplit_once(". *")?;
    let is_whole = ![statement, source].iter().any(|part| part.is_empty() || part.contains('*'));
    let has_reason = reason.is_none_or(|reason| reason.len() > 1 && reason.ends_with('.'));
    (is_whole && has_reason).then(|| Rule { number: number.to_owned(), is_implemented: reason.is_none() })
}

fn numbers(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for prefix in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let number = text.get(at..at + 5).unwrap_or_default();
            let digits = number.get(2..).and_then(|rest| rest.strip_prefix('-')).unwrap_or_default();
            let is_number = digits.len() == 2 && digits.chars().all(|digit| digit.is_ascii_digit());
            let is_apart = !text[..at].ends_with(char::is_alphanumeric)
                && !text[at..].get(5..).unwrap_or_default().starts_with(char::is_alphanumeric);
            if is_number && is_apart {
                found.insert(number);
            }
        }
    }
    found
}

fn carried(name: &str) -> BTreeSet<String> {
    let words: Vec<_> = name.split('_').collect();
    let pairs = words.windows(2).map(|pair| format!("{}-{}", pair[0].to_uppercase(), pair[1]));
    pairs.filter(|number| numbers(number).contains(number.as_str())).collect()
}

fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, text) in sources(&["rs", "py"]) {
        let python = path.extension().is_some_and(|ending| ending == "py");
        let mut marked = false;
        for line in text.lines().map(str::trim_start) {
            let name = |prefix: &str| line.strip_prefix(prefix)?.split('(').next().map(str::to_owned);
            if python {
                names.extend(name("def test_"));
            } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                marked = true;
            } else if let Some(name) = name("fn ").or_else(|| name("async fn ")) {
                names.extend(marked.then_some(name));
                marked = false;
            }
        }
    }
    names
}

fn reference() -> Vec<Rule> {
    entries(&fs::read_to_string(root().join("docs/rules.md")).unwrap()).unwrap()
}

#[test]
fn rules_are_in_order_without_gaps() {
    let rules = reference();
    let mut rest = rules.iter().map(|rule| rule.number.as_str()).peekable();
    for prefix in PREFIXES {
        let mut count = 0;
        while let Some(number) = rest.next_if(|number| number.starts_with(prefix)) {
            count += 1;
            assert_eq!(number, format!("{prefix}-{count:02}"));
        }
        assert!(count > 0, "{prefix} has no rule");
    }
    assert_eq!(rest.next(), None, "unknown prefix, or rule in the wrong part");
}

#[test]
fn every_rule_that_the_project_refers_to_is_in_the_reference() {
    let known: BTreeSet<_> = reference().into_iter().map(|rule| rule.number).collect();
    let mut unknown = BTreeSet::new();
    let mut found = 0;
    for path in paths() {
        if path.extension().is_some_and(|ending| FILES.iter().any(|wanted| ending == *wanted)) {
            let text = fs::read_to_string(root().join(&path)).unwrap();
            let used = numbers(&text);
            found += used.len();
            unknown.extend(
                used.into_iter()
                    .filter(|number| !known.contains(*number))
                    .map(|number| format!("{}: {number}", path.display())),
            );
        }
    }
    for name in test_names() {
        unknown.extend(
            carried(&name)
                .into_iter()
                .filter(|number| !known.contains(number))
                .map(|number| format!("{name}: {number}")),
        );
    }
    assert!(found > 500, "{found} references");
    assert!(unknown.is_empty(), "docs/rules.md lacks rules: {unknown:#?}");
}

#[test]
fn every_rule_is_named_by_a_test() {
    let tested: BTreeSet<_> = test_names().iter().flat_map(|name| carried(name)).collect();
    let (implemented, others): (Vec<_>, Vec<_>) = reference().into_iter().partition(|rule| rule.is_implemented);
    let unnamed: Vec<_> = implemented.into_iter().filter(|rule| !tested.contains(&rule.number)).collect();
    assert!(unnamed.is_empty(), "no test is named for {unnamed:?}");
    let named: Vec<_> = others.into_iter().filter(|rule| tested.contains(&rule.number)).collect();
    assert!(named.is_empty(), "remove the note Not implemented: tests are named for {named:?}");
}

#[test]
fn the_checker_finds_a_missing_rule_and_a_malformed_entry() {
    assert_eq!(
        Vec::from_iter(numbers("PL-07 (BW-10), XPL-08, PL-091, DM-1a, ME-\u{e9}, UF-11")),
        ["BW-10", "PL-07", "UF-11"]
    );
    assert_eq!(Vec::from_iter(carried("bw_16_bw_17_what_is_shown_12_times")), ["BW-16", "BW-17"]);
    let of = |text: &str| {
        entries(text).map(|rules| rules.into_iter().map(|rule| (rule.number, rule.is_implemented)).collect::<Vec<_>>())
    };
    let rules = "# Head\n\n- **DM-01**: A sentence over\n  two lines. *Source 1;\n  source 2.*\n\nText.\n- **DM-02**: Another. *Source.* **Not implemented**: why.\n";
    assert_eq!(of(rules), Ok(vec![("DM-01".to_owned(), true), ("DM-02".to_owned(), false)]));
    for wrong in [
        "- **DM-01**: No source.",
        "- **DM-01** No colon. *Source.*",
        "- **DM-01**: *Source.*",
        "- **DM-01**: A. *S.* Text.",
    ] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}
