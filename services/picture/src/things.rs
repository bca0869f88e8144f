use crate::figures::grouped;
use maud::{Markup, html};
use motherlode_proto::round::v1::{Card, CardTurn, Choice, Outcome, Reveal, choice};
use motherlode_slots::GameInfo;
use std::collections::BTreeMap;

const OBJECT: (usize, usize) = (110, 120);
const ACROSS: usize = 6;
const OBJECTS_MAX: u32 = 40;
const CARD: (usize, usize) = (90, 150);

#[must_use]
pub fn things(game: &GameInfo, choice: Option<&Choice>, outcome: &Outcome) -> Markup {
    let objects = objects(game, choice, outcome);
    if objects.0.is_empty() && outcome.card.is_none() {
        return objects;
    }
    html! {
        div.things {
            (objects)
            @if let Some(turn) = &outcome.card { (cards(turn, outcome)) }
        }
    }
}

fn objects(game: &GameInfo, choice: Option<&Choice>, outcome: &Outcome) -> Markup {
    let vials = !game.prizes.is_empty();
    let Outcome { reveals, unopened, pick, .. } = outcome;
    let picked = match choice.and_then(|choice| choice.kind.as_ref()) {
        Some(choice::Kind::Pick(picked)) => picked.numbers.as_slice(),
        _ => &[],
    };
    let mut all: BTreeMap<u32, Object<'_>> = BTreeMap::new();
    let offered = pick.as_ref().map_or(0, |pick| pick.of.min(OBJECTS_MAX));
    all.extend((1..=offered).map(|number| (number, Object::Closed)));
    all.extend(unopened.iter().map(|of| (of.number, Object::Left(of))));
    all.extend(picked.iter().map(|number| (*number, Object::Picked)));
    all.extend(reveals.iter().map(|of| (of.number, Object::Opened(of))));
    if all.is_empty() {
        return Markup::default();
    }
    let rows = all.len().div_ceil(ACROSS);
    let (width, height) = (all.len().min(ACROSS) * OBJECT.0, rows * OBJECT.1);
    let told: Vec<_> = all.iter().map(|(number, object)| format!("{number} {}", object.description())).collect();
    let class = ["one-row", "two-rows"].get(rows - 1).copied().unwrap_or("rows");
    html! {
        figure {
            svg class=(class) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label={ "Objects: " (told.join(", ")) } {
                @for (at, (number, object)) in all.iter().enumerate() {
                    g transform={ "translate(" (at % ACROSS * OBJECT.0) " " (at / ACROSS * OBJECT.1) ")" } {
                        (object.drawn(*number, vials))
                    }
                }
            }
        }
    }
}

enum Object<'a> {
    Closed,
    Picked,
    Opened(&'a Reveal),
    Left(&'a Reveal),
}

impl Object<'_> {
    fn description(&self) -> String {
        match self {
            Self::Closed => "closed".to_owned(),
            Self::Picked => "picked".to_owned(),
            Self::Opened(of) => format!("opened, {} coins", grouped(&of.coins.to_string())),
            Self::Left(of) => format!("not picked, {} coins", grouped(&of.coins.to_string())),
        }
    }

    fn drawn(&self, number: u32, vial: bool) -> Markup {
        if vial {
            return self.vial(number);
        }
        let held = match self {
            Self::Closed | Self::Picked => None,
            Self::Opened(of) | Self::Left(of) => Some(grouped(&of.coins.to_string())),
        };
        let open = matches!(self, Self::Opened(_) | Self::Picked);
        let chest = if open { "opened" } else { "closed" };
        let lid = if open { "M20 44 14 18q41-16 82 0l-6 26z" } else { "M18 56V46q0-16 16-16h42q16 0 16 16v10z" };
        html! {
            g.dim[matches!(self, Self::Left(_))] {
                path class=(chest) d=(lid) {}
                @if open { path.gold d="M24 56q8-16 18-8 8-14 20-2 14-10 24 10z" {} }
                rect class=(chest) x="18" y="56" width="74" height="34" rx="4" {}
                rect.gold x="49" y="52" width="12" height="14" rx="3" {}
            }
            text class=(if open { "inside" } else { "small" }) x="55" y="84" { (number) }
            @if let Some(held) = held { text.coins x="55" y="110" { (held) } }
        }
    }

    fn vial(&self, number: u32) -> Markup {
        let class = if matches!(self, Self::Closed | Self::Left(_)) { "closed" } else { "gold" };
        html! {
            path class=(class) d="M44 20h22v24l22 38q6 12-8 12H30q-14 0-8-12l22-38z" {}
            rect.opened x="42" y="10" width="26" height="12" rx="3" {}
            text x="55" y="82" { (number) }
        }
    }
}

fn cards(turn: &CardTurn, outcome: &Outcome) -> Markup {
    let verdict = if turn.won { "right" } else { "wrong" };
    let before = outcome.double_strip.iter().skip(1).take(8);
    let shown = [(turn.guess, "the guess"), (turn.drawn, verdict)];
    let shown: Vec<_> = shown.into_iter().chain(before.map(|card| (*card, "before"))).collect();
    html! {
        figure {
            svg viewBox={ "0 0 " (shown.len() * CARD.0) " " (CARD.1) } role="img" aria-label={ "A card was turned: the guess was " (verdict) } {
                @for (at, (card, told)) in shown.into_iter().enumerate() {
                    @let (sign, hue) = sign(card);
                    g.dim[at > 1] transform={ "translate(" (at * CARD.0) " 0)" } {
                        rect.paper x="6" y="6" width="78" height="110" rx="8" {}
                        text class=(hue) x="45" y="77" { (sign) }
                        text.small x="45" y="138" { (told) }
                    }
                }
            }
        }
    }
}

fn sign(card: i32) -> (&'static str, &'static str) {
    match Card::try_from(card) {
        Ok(Card::RedHeart) => ("\u{2665}\u{fe0e}", "red"),
        Ok(Card::RedDiamond) => ("\u{2666}\u{fe0e}", "red"),
        Ok(Card::BlackSpade) => ("\u{2660}\u{fe0e}", "black"),
        Ok(Card::BlackClub) => ("\u{2663}\u{fe0e}", "black"),
        Ok(Card::Joker) => ("\u{2605}\u{fe0e}", "black"),
        _ => ("?", "black"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::PickOffer;

    fn things(choice: Option<&Choice>, outcome: &Outcome) -> Markup {
        super::things(motherlode_slots::latest("neptune").unwrap().info(), choice, outcome)
    }

    fn reveal(number: u32, coins: u64) -> Reveal {
        Reveal { number, coins }
    }

    #[test]
    fn np_10_np_12_objects_are_drawn_as_far_as_they_may_be_known() {
        let offer = Outcome { pick: Some(PickOffer { needs: 2, of: 5 }), ..Outcome::default() };
        let drawn = things(None, &offer).into_string();
        assert_eq!((drawn.matches("<text").count(), drawn.contains("coins")), (5, false), "{drawn}");
        let opened = Outcome { reveals: vec![reveal(4, 1_250)], unopened: vec![reveal(1, 77)], ..Outcome::default() };
        let drawn = things(None, &opened).into_string();
        assert!(drawn.contains("4 opened, 1,250 coins") && drawn.contains("1 not picked, 77 coins"), "{drawn}");
        assert!(drawn.contains(">1,250</text>") && drawn.contains(">77</text>"));
        let picked = choice::Kind::Pick(choice::Pick { numbers: vec![2, 3] });
        let drawn = things(Some(&Choice { kind: Some(picked) }), &Outcome::default()).into_string();
        assert!(drawn.contains("Objects: 2 picked, 3 picked"), "{drawn}");
        let many = Outcome { pick: Some(PickOffer { needs: 1, of: u32::MAX }), ..Outcome::default() };
        assert!(
            things(None, &many).into_string().len() < 20_000,
            "an offer larger than any game's is not drawn completely"
        );
        assert_eq!(things(None, &Outcome::default()).0, "");
    }

    #[test]
    fn bw_22_bw_24_the_card_stands_beside_the_guess_and_those_before_it() {
        let turn = CardTurn { guess: Card::RedHeart.into(), drawn: Card::BlackClub.into(), ..CardTurn::default() };
        let double_strip = vec![Card::BlackClub.into(), Card::RedDiamond.into()];
        let drawn = things(None, &Outcome { card: Some(turn), double_strip, ..Outcome::default() }).into_string();
        let at = |sign: &str| drawn.find(sign).unwrap_or(usize::MAX);
        assert!(
            at("\u{2665}") < at("\u{2663}") && at("\u{2663}") < at("\u{2666}") && drawn.contains(">wrong</text>"),
            "{drawn}"
        );
    }
}
