mod made;
mod more;
mod rounds;
mod world;

use bytes::Bytes;
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{
    CollisionShare, Decision, Event, LoggedTerms, PoolStatus, SealReason, StartEvidence, StretchEnd, VoidedJackpot,
};
use std::collections::BTreeSet;

pub struct Log {
    pub name: String,
    pub partition: u32,
    pub records: Vec<Bytes>,
}

impl Log {
    #[must_use]
    pub fn commits(&self) -> Vec<Logged> {
        self.records.iter().map(|bytes| record::decode(bytes).expect("a commit")).collect()
    }
}

const GOLDEN: [(&str, u32, &str); 6] = [
    ("five-games", 0, include_str!("../../../golden/five-games.hex")),
    ("one-machine", 0, include_str!("../../../golden/one-machine.hex")),
    ("two-partitions-0", 0, include_str!("../../../golden/two-partitions-0.hex")),
    ("two-partitions-1", 1, include_str!("../../../golden/two-partitions-1.hex")),
    ("sealed", 0, include_str!("../../../golden/sealed.hex")),
    ("linked", 0, include_str!("../../../golden/linked.hex")),
];

#[must_use]
pub fn golden() -> Vec<Log> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex");
    let record = |line: &str| line.as_bytes().chunks(2).map(byte).collect::<Vec<_>>().into();
    GOLDEN
        .into_iter()
        .map(|(name, partition, hex)| Log { name: name.into(), partition, records: hex.lines().map(record).collect() })
        .collect()
}

#[must_use]
pub fn all() -> Vec<Log> {
    golden().into_iter().chain(made::all()).chain(more::all()).chain(rounds::all()).collect()
}

/// Lists the variants of an enumeration. A variant that is not listed causes a compile error; a variant that no log
/// contains causes an error of [`missing`].
macro_rules! variants {
    ($names:ident, $of:ident, $type:ident: $($variant:ident),+ $(,)?) => {
        const $names: &[&str] = &[$(concat!(stringify!($type), "::", stringify!($variant))),+];

        fn $of(value: &$type) -> &'static str {
            match value {
                $($type::$variant { .. } => concat!(stringify!($type), "::", stringify!($variant)),)+
            }
        }
    };
}

variants!(EVENTS, event, Event:
    AccountOpened, Deposited, Withdrawn, PlayMoneyGiven, CollectionChanged, RoundStarted, StepResolved, JackpotHit,
    DrawSealed, DrawsRevealed, DrawsLost, WinCredited, RoundSettled, RoundVoided, VoidProposed, JackpotPaid,
    AwardSetAside, ActedBy, SessionOpened, SessionEnded, RealityCheckAcknowledged, CampaignGranted, CampaignCancelled,
    RequestCancelled, SeamlessChosen, DebitAsked, DebitConfirmed, DebitRefused, RollbackAsked, DebitRolledBack,
    PartOf, CreditPaid, ReversalDue, ReversalTaken, CloseReported, WalletCallHeld, WalletCallReleased, RoundReportsChosen, OperatorSession, WalletOverdue, LiabilityReserved, RateSet, PoolOpened, ContributionsPooled, ContributionTakenBack,
    AwardReversed, IncidentDeclared, ContributionsReturned, HitsReleased, JackpotAwarded, PoolTermsChanged,
    PoolSuspended, PoolResumed, PoolRetired, PoolReceived, PartitionReported, PoolMirrored, GeneratorReseeded,
    GenerationBegun, SwitchSet, IntegrityFailed, LogVerified, BaseTaken, BaseConfirmed, LogRestored, ConfigurationReloaded, ClockSkewed, ChangeProposed, ChangeApproved, ChangeRejected,
);
variants!(VOIDS, void, VoidedJackpot: TakenBack, Kept, Charged, Lost);
variants!(SEALS, seal, SealReason: Opened, Unsealed, KeyLost, SealsEnded);
variants!(STARTS, start, StartEvidence: EmptyLog, MemoryPage, StopMark, Followed, Missing, Restored);
variants!(ENDS, end, StretchEnd: Decision, Standing);
variants!(DECISIONS, decision, Decision: Hit, TakeBack, Reversal);
variants!(SHARES, share, CollisionShare: Full, Proportional);
variants!(STATUSES, status, PoolStatus: Active, Suspended, Retired);
variants!(TERMS, terms, LoggedTerms: Terms, Unreadable);

#[must_use]
pub fn missing(logs: &[Log]) -> Vec<&'static str> {
    let mut found = BTreeSet::new();
    for log in logs {
        for logged in log.commits() {
            logged.commit.events.iter().for_each(|event| note(event, &mut found));
        }
    }
    let all = [EVENTS, VOIDS, SEALS, STARTS, ENDS, DECISIONS, SHARES, STATUSES, TERMS];
    all.into_iter().flatten().copied().filter(|name| !found.contains(name)).collect()
}

fn note(of: &Event, found: &mut BTreeSet<&'static str>) {
    found.insert(event(of));
    match of {
        Event::RoundStarted(started) => _ = found.insert(terms(&started.stake)),
        Event::RoundVoided { jackpot, .. } => _ = found.insert(void(jackpot)),
        Event::DrawSealed(sealed) => _ = found.insert(seal(&sealed.reason)),
        Event::GenerationBegun(begun) => _ = found.insert(start(&begun.evidence)),
        Event::PartitionReported(report) => {
            found.insert(end(&report.end));
            if let StretchEnd::Decision(of) = &report.end {
                found.insert(decision(of));
            }
        }
        Event::PoolOpened { terms, .. } | Event::PoolTermsChanged { terms } => {
            found.insert(share(&terms.collision_share));
        }
        Event::PoolMirrored(mirrored) => _ = found.insert(status(&mirrored.status)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_version_the_folded_logs_have_every_variant() {
        assert_eq!(
            missing(&all()),
            [] as [&str; 0],
            "add commits with them to a new log in tests/kit/src/logs/made.rs"
        );
    }

    #[test]
    fn state_version_a_variant_in_no_log_is_named() {
        let lacking = missing(&golden());
        assert!(lacking.contains(&"Event::DebitAsked") && lacking.contains(&"VoidedJackpot::Kept"), "{lacking:?}");
    }
}
