//! Cost of a campaign to its operator (PL-36, PL-43): the highest mean win and the highest possible win, including the
//! gamble. Each is the maximum over all progress, such as collections, that a player can carry between rounds, because
//! this progress can change after the grant.

use crate::{
    describe,
    stated::{Of, StatedFigures},
};
use motherlode_proto::spin::v1 as wire;
use motherlode_rounds::minor_micros;
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{
    Game, Ladders, cash_return, games, latest,
    par::{Exact, decimal, exact},
};
use motherlode_state::{Campaign, FxRate, Nano};

const PLACES: usize = 4;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cost {
    /// Upper bound of the mean win over all strategies.
    expected: Exact,
    long_run: Exact,
    highest: Exact,
    highest_says: &'static str,
    includes_gamble: bool,
    /// Decimal exponent `e`: the probability that the wins exceed `highest` is at most 10^e.
    exceeded: Option<i32>,
}

impl Cost {
    /// Computes the maximum cost over all rules versions, because campaigns accept every version. The first
    /// call can take seconds.
    pub(crate) fn new(
        campaign: &Campaign,
        players: usize,
        ladders: &Ladders,
        rate: Option<FxRate>,
    ) -> Result<Self, Refusal> {
        let unknown = || Refusal::new(Reason::Internal, "the game has no stated return or highest win");
        let Campaign { currency, coin_value, lines, coins_per_line, .. } = *campaign;
        let rounds = exact(campaign.rounds) * exact(u64::try_from(players).unwrap_or(u64::MAX));
        let bet = exact(campaign.bet.0.unsigned_abs());
        let newest = latest(&campaign.game).ok_or_else(unknown)?;
        let cash = cash_return(newest, coin_value.0, minor_micros(currency)).map_err(|_| unknown())?;
        let figures = |game: &'static dyn Game| -> Result<&'static StatedFigures, Refusal> {
            describe::stated(game).ok_or_else(unknown)
        };
        let mut cost = Self {
            expected: exact(0),
            long_run: (&figures(newest)?.rtp + cash.adds) * &bet * &rounds,
            highest: exact(0),
            highest_says: "",
            includes_gamble: false,
            exceeded: None,
        };
        for game in games().iter().copied().filter(|game| game.name() == newest.name()) {
            let (stated, of) = (figures(game)?, Of { game, ladders, currency, rate });
            let paid = stated.paid(of, coin_value.0, (lines, coins_per_line)).ok_or_else(unknown)?;
            cost.expected = cost.expected.max(stated.expected_minor(of, coin_value.0, &bet) * &rounds);
            cost.includes_gamble |= paid.gambled_minor > paid.minor;
            cost.highest = cost.highest.max(exact(paid.gambled_minor) * &rounds);
            cost.highest_says = stated.definition();
            let exceeded = stated.unlimited().then_some(paid.chance_exponent);
            cost.exceeded = cost.exceeded.max(exceeded);
        }
        cost.exceeded = cost.exceeded.map(|exponent| exponent + rounds_exponent(&rounds));
        Ok(cost)
    }

    /// Returns the highest cost, rounded up. Fails with CAMPAIGN_TOO_LARGE if the cost exceeds 128 bits.
    pub(crate) fn highest_eur(&self, campaign: &Campaign, rate: FxRate) -> Result<Nano, Refusal> {
        let nanos = &self.highest * exact(u64::try_from(campaign.currency.nanos_per_minor()).unwrap_or(u64::MAX));
        let power = exact(10_u64.pow(rate.exponent().unsigned_abs().into()));
        let eur = nanos * exact(rate.mantissa());
        let eur = if rate.exponent() < 0 { eur / power } else { eur * power };
        let eur = i128::try_from(eur.ceil().to_integer()).ok().filter(|eur| *eur < i128::MAX / 1_000_000);
        eur.map(Nano).ok_or_else(|| {
            Refusal::new(
                Reason::CampaignTooLarge,
                "the campaign's liability is too large to compute: grant fewer rounds or a lower bet",
            )
        })
    }

    pub(crate) fn to_wire(&self, campaign: &Campaign, highest_eur: Nano, cap: Nano) -> wire::CampaignLiability {
        wire::CampaignLiability {
            currency_code: campaign.currency.to_string(),
            expected_minor: decimal(&up(&self.expected), PLACES),
            expected_minor_exact: format!("{}/{}", self.expected.numer(), self.expected.denom()),
            expected_long_run_minor: decimal(&self.long_run, PLACES),
            exceeded_probability_at_most: self
                .exceeded
                .map_or_else(|| "0".to_owned(), |exponent| format!("1e{exponent}")),
            highest_minor: self.highest.to_integer().to_string(),
            highest_says: self.highest_says.to_owned()
                + if self.includes_gamble { "; the gamble is included" } else { "" },
            highest_eur: highest_eur.to_string(),
            cap_eur: if cap == Nano::ZERO { String::new() } else { cap.to_string() },
        }
    }
}

#[must_use]
pub fn highest_cost(campaign: &Campaign, players: usize, ladders: &Ladders, rate: FxRate) -> Option<Nano> {
    Cost::new(campaign, players, ladders, Some(rate)).ok()?.highest_eur(campaign, rate).ok()
}

fn up(value: &Exact) -> Exact {
    let scale = exact(10_u64.pow(4));
    (value * &scale).ceil() / scale
}

fn rounds_exponent(rounds: &Exact) -> i32 {
    i32::try_from(decimal(rounds, 0).len()).unwrap_or(i32::MAX)
}
