use serde::{Deserialize, Serialize};

use crate::events::{BaseConfirmed, BaseTaken, Refused};
use crate::values::ANYONE;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bases {
    pub taken: Option<Box<BaseTaken>>,
    pub confirmed: Option<Box<BaseTaken>>,
}

impl Bases {
    pub fn take(&mut self, base: &BaseTaken, commit: u64) -> Result<(), Refused> {
        let latest = self.taken.as_ref().map_or(0, |taken| taken.position);
        let follows = latest < base.position && base.position < commit;
        if !follows || base.form == 0 || base.actor.is_empty() {
            return Err(Refused::BadBase { position: base.position });
        }
        self.taken = Some(Box::new(base.clone()));
        Ok(())
    }

    pub fn confirm(&mut self, confirmed: &BaseConfirmed) -> Result<(), Refused> {
        let BaseConfirmed { position, digest, actor } = confirmed;
        let Some(taken) = self.taken.as_ref().filter(|taken| (taken.position, &taken.digest) == (*position, digest))
        else {
            return Err(Refused::BadBase { position: *position });
        };
        let is_again = self.confirmed.as_ref().is_some_and(|of| of.position == *position);
        if actor.is_empty() || is_again {
            return Err(Refused::BadBase { position: *position });
        }
        if *actor == taken.actor && actor != ANYONE {
            return Err(Refused::SameActor { change: *position, actor: actor.clone() });
        }
        self.confirmed = Some(taken.clone());
        Ok(())
    }
}
