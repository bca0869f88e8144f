//! Requests to play, checked at the edge: what can be refused without looking at any state.

use crate::session;
use motherlode_books::{CoinValue, SessionId};
use motherlode_ledger::{
    fields::{self, AccountId, RoundId},
    fingerprint,
};
use motherlode_proto::{
    convert::{collection::has_witches, play::choice_from_wire},
    round::v1::Witch,
    spin::v1::{ChooseRequest, SpinRequest},
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_slots::{self as slots, Choice, Game};

/// A checked [`SpinRequest`].
pub(crate) struct Bet {
    pub(crate) request_id: String,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) account: AccountId,
    pub(crate) game: &'static dyn Game,
    pub(crate) coin_value: CoinValue,
    pub(crate) stake: slots::Stake,
    /// Coins staked in all.
    pub(crate) coins: u32,
    pub(crate) witch: Option<i64>,
    pub(crate) double: bool,
    pub(crate) session: Option<SessionId>,
}

/// A checked [`ChooseRequest`].
pub(crate) struct Move {
    pub(crate) request_id: String,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) round: RoundId,
    pub(crate) choice: Choice,
    pub(crate) session: Option<SessionId>,
}

impl Bet {
    pub(crate) fn parse(caller: &Caller, request: &SpinRequest) -> Result<Self, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?.to_owned();
        let account = fields::account(caller, request.account.as_ref())?;
        let stake = request.stake.as_ref().ok_or_else(|| Refusal::field("stake", "is required"))?;
        let coin_value = fields::coin_value("stake.coin_value", &stake.coin_value)?;
        let witch = match Witch::try_from(request.witch) {
            Ok(Witch::Unspecified) => None,
            Ok(witch) => Some(i64::from(i32::from(witch))),
            Err(_) => return Err(Refusal::field("witch", "is not one of the witches")),
        };
        let session = session::optional(&request.session_id)?;
        let game = find_game(&request.game, &request.rules_version)?;
        if witch.is_some() && !has_witches(game) {
            return Err(Refusal::field("witch", "the game has no witches"));
        }
        if request.offer_double && game.info().doubles_max == 0 {
            return Err(Refusal::field("offer_double", "the game has no gamble"));
        }
        let stake = slots::Stake {
            coin_value_micros: coin_value.0,
            lines: stake.lines,
            coins_per_line: stake.coins_per_line,
            buy_feature: stake.buy_feature,
        };
        let coins = game.check_stake(&stake).map_err(|refused| invalid_stake(game, &refused))?;
        // The same bet may be asked for again in another session.
        let fingerprint = match session {
            None => fingerprint("spin", request),
            Some(_) => fingerprint("spin", &SpinRequest { session_id: String::new(), ..request.clone() }),
        };
        Ok(Self {
            request_id,
            fingerprint,
            account,
            game,
            coin_value,
            stake,
            coins,
            witch,
            double: request.offer_double,
            session,
        })
    }
}

impl Move {
    pub(crate) fn parse(caller: &Caller, request: &ChooseRequest) -> Result<Self, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?.to_owned();
        let round = fields::round_id(caller, &request.round_id)?;
        let choice = request.choice.as_ref().ok_or_else(|| Refusal::field("choice", "is required"))?;
        let choice = choice_from_wire(choice).map_err(|malformed| Refusal::field("choice", malformed.to_string()))?;
        let session = session::optional(&request.session_id)?;
        let fingerprint = match session {
            None => fingerprint("choose", request),
            Some(_) => fingerprint("choose", &ChooseRequest { session_id: String::new(), ..request.clone() }),
        };
        Ok(Self { request_id, fingerprint, round, choice, session })
    }
}

/// The game of a name and a version; the newest version where none is named.
pub(crate) fn find_game(name: &str, rules_version: &str) -> Result<&'static dyn Game, Refusal> {
    let found = if rules_version.is_empty() { slots::latest(name) } else { slots::game(name, rules_version) };
    found.ok_or_else(|| {
        Refusal::not_found("GAME_UNKNOWN", "no such game or version of its rules")
            .with("game", name)
            .with("rules_version", rules_version)
    })
}

/// A stake that the game does not offer, with what it does offer.
fn invalid_stake(game: &dyn Game, refused: &slots::StakeRefused) -> Refusal {
    let limits = &game.info().limits;
    let coin_values: Vec<_> = limits.coin_values_micros.iter().map(|micros| CoinValue(*micros).to_string()).collect();
    Refusal::new(tonic::Code::InvalidArgument, "INVALID_STAKE", refused.to_string())
        .with("coin_values", coin_values.join(" "))
        .with("lines_min", limits.lines.0)
        .with("lines_max", limits.lines.1)
        .with("coins_per_line_min", limits.coins_per_line.0)
        .with("coins_per_line_max", limits.coins_per_line.1)
}
