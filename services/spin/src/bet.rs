//! Requests to play, checked at the edge: what can be refused without looking at any state that changes.

use crate::{campaign, session};
use motherlode_books::{CoinValue, Currency, Minor, SessionId};
use motherlode_ledger::{
    Ledgers,
    fields::{self, AccountId, RoundId},
    fingerprint, offer,
};
use motherlode_proto::{
    convert::{collection::has_witches, play::choice_from_wire, terms::minor_micros},
    round::v1::{Stake, Witch},
    spin::v1::{ChooseRequest, SpinRequest},
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_slots::{self as slots, Choice, Game, Ladders};
use std::sync::Arc;
use tonic::Code;

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
    /// The campaign that it's a free round of.
    pub(crate) campaign: Option<String>,
    /// What is offered.
    pub(crate) ladders: Arc<Ladders>,
}

/// Whose stake a request plays.
enum Staked<'a> {
    /// The player's.
    Own(CoinValue, &'a Stake),
    /// A campaign's.
    Granted(String),
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
    /// A bet that can be taken, as far as it's said in the request; a campaign's stake comes from the ledger.
    pub(crate) fn parse(
        caller: &Caller,
        ledgers: &Ledgers,
        ladders: &Arc<Ladders>,
        request: &SpinRequest,
    ) -> Result<Self, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?.to_owned();
        let account = fields::account(caller, request.account.as_ref())?;
        let campaign = match request.campaign_id.as_str() {
            "" => None,
            id => Some(fields::id("campaign_id", id)?.to_owned()),
        };
        let staked = match (&request.stake, campaign) {
            (Some(_), Some(_)) => return Err(Refusal::field("stake", "is the campaign's: don't set it")),
            (None, None) => return Err(Refusal::field("stake", "is required")),
            (None, Some(campaign)) => Staked::Granted(campaign),
            (Some(stake), None) => Staked::Own(fields::coin_value("stake.coin_value", &stake.coin_value)?, stake),
        };
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
        let (coin_value, stake, campaign) = match staked {
            Staked::Own(coin_value, stake) => (coin_value, stake_of(coin_value, stake), None),
            Staked::Granted(id) => {
                let ledger = ledgers.of(&account.stream);
                let (coin_value, stake) = ledger.books(|books| campaign::stake_of(books, &id, &account, game))?;
                (coin_value, stake, Some(id))
            }
        };
        let coins =
            game.check_stake(&stake).map_err(|refused| invalid_stake(game, ladders, account.currency, &refused))?;
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
            campaign,
            ladders: Arc::clone(ladders),
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

fn stake_of(coin_value: CoinValue, stake: &Stake) -> slots::Stake {
    slots::Stake {
        coin_value_micros: coin_value.0,
        lines: stake.lines,
        coins_per_line: stake.coins_per_line,
        buy_feature: stake.buy_feature,
    }
}

/// The game of a name and a version; the newest version where none is named.
pub(crate) fn find_game(name: &str, rules_version: &str) -> Result<&'static dyn Game, Refusal> {
    fields::optional_id("game", name)?;
    fields::optional_id("rules_version", rules_version)?;
    let found = if rules_version.is_empty() { slots::latest(name) } else { slots::game(name, rules_version) };
    found.ok_or_else(|| {
        Refusal::not_found("GAME_UNKNOWN", "no such game or version of its rules")
            .with("game", name)
            .with("rules_version", rules_version)
    })
}

/// A stake that the game does not offer in the currency, with what it does offer.
pub(crate) fn invalid_stake(
    game: &dyn Game,
    ladders: &Ladders,
    currency: Currency,
    refused: &dyn std::fmt::Display,
) -> Refusal {
    let limits = &game.info().limits;
    let offered = ladders.of(game, currency.code()).map_or_else(Vec::new, |ladder| ladder.coins_micros);
    let coin_values: Vec<_> = offered.into_iter().map(|micros| CoinValue(micros).to_string()).collect();
    Refusal::new(Code::InvalidArgument, "INVALID_STAKE", refused.to_string())
        .with("currency_code", currency)
        .with("coin_values", coin_values.join(" "))
        .with("lines_min", limits.lines.0)
        .with("lines_max", limits.lines.1)
        .with("coins_per_line_min", limits.coins_per_line.0)
        .with("coins_per_line_max", limits.coins_per_line.1)
}

/// Whether the game takes bets in the currency at the coin value (DM-19, PL-35). A campaign's coin value was looked at when
/// it was granted.
pub(crate) fn offered(
    game: &dyn Game,
    ladders: &Ladders,
    currency: Currency,
    coin: CoinValue,
    granted: bool,
) -> Result<(), Refusal> {
    if !ladders.enabled(currency.code()) {
        return Err(offer::not_offered(ladders, currency));
    }
    if granted || ladders.offers(game, currency.code(), coin.0) {
        return Ok(());
    }
    Err(invalid_stake(game, ladders, currency, &format_args!("a coin of {coin} {currency} is not offered")))
}

/// The bet in cash; it must be whole minor units, since no bet is rounded.
pub(crate) fn whole_bet(currency: Currency, coin: CoinValue, coins: u32) -> Result<Minor, Refusal> {
    bet_in(currency, coin, coins).ok_or_else(|| {
        let message = format!("a bet of {coins} coins of {coin} is no whole number of minor units of {currency}");
        Refusal::new(Code::InvalidArgument, "INVALID_STAKE", message).with("currency_code", currency)
    })
}

/// So many coins in cash, where they are whole minor units (DM-19).
pub(crate) fn bet_in(currency: Currency, coin: CoinValue, coins: u32) -> Option<Minor> {
    let micros_per_minor = minor_micros(currency);
    let micros = coin.0.checked_mul(coins.into())?;
    let whole = micros.is_multiple_of(micros_per_minor).then_some(micros / micros_per_minor)?;
    i64::try_from(whole).ok().map(Minor)
}
