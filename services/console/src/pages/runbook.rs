use crate::{failure::Failure, layout, visit::Visit};
use axum::response::Response;
use maud::{Markup, html};

pub(crate) const TEXT: &str = include_str!("../../../../deploy/observability/RUNBOOK.md");

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    Ok(layout::page(&visit, "Runbook", entries(TEXT)).await)
}

fn entries(text: &str) -> Markup {
    let entries = text.split("\n## ").skip(1).filter_map(|entry| entry.split_once('\n'));
    html! {
        @for (name, body) in entries {
            section id=(name) {
                h2 { (name) }
                ul { @for item in body.split("\n- ").skip(1) { li { (plain(item)) } } }
            }
        }
    }
}

fn plain(item: &str) -> String {
    let mut text = String::new();
    for (at, part) in item.split("](").enumerate() {
        text += if at == 0 { part } else { part.split_once(')').map_or(part, |(_, rest)| rest) };
    }
    text.replace("**", "").replace(['`', '['], "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_shown_as_text_under_its_own_anchor() {
        let shown = entries(TEXT).into_string();
        assert!(shown.contains("<section id=\"MotherlodeSilent\"><h2>MotherlodeSilent</h2>"), "{shown}");
        assert_eq!(shown.matches("<section").count(), TEXT.matches("\n## ").count());
        assert!(!shown.contains("**") && !shown.contains('`') && !shown.contains("]("), "{shown}");
        assert_eq!(
            plain("**Action.** Stop it and\n  [repair the log](../x.md#y). Then `go`."),
            "Action. Stop it and repair the log. Then go."
        );
    }
}
