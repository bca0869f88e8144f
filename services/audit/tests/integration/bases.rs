use crate::common::{Tale, chained, options, segments, store};
use bytes::Bytes;
use motherlode_audit::{BaseDigest, Options, Report, audit};
use motherlode_log::hash;
use motherlode_proto::convert::record;
use motherlode_state::{BaseConfirmed, BaseTaken, Books, Event, StateDigest, StreamId};
use proptest::{prelude::*, sample::Index};
use std::{path::Path, sync::LazyLock};

struct Told {
    tale: Tale,
    records: Vec<Bytes>,
    folder: tempfile::TempDir,
}

static TOLD: LazyLock<Told> = LazyLock::new(|| {
    let (tale, folder) = (Tale::of_everything_sealed(), tempfile::tempdir().unwrap());
    let records = chained(&tale.log);
    store(folder.path(), &records);
    Told { tale, records, folder }
});

fn audited(folder: &Path, base: u64, threads: usize) -> Report {
    audit(&Options { base: Some(base), threads, ..options(folder) }).unwrap()
}

fn folded(records: &[Bytes]) -> Books {
    let mut books = Books::new();
    let commits: Vec<_> = records.iter().map(|bytes| record::decode(bytes).unwrap().commit).collect();
    for (index, (commit, bytes)) in commits.iter().zip(records).enumerate() {
        let round = commit.events.iter().find_map(|event| match event {
            Event::RoundVoided { round, .. } => Some(*round),
            _ => None,
        });
        let earlier = commits[..index].iter().filter(|earlier| earlier.stream == commit.stream);
        let recalled = round.and_then(|round| motherlode_state::SettledRound::recall(round, earlier));
        books.apply_recorded(commit, recalled.as_ref(), hash(bytes)).unwrap();
    }
    books
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pl_37_the_audit_digests_the_state_that_a_fold_of_the_records_up_to_the_position_has(
        at in any::<Index>(), threads in 1_usize..5
    ) {
        let Told { records, folder, .. } = &*TOLD;
        let position = at.index(records.len()) + 1;
        let report = audited(folder.path(), position as u64, threads);
        prop_assert_eq!(&report.divergence, &None);
        let record_hash = hash(&records[position - 1]);
        let digest = folded(&records[..position]).digest().unwrap();
        let expected =
            BaseDigest { position: position as u64, record_hash, form: StateDigest::FORM, digest, is_logged: false };
        prop_assert_eq!(report.base, Some(expected));
    }
}

fn with_base(change: impl FnOnce(&mut BaseTaken)) -> (tempfile::TempDir, u64, u64) {
    let Told { tale, records, .. } = &*TOLD;
    let (mut tale, position) = (tale.clone(), records.len() as u64);
    let digest = tale.books.digest().unwrap();
    let record_hash = hash(&records[records.len() - 1]);
    let mut base = BaseTaken { position, record_hash, form: StateDigest::FORM, digest, actor: "ann".into() };
    change(&mut base);
    let confirmed = BaseConfirmed { position: base.position, digest: base.digest, actor: "auditor".into() };
    let taken_at = tale.write(StreamId::System, vec![Event::BaseTaken(base.into())]);
    tale.write(StreamId::System, vec![Event::BaseConfirmed(confirmed.into())]);
    tale.join("zoe");
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(&tale.log));
    (folder, position, taken_at)
}

#[test]
fn pl_37_the_audit_compares_its_digest_with_the_base_in_the_log() {
    let (folder, position, _) = with_base(|_| {});
    let report = audited(folder.path(), position, 2);
    assert_eq!(report.divergence, None);
    assert!(report.base.unwrap().is_logged);
    assert_eq!(report.books.confirmed_base().unwrap().position, position);
    let changes: [fn(&mut BaseTaken); 2] = [|base| base.digest[31] ^= 1, |base| base.record_hash[0] ^= 1];
    for change in changes {
        let (folder, position, taken_at) = with_base(change);
        let found = audited(folder.path(), position, 2).divergence.unwrap();
        assert_eq!(found.position, taken_at, "{found}");
        assert!(found.what.starts_with("PL-37: "), "{found}");
        let unasked = audit(&options(folder.path())).unwrap();
        assert_eq!((unasked.divergence, unasked.base), (None, None), "without --base the claim is not checked");
    }
}

#[test]
fn pl_37_a_log_that_ends_before_the_base_diverges() {
    let Told { records, folder, .. } = &*TOLD;
    assert!(!segments(folder.path()).is_empty());
    let found = audited(folder.path(), records.len() as u64 + 1, 2).divergence.unwrap();
    assert_eq!(found.what, "the log ends before the position whose state digest was requested");
}
