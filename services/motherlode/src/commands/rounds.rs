use super::{Failure, say};
use crate::{
    client::{self, Client, insist},
    figures::cash,
    target::Target,
};
use motherlode_proto::{
    round::v1::{Awaiting, Money, Round},
    spin::v1::{CloseRoundRequest, ListOpenRoundsRequest, OpenRound, Played},
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    /// List open rounds, the oldest bet first.
    Open(Open),
    /// Finish a player's open round by the game's rule, and pay its win.
    Close(Close),
}

#[derive(Debug, Clone, clap::Args)]
struct Open {
    /// Operator whose players' rounds are listed.
    #[arg(value_name = "OPERATOR")]
    operator: String,
    /// List only rounds of this player.
    #[arg(long, value_name = "NAME")]
    player: Option<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, clap::Args)]
struct Close {
    /// Round, as operator/player/number.
    #[arg(value_name = "ROUND")]
    round: String,
    /// Reason for closing the round; recorded in the log.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Person who decided to close the round; recorded in the log.
    #[arg(long, value_name = "NAME")]
    actor: String,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    runtime.block_on(async {
        match &args.what {
            What::Open(args) => open(args).await,
            What::Close(args) => close(args).await,
        }
    })
}

async fn open(args: &Open) -> Result<(), Failure> {
    let client = Client::connect(&args.target).await?;
    let mut request = ListOpenRoundsRequest {
        operator_id: args.operator.clone(),
        player_id: args.player.clone().unwrap_or_default(),
        page_size: 100,
        page_token: String::new(),
    };
    let mut count = 0_usize;
    loop {
        let page = insist(&request, |request| {
            let mut spin = client.spin.clone();
            async move { spin.list_open_rounds(request).await }
        });
        let page = page.await.map_err(|status| client::explain(&status))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        count += page.rounds.len();
        say(&page.rounds.iter().map(|open| line(open, now)).collect::<String>())?;
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return match count {
                0 => say("No round is open.\n"),
                _ => Ok(()),
            };
        }
    }
}

async fn close(args: &Close) -> Result<(), Failure> {
    let client = Client::connect(&args.target).await?;
    let request = CloseRoundRequest {
        request_id: client::request_id()?,
        round_id: args.round.clone(),
        reason: args.reason.clone(),
        actor: args.actor.clone(),
    };
    let closed = insist(&request, |request| {
        let mut spin = client.spin.clone();
        async move { spin.close_round(request).await }
    });
    let steps = closed.await.map_err(|status| client::explain(&status))?.steps;
    say(&paid(&steps))
}

fn line(open: &OpenRound, now: Duration) -> String {
    let round = open.round.clone().unwrap_or_default();
    let of = |money: &Option<Money>| money.as_ref().map(cash).unwrap_or_default();
    let since = round.steps.last().and_then(|step| step.time);
    let seconds = |time: &prost_types::Timestamp| u64::try_from(time.seconds).unwrap_or_default();
    let waited = since.map_or(0, |since| now.as_secs().saturating_sub(seconds(&since)));
    let left = open.resolve_time.as_ref().map(|resolve| seconds(resolve).saturating_sub(now.as_secs()));
    let left =
        left.map_or("stays open until the player chooses".to_owned(), |left| format!("resolved in {}", hours(left)));
    format!(
        "{}  {} bet {}, win {}, has waited {} for {}; {left}\n",
        round.round_id,
        round.game,
        of(&round.bet),
        of(&round.win),
        hours(waited),
        awaited(&round),
    )
}

fn awaited(round: &Round) -> &'static str {
    match round.awaiting() {
        Awaiting::Pick => "a pick",
        Awaiting::FreeSpins => "the start of the free spins",
        Awaiting::Feature => "the start of the feature",
        Awaiting::Double => "the gamble",
        Awaiting::Spin | Awaiting::Nothing | Awaiting::Unspecified => "nothing",
    }
}

fn hours(seconds: u64) -> String {
    format!("{} h {} min", seconds / 3600, seconds / 60 % 60)
}

fn paid(steps: &[Played]) -> String {
    let Some(last) = steps.last() else { return "No step was needed to close the round.\n".to_owned() };
    let of = |money: &Option<Money>| money.as_ref().map(cash).unwrap_or_default();
    format!(
        "Closed {} at log position {}: win {}, balance {}\n",
        last.round_id,
        last.position,
        of(&last.win),
        of(&last.balance)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::Step;
    use prost_types::Timestamp;

    fn at(seconds: i64) -> Option<Timestamp> {
        Some(Timestamp { seconds, nanos: 0 })
    }

    #[test]
    fn pl_20_a_line_says_what_a_round_awaits_and_for_how_long() {
        let money = |minor| Some(Money { amount_minor: minor, currency_code: "EUR".into() });
        let round = Round {
            round_id: "demo/alice/7".into(),
            game: "mystery-elves".into(),
            bet: money(700),
            win: money(123_456),
            awaiting: Awaiting::Double.into(),
            steps: vec![Step { time: at(10_000), ..Step::default() }],
            ..Round::default()
        };
        let mut open = OpenRound { round: Some(round), resolve_time: at(10_000 + 120 * 3600) };
        let now = Duration::from_secs(10_000 + 3 * 3600 + 20 * 60);
        let waits =
            "demo/alice/7  mystery-elves bet 7.00 EUR, win 1,234.56 EUR, has waited 3 h 20 min for the gamble; ";
        assert_eq!(line(&open, now), format!("{waits}resolved in 116 h 40 min\n"));
        open.resolve_time = None;
        assert_eq!(line(&open, now), format!("{waits}stays open until the player chooses\n"));
    }
}
