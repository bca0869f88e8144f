use crate::{commands::Failure, draw};
use motherlode_proto::round::v1::{Card, PickOffer, Witch, choice};
use std::{
    collections::BTreeSet,
    io::{BufRead, ErrorKind, Write},
};

#[derive(Debug)]
pub struct Console<W, R> {
    output: W,
    input: R,
    colour: bool,
    columns: usize,
    closed: bool,
}

impl<W: Write, R: BufRead> Console<W, R> {
    pub fn new(output: W, input: R, colour: bool) -> Self {
        Self { output, input, colour, columns: 80, closed: false }
    }

    #[must_use]
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub fn colour(&self) -> bool {
        self.colour
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        let text = if self.columns < 80 { &*draw::wrapped(text, self.columns) } else { text };
        let written = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|error| {
            self.closed |= error.kind() == ErrorKind::BrokenPipe;
            Failure::found(format!("the output cannot be written: {error}"))
        })
    }

    fn ask<T>(&mut self, question: &str, understand: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Failure> {
        loop {
            self.say(&format!("  {question} "))?;
            let mut line = String::new();
            match self.input.read_line(&mut line) {
                Ok(0) => {
                    self.say("\n")?;
                    return Ok(None);
                }
                Ok(_) => {
                    if let Some(answer) = understand(line.trim().to_lowercase().as_str()) {
                        return Ok(Some(answer));
                    }
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => {}
                Err(error) => return Err(Failure::found(format!("the input cannot be read: {error}"))),
            }
        }
    }

    pub(super) fn ask_witch(&mut self) -> Result<Option<Witch>, Failure> {
        self.ask("Which witch comes along: (w)hite or (d)ark?", |answer| match answer {
            "w" | "white" => Some(Witch::White),
            "d" | "dark" => Some(Witch::Dark),
            _ => None,
        })
    }

    pub(super) fn ask_pick(&mut self, whose: &str, offer: PickOffer) -> Result<Option<choice::Kind>, Failure> {
        let PickOffer { needs, of } = offer;
        let example: Vec<_> = (1..=needs.min(of)).map(|number| number.to_string()).collect();
        let question =
            format!("{whose}: pick {needs} different numbers from 1 to {of}, such as {}:", example.join(" "));
        let numbers = self.ask(&question, |answer| different(answer, offer))?;
        Ok(numbers.map(|numbers| choice::Kind::Pick(choice::Pick { numbers })))
    }

    pub(super) fn ask_free_spins(&mut self) -> Result<Option<choice::Kind>, Failure> {
        let start = self.ask("Press Enter to start the free spins:", |_| Some(()))?;
        Ok(start.map(|()| choice::Kind::StartFreeSpins(choice::StartFreeSpins {})))
    }

    pub(super) fn ask_feature(&mut self) -> Result<Option<choice::Kind>, Failure> {
        let start = self.ask("Press Enter to start the feature:", |_| Some(()))?;
        Ok(start.map(|()| choice::Kind::StartFeature(choice::StartFeature {})))
    }

    pub(super) fn ask_double(&mut self, halve: bool) -> Result<Option<choice::Kind>, Failure> {
        let offer = if halve { ", ha(l)ve," } else { "," };
        let question = format!("Double on red (h)eart or black (s)pade{offer} or (c)ollect:");
        self.ask(&question, |answer| match answer {
            "h" | "heart" => Some(choice::Kind::Double(Card::RedHeart.into())),
            "s" | "spade" => Some(choice::Kind::Double(Card::BlackSpade.into())),
            "l" | "halve" if halve => Some(choice::Kind::Halve(choice::Halve {})),
            "c" | "collect" => Some(choice::Kind::Collect(choice::Collect {})),
            _ => None,
        })
    }
}

fn different(answer: &str, offer: PickOffer) -> Option<Vec<u32>> {
    let words = answer.split(|char: char| char == ',' || char.is_whitespace()).filter(|word| !word.is_empty());
    let numbers: Vec<u32> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    let in_range = numbers.iter().all(|number| (1..=offer.of).contains(number));
    let different = numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len();
    (in_range && different && numbers.len() == offer.needs as usize).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pick_is_as_many_different_numbers_in_range_as_are_asked_for() {
        let vials = PickOffer { needs: 3, of: 6 };
        assert_eq!(different("1 4 6", vials), Some(vec![1, 4, 6]));
        assert_eq!(different(" 6,5, 4", vials), Some(vec![6, 5, 4]));
        assert_eq!(different("1 2 3 4", PickOffer { needs: 4, of: 12 }), Some(vec![1, 2, 3, 4]));
        for bad in ["", "1 2", "1 2 2", "1 2 7", "0 1 2", "1 2 3 4", "a b c", "-1 2 3"] {
            assert_eq!(different(bad, vials), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_understood_is_asked_again_until_the_input_ends() {
        let mut output = vec![];
        let mut console = Console::new(&mut output, &b"what?\nDark\n"[..], false);
        assert_eq!(console.ask_witch().unwrap(), Some(Witch::Dark));
        assert_eq!(console.ask_witch().unwrap(), None);
        assert_eq!(String::from_utf8(output).unwrap().matches("Which witch").count(), 3);
    }
}
