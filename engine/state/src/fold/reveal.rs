use smallvec::SmallVec;

use crate::events::{Event, Refused};
use crate::state::OpenRound;
use crate::values::{Dealt, Seal, draw};

pub(super) struct RevealDue {
    pub round: u64,
    seals: SmallVec<[Seal; 1]>,
    /// Whether the round was voided; only then is `DrawsLost` accepted.
    voided: bool,
}

impl RevealDue {
    pub fn for_round(round: &OpenRound, voided: bool) -> Option<Self> {
        let seals: SmallVec<_> = round.draws().map(|draw| draw.seal).collect();
        (!seals.is_empty()).then_some(Self { round: round.started.round, seals, voided })
    }

    pub fn reveal(self, event: &Event) -> Result<(), Refused> {
        let number = self.round;
        match event {
            Event::DrawsRevealed { round, dealt } if *round == number => self.matches(dealt),
            Event::DrawsLost { round } if *round == number && self.voided => Ok(()),
            Event::DrawsLost { round } => Err(Refused::RevealUnfounded { round: *round }),
            _ => Err(Refused::RevealMissing { round: number }),
        }
    }

    fn matches(&self, dealt: &[Dealt]) -> Result<(), Refused> {
        if dealt.len() != self.seals.len() {
            return Err(Refused::RevealMissing { round: self.round });
        }
        match self.seals.iter().zip(dealt).zip(1..).find(|((seal, dealt), _)| draw::seal(dealt) != **seal) {
            Some((_, step)) => Err(Refused::RevealWrong { round: self.round, step }),
            None => Ok(()),
        }
    }
}
