use crate::{
    draws::{DealtOf, KeyLost, seed_of},
    terms::{terms_from_log, terms_of},
};
use motherlode_proto::{
    convert::{
        Malformed,
        play::{choice_from_wire, choice_to_wire, hex, write_outcome},
    },
    round::v1::{self, choice::Kind},
};
use motherlode_slots::{self as slots, Choice, ChoiceRefused, Draws, Game, Outcome, Round, Seed, Stake, Terms};
use motherlode_state::{OpenRound, RoundStarted, StepResolved};
use prost::Message;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolvable {
    #[error("this program has no game {game} with rules version {rules_version}")]
    UnknownGame { game: String, rules_version: String },
    #[error("the mathematical model of {game} has SHA-256 {logged} in the round, but {known} in this program")]
    UnknownModel { game: String, logged: String, known: String },
    #[error("the game refuses the stake: {0}")]
    Stake(#[from] slots::StakeRefused),
    #[error("the round refuses the choice: {0}")]
    Choice(#[from] ChoiceRefused),
    #[error("the step is logged as automatic, but the game's rule would choose {rule:?}")]
    NotByRule { rule: Option<Choice> },
    #[error(transparent)]
    KeyLost(#[from] KeyLost),
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

pub fn game_of(started: &RoundStarted) -> Result<&'static dyn Game, Unresolvable> {
    let game = slots::game(&started.game, &started.rules_version).ok_or_else(|| Unresolvable::UnknownGame {
        game: started.game.to_string(),
        rules_version: started.rules_version.to_string(),
    })?;
    if game.model_hash() != started.model_hash {
        return Err(Unresolvable::UnknownModel {
            game: started.game.to_string(),
            logged: hex(&started.model_hash),
            known: hex(&game.model_hash()),
        });
    }
    Ok(game)
}

/// Returns whether a choice belongs to the gamble, which does not change the mean return.
#[must_use]
pub fn is_gamble(choice: &[u8]) -> bool {
    let kind = v1::Choice::decode(choice).ok().and_then(|choice| choice.kind);
    matches!(kind, Some(Kind::Double(_) | Kind::Halve(_) | Kind::Collect(_)))
}

pub struct Live {
    pub game: &'static dyn Game,
    pub stake: Stake,
    pub terms: Terms,
    round: Box<dyn Round>,
}

impl Live {
    pub fn begin(game: &'static dyn Game, stake: Stake, terms: Terms) -> Result<Self, slots::StakeRefused> {
        let round = game.open(&stake, &terms)?;
        Ok(Self { game, stake, terms, round })
    }

    pub fn open(started: &RoundStarted) -> Result<Self, Unresolvable> {
        let game = game_of(started)?;
        let (stake, terms) = terms_from_log(terms_of(started)?, game.carries(), started.coin_value, started.currency)?;
        Ok(Self::begin(game, stake, terms)?)
    }

    pub fn rebuild(open: &OpenRound, name: &str, dealt_of: &DealtOf<'_>) -> Result<Self, Unresolvable> {
        let (mut live, mut outcome) = (Self::open(&open.started)?, Outcome::default());
        for (step, number) in open.steps.iter().zip(1..) {
            live.again(seed_of(&step.drawn, name, number, dealt_of)?, &step.choice, &mut outcome)?;
        }
        Ok(live)
    }

    #[must_use]
    pub fn awaiting(&self) -> slots::Awaiting {
        self.round.awaiting()
    }

    /// Returns the choice that the game's rule makes for an absent player; `None` before the bet and after the round's end.
    #[must_use]
    pub fn automatic(&self) -> Option<Choice> {
        self.round.automatic().filter(|choice| *choice != Choice::Spin)
    }

    /// Resolves a step. Fails if the round does not await this choice; the seed is then unused.
    pub fn resolve(&mut self, choice: &Choice, seed: Seed, outcome: &mut Outcome) -> Result<(), ChoiceRefused> {
        self.round.resolve(choice, &mut Draws::from_seed(seed), outcome)
    }

    pub fn again(&mut self, seed: Seed, choice: &[u8], outcome: &mut Outcome) -> Result<(), Unresolvable> {
        let choice = choice_from_wire(&v1::Choice::decode(choice).map_err(Malformed::from)?)?;
        Ok(self.resolve(&choice, seed, outcome)?)
    }

    /// Resolves a logged step again. Fails if an automatic step's choice is not the choice of the game's rule (PL-03).
    pub fn logged(&mut self, step: &StepResolved, seed: Seed, outcome: &mut Outcome) -> Result<(), Unresolvable> {
        if step.automatic.is_some() {
            let rule = self.automatic();
            if rule.is_none_or(|choice| choice_to_wire(&choice).encode_to_vec() != step.choice) {
                return Err(Unresolvable::NotByRule { rule });
            }
        }
        self.again(seed, &step.choice, outcome)
    }

    pub fn write(&self, outcome: &Outcome, bytes: &mut Vec<u8>) {
        write_outcome(self.game, outcome, bytes);
    }
}
