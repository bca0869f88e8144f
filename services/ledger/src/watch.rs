//! Detects appends that take too long, and a store that no longer confirms this process as its writer. In both cases,
//! the store may return no error in time.

use crate::{
    standing::{Hindrance, Standings},
    writer::Writer,
};
use motherlode_log::Authority;
use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct Watch {
    pub(crate) writer: Arc<Writer>,
    pub(crate) authority: Option<Arc<Authority>>,
    pub(crate) silence_max: Duration,
}

impl Watch {
    pub(crate) fn run(self, open: &Receiver<()>) {
        while open.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            self.look();
        }
    }

    fn look(&self) {
        let standings = &self.writer.shared().standings;
        let append = self.writer.append_age().unwrap_or_default();
        self.judge(standings, Hindrance::Append, append, "an append");
        let unconfirmed = self.authority.as_ref().map(|authority| authority.age()).unwrap_or_default();
        self.judge(standings, Hindrance::Unconfirmed, unconfirmed, "this process as the writer");
    }

    fn judge(&self, standings: &Standings, by: Hindrance, age: Duration, what: &str) {
        match age >= self.silence_max {
            true => standings.hinder(
                by,
                &format!("the log's store has not confirmed {what} within {} s", self.silence_max.as_secs_f32()),
            ),
            false => standings.clear(by),
        }
    }
}
