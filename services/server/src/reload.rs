use crate::{
    error::ServeError,
    transport::{console_tls, tls},
};
use motherlode_ledger::Actors;
use motherlode_report::Identity;
use motherlode_runtime::{
    Config, Operators,
    access::Access,
    config::NeedsRestart,
    connections::{Acceptor, Admission},
};
use motherlode_wallet::Wallets;
use parking_lot::Mutex;
use std::{io, sync::Arc};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::spawn_blocking,
};

#[derive(Clone)]
pub struct Reloader {
    pub(crate) config: Config,
    pub(crate) access: Access,
    pub(crate) operators: Operators,
    pub(crate) admission: Admission,
    pub(crate) wallets: Wallets,
    pub(crate) actors: Option<Actors>,
    pub(crate) tls: Option<Acceptor>,
    pub(crate) console_tls: Option<Acceptor>,
    pub(crate) identity: Identity,
}

#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error(transparent)]
    Faulty(Box<ServeError>),
    #[error(transparent)]
    NeedsRestart(#[from] NeedsRestart),
}

impl From<ServeError> for ReloadError {
    fn from(error: ServeError) -> Self {
        Self::Faulty(Box::new(error))
    }
}

impl Reloader {
    pub fn apply(&mut self, changed: Config) -> Result<(), ReloadError> {
        self.config.check_reload(&changed)?;
        let new = (changed.tls.as_ref().map(tls).transpose()?, changed.tls.as_ref().map(console_tls).transpose()?);
        let wallets = self.wallets.changed(&changed).map_err(ServeError::from)?;
        for (current, new) in [(&self.tls, new.0), (&self.console_tls, new.1)] {
            if let (Some(current), Some(new)) = (current, new) {
                current.replace(&new);
            }
        }
        self.wallets.replace(wallets);
        self.operators.replace(&changed);
        self.admission.reweigh();
        self.access.replace(&changed.operators);
        if let Some(actors) = &self.actors {
            actors.replace(&changed.operators);
        }
        let (before, after) = self.identity.reconfigure(&changed.canonical());
        tracing::info!(before, after, "the changed configuration was applied");
        self.config = changed;
        Ok(())
    }
}

type Read = dyn Fn() -> Result<Config, String> + Send + Sync;

pub struct Reloads {
    read: Arc<Read>,
    state: Arc<Mutex<State>>,
    hangups: tokio::sync::Mutex<Signal>,
}

#[derive(Default)]
struct State {
    reloader: Option<Reloader>,
    /// Whether SIGHUP arrived before the process began to serve.
    pending: bool,
}

impl Reloads {
    /// Installs the handler of SIGHUP, which otherwise would end the process.
    pub fn start(read: impl Fn() -> Result<Config, String> + Send + Sync + 'static) -> io::Result<Self> {
        let hangups = tokio::sync::Mutex::new(signal(SignalKind::hangup())?);
        Ok(Self { read: Arc::new(read), state: Arc::default(), hangups })
    }

    pub async fn run(&self) {
        let mut hangups = self.hangups.lock().await;
        while hangups.recv().await.is_some() {
            let (read, state) = (Arc::clone(&self.read), Arc::clone(&self.state));
            if let Err(error) = spawn_blocking(move || state.lock().reload(&*read)).await {
                tracing::error!(%error, "failed to reload the configuration: the previous configuration stays in force");
            }
        }
    }

    pub fn serve(&self, reloader: Reloader) {
        let mut state = self.state.lock();
        state.reloader = Some(reloader);
        if std::mem::take(&mut state.pending) {
            state.reload(&*self.read);
        }
    }
}

impl State {
    fn reload(&mut self, read: &Read) {
        let Some(reloader) = &mut self.reloader else {
            self.pending = true;
            return;
        };
        let applied = read().and_then(|changed| reloader.apply(changed).map_err(|error| error.to_string()));
        if let Err(reason) = applied {
            tracing::error!(reason, "the changed configuration was refused: the previous configuration stays in force");
        }
    }
}
