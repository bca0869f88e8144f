use maud::{Markup, PreEscaped, html};

pub const STYLE: &str = include_str!("page.css");

/// All elements are closed, so that pages are also well-formed XML.
const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>"#;

pub fn page(title: &str, main: &Markup) -> String {
    let page = html! {
        (PreEscaped(HEAD)) title { (title) } style { (PreEscaped(STYLE)) } (PreEscaped("</head>"))
        body { main { (main) } } (PreEscaped("</html>\n"))
    };
    page.into_string()
}

pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label={ "Table of " (head.join(", ")) } {
            table {
                thead { tr { @for title in head { th scope="col" { (title) } } } }
                tbody {
                    @for cells in rows {
                        tr {
                            @for (place, cell) in cells.iter().enumerate() {
                                @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                        "\n"
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let page = page("\"a\" <b>", &html! { p { "<script>alert('x') & more</script>" } });
        assert!(page.contains("<title>&quot;a&quot; &lt;b&gt;</title>"), "{page}");
        assert!(page.contains("<p>&lt;script&gt;alert('x') &amp; more&lt;/script&gt;</p>"), "{page}");
    }
}
