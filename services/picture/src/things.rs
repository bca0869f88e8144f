use crate::{
    figures::grouped,
    markup::{Markup, plain, tag},
};
use motherlode_proto::round::v1::{Card, CardTurn, Choice, Outcome, Reveal, choice};
use motherlode_slots::GameInfo;
use std::collections::BTreeMap;

const OBJECT: (usize, usize) = (110, 120);
const ACROSS: usize = 6;
const OBJECTS_MAX: u32 = 40;
const CARD: (usize, usize) = (90, 150);

#[must_use]
pub fn things(game: &GameInfo, choice: Option<&Choice>, outcome: &Outcome) -> Markup {
    let parts =
        [objects(game, choice, outcome), outcome.card.as_ref().map(|turn| cards(turn, outcome)).unwrap_or_default()];
    match parts.iter().all(|part| *part == Markup::default()) {
        true => Markup::default(),
        false => tag("div", &[("class", "things")], parts),
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
    let view = format!("0 0 {width} {height}");
    let told: Vec<_> = all.iter().map(|(number, object)| format!("{number} {}", object.description())).collect();
    let drawn = all.iter().enumerate().map(|(at, (number, object))| {
        let place = format!("translate({} {})", at % ACROSS * OBJECT.0, at / ACROSS * OBJECT.1);
        tag("g", &[("transform", &place)], object.drawn(*number, vials))
    });
    let label = format!("Objects: {}", told.join(", "));
    let drawn = drawn.collect::<Markup>();
    let class = ("class", ["one-row", "two-rows"].get(rows - 1).copied().unwrap_or("rows"));
    plain("figure", tag("svg", &[class, ("viewBox", &view), ("role", "img"), ("aria-label", &label)], drawn))
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
            Self::Left(of) => format!("left, {} coins", grouped(&of.coins.to_string())),
        }
    }

    fn drawn(&self, number: u32, vial: bool) -> Markup {
        if vial {
            return self.vial(number);
        }
        let (chest, held) = match self {
            Self::Closed => ("closed", String::new()),
            Self::Picked => ("opened", String::new()),
            Self::Opened(of) => ("opened", grouped(&of.coins.to_string())),
            Self::Left(of) => ("closed", grouped(&of.coins.to_string())),
        };
        let open = matches!(self, Self::Opened(_) | Self::Picked);
        let lid = if open { "M20 44 14 18q41-16 82 0l-6 26z" } else { "M18 56V46q0-16 16-16h42q16 0 16 16v10z" };
        let gold = if open {
            tag("path", &[("class", "gold"), ("d", "M24 56q8-16 18-8 8-14 20-2 14-10 24 10z")], "")
        } else {
            Markup::default()
        };
        let body = tag(
            "rect",
            &[("class", chest), ("x", "18"), ("y", "56"), ("width", "74"), ("height", "34"), ("rx", "4")],
            "",
        );
        let lock = tag(
            "rect",
            &[("class", "gold"), ("x", "49"), ("y", "52"), ("width", "12"), ("height", "14"), ("rx", "3")],
            "",
        );
        let text = |class: &str, y: &str, told: String| tag("text", &[("class", class), ("x", "55"), ("y", y)], told);
        let class = if matches!(self, Self::Left(_)) { "dim" } else { "" };
        let parts = [tag("path", &[("class", chest), ("d", lid)], ""), gold, body, lock];
        let number = text(if open { "inside" } else { "small" }, "84", number.to_string());
        let held = if held.is_empty() { Markup::default() } else { text("coins", "110", held) };
        [tag("g", &[("class", class)], parts), number, held].into()
    }
}

impl Object<'_> {
    fn vial(&self, number: u32) -> Markup {
        let class = if matches!(self, Self::Closed | Self::Left(_)) { "closed" } else { "gold" };
        let glass = [("class", class), ("d", "M44 20h22v24l22 38q6 12-8 12H30q-14 0-8-12l22-38z")];
        let cork = [("class", "opened"), ("x", "42"), ("y", "10"), ("width", "26"), ("height", "12"), ("rx", "3")];
        let number = tag("text", &[("x", "55"), ("y", "82")], number.to_string());
        [tag("path", &glass, ""), tag("rect", &cork, ""), number].into()
    }
}

fn cards(turn: &CardTurn, outcome: &Outcome) -> Markup {
    let verdict = if turn.won { "right" } else { "wrong" };
    let before = outcome.double_strip.iter().skip(1).take(8);
    let shown = [(turn.guess, "the guess"), (turn.drawn, verdict)];
    let shown: Vec<_> = shown.into_iter().chain(before.map(|card| (*card, "before"))).collect();
    let view = format!("0 0 {} {}", shown.len() * CARD.0, CARD.1);
    let drawn = shown.iter().enumerate().map(|(at, (card, told))| {
        let place = format!("translate({} 0)", at * CARD.0);
        let (sign, hue) = sign(*card);
        let paper = [("class", "paper"), ("x", "6"), ("y", "6"), ("width", "78"), ("height", "110"), ("rx", "8")];
        let text = |class: &str, y: &str, told: &str| tag("text", &[("class", class), ("x", "45"), ("y", y)], told);
        let parts = [tag("rect", &paper, ""), text(hue, "77", sign), text("small", "138", told)];
        tag("g", &[("transform", &place), ("class", if at > 1 { "dim" } else { "" })], parts)
    });
    let label = format!("A card was turned: the guess was {verdict}");
    let drawn = drawn.collect::<Markup>();
    plain("figure", tag("svg", &[("viewBox", &view), ("role", "img"), ("aria-label", &label)], drawn))
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
        let drawn = things(None, &offer).to_string();
        assert_eq!((drawn.matches("<text").count(), drawn.contains("coins")), (5, false), "{drawn}");
        let opened = Outcome { reveals: vec![reveal(4, 1_250)], unopened: vec![reveal(1, 77)], ..Outcome::default() };
        let drawn = things(None, &opened).to_string();
        assert!(drawn.contains("4 opened, 1,250 coins") && drawn.contains("1 left, 77 coins"), "{drawn}");
        assert!(drawn.contains(">1,250</text>") && drawn.contains(">77</text>"));
        let picked = choice::Kind::Pick(choice::Pick { numbers: vec![2, 3] });
        let drawn = things(Some(&Choice { kind: Some(picked) }), &Outcome::default()).to_string();
        assert!(drawn.contains("Objects: 2 picked, 3 picked"), "{drawn}");
        let many = Outcome { pick: Some(PickOffer { needs: 1, of: u32::MAX }), ..Outcome::default() };
        assert!(things(None, &many).to_string().len() < 20_000, "an offer of no game's is not drawn whole");
        assert_eq!(things(None, &Outcome::default()), Markup::default());
    }

    #[test]
    fn bw_22_bw_24_the_card_stands_beside_the_guess_and_those_before_it() {
        let turn = CardTurn { guess: Card::RedHeart.into(), drawn: Card::BlackClub.into(), ..CardTurn::default() };
        let double_strip = vec![Card::BlackClub.into(), Card::RedDiamond.into()];
        let drawn = things(None, &Outcome { card: Some(turn), double_strip, ..Outcome::default() }).to_string();
        let at = |sign: &str| drawn.find(sign).unwrap_or(usize::MAX);
        assert!(
            at("\u{2665}") < at("\u{2663}") && at("\u{2663}") < at("\u{2666}") && drawn.contains(">wrong</text>"),
            "{drawn}"
        );
    }
}
