use crate::{
    client::{Client, bet},
    reason,
};
use motherlode_proto::{
    round::v1::{Account, JackpotWin, RoundState},
    spin::v1::Played,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tonic::Status;

#[derive(Debug)]
pub struct Player {
    account: Account,
    coin_value: &'static str,
    round: u64,
    answers: BTreeMap<String, Played>,
    jackpots: BTreeMap<u64, JackpotWin>,
}

const DEPOSIT: i64 = 100_000_000;

impl Player {
    pub async fn join(client: &mut Client, name: &str, coin_value: &'static str) -> Self {
        let account = client.fund(name, crate::EUR, DEPOSIT).await;
        Self { account, coin_value, round: 0, answers: BTreeMap::new(), jackpots: BTreeMap::new() }
    }

    pub async fn play(&mut self, client: &mut Client, answers: &Arc<AtomicU64>) -> Status {
        loop {
            if let Err(status) = self.play_round(client, answers).await {
                return status;
            }
            self.next_round();
        }
    }

    pub async fn play_rounds(&mut self, client: &mut Client, rounds: usize) -> Result<(), Status> {
        for _ in 0..rounds {
            self.play_round(client, &Arc::default()).await?;
            self.next_round();
        }
        Ok(())
    }

    pub async fn play_round(&mut self, client: &mut Client, answers: &Arc<AtomicU64>) -> Result<(), Status> {
        let id = format!("r{}", self.round);
        let mut last = client.spin(bet(&id, &self.account, self.coin_value), None).await?;
        for step in 1.. {
            self.note(&last);
            answers.fetch_add(1, Ordering::Relaxed);
            let Some(choice) = crate::next_choice(&last) else { break };
            last = client.choose(&format!("{id}.{step}"), &last.round_id, choice, None).await?;
        }
        Ok(())
    }

    pub fn next_round(&mut self) {
        self.round += 1;
    }

    fn note(&mut self, played: &Played) {
        let mut played = played.clone();
        if let Some(jackpot) = played.jackpot.take() {
            self.jackpots.insert(jackpot.hit_position, jackpot);
        }
        let id = format!("{}#{}", played.round_id, played.step);
        if let Some(before) = self.answers.insert(id.clone(), played.clone()) {
            assert_eq!(before, played, "the repeated request {id} got another answer");
        }
    }

    pub async fn check(&mut self, client: &mut Client) {
        assert_eq!(self.check_pruned(client).await, 0, "no request is archived");
    }

    /// Repeats all requests, which must have no effect. Returns the number of archived rounds.
    pub async fn check_pruned(&mut self, client: &mut Client) -> u64 {
        let (rounds, answers, mut archived) = (self.round, Arc::default(), 0);
        for round in 0..=rounds {
            self.round = round;
            match self.play_round(client, &answers).await {
                Err(status) if reason(&status) == "ARCHIVED" => archived += 1,
                repeated => repeated.expect("a repeated request is answered"),
            }
        }
        self.round = rounds + 1;
        let settled = self.answers.values().filter(|answer| answer.state() == RoundState::Settled);
        let wins: i64 = settled.clone().filter_map(|answer| answer.win.as_ref()).map(|win| win.amount_minor).sum();
        let bets: i64 = settled.filter_map(|answer| answer.bet.as_ref()).map(|bet| bet.amount_minor).sum();
        let jackpots: i64 =
            self.jackpots.values().filter_map(|won| won.amount.as_ref()).map(|won| won.amount_minor).sum();
        assert_eq!(client.balance(&self.account).await, DEPOSIT - bets + wins + jackpots);
        archived
    }

    pub async fn balance_is_served(&self, client: &mut Client) {
        client.balance(&self.account).await;
    }
}
