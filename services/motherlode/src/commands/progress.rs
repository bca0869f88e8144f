//! How far something long is, on standard error: a bar on a terminal, a line now and then where there is none.

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

/// From one line to the next, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// From one look at a count to the next.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How far something is.
pub struct Progress {
    /// Hidden where there is no terminal.
    bar: ProgressBar,
    done: AtomicU64,
    /// How many there will be, if it's known.
    of: Option<u64>,
    unit: &'static str,
    /// When the next line is due; none where a bar is drawn, or nothing is said.
    due: Option<Mutex<Instant>>,
}

impl Progress {
    /// Of so many of something, or of as many as there are.
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

    /// One that says nothing.
    #[cfg(test)]
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), done: AtomicU64::new(0), of: None, unit: "", due: None }
    }

    /// So many more are done.
    pub fn add(&self, more: u64) {
        self.set(self.done.fetch_add(more, Ordering::Relaxed) + more);
    }

    fn set(&self, done: u64) {
        self.bar.set_position(done);
        // Who comes while another thread says a line has no need to.
        let Some(Ok(mut due)) = self.due.as_ref().map(Mutex::try_lock) else { return };
        let now = Instant::now();
        if *due <= now {
            *due = now + LINE_EVERY;
            // Nobody is to fail because nobody reads how far it is.
            let _ = writeln!(io::stderr(), "{}", line(done, self.of, self.unit));
        }
    }

    /// It's over: the bar is taken away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Works while it's shown how far the count is that the work is given to count up.
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

/// How far it is, in a line.
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
