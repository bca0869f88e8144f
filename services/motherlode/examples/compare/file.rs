//! Appends to a file, with fdatasync and group commit. The cost of such an append is a lower bound for any durable
//! write. The file is filled first, so that a sync writes no metadata.

use crate::{Cell, cell, histogram, nanos, starts::Starts};
use hdrhistogram::Histogram;
use std::{
    error::Error,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

const BYTES: usize = 64 << 20;
const BATCH_MAX: usize = 512;

type Waiting = oneshot::Sender<()>;

pub struct Plain {
    file: Arc<File>,
    record: usize,
}

impl Plain {
    pub fn create(folder: &Path, record: usize) -> io::Result<Self> {
        let file = File::create(folder.join("plain"))?;
        file.write_all_at(&vec![0; BYTES], 0)?;
        file.sync_all()?;
        Ok(Self { file: Arc::new(file), record })
    }
}

/// Returns the measurements and the median time of a write with its sync, in milliseconds.
pub async fn measure(
    plain: &Plain,
    in_flight: usize,
    time: Duration,
    rate: Option<f64>,
) -> Result<(Cell, f64), Box<dyn Error>> {
    let (file, record) = (Arc::clone(&plain.file), plain.record);
    let (appends, inbox) = mpsc::channel(in_flight);
    let writer = thread::spawn(move || write(&file, record, inbox));
    let starts = Starts::new(time, rate);
    let mut callers = JoinSet::new();
    for _ in 0..in_flight {
        let (appends, starts) = (appends.clone(), Arc::clone(&starts));
        callers.spawn(async move {
            let mut latencies = histogram();
            while let Some(due) = starts.next().await {
                let (durable, answer) = oneshot::channel();
                if appends.send(durable).await.is_err() || answer.await.is_err() {
                    break;
                }
                latencies.saturating_record(nanos(due));
            }
            latencies
        });
    }
    let mut all = histogram();
    for latencies in callers.join_all().await {
        all.add(latencies)?;
    }
    let measured = cell(&all, starts.start.elapsed());
    drop(appends);
    let syncs = writer.join().map_err(|_| "the writer ended")??;
    let sync_ms = Duration::from_nanos(syncs.value_at_quantile(0.5)).as_secs_f64() * 1e3;
    Ok((measured, sync_ms))
}

fn write(file: &File, record: usize, mut inbox: mpsc::Receiver<Waiting>) -> io::Result<Histogram<u64>> {
    let block = vec![0xA5; record * BATCH_MAX];
    let (mut waiting, mut at, mut syncs) = (Vec::with_capacity(BATCH_MAX), 0, histogram());
    while inbox.blocking_recv_many(&mut waiting, BATCH_MAX) > 0 {
        let bytes = record * waiting.len();
        at = if at + bytes > BYTES { 0 } else { at };
        let begun = Instant::now();
        file.write_all_at(&block[..bytes], at as u64)?;
        file.sync_data()?;
        syncs.saturating_record(nanos(begun));
        at += bytes;
        for answer in waiting.drain(..) {
            let _ = answer.send(());
        }
    }
    Ok(syncs)
}
