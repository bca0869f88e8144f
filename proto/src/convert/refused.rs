//! Why the books refuse a commit, as a message between processes, and back: exactly, reason by reason.
//!
//! Each reason has a number for good, and what it says of itself follows in order. Nothing of it is ever stored. A
//! reason without its line here does not compile; one that a process does not know is [`Malformed`].

use super::{
    Malformed,
    event::{jackpot_awarded, parse_award},
    values::{nano, parse_nano},
};
use crate::log::v1;
use motherlode_books::{Award, CampaignOver, Currency, Minor, MoneyError, Nano, PoolStatus, Refused, Switch};
use prost::Message;

/// What a reason says of itself, as bytes of its own.
trait Argument: Sized {
    fn put(&self) -> Vec<u8>;
    fn take(bytes: &[u8]) -> Option<Self>;
    #[cfg(test)]
    fn sample() -> Self;
}

macro_rules! reasons {
    ($($number:literal $name:ident $({ $($field:ident),* })?;)*) => {
        /// A refusal as a message.
        pub fn to_wire(refused: &Refused) -> v1::Refused {
            let (reason, arguments) = match refused {
                $(Refused::$name $({ $($field),* })? => ($number, vec![$($($field.put()),*)?]),)*
                Refused::Money(error) => (MONEY, vec![error.put()]),
            };
            v1::Refused { reason, arguments }
        }

        /// A message as the refusal that it was made from.
        ///
        /// # Errors
        /// [`Malformed`] where it was made from none that is known here.
        pub fn from_wire(message: &v1::Refused) -> Result<Refused, Malformed> {
            let mut left = message.arguments.iter().map(Vec::as_slice);
            let refused = match message.reason {
                $($number => Refused::$name $({ $($field: next(&mut left)?),* })?,)*
                MONEY => Refused::Money(next(&mut left)?),
                _ => return Err(Malformed::Field("refused.reason")),
            };
            match left.next() {
                None => Ok(refused),
                Some(_) => Err(Malformed::Field("refused.arguments")),
            }
        }

        /// One of each reason.
        #[cfg(test)]
        fn samples() -> Vec<Refused> {
            vec![$(Refused::$name $({ $($field: Argument::sample()),* })?,)* Refused::Money(Argument::sample())]
        }
    };
}

/// Of [`Refused::Money`], the one reason that names nothing.
const MONEY: u32 = 1;

reasons! {
    2 WrongPosition { expected, found };
    3 WrongVersion { expected, found };
    4 WrongPartition { expected, found };
    5 WrongPrevious { expected, found };
    6 TimeRanBack { latest, found };
    7 Empty;
    8 BadStream;
    9 WrongStream;
    10 UnknownAccount { currency };
    11 AccountExists { currency };
    12 UnknownPlayer;
    13 BadAmount { amount };
    14 PlayMoney;
    15 InsufficientFunds { currency, balance, needed };
    16 SwitchedOff { switch, reason };
    17 BadSwitch;
    18 SwitchUnchanged { switch };
    19 BadChange;
    20 TooManyChanges { most };
    21 NoSuchChange { change };
    22 ChangeLapsed { change };
    23 SameActor { change, actor };
    24 NotAsProposed;
    25 RoundOpen { round };
    26 WrongRound { expected, found };
    27 NoSuchRound { round };
    28 AlreadyVoided { round };
    29 RecallNeeded { round };
    30 WrongStep { expected, found };
    31 NothingResolved { round };
    32 WrongAmount { expected, found };
    33 NoRate { currency };
    34 WrongRate { currency };
    35 BadCampaign { reason };
    36 CampaignExists { campaign };
    37 UnknownCampaign { campaign };
    38 CampaignOver { campaign, over };
    39 CampaignBegun { campaign };
    40 NotOfCampaign { campaign };
    41 FreeRoundPooled { round };
    42 UnknownPool { pool };
    43 PoolExists;
    44 PoolStatus { status };
    45 WrongTerms { expected, found };
    46 BadTerms { reason };
    47 ContributionWrong { expected, found };
    48 ContributionMissing { pool };
    49 CoinTooLarge;
    50 HitUnfounded { round };
    51 SecondDecision;
    52 WrongStretch { expected, found };
    53 NotDurable { to, end };
    54 DecisionWaits { position };
    55 NothingToDecide { position };
    56 WrongFigure { expected, found };
    57 AwardWrong { expected, found };
    58 NoSuchAward { hit };
    59 PoolOutstanding;
    60 NoSuchTransfer { pool };
    61 Unbalanced { currency, by };
    62 DecidedAtHome;
    63 BadReport { reason };
    64 StaleMirror { expected, found };
    200 AmountAboveCeiling { currency, amount, ceiling };
    201 BalanceAboveCeiling { currency, balance, ceiling };
    202 RateOutOfBounds { currency };
    203 AwardPayable { hit };
    204 OtherActors { change };
    205 PlatformsSwitch { switch };
    138 NoSuchSession;
    139 PastLimit { currency, limit, bet };
}

fn next<'a, T: Argument>(left: &mut impl Iterator<Item = &'a [u8]>) -> Result<T, Malformed> {
    left.next().and_then(T::take).ok_or(Malformed::Field("refused.arguments"))
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Argument for $integer {
            fn put(&self) -> Vec<u8> {
                self.to_string().into_bytes()
            }

            fn take(bytes: &[u8]) -> Option<Self> {
                std::str::from_utf8(bytes).ok()?.parse().ok()
            }

            #[cfg(test)]
            fn sample() -> Self {
                <$integer>::MAX - 1
            }
        }
    )*};
}

integers!(u32 u64 usize i64);

/// A choice by its name.
macro_rules! choices {
    ($type:ident $($name:ident)*) => {
        impl Argument for $type {
            fn put(&self) -> Vec<u8> {
                match self {
                    $(Self::$name => stringify!($name).as_bytes().to_vec(),)*
                }
            }

            fn take(bytes: &[u8]) -> Option<Self> {
                [$(Self::$name),*].into_iter().find(|choice| choice.put() == bytes)
            }

            #[cfg(test)]
            fn sample() -> Self {
                [$(Self::$name),*][1]
            }
        }
    };
}

choices!(CampaignOver Cancelled UsedUp Expired);
choices!(MoneyError Malformed UnknownCurrency OutOfRange);

impl Argument for String {
    fn put(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        Self::from_utf8(bytes.to_vec()).ok()
    }

    #[cfg(test)]
    fn sample() -> Self {
        "größer".to_owned()
    }
}

impl Argument for Currency {
    fn put(&self) -> Vec<u8> {
        self.code().as_bytes().to_vec()
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()?.parse().ok()
    }

    #[cfg(test)]
    fn sample() -> Self {
        Self::PLAY
    }
}

impl Argument for Minor {
    fn put(&self) -> Vec<u8> {
        self.0.put()
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        i64::take(bytes).map(Self)
    }

    #[cfg(test)]
    fn sample() -> Self {
        Self(i64::MIN)
    }
}

impl Argument for Nano {
    fn put(&self) -> Vec<u8> {
        nano(*self)
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        parse_nano(bytes, "").ok()
    }

    #[cfg(test)]
    fn sample() -> Self {
        Self(i128::MIN + 1)
    }
}

impl Argument for Switch {
    fn put(&self) -> Vec<u8> {
        let Self { operator, game, rules_version } = self.clone();
        v1::SwitchSet { operator, game, rules_version, ..v1::SwitchSet::default() }.encode_to_vec()
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        let v1::SwitchSet { operator, game, rules_version, .. } = v1::SwitchSet::decode(bytes).ok()?;
        Some(Self { operator, game, rules_version })
    }

    #[cfg(test)]
    fn sample() -> Self {
        Self { operator: "acme".to_owned(), game: "neptune".to_owned(), rules_version: "1".to_owned() }
    }
}

impl Argument for PoolStatus {
    fn put(&self) -> Vec<u8> {
        match self {
            Self::Active => b"Active".to_vec(),
            Self::Suspended => b"Suspended".to_vec(),
            Self::Retired { into, increments, reserve } => {
                let (into, actor) = (into.clone(), String::new());
                let retired = v1::PoolRetired { into, increments: nano(*increments), reserve: nano(*reserve), actor };
                [b"Retired".as_slice(), &retired.encode_to_vec()].concat()
            }
        }
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        match bytes {
            b"Active" => Some(Self::Active),
            b"Suspended" => Some(Self::Suspended),
            _ => {
                let retired = v1::PoolRetired::decode(bytes.strip_prefix(b"Retired")?).ok()?;
                let (increments, reserve) = (Nano::take(&retired.increments)?, Nano::take(&retired.reserve)?);
                Some(Self::Retired { into: retired.into, increments, reserve })
            }
        }
    }

    #[cfg(test)]
    fn sample() -> Self {
        Self::Retired { into: "heir".to_owned(), increments: Nano::sample(), reserve: Nano(7) }
    }
}

impl Argument for Box<Award> {
    fn put(&self) -> Vec<u8> {
        jackpot_awarded(self).encode_to_vec()
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        parse_award(v1::JackpotAwarded::decode(bytes).ok()?).ok().map(Self::new)
    }

    #[cfg(test)]
    fn sample() -> Self {
        Self::new(Award {
            hit: 1,
            partition: 2,
            stream: motherlode_books::StreamId::player("acme", "alice"),
            round: 3,
            cycle: 4,
            collision: true,
            currency: Currency::EUR,
            coin_value: motherlode_books::CoinValue(5),
            rate: motherlode_books::FxRate::ONE,
            amount: Minor(6),
            increments: Nano(7),
            seed_from_reserve: Nano(8),
            seed_from_house: Nano(9),
            to_reserve: Nano(10),
            paid: Nano(11),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pl_12_every_refusal_of_the_books_comes_back_as_it_was() {
        let all = samples();
        let numbers: BTreeSet<_> = all.iter().map(|refused| to_wire(refused).reason).collect();
        assert_eq!(numbers.len(), all.len(), "each has a number of its own");
        for refused in all {
            let bytes = to_wire(&refused).encode_to_vec();
            assert_eq!(from_wire(&v1::Refused::decode(&*bytes).unwrap()), Ok(refused));
        }
        for status in [PoolStatus::Active, PoolStatus::Suspended] {
            let refused = Refused::PoolStatus { status };
            assert_eq!(from_wire(&to_wire(&refused)), Ok(refused));
        }
    }

    #[test]
    fn what_no_refusal_was_made_into_is_malformed() {
        let good = to_wire(&Refused::RoundOpen { round: 3 });
        for (reason, arguments) in [
            (0, vec![]),
            (u32::MAX, vec![]),
            (good.reason, vec![]),
            (good.reason, vec![b"x".to_vec()]),
            (good.reason, vec![b"3".to_vec(), b"3".to_vec()]),
        ] {
            assert!(from_wire(&v1::Refused { reason, arguments }).is_err());
        }
    }
}
