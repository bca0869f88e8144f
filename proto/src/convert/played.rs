//! Encodes the answer to a step (`v1::Played`) directly as bytes. An outcome has the same bytes as in the log.

use super::plain::Out;
use crate::round::v1::{JackpotWin, RoundState};
use motherlode_state::{Currency, Dealt, Minor, Seal};
use prost::Message;

#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    pub round_id: &'a str,
    pub step: u32,
    pub outcome: &'a [u8],
    pub currency: Currency,
    pub bet: Minor,
    pub win: Minor,
    pub balance: Option<Minor>,
    pub state: RoundState,
    pub position: u64,
    pub jackpot: Option<&'a JackpotWin>,
    pub campaign_id: &'a str,
    pub seal: Option<&'a Seal>,
    pub dealt: &'a [Dealt],
}

impl Played<'_> {
    #[must_use]
    pub fn written(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.outcome.len() + 34 * self.dealt.len() + 192);
        let out = &mut Out(&mut bytes);
        out.bytes(1, self.round_id.as_bytes());
        out.varint(2, self.step.into());
        out.encoded(3, self.outcome);
        for (number, amount) in [(4, Some(self.bet)), (5, Some(self.win)), (6, self.balance)] {
            let Some(amount) = amount else { continue };
            out.nested(number, |out| {
                out.varint(1, amount.0.cast_unsigned());
                out.bytes(2, self.currency.code().as_bytes());
            });
        }
        out.varint(7, i64::from(i32::from(self.state)).cast_unsigned());
        out.varint(8, self.position);
        if let Some(jackpot) = self.jackpot {
            out.encoded(9, &jackpot.encode_to_vec());
        }
        out.bytes(10, self.campaign_id.as_bytes());
        out.bytes(11, self.seal.map_or(&[], |seal| seal));
        self.dealt.iter().for_each(|dealt| out.encoded(12, dealt));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        round::v1::{Awaiting, Money, Outcome, jackpot_win::State},
        spin::v1,
    };

    #[test]
    fn what_is_written_is_the_message() {
        let (seal, dealt) = ([7; 32], [[8; 32], [0; 32]]);
        let money = |amount_minor| Some(Money { amount_minor, currency_code: "EUR".into() });
        let jackpot = JackpotWin {
            state: State::Paid.into(),
            pool_id: "bewitched".into(),
            hit_position: 3,
            amount: money(1 << 40),
        };
        let outcome = Outcome { awaiting: Awaiting::Pick.into(), round_win_coins: 1 << 33, ..Outcome::default() };
        for (outcome, jackpot, seal, dealt, campaign_id, bet) in [
            (Outcome::default(), None, None, &[][..], "", 0),
            (outcome, Some(jackpot), Some(&seal), &dealt[..], "spring", 150),
        ] {
            let written = Played {
                round_id: "acme/alice/7",
                step: 2,
                outcome: &outcome.encode_to_vec(),
                currency: Currency::EUR,
                bet: Minor(bet),
                win: Minor(300),
                balance: Some(Minor(-1)),
                state: RoundState::Settled,
                position: 1 << 50,
                jackpot: jackpot.as_ref(),
                campaign_id,
                seal,
                dealt,
            };
            let message = v1::Played {
                round_id: "acme/alice/7".into(),
                step: 2,
                outcome: Some(outcome),
                bet: money(bet),
                win: money(300),
                balance: money(-1),
                state: RoundState::Settled.into(),
                position: 1 << 50,
                jackpot: jackpot.clone(),
                campaign_id: campaign_id.into(),
                seal: seal.map_or_else(Vec::new, |seal| seal.to_vec()),
                dealt: dealt.iter().map(|dealt| dealt.to_vec()).collect(),
            };
            assert_eq!(written.written(), message.encode_to_vec());
        }
    }
}
