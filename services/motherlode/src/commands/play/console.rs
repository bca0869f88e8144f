//! The terminal of a player: lines out, answers in.

use super::Failure;
use motherlode_proto::round::v1::{Card, Witch, choice};
use std::io::{BufRead, ErrorKind, Write};

/// Where a player reads and answers.
#[derive(Debug)]
pub struct Console<W, R> {
    output: W,
    input: R,
    colour: bool,
    closed: bool,
}

impl<W: Write, R: BufRead> Console<W, R> {
    /// A console; with colour or without.
    pub fn new(output: W, input: R, colour: bool) -> Self {
        Self { output, input, colour, closed: false }
    }

    /// Whether to draw in colour.
    pub fn colour(&self) -> bool {
        self.colour
    }

    /// Whether the reader of the output has gone.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes text, which ends its own lines.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|error| {
            self.closed |= error.kind() == ErrorKind::BrokenPipe;
            Failure::found(format!("the output cannot be written: {error}"))
        })
    }

    /// Asks until the answer is understood; `None` when the input has ended.
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

    /// Asks for the witch (BW-05).
    pub(super) fn ask_witch(&mut self) -> Result<Option<Witch>, Failure> {
        self.ask("Which witch comes along: (w)hite or (d)ark?", |answer| match answer {
            "w" | "white" => Some(Witch::White),
            "d" | "dark" => Some(Witch::Dark),
            _ => None,
        })
    }

    /// Asks for three different vials (BW-06).
    pub(super) fn ask_vials(&mut self, vials: u8) -> Result<Option<choice::Kind>, Failure> {
        let question = format!("Merlin waits. Three different vials of 1 to {vials}, such as 1 4 6:");
        let numbers = self.ask(&question, |answer| three_vials(answer, vials))?;
        Ok(numbers.map(|numbers| choice::Kind::Vials(choice::Vials { numbers })))
    }

    /// Asks to start the free spins (BW-25).
    pub(super) fn ask_start(&mut self) -> Result<Option<choice::Kind>, Failure> {
        let start = self.ask("Enter starts the free spins:", |_| Some(()))?;
        Ok(start.map(|()| choice::Kind::StartFreeSpins(choice::StartFreeSpins {})))
    }

    /// Asks for a guess, or to collect (BW-22).
    pub(super) fn ask_double(&mut self) -> Result<Option<choice::Kind>, Failure> {
        self.ask("Double on red (h)eart or black (s)pade, or (c)ollect:", |answer| match answer {
            "h" | "heart" => Some(choice::Kind::Double(Card::RedHeart.into())),
            "s" | "spade" => Some(choice::Kind::Double(Card::BlackSpade.into())),
            "c" | "collect" => Some(choice::Kind::Collect(choice::Collect {})),
            _ => None,
        })
    }
}

fn three_vials(answer: &str, vials: u8) -> Option<Vec<u32>> {
    let words = answer.split(|char: char| char == ',' || char.is_whitespace()).filter(|word| !word.is_empty());
    let numbers: Vec<u32> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    match numbers[..] {
        [a, b, c] if a != b && a != c && b != c => {
            numbers.iter().all(|number| (1..=u32::from(vials)).contains(number)).then_some(numbers)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vials_are_three_different_numbers_in_range() {
        assert_eq!(three_vials("1 4 6", 6), Some(vec![1, 4, 6]));
        assert_eq!(three_vials(" 6,5, 4", 6), Some(vec![6, 5, 4]));
        for bad in ["", "1 2", "1 2 2", "1 2 7", "0 1 2", "1 2 3 4", "a b c", "-1 2 3"] {
            assert_eq!(three_vials(bad, 6), None, "{bad}");
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
