use crate::markup::{Markup, plain, tag};

pub(super) fn note(text: impl Into<Markup>) -> Markup {
    tag("p", &[("class", "note")], text)
}

pub(super) fn section(title: &str, inner: impl Into<Markup>) -> Markup {
    plain("section", [plain("h2", title), inner.into()])
}

pub(super) fn list<'a>(rows: impl IntoIterator<Item = (&'a str, Markup)>) -> Markup {
    plain(
        "dl",
        rows.into_iter().map(|(name, figure)| [plain("dt", name), plain("dd", figure)].into()).collect::<Markup>(),
    )
}
