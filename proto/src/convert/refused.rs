//! Refused commits as messages between processes; they are never stored. A message contains the permanent number of the
//! reason, and the arguments of the reason.

use super::{Malformed, plain::In, values::Message};
use crate::log::v1;
use motherlode_state::{Award, CampaignOver, Currency, Minor, MoneyError, Nano, PoolStatus, Refused, SmolStr, Switch};
use std::str::FromStr;

trait Argument: Sized {
    fn put(&self) -> Vec<u8>;
    fn take(bytes: &[u8]) -> Option<Self>;
    #[cfg(test)]
    fn sample() -> Self;
}

macro_rules! reasons {
    ($($number:literal $name:ident $({ $($field:ident),* })?;)*) => {
        pub fn to_wire(refused: &Refused) -> v1::Refused {
            let (reason, arguments) = match refused {
                $(Refused::$name $({ $($field),* })? => ($number, vec![$($($field.put()),*)?]),)*
                Refused::Money(error) => (MONEY, vec![error.put()]),
            };
            v1::Refused { reason, arguments }
        }

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

        #[cfg(test)]
        fn samples() -> Vec<Refused> {
            vec![$(Refused::$name $({ $($field: Argument::sample()),* })?,)* Refused::Money(Argument::sample())]
        }
    };
}

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
    65 DrawMissing { number };
    66 WrongDraw { expected, found };
    67 SealUnfounded { number };
    68 ClientSeedTooLong { bytes };
    69 RevealMissing { round };
    70 RevealWrong { round, step };
    71 RevealUnfounded { round };
    72 NotCancelled;
    73 SeamlessWallet;
    74 TransferWallet;
    75 DebitOpen;
    76 NoSuchDebit;
    77 DebitUnused;
    78 NoSuchDue;
    79 SealedElsewhere { number };
    300 VoidUnapproved { round };
    301 VoidedJackpotWrong { round };
    302 AwardPending { hit };
    303 AwardHeld { hit };
    304 VoidProposedBefore { round };
    305 BadIncident { reason };
    306 IncidentExists { id };
    307 UnknownIncident { id };
    308 TooManyIncidents { most };
    80 SealOfOtherGeneration { number, expected, found };
    81 SealEnded { number, generation };
    82 BadGeneration { number };
    309 VoidFactsWrong { round };
    310 BadBase { position };
    311 BadRestore { number };
    200 AmountAboveCeiling { currency, amount, ceiling };
    201 BalanceAboveCeiling { currency, balance, ceiling };
    202 RateOutOfBounds { currency };
    203 AwardPayable { hit };
    204 OtherActors { change };
    205 PlatformsSwitch { switch };
    206 DuesWaiting { most };
    207 LiabilityAboveCap { open, max_liability, cap };
    138 NoSuchSession;
    139 PastLimit { currency, limit, bet };
}

fn next<'a, T: Argument>(left: &mut impl Iterator<Item = &'a [u8]>) -> Result<T, Malformed> {
    left.next().and_then(T::take).ok_or(Malformed::Field("refused.arguments"))
}

fn text<T: FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn choice<T: Argument, const COUNT: usize>(bytes: &[u8], choices: [T; COUNT]) -> Option<T> {
    choices.into_iter().find(|choice| choice.put() == bytes)
}

macro_rules! arguments {
    ($($type:ty: $value:ident $put:expr, $take:expr, $sample:expr;)*) => {$(
        impl Argument for $type {
            fn put(&self) -> Vec<u8> {
                let $value = self;
                $put
            }

            fn take($value: &[u8]) -> Option<Self> {
                $take
            }

            #[cfg(test)]
            fn sample() -> Self {
                $sample
            }
        }
    )*};
}

arguments! {
    u32: value value.to_string().into_bytes(), text(value), u32::MAX - 1;
    u64: value value.to_string().into_bytes(), text(value), u64::MAX - 1;
    usize: value value.to_string().into_bytes(), text(value), usize::MAX - 1;
    i64: value value.to_string().into_bytes(), text(value), i64::MAX - 1;
    String: value value.as_bytes().to_vec(), text(value), "größer".to_owned();
    SmolStr: value value.as_bytes().to_vec(), text(value), "größer".into();
    Minor: value value.0.put(), text(value).map(Minor), Minor(i64::MIN);
    Nano: value value.0.to_be_bytes().to_vec(), Some(Nano(i128::from_be_bytes(value.try_into().ok()?))), Nano(i128::MIN + 1);
    Currency: value value.code().as_bytes().to_vec(), text(value), Currency::PLAY;
    CampaignOver: value format!("{value:?}").into_bytes(),
        choice(value, [Self::Cancelled, Self::UsedUp, Self::Expired]), Self::UsedUp;
    MoneyError: value format!("{value:?}").into_bytes(),
        choice(value, [Self::Malformed, Self::UnknownCurrency, Self::OutOfRange]), Self::UnknownCurrency;
    Switch: value (value.operator.clone(), value.game.clone(), value.rules_version.clone()).bytes(), {
        let (operator, game, rules_version) = Message::read_whole(In::new(value)).ok()?;
        Some(Self { operator, game, rules_version })
    }, Self { operator: "acme".into(), game: "lantern".into(), rules_version: "1".into() };
    PoolStatus: value match value {
        Self::Retired { into, increments, reserve } => {
            [b"Retired".as_slice(), &(into.clone(), *increments, *reserve).bytes()].concat()
        }
        plain => format!("{plain:?}").into_bytes(),
    }, match value.strip_prefix(b"Retired") {
        Some(retired) => {
            let (into, increments, reserve) = Message::read_whole(In::new(retired)).ok()?;
            Some(Self::Retired { into, increments, reserve })
        }
        None => choice(value, [Self::Active, Self::Suspended]),
    }, Self::Retired { into: "heir".into(), increments: Nano::sample(), reserve: Nano(7) };
    Box<Award>: value (**value).bytes(), Message::read_whole(In::new(value)).ok(), Self::new(Award {
        hit: 1,
        partition: 2,
        stream: motherlode_state::StreamId::player("acme", "alice"),
        round: 3,
        cycle: 4,
        collision: true,
        currency: Currency::EUR,
        coin_value: motherlode_state::CoinValue(5),
        rate: motherlode_state::FxRate::ONE,
        amount: Minor(6),
        increments: Nano(7),
        seed_from_reserve: Nano(8),
        seed_from_house: Nano(9),
        to_reserve: Nano(10),
        paid: Nano(11),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;
    use std::collections::BTreeSet;

    #[test]
    fn pl_12_every_refusal_of_the_books_comes_back_as_it_was() {
        let all = samples();
        let numbers: BTreeSet<_> = all.iter().map(|refused| to_wire(refused).reason).collect();
        assert_eq!(numbers.len(), all.len(), "each reason has a different number");
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
