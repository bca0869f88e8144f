use crate::{
    debited::ConfirmedDebit,
    free_rounds, session_id,
    stake::{find_game, invalid_stake},
};
use motherlode_ledger::{
    Ledgers,
    fields::{self, AccountId, RoundId},
    fingerprint,
};
use motherlode_proto::{
    convert::play::choice_from_wire,
    round::v1::{Stake, Witch},
    spin::v1::{ChooseRequest, SpinRequest, play_stream_request::Call as Asked},
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_slots::{self as slots, Choice, Game, Ladders};
use motherlode_state::{Books, CoinValue, Seal, SessionId, SmolStr, StreamId, draw::CLIENT_SEED_MAX};
use std::sync::Arc;

pub(crate) enum Play {
    Bet(Bet),
    Move(Move),
}

#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) stream: &'a StreamId,
    pub(crate) request_id: &'a SmolStr,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) drawn: &'a DrawnFor,
    pub(crate) series: Option<&'a SmolStr>,
}

#[derive(Clone)]
pub(crate) struct Bet {
    pub(crate) request_id: SmolStr,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) account: AccountId,
    pub(crate) game: &'static dyn Game,
    pub(crate) coin_value: CoinValue,
    pub(crate) stake: slots::Stake,
    pub(crate) coins: u32,
    pub(crate) companion: Option<i64>,
    pub(crate) double: bool,
    pub(crate) session: Option<SessionId>,
    pub(crate) operator_session: SmolStr,
    pub(crate) drawn: DrawnFor,
    pub(crate) campaign: Option<SmolStr>,
    pub(crate) series: Option<SmolStr>,
    pub(crate) ladders: Arc<Ladders>,
    pub(crate) debited: Option<ConfirmedDebit>,
}

enum Staked<'a> {
    Own(CoinValue, &'a Stake),
    Granted(SmolStr),
}

pub(crate) struct Move {
    pub(crate) request_id: SmolStr,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) round: RoundId,
    pub(crate) choice: Choice,
    pub(crate) session: Option<SessionId>,
    pub(crate) drawn: DrawnFor,
    pub(crate) series: Option<SmolStr>,
}

#[derive(Clone, Default)]
pub(crate) struct DrawnFor {
    pub(crate) client_seed: Vec<u8>,
    pub(crate) sealed: Option<Seal>,
}

impl DrawnFor {
    pub(crate) fn parse(client_seed: &[u8], seal: &[u8]) -> Result<Self, Refusal> {
        if client_seed.len() > CLIENT_SEED_MAX {
            return Err(Refusal::field("client_seed", format!("must be at most {CLIENT_SEED_MAX} bytes")));
        }
        let sealed = match seal {
            [] => None,
            seal => Some(
                seal.try_into()
                    .map_err(|_| Refusal::field("seal", "must be a 32-byte seal from an earlier response"))?,
            ),
        };
        Ok(Self { client_seed: client_seed.to_vec(), sealed })
    }
}

impl Play {
    pub(crate) fn parse(
        caller: &Caller,
        ledgers: &Ledgers,
        ladders: &Arc<Ladders>,
        asked: &Asked,
    ) -> Result<Self, Refusal> {
        match asked {
            Asked::Spin(spin) => Bet::parse(caller, ledgers, ladders, spin).map(Self::Bet),
            Asked::Choose(choose) => Move::parse(caller, choose).map(Self::Move),
        }
    }

    pub(crate) fn named(&self) -> Named<'_> {
        match self {
            Self::Bet(Bet { account, request_id, fingerprint, drawn, series, .. }) => {
                let series = series.as_ref();
                Named { stream: &account.stream, request_id, fingerprint: *fingerprint, drawn, series }
            }
            Self::Move(Move { round, request_id, fingerprint, drawn, series, .. }) => {
                let series = series.as_ref();
                Named { stream: &round.stream, request_id, fingerprint: *fingerprint, drawn, series }
            }
        }
    }
}

impl Bet {
    pub(crate) fn parse(
        caller: &Caller,
        ledgers: &Ledgers,
        ladders: &Arc<Ladders>,
        request: &SpinRequest,
    ) -> Result<Self, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?.into();
        let account = fields::account(caller, request.account.as_ref())?;
        let campaign = match request.campaign_id.as_str() {
            "" => None,
            id => Some(fields::id("campaign_id", id)?.into()),
        };
        let staked = match (&request.stake, campaign) {
            (Some(_), Some(_)) => {
                return Err(Refusal::field("stake", "must be empty in a free round, which uses the campaign's stake"));
            }
            (None, None) => return Err(Refusal::field("stake", "is required")),
            (None, Some(campaign)) => Staked::Granted(campaign),
            (Some(stake), None) => Staked::Own(fields::coin_value("stake.coin_value", &stake.coin_value)?, stake),
        };
        let companion = match Witch::try_from(request.witch) {
            Ok(Witch::Unspecified) => None,
            Ok(witch) => Some(i64::from(i32::from(witch))),
            Err(_) => return Err(Refusal::field("witch", "must be a value of the enum Witch")),
        };
        let session = session_id::optional(&request.session_id)?;
        let game = find_game(&request.game, &request.rules_version)?;
        if companion.is_some() && game.info().companions.is_empty() {
            return Err(Refusal::field("witch", "must be empty, because the game has no witches"));
        }
        if request.offer_double && game.info().doubles_max == 0 {
            return Err(Refusal::field("offer_double", "must be false, because the game has no gamble"));
        }
        let (coin_value, stake, campaign) = match staked {
            Staked::Own(coin_value, stake) => (coin_value, stake_of(coin_value, stake), None),
            Staked::Granted(id) => {
                let ledger = ledgers.for_stream(&account.stream)?;
                let stake_of = |books: &Books| free_rounds::stake_of(books, &id, &account, game);
                let (coin_value, stake) = ledger.books_of(&account.stream, stake_of)??;
                (coin_value, stake, Some(id))
            }
        };
        let coins =
            game.check_stake(&stake).map_err(|refused| invalid_stake(game, ladders, account.currency, &refused))?;
        let drawn = DrawnFor::parse(&request.client_seed, &request.seal)?;
        let operator_session = session_id::of_operator(&request.operator_session)?;
        let fingerprint = match (session, drawn.sealed, operator_session.as_str()) {
            (None, None, "") => fingerprint("spin", request),
            _ => {
                let named = SpinRequest {
                    session_id: String::new(),
                    operator_session: String::new(),
                    seal: vec![],
                    ..request.clone()
                };
                fingerprint("spin", &named)
            }
        };
        Ok(Self {
            request_id,
            fingerprint,
            account,
            game,
            coin_value,
            stake,
            coins,
            companion,
            double: request.offer_double,
            session,
            operator_session,
            drawn,
            campaign,
            series: None,
            ladders: Arc::clone(ladders),
            debited: None,
        })
    }
}

impl Move {
    pub(crate) fn parse(caller: &Caller, request: &ChooseRequest) -> Result<Self, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?.into();
        let round = fields::round_id(caller, &request.round_id)?;
        let choice = request.choice.as_ref().ok_or_else(|| Refusal::field("choice", "is required"))?;
        let choice = choice_from_wire(choice).map_err(|malformed| Refusal::field("choice", malformed.to_string()))?;
        let session = session_id::optional(&request.session_id)?;
        let drawn = DrawnFor::parse(&request.client_seed, &request.seal)?;
        let fingerprint = match (session, drawn.sealed) {
            (None, None) => fingerprint("choose", request),
            _ => {
                let named = ChooseRequest { session_id: String::new(), seal: vec![], ..request.clone() };
                fingerprint("choose", &named)
            }
        };
        Ok(Self { request_id, fingerprint, round, choice, session, drawn, series: None })
    }
}

fn stake_of(coin_value: CoinValue, stake: &Stake) -> slots::Stake {
    slots::Stake {
        coin_value_micros: coin_value.0,
        lines: stake.lines,
        coins_per_line: stake.coins_per_line,
        buy_feature: stake.buy_feature,
    }
}
