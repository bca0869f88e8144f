use crate::ids::{asked_by, money, opening_id, round_uuid};
use motherlode_ledger::{FetchError, Handle, fields::round_name, rounds};
use motherlode_proto::{convert::record::Logged, wallet::v1 as wire};
use motherlode_state::{
    Automatic, Event, InternalRequest, Minor, RoundStarted, SettledRound, SmolStr, StepResolved, StreamId, UnpaidCredit,
};
use std::sync::Arc;

pub(crate) struct RoundOf {
    pub(crate) round: wire::Round,
    pub(crate) kind: wire::CreditKind,
    pub(crate) jackpot: Option<wire::Jackpot>,
    pub(crate) session: SmolStr,
}

struct Void<'a> {
    win_taken_back: Minor,
    reversal: Minor,
    settled: Option<&'a SettledRound>,
}

#[derive(Default)]
struct Cause<'a> {
    step: Option<&'a StepResolved>,
    jackpot: Option<wire::Jackpot>,
    void: Option<Void<'a>>,
    is_settled: bool,
}

impl RoundOf {
    /// Returns `None` if the call belongs to no round.
    pub(crate) fn read(ledger: &Handle, logged: &Arc<Logged>, due: &UnpaidCredit) -> Result<Option<Self>, FetchError> {
        let (commit, stream) = (&logged.commit, &logged.commit.stream);
        let Some(number) = number_of(&commit.events, due) else { return Ok(None) };
        let cause = Cause::new(logged, number);
        let opening = opening(ledger, logged, &cause, number)?;
        let started = started(&opening, number).ok_or(FetchError::Missing(opening.commit.position))?;
        let (is_free, currency) = (started.campaign.is_some(), started.currency);
        let kind = match (&cause, is_free) {
            (Cause { jackpot: Some(_), .. }, _) => wire::CreditKind::Jackpot,
            (Cause { void: Some(_), .. }, _) => wire::CreditKind::Refund,
            (_, true) => wire::CreditKind::FreeRoundWin,
            (_, false) => wire::CreditKind::Win,
        };
        let (session, asked_at) = asked(ledger, stream, &opening)?;
        let id = opening_id(stream, &opening.commit.request_id, is_free);
        let id = ledger.restores().transaction_id(asked_at, id);
        let end = cause.end();
        let kept = cause.win_kept(ledger, logged, number)?;
        let round = wire::Round {
            round_uuid: round_uuid(&id),
            round_id: round_name(stream, number),
            game: started.game.to_string(),
            rules_version: started.rules_version.to_string(),
            step: cause.step.map_or(0, |step| step.step),
            campaign_id: started.campaign.as_deref().unwrap_or_default().to_owned(),
            opening_transaction_id: id,
            closed: end != wire::RoundEnd::Unspecified,
            end: end.into(),
            bet_total: Some(money(started.charged(), currency)),
            win_total: cause.step.map(|step| money(step.win, currency)),
            jackpot_contribution: started.contribution.as_ref().map(|given| wire::Contribution {
                pool_id: given.pool.to_string(),
                amount_eur: given.amount.to_string(),
            }),
            win_kept: kept.map(|kept| money(kept, currency)),
        };
        Ok(Some(Self { round, kind, jackpot: cause.jackpot, session }))
    }
}

fn number_of(events: &[Event], due: &UnpaidCredit) -> Option<u64> {
    if due.closes > 0 {
        return Some(due.closes);
    }
    events.iter().rev().find_map(|event| match event {
        Event::RoundSettled { round, .. }
        | Event::RoundVoided { round, .. }
        | Event::WinCredited { round, .. }
        | Event::JackpotPaid { round, .. } => Some(*round),
        _ => None,
    })
}

impl<'a> Cause<'a> {
    fn new(logged: &'a Logged, number: u64) -> Self {
        let (mut cause, partition) = (Self::default(), logged.commit.partition);
        for event in &logged.commit.events {
            match event {
                Event::StepResolved(step) if step.round == number => cause.step = Some(step),
                Event::RoundSettled { round, .. } if *round == number => cause.is_settled = true,
                Event::RoundVoided { round, win_taken_back, settled, .. } if *round == number => {
                    cause.void = Some(Void {
                        win_taken_back: *win_taken_back,
                        reversal: Minor::ZERO,
                        settled: settled.as_deref(),
                    });
                }
                Event::ReversalDue { round, amount } if *round == number => {
                    cause.void.iter_mut().for_each(|void| void.reversal = *amount);
                }
                Event::JackpotPaid { round, pool, hit, .. } if *round == number => {
                    let award_id = format!("{pool}/{partition}/{hit}");
                    cause.jackpot = Some(wire::Jackpot { pool_id: pool.to_string(), award_id });
                }
                _ => {}
            }
        }
        cause
    }

    fn end(&self) -> wire::RoundEnd {
        let automatic = self.step.and_then(|step| step.automatic.as_ref());
        match (self, automatic) {
            (Self { void: Some(_), .. }, _) => wire::RoundEnd::Voided,
            (Self { is_settled: false, .. }, _) => wire::RoundEnd::Unspecified,
            (_, Some(Automatic::TimeOver | Automatic::Closed { .. })) => wire::RoundEnd::Abandoned,
            _ => wire::RoundEnd::Played,
        }
    }

    /// In logs of old versions, which had no reversals, returns the part of a voided round's win that the player keeps;
    /// otherwise, `None`.
    fn win_kept(&self, ledger: &Handle, logged: &Logged, number: u64) -> Result<Option<Minor>, FetchError> {
        let Some(void) = &self.void else { return Ok(None) };
        let win = match void.settled {
            Some(settled) => settled.win,
            None => {
                let bets = rounds::bets_before(ledger, logged)?;
                bets.get(&(logged.commit.stream.clone(), number)).map_or(Minor::ZERO, |bet| bet.credited)
            }
        };
        let kept = Minor(win.0.saturating_sub(void.win_taken_back.0).saturating_sub(void.reversal.0));
        Ok(Some(kept).filter(|kept| kept.0 > 0))
    }
}

fn started(opening: &Logged, number: u64) -> Option<&RoundStarted> {
    opening.commit.events.iter().find_map(|event| match event {
        Event::RoundStarted(started) if started.round == number => Some(&**started),
        _ => None,
    })
}

fn opening(ledger: &Handle, logged: &Arc<Logged>, cause: &Cause<'_>, number: u64) -> Result<Arc<Logged>, FetchError> {
    if started(logged, number).is_some() {
        return Ok(Arc::clone(logged));
    }
    let stream = &logged.commit.stream;
    let stated = cause.void.as_ref().and_then(|void| void.settled).map(|settled| settled.opened_at);
    let opened_at = match stated {
        Some(stated) => Some(stated),
        None => ledger.books_of(stream, |books| Some(books.player(stream)?.open_round(number)?.opened_at))?,
    };
    match opened_at {
        Some(position) => ledger.fetch(position),
        None => rounds::opening(ledger, stream, number)?.ok_or(FetchError::Missing(logged.commit.position)),
    }
}

/// Returns the operator's session for a round, and the position of the debit request. If there is no debit request,
/// returns the position of the round's opening.
fn asked(ledger: &Handle, stream: &StreamId, opening: &Logged) -> Result<(SmolStr, u64), FetchError> {
    let mut events = opening.commit.events.iter();
    let stated = events.find_map(|event| match event {
        Event::OperatorSession { session } => Some(session.clone()),
        _ => None,
    });
    if let Some(stated) = stated {
        return Ok((stated, opening.commit.position));
    }
    let id = InternalRequest::AskDebit { request_id: &opening.commit.request_id }.to_string();
    let asked = ledger.find(stream, &id, InternalRequest::FINGERPRINT);
    let asked = asked.map_err(|_| FetchError::Missing(opening.commit.position))?;
    let asked_at = asked.as_ref().map_or(opening.commit.position, |asked| asked.commit.position);
    let facts = asked.as_deref().and_then(asked_by).and_then(|asked| asked.facts.as_ref());
    Ok((facts.map(|facts| facts.session.clone()).unwrap_or_default(), asked_at))
}
