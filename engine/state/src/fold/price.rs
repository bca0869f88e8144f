//! Pool arithmetic in exact integers. With amounts above 10^9 EUR, a calculation can fail, but never returns a wrong
//! result.

use crate::events::{Award, CollisionShare, Hit, TakeBack};
use crate::state::PoolState;
use crate::values::{CoinValue, Minor, MoneyError, Nano};

/// Returns the displayed jackpot (BW-13), the same number in all currencies: `pool x coin / base coin`, rounded down to
/// 1e-9.
pub fn figure(pool: &PoolState, coin: CoinValue) -> Result<Nano, MoneyError> {
    pool.base()
        .0
        .checked_mul(i128::from(coin.0))
        .and_then(|n| n.checked_div(i128::from(pool.terms.base_coin.0)))
        .map(Nano)
        .ok_or(MoneyError::OutOfRange)
}

fn same_refresh(earlier_ms: i64, later_ms: i64, refresh_ms: u32) -> bool {
    let interval = i64::from(refresh_ms).max(1);
    earlier_ms.div_euclid(interval) == later_ms.div_euclid(interval)
}

/// Computes the award of a jackpot hit (BW-16, BW-17). `pool` must already include all contributions before the hit and
/// all earlier awards.
///
/// The award is `weighted x coin / base coin + whole`. For a first jackpot hit, `weighted` is seed plus increments,
/// and `whole` is zero. With [`CollisionShare::Full`], a second hit before the next refresh of the displayed jackpot is
/// paid differently: `weighted` is the seed, and `whole` is the increments since the previous hit. The award is rounded
/// down to the player's minor unit; the reserve gets the rest.
pub fn price(pool: &PoolState, hit: &Hit) -> Result<Award, MoneyError> {
    let terms = &pool.terms;
    let within = pool.last_hit_ms.is_some_and(|last_ms| same_refresh(last_ms, hit.time_ms, terms.refresh_ms));
    let collision = within && terms.collision_share == CollisionShare::Full;
    let (weighted, whole) = if collision { (terms.seed, pool.increments) } else { (pool.base(), Nano::ZERO) };
    let worth = Worth::new(hit, terms.base_coin);
    let amount = worth.in_minor(weighted, whole).ok_or(MoneyError::OutOfRange)?;
    let total = worth.in_eur(weighted).and_then(|eur| eur.checked_add(whole));
    let total = total.ok_or(MoneyError::OutOfRange)?;
    let paid = worth.paid(amount).ok_or(MoneyError::OutOfRange)?;
    let seed_share = worth.in_eur(terms.seed).ok_or(MoneyError::OutOfRange)?;

    let increments = Nano(total.0 - seed_share.0);
    let seed_from_reserve = seed_share.min(pool.reserve);
    let left = total.0 - paid.0;
    Ok(Award {
        hit: hit.position,
        partition: hit.partition,
        stream: hit.stream.clone(),
        round: hit.round,
        cycle: pool.cycle,
        collision,
        currency: hit.currency,
        coin_value: hit.coin_value,
        rate: hit.rate,
        amount,
        increments,
        seed_from_reserve,
        seed_from_house: Nano(seed_share.0 - seed_from_reserve.0),
        to_reserve: Nano(pool.increments.0 - increments.0 + left),
        paid,
    })
}

struct Worth {
    coin: i128,
    /// Base coin value in 1e-6 EUR.
    base: i128,
    rate: (i128, i128),
    minor: i128,
}

impl Worth {
    fn new(hit: &Hit, base_coin: CoinValue) -> Self {
        Self {
            coin: i128::from(hit.coin_value.0),
            base: i128::from(base_coin.0),
            rate: hit.rate.fraction(),
            minor: hit.currency.nanos_per_minor(),
        }
    }

    fn in_eur(&self, eur: Nano) -> Option<Nano> {
        let numerator = eur.0.checked_mul(self.coin)?.checked_mul(self.rate.0)?;
        numerator.checked_div(self.base.checked_mul(self.rate.1)?).map(Nano)
    }

    fn in_minor(&self, weighted: Nano, whole: Nano) -> Option<Minor> {
        let proportion = weighted.0.checked_mul(self.coin)?;
        let (numerator, denominator) = if whole == Nano::ZERO {
            (proportion, self.base)
        } else {
            let whole = whole.0.checked_mul(self.rate.1)?.checked_mul(self.base)?;
            let numerator = proportion.checked_mul(self.rate.0)?.checked_add(whole)?;
            (numerator, self.base.checked_mul(self.rate.0)?)
        };
        let minor = numerator.checked_div(denominator.checked_mul(self.minor)?)?;
        // If the award exceeds the maximum of i64, the reserve receives the excess.
        Some(Minor(i64::try_from(minor).unwrap_or(i64::MAX)))
    }

    fn paid(&self, amount: Minor) -> Option<Nano> {
        let nanos = i128::from(amount.0).checked_mul(self.minor)?;
        nanos.checked_mul(self.rate.0)?.checked_div(self.rate.1).map(Nano)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenBack {
    pub from_increments: Nano,
    pub from_reserve: Nano,
    pub from_house: Nano,
}

#[must_use]
pub fn take_back(pool: &PoolState, void: &TakeBack) -> TakenBack {
    let running = void.contributed_at > pool.marks(void.partition).cycle_from;
    split(pool, void.amount, if running { void.amount } else { Nano::ZERO })
}

#[must_use]
pub(super) fn split(pool: &PoolState, amount: Nano, in_cycle: Nano) -> TakenBack {
    let from_increments = in_cycle.min(pool.increments);
    let rest = Nano(amount.0 - from_increments.0);
    let from_reserve = rest.min(pool.reserve);
    TakenBack { from_increments, from_reserve, from_house: Nano(rest.0 - from_reserve.0) }
}
