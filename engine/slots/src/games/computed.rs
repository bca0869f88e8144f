//! Figures of the games in [`games`], each computed on first use, which takes up to a second.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use crate::contract::game::Game;
use crate::contract::highest_win::HighestWin;
use crate::contract::par::Par;
use crate::contract::stake::{Stake, StakeRefused};
use crate::games::list::games;

#[derive(Default)]
pub(super) struct Computed {
    par: OnceLock<Result<Par, StakeRefused>>,
    pub(super) by_lines: OnceLock<Result<Vec<(u32, HighestWin)>, StakeRefused>>,
    pub(super) bought: OnceLock<Option<(u32, HighestWin)>>,
}

pub(super) fn of_game(game: &dyn Game) -> Option<&'static Computed> {
    static ALL: LazyLock<BTreeMap<[u8; 32], Computed>> =
        LazyLock::new(|| games().iter().map(|game| (game.model_hash(), Computed::default())).collect());
    ALL.get(&game.model_hash())
}

/// Stake with the most lines, the fewest coins per line and the given coin value.
#[must_use]
pub fn usual_stake(game: &dyn Game, coin_value_micros: u64) -> Stake {
    let limits = &game.info().limits;
    Stake { coin_value_micros, lines: limits.lines.1, coins_per_line: limits.coins_per_line.0, buy_feature: false }
}

/// Returns the figures at the [usual stake](usual_stake). The coin value affects only the return from a jackpot.
pub fn usual_par(game: &dyn Game, coin_value_micros: u64) -> Result<Cow<'static, Par>, StakeRefused> {
    let stake = usual_stake(game, coin_value_micros);
    let first = game.info().limits.coin_values_micros.first();
    let is_same = !game.info().jackpot || first == Some(&coin_value_micros);
    match of_game(game).filter(|_| is_same) {
        None => game.par(&stake).map(Cow::Owned),
        Some(computed) => {
            game.check_stake(&stake)?;
            computed.par.get_or_init(|| game.par(&stake)).as_ref().map(Cow::Borrowed).map_err(Clone::clone)
        }
    }
}
