//! Applies a changed configuration to a running process: operators, credentials, rates, wallets, jurisdictions, the log
//! filter and TLS certificates. The reload is logged as a significant event (PL-22) before it is applied, so a reload that
//! cannot be logged changes nothing.

use crate::{
    error::ServeError,
    transport::{console_tls, tls},
};
use motherlode_ledger::{Actors, AppendError, Ledgers, Proposal};
use motherlode_report::Identity;
use motherlode_runtime::{
    Config, Operators, Profiles, Reason, Refusal,
    access::Access,
    config::NeedsRestart,
    connections::{Acceptor, Admission},
    reload::ReloadedKeys,
    telemetry,
};
use motherlode_state::{ConfigurationReloaded, Event, InternalRequest, SIGNAL, StreamId};
use motherlode_wallet::{ByOperator, Wallets};
use parking_lot::Mutex;
use std::{
    io,
    sync::{Arc, OnceLock},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::Notify,
    task::spawn_blocking,
};

/// Parts of a process that a reload changes, and the configuration in force. Clones share them.
#[derive(Clone)]
pub struct Reloader {
    pub(crate) config: Arc<tokio::sync::Mutex<Config>>,
    pub(crate) source: Arc<OnceLock<Source>>,
    pub(crate) ledgers: Ledgers,
    pub(crate) access: Access,
    pub(crate) operators: Operators,
    pub(crate) profiles: Profiles,
    pub(crate) admission: Admission,
    pub(crate) wallets: Wallets,
    pub(crate) actors: Option<Actors>,
    pub(crate) tls: Option<Acceptor>,
    pub(crate) console_tls: Option<Acceptor>,
    pub(crate) identity: Identity,
}

type Source = Arc<dyn Fn() -> Result<Config, String> + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error("{0}")]
    Faulty(String),
    #[error(transparent)]
    NeedsRestart(#[from] NeedsRestart),
    #[error(
        "operators.{operator}.seamless cannot be removed while debits or credits are due or rounds are open: retry later"
    )]
    WalletInUse { operator: String },
    #[error("the process is starting: retry later")]
    Starting,
    #[error("failed to append the reload event: {0}")]
    Log(#[from] AppendError),
    #[error(
        "the reload stopped with an internal error; the new configuration may be in force in part: restart the process"
    )]
    Ended,
}

impl From<ServeError> for ReloadError {
    fn from(error: ServeError) -> Self {
        Self::Faulty(error.to_string())
    }
}

impl From<ReloadError> for Refusal {
    fn from(error: ReloadError) -> Self {
        let message = error.to_string();
        match error {
            ReloadError::Faulty(_) => Self::new(Reason::ConfigurationInvalid, message),
            ReloadError::NeedsRestart(NeedsRestart(keys)) => {
                Self::new(Reason::RestartRequired, message).with("keys", keys.join(", "))
            }
            ReloadError::WalletInUse { operator } => Self::new(Reason::WalletInUse, message).with("operator", operator),
            ReloadError::Starting => Self::new(Reason::NotCurrent, message),
            ReloadError::Log(error) => error.into(),
            ReloadError::Ended => Self::new(Reason::Internal, message),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reload {
    pub change: ConfigurationReloaded,
    /// Position of `change` in partition 0's log.
    pub position: u64,
}

struct Prepared {
    changed: Config,
    keys: ReloadedKeys,
    tls: Option<Acceptor>,
    console_tls: Option<Acceptor>,
    wallets: ByOperator,
    profiles: Profiles,
}

impl Reloader {
    /// Only the first call has an effect.
    pub fn read_from(&self, source: impl Fn() -> Result<Config, String> + Send + Sync + 'static) {
        let _ = self.source.set(Arc::new(source));
    }

    /// The reload continues if the caller stops waiting.
    pub async fn reload(&self, actor: &str) -> Result<Reload, ReloadError> {
        let (reloader, actor) = (self.clone(), actor.to_owned());
        let reload = tokio::spawn(async move { reloader.run(actor).await }).await;
        reload.unwrap_or(Err(ReloadError::Ended)).inspect_err(|error| {
            let reason = error.to_string();
            match error {
                ReloadError::Ended => tracing::error!(reason, "failed to reload the configuration"),
                _ => tracing::error!(
                    reason,
                    "the changed configuration was refused: the previous configuration stays in force"
                ),
            }
        })
    }

    async fn run(self, actor: String) -> Result<Reload, ReloadError> {
        let source = Arc::clone(self.source.get().ok_or(ReloadError::Starting)?);
        let mut config = self.config.lock().await;
        let (reloader, current) = (self.clone(), config.clone());
        let preparing = spawn_blocking(move || {
            let changed = source().map_err(ReloadError::Faulty)?;
            reloader.prepare(&current, changed)
        });
        let prepared = preparing.await.map_err(|_| ReloadError::Ended)??;
        let reload = self.log(&prepared, actor).await?;
        *config = prepared.changed.clone();
        self.apply(prepared);
        let ConfigurationReloaded { before, after, keys, actor, .. } = &reload.change;
        self.identity.reconfigure(after);
        tracing::info!(before, after, keys = keys.join(" "), actor, "the changed configuration was applied");
        Ok(reload)
    }

    fn prepare(&self, current: &Config, changed: Config) -> Result<Prepared, ReloadError> {
        let keys = current.check_reload(&changed)?;
        if let Some(operator) = keys.removed_wallets.iter().find(|operator| self.is_wallet_in_use(operator)) {
            return Err(ReloadError::WalletInUse { operator: operator.clone() });
        }
        let tls = changed.tls.as_ref().map(tls).transpose()?;
        let console_tls = changed.tls.as_ref().map(console_tls).transpose()?;
        let wallets = self.wallets.changed(&changed).map_err(ServeError::from)?;
        let profiles = Profiles::new(&changed.jurisdictions).map_err(ServeError::from)?;
        Ok(Prepared { changed, keys, tls, console_tls, wallets, profiles })
    }

    fn is_wallet_in_use(&self, operator: &str) -> bool {
        self.ledgers.all().any(|ledger| {
            ledger.books(|books| books.busy_players(operator, "").next().is_some() || books.activity(operator).1 > 0)
        })
    }

    async fn log(&self, prepared: &Prepared, actor: String) -> Result<Reload, ReloadError> {
        let mut number = [0; 8];
        let _ = getrandom::fill(&mut number);
        let (now_ms, number) = (self.ledgers.now_ms(), u64::from_be_bytes(number));
        let all = &prepared.keys.keys;
        let change = ConfigurationReloaded {
            before: self.identity.configuration(),
            after: Identity::digest(&prepared.changed.canonical()),
            keys: all.iter().take(ConfigurationReloaded::KEYS_MAX).map(Into::into).collect(),
            key_count: u32::try_from(all.len()).unwrap_or(u32::MAX),
            actor,
        };
        let proposal = Proposal {
            stream: StreamId::System,
            expected_version: None,
            request_id: InternalRequest::LogReload { now_ms, number }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: vec![Event::ConfigurationReloaded(Box::new(change.clone()))],
        };
        let logged = self.ledgers.home().append(proposal).await?;
        Ok(Reload { change, position: logged.commit.position })
    }

    fn apply(&self, prepared: Prepared) {
        for (current, new) in [(&self.tls, prepared.tls), (&self.console_tls, prepared.console_tls)] {
            if let (Some(current), Some(new)) = (current, new) {
                current.replace(&new);
            }
        }
        let changed = prepared.changed;
        if let Err(error) = telemetry::set_filter(&changed.telemetry) {
            tracing::error!(%error, "failed to change the log filter");
        }
        self.wallets.replace(prepared.wallets);
        self.operators.replace(&changed);
        self.profiles.replace(&prepared.profiles);
        self.admission.reweigh();
        self.access.replace(&changed.operators);
        if let Some(actors) = &self.actors {
            actors.replace(&changed.operators);
        }
    }
}

pub struct Reloads {
    source: Source,
    state: Mutex<State>,
    requested: Notify,
    hangups: tokio::sync::Mutex<Signal>,
}

#[derive(Default)]
struct State {
    reloader: Option<Reloader>,
    /// Whether SIGHUP arrived before the process began to serve.
    pending: bool,
}

impl Reloads {
    pub fn start(read: impl Fn() -> Result<Config, String> + Send + Sync + 'static) -> io::Result<Self> {
        let hangups = tokio::sync::Mutex::new(signal(SignalKind::hangup())?);
        Ok(Self { source: Arc::new(read), state: Mutex::default(), requested: Notify::new(), hangups })
    }

    pub async fn run(&self) {
        let mut hangups = self.hangups.lock().await;
        loop {
            tokio::select! {
                signal = hangups.recv() => {
                    if signal.is_none() {
                        return;
                    }
                    self.state.lock().pending = true;
                }
                () = self.requested.notified() => {}
            }
            if let Some(reloader) = self.pending() {
                let _ = reloader.reload(SIGNAL).await;
            }
        }
    }

    fn pending(&self) -> Option<Reloader> {
        let mut state = self.state.lock();
        let reloader = state.reloader.clone().filter(|_| state.pending)?;
        state.pending = false;
        Some(reloader)
    }

    /// Uses `reloader` for all later reloads, and for a reload that is already pending.
    pub fn serve(&self, reloader: Reloader) {
        let _ = reloader.source.set(Arc::clone(&self.source));
        self.state.lock().reloader = Some(reloader);
        self.requested.notify_one();
    }
}
