//! First stage of the audit: verifies the log's bytes, and sends all records of a player to the same thread.

use crate::{
    divergence::{Divergence, Fault, Unusable},
    tree::TreeCheck,
};
use motherlode_ledger::ChainHead;
use motherlode_log::{Hash, Position, Record, Scan, ScanError, hash, previous_hash};
use motherlode_proto::convert::{play::hex, record};
use motherlode_state::CommonState;
use std::{
    borrow::Cow,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::SyncSender,
    },
};

const BATCH: usize = 512;

pub(crate) struct RecordBatch {
    pub(crate) of_partition: bool,
    pub(crate) follows: bool,
    pub(crate) digests: bool,
    pub(crate) records: Vec<(Record, Hash)>,
}

#[derive(Default)]
pub(crate) struct Route {
    pub(crate) threads: Vec<u8>,
    pub(crate) changes: bool,
    pub(crate) base: Option<Hash>,
}

fn thread_of(stream: &[u8], threads: usize) -> usize {
    let hashed = stream.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    usize::try_from(hashed).unwrap_or_default() % threads
}

pub(crate) fn name_of(record: &[u8]) -> Cow<'_, [u8]> {
    match record::stream_name(record) {
        Some(name) if !name.is_empty() => Cow::Borrowed(name),
        _ => Cow::Owned(record::stream(record).map_or_else(|_| vec![], |stream| stream.to_string().into_bytes())),
    }
}

fn changes(name: &[u8], record: &[u8]) -> bool {
    !name.starts_with(b"player/")
        && record::decode(record).map_or(true, |logged| CommonState::is_changed_by(&logged.commit))
}

pub(crate) struct Reading<'a> {
    pub(crate) scan: &'a mut Scan,
    pub(crate) tree: Option<&'a mut TreeCheck>,
    pub(crate) partition: u32,
    pub(crate) head: Option<ChainHead>,
    pub(crate) base: Option<Position>,
    pub(crate) players: Vec<SyncSender<RecordBatch>>,
    pub(crate) fold: SyncSender<Route>,
    pub(crate) read: Option<&'a AtomicU64>,
    pub(crate) stop: Option<&'a AtomicBool>,
}

impl Reading<'_> {
    pub(crate) fn run(mut self) -> Result<Result<(), Box<Divergence>>, Unusable> {
        let mut follows = false;
        loop {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Unusable::Stopped);
            }
            let mut parts: Vec<_> = self.players.iter().map(|_| vec![]).collect();
            let mut route = Route { threads: Vec::with_capacity(BATCH), ..Route::default() };
            let ended = self.fill(&mut route, &mut parts);
            if let Some(read) = self.read {
                read.fetch_add(route.threads.len() as u64, Ordering::Relaxed);
            }
            let of_partition = self.scan.partition_number() == Some(self.partition);
            // A send fails only after a later stage has stopped at a fault in an earlier batch. Later batches cannot
            // change the audit's result, so reading stops.
            let mut wanted = true;
            if !route.threads.is_empty() {
                for (player, records) in self.players.iter().zip(parts) {
                    wanted &= player
                        .send(RecordBatch { of_partition, follows, digests: route.base.is_some(), records })
                        .is_ok();
                }
                follows = route.changes;
                wanted &= self.fold.send(route).is_ok();
            }
            match ended {
                Ok(true) if wanted => {}
                Ok(_) => return Ok(Ok(())),
                Err(Stopped::Divergence(divergence)) => return Ok(Err(divergence)),
                Err(Stopped::Unusable(unusable)) => return Err(unusable),
            }
        }
    }

    fn fill(&mut self, route: &mut Route, parts: &mut [Vec<(Record, Hash)>]) -> Result<bool, Stopped> {
        let mut last: Option<usize> = None;
        while route.threads.len() < BATCH && !route.changes && route.base.is_none() {
            let Some(record) = self.scan.next() else { return Ok(false) };
            let record = record.map_err(|error| match error {
                ScanError::Damaged(damage) => Stopped::Divergence(Divergence::of_damage(self.partition, damage)),
                ScanError::Io { path, source } => Stopped::Unusable(Unusable::Io { path, source }),
            })?;
            let Record { position, .. } = record;
            let before = previous_hash(&record.bytes);
            let held = self.head.filter(|held| held.position == position).map(|held| (held.hash, hash(&record.bytes)));
            let name = name_of(&record.bytes);
            let thread = thread_of(&name, parts.len());
            route.changes = changes(&name, &record.bytes);
            if let (Some((_, hash)), Some(before)) = (last.and_then(|thread| parts[thread].last_mut()), before) {
                *hash = before;
            }
            let is_base = self.base == Some(position);
            let ends = route.changes || is_base || route.threads.len() + 1 == BATCH;
            let of_last = if ends { hash(&record.bytes) } else { Hash::default() };
            route.base = is_base.then_some(of_last);
            drop(name);
            route.threads.push(u8::try_from(thread).unwrap_or_default());
            parts[thread].push((record, of_last));
            last = Some(thread);
            let partition = self.partition;
            let at = |fault: Fault, position| Stopped::Divergence(fault.at(partition, position));
            if let Some((expected, found)) = held.filter(|(expected, found)| expected != found) {
                let what = "the record differs from the record that the snapshot was built from";
                return Err(at(Fault::new(what, hex(&expected), hex(&found)), position));
            }
            if let (Some(tree), Some(before), 2..) = (&mut self.tree, before, position) {
                tree.take(before).map_err(|fault| at(fault, position - 1))?;
            }
        }
        Ok(true)
    }
}

enum Stopped {
    Divergence(Box<Divergence>),
    Unusable(Unusable),
}
