use crate::config::LogFormat;
use parking_lot::Mutex;
use rustix::fs::fstat;
use std::{
    collections::HashMap,
    env, fmt, io,
    time::{Duration, Instant},
};
use tracing::{Event, Level, Metadata, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    Layer,
    fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, format::Writer},
    registry::LookupSpan,
};

pub(super) fn layer<S, W>(form: LogFormat, journal: bool, colours: bool, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_ansi(colours && form == LogFormat::Text).with_writer(writer);
    match form {
        LogFormat::Text => lines.map_event_format(|inner| Lines::new(inner, journal, form)).boxed(),
        LogFormat::Json => {
            lines.json().flatten_event(true).map_event_format(|inner| Lines::new(inner, journal, form)).boxed()
        }
    }
}

/// Maximum burst of warning and error lines per place in the source.
const BURST: u32 = 100;
/// Time after which a place in the source may log one more line.
const REFILL: Duration = Duration::from_secs(6);

/// Limits the rate of warning and error lines from each place in the source. Prefixes lines sent to the journal with
/// their priority (sd-daemon(3)).
struct Lines<F> {
    inner: F,
    journal: bool,
    form: LogFormat,
    places: Mutex<HashMap<Identifier, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: u32,
    since: Instant,
    left_out: u64,
}

impl Bucket {
    fn full(now: Instant) -> Self {
        Self { left: BURST, since: now, left_out: 0 }
    }

    fn take(&mut self, now: Instant) -> Option<u64> {
        let refills = now.saturating_duration_since(self.since).as_secs() / REFILL.as_secs();
        let refills = u32::try_from(refills).unwrap_or(u32::MAX);
        self.since += REFILL * refills.min(BURST);
        self.left = self.left.saturating_add(refills).min(BURST);
        if refills >= BURST {
            self.since = now;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out += 1;
                None
            }
        }
    }
}

impl<F> Lines<F> {
    fn new(inner: F, journal: bool, form: LogFormat) -> Self {
        Self { inner, journal, form, places: Mutex::default() }
    }

    fn take(&self, metadata: &Metadata<'_>) -> Option<u64> {
        if *metadata.level() > Level::WARN {
            return Some(0);
        }
        let now = Instant::now();
        self.places.lock().entry(metadata.callsite()).or_insert_with(|| Bucket::full(now)).take(now)
    }

    fn begin(&self, writer: &mut Writer<'_>, level: Level) -> fmt::Result {
        if self.journal { write!(writer, "<{}>", priority(level)) } else { Ok(()) }
    }
}

impl<S, N, F> FormatEvent<S, N> for Lines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(left_out) = self.take(event.metadata()) else { return Ok(()) };
        let level = *event.metadata().level();
        self.begin(&mut writer, level)?;
        self.inner.format_event(context, writer.by_ref(), event)?;
        if left_out == 0 {
            return Ok(());
        }
        self.begin(&mut writer, level)?;
        match self.form {
            LogFormat::Text => writeln!(writer, "{left_out} similar lines before this line were omitted"),
            LogFormat::Json => writeln!(writer, "{{\"level\":\"{level}\",\"left_out\":{left_out}}}"),
        }
    }
}

fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// Returns whether standard error is the journal. systemd states the journal's device and inode in JOURNAL_STREAM.
pub(super) fn is_journal() -> bool {
    let stream = env::var("JOURNAL_STREAM").ok();
    let Some((device, inode)) = stream.as_deref().and_then(|stream| stream.split_once(':')) else { return false };
    fstat(io::stderr()).is_ok_and(|found| found.st_dev.to_string() == device && found.st_ino.to_string() == inode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tracing_subscriber::layer::SubscriberExt;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Written {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn a_line_for_the_journal_has_the_priority_of_its_level_as_text_and_as_json() {
        let (text, json) = (Written::default(), Written::default());
        for (form, lines) in [(LogFormat::Text, &text), (LogFormat::Json, &json)] {
            let subscriber = tracing_subscriber::registry().with(layer(form, true, false, lines.clone()));
            tracing::subscriber::with_default(subscriber, || {
                tracing::error!("one");
                tracing::warn!("two");
                tracing::info!(number = 3, "three");
                tracing::debug!("four");
            });
            let text = String::from_utf8(lines.0.lock().clone()).unwrap();
            let priorities: Vec<_> = text.lines().map(|line| &line[..3]).collect();
            assert_eq!(priorities, ["<3>", "<4>", "<6>", "<7>"], "{text}");
        }
        let text = String::from_utf8(json.0.lock().clone()).unwrap();
        let third: serde_json::Value = serde_json::from_str(&text.lines().nth(2).unwrap()[3..]).unwrap();
        assert_eq!(
            (&third["level"], &third["message"], &third["number"]),
            (&"INFO".into(), &"three".into(), &3.into())
        );
    }

    #[test]
    fn a_failure_that_repeats_has_a_burst_and_then_ten_lines_a_minute() {
        let begun = Instant::now();
        let mut bucket = Bucket::full(begun);
        let at = |line: u32| begun + Duration::from_millis(200) * line;
        let written: Vec<_> = (0..18_000).filter_map(|line| bucket.take(at(line))).collect();
        assert_eq!(written.len(), 100 + 599, "an hour has 600 refills, the last one after the last line");
        assert_eq!(written[..100].iter().sum::<u64>(), 0);
        assert_eq!(written.iter().sum::<u64>() + bucket.left_out + 699, 18_000, "each line is written or counted");
        let left_out = bucket.left_out;
        assert_eq!(bucket.take(begun + Duration::from_secs(36_000)), Some(left_out));
        assert_eq!(bucket.left, BURST - 1, "a long silence refills the bucket");
    }

    #[test]
    fn lines_that_are_left_out_are_counted_per_place() {
        let written = Written::default();
        let subscriber = tracing_subscriber::registry().with(layer(LogFormat::Text, false, false, written.clone()));
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..150 {
                tracing::warn!(number, "one");
                tracing::info!(number, "state");
            }
            tracing::error!("two");
        });
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        let count = |word: &str| text.lines().filter(|line| line.contains(word)).count();
        assert_eq!((count(" one "), count("state"), count("two")), (100, 150, 1), "{text}");
    }
}
