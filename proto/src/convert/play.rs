use super::Malformed;
use crate::round::v1::{self, choice};
use motherlode_slots as slots;

use super::outcome::card;
pub use super::outcome::write_outcome;

#[must_use]
pub fn choice_to_wire(choice: &slots::Choice) -> v1::Choice {
    let kind = match choice {
        slots::Choice::Spin => choice::Kind::Spin(choice::Spin {}),
        slots::Choice::Pick(picked) => choice::Kind::Pick(choice::Pick {
            numbers: picked.as_slice().iter().map(|object| u32::from(*object) + 1).collect(),
        }),
        slots::Choice::StartFreeSpins => choice::Kind::StartFreeSpins(choice::StartFreeSpins {}),
        slots::Choice::StartFeature => choice::Kind::StartFeature(choice::StartFeature {}),
        slots::Choice::Double(guess) => choice::Kind::Double(card(*guess).into()),
        slots::Choice::Halve => choice::Kind::Halve(choice::Halve {}),
        slots::Choice::Collect => choice::Kind::Collect(choice::Collect {}),
    };
    v1::Choice { kind: Some(kind) }
}

/// This function does not check whether the choice fits the round; the round checks it.
pub fn choice_from_wire(choice: &v1::Choice) -> Result<slots::Choice, Malformed> {
    Ok(match choice.kind.as_ref().ok_or(Malformed::Field("choice.kind"))? {
        choice::Kind::Spin(_) => slots::Choice::Spin,
        choice::Kind::Pick(pick) => slots::Choice::Pick(picked(&pick.numbers)?),
        choice::Kind::StartFreeSpins(_) => slots::Choice::StartFreeSpins,
        choice::Kind::StartFeature(_) => slots::Choice::StartFeature,
        choice::Kind::Double(guess) => match v1::Card::try_from(*guess) {
            Ok(v1::Card::RedHeart) => slots::Choice::Double(slots::Card::RedHeart),
            Ok(v1::Card::BlackSpade) => slots::Choice::Double(slots::Card::BlackSpade),
            _ => return Err(Malformed::Field("choice.double")),
        },
        choice::Kind::Halve(_) => slots::Choice::Halve,
        choice::Kind::Collect(_) => slots::Choice::Collect,
    })
}

fn picked(numbers: &[u32]) -> Result<slots::Picked, Malformed> {
    let malformed = || Malformed::Field("choice.pick.numbers");
    let object = |number: &u32| number.checked_sub(1).and_then(|object| u8::try_from(object).ok());
    let objects: Vec<u8> = numbers.iter().map(object).collect::<Option<_>>().ok_or_else(malformed)?;
    slots::Picked::new(&objects).ok_or_else(malformed)
}

#[must_use]
pub fn hex(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
