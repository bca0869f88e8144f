use motherlode_proto::log::v1;
use motherlode_state::{Currency, Minor};

pub fn to_messages(balances: &[(Currency, Minor)]) -> Vec<v1::Balance> {
    let message = |(currency, amount): &(Currency, Minor)| v1::Balance {
        currency_code: currency.code().to_owned(),
        amount: amount.0,
    };
    balances.iter().map(message).collect()
}

pub fn from_messages(messages: Vec<v1::Balance>) -> Option<Vec<(Currency, Minor)>> {
    let balance = |of: v1::Balance| Some((of.currency_code.parse().ok()?, Minor(of.amount)));
    messages.into_iter().map(balance).collect()
}
