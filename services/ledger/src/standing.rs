use parking_lot::Mutex;
use tokio::sync::watch;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Takes,
    /// The log cannot be written for now; reads are still answered.
    Stalled(String),
    /// The state may be out of date, so new commits and reads are refused.
    Unconfirmed(String),
    /// New commits are refused until a restart.
    Failed(String),
    /// New commits are refused until a restart with an undamaged log.
    Damaged(String),
    Fenced(String),
}

impl Standing {
    pub const CAUSES: [&str; 5] = ["stalled", "unconfirmed", "failed", "damaged", "fenced"];

    #[must_use]
    pub fn cause(&self) -> Option<&'static str> {
        match self {
            Self::Takes => None,
            Self::Stalled(_) => Some("stalled"),
            Self::Unconfirmed(_) => Some("unconfirmed"),
            Self::Failed(_) => Some("failed"),
            Self::Damaged(_) => Some("damaged"),
            Self::Fenced(_) => Some("fenced"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hindrance {
    Store,
    Append,
    Unconfirmed,
}

#[derive(Debug)]
pub(crate) struct Standings {
    partition: u32,
    hindrances: Mutex<[Option<String>; 3]>,
    standing: watch::Sender<Standing>,
}

impl Standings {
    pub(crate) fn new(partition: u32) -> Self {
        Self { partition, hindrances: Mutex::default(), standing: watch::Sender::new(Standing::Takes) }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    pub(crate) fn borrow(&self) -> watch::Ref<'_, Standing> {
        self.standing.borrow()
    }

    pub(crate) fn hinder(&self, by: Hindrance, reason: &str) {
        let mut hindrances = self.hindrances.lock();
        let hindered = &mut hindrances[by as usize];
        if hindered.is_none() {
            tracing::error!(
                partition = self.partition,
                reason,
                "new commits are refused until the log accepts writes again"
            );
            *hindered = Some(reason.to_owned());
            self.update(&hindrances);
        }
    }

    pub(crate) fn clear(&self, by: Hindrance) {
        let mut hindrances = self.hindrances.lock();
        if hindrances[by as usize].take().is_some() {
            self.update(&hindrances);
            if hindrances.iter().all(Option::is_none) {
                tracing::info!(partition = self.partition, "appends succeed again");
            }
        }
    }

    pub(crate) fn refusal(&self) -> Option<String> {
        if matches!(*self.standing.borrow(), Standing::Takes) {
            return None;
        }
        let hindrances = self.hindrances.lock();
        [Hindrance::Unconfirmed, Hindrance::Append].into_iter().find_map(|by| hindrances[by as usize].clone())
    }

    /// Sets a standing that lasts until a restart: `Failed`, `Damaged` or `Fenced`. Only `Fenced` replaces one of the
    /// others.
    pub(crate) fn fail(&self, standing: Standing) {
        self.standing.send_if_modified(|now| {
            let worse = match now {
                Standing::Takes | Standing::Stalled(_) | Standing::Unconfirmed(_) => true,
                Standing::Failed(_) | Standing::Damaged(_) => matches!(standing, Standing::Fenced(_)),
                Standing::Fenced(_) => false,
            };
            if worse {
                *now = standing;
            }
            worse
        });
    }

    fn update(&self, [store, append, unconfirmed]: &[Option<String>; 3]) {
        let standing = match (unconfirmed, append.as_ref().or(store.as_ref())) {
            (Some(why), _) => Standing::Unconfirmed(why.clone()),
            (None, Some(why)) => Standing::Stalled(why.clone()),
            (None, None) => Standing::Takes,
        };
        self.standing.send_if_modified(|now| {
            let is_final = matches!(now, Standing::Failed(_) | Standing::Damaged(_) | Standing::Fenced(_));
            let changes = !is_final && *now != standing;
            if changes {
                *now = standing;
            }
            changes
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a1_the_worst_hindrance_is_the_standing_until_it_is_over() {
        let standings = Standings::new(0);
        let now = || standings.borrow().clone();
        assert_eq!((now(), standings.refusal()), (Standing::Takes, None));
        standings.hinder(Hindrance::Store, "full");
        assert_eq!((now(), standings.refusal()), (Standing::Stalled("full".into()), None), "reads are still answered");
        standings.hinder(Hindrance::Unconfirmed, "silent");
        standings.hinder(Hindrance::Unconfirmed, "still silent");
        assert_eq!((now(), standings.refusal()), (Standing::Unconfirmed("silent".into()), Some("silent".into())));
        standings.hinder(Hindrance::Append, "slow");
        standings.clear(Hindrance::Unconfirmed);
        assert_eq!((now(), standings.refusal()), (Standing::Stalled("slow".into()), Some("slow".into())));
        standings.clear(Hindrance::Append);
        assert_eq!(now(), Standing::Stalled("full".into()));
        standings.clear(Hindrance::Store);
        assert_eq!(now(), Standing::Takes);
        standings.fail(Standing::Failed("damaged".into()));
        standings.hinder(Hindrance::Store, "full");
        standings.clear(Hindrance::Store);
        assert_eq!(now(), Standing::Failed("damaged".into()), "a final standing must stay");
        standings.fail(Standing::Fenced("another writes".into()));
        assert_eq!(now(), Standing::Fenced("another writes".into()));
    }

    #[test]
    fn at_e_each_standing_without_appends_has_a_cause_of_its_own() {
        let text = String::new;
        let all = [
            Standing::Stalled(text()),
            Standing::Unconfirmed(text()),
            Standing::Failed(text()),
            Standing::Damaged(text()),
            Standing::Fenced(text()),
        ];
        assert_eq!(all.map(|standing| standing.cause()), Standing::CAUSES.map(Some));
        assert_eq!(Standing::Takes.cause(), None);
    }
}
