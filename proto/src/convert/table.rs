//! Table of events, with their numbers in `log.v1.Event` and the numbers of their fields. The type of a field defines its
//! encoding (see [`super::values`]). For example, `3-4 status` gives a field two numbers, and with
//! `9 expires_ms as Time` a field is encoded as `Time` instead of its own type. A test compares the table with
//! `log.proto`.

use super::{
    Malformed,
    plain::{In, Out},
    values::{As, Message, OrDefault, OrZero, Result, Time, Value, needed},
};
use crate::log::v1;
use motherlode_state::{
    Award, BaseConfirmed, BaseTaken, Campaign, ChangeProposed, ConfigurationReloaded, Contribution, DayLimits,
    DebitAsked, DebitFacts, Decision, Draw, DrawSealed, Event, GenerationBegun, Hit, Incident, LiabilityReserved,
    LogRestored, LoggedTerms, MirroredAward, PartitionReported, PoolMirrored, PoolStatus, PoolTerms, ReportedVoids,
    Reversal, RoundJackpot, RoundStarted, RoundTerms, SessionOpened, SettledRound, StepResolved, StretchEnd, TakeBack,
    VoidReturn, WalletAnswer,
};
use prost::Message as _;
use std::sync::Arc;

macro_rules! put {
    ($out:ident $number:literal $field:ident) => {
        $field.put($out, $number)
    };
    ($out:ident $number:literal $field:ident $as:ident) => {
        $as::put($field, $out, $number)
    };
}

macro_rules! take {
    ($fields:ident $number:literal $name:expr) => {
        needed(Value::take($fields, $number), $name)?
    };
    ($fields:ident $number:literal $name:expr, $as:ident) => {
        needed($as::take($fields, $number), $name)?
    };
}

/// Parts of events with their own types and messages. The fields under `beside` are encoded in the enclosing message,
/// not in the part's message. After decoding, the function that the enclosing message names under `then` copies them to
/// the part.
macro_rules! messages {
    ($($message:literal $type:ident {
        $($first:literal $(- $last:literal)? $field:ident $(as $as:ident)?),*
    } $(beside { $($beside:ident),* })? $(then $then:ident)?)*) => {
        $(impl Message for $type {
            #[inline]
            fn write(&self, out: &mut Out) {
                let Self { $($field,)* $($($beside: _,)*)? } = self;
                $(put!(out $first $field $($as)?);)*
            }

            #[inline]
            fn read(fields: &mut In) -> Result<Self> {
                let read = Self {
                    $($field: take!(fields $first concat!($message, ".", stringify!($field)) $(, $as)?),)*
                    $($($beside: 0,)*)?
                };
                $(let read = $then(read);)?
                Ok(read)
            }
        })*

        #[cfg(test)]
        const MESSAGES: &[(&str, &[&[u8]])] = &[$(($message, &[$(&[$first $(, $last)?]),*])),*];
    };
}

macro_rules! events {
    ($($number:literal $event:ident $(($part:ident: $type:ty))? $({
        $($first:literal $(- $last:literal)? $field:ident $(as $as:ident)?),*
    })?;)*) => {
        impl Message for Event {
            fn write(&self, out: &mut Out) {
                match self {
                    $(Self::$event $(($part))? $({ $($field),* })? => out.nested($number, |_out| {
                        $($part.write(_out);)?
                        $($(put!(_out $first $field $($as)?);)*)?
                    }),)*
                }
            }

            fn read(fields: &mut In) -> Result<Self> {
                let (number, mut fields) = fields.only().ok_or(Malformed::Field("event.kind"))?;
                let _fields = &mut fields;
                let event = match number {
                    $($number => Self::$event $((<$type>::read(_fields)?))? $({
                        $($field: take!(_fields $first concat!(stringify!($event), ".", stringify!($field)) $(, $as)?)),*
                    })?,)*
                    _ => return Err(Malformed::Field("event.kind")),
                };
                fields.ended("event.kind")?;
                Ok(event)
            }
        }

        #[cfg(test)]
        const EVENTS: &[(u8, &str, &[&[u8]])] =
            &[$(($number, stringify!($event), &[$($(&[$first $(, $last)?]),*)?])),*];
    };
}

events! {
    1 AccountOpened { 1 currency };
    2 Deposited { 1 currency, 2 amount };
    3 Withdrawn { 1 currency, 2 amount };
    4 CollectionChanged { 1 game, 2 scope, 3 changes };
    5 RoundStarted(started: Arc<RoundStarted>);
    6 StepResolved(step: Box<StepResolved>);
    7 JackpotHit { 1 round, 2 pool };
    8 RoundSettled { 1 round, 2 win };
    9 RoundVoided { 1 round, 2 reason, 3 actor, 4 refund, 5 win_taken_back, 6 jackpot, 7 settled };
    10 JackpotPaid { 1 round, 2 pool, 3 hit, 4 amount, 5 currency };
    11 RateSet { 1 currency, 2 rate, 3 source };
    12 PoolOpened { 1 pool, 2 terms };
    13 ContributionsPooled { 1 partition, 2 from, 3 to, 4 amount };
    14 ContributionTakenBack { 1 partition, 2 position, 3 amount, 4 from_increments, 5 from_reserve, 6 from_house };
    15 JackpotAwarded(award: Box<Award>);
    16 PoolTermsChanged { 1 terms };
    17 PoolSuspended { 1 reason, 2 actor };
    18 PoolResumed { 1 actor };
    19 PoolRetired { 1 into, 2 increments, 3 reserve, 4 actor };
    20 PoolReceived { 1 from, 2 increments, 3 reserve };
    21 GeneratorReseeded { 1 key };
    22 SwitchSet { 1-3 switch, 4 on, 5 reason, 6 actor };
    23 IntegrityFailed { 1 check, 2 finding };
    24 CampaignGranted(campaign: Campaign);
    25 CampaignCancelled { 1 campaign, 2 reason, 3 actor };
    26 PlayMoneyGiven { 1 amount };
    28 ChangeProposed(change: ChangeProposed);
    29 ChangeApproved { 1 change, 2 proposed_by, 3 actor };
    30 ChangeRejected { 1 change, 2 actor, 3 reason };
    31 PartitionReported(report: Box<PartitionReported>);
    32 PoolMirrored(mirror: Box<PoolMirrored>);
    33 AwardSetAside { 1 round, 2 pool, 3 hit, 4 amount, 5 currency, 6 reason };
    34 ActedBy { 1 actor, 2 reference };
    38 SessionOpened(opened: SessionOpened);
    39 SessionEnded { 1 session, 2 hold_ms };
    40 RealityCheckAcknowledged { 1 session };
    41 ClockSkewed { 1 by_ms };
    42 WinCredited { 1 round, 2 amount };
    43 DrawSealed(sealed: DrawSealed);
    44 DrawsRevealed { 1 round, 2 dealt };
    45 DrawsLost { 1 round };
    46 RequestCancelled {};
    47 SeamlessChosen {};
    48 DebitAsked(asked: DebitAsked);
    49 DebitConfirmed { 1 amount, 2 reported_balance, 3 answer };
    50 DebitRefused { 1 reason, 2 code };
    51 RollbackAsked { 1 request_id, 2 reason };
    52 DebitRolledBack {};
    53 CreditPaid { 1 request_id, 2 currency, 3 amount, 4 reported_balance, 5 answer };
    54 WalletOverdue { 1 operator, 2 partition, 3 players, 4 oldest_ms as Time };
    58 LiabilityReserved(reserved: LiabilityReserved);
    59 GenerationBegun(begun: Box<GenerationBegun>);
    63 VoidProposed { 1 round, 2 reason, 3 actor };
    64 AwardReversed { 1 partition, 2 position, 3 amount, 4 to_house, 5 operator };
    65 IncidentDeclared(incident: Box<Incident>);
    66 ContributionsReturned {
        1 incident, 2 partition, 3 voids, 4 amount, 5 from_increments, 6 from_reserve, 7 from_house
    };
    67 HitsReleased { 1 reason, 2 actor };
    72 PartOf { 1 request_id };
    73 LogVerified { 1 to };
    74 CloseReported { 1 request_id, 2 currency, 3 round, 4 skipped };
    75 WalletCallHeld { 1 request_id, 2 currency, 3 close, 4 reason, 5 code };
    76 WalletCallReleased { 1 request_id, 2 currency, 3 close };
    77 RoundReportsChosen { 1 rounds };
    78 OperatorSession { 1 session };
    79 ReversalDue { 1 round, 2 amount };
    80 ReversalTaken { 1 request_id, 2 round, 3 currency, 4 amount, 5 reported_balance, 6 answer };
    81 BaseTaken(base: Box<BaseTaken>);
    82 BaseConfirmed(base: Box<BaseConfirmed>);
    83 ConfigurationReloaded(reloaded: Box<ConfigurationReloaded>);
    84 LogRestored(restored: Box<LogRestored>);
}

messages! {
    "RoundStarted" RoundStarted {
        1 round, 2 game, 3 rules_version, 4 model_hash, 5 currency, 6 bet, 7 coin_value, 8 stake, 9 rate, 10 contribution,
        11 session, 12 jurisdiction, 13 campaign
    }
    "RoundTerms" RoundTerms {
        1 lines, 2 coins_per_line, 3 jackpot, 4 double, 5 buy_feature, 6 gamble_max_minor, 7 carried, 8 witch
    }
    "Contribution" Contribution { 1 pool, 2 terms_version, 3 amount }
    "StepResolved" StepResolved { 1 round, 2 step, 3 seed, 4 choice, 5 outcome, 6 win, 7 automatic, 8 draw }
    "Draw" Draw { 1 number, 2 epoch, 3 client_seed, 4 next_epoch, 5 next_seal, 6 sealed_by, 7 generation, 8 next_generation }
    "DebitAsked" DebitAsked { 1 request_id, 2 fingerprint, 3 currency, 4 amount, 5 facts }
    "DebitFacts" DebitFacts { 1 game, 2 rules_version, 3 session, 4 feature_buy, 5 campaign, 6 stake }
    "WalletAnswer" WalletAnswer { 1 transaction_id, 2 balance_unknown, 3 bonus }
    "DrawSealed" DrawSealed { 1 number, 2 epoch, 3 seal, 4 reason, 5 generation }
    "GenerationBegun" GenerationBegun {
        1 number, 2 salt, 3 unused_seals_end, 4 evidence, 5 lost_to, 6 keys_added, 7 keys_lost
    }
    "BaseTaken" BaseTaken { 1 position, 2 record_hash, 3 form, 4 digest, 5 actor }
    "BaseConfirmed" BaseConfirmed { 1 position, 2 digest, 3 actor }
    "LogRestored" LogRestored { 1 number, 2 position, 3 record_hash, 4 origin, 5 checkpoint }
    "JackpotAwarded" Award {
        1 partition, 2 hit, 3 stream, 4 round, 5 cycle, 6 collision, 7 currency, 8 coin_value, 9 rate, 10 amount,
        11 increments, 12 seed_from_reserve, 13 seed_from_house, 14 to_reserve, 15 paid
    }
    "PoolTerms" PoolTerms {
        1 version, 2 contribution_ppm, 3 seed, 4 base_coin, 5 refresh_ms, 6 collision_share
    }
    "CampaignGranted" Campaign {
        1 id, 2 game, 3 currency, 4 bet, 5 coin_value, 6 lines, 7 coins_per_line, 8 rounds, 9 expires_ms as Time
    }
    "LiabilityReserved" LiabilityReserved { 1 operator, 2 campaign, 3 players, 4 max_liability, 5 expires_ms as Time, 6 cap, 7 player_ids }
    "ConfigurationReloaded" ConfigurationReloaded { 1 before, 2 after, 3 keys, 4 key_count, 5 actor }
    "ChangeProposed" ChangeProposed { 1 stream, 2 change, 3 actor, 4 lapses_ms as Time }
    "IncidentDeclared" Incident {
        1 id, 2 operator, 3 game, 4 rules_version, 5 from_ms as Time, 6 until_ms as Time, 7 reason, 8 actor
    }
    "PartitionReported" PartitionReported {
        1 partition, 2 from, 3 to, 4 contributions, 5-8 end, 9 voids, 10 cycle
    } then placed
    "PartitionReported.Hit" Hit {
        1 time_ms as Time, 2 stream, 3 round, 4 currency, 5 coin_value, 6 rate
    } beside { partition, position }
    "PartitionReported.TakeBack" TakeBack { 1 contributed_at, 2 amount } beside { partition, position }
    "PartitionReported.Reversal" Reversal { 1 amount, 2 to_house, 3 operator } beside { partition, position }
    "PartitionReported.Voids" ReportedVoids {
        1 operator, 2 game, 3 rules_version, 4 minute, 5 voids, 6 in_stretch, 7 in_cycle, 8 earlier
    }
    "RoundVoided.Settled" SettledRound { 1 started, 2 opened_at, 3 opened_ms as Time, 4 win, 5 collected, 6 jackpots }
    "RoundVoided.Jackpot" RoundJackpot { 1 hit, 2 paid }
    "PoolMirrored" PoolMirrored { 1 home_position, 2 terms, 3-4 status, 5 pooled_position, 6 decided_to, 7 awards, 8 returns }
    "PoolMirrored.Award" MirroredAward {
        1 hit, 2 stream, 3 round, 4 amount, 5 currency, 6 paid, 7 seed_from_house as OrZero
    }
    "PoolMirrored.Return" VoidReturn { 1 operator, 2 amount }
    "SessionOpened" SessionOpened { 1 session, 2 game, 3 currency, 4 jurisdiction, 5 idle_ms, 6 limits as OrDefault }
    "DayLimits" DayLimits { 1 reality_check_ms, 2 time_ms_max, 3 loss_eur_max, 4 losses_max, 5 bets_max }
}

impl Value for LoggedTerms {
    #[inline]
    fn put(&self, out: &mut Out, number: u8) {
        match self {
            Self::Terms(terms) if *terms == RoundTerms::default() => {}
            Self::Terms(terms) => terms.put(out, number),
            Self::Unreadable(bytes) => bytes.put(out, number),
        }
    }

    #[inline]
    fn take(fields: &mut In, number: u8) -> Option<Self> {
        let bytes = fields.bytes(number)?;
        let terms = RoundTerms::read_whole(In::new(bytes))
            .or_else(|_| RoundTerms::read_whole(In::new(&v1::RoundTerms::decode(bytes)?.encode_to_vec())));
        Some(terms.map_or_else(|_| Self::Unreadable(bytes.to_owned()), Self::Terms))
    }
}

impl Value for StretchEnd {
    fn put(&self, out: &mut Out, number: u8) {
        match self {
            Self::Decision(Decision::Hit(hit)) => hit.put(out, number),
            Self::Decision(Decision::TakeBack(take_back)) => take_back.put(out, number + 1),
            Self::Standing { open_rounds, mirrored } => (*open_rounds, *mirrored).put(out, number + 2),
            Self::Decision(Decision::Reversal(reversal)) => reversal.put(out, number + 3),
        }
    }

    fn take(fields: &mut In, number: u8) -> Option<Self> {
        if let Some(hit) = Value::take(fields, number)? {
            return Some(Self::Decision(Decision::Hit(hit)));
        }
        if let Some(take_back) = Value::take(fields, number + 1)? {
            return Some(Self::Decision(Decision::TakeBack(take_back)));
        }
        let standing = <Option<(u64, u64)> as Value>::take(fields, number + 2)?;
        match (standing, Value::take(fields, number + 3)?) {
            (Some((open_rounds, mirrored)), None) => Some(Self::Standing { open_rounds, mirrored }),
            (None, Some(reversal)) => Some(Self::Decision(Decision::Reversal(reversal))),
            _ => None,
        }
    }
}

/// Sets the position of a jackpot hit or void. That position is not encoded, because it is the last position of the
/// report's range.
fn placed(mut report: PartitionReported) -> PartitionReported {
    if let StretchEnd::Decision(decision) = &mut report.end {
        let (Decision::Hit(Hit { partition, position, .. })
        | Decision::TakeBack(TakeBack { partition, position, .. })
        | Decision::Reversal(Reversal { partition, position, .. })) = decision;
        (*partition, *position) = (report.partition, report.to);
    }
    report
}

/// A suspended pool is encoded as a flag, and a retired pool as a `PoolRetired` without actor.
impl Value for PoolStatus {
    fn put(&self, out: &mut Out, number: u8) {
        match self {
            Self::Active => {}
            Self::Suspended => true.put(out, number),
            Self::Retired { into, increments, reserve } => {
                (into.clone(), *increments, *reserve).put(out, number + 1);
            }
        }
    }

    fn take(fields: &mut In, number: u8) -> Option<Self> {
        match (Value::take(fields, number)?, Value::take(fields, number + 1)?) {
            (false, None) => Some(Self::Active),
            (true, None) => Some(Self::Suspended),
            (false, Some((into, increments, reserve))) => Some(Self::Retired { into, increments, reserve }),
            (true, Some(_)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FILE_DESCRIPTOR_SET;
    use prost_types::{DescriptorProto, FileDescriptorSet};
    use std::collections::{BTreeMap, BTreeSet};

    const PACKAGE: &str = ".motherlode.log.v1.";

    const PAIRS: [&str; 4] = ["Balance", "CollectionChanged.Entry", "PartitionReported.Standing", "Rate"];

    fn contract() -> BTreeMap<String, DescriptorProto> {
        fn note(at: &str, message: DescriptorProto, found: &mut BTreeMap<String, DescriptorProto>) {
            let name = format!("{at}{}", message.name());
            for nested in message.nested_type.clone() {
                note(&format!("{name}."), nested, found);
            }
            found.insert(name, message);
        }
        let mut found = BTreeMap::new();
        for file in FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap().file {
            let here = if file.package() == "motherlode.log.v1" { "" } else { "elsewhere." };
            file.message_type.into_iter().for_each(|message| note(here, message, &mut found));
        }
        found
    }

    fn held(of: &str) -> Option<String> {
        of.strip_prefix(PACKAGE).map(str::to_owned)
    }

    fn numbers(message: &DescriptorProto) -> Vec<i32> {
        let mut numbers: Vec<_> = message.field.iter().map(|field| field.number()).collect();
        numbers.sort_unstable();
        numbers
    }

    fn listed(fields: &[&[u8]]) -> Vec<i32> {
        fields.iter().flat_map(|field| i32::from(field[0])..=i32::from(field[field.len() - 1])).collect()
    }

    #[test]
    fn pl_01_each_event_of_the_contract_has_one_row_and_each_row_is_an_event_of_it() {
        let contract = contract();
        let kinds = contract["Event"].field.iter().map(|kind| (kind.number(), held(kind.type_name()).unwrap()));
        let rows: Vec<_> = EVENTS.iter().map(|(number, event, _)| (i32::from(*number), (*event).to_owned())).collect();
        assert_eq!(kinds.collect::<BTreeSet<_>>(), rows.iter().cloned().collect());
        assert_eq!(rows.len(), contract["Event"].field.len(), "each once");
    }

    #[test]
    fn pl_01_each_field_of_an_event_of_the_contract_is_in_its_row_and_the_reverse() {
        let contract = contract();
        let parts: BTreeMap<_, _> = MESSAGES.iter().copied().collect();
        assert_eq!(parts.len(), MESSAGES.len(), "each once");
        let (mut left, mut seen) = (vec!["Event".to_owned(), "RoundTerms".to_owned()], BTreeSet::new());
        while let Some(name) = left.pop() {
            if seen.insert(name.clone()) {
                let held = contract[&name].field.iter().filter_map(|field| held(field.type_name()));
                left.extend(held.filter(|name| contract.contains_key(name)));
            }
        }
        assert!(seen.remove("Event"));
        for name in &seen {
            let own = EVENTS.iter().find(|(_, event, _)| event == name).map(|(_, _, fields)| listed(fields));
            let part = parts.get(&**name).map(|fields| listed(fields));
            let pair = PAIRS.contains(&&**name).then(|| vec![1, 2]);
            let rows: Vec<_> = [own.filter(|_| part.is_none()), part, pair].into_iter().flatten().collect();
            assert_eq!(rows, [numbers(&contract[name])], "{name}");
        }
        let unknown: Vec<_> = parts.keys().copied().chain(PAIRS).filter(|name| !seen.contains(*name)).collect();
        assert!(unknown.is_empty(), "messages that no event uses: {unknown:?}");
    }

    #[test]
    fn pl_12_a_change_of_changes_has_an_end() {
        let mut event = Event::GeneratorReseeded { key: None };
        for _ in 0..100 {
            let stream = motherlode_state::StreamId::System;
            event = Event::ChangeProposed(ChangeProposed {
                stream,
                change: Box::new(event),
                actor: String::new(),
                lapses_ms: 0,
            });
        }
        assert!(Event::read_whole(In::new(&event.bytes())).is_err());
    }
}
