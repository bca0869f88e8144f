//! Background tasks, started and watched by the [`Supervisor`].
//!
//! If a task that handles money or the log ends, the process ends. Other tasks are restarted with exponential backoff.

use crate::names::{JACKPOT, JOB, PROOF, REPORT, SPIN, WALLET};
use futures_util::future::BoxFuture;
use motherlode_runtime::Stop;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinError, JoinHandle},
    time::{Instant, sleep},
};

const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
const SOUND_AFTER: Duration = Duration::from_secs(300);

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $name:literal, ends_process = $ends:literal, $service:expr;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            #[must_use]
            pub fn ends_process(self) -> bool {
                match self {
                    $(Self::$kind => $ends,)*
                }
            }

            pub(crate) fn service(self) -> Option<&'static str> {
                match self {
                    $(Self::$kind => $service,)*
                }
            }
        }
    };
}

kinds! {
    Calls: "calls", ends_process = true, None;
    Ledgers: "ledgers", ends_process = true, None;
    DrawKeys: "draw_keys", ends_process = false, Some(SPIN);
    AbandonedRounds: "abandoned_rounds", ends_process = true, Some(SPIN);
    WalletOutboxes: "wallet_outboxes", ends_process = true, Some(WALLET);
    PoolCoordinator: "pool_coordinator", ends_process = true, Some(JACKPOT);
    Reports: "reports", ends_process = false, Some(REPORT);
    SelfCheck: "self_check", ends_process = false, Some(REPORT);
    ServiceStatus: "service_status", ends_process = false, Some(REPORT);
    Jobs: "jobs", ends_process = false, Some(JOB);
    Tiles: "tiles", ends_process = false, Some(PROOF);
    Trees: "trees", ends_process = true, Some(PROOF);
    Witnesses: "witnesses", ends_process = false, Some(PROOF);
    LogDistrust: "log_distrust", ends_process = true, None;
    TreeDistrust: "tree_distrust", ends_process = true, Some(PROOF);
    Standbys: "standbys", ends_process = false, None;
    ForeignMessages: "foreign_messages", ends_process = false, None;
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks {
    pub down: BTreeSet<Kind>,
    pub ended: BTreeMap<Kind, u64>,
    pub fatal: Option<(Kind, String)>,
}

pub(crate) struct Supervisor {
    stop: Stop,
    state: Arc<watch::Sender<Tasks>>,
    tasks: Vec<Task>,
}

struct Task {
    kind: Kind,
    watching: Option<JoinHandle<()>>,
    current: Arc<Mutex<Option<AbortHandle>>>,
}

impl Supervisor {
    pub(crate) fn new(stop: Stop) -> Self {
        Self { stop, state: Arc::new(watch::Sender::default()), tasks: vec![] }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Tasks> {
        self.state.subscribe()
    }

    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        kind: Kind,
        mut make: impl FnMut() -> F + Send + 'static,
    ) {
        let current = Arc::<Mutex<Option<AbortHandle>>>::default();
        let (stop, state, running) = (self.stop.clone(), Arc::clone(&self.state), Arc::clone(&current));
        let watching = tokio::spawn(async move {
            let mut pause = PAUSE_MIN;
            loop {
                let begun = Instant::now();
                let task = {
                    let mut running = running.lock();
                    if stop.is_requested() {
                        return;
                    }
                    let task = tokio::spawn(make());
                    *running = Some(task.abort_handle());
                    task
                };
                let ended = task.await;
                if stop.is_requested() && !ended.as_ref().is_err_and(JoinError::is_panic) {
                    return;
                }
                report(&state, kind, ended);
                if kind.ends_process() {
                    return;
                }
                if begun.elapsed() >= SOUND_AFTER {
                    pause = PAUSE_MIN;
                }
                tokio::select! {
                    () = stop.clone().requested() => return,
                    () = sleep(pause) => {}
                }
                pause = (pause * 2).min(PAUSE_MAX);
                state.send_modify(|tasks| {
                    tasks.down.remove(&kind);
                });
                tracing::info!(task = kind.name(), "restarting a background task");
            }
        });
        self.tasks.push(Task { kind, watching: Some(watching), current });
    }

    pub(crate) fn spawn_once(&mut self, kind: Kind, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let task = tokio::spawn(task);
        let current = Arc::new(Mutex::new(Some(task.abort_handle())));
        let (stop, state, ending) = (self.stop.clone(), Arc::clone(&self.state), AbortOnDrop(task.abort_handle()));
        self.tasks.push(Task { kind, watching: None, current });
        tokio::spawn(async move {
            let _ending = ending;
            let ended = task.await;
            if !stop.is_requested() || ended.as_ref().is_err_and(JoinError::is_panic) {
                report(&state, kind, ended);
            }
        })
    }

    pub(crate) fn end_tasks(&self, kind: Kind) -> usize {
        let of_kind = self.tasks.iter().filter(|task| task.kind == kind);
        of_kind.filter_map(|task| task.current.lock().clone()).map(|task| task.abort()).count()
    }

    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.tasks.iter().map(|task| task.kind).collect()
    }

    pub(crate) fn stop(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            for Task { watching, current, .. } in self.tasks {
                let Some(watching) = watching else { continue };
                if let Some(current) = &*current.lock() {
                    current.abort();
                }
                let _ = watching.await;
            }
        })
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn report(state: &watch::Sender<Tasks>, kind: Kind, ended: Result<(), JoinError>) {
    let why = match ended {
        Ok(()) => "it returned".to_owned(),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => {
                let text = panic.downcast_ref::<&str>().copied();
                let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                format!("a panic: {}", text.unwrap_or("(no message)"))
            }
            Err(_) => "it was cancelled".to_owned(),
        },
    };
    let effect = if kind.ends_process() { "the process ends" } else { "the task is restarted" };
    tracing::error!(task = kind.name(), why, effect, "a background task has ended");
    state.send_modify(|tasks| {
        tasks.down.insert(kind);
        *tasks.ended.entry(kind).or_default() += 1;
        if kind.ends_process() {
            tasks.fatal.get_or_insert((kind, why));
        }
    });
}

pub(crate) async fn fatal(mut tasks: watch::Receiver<Tasks>) -> (Kind, String) {
    let ended = tasks.wait_for(|tasks| tasks.fatal.is_some()).await;
    match ended.ok().and_then(|tasks| tasks.fatal.clone()) {
        Some(fatal) => fatal,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_runtime::stop::{self, Stopper};

    fn supervisor() -> (Stopper, Supervisor) {
        let (stopper, stop) = stop::channel();
        (stopper, Supervisor::new(stop))
    }

    #[test]
    fn at_a5_each_kind_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
    }

    #[test]
    fn at_a5_no_task_is_started_past_the_supervisor() {
        let awaited = ["catch_up.rs", "console.rs", "mod.rs", "not_serving.rs", "reload.rs", "roles.rs", "tasks.rs"];
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !awaited.contains(&path.file_name().unwrap().to_str().unwrap()) {
                    let text = std::fs::read_to_string(&path).unwrap();
                    assert!(
                        !text.contains("tokio::spawn("),
                        "{}: start the task through the supervisor",
                        path.display()
                    );
                }
            }
        }
    }

    #[tokio::test]
    async fn at_a5_a_panic_or_a_return_of_each_kind_is_counted_and_ends_the_process_or_is_started_again() {
        for (&kind, panics) in Kind::ALL.iter().flat_map(|kind| [(kind, true), (kind, false)]) {
            let (stopper, mut supervisor) = supervisor();
            let (mut tasks, starts) = (supervisor.subscribe(), Arc::new(watch::Sender::new(0)));
            let mut started = starts.subscribe();
            supervisor.spawn(kind, move || {
                starts.send_modify(|starts| *starts += 1);
                let is_first = *starts.borrow() == 1;
                async move {
                    match is_first {
                        true if panics => panic!("position {}", 7),
                        true => {}
                        false => std::future::pending().await,
                    }
                }
            });
            let why = if panics { "a panic: position 7" } else { "it returned" };
            if kind.ends_process() {
                assert_eq!(fatal(supervisor.subscribe()).await, (kind, why.to_owned()));
                assert!(tasks.borrow().down.contains(&kind));
            } else {
                tasks.wait_for(|tasks| tasks.down.contains(&kind)).await.unwrap();
                started.wait_for(|starts| *starts == 2).await.unwrap();
                assert_eq!((tasks.borrow().down.len(), tasks.borrow().fatal.clone()), (0, None));
            }
            assert_eq!(tasks.borrow().ended, BTreeMap::from([(kind, 1)]));
            stopper.stop();
            supervisor.stop().await;
        }
    }

    #[tokio::test]
    async fn at_a5_a_stop_ends_tasks_and_reports_none() {
        let (stopper, mut supervisor) = supervisor();
        let tasks = supervisor.subscribe();
        let held = Arc::new(());
        for kind in Kind::ALL {
            let held = Arc::clone(&held);
            supervisor.spawn(*kind, move || {
                let held = Arc::clone(&held);
                async move {
                    std::future::pending::<()>().await;
                    drop(held);
                }
            });
        }
        stopper.stop();
        supervisor.stop().await;
        assert_eq!(*tasks.borrow(), Tasks::default());
        assert_eq!(Arc::strong_count(&held), 1, "the task's data is released");
    }
}
