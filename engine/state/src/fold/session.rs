use super::transition::{Transition, expect_positive};
use crate::events::{Refused, SessionName, SessionOpened};

impl Transition<'_, '_> {
    /// The services, not this function, check whether the player may open a session.
    pub fn open_session(&mut self, opened: &SessionOpened) -> Result<(), Refused> {
        self.check_account(opened.currency)?;
        let limits = &opened.limits;
        for (_, limit) in limits.losses_max.iter().chain(&limits.bets_max) {
            expect_positive(*limit)?;
        }
        let time_ms = self.commit.time_ms;
        let player = self.player()?;
        if opened.game.is_empty() {
            return Err(Refused::NoSuchSession);
        }
        player.seats.sit(opened, time_ms);
        player.day_mut(opened.currency.is_real()).restrict(limits, time_ms);
        Ok(())
    }

    pub fn end_session(&mut self, session: SessionName, hold_ms: u32) -> Result<(), Refused> {
        let time_ms = self.commit.time_ms;
        let ended = self.player()?.seats.stand(session, hold_ms.into(), time_ms);
        if ended { Ok(()) } else { Err(Refused::NoSuchSession) }
    }

    pub fn acknowledge(&mut self, session: SessionName) -> Result<(), Refused> {
        let time_ms = self.commit.time_ms;
        let player = self.player()?;
        let real = player.seats.find(session).ok_or(Refused::NoSuchSession)?.real;
        player.day_mut(real).see(time_ms);
        Ok(())
    }
}
