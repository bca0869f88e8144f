//! Phrases that make technical English hard to read stay below ceilings that eight well-regarded codebases keep.

use crate::root;
use fancy_regex::Regex;
use std::{collections::BTreeMap, fs, path::Path, process::Command, sync::LazyLock};

/// Maximum number of words in all text, except messages and generated pages.
const WORDS_MAX: usize = 110_000;

const KIND_FACTOR: f64 = 1.5;

const KIND_WORDS: usize = 2_000;

/// Name, pattern, and maximum number of matches per 10,000 words. `^` is the start of a paragraph, list item or table
/// cell.
const PATTERNS: [(&str, &str, f64); 13] = [
    (
        "what-noun",
        r"\bwhat (?:is|was|are|were|has|had|it|they|the|a|an|comes|came|somebody|others|each|nobody|can|must|would|costs|follows|holds|needs|waits|lasts|runs)\b",
        7.0,
    ),
    ("what-opens", r"(?:^|[.:;] )What (?!'s new|if\b)(?!.*\?$)", 1.5),
    (
        "who-bare",
        r"\b(?:whoever|whomever)\b|(?:^|[.,;:] )[Ww]ho (?:is|has|was|waits|reads|follows|may|makes|comes|asks|had)\b(?![^.]*\?)",
        1.0,
    ),
    ("somebody", r"\b(?:somebody|nobody|anybody|everybody)\b", 1.0),
    ("where-if", r"\bwhere (?:it|there|that|this|nobody|somebody|nothing|a|the|one|its|no|they|an)\b", 7.0),
    (
        "fragment-opens",
        r"(?:^|[.;] )(?:None|No|Of|By|As|So)(?! default\b| convention\b| design\b| of\b| a result\b| an example\b| well as\b| long as\b| such\b| in\b|, ) ",
        9.0,
    ),
    ("so-many", r"\bso (?:many|much|far)\b|\b(?:for|as|lasts|is|at) so long\b(?! as)", 2.0),
    ("that-clause", r"(?<!\bso )\bthat (?:is|are|was|has|have|it|they|the|a|were|had|can)\b(?!,)", 45.0),
    ("by-itself", r"\b(?:of its own|of their own|by itself|by themselves|of our own)\b", 2.0),
    ("at-the-most", r"\bat the (?:most|least|earliest|latest|longest)\b(?! [a-z]+(?:ed|ing|al|ive|ent|ant)\b)", 0.5),
    (
        "talking-code",
        r"\b(?:hears?|heard|knows?|tells?|told|says|asks?|asked|believes?|wants?|minds?|forgets?)\b",
        20.0,
    ),
    (
        "stock",
        r"\b(?:for ever|anew|under way|beside|stands?|(?:goes|go|gone|going|went) on(?! to\b)|made again|of it all)\b",
        3.0,
    ),
    ("none-where", r"\bnone (?:where|of|that|for|is|at|before|yet)\b", 2.0),
];

const NOT_IN_MESSAGES: &str = "fragment-opens";

const LEFT_OUT: [&str; 7] =
    ["LICENSE", "node_modules/", "vendor/", "/golden/", "proto/google/", "generated", "testdata/"];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

macro_rules! static_regex {
    ($($name:ident: $pattern:expr;)*) => { $(static $name: LazyLock<Regex> = LazyLock::new(|| regex($pattern));)* };
}

static_regex! {
    TOKENS: r#"(?s)(?P<raw>\b(?:b|c)?r(?P<hashes>#*)".*?"\k<hashes>)|(?P<string>"(?:\\.|[^"\\])*")|(?P<char>'(?:\\[^\n']*|[^'\\\n])')|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)"#;
    HASH_TOKENS: r#"(?sm)""".*?"""|'''.*?'''|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|(?P<line>(?:(?<=\s)|^)#(?!!)[^\n]*)"#;
    DOCSTRINGS: r#"(?sm)^\s*"""(.*?)""""#;
    WORDS: r"[A-Za-z0-9][^\s|]*";
    CODE: r"``.+?``|`[^`]*`";
    LINK: r#"!?\[([^\]]*)\]\([^)\s]*(?: "[^"]*")?\)"#;
    REMARK: r"<!--.*?-->";
    URL: r"\bhttps?://\S+";
    BULLET: r"^(?:>\s*)*(?:[-*+]|\d+[.)])\s+|^(?:>\s*)+|^#+\s+";
    WORDY: r"[A-Za-z][a-z']*(?:[ ,;:.]+[A-Za-z{][A-Za-z_}']*){2,}";
    RULE: r"^[-=|:─│┌┐└┘├┤+*\s]+$";
    DRAWING: r"[─│┌┐└┘├┤▁]|(?:-|=){2,}>|\s{4,}\S.*\s{4,}\S";
    TESTS: r"(?:^|/)(?:tests?|benches|examples|fuzz)(?:/|\.rs$)|_test\.|tests?\.rs$";
    PLACEHOLDER: r"\{[^}]*\}";
    BROKEN: r"\\\n\s*";
}

type Line = (usize, String);

fn clean(text: &str) -> String {
    let text = REMARK.replace_all(text.trim(), "");
    let text = CODE.replace_all(&text, "CODE");
    let text = LINK.replace_all(&text, "$1");
    URL.replace_all(&text, "LINK").trim().to_owned()
}

fn paragraphs(lines: impl IntoIterator<Item = Line>) -> Vec<Vec<Line>> {
    let (mut found, mut fenced, mut previous) = (Vec::<Vec<Line>>::new(), false, None);
    for (number, text) in lines {
        let bare = text.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            fenced = !fenced;
            previous = None;
        } else if fenced || bare.is_empty() || RULE.is_match(bare).unwrap() || DRAWING.is_match(bare).unwrap() {
            previous = None;
        } else if bare.starts_with('|') {
            let cells = bare.trim_matches('|').split('|').filter(|cell| !cell.trim().is_empty());
            found.extend(cells.map(|cell| vec![(number, clean(cell))]));
            previous = None;
        } else {
            let opens = BULLET.is_match(bare).unwrap();
            let text = clean(&BULLET.replace(bare, ""));
            match found.last_mut() {
                Some(paragraph) if !opens && previous.is_some_and(|previous| previous + 1 == number) => {
                    paragraph.push((number, text));
                }
                _ => found.push(vec![(number, text)]),
            }
            previous = Some(number);
        }
    }
    found
}

fn numbered(text: &str, first: usize) -> Vec<Line> {
    text.split('\n').enumerate().map(|(line, text)| (first + line, text.to_owned())).collect()
}

fn texts(name: &str, text: &str) -> Vec<(&'static str, Vec<Line>)> {
    let kind = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let of = |kind: &'static str, lines: Vec<Line>| paragraphs(lines).into_iter().map(move |lines| (kind, lines));
    match kind {
        "md" => of("Markdown", numbered(text, 1)).collect(),
        "py" => {
            let comments = hashed(text).into_iter().filter(|(_, text)| !text.starts_with("- ")).collect();
            let docstrings = DOCSTRINGS.captures_iter(text).map(Result::unwrap).flat_map(|found| {
                let body = found.get(1).unwrap();
                numbered(body.as_str(), 1 + text[..body.start()].matches('\n').count())
            });
            of("Python", comments).chain(of("Python", docstrings.collect())).collect()
        }
        "rs" => slashed(text, !TESTS.is_match(name).unwrap(), "Rust"),
        "proto" => slashed(text, false, "protos"),
        "ts" | "js" | "mjs" | "go" | "css" => slashed(text, false, "other sources"),
        _ => of("configuration", hashed(text)).collect(),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn is_alone(text: &str, at: usize) -> bool {
    text[..at].rsplit('\n').next().unwrap_or_default().trim().is_empty()
}

fn hashed(text: &str) -> Vec<Line> {
    let found = HASH_TOKENS.captures_iter(text).map(Result::unwrap);
    let comment = |line: fancy_regex::Match<'_>| {
        let body = line.as_str().trim_start_matches('#').trim_start().to_owned();
        let body = if is_alone(text, line.start()) { body } else { format!("- {body}") };
        (line_of(text, line.start()), body)
    };
    found.filter_map(|token| token.name("line").map(comment)).collect()
}

fn slashed(text: &str, has_messages: bool, kind: &'static str) -> Vec<(&'static str, Vec<Line>)> {
    let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
    let (mut comments, mut messages, mut number, mut at) = (vec![], vec![], 1, 0);
    for token in TOKENS.captures_iter(text).map(Result::unwrap) {
        let start = token.get(0).unwrap().start();
        number += text[at..start].matches('\n').count();
        at = start;
        if let Some(line) = token.name("line") {
            let body = line.as_str()[2..].trim_start_matches(['/', '!']);
            let body = body.strip_prefix(' ').unwrap_or(body);
            comments.push((number, if is_alone(text, at) { body.to_owned() } else { format!("- {body}") }));
        } else if let Some(block) = token.name("block") {
            let body = &block.as_str()[2..block.as_str().len() - 2];
            comments.extend(body.split('\n').enumerate().map(|(line, text)| {
                (number + line, text.trim_start().trim_start_matches('*').trim_start().to_owned())
            }));
        } else if let Some(string) = token.name("string").filter(|_| has_messages && at < tests) {
            let body = BROKEN.replace_all(&string.as_str()[1..string.as_str().len() - 1], "").into_owned();
            if !body.contains('\n') && WORDY.is_match(&body).unwrap() {
                messages.push(("messages", vec![(number, clean(&PLACEHOLDER.replace_all(&body, "X")))]));
            }
        }
    }
    messages.extend(paragraphs(comments).into_iter().map(|lines| (kind, lines)));
    messages
}

fn is_improbable(matches: usize, mean: f64) -> bool {
    let (mut below, mut term) = (0.0, (-mean).exp());
    for count in 0..matches {
        below += term;
        term *= mean / (count + 1) as f64;
    }
    1.0 - below < 0.01
}

#[derive(Default)]
struct Tally {
    words: usize,
    places: [Vec<String>; PATTERNS.len()],
}

impl Tally {
    fn above(&self, pattern: usize, factor: f64) -> bool {
        let allowed = factor * PATTERNS[pattern].2 * self.words as f64 / 10_000.0;
        let matches = self.places[pattern].len();
        matches as f64 > allowed && (self.words >= 10_000 || is_improbable(matches, allowed))
    }

    fn merge(&mut self, other: Self) {
        self.words += other.words;
        for (all, more) in self.places.iter_mut().zip(other.places) {
            all.extend(more);
        }
    }
}

fn tracked() -> Vec<String> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    let endings = ["rs", "proto", "ts", "js", "mjs", "go", "css", "toml", "sh", "yaml", "yml", "md", "py"];
    let of_ours = |name: &&str| {
        let path = Path::new(name);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let file = path.file_name().and_then(|name| name.to_str());
        let is_text = ending.is_some_and(|ending| endings.contains(&ending))
            || ["justfile", "Dockerfile"].iter().any(|name| file == Some(name));
        is_text && !LEFT_OUT.iter().any(|part| name.contains(part))
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.split('\0').filter(|name| !name.is_empty()).filter(of_ours).map(str::to_owned).collect()
}

fn tally(names: &[String]) -> BTreeMap<&'static str, Tally> {
    let patterns = PATTERNS.map(|(_, pattern, _)| regex(pattern));
    let mut kinds = BTreeMap::<_, Tally>::new();
    for name in names {
        let Ok(text) = fs::read_to_string(root().join(name)) else { continue };
        for (kind, paragraph) in texts(name, &text) {
            let tally = kinds.entry(kind).or_default();
            let joined = paragraph.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ") + " ";
            tally.words += WORDS.find_iter(&joined).count();
            for (number, pattern) in patterns.iter().enumerate() {
                if kind == "messages" && PATTERNS[number].0 == NOT_IN_MESSAGES {
                    continue;
                }
                for found in pattern.find_iter(&joined).map(Result::unwrap) {
                    let line = paragraph[0].0;
                    let around: String = joined[found.start()..].chars().take(60).collect();
                    tally.places[number].push(format!("{name}:{line}: {around}"));
                }
            }
        }
    }
    kinds
}

#[test]
fn all_text_is_plain_and_short() {
    let names = tracked();
    assert!(names.len() > 500, "the files are found");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut kinds = BTreeMap::<_, Tally>::new();
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            names.chunks(names.len().div_ceil(threads)).map(|part| scope.spawn(|| tally(part))).collect();
        for part in parts {
            for (kind, found) in part.join().unwrap() {
                kinds.entry(kind).or_default().merge(found);
            }
        }
    });
    let mut faults = vec![];
    for (kind, tally) in kinds.iter().filter(|(_, tally)| tally.words >= KIND_WORDS) {
        let above = (0..PATTERNS.len()).filter(|pattern| tally.above(*pattern, KIND_FACTOR));
        faults.extend(above.map(|pattern| (format!("{kind}: {}", PATTERNS[pattern].0), tally.places[pattern].clone())));
    }
    let messages = kinds.get("messages").map_or(0, |tally| tally.words);
    let mut all = Tally::default();
    kinds.into_values().for_each(|tally| all.merge(tally));
    let words = all.words - messages;
    faults.extend(
        (0..PATTERNS.len())
            .filter(|pattern| all.above(*pattern, 1.0))
            .map(|pattern| (format!("all text: {}", PATTERNS[pattern].0), all.places[pattern].clone())),
    );
    assert!(faults.is_empty(), "patterns above their ceilings: {faults:#?}");
    assert!(words <= WORDS_MAX, "{words} words of text without messages; at most {WORDS_MAX}");
}

#[test]
fn the_patterns_match_across_lines_and_not_in_code() {
    let source = "/// Of the players\n/// that are here.\nfn a() {\n    b(\"nobody waits for it\"); // `nobody`\n}\n";
    let found = texts("engine/a.rs", source);
    let joined: Vec<_> = found
        .iter()
        .map(|(kind, lines)| (*kind, lines.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")))
        .collect();
    assert_eq!(joined[0], ("messages", "nobody waits for it".to_owned()));
    assert_eq!(joined[1], ("Rust", "Of the players that are here.".to_owned()));
    assert_eq!(joined[2], ("Rust", "CODE".to_owned()));
    assert!(
        regex(PATTERNS[5].1).is_match(&joined[1].1).unwrap() && regex(PATTERNS[7].1).is_match(&joined[1].1).unwrap()
    );
    assert!(texts("tests/a.rs", source).iter().all(|(kind, _)| *kind == "Rust"), "no message of tests");
}
