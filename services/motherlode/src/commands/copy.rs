use super::{Failure, config_file::LogAccess, progress::shown, say};
use motherlode_log::Position;
use motherlode_proto::convert::play::hex;
use motherlode_runtime::stop;
use motherlode_server::{Copied, LogLocation, copy, copy_rest, copy_to_position};
use std::{
    fmt::Write as _,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Log to copy: a data folder, or nats://host:port,...
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Target: a data folder, or nats://host:port,...
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// Keep copying new records of a running service until Ctrl-C or SIGTERM.
    #[arg(long)]
    follow: bool,
    /// Copy only the records after the target's end without reading earlier records, for example if earlier segments are
    /// damaged.
    #[arg(long, conflicts_with = "follow")]
    rest: bool,
    /// Copy partition 0 up to this position. The copy of each other partition ends before the first record that refers
    /// to a later record of partition 0.
    #[arg(long, value_name = "N", conflicts_with_all = ["follow", "rest"])]
    to_position: Option<Position>,
    #[command(flatten)]
    access: LogAccess,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let (from, to) = (args.access.location(&args.from)?, args.access.location(&args.to)?);
    if let (LogLocation::Folder { data: from, .. }, LogLocation::Folder { data: to, .. }) = (&from, &to)
        && from.canonicalize().is_ok_and(|from| to.canonicalize().is_ok_and(|to| from == to))
    {
        let what = format!("{} is the log itself, not a copy of it", to.display());
        return Err(Failure::unusable(what).with_step("Name another folder with --to"));
    }
    let stopped = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let signalled = {
        let _entered = runtime.enter();
        stop::signalled().map_err(Failure::found)?
    };
    let copied = thread::scope(|threads| {
        let copying = threads.spawn(|| {
            shown("records copied", |copied| match (args.rest, args.to_position) {
                (true, _) => copy_rest(&from, &to, &stopped, copied),
                (false, Some(position)) => copy_to_position(&from, &to, position, &stopped, copied),
                (false, None) => copy(&from, &to, args.follow, &stopped, copied),
            })
        });
        runtime.block_on(async {
            tokio::pin!(signalled);
            while !copying.is_finished() && !stopped.load(Ordering::Acquire) {
                let signal = tokio::time::timeout(LOOK_EVERY, &mut signalled).await;
                stopped.store(signal.is_ok(), Ordering::Release);
            }
        });
        copying.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
    })?;
    let mut text = format!("{from}\n  to {to}: ");
    for (partition, Copied { before, end, head }) in copied.iter().enumerate() {
        if copied.len() > 1 {
            let _ = write!(text, "\n  partition {partition}: ");
        }
        let records = end - before;
        let _ = write!(
            text,
            "{records} records copied and read back; the partition ends at position {end}\n  head hash {}",
            hex(head)
        );
    }
    say(&(text + "\n"))
}
