//! Autospin: a series of rounds over one stream (BW-23, BW-25, PL-07).
//!
//! The spins' request ids derive from the series' request id, so a repeated request gets the same answers and continues
//! after the last logged spin. If the client disconnects, the series stops before its next spin.
//!
//! The totals of the series include a win that can still be gambled. The series collects this win just before its next
//! spin; after the last spin, the player decides (BW-23).

use crate::{
    api::SpinApi,
    bet::{Bet, DrawnFor, Move, Play},
    play_rules::PlayRules,
    stake::whole_bet,
};
use futures_util::{Stream, stream};
use motherlode_ledger::{
    fields::{self, RoundId, money, round_id},
    rounds,
};
use motherlode_proto::{
    round::v1::{Awaiting, JackpotWin, Money, Round, RoundState, Step},
    spin::v1::{AutospinRequest, AutospinResponse, AutospinStop, Played, SpinRequest},
};
use motherlode_runtime::{
    Caller, Reason, Refusal,
    field_bounds::{PAUSE_MS_MAX, SERIES_ID_MAX},
};
use motherlode_slots::{AutoplayLoss, Choice};
use motherlode_state::{Autospin, AutospinLimits, FinishedRound, InternalRequest, LossStop, Minor, SmolStr, WinStop};
use std::time::Duration;
use tonic::{Request, Status, metadata::MetadataMap};

struct Series {
    api: SpinApi,
    request_id: SmolStr,
    bet: Bet,
    progress: Autospin,
    spins: u32,
    pause: Duration,
    next: Next,
    waiting: Option<Waiting>,
    metadata: MetadataMap,
}

struct Waiting {
    round: RoundId,
    step: u32,
}

struct SeriesRound {
    round: FinishedRound,
    waiting: Option<Waiting>,
}

enum Next {
    /// The series did not start, because its first bet could exceed the loss limit (DM-26).
    Prevented,
    Spin,
    Finish(RoundId),
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

    async fn shown(&self, round: &RoundId) -> Result<Option<Round>, Refusal> {
        let (ledger, stream, number) =
            (self.ledgers.for_stream(&round.stream)?.clone(), round.stream.clone(), round.number);
        let read = tokio::task::spawn_blocking(move || rounds::read(&ledger, &stream, number)).await;
        let read = read.map_err(|error| Refusal::new(Reason::Internal, error.to_string()))?;
        Ok(read?)
    }

    async fn finished(&self, round: &RoundId) -> Result<SeriesRound, Refusal> {
        let ledger = self.ledgers.for_stream(&round.stream)?;
        let mut head = ledger.head();
        let mut seen = None;
        loop {
            let latest = ledger.books_of(&round.stream, |books| {
                Some(books.player(&round.stream)?.open_round(round.number).map(|open| open.last_position))
            })?;
            if latest.flatten().is_none_or(|latest| seen.replace(latest) != Some(latest))
                && let Some(shown) = self.shown(round).await?
                && let Some(finished) = ended(&shown)
            {
                let collect = collectable(&shown).and_then(|index| shown.steps.get(index));
                let waiting = collect.map(|step| Waiting { round: round.clone(), step: step.number + 1 });
                return Ok(SeriesRound { round: finished, waiting });
            }
            if head.changed().await.is_err() {
                return Err(Refusal::new(
                    Reason::Closing,
                    "the ledger is shutting down: retry with the same request id",
                ));
            }
        }
    }

    async fn collect(&self, waiting: &Waiting, series: &SmolStr) -> Result<bool, Refusal> {
        let Waiting { round, step } = waiting;
        let request_id = InternalRequest::CollectInSeries { round: round.number, step: *step }.to_string();
        let ledger = self.ledgers.for_stream(&round.stream)?;
        let open = ledger.books_of(&round.stream, |books| {
            let open = books.player(&round.stream)?.open_round(round.number)?;
            (crate::automatic::next_step(open) == *step).then_some(())
        })?;
        if open.is_none() {
            return Ok(ledger.find(&round.stream, &request_id, InternalRequest::FINGERPRINT)?.is_some());
        }
        let collect = Move {
            request_id: request_id.into(),
            fingerprint: InternalRequest::FINGERPRINT,
            round: round.clone(),
            choice: Choice::Collect,
            session: None,
            drawn: DrawnFor::default(),
            series: Some(series.clone()),
        };
        match self.play(&Play::Move(collect), &MetadataMap::new()).await {
            Ok(_) => Ok(true),
            Err(refusal) if matches!(refusal.reason(), Reason::AlreadySettled | Reason::ChoiceNotAwaited) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }
}

impl Series {
    fn parse(api: SpinApi, request: &Request<AutospinRequest>) -> Result<Self, Refusal> {
        let (caller, metadata, request) =
            (Caller::from_request(request), request.metadata().clone(), request.get_ref());
        let request_id = fields::id("request_id", &request.request_id)?;
        if request_id.len() > SERIES_ID_MAX {
            return Err(Refusal::field("request_id", format!("must be at most {SERIES_ID_MAX} characters")));
        }
        if !(1..=Autospin::SPINS_MAX).contains(&request.spins) {
            return Err(Refusal::field("spins", format!("must be 1 to {}", Autospin::SPINS_MAX)));
        }
        if request.pause_ms > PAUSE_MS_MAX {
            return Err(Refusal::field("pause_ms", format!("must be at most {PAUSE_MS_MAX}")));
        }
        let bet = Bet::of_series(&caller, &api, request)?;
        let first = Autospin::spin_request_id(request_id, 1);
        if api.ledgers.for_stream(&bet.account.stream)?.find_position(&bet.account.stream, &first)?.is_none() {
            allowed(&api, &bet)?;
        }
        let rules = bet.game.info().autoplay;
        let currency = bet.account.currency;
        let loss = fields::limit("loss_limit_minor", request.loss_limit_minor, 0, currency)?;
        let win = fields::limit("win_limit_minor", request.win_limit_minor, 1, currency)?;
        let limits = AutospinLimits {
            loss: loss.map(|limit| loss_stop(rules.loss, limit, &bet)).transpose()?,
            win: win.map(|limit| if rules.ends_above_win { WinStop::Passed(limit) } else { WinStop::Reached(limit) }),
            on_jackpot: request.stop_on_jackpot,
            on_feature: request.stop_on_feature,
        };
        let progress = Autospin::new(request.spins, limits);
        Ok(Self {
            api,
            request_id: request_id.into(),
            bet,
            next: if progress.prevented() { Next::Prevented } else { Next::Spin },
            progress,
            spins: 0,
            pause: Duration::from_millis(request.pause_ms.into()),
            waiting: None,
            metadata,
        })
    }

    async fn step(&mut self) -> Option<AutospinResponse> {
        let stop = self.api.stop.clone();
        match std::mem::replace(&mut self.next, Next::Over) {
            Next::Over => None,
            Next::Prevented => Some(self.over(AutospinStop::LossLimit)),
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
                self.bet.request_id = Autospin::spin_request_id(&self.request_id, self.spins).into();
                if !self.played_before()
                    && let Err(refusal) = allowed(&self.api, &self.bet).and_then(|()| self.not_cancelled())
                {
                    return Some(self.refused(refusal));
                }
                tokio::select! {
                    biased;
                    () = stop.requested() => return Some(self.over(AutospinStop::Shutdown)),
                    () = self.rest() => {}
                }
                Some(self.spin().await.unwrap_or_else(|refusal| self.refused(refusal)))
            }
        }
    }

    /// Pauses before a spin as the request and the jurisdiction require (PL-26), unless the spin is already logged.
    async fn rest(&self) {
        if self.played_before() {
            return;
        }
        let stream = &self.bet.account.stream;
        if self.spins > 1 && !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        let (bet, pace) = (&self.bet, &self.api.pace);
        let left = |rules: &PlayRules| {
            let (ledger, now) = (self.api.ledgers.for_stream(stream).ok()?, self.api.now(stream).ok()?);
            ledger.books_of(stream, |books| rules.too_soon_by(books.player(stream)?, bet, pace, now)).ok().flatten()
        };
        while let Ok(rules) = self.api.rules_for(bet)
            && let Some(left) = left(&rules)
        {
            tokio::time::sleep(left).await;
        }
    }

    fn played_before(&self) -> bool {
        let stream = &self.bet.account.stream;
        let ledger = self.api.ledgers.for_stream(stream);
        ledger.is_ok_and(|ledger| matches!(ledger.find_position(stream, &self.bet.request_id), Ok(Some(_))))
    }

    fn not_cancelled(&self) -> Result<(), Refusal> {
        let stream = &self.bet.account.stream;
        self.api.ledgers.for_stream(stream)?.find(stream, &self.request_id, self.bet.fingerprint)?;
        Ok(())
    }

    async fn spin(&mut self) -> Result<AutospinResponse, Refusal> {
        if let Some(waiting) = self.waiting.take()
            && !self.api.collect(&waiting, &self.request_id).await?
        {
            return Ok(self.over(AutospinStop::Player));
        }
        let played = self.api.play(&Play::Bet(self.bet.clone()), &self.metadata).await?.message();
        if let Some(finished) = finished_at_once(&played)? {
            return Ok(self.count(Some(played), finished));
        }
        self.next = Next::Finish(round_id(&Caller::ANYONE, &played.round_id)?);
        Ok(self.answer(Some(played), AutospinStop::Unspecified))
    }

    fn count(&mut self, played: Option<Played>, counted: SeriesRound) -> AutospinResponse {
        let stop = match self.progress.finish(counted.round) {
            None => {
                (self.next, self.waiting) = (Next::Spin, counted.waiting);
                AutospinStop::Unspecified
            }
            Some(motherlode_state::AutospinStop::Complete) => AutospinStop::Complete,
            Some(motherlode_state::AutospinStop::LossLimit) => AutospinStop::LossLimit,
            Some(motherlode_state::AutospinStop::WinLimit) => AutospinStop::WinLimit,
            Some(motherlode_state::AutospinStop::Jackpot) => AutospinStop::Jackpot,
            Some(motherlode_state::AutospinStop::Feature) => AutospinStop::Feature,
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

fn allowed(api: &SpinApi, bet: &Bet) -> Result<(), Refusal> {
    api.rules_for(bet).map_or(Ok(()), |rules| rules.autoplay())
}

impl Bet {
    fn of_series(caller: &Caller, api: &SpinApi, request: &AutospinRequest) -> Result<Self, Refusal> {
        let spin = SpinRequest {
            request_id: request.request_id.clone(),
            account: request.account.clone(),
            game: request.game.clone(),
            rules_version: request.rules_version.clone(),
            stake: request.stake.clone(),
            witch: request.witch,
            offer_double: request.offer_double,
            session_id: request.session_id.clone(),
            campaign_id: request.campaign_id.clone(),
            client_seed: request.client_seed.clone(),
            seal: vec![],
            operator_session: request.operator_session.clone(),
        };
        let named = AutospinRequest { session_id: String::new(), operator_session: String::new(), ..request.clone() };
        Ok(Self {
            fingerprint: motherlode_ledger::fingerprint("autospin", &named),
            series: Some(request.request_id.as_str().into()),
            ..Self::parse(caller, &api.ledgers, &api.ladders, &spin)?
        })
    }
}

fn loss_stop(rule: AutoplayLoss, limit: Minor, bet: &Bet) -> Result<LossStop, Refusal> {
    Ok(match rule {
        AutoplayLoss::Passed => LossStop::Passed(limit),
        AutoplayLoss::Reached => LossStop::Reached(limit),
        AutoplayLoss::Prevented if bet.campaign.is_some() => LossStop::Prevented { limit, bet: Minor::ZERO },
        AutoplayLoss::Prevented => {
            let bet = whole_bet(bet.account.currency, bet.coin_value, bet.coins)?;
            LossStop::Prevented { limit, bet }
        }
    })
}

fn finished_at_once(played: &Played) -> Result<Option<SeriesRound>, Refusal> {
    let amount = |money: &Option<Money>| money.as_ref().map_or(Minor::ZERO, |it| Minor(it.amount_minor));
    let outcome = played.outcome.as_ref();
    let waiting = match played.state() {
        RoundState::Settled => None,
        _ if outcome.is_some_and(|outcome| outcome.awaiting() == Awaiting::Double) => {
            Some(Waiting { round: round_id(&Caller::ANYONE, &played.round_id)?, step: played.step + 1 })
        }
        _ => return Ok(None),
    };
    let jackpot = match &played.jackpot {
        Some(JackpotWin { amount: None, .. }) => return Ok(None),
        won => won.as_ref().map(|won| amount(&won.amount)),
    };
    let feature = outcome.is_some_and(|outcome| outcome.spins.len() > 1);
    let bet = if played.campaign_id.is_empty() { amount(&played.bet) } else { Minor::ZERO };
    Ok(Some(SeriesRound { round: FinishedRound { bet, win: amount(&played.win), jackpot, feature }, waiting }))
}

fn collectable(round: &Round) -> Option<usize> {
    let waits = |step: &Step| step.outcome.as_ref().is_some_and(|outcome| outcome.awaiting() == Awaiting::Double);
    round.steps.iter().position(waits)
}

/// Returns the finished round; `None` while the round awaits a choice other than a gamble, or while a jackpot's amount is
/// not determined. The win of a voided round is only its jackpot (BW-19).
fn ended(round: &Round) -> Option<FinishedRound> {
    let collectable = collectable(round);
    let is_open = round.state() == RoundState::Open && collectable.is_none();
    if is_open || round.jackpots.iter().any(|jackpot| jackpot.amount.is_none()) {
        return None;
    }
    let paid = round.jackpots.iter().filter_map(|jackpot| Some(jackpot.amount.as_ref()?.amount_minor));
    let jackpot = paid.reduce(i64::saturating_add).map(Minor);
    let of = |money: &Option<Money>| match round.state() {
        RoundState::Voided => Minor::ZERO,
        _ => Minor(money.as_ref().map_or(0, |money| money.amount_minor)),
    };
    let (steps, win) = match collectable.and_then(|index| round.steps.get(..=index)) {
        Some(steps) => (steps, steps.last().map_or(Minor::ZERO, |step| of(&step.win))),
        None => (round.steps.as_slice(), of(&round.win)),
    };
    let windows = steps.iter().filter_map(|step| step.outcome.as_ref()).map(|outcome| outcome.spins.len());
    let feature = steps.len() > 1 || windows.sum::<usize>() > 1;
    let bet = if round.campaign_id.is_empty() { of(&round.bet) } else { Minor::ZERO };
    Some(FinishedRound { bet, win, jackpot, feature })
}
