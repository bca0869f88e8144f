//! Renders a game's rules as headings and paragraphs. The source text has lines of a fixed width.

use maud::{Markup, html};

pub(super) fn set(text: &str) -> Markup {
    let width = text.lines().map(letters).max().unwrap_or_default();
    html! {
        @for block in text.split("\n\n") {
            @let (heading, rest) = heading(block);
            @if let Some(heading) = heading { h3 { (heading) } }
            @for paragraph in paragraphs(rest, width) { p { (paragraph) } }
        }
    }
}

fn heading(block: &str) -> (Option<String>, &str) {
    let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
    let is_heading = first.contains(char::is_alphabetic) && !first.contains(char::is_lowercase);
    if !is_heading {
        return (None, block);
    }
    let mut letters = first.chars();
    let capital = letters.next().map(String::from).unwrap_or_default();
    (Some(capital + &letters.as_str().to_lowercase()), rest)
}

/// Joins lines to paragraphs. A line is its paragraph's last if the next line's first word would have fit on it.
fn paragraphs(text: &str, width: usize) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    let mut length = 0;
    for line in text.lines() {
        let word = line.split(' ').next().map_or(0, letters);
        match all.last_mut() {
            Some(last) if length + 1 + word > width => {
                last.push(' ');
                last.push_str(line);
            }
            _ => all.push(line.to_owned()),
        }
        length = letters(line);
    }
    all
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_13_rules_are_set_as_paragraphs_whatever_the_width_of_their_source() {
        let text =
            "FREE SPINS\nThree or more Mermaids award\nten free spins.\nAll wins are tripled.\n\nNo heading here.";
        assert_eq!(
            set(text).into_string(),
            "<h3>Free spins</h3><p>Three or more Mermaids award ten free spins.</p><p>All wins are tripled.</p>\
             <p>No heading here.</p>"
        );
    }

    #[test]
    fn pl_13_the_rules_of_every_game_keep_their_words() {
        for game in motherlode_slots::latest_games() {
            let text = &game.info().rules_text;
            let shown = set(text).into_string().replace("&amp;", "&").replace("&quot;", "\"");
            let shown: String = shown
                .split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
                .fold(String::new(), |all, part| all + " " + part);
            let words = |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&shown), words(text), "{}", game.name());
            assert!(set(text).0.matches("<p>").count() < text.lines().count(), "lines of {} are joined", game.name());
        }
    }
}
