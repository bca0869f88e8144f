//! Simulated player: plays one round at a time, and sums the bets and wins of settled rounds.
//!
//! After a failed call, all calls of the round are repeated with the same request ids, so none takes effect twice
//! (PL-11).

use crate::{
    lane::{Call, Lane},
    pace::timed_from,
    retry::insist,
    tally::{Kind, Tally},
};
use motherlode_proto::{
    round::v1::{Account, Awaiting, Choice, JackpotWin, Money, RoundState, Stake, Witch, choice, jackpot_win},
    spin::v1::{ChooseRequest, Played, SpinRequest},
};
use std::time::{Duration, Instant};
use tonic::Status;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) seamless: bool,
    pub(crate) deposits: i64,
    pub(crate) bets: i64,
    pub(crate) wins: i64,
    pub(crate) jackpots: i64,
    pub(crate) bet_position: u64,
    pub(crate) pending: Vec<(String, u64)>,
}

pub(crate) struct Player {
    pub(crate) account: Account,
    pub(crate) expected: Expected,
    round: u64,
    pub(crate) in_doubt: bool,
}

pub(crate) struct Table {
    pub(crate) game: String,
    pub(crate) stake: Stake,
    /// Whether players pick a companion before their first spin (BW-05).
    pub(crate) picks: bool,
    pub(crate) run: String,
    pub(crate) tally: Tally,
    pub(crate) start: Instant,
}

impl Player {
    pub(crate) fn new(account: Account, seamless: bool) -> Self {
        Self { account, expected: Expected { seamless, ..Expected::default() }, round: 0, in_doubt: false }
    }

    /// Plays a round. The latency of the round's first call is measured from `due`; if `due` is `None`, from the time
    /// when the call is sent.
    pub(crate) async fn play(&mut self, table: &Table, lane: &Lane, due: Option<Duration>) {
        match self.play_round(table, lane, due).await {
            Ok(()) => table.tally.settled(),
            Err(status) => table.tally.failed(&status),
        }
    }

    pub(crate) async fn play_round(&mut self, table: &Table, lane: &Lane, due: Option<Duration>) -> Result<(), Status> {
        self.in_doubt = true;
        let from = timed_from(due, table.start.elapsed());
        let bet = || lane.clone().ask(Call::Spin(self.bet(table)));
        let mut played = timed(table, Kind::Spin, from, insist(&table.tally.retries, bet)).await?;
        let bet_position = played.position;
        let mut jackpots = vec![];
        for step in 1.. {
            jackpots.extend(played.jackpot.take());
            let Some(choice) = next_choice(&played) else { break };
            let choose = || lane.clone().ask(Call::Choose(self.choice(table, &played.round_id, step, choice.clone())));
            let from = table.start.elapsed();
            played = timed(table, Kind::Choose, from, insist(&table.tally.retries, choose)).await?;
        }
        self.expected.settle(&played, bet_position, jackpots)?;
        self.round += 1;
        self.in_doubt = false;
        Ok(())
    }

    fn bet(&self, table: &Table) -> SpinRequest {
        SpinRequest {
            request_id: format!("{}r{}", table.run, self.round),
            account: Some(self.account.clone()),
            game: table.game.clone(),
            stake: Some(table.stake.clone()),
            witch: if self.round == 0 && table.picks { Witch::White } else { Witch::Unspecified }.into(),
            ..SpinRequest::default()
        }
    }

    fn choice(&self, table: &Table, round_id: &str, step: u32, kind: choice::Kind) -> ChooseRequest {
        ChooseRequest {
            request_id: format!("{}r{}.{step}", table.run, self.round),
            round_id: round_id.to_owned(),
            choice: Some(Choice { kind: Some(kind) }),
            ..ChooseRequest::default()
        }
    }
}

impl Expected {
    fn settle(&mut self, played: &Played, bet_position: u64, jackpots: Vec<JackpotWin>) -> Result<(), Status> {
        if played.state() != RoundState::Settled {
            return Err(Status::internal("the service returned a round that awaits no choice but is not settled"));
        }
        self.bets += minor(played.bet.as_ref());
        self.wins += minor(played.win.as_ref());
        self.bet_position = bet_position;
        for jackpot in jackpots {
            match jackpot.state() {
                jackpot_win::State::Paid => self.jackpots += minor(jackpot.amount.as_ref()),
                _ => self.pending.push((played.round_id.clone(), jackpot.hit_position)),
            }
        }
        Ok(())
    }

    pub(crate) fn balance(&self) -> i64 {
        if self.seamless { 0 } else { self.deposits - self.bets + self.wins + self.jackpots }
    }
}

fn minor(money: Option<&Money>) -> i64 {
    money.map_or(0, |money| money.amount_minor)
}

fn next_choice(played: &Played) -> Option<choice::Kind> {
    let outcome = played.outcome.as_ref()?;
    match outcome.awaiting() {
        Awaiting::Pick => {
            let numbers = (1..=outcome.pick?.needs).collect();
            Some(choice::Kind::Pick(choice::Pick { numbers }))
        }
        Awaiting::FreeSpins => Some(choice::Kind::StartFreeSpins(choice::StartFreeSpins {})),
        Awaiting::Feature => Some(choice::Kind::StartFeature(choice::StartFeature {})),
        _ => None,
    }
}

async fn timed<T>(
    table: &Table,
    kind: Kind,
    from: Duration,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let answer = answer.await?;
    table.tally.answered(kind, table.start.elapsed().saturating_sub(from));
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Outcome, PickOffer};

    fn eur(amount_minor: i64) -> Option<Money> {
        Some(Money { amount_minor, currency_code: "EUR".to_owned() })
    }

    fn answer(state: RoundState) -> Played {
        Played { round_id: "o/p/1".to_owned(), bet: eur(150), win: eur(400), state: state.into(), ..Played::default() }
    }

    fn jackpot(state: jackpot_win::State, amount: Option<Money>) -> JackpotWin {
        JackpotWin { state: state.into(), pool_id: "pool".to_owned(), hit_position: 7, amount }
    }

    #[test]
    fn settled_rounds_add_up_to_the_balance() {
        let mut expected = Expected { deposits: 10_000, ..Expected::default() };
        expected.settle(&answer(RoundState::Settled), 6, vec![]).unwrap();
        let won = [jackpot(jackpot_win::State::Paid, eur(20_000)), jackpot(jackpot_win::State::Pending, None)];
        expected.settle(&answer(RoundState::Settled), 9, won.into()).unwrap();
        assert_eq!(expected.balance(), 10_000 - 2 * 150 + 2 * 400 + 20_000);
        assert_eq!(expected.bet_position, 9);
        assert_eq!(expected.pending, [("o/p/1".to_owned(), 7)]);
        assert_eq!(Expected { seamless: true, deposits: 0, ..expected }.balance(), 0);
    }

    #[test]
    fn an_open_round_without_a_choice_is_an_error_and_counts_nothing() {
        let mut expected = Expected::default();
        assert!(expected.settle(&answer(RoundState::Open), 6, vec![]).is_err());
        assert_eq!(expected, Expected::default());
    }

    #[test]
    fn choices_are_picks_free_spins_and_features_and_never_the_gamble() {
        let awaiting = |awaiting: Awaiting| {
            let pick = Some(PickOffer { needs: 4, of: 12 });
            let outcome = Some(Outcome { awaiting: awaiting.into(), pick, ..Outcome::default() });
            next_choice(&Played { outcome, ..Played::default() })
        };
        assert!(matches!(awaiting(Awaiting::Pick), Some(choice::Kind::Pick(pick)) if pick.numbers == [1, 2, 3, 4]));
        assert!(matches!(awaiting(Awaiting::Feature), Some(choice::Kind::StartFeature(_))));
        assert!(matches!(awaiting(Awaiting::FreeSpins), Some(choice::Kind::StartFreeSpins(_))));
        assert_eq!(awaiting(Awaiting::Nothing), None);
        assert_eq!(awaiting(Awaiting::Double), None);
    }
}
