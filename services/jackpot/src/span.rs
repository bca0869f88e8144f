//! Checks that a game's return under the given pool terms stays within the range that the game's rules state (BW-21,
//! PL-43).

use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{self as slots, Game, Par, Stake, games};
use motherlode_state::PoolTerms;
use std::sync::LazyLock;

static JACKPOT_GAMES: LazyLock<Vec<(&'static dyn Game, Par)>> = LazyLock::new(|| {
    let with = games().iter().copied().filter(|game| game.info().jackpot);
    with.filter_map(|game| Some((game, game.par(&stake(game)).ok()?))).collect()
});

fn stake(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    Stake {
        coin_value_micros: limits.coin_values_micros.first().copied().unwrap_or_default(),
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    }
}

pub(crate) async fn check(pool: &str, terms: &PoolTerms) -> Result<(), Refusal> {
    if !games().iter().any(|game| game.name() == pool && game.info().jackpot) {
        return Ok(());
    }
    let (pool, terms) = (pool.to_owned(), slots_terms(terms));
    // The first check computes [`JACKPOT_GAMES`], which takes too long for a thread that serves calls.
    let checked = tokio::task::spawn_blocking(move || {
        JACKPOT_GAMES
            .iter()
            .filter(|(game, _)| game.name() == pool)
            .try_for_each(|(game, par)| par.check_pool_terms(game.info(), &terms))
    });
    match checked.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(out)) => Err(Refusal::new(Reason::TermsOutOfSpan, out.to_string())
            .with("rtp_min", &out.lowest)
            .with("rtp_max", &out.highest)
            .with("published_min", &out.span_min)
            .with("published_max", &out.span_max)),
        Err(error) => Err(Refusal::new(Reason::Internal, error.to_string())),
    }
}

/// A seed amount above 64 bits is replaced with the largest 64-bit value, which every game refuses.
fn slots_terms(terms: &PoolTerms) -> slots::PoolTerms {
    slots::PoolTerms {
        seed_nanos: u64::try_from(terms.seed.0).unwrap_or(u64::MAX),
        contribution_ppm: terms.contribution_ppm,
        base_coin_micros: terms.base_coin.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::standard_terms;
    use motherlode_state::{CoinValue, Nano};

    #[tokio::test]
    async fn pl_43_mf_d4_terms_that_leave_the_published_span_are_refused() {
        let with =
            |seed: i64, contribution_ppm| PoolTerms { seed: Nano::major(seed), contribution_ppm, ..standard_terms() };
        for sound in [standard_terms(), with(20_000, 4_000), with(30_000, 2_500)] {
            check("bewitched", &sound).await.unwrap();
        }
        let smaller_base = PoolTerms { base_coin: CoinValue(5_000_000), ..standard_terms() };
        for out in [with(30_000, 10_000), with(20_000, 5_001), with(19_999, 5_000), with(40_001, 0), smaller_base] {
            let refused = check("bewitched", &out).await.unwrap_err();
            assert_eq!(refused.reason(), Reason::TermsOutOfSpan);
        }
        let refused = check("bewitched", &with(30_000, 10_000)).await.unwrap_err();
        let told = ["rtp_min", "rtp_max", "published_min", "published_max"].map(|key| refused.metadata(key).unwrap());
        assert_eq!(told, ["0.948500", "0.958500", "0.9460", "0.9510"]);
        check("heir", &with(1_000, 5_000)).await.unwrap();
    }
}
