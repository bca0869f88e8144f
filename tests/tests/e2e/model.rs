use motherlode_proto::{
    jackpot::v1::{ResumePoolRequest, SuspendPoolRequest},
    ledger::v1::{DepositRequest, OpenAccountRequest, SetExchangeRateRequest, VoidRoundRequest, WithdrawRequest},
    round::v1::{Awaiting, Card, MarkKind, RoundState, Stake, choice},
    spin::v1::{OpenSessionRequest, PlayMode, Played, SpinRequest},
};
use motherlode_slots::{Game, latest_games};
use motherlode_state::{Account as Books, CoinValue, Currency};
use motherlode_tests::Server;
use motherlode_tests::{Client, account, campaign, checked, free_round, next_choice, reason, stake_on, start};
use proptest::{
    collection::vec,
    test_runner::{Config, RngSeed, TestRunner},
};
use std::collections::BTreeMap;
use tonic::Status;

const POOL: &str = "bewitched";
const PLAYERS: [&str; 2] = ["ann", "ben"];
const CURRENCIES: [&str; 2] = ["EUR", "SEK"];
const PLAY: &str = "XTS";

type Op = (u8, usize, u64);

type AccountKey = (&'static str, &'static str);

fn purse((name, currency): AccountKey) -> &'static str {
    match (name, currency) {
        ("ann", PLAY) => "ann in demo",
        (_, PLAY) => "ben in demo",
        _ => name,
    }
}

type Piece = (String, i64);

type Shelf = (&'static str, &'static str, String);

#[derive(Default)]
struct Model {
    balances: BTreeMap<AccountKey, i64>,
    rounds: BTreeMap<String, Round>,
    open: BTreeMap<(&'static str, &'static str), Played>,
    pool: i128,
    suspended: bool,
    krona: i128,
    crystals: BTreeMap<Shelf, ([Vec<Piece>; 4], bool)>,
    potions: BTreeMap<Shelf, (Vec<Piece>, i64)>,
    answers: Vec<(SpinRequest, Played)>,
    campaigns: BTreeMap<(AccountKey, String), Campaign>,
}

struct Campaign {
    game: &'static dyn Game,
    stake: Stake,
    left: u32,
}

#[derive(Clone)]
struct Round {
    key: AccountKey,
    bet: i64,
    campaign: String,
    win: Option<i64>,
    credited: i64,
    shelf: Option<Shelf>,
    figures: [BTreeMap<String, i64>; 2],
}

impl Model {
    fn bet(&mut self, key: AccountKey, game: &'static dyn Game, request: &SpinRequest, played: &Played) {
        let stake = request.stake.as_ref().unwrap();
        let coins = i128::from(stake.lines * stake.coins_per_line) * if stake.buy_feature { 70 } else { 1 };
        let micros = i64::try_from(stake.coin_value.parse::<CoinValue>().unwrap().0).unwrap();
        let bet = i64::try_from(coins * i128::from(micros) / 10_000).unwrap();
        let rate = if key.1 == "SEK" { self.krona } else { 10_000 };
        let free = !request.campaign_id.is_empty();
        let pays = game.name() == POOL && !self.suspended && !free && key.1 != PLAY;
        // 0.5 % of the bet, in 1e-9 EUR: 0.005 * (bet / 100) * (rate / 10_000) / 1e-9.
        let contributed = if pays { i128::from(bet) * rate * 5 } else { 0 };
        self.pool += contributed;
        let shelf = match game.name() {
            "dwarf-mine" => Some((key.0, game.name(), key.1.to_owned())),
            "witch-feature" => Some((key.0, game.name(), format!("{} {}.{:02}", key.1, bet / 100, bet % 100))),
            _ => None,
        };
        let before = shelf.as_ref().map(|shelf| self.figures(shelf)).unwrap_or_default();
        let paid = if free { 0 } else { bet };
        *self.balances.get_mut(&key).unwrap() -= paid;
        let round = Round {
            key,
            bet: paid,
            campaign: request.campaign_id.clone(),
            win: None,
            credited: 0,
            shelf: shelf.clone(),
            figures: [before.clone(), before],
        };
        self.rounds.insert(played.round_id.clone(), round);
        if let Some(shelf) = shelf {
            self.collect(game, &shelf, &played.round_id, micros, played);
            let after = self.figures(&shelf);
            self.rounds.get_mut(&played.round_id).unwrap().figures[1] = after;
        }
        self.answered(key, game, played);
    }

    fn collect(&mut self, game: &dyn Game, shelf: &Shelf, round: &str, micros: i64, played: &Played) {
        let spins = &played.outcome.as_ref().unwrap().spins;
        let marks = spins.iter().flat_map(|spin| &spin.marks);
        let names = marks.map(|mark| {
            (mark.kind(), game.info().symbols[mark.value as usize % game.info().symbols.len()].name.to_lowercase())
        });
        if game.name() == "dwarf-mine" {
            let had = self.crystals.iter().any(|((name, _, scope), (_, given))| {
                *given && *name == shelf.0 && (scope == PLAY) == (shelf.2 == PLAY)
            });
            let (crystals, given) = self.crystals.entry(shelf.clone()).or_default();
            if !had {
                *given = true;
                crystals[3].extend(vec![(round.to_owned(), 0); 3]);
            }
            for (_, name) in names.filter(|(kind, _)| *kind == MarkKind::Crystal) {
                let colours = ["green", "yellow", "blue", "red"];
                let colour = colours.iter().position(|colour| name.contains(colour)).unwrap();
                crystals[colour].push((round.to_owned(), micros));
                if crystals[colour].len() == 5 {
                    crystals[colour].clear();
                }
            }
            return;
        }
        let new = !self.potions.contains_key(shelf);
        for (_, name) in names.filter(|(kind, _)| *kind == MarkKind::Potion) {
            let colours = ["red", "blue", "green"];
            let colour = colours.iter().position(|colour| name.contains(colour)).unwrap();
            let (potions, _) = self.potions.entry(shelf.clone()).or_insert((vec![], 1));
            potions.push((round.to_owned(), i64::try_from(colour).unwrap() + 1));
        }
        let Some((potions, unlocked)) = self.potions.get_mut(shelf) else { return };
        if potions.len() >= 3 {
            let mut three: Vec<_> = potions.drain(..3).map(|(_, potion)| potion).collect();
            three.sort_unstable();
            let features = [[1, 2, 3], [1, 2, 2], [1, 3, 3], [2, 2, 3]];
            let feature = features.iter().position(|of| three == of).map_or(9, |at| i64::try_from(at).unwrap() + 1);
            if feature == *unlocked {
                *unlocked = (feature + 1).min(4);
            }
            if new && potions.is_empty() && *unlocked == 1 {
                self.potions.remove(shelf);
            }
        }
    }

    fn figures(&self, shelf: &Shelf) -> BTreeMap<String, i64> {
        let mut figures = vec![];
        if let Some((crystals, given)) = self.crystals.get(shelf) {
            for (colour, crystals) in ["green", "yellow", "blue", "red"].iter().zip(crystals) {
                figures.push(((*colour).to_owned(), i64::try_from(crystals.len()).unwrap()));
                figures.push((format!("{colour}_micros"), crystals.iter().map(|(_, micros)| micros).sum()));
            }
            let gifts = crystals[3].iter().filter(|(_, micros)| *micros == 0).count();
            figures.push(("red_gifted".to_owned(), i64::try_from(gifts).unwrap()));
            figures.push(("given".to_owned(), i64::from(*given)));
        }
        if let Some((potions, unlocked)) = self.potions.get(shelf) {
            figures.push(("unlocked".to_owned(), *unlocked));
            figures.extend(potions.iter().zip(1..).map(|((_, potion), slot)| (format!("potion_{slot}"), *potion)));
        }
        figures.into_iter().filter(|(_, figure)| *figure != 0).collect()
    }

    fn answered(&mut self, key: AccountKey, game: &'static dyn Game, played: &Played) {
        assert!(played.jackpot.is_none(), "no case wins the jackpot");
        let round = self.rounds.get_mut(&played.round_id).unwrap();
        let credited = i64::try_from(played.outcome.as_ref().unwrap().credited_minor).unwrap();
        round.credited += credited;
        *self.balances.get_mut(&key).unwrap() += credited;
        match played.state() {
            RoundState::Settled => {
                let win = i64::try_from(played.outcome.as_ref().unwrap().round_win_minor).unwrap();
                round.win = Some(win);
                *self.balances.get_mut(&key).unwrap() += win - round.credited;
                self.open.remove(&(purse(key), game.name()));
            }
            _ => _ = self.open.insert((purse(key), game.name()), played.clone()),
        }
    }

    fn void(&mut self, id: &str, now: &BTreeMap<String, i64>) {
        let round = self.rounds.remove(id).unwrap();
        self.open.retain(|_, open| open.round_id != id);
        let balance = self.balances.get_mut(&round.key).unwrap();
        *balance += round.bet;
        *balance -= round.win.unwrap_or(round.credited).min(*balance);
        if let Some(campaign) = self.campaigns.get_mut(&(round.key, round.campaign.clone())) {
            campaign.left += 1;
        }
        let Some(shelf) = round.shelf else { return };
        let exact = self.figures(&shelf) == round.figures[1];
        if exact {
            assert_eq!(*now, round.figures[0], "{id}: the collection must equal that before the round");
        }
        self.taken(&shelf, id, now);
    }

    /// Removes from a collection the pieces that the round added. Later rounds may have used some of them, so the model
    /// checks the bounds of the service's counts and sums, and copies them.
    fn taken(&mut self, shelf: &Shelf, round: &str, now: &BTreeMap<String, i64>) {
        let of = |key: &str| now.get(key).copied().unwrap_or(0);
        if let Some((crystals, given)) = self.crystals.get_mut(shelf) {
            *given = of("given") == 1;
            crystals.iter_mut().for_each(|pieces| pieces.retain(|(of, _)| of != round));
            for (colour, pieces) in ["green", "yellow", "blue", "red"].iter().zip(crystals.iter_mut()) {
                let (count, micros) = (of(colour), of(&format!("{colour}_micros")));
                let gifts = if *colour == "red" { of("red_gifted") } else { 0 };
                let own = count - gifts;
                assert!((0..5).contains(&count) && (0..=3).contains(&gifts) && own >= 0);
                assert!((own * 4_000..=own * 2_000_000).contains(&micros), "{colour}: {now:?}");
                let sum: i64 = pieces.iter().map(|(_, micros)| micros).sum();
                if (pieces.len(), sum) != (usize::try_from(count).unwrap(), micros) {
                    let mut again = vec![("void".to_owned(), 0); usize::try_from(gifts).unwrap()];
                    again.extend(
                        (0..own).map(|number| ("void".to_owned(), micros / own + i64::from(number < micros % own))),
                    );
                    *pieces = again;
                }
            }
        }
        if let Some((potions, unlocked)) = self.potions.get_mut(shelf) {
            potions.retain(|(of, _)| of != round);
            let kept: Vec<_> = [of("potion_1"), of("potion_2")].into_iter().filter(|potion| *potion > 0).collect();
            if potions.iter().map(|(_, potion)| *potion).ne(kept.iter().copied()) {
                *potions = kept.into_iter().map(|potion| ("void".to_owned(), potion)).collect();
            }
            *unlocked = of("unlocked").max(1);
            if of("unlocked") == 0 {
                self.potions.remove(shelf);
            }
        }
    }
}

struct World {
    data: tempfile::TempDir,
    server: Server,
    client: Client,
    model: Model,
}

impl World {
    async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let server = start(data.path()).await;
        let client = Client::connect(server.address()).await;
        let model = Model { krona: 875, ..Model::default() };
        let mut world = Self { data, server, client, model };
        world.set_rate("first", 875).await;
        for key in PLAYERS.into_iter().flat_map(|name| CURRENCIES.map(|currency| (name, currency))) {
            let account = Some(account(key.0, key.1));
            let open = OpenAccountRequest { request_id: format!("open-{}", key.1), account };
            world.client.ledger.open_account(open).await.unwrap();
            world.model.balances.insert(key, 0);
            world.deposit(key, &format!("first-{}", key.1), 200_000).await;
        }
        for name in PLAYERS {
            let request = OpenSessionRequest {
                request_id: "demo".into(),
                account: Some(account(name, PLAY)),
                game: POOL.into(),
                mode: PlayMode::Demo.into(),
                ..OpenSessionRequest::default()
            };
            world.client.spin.open_session(request).await.unwrap();
            world.model.balances.insert((name, PLAY), 100_000);
        }
        world
    }

    async fn restart(self) -> Self {
        let Self { data, server, model, .. } = self;
        server.stop().await.unwrap();
        let server = start(data.path()).await;
        let client = Client::connect(server.address()).await;
        Self { data, server, client, model }
    }

    async fn set_rate(&mut self, id: &str, krona: i128) {
        let (currency_code, source) = ("SEK".to_owned(), "test".to_owned());
        let eur_per_unit = format!("0.{krona:04}");
        let request = SetExchangeRateRequest { request_id: id.into(), currency_code, eur_per_unit, source };
        self.client.ledger.set_exchange_rate(request).await.unwrap();
        self.model.krona = krona;
    }

    async fn deposit(&mut self, key: AccountKey, id: &str, amount_minor: i64) {
        let account = Some(account(key.0, key.1));
        let request = DepositRequest { request_id: id.into(), account, amount_minor };
        self.client.ledger.deposit(request).await.unwrap();
        *self.model.balances.get_mut(&key).unwrap() += amount_minor;
    }

    async fn withdraw(&mut self, key: AccountKey, id: &str, amount_minor: i64) {
        let account = Some(account(key.0, key.1));
        let request = WithdrawRequest { request_id: id.into(), account, amount_minor };
        let withdrawn = self.client.ledger.withdraw(request).await;
        let balance = self.model.balances.get_mut(&key).unwrap();
        match withdrawn {
            Ok(_) => *balance -= amount_minor,
            Err(status) => assert!(reason(&status) == "INSUFFICIENT_FUNDS" && amount_minor > *balance, "{status:?}"),
        }
    }

    async fn spin(&mut self, key: AccountKey, id: &str, x: u64) {
        let x = usize::try_from(x).unwrap();
        let game = latest_games()[x % latest_games().len()];
        if self.model.open.contains_key(&(purse(key), game.name())) {
            return self.choose(purse(key), game, id, x).await;
        }
        let coins = &game.info().limits.coin_values_micros;
        let coin = CoinValue(coins[x / 5 % 3]);
        let mut bet = stake_on(game, id, &account(key.0, key.1), coin);
        let stake = bet.stake.as_mut().unwrap();
        stake.buy_feature = game.info().buy_feature_bets.is_some() && x.is_multiple_of(11);
        match self.client.spin(bet.clone(), None).await {
            Ok(played) => {
                self.model.bet(key, game, &bet, &played);
                self.model.answers.push((bet, played));
            }
            Err(status) => assert_eq!(reason(&status), "INSUFFICIENT_FUNDS", "{status:?}"),
        }
    }

    async fn grant(&mut self, key: AccountKey, id: &str, x: u64) {
        let x = usize::try_from(x).unwrap();
        let game = latest_games()[x % latest_games().len()];
        let coin = CoinValue(game.info().limits.coin_values_micros[x / 5 % 3]);
        let rounds = u32::try_from(x % 7).unwrap() + 1;
        let mut request = campaign(game, id, &account(key.0, key.1), rounds);
        request.stake = stake_on(game, "", &account(key.0, key.1), coin).stake;
        let stake = request.stake.clone().unwrap();
        self.client.spin.grant_campaign(request).await.unwrap();
        self.model.campaigns.insert((key, id.to_owned()), Campaign { game, stake, left: rounds });
    }

    async fn free_spin(&mut self, key: AccountKey, id: &str, x: u64) {
        let mine = self.model.campaigns.iter().filter(|((of, _), _)| *of == key);
        let count = mine.clone().count().max(1);
        let Some(((_, campaign_id), granted)) = mine.clone().nth(usize::try_from(x).unwrap() % count) else { return };
        let (granted_key, game, left) = ((key, campaign_id.clone()), granted.game, granted.left);
        let bet = free_round(game, id, &account(key.0, key.1), campaign_id);
        let staked = SpinRequest { stake: Some(granted.stake.clone()), ..bet.clone() };
        match self.client.spin(bet.clone(), None).await {
            Ok(played) => {
                self.model.campaigns.get_mut(&granted_key).unwrap().left -= 1;
                self.model.bet(key, game, &staked, &played);
                self.model.answers.push((bet, played));
            }
            Err(status) if reason(&status) == "CAMPAIGN_USED_UP" => assert_eq!(left, 0),
            Err(status) => {
                let open = self.model.open.contains_key(&(purse(key), game.name()));
                assert!(open && reason(&status) == "ROUND_IN_PROGRESS", "{status:?}");
            }
        }
    }

    async fn choose(&mut self, whose: &'static str, game: &'static dyn Game, id: &str, x: usize) {
        let Some(open) = self.model.open.get(&(whose, game.name())).cloned() else { return };
        let gamble = open.outcome.as_ref().unwrap().awaiting() == Awaiting::Double;
        let choice = match x % 4 {
            0 if gamble => choice::Kind::Double(Card::RedHeart.into()),
            1 if gamble => choice::Kind::Double(Card::BlackSpade.into()),
            2 if gamble => choice::Kind::Halve(choice::Halve {}),
            _ => next_choice(&open).unwrap(),
        };
        match self.client.choose(id, &open.round_id, choice, None).await {
            Ok(played) => {
                let key = self.model.rounds[&open.round_id].key;
                self.model.answered(key, game, &played);
            }
            Err(status) => assert!(gamble && x % 4 == 2, "{status:?}"),
        }
    }

    async fn void(&mut self, name: &str, id: &str, x: u64) {
        let mine = self.model.rounds.iter().filter(|(_, round)| round.key.0 == name);
        let Some((round_id, round)) = mine.clone().nth(usize::try_from(x).unwrap() % mine.count().max(1)) else {
            return;
        };
        let (round_id, shelf) = (round_id.clone(), round.shelf.clone());
        let (reason_given, actor) = ("reel 3 stuck".to_owned(), "ann".to_owned());
        let request =
            VoidRoundRequest { request_id: id.into(), round_id: round_id.clone(), reason: reason_given, actor };
        match self.client.ledger.void_round(request).await {
            Ok(_) => {
                let now = shelf.map(|shelf| self.figures(&shelf)).unwrap_or_default();
                self.model.void(&round_id, &now);
            }
            Err(status) => {
                let (name, game, scope) = shelf.expect("only a game with a collection can refuse a void");
                let name = purse((name, if scope.starts_with(PLAY) { PLAY } else { "" }));
                let in_progress = reason(&status) == "ROUND_IN_PROGRESS";
                assert!(in_progress && self.model.open.contains_key(&(name, game)), "{status:?}");
            }
        }
    }

    async fn switch_pool(&mut self, id: &str) {
        let (request_id, pool_id, actor) = (id.to_owned(), POOL.to_owned(), "ops".to_owned());
        let done: Result<(), Status> = match self.model.suspended {
            true => {
                let request = ResumePoolRequest { request_id, pool_id, actor };
                self.client.jackpot.resume_pool(request).await.map(|_| ())
            }
            false => {
                let request = SuspendPoolRequest { request_id, pool_id, reason: "test".into(), actor };
                self.client.jackpot.suspend_pool(request).await.map(|_| ())
            }
        };
        done.unwrap();
        self.model.suspended ^= true;
    }

    async fn ask_again(&mut self, x: u64) {
        let count = u64::try_from(self.model.answers.len().max(1)).unwrap();
        if let Some((request, played)) = self.model.answers.get(usize::try_from(x % count).unwrap()).cloned() {
            assert_eq!(self.client.spin(request, None).await.unwrap(), played);
        }
    }

    fn figures(&self, shelf: &Shelf) -> BTreeMap<String, i64> {
        let (name, game, scope) = shelf;
        let figures = self.server.player(name).collection(game, scope).cloned().unwrap_or_default();
        figures.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }

    fn agree(&self, after: &str) {
        let model = &self.model;
        for ledger in self.server.ledgers().all() {
            assert!(ledger.books(|books| books.trial_balance().is_empty()), "PL-09");
        }
        let balance =
            |(name, currency): &AccountKey| self.server.player(name).balance(currency.parse().unwrap()).unwrap().0;
        let balances: BTreeMap<_, _> = model.balances.keys().map(|key| (*key, balance(key))).collect();
        assert_eq!(balances, model.balances, "{after}");
        for (((name, _), id), campaign) in &model.campaigns {
            let left = self.server.player(name).campaign(id).map(|state| state.left());
            assert_eq!(left, Some(u64::from(campaign.left)), "{after}: {id}");
        }
        let holding = |account| self.server.holding(account, Currency::EUR);
        assert_eq!(self.server.collected(POOL) + holding(Books::Reserve(POOL)), model.pool, "{after}");
        assert_eq!(holding(Books::SeedFunding(POOL)), 0);
        for shelf in model.crystals.keys().chain(model.potions.keys()) {
            assert_eq!(self.figures(shelf), model.figures(shelf), "{after}: {shelf:?}");
        }
    }
}

async fn history(ops: &[Op]) {
    let mut world = World::new().await;
    for (number, (kind, who, x)) in ops.iter().copied().enumerate() {
        let (id, name) = (format!("op-{number}"), PLAYERS[who]);
        let key = (name, CURRENCIES[usize::from(x / 15 % 3 == 2)]);
        let bets_in = if x / 45 % 4 == 3 { (name, PLAY) } else { key };
        match kind {
            0..=9 => {
                let game = latest_games()[usize::try_from(x).unwrap() % latest_games().len()];
                let rounds = if game.carries().keys.is_empty() { 1 } else { 25 };
                for round in 0..rounds {
                    world.spin(bets_in, &format!("{id}.{round}"), x).await;
                }
            }
            10 | 11 => {
                let whose = purse(bets_in);
                let open = world.model.open.keys().find(|(of, _)| *of == whose).copied();
                if let Some(game) = open.and_then(|(_, game)| latest_games().iter().find(|of| of.name() == game)) {
                    world.choose(whose, *game, &id, usize::try_from(x).unwrap()).await;
                }
            }
            12 | 13 => world.void(name, &id, x).await,
            14 => world.deposit(key, &id, i64::try_from(x).unwrap() + 1).await,
            15 => world.withdraw(key, &id, i64::try_from(x).unwrap() * 4 + 1).await,
            16 => world.ask_again(x).await,
            17 => world.set_rate(&id, 800 + i128::from(x % 200)).await,
            18 => world.switch_pool(&id).await,
            19 => world.grant(key, &id, x).await,
            20..=22 => {
                for round in 0..3 {
                    world.free_spin(key, &format!("{id}.{round}"), x).await;
                }
            }
            _ if x.is_multiple_of(3) => world = world.restart().await,
            _ => {}
        }
        world.agree(&format!("{number}: {kind} {who} {x}"));
    }
    world = world.restart().await;
    world.agree("a restart");
    world.server.stop().await.unwrap();
    checked(world.data.path());
}

#[test]
fn pl_17_pl_18_a_simple_model_agrees_at_every_step_of_any_history() {
    let config = Config {
        cases: 6,
        rng_seed: RngSeed::Fixed(21),
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ops = vec((0..24_u8, 0..PLAYERS.len(), 0..10_000_u64), 100..200);
    let run = TestRunner::new(config).run(&ops, |ops| {
        runtime.block_on(history(&ops));
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
}
