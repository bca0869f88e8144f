use super::table::Connection;
use crate::stop::Stop;
use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::{Instant as Time, Sleep, sleep_until};

const LEAVE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);
pub(super) const STOPS: &str = "the service stops";

pub(super) enum End {
    Gently,
    Now(&'static str),
}

pub(super) struct Lifetime {
    connection: Arc<Connection>,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    look: Pin<Box<Sleep>>,
    stopped: Option<Instant>,
    leaving: bool,
}

impl Lifetime {
    pub(super) fn new(connection: Arc<Connection>, by: Time, stop: Stop) -> Self {
        let (stop, look) = (Box::pin(stop.requested()), Box::pin(sleep_until(by)));
        Self { connection, stop, look, stopped: None, leaving: false }
    }

    /// Waits until the connection must end; called again after [`End::Gently`]. Cancel-safe.
    pub(super) async fn next(&mut self) -> End {
        loop {
            tokio::select! {
                biased;
                () = &mut self.stop, if self.stopped.is_none() => {
                    self.stopped = Some(Instant::now());
                    self.look.as_mut().reset(Time::now());
                    return if self.connection.is_greeted() { End::Gently } else { End::Now(STOPS) };
                }
                () = &mut self.look => if let Some(end) = self.look() {
                    return end;
                },
            }
        }
    }

    fn look(&mut self) -> Option<End> {
        let connection = &self.connection;
        if !connection.is_greeted() {
            return Some(End::Now("no HTTP/2 preface or HTTP/1.1 request arrived in time"));
        }
        let (left, end) = match self.stopped {
            Some(stopped) => {
                let left = connection.closes_in(stopped).unwrap_or(LOOK_EVERY);
                (left, left.is_zero().then_some(End::Now(STOPS)))
            }
            None if self.leaving => (LEAVE, Some(End::Now("the connection was idle for too long"))),
            None => match connection.left() {
                Some(left) => (left, None),
                None => {
                    self.leaving = true;
                    (LEAVE, Some(End::Gently))
                }
            },
        };
        self.look.as_mut().reset(Time::now() + left);
        end
    }
}
