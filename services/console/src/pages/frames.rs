use maud::{Markup, html};
use motherlode_picture::{
    reels,
    round::{self as picture, Section, info},
};
use motherlode_proto::round::v1::Round;

pub(super) const STANDS: usize = 3;
const COPIED: [&str; 8] = [
    "Model",
    "Session",
    "Free round of campaign",
    "Reference",
    "Seed",
    "Seal (hash of dealt value)",
    "Client seed",
    "Dealt value",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    section: usize,
    window: Option<usize>,
}

pub(super) fn all(round: &Round) -> Vec<Frame> {
    let knows = info(round).is_some();
    let of_step = |(at, step): (usize, &motherlode_proto::round::v1::Step)| {
        let windows = step.outcome.as_ref().map_or(0, |outcome| outcome.spins.len());
        let windows = if knows && windows > 1 { windows } else { 0 };
        let section = at + 1;
        let each = (0..windows).map(move |window| Frame { section, window: Some(window) });
        each.chain([Frame { section, window: None }]).collect::<Vec<_>>()
    };
    let steps = round.steps.iter().enumerate().flat_map(of_step);
    let end = Frame { section: round.steps.len() + 1, window: None };
    [Frame { section: 0, window: None }].into_iter().chain(steps).chain([end]).collect()
}

pub(super) fn linked(round: &Round) -> Vec<Section> {
    let frames = all(round);
    picture::linked(round, &|step, window| {
        let at = frames.iter().position(|frame| *frame == Frame { section: step + 1, window: Some(window) })?;
        Some(format!("?frame={at}"))
    })
}

pub(super) fn next(round: &Round, at: usize) -> Option<String> {
    (at.saturating_add(1) < all(round).len()).then(|| address(round, at + 1, true))
}

pub(super) fn shown(
    round: &Round,
    sections: &[Section],
    at: usize,
    plays: bool,
    record: &dyn Fn(&str) -> Markup,
) -> Option<Markup> {
    let frames = all(round);
    let frame = *frames.get(at)?;
    let section = sections.get(frame.section)?;
    let outcome = frame.section.checked_sub(1).and_then(|step| round.steps.get(step)?.outcome.as_ref());
    let window = match (info(round), outcome, frame.window) {
        (Some(info), Some(outcome), Some(window)) => Some(reels::alone(info, outcome, window)?),
        _ => None,
    };
    let symbols = outcome.zip(info(round)).map(|(outcome, info)| reels::symbols(&round.game, info, [outcome]));
    Some(html! {
        (ways(round, at, frames.len(), plays))
        @if let Some(symbols) = symbols { (symbols) }
        @match window {
            Some(window) => section.part.one { h2 { (section.title) } (window) },
            None => (part(frame.section, section, true, record)),
        }
    })
}

fn ways(round: &Round, at: usize, of: usize, plays: bool) -> Markup {
    let link = |to: Option<usize>, told: &str| {
        html! { @match to {
            Some(to) => li { a href=(address(round, to, false)) { (told) } },
            None => li { span { (told) } },
        } }
    };
    html! {
        nav.steps aria-label="Pictures" {
            ol {
                (link(at.checked_sub(1), "Back"))
                (link(Some(at + 1).filter(|next| *next < of), "Next"))
                @if plays && at + 1 < of { li { a href=(address(round, at, false)) { "Stop" } } }
                @else { li { a href=(address(round, if at + 1 < of { at } else { 0 }, true)) { "Play" } } }
                li { a href={ "/round/" (round.round_id) } { "All steps" } }
            }
            p.soft { "Picture " (at + 1) " of " (of) }
        }
    }
}

pub(super) fn address(round: &Round, at: usize, plays: bool) -> String {
    format!("/round/{}?frame={at}{}", round.round_id, if plays { "&play=on" } else { "" })
}

pub(super) fn anchor(at: usize) -> String {
    match at {
        0 => "bet".to_owned(),
        at => format!("step-{at}"),
    }
}

pub(super) fn part(at: usize, section: &Section, in_words: bool, record: &dyn Fn(&str) -> Markup) -> Markup {
    let Section { title, drawing, picture, facts } = section;
    let beside = !drawing.is_empty() && !picture.0.is_empty();
    html! {
        section.part.drawn[beside] #(anchor(at)) {
            h2 { a.anchor href={ "#" (anchor(at)) } { (title) } }
            (picture)
            @if in_words && !drawing.is_empty() {
                details {
                    summary { "In words" }
                    div.scroll tabindex="0" role="region" aria-label={ (title) " in words" } { pre.drawing { (drawing.trim_matches('\n')) } }
                }
            }
            dl.facts-list {
                @for (what, value) in facts {
                    dt { (what) }
                    dd { @if *what == "Log position" { (record(value)) } @else { (shown_fact(what, value)) } }
                }
            }
        }
    }
}

fn shown_fact(name: &str, value: &str) -> Markup {
    match (name, value.split_once(", ")) {
        ("Time", _) if !value.is_empty() => moment(value),
        ("Void at", Some((at, rest))) => html! { (moment(at)) ", " (rest) },
        _ if COPIED.contains(&name) && !value.contains(' ') => html! { code { (value) } },
        _ => html! { (value) },
    }
}

fn moment(time: &str) -> Markup {
    html! { time datetime=(time) { (time) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::{
        convert::play::hex,
        round::v1::{Outcome, SpinKind, SpinResult, Step},
    };

    fn round() -> Round {
        let game = motherlode_slots::latest("neptune").unwrap();
        let spin = SpinResult { kind: SpinKind::Free.into(), rows: 3, cells: vec![1; 15], ..SpinResult::default() };
        let step = |windows| {
            let outcome = Outcome { spins: vec![spin.clone(); windows], ..Outcome::default() };
            Step { outcome: Some(outcome), ..Step::default() }
        };
        Round {
            round_id: "acme/alice/1".into(),
            game: game.name().into(),
            rules_version: game.rules_version().into(),
            model_hash: hex(&game.model_hash()),
            steps: vec![step(1), step(3)],
            ..Round::default()
        }
    }

    #[test]
    fn pl_19_a_round_is_stepped_through_window_by_window() {
        let round = round();
        let places: Vec<_> = all(&round).iter().map(|frame| (frame.section, frame.window)).collect();
        assert_eq!(
            places,
            [(0, None), (1, None), (2, Some(0)), (2, Some(1)), (2, Some(2)), (2, None), (3, None)],
            "the bet, the first step, the second step's three windows, the second step, the end"
        );
        let unknown = Round { model_hash: String::new(), ..round.clone() };
        assert_eq!(all(&unknown).len(), 4, "windows that cannot be drawn get no frame");
        assert_eq!(next(&round, 5).as_deref(), Some("/round/acme/alice/1?frame=6&play=on"));
        assert_eq!((next(&round, 6), next(&round, usize::MAX - 1)), (None, None));
        let sections = motherlode_picture::round::sections(&round, false);
        let told = |at| shown(&round, &sections, at, false, &|told| html! { (told) }).map(|page| page.into_string());
        assert!(told(3).is_some_and(|page| page.contains("Free spin 2") && page.contains("Picture 4 of 7")));
        assert!((0..7).all(|at| told(at).is_some()) && told(7).is_none() && told(usize::MAX).is_none());
    }

    #[test]
    fn pl_19_times_of_a_round_can_change_their_zone_and_ids_are_marked_for_copying() {
        let shown = |name, value| shown_fact(name, value).into_string();
        let (at, time) = ("2026-11-28T10:00:00.000Z", "<time datetime=\"2026-11-28T10:00:00.000Z\">");
        assert_eq!(shown("Time", at), format!("{time}{at}</time>"));
        assert_eq!(
            shown("Void at", "2026-11-28T10:00:00.000Z, log position 7"),
            format!("{time}{at}</time>, log position 7")
        );
        assert_eq!(shown("Seed", "0f0f"), "<code>0f0f</code>");
        assert_eq!(shown("Seed", "shown when the round is over"), "shown when the round is over");
        assert_eq!(shown("Bet", "1.50 EUR"), "1.50 EUR");
    }
}
