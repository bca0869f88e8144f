//! Calls to an operator's wallet (PL-39). Calls are derived from the log, so a retry after a crash has the same content.

use crate::{
    ids::{asked_by, money, opening_id, owner, round_uuid, uuid},
    round::RoundOf,
};
use motherlode_ledger::{FetchError, Handle};
use motherlode_proto::{convert::record::Logged, round::v1::Account, wallet::v1 as wire};
use motherlode_runtime::config::Seamless;
use motherlode_state::{Currency, DebitAsked, DebitFacts, DueKind, Event, Minor, Restores, StreamId, UnpaidCredit};
use prost_types::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Debit(Box<wire::DebitRequest>),
    Open(Box<wire::OpenFreeRoundRequest>),
    Credit(Box<wire::CreditRequest>),
    Rollback(Box<wire::RollbackRequest>),
    Close(Box<wire::CloseRoundRequest>),
}

#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    pub provider: &'a str,
    pub brand: &'a str,
}

impl<'a> Names<'a> {
    #[must_use]
    pub fn new(operator: &'a str, settings: &'a Seamless) -> Self {
        let provider = settings.provider.as_deref().unwrap_or("motherlode");
        Self { provider, brand: settings.brand.as_deref().unwrap_or(operator) }
    }
}

impl Call {
    #[must_use]
    pub fn debit(names: Names<'_>, restores: &Restores, asked: &Logged) -> Option<Self> {
        let (stream, bet) = (&asked.commit.stream, asked_by(asked)?);
        let facts = facts_of(bet);
        let id = opening_id(stream, &bet.request_id, facts.campaign.is_some());
        let id = restores.transaction_id(asked.commit.position, id);
        let context = Some(context(names, asked, (&id, &facts.session), bet.currency));
        let (account, round) = (Some(account(stream, bet.currency)), Some(opened(&id, bet, &facts)));
        let request_id = bet.request_id.to_string();
        if facts.campaign.is_some() {
            let stake = Some(money(facts.stake, bet.currency));
            let request = wire::OpenFreeRoundRequest { transaction_id: id, account, stake, request_id, context, round };
            return Some(Self::Open(Box::new(request)));
        }
        let kind = match (&bet.facts, facts.feature_buy) {
            (None, _) => wire::DebitKind::Unspecified,
            (Some(_), true) => wire::DebitKind::FeatureBuy,
            (Some(_), false) => wire::DebitKind::Bet,
        };
        Some(Self::Debit(Box::new(wire::DebitRequest {
            transaction_id: id,
            account,
            amount: Some(money(bet.amount, bet.currency)),
            request_id,
            context,
            round,
            kind: kind.into(),
        })))
    }

    #[must_use]
    pub fn rollback(names: Names<'_>, restores: &Restores, asked: &Logged, rollback: &Logged) -> Option<Self> {
        let (stream, bet) = (&asked.commit.stream, asked_by(asked)?);
        let reason = rollback.commit.events.iter().find_map(|event| match event {
            Event::RollbackAsked { reason, .. } => Some(reason.as_str()),
            _ => None,
        })?;
        let reason = match reason {
            NOT_IN_TIME => wire::RollbackReason::Timeout,
            "REQUEST_CANCELLED" => wire::RollbackReason::CancelledByCaller,
            _ => wire::RollbackReason::RefusedAfterDebit,
        };
        let facts = facts_of(bet);
        let of_debit = |id| restores.transaction_id(asked.commit.position, id);
        let undone = of_debit(opening_id(stream, &bet.request_id, facts.campaign.is_some()));
        let id = of_debit(format!("rollback/{}/{}", owner(stream), bet.request_id));
        Some(Self::Rollback(Box::new(wire::RollbackRequest {
            account: Some(account(stream, bet.currency)),
            amount: Some(money(bet.amount, bet.currency)),
            rolled_back_uuid: uuid(&undone),
            context: Some(context(names, rollback, (&id, &facts.session), bet.currency)),
            round: Some(opened(&undone, bet, &facts)),
            reason: reason.into(),
            rollback_id: id,
            transaction_id: undone,
        })))
    }

    /// Builds the call for a credit, a reversal, or a report of a round's end.
    pub fn due(names: Names<'_>, ledger: &Handle, stream: &StreamId, due: &UnpaidCredit) -> Result<Self, FetchError> {
        let logged = ledger.fetch(due.due_at)?;
        let of = RoundOf::read(ledger, &logged, due)?;
        let id = due.transaction_id(stream, &ledger.restores());
        let session = of.as_ref().map_or("", |of| &of.session);
        let context = Some(context(names, &logged, (&id, session), due.currency));
        let account = Some(account(stream, due.currency));
        let request_id = due.request_id.to_string();
        if due.kind() == DueKind::Reversal {
            return Ok(Self::Debit(Box::new(wire::DebitRequest {
                transaction_id: id,
                account,
                amount: Some(money(due.reversal(), due.currency)),
                request_id,
                context,
                round: of.map(|of| of.round),
                kind: wire::DebitKind::Reversal.into(),
            })));
        }
        let (round, kind, jackpot) = of.map_or_else(Default::default, |of| (Some(of.round), of.kind, of.jackpot));
        if due.is_close() {
            let request = wire::CloseRoundRequest { transaction_id: id, account, context, round };
            return Ok(Self::Close(Box::new(request)));
        }
        Ok(Self::Credit(Box::new(wire::CreditRequest {
            transaction_id: id,
            account,
            amount: Some(money(due.amount, due.currency)),
            request_id,
            position: due.due_at,
            context,
            round,
            kind: kind.into(),
            jackpot,
        })))
    }

    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Debit(request) => &request.transaction_id,
            Self::Open(request) => &request.transaction_id,
            Self::Credit(request) => &request.transaction_id,
            Self::Rollback(request) => &request.rollback_id,
            Self::Close(request) => &request.transaction_id,
        }
    }

    #[must_use]
    pub fn player(&self) -> &str {
        let account = match self {
            Self::Debit(request) => &request.account,
            Self::Open(request) => &request.account,
            Self::Credit(request) => &request.account,
            Self::Rollback(request) => &request.account,
            Self::Close(request) => &request.account,
        };
        account.as_ref().map_or("", |account| &account.player_id)
    }

    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Debit(_) => "debit",
            Self::Open(_) => "open_free_round",
            Self::Credit(_) => "credit",
            Self::Rollback(_) => "rollback",
            Self::Close(_) => "close_round",
        }
    }
}

pub(crate) const NOT_IN_TIME: &str = "the bet was not played in time";

fn facts_of(asked: &DebitAsked) -> DebitFacts {
    asked.facts.as_deref().cloned().unwrap_or_default()
}

fn opened(opening_id: &str, asked: &DebitAsked, facts: &DebitFacts) -> wire::Round {
    wire::Round {
        round_uuid: round_uuid(opening_id),
        game: facts.game.to_string(),
        rules_version: facts.rules_version.to_string(),
        campaign_id: facts.campaign.as_deref().unwrap_or_default().to_owned(),
        opening_transaction_id: opening_id.to_owned(),
        bet_total: Some(money(asked.amount, asked.currency)),
        win_total: Some(money(Minor::ZERO, asked.currency)),
        ..wire::Round::default()
    }
}

fn context(names: Names<'_>, caused: &Logged, (id, session): (&str, &str), currency: Currency) -> wire::Context {
    let (partition, position, ms) = (caused.commit.partition, caused.commit.position, caused.commit.time_ms);
    wire::Context {
        transaction_uuid: uuid(id),
        partition,
        position,
        attempt: 0,
        create_time: Some(Timestamp {
            seconds: ms.div_euclid(1_000),
            nanos: i32::try_from(ms.rem_euclid(1_000) * 1_000_000).unwrap_or_default(),
        }),
        provider: names.provider.to_owned(),
        brand: names.brand.to_owned(),
        operator_session: session.to_owned(),
        currency_digits: currency.digits(),
    }
}

fn account(stream: &StreamId, currency: Currency) -> Account {
    let (operator_id, player_id) = match stream {
        StreamId::Player { operator, player } => (operator.to_string(), player.to_string()),
        _ => Default::default(),
    };
    Account { operator_id, player_id, currency_code: currency.code().to_owned() }
}
