//! Rules that a bet's jurisdiction, operator and session impose (PL-08, PL-16, PL-26). These rules do not affect open
//! rounds.

use crate::{
    bet::Bet,
    pace::{Now, Pace},
    state::State,
};
use motherlode_proto::convert::play::hex;
use motherlode_runtime::{Reason, Refusal, UNRESTRICTED};
use motherlode_slots::Game;
use motherlode_state::{Currency, Day, FxRate, Minor, Nano, PlayerState, Profile, SessionName, SessionOf, SmolStr};
use std::{num::NonZeroU32, time::Duration};

const EUR: i128 = 1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlayRules {
    jurisdiction: SmolStr,
    profile: Profile,
    session: Option<SessionName>,
    loss_max: Option<Minor>,
    bet_max: Option<Minor>,
}

impl PlayRules {
    pub(crate) fn without_session(jurisdiction: &str, profile: Profile) -> Result<Self, Refusal> {
        if profile.needs_session() {
            return Err(Refusal::new(
                Reason::SessionRequired,
                "the operator's or jurisdiction's limits require a session: open one with OpenSession and name it in the bet",
            )
            .with("jurisdiction", jurisdiction));
        }
        Ok(Self { jurisdiction: jurisdiction.into(), profile, session: None, loss_max: None, bet_max: None })
    }

    pub(crate) fn in_session(name: SessionName, of: &SessionOf) -> Self {
        Self {
            jurisdiction: of.jurisdiction.clone(),
            profile: of.profile,
            session: Some(name),
            loss_max: of.loss_max,
            bet_max: of.bet_max,
        }
    }

    pub(crate) fn session(&self) -> Option<SessionName> {
        self.session
    }

    pub(crate) fn logged_jurisdiction(&self) -> SmolStr {
        match self.jurisdiction.as_str() {
            UNRESTRICTED => SmolStr::default(),
            _ => self.jurisdiction.clone(),
        }
    }

    pub(crate) fn autoplay(&self) -> Result<(), Refusal> {
        self.allowed(self.profile.autoplay, Reason::AutoplayForbidden, "autoplay")
    }

    /// Checks the bet's session. A bet without a session fails while the player has a live session, or while the game
    /// is reserved for a session that lost its connection (PL-16, BW-27). Bets in play money need no session.
    pub(crate) fn seated(&self, player: &PlayerState, bet: &Bet, now: Now) -> Result<(), Refusal> {
        let currency = bet.account.currency;
        let Some(session) = self.session else {
            if let Some(seat) = player.live_seat(currency, now.log_ms).filter(|seat| seat.real) {
                return Err(Refusal::new(
                    Reason::SessionInUse,
                    "the player has a live session: place the bet in that session",
                )
                .with("game", &seat.game)
                .with("session_name", hex(&seat.session)));
            }
            return not_held(player, bet.game.name(), currency, now);
        };
        match player.seat(bet.game.name(), currency) {
            Some(seat) if seat.session != session => Err(session_over()),
            _ => Ok(()),
        }
    }

    /// Applies the strictest limits of the jurisdiction, the operator and the day's sessions; refuses with the first
    /// violated limit.
    pub(crate) fn allow(
        &self,
        state: &State,
        player: &PlayerState,
        bet: &Bet,
        amount: Minor,
        (pace, now): (&Pace, Now),
    ) -> Result<(), Refusal> {
        self.allowed(
            self.profile.buy_feature || !bet.stake.buy_feature,
            Reason::BuyFeatureForbidden,
            "buying a feature",
        )?;
        self.allowed(self.profile.gamble || !bet.double, Reason::GambleForbidden, "gambling a win")?;
        jackpot_allowed(&self.jurisdiction, &self.profile, bet.game)?;
        let currency = bet.account.currency;
        let rates = |currency| state.rate(currency);
        let day = player.day(currency);
        let limits = day.limits(now.log_ms);
        let eur = |limit| state.rate(currency).and_then(|rate| minor(limit, currency, rate));

        let asked = limits.and_then(|limits| limits.bet_max(currency, &rates));
        let bet_max = self.bet_max.into_iter().chain(eur(self.profile.bet_eur_max)).chain(asked).min();
        self.within_bet(currency, amount, bet_max)?;
        if let Some(left) = self.too_soon_by(player, bet, pace, now) {
            let message = format!(
                "in this jurisdiction, the player's rounds must be at least {} ms apart",
                self.profile.round_ms_min
            );
            return Err(self.refusal(Reason::RoundTooSoon, message).retry_after(left));
        }
        let least = |one: Option<NonZeroU32>, other: Option<NonZeroU32>| one.into_iter().chain(other).min();
        let time_ms_max = least(self.profile.session_ms_max, limits.and_then(|limits| limits.time_ms_max));
        let check_ms = least(self.profile.reality_check_ms, limits.and_then(|limits| limits.reality_check_ms));
        self.within_time(day, time_ms_max, check_ms, now)?;

        if bet.campaign.is_some() {
            return Ok(());
        }
        let asked = limits.and_then(|limits| limits.loss_max(currency, &rates));
        let loss_max = self.loss_max.into_iter().chain(eur(self.profile.loss_eur_max)).chain(asked).min();
        let Some(limit) = loss_max else { return Ok(()) };
        self.within_loss(currency, amount, limit, day.net(currency, &rates, now.log_ms))
    }

    pub(crate) fn too_soon_by(&self, player: &PlayerState, bet: &Bet, pace: &Pace, now: Now) -> Option<Duration> {
        let left = pace.left_ms(&bet.account.stream, player, self.profile.round_ms_min, now)?;
        Some(Duration::from_millis(left.unsigned_abs()))
    }

    fn within_bet(&self, currency: Currency, amount: Minor, limit: Option<Minor>) -> Result<(), Refusal> {
        match limit {
            Some(limit) if amount > limit => Err(self
                .refusal(Reason::BetLimit, "the bet exceeds the limit per round")
                .with("limit_minor", limit)
                .with("bet_minor", amount)
                .with("currency_code", currency)),
            _ => Ok(()),
        }
    }

    fn within_time(
        &self,
        day: &Day,
        time_ms_max: Option<NonZeroU32>,
        check_ms: Option<NonZeroU32>,
        now: Now,
    ) -> Result<(), Refusal> {
        let over = |played: i64, limit: Option<NonZeroU32>| limit.is_some_and(|limit| played >= limit.get().into());
        let played_ms = day.played_ms(now.log_ms);
        if over(played_ms, time_ms_max) {
            let message = "the player has reached the daily time limit";
            return Err(self.refusal(Reason::SessionTimeLimit, message).with("played_ms", played_ms));
        }
        let unseen_ms = day.unseen_ms(now.log_ms);
        if over(unseen_ms, check_ms) {
            let message = "a reality check is due: acknowledge it (AcknowledgeRealityCheck) before the next bet";
            return Err(self.refusal(Reason::RealityCheckDue, message).with("played_ms", unseen_ms));
        }
        Ok(())
    }

    fn within_loss(&self, currency: Currency, amount: Minor, limit: Minor, net: i128) -> Result<(), Refusal> {
        if i128::from(limit.0) + net < i128::from(amount.0) {
            return Err(self
                .refusal(Reason::LossLimit, "the bet could raise the player's loss above the daily limit")
                .with("limit_minor", limit)
                .with("net_minor", net)
                .with("currency_code", currency));
        }
        Ok(())
    }

    fn allowed(&self, allowed: bool, reason: Reason, what: &str) -> Result<(), Refusal> {
        if allowed { Ok(()) } else { Err(self.refusal(reason, format!("{what} is not allowed in this jurisdiction"))) }
    }

    fn refusal(&self, reason: Reason, message: impl Into<String>) -> Refusal {
        Refusal::new(reason, message).with("jurisdiction", &self.jurisdiction)
    }
}

pub(crate) fn not_held(player: &PlayerState, game: &str, currency: Currency, now: Now) -> Result<(), Refusal> {
    let Some(left_ms) = player.seat(game, currency).and_then(|seat| seat.held_ms(now.log_ms)) else { return Ok(()) };
    let message =
        format!("the game is still reserved for the player's session that lost its connection: retry in {left_ms} ms");
    Err(Refusal::new(Reason::SessionHeld, message).retry_after(Duration::from_millis(left_ms.unsigned_abs())))
}

pub(crate) fn session_over() -> Refusal {
    Refusal::new(Reason::SessionExpired, "the session is over")
}

pub(crate) fn jackpot_allowed(jurisdiction: &str, profile: &Profile, game: &dyn Game) -> Result<(), Refusal> {
    if profile.jackpot || !game.info().jackpot {
        return Ok(());
    }
    let message = "games with a progressive jackpot are not allowed in this jurisdiction";
    Err(Refusal::new(Reason::JackpotForbidden, message).with("jurisdiction", jurisdiction))
}

fn minor(eur: Option<NonZeroU32>, currency: Currency, rate: FxRate) -> Option<Minor> {
    rate.minor_within(Nano(i128::from(eur?.get()) * EUR), currency).ok()
}
