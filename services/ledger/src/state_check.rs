//! Checks a snapshot that another build wrote: in the background, computes the states of some players from the log and
//! compares them with the snapshot.
//!
//! Builds with the same [state version](crate::snapshot) share snapshots. Operators' totals and other figures over all
//! players are not checked.

use crate::{error::OpenError, players::FixedPlayers, provenance::Provenance, verifier::TELL_EVERY, walk::recall};
use motherlode_log::{Position, ReadError, Reader, Record, hash};
use motherlode_proto::convert::record;
use motherlode_runtime::program;
use motherlode_state::{Commit, CommonState, PlayerState, Refused, Share, StreamId};
use motherlode_views::ViewError;
use siphasher::sip::SipHasher13;
use std::{borrow::Cow, collections::HashMap, hash::Hasher, sync::Arc, time::Instant};

const PLAYERS_MIN: usize = 1 << 12;
const PLAYERS_MAX: usize = 1 << 16;
/// The sample of players is halved whenever it reaches its limit, which is [`PLAYERS_MIN`] at first. After this number
/// of halvings, the limit is [`PLAYERS_MAX`].
const BITS: u32 = 8;
const BYTES: usize = 1 << 20;

pub(crate) struct StateCheck {
    pub(crate) partition: u32,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) position: Position,
    pub(crate) players: FixedPlayers,
    pub(crate) shared: CommonState,
}

#[derive(Debug, thiserror::Error)]
enum Unchecked {
    #[error("the ledger is shutting down")]
    Closing,
    #[error("the log has no record at position {0}")]
    Missing(Position),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Player(#[from] ViewError),
}

type Checked = Result<usize, String>;

impl StateCheck {
    pub(crate) fn run(self, provenance: &Provenance, stop: impl Fn() -> bool, remove: impl Fn()) {
        motherlode_runtime::lower_priority();
        let own = program::digest();
        if own.is_some() && own == provenance.before() {
            provenance.set_own(false);
            return;
        }
        let (partition, position, begun) = (self.partition, self.position, Instant::now());
        tracing::info!(
            partition,
            position,
            "another build wrote the snapshot: checking it against the log in the background"
        );
        match self.check(&stop) {
            Ok(Ok(players)) => {
                let seconds = begun.elapsed().as_secs();
                tracing::info!(
                    partition,
                    position,
                    players,
                    seconds,
                    "the snapshot of another build matches the state recomputed from the log"
                );
                provenance.set_own(true);
            }
            Ok(Err(difference)) => {
                let failure =
                    format!("partition {partition}: the snapshot at position {position} is wrong: {difference}");
                tracing::error!(
                    partition,
                    position,
                    failure,
                    "the snapshot differs from the state recomputed from the log: no new rounds start \
                     until a restart of the service replays the log"
                );
                provenance.fail(failure);
                remove();
            }
            Err(Unchecked::Closing) => {}
            Err(Unchecked::Read(ReadError::Archived { first, .. })) => {
                tracing::warn!(
                    partition,
                    first,
                    "cannot check the snapshot that another build wrote, because a prune removed the log's first records: it is used unchecked"
                );
            }
            Err(error) => {
                tracing::warn!(partition, %error, "failed to check the snapshot that another build wrote: it is used unchecked until the next start");
            }
        }
    }

    fn check(&self, stop: &impl Fn() -> bool) -> Result<Checked, Unchecked> {
        let (mut sample, mut next, mut told) = (Sample::new(rand_key()), 1, Instant::now());
        while next <= self.position {
            if stop() {
                return Err(Unchecked::Closing);
            }
            let records = self.reader.read(next, usize::MAX, BYTES)?;
            if records.first().is_none_or(|first| first.position != next) {
                return Err(Unchecked::Missing(next));
            }
            for record in records.iter().take_while(|record| record.position <= self.position) {
                match sample.take(&*self.reader, record) {
                    Ok(()) => {}
                    Err(OpenError::Read(error)) => return Err(error.into()),
                    Err(refused) => {
                        return Ok(Err(format!("this build cannot compute the state from the log: {refused}")));
                    }
                }
                next = record.position + 1;
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                let (partition, players) = (self.partition, sample.players.len());
                tracing::info!(
                    partition,
                    position = next - 1,
                    to = self.position,
                    players,
                    "still recomputing the players' states from the log"
                );
            }
        }
        self.compare(&sample, stop)
    }

    fn compare(&self, sample: &Sample, stop: &impl Fn() -> bool) -> Result<Checked, Unchecked> {
        if let Some(what) = sample.share.difference(&self.shared, |stream| sample.has(&stream.to_string())) {
            return Ok(Err(format!("the snapshot is wrong: {what}")));
        }
        for player in sample.players.values() {
            if stop() {
                return Err(Unchecked::Closing);
            }
            if self.players.find(&player.stream)?.as_ref() != Some(&player.state) {
                return Ok(Err(format!(
                    "the state of {} differs from the state recomputed from the log",
                    player.stream
                )));
            }
        }
        Ok(Ok(sample.players.len()))
    }
}

struct Player {
    stream: StreamId,
    state: PlayerState,
}

struct Sample {
    key: [u8; 16],
    bits: u32,
    share: Share,
    players: HashMap<Box<str>, Player>,
}

impl Sample {
    fn new(key: [u8; 16]) -> Self {
        Self { key, bits: 0, share: Share::default(), players: HashMap::new() }
    }

    fn has(&self, name: &str) -> bool {
        has(self.key, self.bits, name)
    }

    fn take(&mut self, reader: &dyn Reader, record: &Record) -> Result<(), OpenError> {
        let Record { position, bytes } = record;
        let malformed = |source| OpenError::Malformed { position: *position, source };
        let name = match record::stream_name(bytes).and_then(|name| std::str::from_utf8(name).ok()) {
            Some(name) if !name.is_empty() => Cow::Borrowed(name),
            _ => Cow::Owned(record::stream(bytes).map_err(malformed)?.to_string()),
        };
        let is_player = name.starts_with("player/");
        if is_player && !self.has(&name) {
            return Ok(());
        }
        let commit = record::decode(bytes).map_err(malformed)?.commit;
        if is_player {
            return self.fold(reader, &name, &commit, bytes);
        }
        let Self { key, bits, share, .. } = self;
        if CommonState::is_changed_by(&commit) {
            let taken = share.take_over(&commit, |stream| has(*key, *bits, &stream.to_string()));
            taken.map_err(|source| OpenError::Refused { position: *position, source })?;
        }
        Ok(())
    }

    fn fold(&mut self, reader: &dyn Reader, name: &str, commit: &Commit, record: &[u8]) -> Result<(), OpenError> {
        if !self.players.contains_key(name) {
            self.make_room();
            if !self.has(name) {
                return Ok(());
            }
            let player = Player { stream: commit.stream.clone(), state: PlayerState::default() };
            self.players.insert(name.into(), player);
        }
        let Some(Player { state, .. }) = self.players.get_mut(name) else { return Ok(()) };
        let refused = |source| OpenError::Refused { position: commit.position, source };
        let (before, of) = (state.clone(), |_: &PlayerState| hash(record));
        match self.share.apply_recorded(state, commit, None, of) {
            Err(Refused::RecallNeeded { round }) => {
                *state = before;
                let recalled = recall(reader, commit, round)?;
                self.share.apply_recorded(state, commit, recalled.as_ref(), of).map_err(refused)?;
            }
            folded => _ = folded.map_err(refused)?,
        }
        Ok(())
    }

    fn make_room(&mut self) {
        let most = if self.bits < BITS { PLAYERS_MIN } else { PLAYERS_MAX };
        if self.players.len() >= most {
            self.bits += 1;
            let (key, bits) = (self.key, self.bits);
            self.players.retain(|name, _| has(key, bits, name));
        }
    }
}

fn has(key: [u8; 16], bits: u32, name: &str) -> bool {
    let mut hasher = SipHasher13::new_with_key(&key);
    hasher.write(name.as_bytes());
    hasher.finish().leading_zeros() >= bits
}

fn rand_key() -> [u8; 16] {
    let mut key = [0; 16];
    let _ = getrandom::fill(&mut key);
    key
}

#[cfg(test)]
mod tests;
