//! The log's records: what is encoded is decoded, what was written once is read for ever, and nothing panics.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use motherlode_books::{
    Award, CoinValue, CollisionShare, Commit, Contribution, Currency, Event, FxRate, Minor, Nano, PoolTerms,
    RoundStarted, StepResolved, StreamId,
};
use motherlode_proto::convert::{
    play::hex,
    record::{self, Logged},
};
use proptest::prelude::*;

/// One event of every kind, with figures that use every field.
fn every_event(amount: i64, nano: i128, text: &str) -> Vec<Event> {
    let (text, minor, nano) = (text.to_owned(), Minor(amount), Nano(nano));
    let rate = FxRate::new(875, -4).unwrap();
    let share = if amount % 2 == 0 { CollisionShare::Full } else { CollisionShare::Proportional };
    let terms = PoolTerms {
        version: 3,
        contribution_ppm: 5_000,
        seed: nano,
        base_coin: CoinValue(10_000_000),
        refresh_ms: 3_000,
        collision_share: share,
    };
    let (round, currency, pool, actor) = (7, Currency::SEK, text.clone(), text.clone());
    vec![
        Event::AccountOpened { currency },
        Event::Deposited { currency, amount: minor },
        Event::Withdrawn { currency, amount: minor },
        Event::CollectionChanged { game: text.clone(), scope: text.clone(), changes: vec![(text.clone(), amount)] },
        Event::RoundStarted(RoundStarted {
            round,
            game: text.clone(),
            rules_version: text.clone(),
            model_hash: [9; 32],
            currency,
            bet: minor,
            coin_value: CoinValue(200_000),
            stake: vec![1, 2, 3],
            rate,
            contribution: Some(Contribution { pool: text.clone(), terms_version: 3, amount: nano }),
        }),
        Event::StepResolved(StepResolved {
            round,
            step: 2,
            seed: [5; 32],
            choice: vec![4],
            outcome: vec![0, 255],
            win: minor,
        }),
        Event::JackpotHit { round, pool: pool.clone() },
        Event::RoundSettled { round, win: minor },
        Event::RoundVoided { round, reason: text.clone(), actor: actor.clone(), refund: minor, win_taken_back: minor },
        Event::JackpotPaid { round, pool: pool.clone(), hit: 99, amount: minor, currency },
        Event::RateSet { currency, rate, source: text.clone() },
        Event::PoolOpened { pool: pool.clone(), terms: terms.clone() },
        Event::ContributionsPooled { partition: 1, from: 2, to: 3, amount: nano },
        Event::ContributionTakenBack {
            partition: 1,
            position: 4,
            amount: nano,
            from_increments: nano,
            from_reserve: nano,
            from_house: nano,
        },
        Event::JackpotAwarded(Award {
            hit: 99,
            partition: 1,
            stream: StreamId::player("acme", "alice"),
            round,
            cycle: 6,
            collision: amount % 2 == 0,
            currency,
            coin_value: CoinValue(200_000),
            rate,
            amount: minor,
            increments: nano,
            seed_from_reserve: nano,
            seed_from_house: nano,
            to_reserve: nano,
            paid: nano,
        }),
        Event::PoolTermsChanged { terms },
        Event::PoolSuspended { reason: text.clone(), actor: actor.clone() },
        Event::PoolResumed { actor: actor.clone() },
        Event::PoolRetired { into: text.clone(), increments: nano, reserve: nano, actor },
        Event::PoolReceived { from: text, increments: nano, reserve: nano },
        Event::GeneratorReseeded,
    ]
}

fn logged(events: Vec<Event>) -> Logged {
    let commit = Commit {
        partition: 1,
        position: 12,
        stream: StreamId::player("acme", "alice"),
        version: 3,
        previous: 11,
        request_id: "r-1".to_owned(),
        fingerprint: [8; 16],
        time_ms: 1_760_000_000_123,
        events,
    };
    Logged { commit, balances_after: vec![(Currency::EUR, Minor(5)), (Currency::SEK, Minor(0))] }
}

/// Golden bytes of format version 1: an old log must read the same for ever. A new event is added at the end; a line
/// that changes is a log that nobody can read any more.
#[test]
fn pl_01_records_of_format_1_are_written_and_read_as_ever() {
    let golden = include_str!("golden/events-v1.hex");
    let events = every_event(1_234, -56_789, "text");
    assert_eq!(golden.lines().count(), events.len());
    for (line, event) in golden.lines().zip(events) {
        let logged = logged(vec![event]);
        let bytes = record::encode(&[3; 32], &logged);
        assert_eq!(hex(&bytes), line, "{:?}", logged.commit.events);
        assert_eq!(record::decode(&bytes).unwrap(), logged);
    }
}

#[test]
fn a_record_begins_with_the_hash_of_the_one_before() {
    let bytes = record::encode(&[3; 32], &logged(vec![Event::GeneratorReseeded]));
    assert_eq!((&bytes[..2], &bytes[2..34]), ([0x0A, 0x20].as_slice(), [3; 32].as_slice()));
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(amount: i64, nano: i128, text in "\\PC{0,40}", previous: [u8; 32]) {
        let logged = logged(every_event(amount, nano, &text));
        prop_assert_eq!(record::decode(&record::encode(&previous, &logged)).unwrap(), logged);
    }

    #[test]
    fn pl_12_a_cut_record_is_not_taken_for_the_whole_and_a_changed_one_never_panics(place in 0usize..2_000, mask: u8) {
        let logged = logged(every_event(77, 88, "text"));
        let mut bytes = record::encode(&[3; 32], &logged).to_vec();
        let place = place % bytes.len();
        prop_assert!(record::decode(&bytes[..place]).map_or(true, |read| read != logged));
        // A changed byte may well mean the same (5 is as true as 1): that it was changed, the hash says.
        bytes[place] ^= mask;
        let _ = record::decode(&bytes);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
        let _ = record::decode(&bytes);
    }
}
