use crate::common::{Tale, chained, options, store};
use bytes::Bytes;
use motherlode_audit::{CopyReport, audit, audit_copy, digest};
use motherlode_log::{genesis, hash};
use motherlode_proto::convert::{
    copied::{self, Copied},
    record::{self, Logged},
};
use motherlode_state::{Currency, Event, FxRate, Minor, StreamId, Switch};
use std::collections::BTreeMap;

fn tale() -> Tale {
    let mut tale = Tale::of_everything();
    let rate = |text: &str| Event::RateSet { currency: Currency::SEK, rate: text.parse().unwrap(), source: "t".into() };
    tale.write(StreamId::Rates, vec![rate("0.09")]);
    for (operator, on) in [("acme", false), ("other", false), ("acme", true), ("", false), ("", true)] {
        let switch = Switch { operator: operator.into(), ..Switch::default() };
        let set = Event::SwitchSet { switch, on, reason: "test".into(), actor: "ann".into() };
        tale.write(StreamId::System, vec![set]);
        tale.write(StreamId::System, vec![Event::GeneratorReseeded { key: None }]);
    }
    let (currency, amount) = (Currency::SEK, Minor(5));
    let opened = vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount }];
    tale.write(StreamId::player("other", "zoe"), opened);
    tale.write(StreamId::Rates, vec![rate("0.0905")]);
    tale.plain_spin("bob");
    tale
}

fn copied_from(log: &[Logged], operator: &str) -> Vec<Copied> {
    let records = log.iter().zip(chained(log)).filter(|(logged, _)| logged.commit.concerns(operator));
    let copied = |(logged, record): (&Logged, Bytes)| Copied {
        operator: operator.to_owned(),
        partition: 0,
        position: logged.commit.position,
        record,
    };
    records.map(copied).collect()
}

fn audited(copy: &[Copied]) -> CopyReport {
    let mut previous = genesis(0);
    let records: Vec<_> = copy
        .iter()
        .map(|copied| {
            let bytes = copied::encode(&previous, copied);
            previous = hash(&bytes);
            bytes
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &records);
    audit_copy(folder.path()).unwrap()
}

fn changed(copied: &Copied, change: impl FnOnce(&mut Logged)) -> Copied {
    let mut logged = record::decode(&copied.record).unwrap();
    change(&mut logged);
    let previous = motherlode_log::previous_hash(&copied.record).unwrap();
    Copied { record: record::encode(&previous, &logged), ..copied.clone() }
}

fn logged(copied: &Copied) -> Logged {
    record::decode(&copied.record).unwrap()
}

#[test]
fn pl_30_a_sound_copy_holds_and_has_the_logs_balances_and_digest() {
    let tale = tale();
    let copy = copied_from(&tale.log, "acme");
    assert!(copy.len() > 50 && copy.len() + 10 < tale.log.len(), "{} of {}", copy.len(), tale.log.len());
    let report = audited(&copy);
    assert_eq!(report.divergence, None);
    let (folder, last) = (tempfile::tempdir().unwrap(), copy.last().unwrap().position);
    store(folder.path(), &chained(&tale.log));
    let whole = audit(&options(folder.path())).unwrap();
    assert_eq!(whole.divergence, None);
    assert_eq!(digest(folder.path(), "acme", last).unwrap(), report.digest);
    assert_ne!(digest(folder.path(), "acme", last - 1).unwrap(), report.digest);
    assert_ne!(digest(folder.path(), "other", last).unwrap().digest, report.digest.digest);
    let mut players = 0;
    for (operator, player, state) in report.books.players() {
        let stream = StreamId::player(operator, player);
        let of_log = whole.books.player(&stream).unwrap();
        assert!(state.balances().eq(of_log.balances()), "{stream}");
        assert!(state.collections().eq(of_log.collections()), "{stream}");
        assert_eq!(state.open_rounds().count(), of_log.open_rounds().count());
        players += 1;
    }
    assert_eq!(players, 2);
    let paid: i128 = whole.awards.values().flatten().map(|award| i128::from(award.amount.0)).sum();
    assert_eq!(report.jackpots.get(Currency::EUR).copied().unwrap_or_default(), paid);
    assert_eq!(report.books.rate(Currency::SEK), Some("0.0905".parse::<FxRate>().unwrap()));

    let other = audited(&copied_from(&tale.log, "other"));
    assert_eq!((other.divergence, other.books.players().count()), (None, 1));
}

#[test]
fn pl_30_a_record_left_out_is_found_unless_it_is_its_streams_last_and_then_by_the_digest() {
    let tale = tale();
    let copy = copied_from(&tale.log, "acme");
    let sound = audited(&copy).digest;
    let mut last = BTreeMap::new();
    for (place, copied) in copy.iter().enumerate() {
        last.insert(logged(copied).commit.stream, place);
    }
    let mut found = 0;
    for left_out in 0..copy.len() {
        let mut copy = copy.clone();
        let stream = logged(&copy.remove(left_out)).commit.stream;
        let report = audited(&copy);
        let must_be_found = last[&stream] != left_out && stream != StreamId::System;
        assert!(!must_be_found || report.divergence.is_some(), "{left_out} of {stream}");
        found += usize::from(must_be_found);
        if report.divergence.is_none() {
            assert_ne!(report.digest, sound);
        }
    }
    assert!(found > 45, "{found}");
}

#[test]
fn pl_30_a_forged_copy_is_found() {
    let tale = tale();
    let copy = copied_from(&tale.log, "acme");
    let find = |wanted: fn(&Event) -> bool| {
        let has = |copied: &Copied| logged(copied).commit.events.iter().any(wanted);
        copy.iter().position(has).expect("such an event")
    };
    let forge = |at: usize, change: &dyn Fn(&mut Logged), what: &str| {
        let mut forged = copy.clone();
        forged[at] = changed(&copy[at], change);
        let found = audited(&forged).divergence.expect("a divergence");
        assert!(found.position == copy[at].position && found.what.contains(what), "{what}: {found}");
    };
    let settled = find(|event| matches!(event, Event::RoundSettled { win, .. } if win.0 > 0));
    forge(settled, &|it| it.balances_after[0].1.0 += 1, "the balances stated in the commit");
    forge(settled, &|it| crate::common::step(it).outcome[3] ^= 1, "PL-06");
    forge(settled, &|it| it.commit.time_ms -= 1_000_000, "is before its predecessor's time");
    forge(settled, &|it| it.commit.version += 1, "missing or out of place");
    forge(settled, &|it| it.commit.previous -= 1, "missing or out of place");
    forge(settled, &|it| it.commit.position += 1, "the record's position differs from the position stated");
    forge(settled, &|it| it.commit.stream = crate::common::pool(), "does not concern the operator");
    forge(settled, &|it| it.commit.stream = StreamId::player("other", "zoe"), "does not concern the operator");
    let id = |at: usize| logged(&copy[at]).commit.request_id;
    let same = (0..settled).rev().find(|at| logged(&copy[*at]).commit.stream == logged(&copy[settled]).commit.stream);
    forge(settled, &|it| it.commit.request_id = id(same.unwrap()), "PL-11");
    let voided = find(|event| matches!(event, Event::RoundVoided { .. }));
    let more = |it: &mut Logged| {
        let Event::RoundVoided { refund, .. } = &mut it.commit.events[0] else { unreachable!() };
        refund.0 += 1;
    };
    forge(voided, &more, "the auditor's books refuse");
    let paid = find(|event| matches!(event, Event::JackpotPaid { .. }));
    let elsewhere = |it: &mut Logged| {
        let Event::JackpotPaid { hit, .. } = &mut it.commit.events[0] else { unreachable!() };
        *hit += 1;
    };
    forge(paid, &elsewhere, "paid without a jackpot hit, or was paid twice");
    let rate = find(|event| matches!(event, Event::RateSet { .. }));
    let event = Event::RateSet { currency: Currency::SEK, rate: FxRate::ONE, source: "t".into() };
    let other_rate = changed(&copy[rate], |it| it.commit.events = vec![event]);
    let mut forged = copy.clone();
    forged[rate] = other_rate;
    assert_ne!(
        audited(&forged).digest,
        audited(&copy).digest,
        "without a bet at this rate, only the digest shows the change"
    );

    let mut swapped = copy.clone();
    swapped.swap(settled, settled + 1);
    assert!(audited(&swapped).divergence.unwrap().what.contains("not after that of the previous record"));
    let mut foreign = copy.clone();
    foreign[settled].operator = "other".into();
    assert!(audited(&foreign).divergence.unwrap().what.contains("from copies of different operators"));
    let side_by_side = copy.windows(2).position(|pair| pair[0].position + 1 == pair[1].position).unwrap();
    let mut unlinked = copy.clone();
    unlinked[side_by_side] = changed(&copy[side_by_side], |it| it.commit.fingerprint[0] ^= 1);
    assert!(audited(&unlinked).divergence.unwrap().what.contains("does not contain the hash of its predecessor"));
}

#[test]
fn pl_30_every_flipped_byte_of_a_copys_files_is_found() {
    let copy = copied_from(&tale().log, "acme");
    let mut previous = genesis(0);
    let records: Vec<_> = copy
        .iter()
        .take(12)
        .map(|copied| {
            let bytes = copied::encode(&previous, copied);
            previous = hash(&bytes);
            bytes
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &records);
    let sound = audit_copy(folder.path()).unwrap();
    assert_eq!((sound.divergence, sound.digest.records), (None, 12));
    let used: usize = records.iter().map(Bytes::len).sum();
    let segment = &crate::common::segments(folder.path())[0];
    let bytes = std::fs::read(segment).unwrap();
    for at in (0..used).step_by(37) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        std::fs::write(segment, flipped).unwrap();
        assert!(audit_copy(folder.path()).unwrap().divergence.is_some(), "byte {at}");
    }
}
