//! Decodes bets. Nearly all bets are in the plain form (see `plain`), which is decoded three times as fast as other forms.

use super::{plain::In, values::Value};
use crate::{
    round::v1::{Account, Stake},
    spin::v1::{PlayStreamRequest, SpinRequest, play_stream_request::Call},
};
use prost::{DecodeError, Message};

pub fn read_spin(bytes: &[u8]) -> Result<SpinRequest, DecodeError> {
    spin(In::new(bytes)).map_or_else(|| SpinRequest::decode(bytes), Ok)
}

pub fn read_call(bytes: &[u8]) -> Result<PlayStreamRequest, DecodeError> {
    call(In::new(bytes)).map_or_else(|| PlayStreamRequest::decode(bytes), Ok)
}

fn call(mut fields: In) -> Option<PlayStreamRequest> {
    let (tag, spin) = (fields.varint(1)?, spin(fields.nested(2)??)?);
    fields.end()?;
    Some(PlayStreamRequest { tag, call: Some(Call::Spin(spin)) })
}

fn spin(mut fields: In) -> Option<SpinRequest> {
    let it = &mut fields;
    let request = SpinRequest {
        request_id: Value::take(it, 1)?,
        account: part(it, 2, account)?,
        game: Value::take(it, 3)?,
        rules_version: Value::take(it, 4)?,
        stake: part(it, 5, stake)?,
        witch: it.varint(6)?.try_into().ok()?,
        offer_double: Value::take(it, 7)?,
        session_id: Value::take(it, 8)?,
        campaign_id: Value::take(it, 9)?,
        client_seed: Value::take(it, 10)?,
        seal: Value::take(it, 11)?,
        operator_session: Value::take(it, 12)?,
    };
    fields.end()?;
    Some(request)
}

fn account(it: &mut In) -> Option<Account> {
    Some(Account {
        operator_id: Value::take(it, 1)?,
        player_id: Value::take(it, 2)?,
        currency_code: Value::take(it, 3)?,
    })
}

fn stake(it: &mut In) -> Option<Stake> {
    Some(Stake {
        coin_value: Value::take(it, 1)?,
        lines: Value::take(it, 2)?,
        coins_per_line: Value::take(it, 3)?,
        buy_feature: Value::take(it, 4)?,
    })
}

fn part<T>(fields: &mut In, number: u8, read: fn(&mut In) -> Option<T>) -> Option<Option<T>> {
    let Some(mut part) = fields.nested(number)? else { return Some(None) };
    let read = read(&mut part)?;
    part.end()?;
    Some(Some(read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bet() -> SpinRequest {
        let (operator_id, player_id, currency_code) = ("acme".into(), "alice".into(), "EUR".into());
        SpinRequest {
            request_id: "r-1".into(),
            account: Some(Account { operator_id, player_id, currency_code }),
            game: "bewitched".into(),
            rules_version: "1.0".into(),
            stake: Some(Stake { coin_value: "0.10".into(), lines: 15, coins_per_line: 1, buy_feature: true }),
            witch: 2,
            offer_double: true,
            session_id: "s".into(),
            campaign_id: "spring".into(),
            client_seed: vec![7; 64],
            seal: vec![8; 32],
            operator_session: "op-7".into(),
        }
    }

    #[test]
    fn a_bet_in_the_plain_form_is_read_as_one() {
        for bet in [bet(), SpinRequest::default(), SpinRequest { account: Some(Account::default()), ..bet() }] {
            let call = PlayStreamRequest { tag: 9, call: Some(Call::Spin(bet.clone())) };
            assert_eq!(spin(In::new(&bet.encode_to_vec())), Some(bet));
            assert_eq!(super::call(In::new(&call.encode_to_vec())), Some(call));
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_message_says(at in 0_usize..200, change in prop::option::of(any::<u8>()), twice in any::<bool>()) {
            let mut bytes = PlayStreamRequest { tag: 300, call: Some(Call::Spin(bet())) }.encode_to_vec();
            let at = at % bytes.len();
            match (change, twice) {
                (Some(byte), true) => bytes.insert(at, byte),
                (Some(byte), false) => bytes[at] = byte,
                (None, true) => bytes.extend_from_within(at..),
                (None, false) => _ = bytes.remove(at),
            }
            prop_assert_eq!(read_call(&bytes).ok(), PlayStreamRequest::decode(&*bytes).ok());
            prop_assert_eq!(read_spin(&bytes[6..]).ok(), SpinRequest::decode(&bytes[6..]).ok());
        }
    }
}
