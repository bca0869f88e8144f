//! Payline as an automaton over its cells from the left.

use crate::parts::lines::Lines;
use crate::parts::reels::REELS;

/// State of a line read from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Run {
    /// Only wilds; the start of every line.
    Wilds,
    /// Running symbol; the first `wilds` cells were wilds.
    Symbol { symbol: u8, wilds: usize },
    /// Ended: `count` of `symbol` is the highest combination.
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

    /// Ends after `count` cells; leading wilds count as their own combination if that pays more.
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

    /// Pay of an ended run, or the highest possible pay of a running one.
    pub(crate) fn pays(self, lines: &Lines) -> u64 {
        match self {
            Self::Over { symbol, count } => lines.pays()[usize::from(symbol)][count],
            Self::Symbol { .. } => self.end(REELS, lines).pays(lines),
            Self::Wilds => lines.pays().iter().map(|pays| pays[REELS]).max().unwrap_or(0),
        }
    }

    /// Returns whether no continuation can pay.
    pub(crate) fn lost(self, lines: &Lines) -> bool {
        self.pays(lines) == 0
    }
}
