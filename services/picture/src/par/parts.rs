use maud::{Markup, Render, html};

pub(super) fn note(text: impl Render) -> Markup {
    html! { p.note { (text) } }
}

pub(super) fn section(title: &str, inner: &Markup) -> Markup {
    html! { section { h2 { (title) } (inner) } }
}

pub(super) fn list<'a>(rows: impl IntoIterator<Item = (&'a str, Markup)>) -> Markup {
    html! { dl { @for (name, figure) in rows { dt { (name) } dd { (figure) } } } }
}
