use motherlode_proto::round::v1::Account;
use motherlode_runtime::{
    Caller, Operators, Reason, Refusal,
    field_bounds::{PAGE_TOKEN_MAX, REASON_MAX, REFERENCE_MAX},
};
use motherlode_state::{CampaignOver, CoinValue, Currency, Event, Minor, Nano, StreamId, is_name, is_text, number};

pub use motherlode_rounds::{
    round_name,
    wire::{account_of, money, timestamp},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountId {
    pub stream: StreamId,
    pub currency: Currency,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundId {
    pub stream: StreamId,
    pub number: u64,
}

pub(crate) const NOT_OPAQUE: &str = "the id of a new player must be a UUID, a ULID, or 32 to 64 hexadecimal digits, because the operator uses opaque ids";

const NAME: &str = "must be 1 to 64 characters of [A-Za-z0-9._~-], not only dots";

pub fn id<'a>(field: &str, value: &'a str) -> Result<&'a str, Refusal> {
    if is_name(value) { Ok(value) } else { Err(Refusal::field(field, NAME)) }
}

pub fn optional_id<'a>(field: &str, value: &'a str) -> Result<&'a str, Refusal> {
    if value.is_empty() { Ok(value) } else { id(field, value) }
}

pub fn time_ms(field: &str, time: Option<&prost_types::Timestamp>) -> Result<i64, Refusal> {
    const LAST_S: i64 = 253_402_300_799;
    let time = time.ok_or_else(|| Refusal::field(field, "is required"))?;
    let is_time = (0..=LAST_S).contains(&time.seconds) && (0..1_000_000_000).contains(&time.nanos);
    match is_time {
        true => Ok(time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000),
        false => Err(Refusal::field(field, "must be a time in the years 1970 to 9999")),
    }
}

pub fn page_token(token: &str) -> Result<Vec<u64>, Refusal> {
    match token {
        "" => Ok(vec![]),
        token if token.len() > PAGE_TOKEN_MAX => Err(page_token_unknown()),
        token => token.split('.').map(number).collect::<Option<_>>().ok_or_else(page_token_unknown),
    }
}

pub fn page_number(token: &str) -> Result<Option<u64>, Refusal> {
    match page_token(token)?[..] {
        [] => Ok(None),
        [number] => Ok(Some(number)),
        _ => Err(page_token_unknown()),
    }
}

#[must_use]
pub fn page_token_unknown() -> Refusal {
    Refusal::field("page_token", "is not a token issued by this service")
}

pub fn text<'a>(field: &str, value: &'a str, characters_max: usize) -> Result<&'a str, Refusal> {
    if is_text(value, characters_max) {
        Ok(value)
    } else {
        Err(Refusal::field(
            field,
            format!("must be 1 to {characters_max} visible characters, and must not contain control characters"),
        ))
    }
}

pub fn currency(field: &str, code: &str) -> Result<Currency, Refusal> {
    code.parse()
        .map_err(|_| Refusal::field(field, "must be an ISO 4217 currency code, such as EUR, or XTS for play money"))
}

/// Another operator's account is refused with ACCOUNT_UNKNOWN before any lookup (PL-27).
pub fn account(caller: &Caller, account: Option<&Account>) -> Result<AccountId, Refusal> {
    account_if(account, |operator| caller.owns(operator))
}

pub(crate) fn seen_account(caller: &Caller, account: Option<&Account>) -> Result<AccountId, Refusal> {
    account_if(account, |operator| caller.sees(operator))
}

fn account_if(account: Option<&Account>, is_allowed: impl Fn(&str) -> bool) -> Result<AccountId, Refusal> {
    let account = account.ok_or_else(|| Refusal::field("account", "is required"))?;
    let operator = id("account.operator_id", &account.operator_id)?;
    let player = id("account.player_id", &account.player_id)?;
    let currency = currency("account.currency_code", &account.currency_code)?;
    if !is_allowed(operator) {
        return Err(unknown_account());
    }
    Ok(AccountId { stream: StreamId::player(operator, player), currency })
}

pub fn real_account(caller: &Caller, named: Option<&Account>) -> Result<AccountId, Refusal> {
    let account = account(caller, named)?;
    if account.currency.is_real() {
        Ok(account)
    } else {
        Err(Refusal::field(
            "account.currency_code",
            "must not be play money (XTS), because only demo sessions use play money",
        ))
    }
}

/// Another operator's round is refused with ROUND_UNKNOWN before any lookup (PL-27).
pub fn round_id(caller: &Caller, value: &str) -> Result<RoundId, Refusal> {
    let mut parts = value.split('/');
    let parsed = (|| {
        let (operator, player, digits) = (parts.next()?, parts.next()?, parts.next()?);
        let number = number::<u64>(digits).filter(|number| *number > 0 && parts.next().is_none())?;
        (is_name(operator) && is_name(player)).then_some((operator, player, number))
    })();
    let (operator, player, number) =
        parsed.ok_or_else(|| Refusal::field("round_id", "must be operator/player/number"))?;
    if !caller.owns(operator) {
        return Err(unknown_round(value));
    }
    Ok(RoundId { stream: StreamId::player(operator, player), number })
}

#[must_use]
pub fn unknown_account() -> Refusal {
    Refusal::new(Reason::AccountUnknown, "there is no such account")
}

#[must_use]
pub fn unknown_player(operators: &Operators, stream: &StreamId) -> Refusal {
    if operators.allows_new(stream) { unknown_account() } else { not_opaque() }
}

pub(crate) fn not_opaque() -> Refusal {
    Refusal::new(Reason::PlayerIdNotOpaque, NOT_OPAQUE).with("field", "account.player_id")
}

#[must_use]
pub fn unknown_round(round_id: &str) -> Refusal {
    Refusal::new(Reason::RoundUnknown, "there is no such round").with("round_id", round_id)
}

#[must_use]
pub fn unknown_campaign(id: &str) -> Refusal {
    Refusal::new(Reason::CampaignUnknown, "the player has no such campaign").with("campaign_id", id)
}

#[must_use]
pub fn campaign_over(id: &str, over: CampaignOver) -> Refusal {
    let reason = match over {
        CampaignOver::Cancelled => Reason::CampaignCancelled,
        CampaignOver::UsedUp => Reason::CampaignUsedUp,
        CampaignOver::Expired => Reason::CampaignExpired,
    };
    Refusal::new(reason, format!("the campaign is {over}")).with("campaign_id", id)
}

pub fn amount(field: &str, minor: i64, currency: Currency) -> Result<Minor, Refusal> {
    at_least(field, minor, 1)?;
    within(field, Minor(minor), currency, currency.ceiling().amount)
}

pub fn withdrawal(field: &str, minor: i64, currency: Currency) -> Result<Minor, Refusal> {
    at_least(field, minor, 1)?;
    within(field, Minor(minor), currency, currency.ceiling().balance)
}

pub fn limit(field: &str, minor: Option<i64>, least: i64, currency: Currency) -> Result<Option<Minor>, Refusal> {
    let checked = |minor| {
        at_least(field, minor, least)?;
        within(field, Minor(minor), currency, currency.ceiling().amount)
    };
    minor.map(checked).transpose()
}

fn at_least(field: &str, minor: i64, least: i64) -> Result<(), Refusal> {
    if minor >= least { Ok(()) } else { Err(Refusal::field(field, format!("must be at least {least}"))) }
}

fn within(field: &str, amount: Minor, currency: Currency, limit: Minor) -> Result<Minor, Refusal> {
    if amount <= limit { Ok(amount) } else { Err(above_limit(currency, limit).with("field", field)) }
}

pub(crate) fn above_limit(currency: Currency, limit: Minor) -> Refusal {
    Refusal::new(Reason::AmountAboveLimit, format!("an amount in {currency} must be at most {limit} minor units"))
        .with("limit_minor", limit)
        .with("currency_code", currency)
}

pub fn reason<'a>(field: &str, value: &'a str) -> Result<&'a str, Refusal> {
    text(field, value, REASON_MAX)
}

pub fn reference<'a>(field: &str, value: &'a str) -> Result<&'a str, Refusal> {
    if value.is_empty() { Ok(value) } else { text(field, value, REFERENCE_MAX) }
}

#[must_use]
pub fn acted_by(caller: &Caller, reference: &str) -> Event {
    Event::ActedBy { actor: caller.signature(), reference: reference.to_owned() }
}

pub fn coin_value(field: &str, value: &str) -> Result<CoinValue, Refusal> {
    value.parse().map_err(|_| Refusal::field(field, "must be a decimal with at most 6 places, such as 0.20"))
}

pub fn nano(field: &str, value: &str) -> Result<Nano, Refusal> {
    value.parse().map_err(|_| Refusal::field(field, "must be a decimal with at most 9 places, such as 20000.00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_12_a_malformed_round_name_is_refused() {
        let long = format!("a/b/{}", "1".repeat(60_000));
        for bad in ["", "a/b", "a/b/0", "a/b/-1", "a/b/1/2", "a/b/x", "/b/1", "a//1", "a/b c/1", &long] {
            assert_eq!(round_id(&Caller::ANYONE, bad).unwrap_err().reason(), Reason::InvalidField, "{bad}");
        }
        let good = round_id(&Caller::ANYONE, "acme/alice/17").unwrap();
        assert_eq!(round_name(&good.stream, good.number), "acme/alice/17");
    }

    #[test]
    fn uf_09_a_round_and_a_page_have_one_name() {
        for bad in
            ["a/b/+20", "a/b/00020", "a/b/020", "a/b/20 ", "../b/20", "a/./20", "a/\u{202e}b/20", "a/b\u{200b}/20"]
        {
            assert_eq!(round_id(&Caller::ANYONE, bad).unwrap_err().reason(), Reason::InvalidField, "{bad}");
        }
        assert!(page_token("").unwrap().is_empty());
        assert_eq!(page_token("3.20.1").unwrap(), [3, 20, 1]);
        assert_eq!((page_number("20").unwrap(), page_number("").unwrap()), (Some(20), None));
        for bad in ["+20", "00020", "3.+20", "3.020", ".", "3.", "-1", " 1", &"1.".repeat(40_000)] {
            assert!(page_token(bad).is_err() && page_number(bad).is_err(), "{bad}");
        }
        assert!(page_number("1.2").is_err());
    }

    #[test]
    fn pl_12_texts_for_the_log_are_printable_and_bounded() {
        assert!(text("reason", "reel 3 stuck", 256).is_ok());
        for bad in ["", "a\nb", "a\u{2028}b", "\u{202e}ab", &"x".repeat(257)] {
            assert!(text("reason", bad, 256).is_err());
        }
    }

    #[test]
    fn times_before_1970_have_positive_nanos() {
        assert_eq!(timestamp(-1), prost_types::Timestamp { seconds: -1, nanos: 999_000_000 });
        assert_eq!(timestamp(1_500), prost_types::Timestamp { seconds: 1, nanos: 500_000_000 });
    }
}
