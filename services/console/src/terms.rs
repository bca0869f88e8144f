//! Explanations of terms, shown on hover and focus.

use maud::{Markup, html};

const GLOSSARY: &str = include_str!("../../../docs/glossary.md");
const EXPLAINED: [&str; 11] = [
    "award",
    "contribution",
    "dealer",
    "hit",
    "house funding",
    "increments",
    "request id",
    "reseal",
    "reserve",
    "stream",
    "writer",
];

pub(crate) fn explained(name: &str) -> Markup {
    let lower = name.to_lowercase();
    let begins = |term: &&&str| {
        let rest = lower.strip_prefix(**term).map(|rest| rest.strip_prefix('s').unwrap_or(rest));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    match EXPLAINED.iter().find(begins).and_then(|term| meaning(term)) {
        Some(meaning) => html! { span.term tabindex="0" { (name) span.help { (meaning) } } },
        None => html! { (name) },
    }
}

/// Adds the term's explanation to a rendered name, unless the name contains elements such as links.
pub(crate) fn explained_in(name: &Markup) -> Markup {
    if name.0.contains(['<', '&']) { name.clone() } else { explained(&name.0) }
}

fn meaning(term: &str) -> Option<String> {
    let row = GLOSSARY.lines().find_map(|line| line.strip_prefix("| ")?.strip_prefix(term)?.strip_prefix(" | "))?;
    let text: String = row.trim_end_matches(" |").chars().filter(|letter| !['*', '`'].contains(letter)).collect();
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_explained_term_has_its_sentence_in_the_glossary() {
        for term in EXPLAINED {
            let meaning = meaning(term).unwrap_or_else(|| panic!("{term} is missing in the glossary"));
            assert!(meaning.len() > 20 && !meaning.contains('|') && !meaning.contains("]("), "{term}: {meaning}");
        }
    }

    #[test]
    fn a_name_is_explained_by_the_term_at_its_beginning() {
        let shown = |name| explained(name).into_string();
        assert!(
            shown("Reserve R").starts_with("<span class=\"term\" tabindex=\"0\">Reserve R<span class=\"help\">part of")
        );
        for name in ["Reseals", "Hits and awards", "Increments K"] {
            assert!(shown(name).contains("class=\"help\""), "{name}");
        }
        for name in ["Reserved", "Paid P", "Streaming", "Time"] {
            assert_eq!(shown(name), name);
        }
    }
}
