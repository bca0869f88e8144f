use motherlode_slots::{SymbolInfo, SymbolRole};
use std::{env, io::IsTerminal};

#[must_use]
pub fn colour_wanted(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb")
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    colour: bool,
    columns: usize,
}

const COLUMNS: usize = 80;

/// Hues from the 256-colour palette that are readable on dark and light backgrounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hue {
    Plain,
    Gold,
    Pink,
    Cyan,
    Red,
    Green,
    Blue,
    Violet,
    Orange,
    Grey,
    Teal,
    Olive,
    Rose,
}

impl Hue {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "39",
            Self::Gold => "38;5;178",
            Self::Pink => "38;5;170",
            Self::Cyan => "38;5;38",
            Self::Red => "38;5;167",
            Self::Green => "38;5;71",
            Self::Blue => "38;5;68",
            Self::Violet => "38;5;134",
            Self::Orange => "38;5;172",
            Self::Grey => "38;5;245",
            Self::Teal => "38;5;73",
            Self::Olive => "38;5;142",
            Self::Rose => "38;5;131",
        }
    }

    pub(super) fn for_symbol(symbol: &SymbolInfo, index: usize) -> Self {
        match symbol.role {
            SymbolRole::Wild => return Self::Gold,
            SymbolRole::Scatter | SymbolRole::FreeSpins => return Self::Pink,
            SymbolRole::Bonus => return Self::Cyan,
            SymbolRole::Regular | SymbolRole::Collected | SymbolRole::SuperHigh | SymbolRole::Question => {}
        }
        match symbol.name.split(' ').next().unwrap_or_default() {
            "Red" => Self::Red,
            "Green" => Self::Green,
            "Blue" => Self::Blue,
            "Purple" => Self::Violet,
            "Black" => Self::Grey,
            _ => [Self::Orange, Self::Teal, Self::Olive, Self::Plain, Self::Rose][index % 5],
        }
    }
}

impl Pen {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour, columns: COLUMNS }
    }

    pub(super) fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    pub(super) fn columns(self) -> usize {
        self.columns
    }

    pub(super) fn room(self) -> usize {
        self.columns.min(COLUMNS).saturating_sub(4)
    }

    pub(super) fn has_colour(self) -> bool {
        self.colour
    }

    pub(super) fn plain(self, hue: Hue, text: &str) -> String {
        self.write(hue.code(), text)
    }

    pub(super) fn bold(self, hue: Hue, text: &str) -> String {
        self.write(&format!("1;{}", hue.code()), text)
    }

    pub(super) fn reversed(self, hue: Hue, text: &str) -> String {
        self.write(&format!("1;7;{}", hue.code()), text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.write("2", text)
    }

    fn write(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
