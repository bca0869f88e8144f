//! Start of a writer (PL-40): looks for lost records and missing draw keys, then logs a new salt for draws. The
//! files `<keys>.log-<partition>` record the log's end; after a restore to an earlier position, their names end in `-r`
//! and the restore's random number.

use crate::{
    append::{AppendError, Proposal},
    chain::ChainHead,
    draws::{DrawKeys, DrawKeysError},
    evidence::{EndMark, Sources, Verdict, judge},
    handle::Handle,
    page::{Page, PageError},
};
use motherlode_log::{Hash, Position, ReadError, hash};
use motherlode_state::{Epoch, Event, GenerationBegun, InternalRequest, StartEvidence, StreamId};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    io::Write as _,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Default)]
pub struct StartPolicy {
    pub pages: Option<PathBuf>,
    /// Data folder of a local log; `None` for a log on JetStream.
    pub log: Option<PathBuf>,
    /// End of each partition's log, as reported by witnesses, which cosign checkpoints of the log. A reported end can
    /// prevent a start, but never permit one.
    pub reported: BTreeMap<u32, Position>,
    pub accept_loss: bool,
    pub accept_lost_keys: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StartRefused {
    #[error(
        "partition {partition}: a record at position {lost_to} was acknowledged, but the log ends at position {end} without \
         it. Revealed random values could be used again, so the service does not start. Start with the newest copy of the \
         log. Without a copy, `serve --restored` accepts the loss and revokes all unused seals. The log then \
         records the loss and the revocation"
    )]
    Lost { partition: u32, lost_to: Position, end: Position },
    #[error(
        "partition {partition}: the log names draw keys that {} lacks: {keys}. {draws} sealed draws and {rounds} open rounds depend on \
         these keys. Restore the file. If the file is lost, `serve --draw-keys-lost` accepts the loss: these draws get \
         new values and these rounds can \
         only be voided", file.display()
    )]
    KeysMissing { partition: u32, file: PathBuf, keys: EpochNames, draws: u64, rounds: u64 },
    #[error("cannot access the memory-backed file that records the log's end: {0}")]
    Page(String),
    #[error("cannot access the mark file {}, which records the log's end: {source}", path.display())]
    Mark { path: PathBuf, source: io::Error },
    #[error("cannot read the log: {0}")]
    Read(#[from] ReadError),
    #[error(transparent)]
    Keys(#[from] DrawKeysError),
    #[error("the operating system returned no random bytes: {0}")]
    Entropy(getrandom::Error),
    #[error("partition {partition}: failed to log the new salt for draws: {source}")]
    Append { partition: u32, source: AppendError },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochNames(pub Vec<Epoch>);

impl fmt::Display for EpochNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{:08x}", u32::from_be_bytes(*name))?;
        }
        Ok(())
    }
}

impl From<PageError> for StartRefused {
    fn from(error: PageError) -> Self {
        Self::Page(error.to_string())
    }
}

pub struct JudgedStart {
    ledger: Handle,
    verdict: Verdict,
    lost: BTreeSet<Epoch>,
    page: Option<Page>,
}

/// Returns `None` if the draw keys exist only in memory. Nothing is judged then, because new keys never deal an old
/// value again.
pub fn judge_start(
    ledger: &Handle,
    keys: &DrawKeys,
    policy: &StartPolicy,
) -> Result<Option<JudgedStart>, StartRefused> {
    let Some(mark) = keys.mark_file(ledger) else { return Ok(None) };
    let (partition, generations) = (ledger.partition(), ledger.generations());
    let end = *ledger.head().borrow();
    let (page, remembered) = match (&policy.pages, identity(ledger)?) {
        (Some(folder), Some(log)) => {
            let (page, remembered) = Page::open(folder, (log, partition), policy.log.is_some())?;
            (Some(page), remembered)
        }
        _ => (None, None),
    };
    let sources = Sources {
        page: remembered,
        mark: read_mark(&mark)?,
        mark_is_apart: policy.log.as_deref().is_some_and(|log| are_apart(&mark, log)),
        followed: ledger.was_followed(),
    };
    let verdict = judge(&sources, end, &generations, |head| has(ledger, head))?;
    let reported = policy.reported.get(&partition).copied().unwrap_or_default();
    let verdict = match reported > end.position.max(generations.lost_to()) {
        true => Verdict { evidence: StartEvidence::Restored, lost_to: reported.max(verdict.lost_to) },
        false => verdict,
    };
    if verdict.evidence == StartEvidence::Restored && !policy.accept_loss {
        return Err(StartRefused::Lost { partition, lost_to: verdict.lost_to, end: end.position });
    }
    let verdict = match policy.accept_loss && verdict.evidence != StartEvidence::EmptyLog {
        true => Verdict { evidence: StartEvidence::Restored, ..verdict },
        false => verdict,
    };
    let lost = match policy.accept_lost_keys {
        true => missing(ledger, keys)?,
        false => check_keys(ledger, keys).map(|()| BTreeSet::new())?,
    };
    Ok(Some(JudgedStart { ledger: ledger.clone(), verdict, lost, page }))
}

pub fn check_keys(ledger: &Handle, keys: &DrawKeys) -> Result<(), StartRefused> {
    let lost = missing(ledger, keys)?;
    if lost.is_empty() {
        return Ok(());
    }
    let (draws, rounds) = depending(ledger, &lost);
    let file = keys.path().map(Path::to_owned).unwrap_or_default();
    let keys = EpochNames(lost.into_iter().collect());
    Err(StartRefused::KeysMissing { partition: ledger.partition(), file, keys, draws, rounds })
}

impl JudgedStart {
    pub async fn begin(self, keys: &DrawKeys, policy: &StartPolicy) -> Result<(), StartRefused> {
        let Self { ledger, verdict, lost, page } = self;
        let (partition, generations) = (ledger.partition(), ledger.generations());
        let number = generations.current().number + 1;
        let named: BTreeSet<_> = generations.keys().collect();
        let names = keys.names();
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(StartRefused::Entropy)?;
        let begun = GenerationBegun {
            number,
            salt,
            unused_seals_end: verdict.ends_seals(),
            evidence: verdict.evidence,
            lost_to: verdict.lost_to,
            keys_added: names.into_iter().filter(|name| !named.contains(name)).collect(),
            keys_lost: lost.into_iter().collect(),
        };
        tell(partition, &begun);
        let proposal = Proposal {
            stream: StreamId::System,
            expected_version: None,
            request_id: InternalRequest::BeginGeneration { number }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: vec![Event::GenerationBegun(begun.into())],
        };
        ledger.append(proposal).await.map_err(|source| StartRefused::Append { partition, source })?;
        let page = match (page, &policy.pages, identity(&ledger)?) {
            (None, Some(folder), Some(log)) => Some(Page::open(folder, (log, partition), policy.log.is_some())?.0),
            (page, ..) => page,
        };
        if let Some(page) = page {
            ledger.keep_page(page.in_generation(number));
        }
        Ok(())
    }
}

fn tell(partition: u32, begun: &GenerationBegun) {
    let GenerationBegun { number, evidence, lost_to, keys_lost, .. } = begun;
    match evidence {
        StartEvidence::Missing => tracing::warn!(
            partition,
            generation = number,
            "the log may have lost records: all unused seals are revoked, and players' next draws get new values"
        ),
        StartEvidence::Restored => tracing::error!(
            partition,
            generation = number,
            lost_to,
            "accepted the loss of acknowledged records: all unused seals are revoked"
        ),
        _ => tracing::info!(partition, generation = number, ?evidence, "new seals depend on a new salt"),
    }
    if !keys_lost.is_empty() {
        tracing::error!(partition, keys = %EpochNames(keys_lost.clone()), "accepted the loss of draw keys: open rounds that need these keys can only be voided");
    }
}

fn identity(ledger: &Handle) -> Result<Option<Hash>, ReadError> {
    let first = ledger.identity()?;
    Ok(match ledger.restores().current() {
        0 => first,
        number => first.map(|first| hash(&[&first[..], &number.to_be_bytes()].concat())),
    })
}

fn has(ledger: &Handle, head: ChainHead) -> Result<bool, ReadError> {
    if head.position == 0 || head.position > ledger.durable() {
        return Ok(head.position == 0);
    }
    match ledger.records(head.position, 1, BYTES) {
        Ok(found) => Ok(found.first().is_some_and(|found| hash(&found.bytes) == head.hash)),
        // The log did not lose this record: a prune removes only archived records.
        Err(ReadError::Archived { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

fn read_mark(path: &Path) -> Result<Option<EndMark>, StartRefused> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StartRefused::Mark { path: path.to_owned(), source }),
    };
    let mark = std::str::from_utf8(&bytes).ok().and_then(EndMark::parse);
    if mark.is_none() {
        tracing::error!(file = %path.display(), "the mark that records the log's end is damaged: the mark is ignored and will be rewritten");
    }
    Ok(mark)
}

fn are_apart(file: &Path, folder: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.dev());
    device(file).zip(device(folder)).is_some_and(|(file, folder)| file != folder)
}

fn missing(ledger: &Handle, keys: &DrawKeys) -> Result<BTreeSet<Epoch>, DrawKeysError> {
    if keys.path().is_none() {
        return Ok(BTreeSet::new());
    }
    let generations = ledger.generations();
    let mut named: BTreeSet<_> = generations.keys().collect();
    // Logs of older versions do not list their keys, so the keys are collected from the players' states.
    if generations.current().number == 0 && !ledger.is_replica() {
        ledger.each_player(|player| named.extend(player.depends_on()));
    }
    named.retain(|name| !generations.is_lost(*name));
    // Another process may have added a key.
    keys.reload()?;
    for name in keys.names() {
        named.remove(&name);
    }
    Ok(named)
}

fn depending(ledger: &Handle, keys: &BTreeSet<Epoch>) -> (u64, u64) {
    let (mut draws, mut rounds) = (0, 0);
    ledger.each_player(|player| {
        draws += u64::from(player.draw.is_some_and(|draw| keys.contains(&draw.epoch)));
        let depend = player.open_rounds().filter(|open| open.draws().any(|draw| keys.contains(&draw.epoch)));
        rounds += depend.count() as u64;
    });
    (draws, rounds)
}

impl DrawKeys {
    fn mark_file(&self, ledger: &Handle) -> Option<PathBuf> {
        let mut name = self.path()?.as_os_str().to_owned();
        name.push(format!(".log-{}", ledger.partition()));
        if let number @ 1.. = ledger.restores().current() {
            name.push(format!("-r{number}"));
        }
        Some(name.into())
    }

    pub fn mark(&self, ledger: &Handle, head: ChainHead, stopped: bool) -> io::Result<()> {
        let Some(path) = self.mark_file(ledger) else { return Ok(()) };
        let generation = ledger.generations().current().number;
        let mut next = path.clone().into_os_string();
        next.push(".next");
        let mut file = fs::File::create(&next)?;
        file.write_all(EndMark { head, generation, stopped }.line().as_bytes())?;
        file.sync_data()?;
        fs::rename(next, &path)?;
        path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
    }
}
