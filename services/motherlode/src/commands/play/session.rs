use super::{args::Args, console::Console, demo};
use crate::{
    client::{self, Client, insist},
    commands::Failure,
    draw,
    figures::{cash, coin_view, grouped},
};
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::{DepositRequest, GetAccountRequest, GetRoundRequest, ListCollectionsRequest, OpenAccountRequest},
    round::v1::{self as round, Account, Awaiting, Card, Choice, Outcome, Witch, choice, jackpot_win},
    spin::v1::{ChooseRequest, GetGameRequest, Played, SpinRequest},
};
use motherlode_rounds::collection;
use motherlode_slots::{self as slots, Game, SymbolRole};
use motherlode_state::{CoinValue, Currency, Minor};
use std::{
    io::{BufRead, Write},
    time::Duration,
};
use tonic::Status;

const FUNDED_BETS: i64 = 200;
const FUNDED_UNITS: i64 = 100;
const REMEDIES_MAX: usize = 6;
const AWARD_TRIES_MAX: usize = 40;
const AWARD_WAIT: Duration = Duration::from_millis(250);

pub(super) struct Session<'a, W, R> {
    client: Client,
    args: &'a Args,
    console: &'a mut Console<W, R>,
    game: &'static dyn Game,
    account: Account,
    witch: Witch,
    session_id: String,
    sum: Sum,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    begun: u64,
    rounds: u64,
    bet: i64,
    won: i64,
    jackpots: i64,
}

struct Won {
    win: i64,
    jackpots: i64,
}

enum Next {
    Settled,
    Choice(choice::Kind),
    LeftOpen,
}

impl<'a, W: Write, R: BufRead> Session<'a, W, R> {
    pub(super) async fn start(client: Client, args: &'a Args, console: &'a mut Console<W, R>) -> Result<Self, Failure> {
        let request = GetGameRequest { game: args.game.clone(), ..GetGameRequest::default() };
        let described = insist(&request, |request| {
            let mut spin = client.spin.clone();
            async move { spin.get_game(request).await }
        });
        let summary = described.await.map_err(|status| client::explain(&status))?.summary.unwrap_or_default();
        let game = known(&summary.game, &summary.rules_version, &summary.model_hash)?;
        let account = Account {
            operator_id: args.operator.clone(),
            player_id: args.player.clone(),
            currency_code: args.currency().code().to_owned(),
        };
        let witch = args.witch.map_or(Witch::Unspecified, Witch::from);
        let session_id = match args.demo {
            true => demo::open(&client, &account, game.name()).await?,
            false => String::new(),
        };
        Ok(Self { client, args, console, game, account, witch, session_id, sum: Sum::default() })
    }

    pub(super) async fn play(mut self) -> Result<(), Failure> {
        let played = self.play_all().await;
        if !self.session_id.is_empty() {
            demo::close(&self.client, &self.session_id).await?;
        }
        played
    }

    async fn play_all(&mut self) -> Result<(), Failure> {
        for _ in 0..self.args.rounds {
            let Some(played) = self.spin().await? else { break };
            let bet = played.bet.as_ref().filter(|_| played.campaign_id.is_empty()).map_or(0, |bet| bet.amount_minor);
            self.heading(&played.round_id, played.bet.as_ref(), &played.campaign_id)?;
            let Some(Won { win, jackpots }) = self.play_on(self.game, played).await? else { break };
            self.sum.rounds += 1;
            self.sum.bet += bet;
            self.sum.won += win;
            self.sum.jackpots += jackpots;
        }
        self.conclude()
    }

    async fn spin(&mut self) -> Result<Option<Played>, Failure> {
        // A refused bet has no effect, so all attempts use the same request id.
        let request_id = client::request_id()?;
        let client_seed = client::request_id()?.into_bytes();
        let stake = self.args.stake.in_currency(self.game, self.args.currency());
        for _ in 0..REMEDIES_MAX {
            let request = SpinRequest {
                request_id: request_id.clone(),
                account: Some(self.account.clone()),
                game: self.args.game.clone(),
                rules_version: self.game.rules_version().to_owned(),
                stake: self.args.campaign.is_none().then(|| round::Stake {
                    coin_value: CoinValue(stake.coin_value_micros).to_string(),
                    lines: stake.lines,
                    coins_per_line: stake.coins_per_line,
                    buy_feature: stake.buy_feature,
                }),
                session_id: self.session_id.clone(),
                campaign_id: self.args.campaign.clone().unwrap_or_default(),
                witch: self.witch.into(),
                offer_double: self.args.double,
                client_seed: client_seed.clone(),
                seal: vec![],
                operator_session: String::new(),
            };
            let spun = insist(&request, |request| {
                let mut spin = self.client.spin.clone();
                async move { spin.spin(request).await }
            });
            match spun.await {
                Ok(response) => return response.played.map(Some).ok_or_else(no_answer),
                Err(refusal) => {
                    if !self.mend(&refusal).await? {
                        return Ok(None);
                    }
                }
            }
        }
        Err(Failure::found("the service still refuses the bet after the account was opened and funded"))
    }

    /// Removes the cause of a refusal, for example by a deposit. Returns false if the cause remains.
    async fn mend(&mut self, refusal: &Status) -> Result<bool, Failure> {
        match client::reason(refusal).as_str() {
            "INSUFFICIENT_FUNDS" if self.args.demo => {
                demo::close(&self.client, &self.session_id).await?;
                self.session_id = demo::open(&self.client, &self.account, self.game.name()).await?;
                Ok(true)
            }
            "ACCOUNT_UNKNOWN" => self.open_account().await.map(|()| true),
            "INSUFFICIENT_FUNDS" => self.deposit(refusal).await.map(|()| true),
            "WITCH_NOT_PICKED" if self.args.auto => {
                self.witch = Witch::White;
                Ok(true)
            }
            "WITCH_NOT_PICKED" => {
                let picked = self.console.ask_witch()?;
                self.witch = picked.unwrap_or_default();
                Ok(picked.is_some())
            }
            "ROUND_IN_PROGRESS" => self.resume(&client::metadata(refusal, "round_id")).await,
            _ => Err(client::explain(refusal)),
        }
    }

    async fn open_account(&mut self) -> Result<(), Failure> {
        let request = OpenAccountRequest { request_id: client::request_id()?, account: Some(self.account.clone()) };
        let opened = insist(&request, |request| {
            let mut ledger = self.client.ledger.clone();
            async move { ledger.open_account(request).await }
        });
        opened.await.map_err(|status| client::explain(&status))?;
        let Account { operator_id, player_id, currency_code } = &self.account;
        self.console.say(&format!("Opened an account in {currency_code} for {operator_id}/{player_id}.\n"))
    }

    async fn deposit(&mut self, refusal: &Status) -> Result<(), Failure> {
        let bet: i64 = client::metadata(refusal, "bet_minor").parse().map_err(|_| client::explain(refusal))?;
        let least = FUNDED_UNITS * 10_i64.pow(self.args.currency().digits());
        let amount = bet.saturating_mul(FUNDED_BETS).max(least);
        let request = DepositRequest {
            request_id: client::request_id()?,
            account: Some(self.account.clone()),
            amount_minor: amount,
        };
        let booked = insist(&request, |request| {
            let mut ledger = self.client.ledger.clone();
            async move { ledger.deposit(request).await }
        });
        booked.await.map_err(|status| client::explain(&status))?;
        self.console.say(&format!("Deposited {}.\n", self.money(amount)))
    }

    async fn resume(&mut self, round_id: &str) -> Result<bool, Failure> {
        let round = self.round(round_id).await?;
        let game = known(&round.game, &round.rules_version, &round.model_hash)?;
        let Some(step) = round.steps.last() else { return Err(no_answer()) };
        self.console.say("\nContinuing an open round.\n")?;
        self.heading(round_id, round.bet.as_ref(), &round.campaign_id)?;
        let played = Played {
            round_id: round_id.to_owned(),
            step: step.number,
            outcome: step.outcome.clone(),
            bet: round.bet.clone(),
            win: round.win.clone(),
            balance: round.balance_after.clone(),
            state: round.state,
            position: step.position,
            jackpot: None,
            campaign_id: round.campaign_id.clone(),
            ..Played::default()
        };
        Ok(self.play_on(game, played).await?.is_some())
    }

    async fn round(&self, round_id: &str) -> Result<round::Round, Failure> {
        let request = GetRoundRequest { round_id: round_id.to_owned() };
        let found = insist(&request, |request| {
            let mut ledger = self.client.ledger.clone();
            async move { ledger.get_round(request).await }
        });
        found.await.map_err(|status| client::explain(&status))?.round.ok_or_else(no_answer)
    }

    async fn play_on(&mut self, game: &dyn Game, mut played: Played) -> Result<Option<Won>, Failure> {
        let mut jackpots = vec![];
        loop {
            let outcome = played.outcome.take().unwrap_or_default();
            let (currency, colour, columns) = (self.args.currency(), self.console.colour(), self.console.columns());
            self.console.say(&draw::outcome_in_columns(game.info(), &outcome, currency, colour, columns))?;
            if played.step == 1 {
                self.shelf(game, played.bet.as_ref()).await?;
            }
            jackpots.extend(self.jackpot(&played).await?);
            match self.next(game, &outcome)? {
                Next::Choice(kind) => played = self.choose(game, &played.round_id, kind).await?,
                Next::Settled => {
                    self.close(&played, !jackpots.is_empty()).await?;
                    let win = played.win.as_ref().map_or(0, |win| win.amount_minor);
                    return Ok(Some(Won { win, jackpots: jackpots.iter().sum() }));
                }
                Next::LeftOpen => {
                    let left = format!("The round {} is still open; run play again to continue it.\n", played.round_id);
                    self.console.say(&left)?;
                    return Ok(None);
                }
            }
        }
    }

    async fn shelf(&mut self, game: &dyn Game, bet: Option<&round::Money>) -> Result<(), Failure> {
        if game.carries().keys.is_empty() {
            return Ok(());
        }
        let request = ListCollectionsRequest { account: Some(self.account.clone()), game: game.name().to_owned() };
        let listed = insist(&request, |request| {
            let mut ledger = self.client.ledger.clone();
            async move { ledger.list_collections(request).await }
        });
        let listed = listed.await.map_err(|status| client::explain(&status))?.collections;
        let bet = Minor(bet.map_or(0, |bet| bet.amount_minor));
        let scope = collection::scope(game, self.args.currency(), bet);
        let figures = listed.into_iter().find(|of| of.scope == scope).map(|of| of.figures).unwrap_or_default();
        let figure = |key: &str| figures.iter().find(|figure| figure.key == key).map_or(0, |figure| figure.value);
        self.console.say(&draw::shelf(game.info(), &figure, self.console.colour()))
    }

    async fn choose(&mut self, game: &dyn Game, round_id: &str, kind: choice::Kind) -> Result<Played, Failure> {
        let choice = Choice { kind: Some(kind) };
        self.console.say(&format!("\n  {} {}\n", self.account.player_id, draw::choice(Some(game.info()), &choice)))?;
        let request = ChooseRequest {
            request_id: client::request_id()?,
            round_id: round_id.to_owned(),
            choice: Some(choice),
            ..ChooseRequest::default()
        };
        let chosen = insist(&request, |request| {
            let mut spin = self.client.spin.clone();
            async move { spin.choose(request).await }
        });
        chosen.await.map_err(|status| client::explain(&status))?.played.ok_or_else(no_answer)
    }

    fn next(&mut self, game: &dyn Game, outcome: &Outcome) -> Result<Next, Failure> {
        let asked = match outcome.awaiting() {
            Awaiting::Nothing => return Ok(Next::Settled),
            _ if self.args.auto => automatic(outcome, self.args.double && outcome.double_strip.is_empty()),
            Awaiting::Pick => {
                let bonus = game.info().symbols.iter().find(|symbol| symbol.role == SymbolRole::Bonus);
                let whose = bonus.map_or("Bonus", |symbol| symbol.name.as_str());
                self.console.ask_pick(whose, outcome.pick.unwrap_or_default())?
            }
            Awaiting::FreeSpins => self.console.ask_free_spins()?,
            Awaiting::Feature => self.console.ask_feature()?,
            Awaiting::Double => self.console.ask_double(game.info().halve)?,
            Awaiting::Spin | Awaiting::Unspecified => automatic(outcome, false),
        };
        Ok(asked.map_or(Next::LeftOpen, Next::Choice))
    }

    /// Returns the jackpot's award in minor units: `None` without a hit, 0 if still pending after the maximum wait.
    async fn jackpot(&mut self, played: &Played) -> Result<Option<i64>, Failure> {
        let Some(hit) = &played.jackpot else { return Ok(None) };
        let mut award = hit.clone();
        for _ in 0..AWARD_TRIES_MAX {
            if award.state() == jackpot_win::State::Paid {
                break;
            }
            tokio::time::sleep(AWARD_WAIT).await;
            let round = self.round(&played.round_id).await?;
            award = round.jackpots.into_iter().find(|of| of.hit_position == hit.hit_position).unwrap_or(award);
        }
        let Some(amount) = award.amount else {
            self.console.say("  The award is pending; the service will pay it.\n")?;
            return Ok(Some(0));
        };
        self.console.say(&format!("  The pool {} pays {}.\n", award.pool_id, cash(&amount)))?;
        Ok(Some(amount.amount_minor))
    }

    fn heading(&mut self, round_id: &str, bet: Option<&round::Money>, campaign: &str) -> Result<(), Failure> {
        self.sum.begun += 1;
        let bet = bet.map(cash).unwrap_or_default();
        let bet = if campaign.is_empty() { bet } else { format!("{bet} of {campaign}") };
        let rule = self.console.columns().min(80).saturating_sub(round_id.chars().count() + bet.chars().count() + 18);
        self.console.say(&format!("\n── round {round_id} {} bet {bet} ──\n", "─".repeat(rule)))
    }

    async fn close(&mut self, played: &Played, jackpot: bool) -> Result<(), Failure> {
        let balance = match played.balance.clone() {
            Some(_) if jackpot => self.balance().await?,
            Some(balance) => balance,
            None => return Err(no_answer()),
        };
        let win = played.win.as_ref().map(cash).unwrap_or_default();
        let coin = CoinValue(self.args.stake.in_currency(self.game, self.args.currency()).coin_value_micros);
        let coins = coin_view(Minor(balance.amount_minor), self.args.currency(), coin);
        let coins = format!("{} coins of {coin}", grouped(&coins.to_string()));
        let left = format!("  win {win}, balance {} ({coins})", cash(&balance));
        let place = format!("log position {}", grouped(&played.position.to_string()));
        let gap = self.console.columns().min(80).saturating_sub(left.chars().count());
        match gap > place.len() + 1 || self.console.columns() >= 80 {
            true => self.console.say(&format!("{left}{place:>0$}\n", gap.max(place.len() + 2))),
            false => self.console.say(&format!("{left}\n  {place}\n")),
        }
    }

    async fn balance(&self) -> Result<round::Money, Failure> {
        let request = GetAccountRequest { account: Some(self.account.clone()) };
        let found = insist(&request, |request| {
            let mut ledger = self.client.ledger.clone();
            async move { ledger.get_account(request).await }
        });
        found.await.map_err(|status| client::explain(&status))?.balance.ok_or_else(no_answer)
    }

    fn conclude(&mut self) -> Result<(), Failure> {
        let Sum { begun, rounds, bet, won, jackpots } = self.sum;
        if begun == 0 {
            return Err(Failure::found(
                "no round was played: the input ended before the first bet. Answer the question, or let --auto choose",
            ));
        }
        if rounds < 2 {
            return Ok(());
        }
        let mut text = format!("\n{rounds} rounds: bet {}, won {}", self.money(bet), self.money(won));
        if jackpots > 0 {
            text.push_str(&format!(", jackpots {}", self.money(jackpots)));
        }
        self.console.say(&format!("{text}, net {}\n", self.money(won + jackpots - bet)))
    }

    fn money(&self, minor: i64) -> String {
        let currency: Currency = self.args.currency();
        format!("{} {currency}", grouped(&Minor(minor).to_decimal(currency)))
    }
}

fn automatic(outcome: &Outcome, double: bool) -> Option<choice::Kind> {
    match outcome.awaiting() {
        Awaiting::Pick => {
            let numbers = (1..=outcome.pick?.needs).collect();
            Some(choice::Kind::Pick(choice::Pick { numbers }))
        }
        Awaiting::FreeSpins => Some(choice::Kind::StartFreeSpins(choice::StartFreeSpins {})),
        Awaiting::Feature => Some(choice::Kind::StartFeature(choice::StartFeature {})),
        Awaiting::Double if double => Some(choice::Kind::Double(Card::RedHeart.into())),
        Awaiting::Double => Some(choice::Kind::Collect(choice::Collect {})),
        Awaiting::Spin => Some(choice::Kind::Spin(choice::Spin {})),
        Awaiting::Nothing | Awaiting::Unspecified => None,
    }
}

/// Returns the game. Fails if the service's model of the game differs from this program's, because the drawing would
/// show wrong symbols.
fn known(name: &str, rules_version: &str, model_hash: &str) -> Result<&'static dyn Game, Failure> {
    let game = slots::game(name, rules_version).filter(|game| hex(&game.model_hash()) == model_hash);
    game.ok_or_else(|| {
        Failure::found(format!(
            "the service plays {name} {rules_version} with the model {model_hash}, which this program does not have"
        ))
    })
}

fn no_answer() -> Failure {
    Failure::found("the service's answer contains no round")
}
