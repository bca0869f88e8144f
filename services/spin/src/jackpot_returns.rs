use motherlode_proto::spin::v1::{CoinReturn, JackpotReturns};
use motherlode_slots::{
    GameInfo, Ladder, Par, PoolTerms,
    par::{Exact, decimal, exact, ratio},
};
use motherlode_state::{CoinValue, Currency, FxRate};

pub(crate) const PLACES: usize = 6;

pub(crate) struct Now {
    pub(crate) suspended: bool,
    pub(crate) terms: Option<PoolTerms>,
    pub(crate) rate: Option<FxRate>,
}

pub(crate) struct Returns<'a> {
    info: &'a GameInfo,
    par: &'a Par,
    terms: Option<PoolTerms>,
    seed: Exact,
    increments_per_eur: Exact,
    increments_max: Exact,
    wins_jackpot: bool,
}

impl<'a> Returns<'a> {
    pub(crate) fn new(info: &'a GameInfo, (par, coin): (&'a Par, u64), now: &Now, currency: Currency) -> Self {
        let at_terms = now.terms.as_ref().and_then(|terms| par.jackpot_return(terms));
        let (seed, increments_per_eur, increments_max) = match at_terms {
            Some(of) => (of.seed, of.increments_per_eur, of.increments_max),
            None => {
                let seed = &par.rtp - &par.rtp_without_jackpot;
                let per_eur = (par.rtp_with_increments() - &par.rtp) * ratio(1_000_000, coin.max(1));
                let span = info.rtp_span_micros.map_or_else(|| exact(0), |(min, max)| ratio(max - min, 1_000_000));
                (seed, per_eur, span)
            }
        };
        let wins_jackpot = info.jackpot && !now.suspended && currency.is_real();
        Self { info, par, terms: now.terms, seed, increments_per_eur, increments_max, wins_jackpot }
    }

    /// The game's return without the pool's increments; includes the pool's seed if bets can win the jackpot.
    pub(crate) fn lowest(&self) -> Exact {
        if self.wins_jackpot || !self.info.jackpot {
            &self.par.rtp_without_jackpot + &self.seed
        } else {
            self.par.rtp_without_jackpot.clone()
        }
    }

    pub(crate) fn shown(&self, ladder: Option<Ladder>, currency: Currency, now: &Now) -> JackpotReturns {
        let lowest = self.lowest();
        let highest = if self.wins_jackpot { &lowest + &self.increments_max } else { lowest.clone() };
        let published = self.info.rtp_span_micros.map(|(min, max)| [min, max].map(|of| ratio(of, 1_000_000)));
        let [published_min, published_max] = published.map(|span| span.map(|of| short(&of))).unwrap_or_default();
        let coins = match (ladder, now.rate) {
            (Some(ladder), Some(rate)) => self.coins(&ladder, rate),
            _ => Vec::new(),
        };
        JackpotReturns {
            rtp_min: short(&lowest),
            rtp_max: short(&highest),
            rtp_without_jackpot: decimal(&self.par.rtp_without_jackpot, PLACES),
            pool_suspended: now.suspended,
            coins,
            assumes: self.assumes(),
            currency_code: currency.code().to_owned(),
            published_min,
            published_max,
            seed_eur: self.terms.map_or_else(String::new, |of| trimmed(&ratio(of.seed_nanos, 1_000_000_000), 0)),
            contribution_ppm: self.terms.map_or(0, |of| of.contribution_ppm),
            base_coin: self.terms.map_or_else(String::new, |of| CoinValue(of.base_coin_micros).to_string()),
        }
    }

    fn coins(&self, ladder: &Ladder, rate: FxRate) -> Vec<CoinReturn> {
        let base = self.terms.map(|terms| CoinValue(terms.base_coin_micros));
        let coins = ladder.coins_micros.iter().copied().map(CoinValue);
        let coins = coins.filter(|coin| base.is_none_or(|base| rate.coin_within(*coin, base)));
        let coin = |coin: CoinValue| {
            let rtp = match self.wins_jackpot {
                true => decimal(&(self.lowest() + &self.increments_per_eur * worth_eur(coin, rate)), PLACES + 2),
                false => decimal(&self.par.rtp_without_jackpot, PLACES),
            };
            CoinReturn { coin_value: coin.to_string(), rtp_now: rtp.clone(), rtp }
        };
        coins.map(coin).collect()
    }

    fn assumes(&self) -> String {
        let (Some(terms), Some(chance)) = (self.terms, self.par.rate("jackpot")) else {
            return self.info.jackpot_assumes.clone();
        };
        let odds = decimal(&(exact(self.par.bet_coins) / chance), 0);
        let [seed, percent, base] = [
            ratio(terms.seed_nanos, 1_000_000_000),
            ratio(terms.contribution_ppm, 10_000),
            ratio(terms.base_coin_micros, 1_000_000),
        ]
        .map(|figure| trimmed(&figure, 0));
        format!(
            "the pool is active, its seed is {seed} EUR, and it grows by {percent} % of every bet; each coin of a bet wins \
             the jackpot once in {odds} spins on average; the jackpot is proportional to the coin value, and a coin \
             value of {base} EUR wins the whole pool. While the pool is suspended, the jackpot cannot be won, and the \
             return without the jackpot applies"
        )
    }
}

fn short(figure: &Exact) -> String {
    trimmed(figure, 4)
}

fn trimmed(figure: &Exact, places: usize) -> String {
    let text = decimal(figure, 9);
    let Some((whole, fraction)) = text.split_once('.') else { return text };
    let kept = fraction.trim_end_matches('0').len().max(places);
    match fraction.get(..kept) {
        None | Some("") => whole.to_owned(),
        Some(fraction) => format!("{whole}.{fraction}"),
    }
}

pub(crate) fn terms_of(terms: &motherlode_state::PoolTerms) -> PoolTerms {
    PoolTerms {
        seed_nanos: u64::try_from(terms.seed.0).unwrap_or(u64::MAX),
        contribution_ppm: terms.contribution_ppm,
        base_coin_micros: terms.base_coin.0,
    }
}

fn worth_eur(coin: CoinValue, rate: FxRate) -> Exact {
    let (power, worth) = (10_u64.pow(rate.exponent().unsigned_abs().into()), exact(coin.0) * exact(rate.mantissa()));
    let worth = if rate.exponent() < 0 { worth / exact(power) } else { worth * exact(power) };
    worth / exact(1_000_000)
}
