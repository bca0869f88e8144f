//! Where a bet is placed: the jurisdiction, what it and the operator allow, and the session (PL-08, PL-16, PL-26).
//!
//! Found once a call; what depends on the player's state is checked when the bet is decided, on the state that it's
//! decided on. What a round was begun with goes on: nothing here touches an open round.

use crate::bet::Bet;
use motherlode_books::{Currency, FxRate, Minor, Nano, PlayerState, Profile, SessionName, SessionOf};
use motherlode_runtime::{Refusal, UNRESTRICTED};
use motherlode_slots::Game;
use std::{num::NonZeroU32, time::Duration};

/// Billionths of a EUR.
const EUR: i128 = 1_000_000_000;

/// Where a bet is placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    jurisdiction: String,
    profile: Profile,
    session: Option<SessionName>,
    /// What the player may lose in the session, where the player has said so.
    loss_max: Option<Minor>,
    /// What a round of the session may cost, where somebody has said so.
    bet_max: Option<Minor>,
}

impl Place {
    /// Without a session; refused where limits hold that only a session can keep.
    pub(crate) fn without_session(jurisdiction: &str, profile: Profile) -> Result<Self, Refusal> {
        if profile.needs_session() {
            return Err(Refusal::precondition("SESSION_REQUIRED", "bets need a session here: its limits hold in one")
                .with("jurisdiction", jurisdiction));
        }
        Ok(Self { jurisdiction: jurisdiction.to_owned(), profile, session: None, loss_max: None, bet_max: None })
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

    /// The jurisdiction as the log has it: empty for the one that restricts nothing.
    pub(crate) fn logged_jurisdiction(&self) -> String {
        match self.jurisdiction.as_str() {
            UNRESTRICTED => String::new(),
            name => name.to_owned(),
        }
    }

    /// Whether rounds may play themselves.
    pub(crate) fn autoplay(&self) -> Result<(), Refusal> {
        self.allowed(self.profile.autoplay, "AUTOPLAY_FORBIDDEN", "autoplay")
    }

    /// Whether a player may place a bet now. The first fault in the order of the text.
    pub(crate) fn allow(
        &self,
        player: &PlayerState,
        bet: &Bet,
        amount: Minor,
        rate: FxRate,
        now_ms: i64,
    ) -> Result<(), Refusal> {
        self.allowed(self.profile.buy_feature || !bet.stake.buy_feature, "BUY_FEATURE_FORBIDDEN", "buying a feature")?;
        self.allowed(self.profile.gamble || !bet.double, "GAMBLE_FORBIDDEN", "gambling a win")?;
        jackpot_allowed(&self.jurisdiction, &self.profile, bet.game)?;
        self.within_bet(bet.account.currency, amount, rate)?;
        if let Some(left) = self.too_soon_by(player.last_bet_ms(bet.account.currency), now_ms) {
            let message = format!("the player's rounds are at least {} ms apart here", self.profile.round_ms_min);
            return Err(self.refusal("ROUND_TOO_SOON", message).retry_after(left));
        }
        self.within_loss(player, bet, amount, rate)
    }

    /// How much too soon after the player's latest bet the next would be; none where it's time.
    pub(crate) fn too_soon_by(&self, last_bet_ms: Option<i64>, now_ms: i64) -> Option<Duration> {
        let next_ms = last_bet_ms?.saturating_add(self.profile.round_ms_min.into());
        let left = u64::try_from(next_ms.saturating_sub(now_ms)).ok().filter(|left| *left > 0)?;
        Some(Duration::from_millis(left))
    }

    /// A bet above what a round may cost is not taken.
    fn within_bet(&self, currency: Currency, amount: Minor, rate: FxRate) -> Result<(), Refusal> {
        let of_profile = minor(self.profile.bet_eur_max, currency, rate);
        match self.bet_max.into_iter().chain(of_profile).min() {
            Some(limit) if amount > limit => Err(self
                .refusal("BET_LIMIT", "the bet is above what a round may cost here")
                .with("limit_minor", limit)
                .with("bet_minor", amount)
                .with("currency_code", currency)),
            _ => Ok(()),
        }
    }

    /// A bet that would take the session's loss past its limit, were it lost, is not taken. A free round loses nothing.
    fn within_loss(&self, player: &PlayerState, bet: &Bet, amount: Minor, rate: FxRate) -> Result<(), Refusal> {
        let Some(session) = self.session.filter(|_| bet.campaign.is_none()) else { return Ok(()) };
        let currency = bet.account.currency;
        let of_profile = minor(self.profile.loss_eur_max, currency, rate);
        let Some(limit) = self.loss_max.into_iter().chain(of_profile).min() else { return Ok(()) };
        let net = player.session_net(bet.game.name(), session).unwrap_or_default();
        if i128::from(limit.0) + net < i128::from(amount.0) {
            return Err(self
                .refusal("LOSS_LIMIT", "the bet could take the session's loss past its limit")
                .with("limit_minor", limit)
                .with("net_minor", net)
                .with("currency_code", currency));
        }
        Ok(())
    }

    fn allowed(&self, allowed: bool, reason: &'static str, what: &str) -> Result<(), Refusal> {
        if allowed { Ok(()) } else { Err(self.refusal(reason, format!("{what} is not allowed here"))) }
    }

    fn refusal(&self, reason: &'static str, message: impl Into<String>) -> Refusal {
        Refusal::precondition(reason, message).with("jurisdiction", &self.jurisdiction)
    }
}

/// Whether a game may be played at all where jackpots may be forbidden.
pub(crate) fn jackpot_allowed(jurisdiction: &str, profile: &Profile, game: &dyn Game) -> Result<(), Refusal> {
    if profile.jackpot || !game.info().jackpot {
        return Ok(());
    }
    let message = "a game with a progressive jackpot is not allowed here";
    Err(Refusal::precondition("JACKPOT_FORBIDDEN", message).with("jurisdiction", jurisdiction))
}

/// A limit in whole EUR as minor units of a currency, rounded down; none where there is no limit.
fn minor(eur: Option<NonZeroU32>, currency: Currency, rate: FxRate) -> Option<Minor> {
    rate.minor_within(Nano(i128::from(eur?.get()) * EUR), currency).ok()
}
