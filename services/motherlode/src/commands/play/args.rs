use crate::{commands::stake::StakeArgs, figures, target::Target};
use motherlode_proto::round::v1 as round;
use motherlode_state::Currency;

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Game to play.
    #[arg(value_name = "GAME")]
    pub(super) game: String,
    #[command(flatten)]
    pub(super) target: Target,
    /// Operator of the player.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    pub(super) operator: String,
    /// Player to play as.
    #[arg(long, value_name = "NAME", default_value = "alice")]
    pub(super) player: String,
    /// Currency of the player's account.
    #[arg(long, value_name = "CODE", default_value_t = Currency::EUR)]
    pub(super) currency: Currency,
    /// Play with play money, which the service provides (PL-17).
    #[arg(long, conflicts_with_all = ["currency", "campaign"])]
    pub(super) demo: bool,
    /// Rounds to play.
    #[arg(long, value_name = "N", default_value = "1", value_parser = figures::count)]
    pub(super) rounds: u64,
    #[command(flatten)]
    pub(super) stake: StakeArgs,
    /// Play free rounds of this campaign, at its stake.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["lines", "coins", "coin_value", "buy_feature"])]
    pub(super) campaign: Option<String>,
    /// Witch to play with, in games with witches. Default: the player's last witch; at the first spin the command asks.
    #[arg(long)]
    pub(super) witch: Option<Witch>,
    /// Keep the round open after a win that can be gambled.
    #[arg(long)]
    pub(super) double: bool,
    /// Make all choices automatically: pick the first treasures offered, start free spins and features at once, and
    /// guess once if --double is set.
    #[arg(long)]
    pub(super) auto: bool,
}

impl Args {
    pub(super) fn currency(&self) -> Currency {
        if self.demo { Currency::PLAY } else { self.currency }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Witch {
    /// White witch.
    White,
    /// Dark witch.
    Dark,
}

impl From<Witch> for round::Witch {
    fn from(witch: Witch) -> Self {
        match witch {
            Witch::White => Self::White,
            Witch::Dark => Self::Dark,
        }
    }
}
