//! Automaton that reads a payline from the left.

use crate::parts::lines::Lines;
use crate::parts::reels::REELS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Run {
    Wilds,
    Symbol { symbol: u8, wilds: usize },
    Over { symbol: u8, count: usize },
}

impl Run {
    pub(crate) fn read(self, reel: usize, cell: u8, lines: &Lines) -> Self {
        match self {
            Self::Wilds if cell == lines.wild() => self,
            Self::Wilds if lines.on_lines(cell) => Self::Symbol { symbol: cell, wilds: reel },
            Self::Wilds => Self::Over { symbol: lines.wild(), count: reel },
            Self::Symbol { symbol, .. } if cell == symbol || cell == lines.wild() => self,
            Self::Symbol { .. } => self.end(reel, lines),
            Self::Over { .. } => self,
        }
    }

    pub(crate) fn end(self, count: usize, lines: &Lines) -> Self {
        match self {
            Self::Wilds => Self::Over { symbol: lines.wild(), count },
            Self::Symbol { symbol, wilds } => {
                let alone = Self::Over { symbol: lines.wild(), count: wilds };
                let all = Self::Over { symbol, count };
                if alone.pays(lines) > all.pays(lines) { alone } else { all }
            }
            Self::Over { .. } => self,
        }
    }

    pub(crate) fn pays(self, lines: &Lines) -> u64 {
        match self {
            Self::Over { symbol, count } => lines.pays()[usize::from(symbol)][count],
            Self::Symbol { .. } => self.end(REELS, lines).pays(lines),
            Self::Wilds => lines.pays().iter().map(|pays| pays[REELS]).max().unwrap_or(0),
        }
    }

    pub(crate) fn lost(self, lines: &Lines) -> bool {
        self.pays(lines) == 0
    }
}
