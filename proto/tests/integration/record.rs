use crate::balances::{from_messages, to_messages};
use crate::generations::{events_of_generations, sealed, sealed_step};
use crate::voids::{events_of_voids, void_with_facts};
use motherlode_proto::{
    convert::{
        event,
        play::hex,
        record::{self, Logged, Proposer},
    },
    log::v1,
};
use motherlode_state::{
    Automatic, Award, BaseConfirmed, BaseTaken, Campaign, ChangeProposed, CoinValue, CollisionShare, Commit,
    ConfigurationReloaded, Contribution, Currency, DayLimits, DebitAsked, Decision, Draw, Event, FxRate, Hit,
    LiabilityReserved, LogRestored, LoggedTerms, Minor, MirroredAward, Nano, PartitionReported, PoolMirrored,
    PoolStatus, PoolTerms, RoundStarted, RoundTerms, SealReason, SessionOpened, StepResolved, StreamId, StretchEnd,
    Switch, TakeBack, VoidedJackpot,
};
use proptest::{collection::vec, prelude::*, sample::Index};
use prost::Message;

fn every_event(amount: i64, nano: i128, text: &str) -> Vec<Event> {
    let mut events = events_apart_from_voids(amount, nano, text);
    events.extend(events_of_voids(amount, Nano(nano), text));
    events.extend([reserved(&["alice", "bob"]), void_with_facts()]);
    events.extend(events_of_generations());
    events.extend([Event::PartOf { request_id: "series".into() }, Event::LogVerified { to: 9 }]);
    events.extend(crate::wallet_facts::events(amount));
    events.extend(events_of_bases(text));
    let reloaded = ConfigurationReloaded {
        before: "1f".repeat(32),
        after: "2e".repeat(32),
        keys: vec!["operators.acme.weight".into(), "tls".into()],
        key_count: 2,
        actor: text.to_owned(),
    };
    events.push(Event::ConfigurationReloaded(Box::new(reloaded)));
    let (origin, checkpoint) = (text.to_owned(), text.to_owned());
    let restored = LogRestored { number: 5, position: 7, record_hash: [8; 32], origin, checkpoint };
    events.push(Event::LogRestored(Box::new(restored)));
    events
}

fn events_of_bases(text: &str) -> [Event; 2] {
    let (position, digest, actor) = (7, [9; 32], text.to_owned());
    let taken = BaseTaken { position, record_hash: [8; 32], form: 1, digest, actor: actor.clone() };
    [Event::BaseTaken(taken.into()), Event::BaseConfirmed(BaseConfirmed { position, digest, actor }.into())]
}

fn events_apart_from_voids(amount: i64, nano: i128, text: &str) -> Vec<Event> {
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
        Event::CollectionChanged {
            game: text.clone().into(),
            scope: text.clone().into(),
            changes: vec![(text.clone().into(), amount)],
        },
        Event::RoundStarted(
            RoundStarted {
                round,
                game: text.clone().into(),
                rules_version: text.clone().into(),
                model_hash: [9; 32],
                currency,
                bet: minor,
                coin_value: CoinValue(200_000),
                stake: LoggedTerms::Unreadable(vec![1, 2, 3]),
                rate,
                contribution: Some(Contribution { pool: text.clone().into(), terms_version: 3, amount: nano }),
                session: None,
                jurisdiction: "".into(),
                campaign: None,
            }
            .into(),
        ),
        Event::StepResolved(
            StepResolved {
                round,
                step: 2,
                seed: Some([5; 32]),
                choice: vec![4],
                outcome: vec![0, 255],
                win: minor,
                automatic: None,
                draw: None,
            }
            .into(),
        ),
        Event::JackpotHit { round, pool: pool.clone().into() },
        Event::RoundSettled { round, win: minor },
        Event::RoundVoided {
            round,
            reason: text.clone(),
            actor: actor.clone(),
            refund: minor,
            win_taken_back: minor,
            jackpot: VoidedJackpot::TakenBack,
            settled: None,
        },
        Event::JackpotPaid { round, pool: pool.clone().into(), hit: 99, amount: minor, currency },
        Event::RateSet { currency, rate, source: text.clone() },
        Event::PoolOpened { pool: pool.clone().into(), terms: terms.clone() },
        Event::ContributionsPooled { partition: 1, from: 2, to: 3, amount: nano },
        Event::ContributionTakenBack {
            partition: 1,
            position: 4,
            amount: nano,
            from_increments: nano,
            from_reserve: nano,
            from_house: nano,
        },
        Event::JackpotAwarded(
            Award {
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
            }
            .into(),
        ),
        Event::PoolTermsChanged { terms },
        Event::PoolSuspended { reason: text.clone(), actor: actor.clone() },
        Event::PoolResumed { actor: actor.clone() },
        Event::PoolRetired { into: text.clone().into(), increments: nano, reserve: nano, actor: actor.clone() },
        Event::PoolReceived { from: text.clone().into(), increments: nano, reserve: nano },
        Event::GeneratorReseeded { key: None },
        Event::SwitchSet {
            switch: Switch {
                operator: text.clone().into(),
                game: text.clone().into(),
                rules_version: text.clone().into(),
            },
            on: amount % 2 == 0,
            reason: text.clone(),
            actor: text.clone(),
        },
        Event::RoundStarted(
            RoundStarted {
                round,
                game: text.clone().into(),
                rules_version: text.clone().into(),
                model_hash: [9; 32],
                currency,
                bet: minor,
                coin_value: CoinValue(200_000),
                stake: LoggedTerms::Unreadable(vec![1, 2, 3]),
                rate,
                contribution: None,
                session: Some([6; 16]),
                jurisdiction: text.clone().into(),
                campaign: None,
            }
            .into(),
        ),
        automatic(Automatic::Skipped),
        automatic(Automatic::TimeOver),
        automatic(Automatic::Closed { actor, reason: text.clone() }),
        Event::IntegrityFailed { check: text.clone(), finding: text.clone() },
        Event::ChangeProposed(ChangeProposed {
            stream: StreamId::pool("bewitched"),
            change: Box::new(Event::PoolSuspended { reason: text.clone(), actor: text.clone() }),
            actor: text.clone(),
            lapses_ms: 1_760_086_400_123,
        }),
        Event::ChangeApproved { change: 99, proposed_by: text.clone(), actor: text.clone() },
        Event::ChangeRejected { change: 99, actor: text.clone(), reason: text.clone() },
        Event::CampaignGranted(Campaign {
            id: text.clone().into(),
            game: text.clone().into(),
            currency,
            bet: minor,
            coin_value: CoinValue(200_000),
            lines: 15,
            coins_per_line: 2,
            rounds: 10,
            expires_ms: amount,
        }),
        Event::CampaignCancelled { campaign: text.clone().into(), reason: text.clone(), actor: text.clone() },
        Event::RoundStarted(
            RoundStarted {
                round,
                game: text.clone().into(),
                rules_version: text.clone().into(),
                model_hash: [9; 32],
                currency,
                bet: minor,
                coin_value: CoinValue(200_000),
                stake: LoggedTerms::Unreadable(vec![1, 2, 3]),
                rate,
                contribution: None,
                session: None,
                jurisdiction: "".into(),
                campaign: Some("spring".into()),
            }
            .into(),
        ),
        Event::PlayMoneyGiven { amount: minor },
        reported(nano, StretchEnd::Standing { open_rounds: 3, mirrored: 41 }),
        reported(
            nano,
            StretchEnd::Decision(Decision::Hit(Hit {
                partition: 2,
                position: 12,
                time_ms: 1_760_000_000_123,
                stream: StreamId::player("acme", "alice"),
                round,
                currency,
                coin_value: CoinValue(200_000),
                rate,
            })),
        ),
        reported(
            nano,
            StretchEnd::Decision(Decision::TakeBack(TakeBack {
                partition: 2,
                position: 12,
                contributed_at: 5,
                amount: nano,
            })),
        ),
        mirrored(share, nano, PoolStatus::Active),
        mirrored(share, nano, PoolStatus::Suspended),
        mirrored(share, nano, PoolStatus::Retired { into: text.clone().into(), increments: nano, reserve: nano }),
        Event::AwardSetAside { round, pool: pool.into(), hit: 99, amount: minor, currency, reason: text.clone() },
        Event::ActedBy { actor: text.clone(), reference: text.clone() },
        Event::SessionOpened(SessionOpened {
            session: [5; 16],
            game: text.clone().into(),
            currency,
            jurisdiction: text.into(),
            idle_ms: 1_800_000.try_into().unwrap(),
            limits: DayLimits {
                reality_check_ms: 60_000.try_into().ok(),
                time_ms_max: None,
                loss_eur_max: 500.try_into().ok(),
                losses_max: vec![(currency, minor), (Currency::SEK, Minor(7))],
                bets_max: vec![],
            },
        }),
        Event::SessionEnded { session: [5; 16], hold_ms: 30_000 },
        Event::RealityCheckAcknowledged { session: [5; 16] },
        Event::ClockSkewed { by_ms: -amount },
        Event::WinCredited { round, amount: minor },
        sealed_step(vec![7; 64], None, (0, 0)),
        sealed_step(vec![], None, (0, 0)),
        sealed(1, 0, SealReason::Opened),
        sealed(1, 0, SealReason::Unsealed),
        sealed(78, 0, SealReason::KeyLost),
        Event::DrawsRevealed { round, dealt: vec![[4; 32], [0; 32]] },
        Event::DrawsLost { round },
        Event::RequestCancelled,
        Event::SeamlessChosen,
        Event::DebitAsked(DebitAsked {
            request_id: "r-1".into(),
            fingerprint: [8; 16],
            currency,
            amount: minor,
            facts: None,
        }),
        Event::DebitConfirmed { amount: minor, reported_balance: Minor(amount), answer: None },
        Event::DebitRefused { reason: "limit".into(), code: 0 },
        Event::RollbackAsked { request_id: "r-1".into(), reason: "no answer".into() },
        Event::DebitRolledBack,
        Event::CreditPaid {
            request_id: "award/bewitched/0/7".into(),
            currency,
            amount: minor,
            reported_balance: Minor(0),
            answer: None,
        },
        Event::WalletOverdue { operator: "acme".into(), partition: 1, players: 3, oldest_ms: 1_798_761_600_000 },
        reserved(&[]),
        sealed_step(vec![], Some([6; 32]), (0, 0)),
    ]
}

fn reserved(players: &[&str]) -> Event {
    Event::LiabilityReserved(LiabilityReserved {
        operator: "acme".into(),
        campaign: "autumn".into(),
        players: 500,
        max_liability: Nano(123_456_789),
        expires_ms: 1_798_761_600_000,
        cap: Nano::ZERO,
        player_ids: players.iter().map(|player| (*player).into()).collect(),
    })
}

fn terms(stake: Vec<u8>) -> LoggedTerms {
    let rate = Some(v1::Rate { mantissa: 1, exponent: 0 });
    let (model_hash, currency) = (vec![0; 32], "EUR".to_owned());
    let started = v1::RoundStarted { stake, rate, model_hash, currency_code: currency, ..Default::default() };
    match event::from_log(v1::Event { kind: Some(v1::event::Kind::RoundStarted(started)) }) {
        Ok(Event::RoundStarted(started)) => started.stake.clone(),
        other => panic!("{other:?}"),
    }
}

pub fn reported(contributions: Nano, end: StretchEnd) -> Event {
    Event::PartitionReported(
        PartitionReported { partition: 2, from: 4, to: 12, contributions, end, voids: vec![], cycle: 0 }.into(),
    )
}

pub fn mirrored(collision_share: CollisionShare, nano: Nano, status: PoolStatus) -> Event {
    let (base_coin, stream) = (CoinValue(10_000_000), StreamId::player("acme", "alice"));
    let (round, currency) = (7, Currency::SEK);
    let award =
        MirroredAward { hit: 11, stream, round, amount: Minor(30), currency, paid: nano, seed_from_house: Nano::ZERO };
    Event::PoolMirrored(
        PoolMirrored {
            home_position: 44,
            terms: PoolTerms {
                version: 3,
                contribution_ppm: 5_000,
                seed: nano,
                base_coin,
                refresh_ms: 3_000,
                collision_share,
            },
            status,
            pooled_position: 12,
            decided_to: 11,
            awards: vec![award],
            returns: vec![],
        }
        .into(),
    )
}

fn automatic(automatic: Automatic) -> Event {
    Event::StepResolved(
        StepResolved {
            round: 7,
            step: 3,
            seed: Some([5; 32]),
            choice: vec![4],
            outcome: vec![0, 255],
            win: Minor(50),
            automatic: Some(automatic),
            draw: None,
        }
        .into(),
    )
}

fn message(previous: &[u8; 32], logged: &Logged) -> v1::Commit {
    let Logged { commit, balances_after, due_after, proposer } = logged;
    v1::Commit {
        previous_hash: previous.to_vec(),
        position: commit.position,
        partition: commit.partition,
        stream: commit.stream.to_string(),
        version: commit.version,
        previous_position: commit.previous,
        request_id: commit.request_id.to_string(),
        fingerprint: commit.fingerprint.to_vec(),
        time_unix_ms: commit.time_ms,
        events: commit.events.iter().map(event::to_log).collect(),
        balances_after: to_messages(balances_after),
        proposer: proposer.as_ref().map(|of| of.credential.to_string()).unwrap_or_default(),
        proposer_roles: proposer.as_ref().map(|of| of.roles.to_string()).unwrap_or_default(),
        due_after: to_messages(due_after),
    }
}

fn by_message(bytes: &[u8]) -> Option<Logged> {
    let message = v1::Commit::decode(bytes).ok()?;
    let commit = Commit {
        partition: message.partition,
        position: message.position,
        stream: message.stream.parse().ok()?,
        version: message.version,
        previous: message.previous_position,
        request_id: message.request_id.into(),
        fingerprint: message.fingerprint.try_into().ok()?,
        time_ms: message.time_unix_ms,
        events: message.events.into_iter().map(event::from_log).collect::<Result<_, _>>().ok()?,
    };
    let (balances_after, due_after) = (from_messages(message.balances_after)?, from_messages(message.due_after)?);
    let of = Proposer { credential: message.proposer.into(), roles: message.proposer_roles.into() };
    let proposer = (!of.credential.is_empty() || !of.roles.is_empty()).then(|| of.into());
    Some(Logged { commit, balances_after, due_after, proposer })
}

fn rounds() -> impl Strategy<Value = Logged> {
    let figures = (any::<[u64; 6]>(), any::<[i64; 6]>(), any::<[u32; 3]>(), 0..3_usize, 0..4_usize);
    let bytes = (vec(any::<u8>(), 0..400), vec(any::<u8>(), 0..9), "[a-z/]{0,200}", any::<Option<i128>>(), -6..6_i8);
    (figures, bytes, any::<bool>()).prop_map(|((wide, signed, narrow, repeat, balances), bytes, small)| {
        let (outcome, choice, text, nano, exponent) = bytes;
        let wide = wide.map(|figure| if small { figure % 3 } else { figure });
        let signed = signed.map(|figure| if small { figure % 2 } else { figure });
        let contribution =
            nano.map(|nano| Contribution { pool: text.clone().into(), terms_version: narrow[0], amount: Nano(nano) });
        let started = RoundStarted {
            round: wide[0],
            game: text.clone().into(),
            rules_version: text.clone().into(),
            model_hash: [7; 32],
            currency: Currency::JPY,
            bet: Minor(signed[0]),
            coin_value: CoinValue(wide[1]),
            stake: terms(choice.clone()),
            rate: FxRate::new(wide[2] % 1_000 + 1, exponent).unwrap(),
            contribution,
            session: (narrow[2] % 2 == 1).then_some([narrow[2].to_be_bytes()[0]; 16]),
            jurisdiction: if small { "".into() } else { text.clone().into() },
            campaign: (narrow[2] % 3 == 1 && !text.is_empty()).then(|| text.as_str().into()),
        };
        let closed = Automatic::Closed { actor: text.clone(), reason: "why".to_owned() };
        let four = narrow[2].to_be_bytes();
        let draw = (!small).then(|| Draw {
            number: wide[1],
            epoch: four,
            client_seed: text.clone().into_bytes(),
            next_epoch: four,
            generation: 3,
            next_generation: 4,
            next_seal: [four[3]; 32],
            sealed_by: (narrow[2] % 5 > 0).then_some([four[2]; 32]),
        });
        let step = StepResolved {
            round: wide[3],
            step: narrow[1],
            seed: draw.is_none().then_some([narrow[0].to_be_bytes()[3]; 32]),
            choice,
            outcome,
            win: Minor(signed[1]),
            automatic: [None, Some(Automatic::Skipped), Some(Automatic::TimeOver), Some(closed)][balances].clone(),
            draw,
        };
        let mut events = vec![Event::RoundStarted(started.into()), Event::StepResolved(step.into())];
        events.push(Event::RoundSettled { round: wide[4], win: Minor(signed[2]) });
        events.push(Event::JackpotHit { round: wide[4], pool: text.clone().into() });
        events.push(Event::DrawsRevealed { round: wide[4], dealt: vec![[four[2]; 32]; balances] });
        let mut logged = logged(std::iter::repeat_n(events, repeat).flatten().collect());
        (logged.commit.position, logged.commit.previous, logged.commit.version) = (wide[5], wide[0], wide[1]);
        (logged.commit.time_ms, logged.commit.partition, logged.commit.request_id) =
            (signed[3], narrow[2], text.into());
        logged.balances_after = vec![(Currency::KWD, Minor(signed[4])); balances];
        logged.due_after = vec![(Currency::JPY, Minor(signed[5])); (balances + 1) % 4];
        let of = || Proposer { credential: "spin-1".into(), roles: "node-spin".into() };
        logged.proposer = (balances % 2 == 1).then(|| of().into());
        logged
    })
}

fn logged(events: Vec<Event>) -> Logged {
    let commit = Commit {
        partition: 1,
        position: 12,
        stream: StreamId::player("acme", "alice"),
        version: 3,
        previous: 11,
        request_id: "r-1".into(),
        fingerprint: [8; 16],
        time_ms: 1_760_000_000_123,
        events,
    };
    let balances_after = vec![(Currency::EUR, Minor(5)), (Currency::SEK, Minor(0))];
    Logged { commit, balances_after, due_after: vec![], proposer: None }
}

/// PL-01: golden bytes of format version 1. Add lines for new events, but never change a line, because existing logs must
/// stay readable.
#[test]
fn pl_01_records_of_format_1_are_written_and_read_as_ever() {
    let golden = include_str!("../golden/events-v1.hex");
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
fn pl_01_the_terms_of_a_bet_are_read_however_they_are_written_and_bytes_that_are_none_are_kept() {
    let message = v1::RoundTerms {
        lines: 15,
        coins_per_line: 2,
        jackpot: true,
        double: true,
        buy_feature: true,
        gamble_max_minor: 12_500_000,
        carried: vec![4, -1, 2_000_000, 0],
        witch: 3,
    };
    let RoundTerms { lines, coins_per_line, jackpot, double, buy_feature, gamble_max_minor, carried, witch } =
        match terms(message.encode_to_vec()) {
            LoggedTerms::Terms(terms) => terms,
            unreadable => panic!("{unreadable:?}"),
        };
    let read = v1::RoundTerms { lines, coins_per_line, jackpot, double, buy_feature, gamble_max_minor, carried, witch };
    assert_eq!(read, message);
    assert_eq!(terms(vec![]), LoggedTerms::Terms(RoundTerms::default()));
    let odd = vec![0x10, 2, 0x08, 15, 0x18, 0, 0x78, 1];
    let plain = RoundTerms { lines: 15, coins_per_line: 2, ..Default::default() };
    assert_eq!(terms(odd), LoggedTerms::Terms(plain));
    for none in [&[0_u8][..], &[1, 2, 3], &[0x08], &[0x0A, 1, 0xFF], &[0x3A, 9, 1]] {
        assert_eq!(terms(none.to_vec()), LoggedTerms::Unreadable(none.to_vec()));
    }
}

#[test]
fn a_record_begins_with_the_hash_of_the_one_before() {
    let bytes = record::encode(&[3; 32], &logged(vec![Event::GeneratorReseeded { key: None }]));
    assert_eq!((&bytes[..2], &bytes[2..34]), ([0x0A, 0x20].as_slice(), [3; 32].as_slice()));
}

proptest! {
    #[test]
    fn pl_01_records_of_rounds_are_the_bytes_and_say_what_the_messages_say(logged in rounds(), previous: [u8; 32]) {
        let bytes = record::encode(&previous, &logged);
        prop_assert_eq!(hex(&bytes), hex(&message(&previous, &logged).encode_to_vec()));
        prop_assert_eq!(record::stream(&bytes).unwrap(), logged.commit.stream.clone());
        prop_assert_eq!(record::decode(&bytes).unwrap(), logged);
    }

    #[test]
    fn pl_12_a_changed_record_is_read_or_refused_as_by_way_of_the_messages(
        logged in rounds(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        cut: Option<Index>,
    ) {
        let mut bytes = record::encode(&[3; 32], &logged).to_vec();
        for (place, value) in changes {
            let place = 34 + place.index(bytes.len() - 34);
            bytes[place] = value;
        }
        let end = cut.map_or(bytes.len(), |cut| cut.index(bytes.len()));
        let decoded = record::decode(&bytes[..end]).ok();
        if let Some(decoded) = &decoded {
            prop_assert_eq!(&record::stream(&bytes[..end]).unwrap(), &decoded.commit.stream);
        }
        let name = logged.commit.stream.to_string();
        let known = record::decode_known(&bytes[..end], Some((name.as_bytes(), &logged.commit.stream))).ok();
        prop_assert_eq!(&known, &decoded, "a known stream name saves work and changes nothing");
        prop_assert_eq!(decoded, by_message(&bytes[..end]));
    }

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
        bytes[place] ^= mask;
        let _ = record::decode(&bytes);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
        let _ = record::decode(&bytes);
        let _ = record::stream(&bytes);
    }
}
