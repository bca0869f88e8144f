//! The cost of a campaign to its operator, in wins: to be expected, by the game's exact return in cash, and at most, by the highest win that its
//! description states (PL-36). Exact rational numbers; the expected figure is rounded for people beside the fraction, the highest up.

use crate::describe;
use motherlode_books::{Campaign, FxRate, Nano};
use motherlode_proto::spin::v1 as wire;
use motherlode_rounds::minor_micros;
use motherlode_runtime::Refusal;
use motherlode_slots::{
    cash_return, latest,
    par::{Exact, decimal, exact},
};
use tonic::Code;

/// Places of the expected figure for people.
const PLACES: usize = 4;

/// The cost of a campaign's rounds for so many players, in minor units.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cost {
    expected: Exact,
    /// Whole.
    highest: Exact,
    highest_says: &'static str,
}

impl Cost {
    /// Of the game that takes new rounds now. It can take a second the first time.
    ///
    /// # Errors
    /// The game states no return or no highest win at this stake.
    pub(crate) fn of(campaign: &Campaign, players: usize) -> Result<Self, Refusal> {
        let unknown = || Refusal::new(Code::Internal, "INTERNAL", "the game states no figures");
        let game = latest(&campaign.game).ok_or_else(unknown)?;
        let (rtp, highest) = describe::figures_of(game).ok_or_else(unknown)?;
        let cash = cash_return(game, campaign.coin_value.0, minor_micros(campaign.currency)).map_err(|_| unknown())?;
        let bet = exact(campaign.bet.0.unsigned_abs());
        let rounds = exact(campaign.rounds) * exact(u64::try_from(players).unwrap_or(u64::MAX));
        Ok(Self {
            expected: (rtp + cash.adds) * &bet * &rounds,
            highest: (&highest.bets * &bet).ceil() * &rounds,
            highest_says: highest.said(),
        })
    }

    /// The highest cost in EUR at a rate, rounded up to the billionth.
    ///
    /// # Errors
    /// CAMPAIGN_TOO_LARGE where that is past 128 bits.
    pub(crate) fn highest_eur(&self, campaign: &Campaign, rate: FxRate) -> Result<Nano, Refusal> {
        let nanos = &self.highest * exact(u64::try_from(campaign.currency.nanos_per_minor()).unwrap_or(u64::MAX));
        let power = exact(10_u64.pow(rate.exponent().unsigned_abs().into()));
        let eur = nanos * exact(rate.mantissa());
        let eur = if rate.exponent() < 0 { eur / power } else { eur * power };
        let eur = i128::try_from(eur.ceil().to_integer()).ok().filter(|eur| *eur < i128::MAX / 1_000_000);
        eur.map(Nano).ok_or_else(|| Refusal::precondition("CAMPAIGN_TOO_LARGE", "no campaign can cost so much"))
    }

    pub(crate) fn to_wire(&self, campaign: &Campaign, highest_eur: Nano, cap: Nano) -> wire::CampaignLiability {
        wire::CampaignLiability {
            currency_code: campaign.currency.to_string(),
            expected_minor: decimal(&self.expected, PLACES),
            expected_minor_exact: format!("{}/{}", self.expected.numer(), self.expected.denom()),
            highest_minor: self.highest.to_integer().to_string(),
            highest_says: self.highest_says.to_owned(),
            highest_eur: highest_eur.to_string(),
            cap_eur: if cap == Nano::ZERO { String::new() } else { cap.to_string() },
        }
    }
}
