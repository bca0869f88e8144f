//! Autospin: a series of rounds that plays itself, as a stream (BW-25, BW-23, PL-07).
//!
//! A series keeps nothing: its spins are logged under request ids that follow from the series' own, so the same request
//! again gets the same answers and goes on where the log ends. It's driven by whoever reads the stream: when the reader
//! goes, the series stops before its next spin. A round that waits for the player is followed in the log, not polled;
//! cost while waiting: a look at the player's open rounds at each group commit.

use crate::{bet::Bet, service::SpinApi};
use futures_util::{Stream, stream};
use motherlode_books::{Autospin, AutospinLimits, FinishedRound, Minor};
use motherlode_ledger::{
    Ledgers,
    fields::{self, RoundId, money, round_id},
    rounds,
};
use motherlode_proto::{
    round::v1::{Round, RoundState},
    spin::v1::{AutospinRequest, AutospinResponse, AutospinStop, Played, SpinRequest},
};
use motherlode_runtime::{Caller, Refusal};
use std::time::Duration;
use tonic::{Code, Request, Status};

/// Most spins of a series.
const SPINS_MAX: u32 = 1000;

/// Longest request id of a series: with ".1000" behind it, it's still a request id.
const REQUEST_ID_MAX: usize = 59;

/// Longest pause between two rounds.
const PAUSE_MS_MAX: u32 = 60_000;

/// A series under way.
struct Series {
    api: SpinApi,
    request_id: String,
    /// The bet of every spin; its request id is that of the next.
    bet: Bet,
    progress: Autospin,
    /// Spins begun.
    spins: u32,
    pause: Duration,
    next: Next,
    #[cfg(feature = "forced-outcomes")]
    wanted: crate::forced::Wanted,
}

/// What a series does next.
enum Next {
    /// Spins.
    Spin,
    /// Waits until the player, or the jackpot's award, has finished a round.
    Finish(RoundId),
    /// Nothing.
    Over,
}

impl SpinApi {
    pub(crate) fn autospin(
        &self,
        request: &Request<AutospinRequest>,
    ) -> Result<impl Stream<Item = Result<AutospinResponse, Status>> + use<>, Refusal> {
        let series = Series::parse(self.clone(), request)?;
        Ok(stream::unfold(series, |mut series| async move { series.step().await.map(|answer| (Ok(answer), series)) }))
    }

    /// Follows the log until a round is neither open nor waiting for its jackpot.
    async fn finished(&self, round: &RoundId) -> Result<FinishedRound, Refusal> {
        let ledger = self.ledgers.of(&round.stream);
        let mut head = ledger.head();
        loop {
            let open = ledger.books(|books| {
                books.player(&round.stream).is_some_and(|player| player.open_round(round.number).is_some())
            });
            if !open
                && let Some(shown) = rounds::read(ledger, &round.stream, round.number)?
                && let Some(finished) = ended(&shown)
            {
                return Ok(finished);
            }
            if head.changed().await.is_err() {
                return Err(Refusal::new(Code::Unavailable, "CLOSING", "the ledger is closing"));
            }
        }
    }
}

impl Series {
    fn parse(api: SpinApi, request: &Request<AutospinRequest>) -> Result<Self, Refusal> {
        #[cfg(feature = "forced-outcomes")]
        let wanted = crate::forced::wanted(request)?;
        let (caller, request) = (Caller::of(request), request.get_ref());
        let request_id = fields::id("request_id", &request.request_id)?;
        if request_id.len() > REQUEST_ID_MAX {
            return Err(Refusal::field("request_id", format!("must be at most {REQUEST_ID_MAX} characters")));
        }
        if !(1..=SPINS_MAX).contains(&request.spins) {
            return Err(Refusal::field("spins", format!("must be 1 to {SPINS_MAX}")));
        }
        if request.pause_ms > PAUSE_MS_MAX {
            return Err(Refusal::field("pause_ms", format!("must be at most {PAUSE_MS_MAX}")));
        }
        let bet = Bet::of_series(&caller, &api.ledgers, request)?;
        // Where the session is over, the first spin says so.
        if let Ok(place) = api.place(&bet) {
            place.autoplay()?;
        }
        let currency = bet.account.currency;
        let limits = AutospinLimits {
            loss: fields::limit("loss_limit_minor", request.loss_limit_minor, 0, currency)?,
            at_loss: bet.game.info().autoplay_ends_at_loss,
            win: fields::limit("win_limit_minor", request.win_limit_minor, 1, currency)?,
            on_jackpot: request.stop_on_jackpot,
            on_feature: request.stop_on_feature,
        };
        Ok(Self {
            api,
            request_id: request_id.to_owned(),
            bet,
            progress: Autospin::new(request.spins, limits),
            spins: 0,
            pause: Duration::from_millis(request.pause_ms.into()),
            next: Next::Spin,
            #[cfg(feature = "forced-outcomes")]
            wanted,
        })
    }

    /// The next answer; none after the last.
    async fn step(&mut self) -> Option<AutospinResponse> {
        let stop = self.api.stop.clone();
        match std::mem::replace(&mut self.next, Next::Over) {
            Next::Over => None,
            Next::Finish(round) => tokio::select! {
                biased;
                () = stop.requested() => Some(self.over(AutospinStop::Shutdown)),
                finished = self.api.finished(&round) => Some(match finished {
                    Ok(finished) => self.count(None, finished),
                    Err(refusal) => self.refused(refusal),
                }),
            },
            Next::Spin => {
                self.spins += 1;
                self.bet.request_id = format!("{}.{}", self.request_id, self.spins);
                tokio::select! {
                    biased;
                    () = stop.requested() => return Some(self.over(AutospinStop::Shutdown)),
                    () = self.rest() => {}
                }
                Some(self.spin().await.unwrap_or_else(|refusal| self.refused(refusal)))
            }
        }
    }

    /// The pause before a spin: what was asked for, then what the jurisdiction asks for (PL-26). None before one that
    /// was played already, and what was asked for not before the first.
    async fn rest(&self) {
        let stream = &self.bet.account.stream;
        let ledger = self.api.ledgers.of(stream);
        if matches!(ledger.seen(stream, &self.bet.request_id), Ok(Some(_))) {
            return;
        }
        if self.spins > 1 && !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        // The time left is the ledger's; what has passed meanwhile is looked up, not assumed.
        let currency = self.bet.account.currency;
        let last_bet_ms = || ledger.books(|books| books.player(stream)?.last_bet_ms(currency));
        while let Ok(place) = self.api.place(&self.bet)
            && let Some(left) = place.too_soon_by(last_bet_ms(), ledger.now_ms())
        {
            tokio::time::sleep(left).await;
        }
    }

    async fn spin(&mut self) -> Result<AutospinResponse, Refusal> {
        #[cfg(feature = "forced-outcomes")]
        let mut deal = crate::forced::Wish::new(self.wanted, &self.api.dealer);
        #[cfg(not(feature = "forced-outcomes"))]
        let mut deal = self.api.fair();
        let played = self.api.bet(&self.bet, &mut deal).await?;
        if let Some(finished) = finished_at_once(&played) {
            return Ok(self.count(Some(played), finished));
        }
        self.next = Next::Finish(round_id(&Caller::anyone(), &played.round_id)?);
        Ok(self.answer(Some(played), AutospinStop::Unspecified))
    }

    /// Counts a round and goes on, or not.
    fn count(&mut self, played: Option<Played>, finished: FinishedRound) -> AutospinResponse {
        let stop = match self.progress.finish(finished) {
            None => {
                self.next = Next::Spin;
                AutospinStop::Unspecified
            }
            Some(motherlode_books::AutospinStop::Complete) => AutospinStop::Complete,
            Some(motherlode_books::AutospinStop::LossLimit) => AutospinStop::LossLimit,
            Some(motherlode_books::AutospinStop::WinLimit) => AutospinStop::WinLimit,
            Some(motherlode_books::AutospinStop::Jackpot) => AutospinStop::Jackpot,
            Some(motherlode_books::AutospinStop::Feature) => AutospinStop::Feature,
        };
        self.answer(played, stop)
    }

    fn refused(&mut self, refusal: Refusal) -> AutospinResponse {
        let refusal = Some(crate::stream::status_message(&refusal.into()));
        AutospinResponse { refusal, ..self.over(AutospinStop::Refused) }
    }

    fn over(&mut self, stop: AutospinStop) -> AutospinResponse {
        self.next = Next::Over;
        self.answer(None, stop)
    }

    fn answer(&self, played: Option<Played>, stop: AutospinStop) -> AutospinResponse {
        let currency = self.bet.account.currency;
        AutospinResponse {
            played,
            spins_left: self.progress.spins_left(),
            total_bet: Some(money(self.progress.bets(), currency)),
            total_win: Some(money(self.progress.wins(), currency)),
            stop: stop.into(),
            refusal: None,
        }
    }
}

impl Bet {
    /// The bet of each spin of a series, without the double (BW-23). Its fingerprint is the series', so that a series of
    /// the same name with other limits is another request.
    fn of_series(caller: &Caller, ledgers: &Ledgers, request: &AutospinRequest) -> Result<Self, Refusal> {
        let spin = SpinRequest {
            request_id: request.request_id.clone(),
            account: request.account.clone(),
            game: request.game.clone(),
            rules_version: request.rules_version.clone(),
            stake: request.stake.clone(),
            witch: request.witch,
            offer_double: false,
            session_id: request.session_id.clone(),
            campaign_id: request.campaign_id.clone(),
        };
        let named = AutospinRequest { session_id: String::new(), ..request.clone() };
        Ok(Self {
            fingerprint: motherlode_ledger::fingerprint("autospin", &named),
            ..Self::parse(caller, ledgers, &spin)?
        })
    }
}

/// How a spin's round ended, where that's all there is to it.
fn finished_at_once(played: &Played) -> Option<FinishedRound> {
    let amount = |money: &Option<motherlode_proto::round::v1::Money>| money.as_ref().map(|it| Minor(it.amount_minor));
    if played.state() != RoundState::Settled {
        return None;
    }
    let jackpot = match &played.jackpot {
        Some(won) => Some(amount(&won.amount)?),
        None => None,
    };
    let feature = played.outcome.as_ref().is_some_and(|outcome| outcome.spins.len() > 1);
    // A free round costs nothing (PL-18).
    let bet = if played.campaign_id.is_empty() { amount(&played.bet)? } else { Minor::ZERO };
    Some(FinishedRound { bet, win: amount(&played.win)?, jackpot, feature })
}

/// How a round ended; none while a jackpot of it is not priced. Of a voided round only the jackpot counts (BW-19).
fn ended(round: &Round) -> Option<FinishedRound> {
    if round.jackpots.iter().any(|jackpot| jackpot.amount.is_none()) {
        return None;
    }
    let paid = round.jackpots.iter().filter_map(|jackpot| Some(jackpot.amount.as_ref()?.amount_minor));
    let jackpot = paid.reduce(i64::saturating_add).map(Minor);
    let of = |money: &Option<motherlode_proto::round::v1::Money>| match round.state() {
        RoundState::Settled => Minor(money.as_ref().map_or(0, |money| money.amount_minor)),
        _ => Minor::ZERO,
    };
    // A series offers no gamble, so whatever follows the paid spin is a feature.
    let windows = round.steps.iter().filter_map(|step| step.outcome.as_ref()).map(|outcome| outcome.spins.len());
    let feature = round.steps.len() > 1 || windows.sum::<usize>() > 1;
    let bet = if round.campaign_id.is_empty() { of(&round.bet) } else { Minor::ZERO };
    Some(FinishedRound { bet, win: of(&round.win), jackpot, feature })
}
