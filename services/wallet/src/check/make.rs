use super::kit::Kit;
use crate::{
    call::Call,
    ids::{round_uuid, uuid},
};
use motherlode_proto::{
    round::v1::{Account, Money},
    wallet::v1 as wire,
};
use motherlode_state::Currency;
use prost_types::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

impl Kit {
    pub(super) fn account(&self) -> Account {
        self.account_of(&self.players.player)
    }

    fn opened(&self, id: &str, account: &Account, bet: i64) -> wire::Round {
        wire::Round {
            round_uuid: round_uuid(id),
            game: self.players.game.clone(),
            rules_version: "1.0".to_owned(),
            opening_transaction_id: id.to_owned(),
            bet_total: Some(money(account, bet)),
            win_total: Some(money(account, 0)),
            ..wire::Round::default()
        }
    }

    pub(super) fn account_of(&self, player: &str) -> Account {
        let (operator_id, currency_code) = (self.players.operator.clone(), self.players.currency.clone());
        Account { operator_id, player_id: player.to_owned(), currency_code }
    }

    fn next(&mut self) -> String {
        self.serial += 1;
        format!("check-{}-{}", self.run, self.serial)
    }

    fn context(&self, id: &str, currency: &str) -> Option<wire::Context> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
        Some(wire::Context {
            transaction_uuid: uuid(id),
            partition: 0,
            position: self.serial,
            attempt: 0,
            create_time: Some(Timestamp { seconds, nanos: 0 }),
            provider: self.settings.provider.clone().unwrap_or_else(|| "motherlode".to_owned()),
            brand: self.settings.brand.clone().unwrap_or_else(|| self.players.operator.clone()),
            operator_session: self.players.session.clone(),
            currency_digits: currency.parse().map_or(2, Currency::digits),
        })
    }

    pub(super) fn debit(&mut self, amount: i64) -> Call {
        let account = self.account();
        self.debit_of(account, amount)
    }

    pub(super) fn debit_of(&mut self, account: Account, amount: i64) -> Call {
        let request_id = self.next();
        let id = format!("debit/{}/{}/{request_id}", account.operator_id, account.player_id);
        Call::Debit(Box::new(wire::DebitRequest {
            context: self.context(&id, &account.currency_code),
            round: Some(self.opened(&id, &account, amount)),
            amount: Some(money(&account, amount)),
            request_id,
            kind: wire::DebitKind::Bet.into(),
            transaction_id: id,
            account: Some(account),
        }))
    }

    pub(super) fn open_free(&mut self) -> Call {
        let account = self.account();
        self.open_free_of(account)
    }

    pub(super) fn open_free_of(&mut self, account: Account) -> Call {
        let request_id = self.next();
        let id = format!("open/{}/{}/{request_id}", account.operator_id, account.player_id);
        let round = wire::Round { campaign_id: "check".to_owned(), ..self.opened(&id, &account, 0) };
        Call::Open(Box::new(wire::OpenFreeRoundRequest {
            context: self.context(&id, &account.currency_code),
            round: Some(round),
            stake: Some(money(&account, 10)),
            request_id,
            transaction_id: id,
            account: Some(account),
        }))
    }

    pub(super) fn credit(&mut self, opening: &Call, amount: i64, kind: wire::CreditKind, closes: bool) -> Call {
        let (account, request_id) = (account_in(opening), self.next());
        let currency = &account.currency_code;
        let id = format!("credit/{}/{}/{currency}/{request_id}", account.operator_id, account.player_id);
        let jackpot = (kind == wire::CreditKind::Jackpot)
            .then(|| wire::Jackpot { pool_id: "check".to_owned(), award_id: format!("check/0/{}", self.serial) });
        Call::Credit(Box::new(wire::CreditRequest {
            context: self.context(&id, currency),
            round: Some(later(opening, closes, kind == wire::CreditKind::Refund)),
            amount: Some(money(&account, amount)),
            request_id,
            position: self.serial,
            kind: kind.into(),
            jackpot,
            transaction_id: id,
            account: Some(account),
        }))
    }

    pub(super) fn reversal(&mut self, opening: &Call, amount: i64) -> Call {
        let (account, request_id) = (account_in(opening), self.next());
        let currency = &account.currency_code;
        let id = format!("reversal/{}/{}/{currency}/{request_id}", account.operator_id, account.player_id);
        Call::Debit(Box::new(wire::DebitRequest {
            context: self.context(&id, currency),
            round: Some(later(opening, true, true)),
            amount: Some(money(&account, amount)),
            request_id,
            kind: wire::DebitKind::Reversal.into(),
            transaction_id: id,
            account: Some(account),
        }))
    }

    pub(super) fn close(&mut self, opening: &Call) -> Call {
        let (account, request_id) = (account_in(opening), self.next());
        let id = format!("close/{}/{}/{}/{request_id}", account.operator_id, account.player_id, self.serial);
        Call::Close(Box::new(wire::CloseRoundRequest {
            context: self.context(&id, &account.currency_code),
            round: Some(later(opening, true, false)),
            transaction_id: id,
            account: Some(account),
        }))
    }

    /// The rollback's id is derived from the opening call, so a repeated rollback has the same id.
    pub(super) fn rollback(&mut self, opening: &Call) -> Call {
        let account = account_in(opening);
        let request_id = opening.id().rsplit('/').next().unwrap_or_default();
        let id = format!("rollback/{}/{}/{request_id}", account.operator_id, account.player_id);
        let amount = match opening {
            Call::Debit(request) => request.amount.clone(),
            _ => Some(money(&account, 0)),
        };
        Call::Rollback(Box::new(wire::RollbackRequest {
            context: self.context(&id, &account.currency_code),
            round: round_in(opening),
            amount,
            rolled_back_uuid: uuid(opening.id()),
            reason: wire::RollbackReason::Timeout.into(),
            transaction_id: opening.id().to_owned(),
            rollback_id: id,
            account: Some(account),
        }))
    }
}

fn money(account: &Account, amount_minor: i64) -> Money {
    Money { amount_minor, currency_code: account.currency_code.clone() }
}

fn later(opening: &Call, closes: bool, is_void: bool) -> wire::Round {
    let account = account_in(opening);
    let number = opening.id().rsplit('-').next().unwrap_or_default();
    let end = match (closes, is_void) {
        (false, _) => wire::RoundEnd::Unspecified,
        (true, false) => wire::RoundEnd::Played,
        (true, true) => wire::RoundEnd::Voided,
    };
    let round = round_in(opening).unwrap_or_default();
    let round_id = format!("{}/{}/{number}", account.operator_id, account.player_id);
    wire::Round { round_id, step: 1, closed: closes, end: end.into(), ..round }
}

fn round_in(call: &Call) -> Option<wire::Round> {
    match call {
        Call::Debit(request) => request.round.clone(),
        Call::Open(request) => request.round.clone(),
        _ => None,
    }
}

pub(super) fn account_in(call: &Call) -> Account {
    let account = match call {
        Call::Debit(request) => &request.account,
        Call::Open(request) => &request.account,
        Call::Credit(request) => &request.account,
        Call::Rollback(request) => &request.account,
        Call::Close(request) => &request.account,
    };
    account.clone().unwrap_or_default()
}

pub(super) fn changed(call: &Call, change: impl FnOnce(&mut wire::DebitRequest)) -> Call {
    let mut call = call.clone();
    if let Call::Debit(request) = &mut call {
        change(request);
    }
    call
}

pub(super) fn in_session(call: &Call, session: &str) -> Call {
    let mut call = call.clone();
    let context = match &mut call {
        Call::Debit(request) => &mut request.context,
        Call::Open(request) => &mut request.context,
        Call::Credit(request) => &mut request.context,
        Call::Rollback(request) => &mut request.context,
        Call::Close(request) => &mut request.context,
    };
    context.iter_mut().for_each(|context| session.clone_into(&mut context.operator_session));
    call
}
