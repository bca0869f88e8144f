//! Measures `fdatasync` of a plain file; PER_SECOND 0 means no pauses between syncs.

use std::{
    env,
    fs::File,
    os::unix::fs::FileExt,
    thread,
    time::{Duration, Instant},
};

const LENGTH: usize = 64 << 20;

fn main() -> std::io::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [folder, rate, bytes, seconds] = arguments.as_slice() else {
        return Err(std::io::Error::other("usage: syncs FOLDER PER_SECOND BYTES SECONDS"));
    };
    let number = |text: &String| text.parse::<u32>().map_err(std::io::Error::other);
    let (rate, bytes, seconds) = (number(rate)?, number(bytes)? as usize, number(seconds)?);
    let path = std::path::Path::new(folder).join("syncs");
    let file = File::create(&path)?;
    file.write_all_at(&vec![0; LENGTH], 0)?;
    file.sync_all()?;
    let (begun, block, mut took) = (Instant::now(), vec![0xA5; bytes], vec![]);
    while begun.elapsed() < Duration::from_secs(seconds.into()) {
        if rate > 0 {
            let due = begun + Duration::from_secs(1) * u32::try_from(took.len()).unwrap_or(u32::MAX) / rate;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let at = (took.len() * bytes) % (LENGTH - bytes);
        let write = Instant::now();
        file.write_all_at(&block, at as u64)?;
        file.sync_data()?;
        took.push(write.elapsed());
    }
    std::fs::remove_file(path)?;
    took.sort();
    let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    let [p50, p90, p99, most] = [50, 90, 99, 100].map(at);
    println!("{} syncs of {bytes} bytes: p50 {p50:.2?}, p90 {p90:.2?}, p99 {p99:.2?}, most {most:.1?}", took.len());
    Ok(())
}
