//! Markup that is well-formed and escaped by construction.

use std::fmt::{self, Display, Write};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    pub fn text(text: impl Display) -> Self {
        let mut escaped = String::new();
        for char in text.to_string().chars() {
            match char {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&#39;"),
                _ => escaped.push(char),
            }
        }
        Self(escaped)
    }

    pub(crate) fn drawing(svg: &str) -> Self {
        Self(svg.to_owned())
    }

    /// Wraps a trusted style sheet without characters that need escaping.
    pub fn style(css: &'static str) -> Self {
        debug_assert!(!css.contains(['<', '&']), "the style sheet contains characters that need escaping");
        Self(format!("<style>\n{css}</style>\n"))
    }
}

pub const STYLE: &str = include_str!("page.css");

/// Elements without end tag.
const EMPTY: [&str; 10] = ["use", "br", "circle", "line", "meta", "path", "polygon", "polyline", "rect", "col"];

pub fn tag(name: &'static str, attributes: &[(&'static str, &str)], inner: impl Into<Markup>) -> Markup {
    let mut of = format!("<{name}");
    for (key, value) in attributes {
        let _ = write!(of, " {key}=\"{}\"", Markup::text(value));
    }
    if EMPTY.contains(&name) {
        return Markup(of + "/>");
    }
    let end =
        if ["p", "tr", "table", "section", "div", "svg", "h2", "h3", "details"].contains(&name) { "\n" } else { "" };
    let _ = write!(of, ">{}</{name}>{end}", inner.into());
    Markup(of)
}

pub fn page(title: &str, main: impl Into<Markup>) -> String {
    let head = [
        tag("meta", &[("charset", "utf-8")], ""),
        tag("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")], ""),
        plain("title", title),
        Markup::style(STYLE),
    ];
    let page = tag("html", &[("lang", "en")], [plain("head", head), plain("body", plain("main", main))]);
    format!("<!DOCTYPE html>\n{page}\n")
}

pub fn plain(name: &'static str, inner: impl Into<Markup>) -> Markup {
    tag(name, &[], inner)
}

/// Makes a table whose rows begin with a header. A wide table scrolls, also by keyboard.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    let titles = head.iter().map(|title| tag("th", &[("scope", "col")], *title));
    let body = rows.into_iter().map(|cells| {
        let cells = cells.into_iter().enumerate().map(|(place, cell)| match place {
            0 => tag("th", &[("scope", "row")], cell),
            _ => plain("td", cell),
        });
        plain("tr", cells.collect::<Markup>())
    });
    let label = format!("Table of {}", head.join(", "));
    let head = plain("thead", plain("tr", titles.collect::<Markup>()));
    let table = plain("table", [head, plain("tbody", body.collect::<Markup>())]);
    tag("div", &[("class", "scroll"), ("tabindex", "0"), ("role", "group"), ("aria-label", &label)], table)
}

impl Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Markup {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Markup {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl<const N: usize> From<[Markup; N]> for Markup {
    fn from(parts: [Markup; N]) -> Self {
        parts.into_iter().collect()
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Markup>>(parts: I) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let escaped = tag("p", &[("title", "\"a\" <b>")], "<script>alert('x') & more</script>").to_string();
        let wanted =
            "<p title=\"&quot;a&quot; &lt;b&gt;\">&lt;script&gt;alert(&#39;x&#39;) &amp; more&lt;/script&gt;</p>\n";
        assert_eq!(escaped, wanted);
    }

    #[test]
    fn an_empty_element_is_closed() {
        assert_eq!(tag("rect", &[("x", "1")], "").to_string(), "<rect x=\"1\"/>");
        assert_eq!(plain("td", "").to_string(), "<td></td>");
    }
}
