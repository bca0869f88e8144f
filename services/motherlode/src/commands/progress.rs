//! Shows progress on standard error, as a bar on a terminal and otherwise as a line every few seconds.

use crate::figures::grouped;
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

const LINE_EVERY: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub struct Progress {
    bar: ProgressBar,
    done: AtomicU64,
    of: Option<u64>,
    unit: &'static str,
    due: Option<Mutex<Instant>>,
}

impl Progress {
    #[must_use]
    pub fn new(of: Option<u64>, unit: &'static str) -> Self {
        let (bar, style) = match of {
            Some(of) => {
                (ProgressBar::new(of), format!("{{bar:32}} {{percent:>3}} %, {{human_pos}} {unit}, {{eta}} left"))
            }
            None => (ProgressBar::new_spinner(), format!("{{spinner}} {{human_pos}} {unit}, {{per_sec}}")),
        };
        if let Ok(style) = ProgressStyle::with_template(&style) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(LOOK_EVERY);
        let due = (!io::stderr().is_terminal()).then(|| Mutex::new(Instant::now() + LINE_EVERY));
        Self { bar, done: AtomicU64::new(0), of, unit, due }
    }

    #[cfg(test)]
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), done: AtomicU64::new(0), of: None, unit: "", due: None }
    }

    pub fn add(&self, more: u64) {
        self.set(self.done.fetch_add(more, Ordering::Relaxed) + more);
    }

    fn set(&self, done: u64) {
        self.bar.set_position(done);
        let Some(Ok(mut due)) = self.due.as_ref().map(Mutex::try_lock) else { return };
        let now = Instant::now();
        if *due <= now {
            *due = now + LINE_EVERY;
            let _ = writeln!(io::stderr(), "{}", line(done, self.of, self.unit));
        }
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

pub fn shown<T>(unit: &'static str, work: impl FnOnce(&Arc<AtomicU64>) -> T) -> T {
    let (progress, count) = (Progress::new(None, unit), Arc::new(AtomicU64::new(0)));
    let (over, is_over) = channel::<()>();
    thread::scope(|threads| {
        let (progress, count) = (&progress, &count);
        threads.spawn(move || {
            while is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                progress.set(count.load(Ordering::Relaxed));
            }
            progress.end();
        });
        let done = work(count);
        drop(over);
        done
    })
}

fn line(done: u64, of: Option<u64>, unit: &str) -> String {
    let told = grouped(&done.to_string());
    match of.filter(|of| *of > 0) {
        Some(of) => {
            let percent = u128::from(done) * 100 / u128::from(of);
            format!("{told} of {} {unit}, {percent} %", grouped(&of.to_string()))
        }
        None => format!("{told} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_of_how_much() {
        assert_eq!(line(12_345, Some(100_000), "rounds"), "12,345 of 100,000 rounds, 12 %");
        assert_eq!(line(u64::MAX, Some(u64::MAX), "rounds").split(", ").last(), Some("100 %"));
        assert_eq!(line(7, Some(0), "rounds"), "7 rounds");
        assert_eq!(line(1_000, None, "records"), "1,000 records");
    }

    #[test]
    fn what_is_shown_is_done_once_and_answered() {
        let counted = shown("records", |count| {
            count.fetch_add(3, Ordering::Relaxed);
            Arc::clone(count)
        });
        assert_eq!(counted.load(Ordering::Relaxed), 3);
    }
}
