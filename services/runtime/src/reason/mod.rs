mod table;

pub use table::{Reason, Retry};

use std::{fmt, fmt::Write as _, time::Duration};
use table::{Row, TABLE};
use tonic::Code;

impl Reason {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.reason)
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.reason)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the default status code; see [`with_code`](crate::refusal::Refusal::with_code).
    #[must_use]
    pub fn code(self) -> Code {
        self.row().code
    }

    #[must_use]
    pub fn retry(self) -> Retry {
        self.row().retry
    }

    #[must_use]
    pub fn doc(self) -> String {
        self.row().doc.concat().trim().to_owned()
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Retry {
    /// Returns the wait before a retry of the unchanged request; `None` if such a retry does not help.
    #[must_use]
    pub fn wait(self) -> Option<Duration> {
        match self {
            Self::After(ms) => Some(Duration::from_millis(ms.into())),
            Self::Never | Self::AfterChange => None,
        }
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("no"),
            Self::AfterChange => f.write_str("after a change"),
            Self::After(ms) => write!(f, "after {ms} ms"),
        }
    }
}

#[must_use]
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// Generates `docs/reference/generated/errors.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(HEAD);
    let mut section = "";
    for row in TABLE {
        if row.section != section {
            section = row.section;
            let _ = write!(text, "\n## {section}\n\n| reason | status | retry | meaning |\n|---|---|---|---|\n");
        }
        let (name, code, retry, doc) = (row.name, code_name(row.code), row.retry, row.reason.doc());
        let _ = writeln!(text, "| `{name}` | {code} | {retry} | {doc} |");
    }
    text
}

const HEAD: &str = "\
# Errors

Each refusal is a `google.rpc.Status` whose `ErrorInfo` has the domain `motherlode` and one of the following reasons. This file is generated from
`services/runtime/src/reason/table.rs`: `just documents` writes it, and a test compares the two.

- **no**: the same request is always refused. Correct it.
- **after a change**: the request succeeds once the condition named by the reason has changed. The request id may be reused.
- **after N ms**: send the request again unchanged, with the same request id. `RetryInfo` states the time, which may be longer than here.

`OUTCOME_UNKNOWN` has the status DEADLINE_EXCEEDED if the log did not answer in time. `LOG_UNREADABLE` has the status UNAVAILABLE, with
`RetryInfo`, if the disk failed and the record may be intact. `NO_DRAW_KEYS` has the status UNAVAILABLE for a bet. `HTTP_REFUSED` has the
status that corresponds to its HTTP status.
";

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs, path::Path};

    #[test]
    fn at_c1_each_reason_has_its_own_row() {
        for (number, row) in TABLE.iter().enumerate() {
            assert_eq!(row.reason as usize, number, "{}", row.name);
            assert_eq!(Reason::from_name(row.name), Some(row.reason));
            assert!(row.reason.doc().ends_with('.'), "{}", row.name);
        }
        let names: BTreeSet<_> = Reason::all().map(Reason::name).collect();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn at_c1_the_errors_reference_is_the_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/generated/errors.md");
        let text = reference();
        if std::env::var_os("MOTHERLODE_WRITE_DOCUMENTS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "docs/reference/generated/errors.md is stale: run `just documents`"
        );
    }

    fn texts() -> Vec<(String, String)> {
        let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
        let mut folders = vec![proto.join("motherlode")];
        let mut texts = vec![("README.md".to_owned(), fs::read_to_string(proto.join("README.md")).unwrap())];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                let comments: Vec<_> = text.lines().filter_map(|line| Some(line.split_once("//")?.1)).collect();
                texts.push((path.display().to_string(), comments.join(" ")));
            }
        }
        texts
    }

    const OTHER: [&str; 11] = [
        "CAUSE_NOT_ALLOWED",
        "FIGURES_VERSION",
        "MOTHERLODE_TOKEN",
        "OUTCOME_DONE",
        "OUTCOME_REFUSED",
        "ROLLED_BACK",
        "SEAL_REASON_SEALS_ENDED",
        "STATE_VERSION",
        "UPPER_SNAKE",
        "WEIGHTING_ROUND",
        "WEIGHTING_STAKE",
    ];

    #[test]
    fn at_c1_protos_and_documents_name_reasons_of_the_table_with_their_codes() {
        let codes: Vec<_> = (0..17).map(|code| code_name(Code::from_i32(code))).collect();
        let (mut named, mut pairs) = (0, 0);
        for (path, text) in texts() {
            for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_$".contains(letter)) {
                let is_name = word.len() > 3
                    && word.contains('_')
                    && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
                let is_known = codes.contains(&word) || OTHER.contains(&word) || Reason::from_name(word).is_some();
                assert!(!is_name || is_known, "{path}: {word} is not a reason");
            }
            for reason in Reason::all().filter(|reason| reason.name().contains('_')) {
                for (at, _) in text.match_indices(reason.name()) {
                    named += 1;
                    let before = text[..at].strip_suffix(", ").or(text[..at].strip_suffix(" ("));
                    let before = before.and_then(|before| before.rsplit([' ', '(', '|']).next());
                    if let Some(code) = before.filter(|before| codes.contains(before)) {
                        pairs += 1;
                        assert_eq!(code, code_name(reason.code()), "{path}: {reason}");
                    }
                }
            }
        }
        assert!(named > 60 && pairs > 0, "{named} reasons, {pairs} of them with a code");
    }
}
