use crate::{
    append::{AppendError, Proposal, fingerprint},
    bases, changes, day,
    fields::{self, AccountId, money, round_name, timestamp, unknown_account, unknown_round},
    follow::{self, Followers},
    handle::Handle,
    history::{self, HistoryFilter},
    ids,
    ledgers::Ledgers,
    offer,
    outcomes::{self, transaction},
    persons::{self, Persons},
    player_list,
    round_links::RoundLinks,
    rounds, switches, void, wallet_retries,
};
use motherlode_proto::{
    RpcResult,
    convert::{play::hex, record::Logged},
    ledger::v1::{self as wire, ledger_service_server::LedgerService},
};
use motherlode_runtime::{Caller, Reason, Refusal, Stop, field_bounds::SOURCE_MAX};
use motherlode_slots::Ladders;
use motherlode_state::{BaseTaken, Books, Currency, Event, FxRate, Minor, PlayerState, Refused, SmolStr, StreamId};
use prost::Message;
use std::sync::Arc;
use tonic::{Request, Response, codegen::BoxStream};

/// Default number of rounds per page (DM-20).
const PAGE_SIZE: usize = 10;
const PAGE_SIZE_MAX: usize = 100;

#[derive(Clone)]
pub struct LedgerApi {
    ledgers: Ledgers,
    followers: Followers,
    stop: Stop,
    ladders: Arc<Ladders>,
    links: Option<RoundLinks>,
    persons: Option<Persons>,
}

impl LedgerApi {
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, stop: Stop) -> Self {
        let (followers, ladders) = (Followers::default(), offer::standard());
        Self { ledgers: ledgers.into(), followers, stop, ladders, links: None, persons: None }
    }

    /// Adds links to rounds' public pages. Replicas add no links, because only the writer serves these pages.
    #[must_use]
    pub fn with_links(self, links: Option<RoundLinks>) -> Self {
        Self { links, ..self }
    }

    #[must_use]
    pub fn with_persons(self, persons: Option<Persons>) -> Self {
        Self { persons, ..self }
    }

    #[must_use]
    pub fn with_ladders(self, ladders: Arc<Ladders>) -> Self {
        Self { ladders, ..self }
    }

    async fn book(
        &self,
        caller: &Caller,
        method: &str,
        message: &impl Message,
        request_id: &str,
        account: AccountId,
        event: Result<Event, Refusal>,
    ) -> Result<wire::Transaction, Refusal> {
        let logged = self.commit(caller, method, message, request_id, account, event).await?;
        transaction(&logged).ok_or_else(|| Refusal::request_id_reused(request_id))
    }

    /// Commits a request. A repeated request gets its earlier commit, even if a new request would be refused. A new
    /// player's first commit contains the seal of the first draw.
    async fn commit(
        &self,
        caller: &Caller,
        method: &str,
        message: &impl Message,
        request_id: &str,
        account: AccountId,
        event: Result<Event, Refusal>,
    ) -> Result<Arc<Logged>, Refusal> {
        let request_id = fields::id("request_id", request_id)?;
        let fingerprint = fingerprint(method, message);
        let (stream, ledger) = (&account.stream, self.ledgers.for_stream(&account.stream)?);
        let event = match event {
            Ok(event) => event,
            Err(refusal) => return ledger.find(stream, request_id, fingerprint)?.ok_or(refusal),
        };
        loop {
            let opens = matches!(event, Event::AccountOpened { .. });
            let state = opens
                .then(|| ledger.books_of(stream, |books| (books.head(stream).version, books.player(stream).cloned())))
                .transpose()?;
            let (version, player) = state.unwrap_or_default();
            let seal = opens.then(|| ledger.draws().opening(stream, player.as_ref(), &ledger.generations())).flatten();
            let kept = (opens && self.keeps_elsewhere(stream, player.as_ref())).then_some(Event::SeamlessChosen);
            let expected_version = (seal.is_some() || kept.is_some()).then_some(version);
            let acted = caller.actor().map(|_| fields::acted_by(caller, ""));
            let events = [event.clone()].into_iter().chain(seal).chain(kept).chain(acted).collect();
            let (stream, request_id) = (stream.clone(), request_id.to_owned());
            match ledger
                .append(Proposal { stream, expected_version, request_id: request_id.into(), fingerprint, events })
                .await
            {
                Err(AppendError::Conflict { .. }) if expected_version.is_some() => {}
                // The writer has restarted and logged a new salt for draws, so the draw must be sealed again.
                Err(AppendError::Refused(Refused::SealOfOtherGeneration { .. })) => {}
                done => return Ok(done?),
            }
        }
    }

    fn keeps_elsewhere(&self, stream: &StreamId, player: Option<&PlayerState>) -> bool {
        let StreamId::Player { operator, .. } = stream else { return false };
        let has_real = |player: &PlayerState| player.balances().any(|(currency, _)| currency.is_real());
        self.ledgers.operators().is_seamless(operator) && !player.is_some_and(has_real)
    }

    fn account(&self, account: &AccountId) -> Result<Minor, Refusal> {
        let ledger = self.ledgers.for_stream(&account.stream)?;
        let balance =
            ledger.books_of(&account.stream, |books| books.player(&account.stream)?.balance(account.currency))?;
        balance.ok_or_else(unknown_account)
    }

    async fn open_account(
        &self,
        caller: &Caller,
        request: wire::OpenAccountRequest,
    ) -> Result<wire::OpenAccountResponse, Refusal> {
        let account = fields::real_account(caller, request.account.as_ref())?;
        let event = match self.ladders.enabled(account.currency.code()) {
            true => Ok(Event::AccountOpened { currency: account.currency }),
            false => Err(offer::not_offered(&self.ladders, account.currency)),
        };
        let request_id = &request.request_id;
        let logged = self.commit(caller, "open_account", &request, request_id, account, event).await?;
        let transaction = transaction(&logged).ok_or_else(|| Refusal::request_id_reused(request_id))?;
        let seal = logged.commit.events.iter().find_map(|event| match event {
            Event::DrawSealed(sealed) => Some(sealed.seal.to_vec()),
            _ => None,
        });
        Ok(wire::OpenAccountResponse { transaction: Some(transaction), seal: seal.unwrap_or_default() })
    }

    fn get_account(
        &self,
        caller: &Caller,
        request: &wire::GetAccountRequest,
    ) -> Result<wire::GetAccountResponse, Refusal> {
        let account = fields::account(caller, request.account.as_ref())?;
        let read = self.ledgers.for_stream(&account.stream)?.books_of(&account.stream, |books| {
            let player = books.player(&account.stream)?;
            let open = player.open_rounds().map(|round| round_name(&account.stream, round.started.round)).collect();
            let seal = player.draw.map_or_else(Vec::new, |draw| draw.seal.to_vec());
            let reported = player.wallet().and_then(|wallet| wallet.reported);
            let reported = reported.filter(|reported| reported.currency == account.currency);
            Some((player.balance(account.currency)?, player.head.position, open, seal, reported))
        })?;
        let (balance, position, open_round_ids, seal, reported) = read.ok_or_else(unknown_account)?;
        let balance = Some(money(balance, account.currency));
        let reported_balance = reported.map(|reported| wire::ReportedBalance {
            balance: Some(money(reported.balance, reported.currency)),
            position: reported.position,
            time: Some(timestamp(reported.time_ms)),
        });
        Ok(wire::GetAccountResponse { balance, position, open_round_ids, seal, reported_balance })
    }

    async fn deposit(&self, caller: &Caller, request: wire::DepositRequest) -> Result<wire::DepositResponse, Refusal> {
        let account = fields::real_account(caller, request.account.as_ref())?;
        let amount = fields::amount("amount_minor", request.amount_minor, account.currency);
        let event = amount.map(|amount| Event::Deposited { currency: account.currency, amount });
        let transaction = self.book(caller, "deposit", &request, &request.request_id, account, event).await?;
        Ok(wire::DepositResponse { transaction: Some(transaction) })
    }

    async fn withdraw(
        &self,
        caller: &Caller,
        request: wire::WithdrawRequest,
    ) -> Result<wire::WithdrawResponse, Refusal> {
        let account = fields::real_account(caller, request.account.as_ref())?;
        let amount = fields::withdrawal("amount_minor", request.amount_minor, account.currency);
        let event = amount.map(|amount| Event::Withdrawn { currency: account.currency, amount });
        let transaction = self.book(caller, "withdraw", &request, &request.request_id, account, event).await?;
        Ok(wire::WithdrawResponse { transaction: Some(transaction) })
    }

    fn get_transaction(
        &self,
        caller: &Caller,
        request: &wire::GetTransactionRequest,
    ) -> Result<wire::GetTransactionResponse, Refusal> {
        let account = fields::account(caller, request.account.as_ref())?;
        let request_id = fields::id("request_id", &request.request_id)?;
        self.account(&account)?;
        let ledger = self.ledgers.for_stream(&account.stream)?;
        let logged = match ledger.find_position(&account.stream, request_id)? {
            Some(position) => Some(ledger.fetch(position)?),
            None => None,
        };
        let transaction = logged.and_then(|logged| transaction(&logged));
        let of_account = transaction
            .filter(|found| found.account.as_ref().is_some_and(|of| of.currency_code == account.currency.code()));
        let transaction = of_account
            .ok_or_else(|| Refusal::new(Reason::TransactionUnknown, "the account has no such transaction"))?;
        Ok(wire::GetTransactionResponse { transaction: Some(transaction) })
    }

    fn links_of(&self, ledger: &Handle) -> Option<&RoundLinks> {
        self.links.as_ref().filter(|_| !ledger.is_replica())
    }

    async fn get_round(
        &self,
        caller: &Caller,
        request: &wire::GetRoundRequest,
    ) -> Result<wire::GetRoundResponse, Refusal> {
        let id = fields::round_id(caller, &request.round_id)?;
        let ledger = self.ledgers.for_stream(&id.stream)?.clone();
        let links = self.links_of(&ledger);
        let read = move |ledger: &Handle| rounds::read(ledger, &id.stream, id.number);
        let round = self.ledgers.read_round(caller, &ledger, read).await?;
        let mut round = round.ok_or_else(|| unknown_round(&request.round_id))?;
        if let Some(links) = links {
            links.add(&mut round);
        }
        Ok(wire::GetRoundResponse { round: Some(round) })
    }

    async fn list_rounds(
        &self,
        caller: &Caller,
        request: &wire::ListRoundsRequest,
    ) -> Result<wire::ListRoundsResponse, Refusal> {
        let account = fields::account(caller, request.account.as_ref())?;
        fields::optional_id("game", &request.game)?;
        self.account(&account)?;
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size.min(PAGE_SIZE_MAX),
            Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
        };
        let ledger = self.ledgers.for_stream(&account.stream)?.clone();
        let started = |books: &Books| books.player(&account.stream).map_or(0, |player| player.rounds_started);
        let started = ledger.books_of(&account.stream, started)?;
        let first = fields::page_number(&request.page_token)?.unwrap_or(started);
        if first > started {
            return Err(fields::page_token_unknown());
        }
        let (game, links) = (request.game.clone(), self.links_of(&ledger));
        let read = move |ledger: &Handle| {
            let (stream, currency) = (&account.stream, account.currency);
            history::page(ledger, &HistoryFilter { stream, currency, game: &game, first, size })
        };
        let (mut rounds, next) = self.ledgers.read_round(caller, &ledger, read).await?;
        if let Some(links) = links {
            rounds.iter_mut().for_each(|round| links.add(round));
        }
        let next_page_token = next.map(|number| number.to_string()).unwrap_or_default();
        Ok(wire::ListRoundsResponse { rounds, next_page_token })
    }

    fn list_collections(
        &self,
        caller: &Caller,
        request: &wire::ListCollectionsRequest,
    ) -> Result<wire::ListCollectionsResponse, Refusal> {
        let account = fields::account(caller, request.account.as_ref())?;
        fields::optional_id("game", &request.game)?;
        self.account(&account)?;
        let figure = |(key, value): (&SmolStr, &i64)| wire::collection::Figure { key: key.to_string(), value: *value };
        let read = self.ledgers.for_stream(&account.stream)?.books_of(&account.stream, |books| {
            let player = books.player(&account.stream)?;
            let wanted = player.collections().filter(|(game, ..)| request.game.is_empty() || request.game == *game);
            let collections = wanted.map(|(game, scope, figures)| wire::Collection {
                game: game.to_owned(),
                scope: scope.to_owned(),
                figures: figures.iter().map(figure).collect(),
            });
            Some(wire::ListCollectionsResponse { collections: collections.collect(), position: player.head.position })
        })?;
        read.ok_or_else(unknown_account)
    }

    async fn set_rate(
        &self,
        caller: &Caller,
        request: wire::SetExchangeRateRequest,
    ) -> Result<wire::SetExchangeRateResponse, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let currency = fields::currency("currency_code", &request.currency_code)?;
        match currency {
            Currency::EUR => return Err(Refusal::field("currency_code", "the exchange rate of EUR is always 1")),
            Currency::PLAY => return Err(Refusal::field("currency_code", "play money has no exchange rate")),
            _ => {}
        }
        let rate: FxRate = request
            .eur_per_unit
            .parse()
            .map_err(|_| Refusal::field("eur_per_unit", "must be a decimal above 0, such as 0.0875"))?;
        let source = fields::text("source", &request.source, SOURCE_MAX)?;
        let proposal = Proposal {
            stream: StreamId::Rates,
            expected_version: None,
            request_id: request_id.into(),
            fingerprint: fingerprint("set_exchange_rate", &request),
            events: vec![Event::RateSet { currency, rate, source: source.to_owned() }, fields::acted_by(caller, "")],
        };
        let position = self.ledgers.append(proposal).await?.commit.position;
        let pending_partitions = self.ledgers.spread(&StreamId::Rates, position).await?;
        Ok(wire::SetExchangeRateResponse { rate: Some(rate_of(currency, rate)), position, pending_partitions })
    }

    fn rates(&self) -> Vec<wire::ExchangeRate> {
        self.ledgers.home().books(|books| {
            let mut all: Vec<_> = Currency::all().collect();
            all.sort_by_key(|currency| currency.code());
            let real = all.into_iter().filter(|currency| currency.is_real());
            real.filter_map(|currency| Some(rate_of(currency, books.rate(currency)?))).collect()
        })
    }
}

fn rate_of(currency: Currency, rate: FxRate) -> wire::ExchangeRate {
    wire::ExchangeRate { currency_code: currency.code().to_owned(), eur_per_unit: rate.to_string() }
}

#[tonic::async_trait]
impl LedgerService for LedgerApi {
    async fn open_account(&self, request: Request<wire::OpenAccountRequest>) -> RpcResult<wire::OpenAccountResponse> {
        Ok(Response::new(self.open_account(&Caller::from_request(&request), request.into_inner()).await?))
    }

    async fn issue_player_id(
        &self,
        request: Request<wire::IssuePlayerIdRequest>,
    ) -> RpcResult<wire::IssuePlayerIdResponse> {
        let (caller, persons) = (Caller::from_request(&request), self.persons.as_ref());
        Ok(Response::new(persons::issue(&self.ledgers, persons, &caller, request.get_ref()).await?))
    }

    async fn erase_person(&self, request: Request<wire::ErasePersonRequest>) -> RpcResult<wire::ErasePersonResponse> {
        let (caller, persons) = (Caller::from_request(&request), self.persons.as_ref());
        Ok(Response::new(persons::erase(&self.ledgers, persons, &caller, request.get_ref()).await?))
    }

    async fn get_account(&self, request: Request<wire::GetAccountRequest>) -> RpcResult<wire::GetAccountResponse> {
        Ok(Response::new(self.get_account(&Caller::from_request(&request), request.get_ref())?))
    }

    async fn deposit(&self, request: Request<wire::DepositRequest>) -> RpcResult<wire::DepositResponse> {
        Ok(Response::new(self.deposit(&Caller::from_request(&request), request.into_inner()).await?))
    }

    async fn withdraw(&self, request: Request<wire::WithdrawRequest>) -> RpcResult<wire::WithdrawResponse> {
        Ok(Response::new(self.withdraw(&Caller::from_request(&request), request.into_inner()).await?))
    }

    async fn get_transaction(
        &self,
        request: Request<wire::GetTransactionRequest>,
    ) -> RpcResult<wire::GetTransactionResponse> {
        Ok(Response::new(self.get_transaction(&Caller::from_request(&request), request.get_ref())?))
    }

    async fn get_request(&self, request: Request<wire::GetRequestRequest>) -> RpcResult<wire::GetRequestResponse> {
        Ok(Response::new(outcomes::get(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn cancel_request(
        &self,
        request: Request<wire::CancelRequestRequest>,
    ) -> RpcResult<wire::CancelRequestResponse> {
        Ok(Response::new(outcomes::cancel(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn retry_wallet_calls(
        &self,
        request: Request<wire::RetryWalletCallsRequest>,
    ) -> RpcResult<wire::RetryWalletCallsResponse> {
        Ok(Response::new(
            wallet_retries::retry(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?,
        ))
    }

    async fn get_round(&self, request: Request<wire::GetRoundRequest>) -> RpcResult<wire::GetRoundResponse> {
        Ok(Response::new(self.get_round(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_rounds(&self, request: Request<wire::ListRoundsRequest>) -> RpcResult<wire::ListRoundsResponse> {
        Ok(Response::new(self.list_rounds(&Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_collections(
        &self,
        request: Request<wire::ListCollectionsRequest>,
    ) -> RpcResult<wire::ListCollectionsResponse> {
        Ok(Response::new(self.list_collections(&Caller::from_request(&request), request.get_ref())?))
    }

    async fn get_player_day(
        &self,
        request: Request<wire::GetPlayerDayRequest>,
    ) -> RpcResult<wire::GetPlayerDayResponse> {
        Ok(Response::new(day::player_day(&self.ledgers, &Caller::from_request(&request), request.get_ref())?))
    }

    async fn list_players(&self, request: Request<wire::ListPlayersRequest>) -> RpcResult<wire::ListPlayersResponse> {
        let caller = Caller::from_request(&request);
        Ok(Response::new(player_list::list(&self.ledgers, &caller, request.get_ref()).await?))
    }

    async fn find_id(&self, request: Request<wire::FindIdRequest>) -> RpcResult<wire::FindIdResponse> {
        Ok(Response::new(ids::find(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn void_round(&self, request: Request<wire::VoidRoundRequest>) -> RpcResult<wire::VoidRoundResponse> {
        Ok(Response::new(void::void_round(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn set_exchange_rate(
        &self,
        request: Request<wire::SetExchangeRateRequest>,
    ) -> RpcResult<wire::SetExchangeRateResponse> {
        Ok(Response::new(self.set_rate(&Caller::from_request(&request), request.into_inner()).await?))
    }

    async fn list_exchange_rates(
        &self,
        _: Request<wire::ListExchangeRatesRequest>,
    ) -> RpcResult<wire::ListExchangeRatesResponse> {
        Ok(Response::new(wire::ListExchangeRatesResponse { rates: self.rates() }))
    }

    async fn set_switch(&self, request: Request<wire::SetSwitchRequest>) -> RpcResult<wire::SetSwitchResponse> {
        Ok(Response::new(switches::set(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn list_switches(
        &self,
        request: Request<wire::ListSwitchesRequest>,
    ) -> RpcResult<wire::ListSwitchesResponse> {
        Ok(Response::new(switches::list(&self.ledgers, &Caller::from_request(&request))))
    }

    async fn list_changes(&self, request: Request<wire::ListChangesRequest>) -> RpcResult<wire::ListChangesResponse> {
        Ok(Response::new(changes::list(&self.ledgers, &Caller::from_request(&request))?))
    }

    async fn approve_change(
        &self,
        request: Request<wire::ApproveChangeRequest>,
    ) -> RpcResult<wire::ApproveChangeResponse> {
        Ok(Response::new(changes::approve(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn reject_change(
        &self,
        request: Request<wire::RejectChangeRequest>,
    ) -> RpcResult<wire::RejectChangeResponse> {
        Ok(Response::new(changes::reject(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn take_base(&self, request: Request<wire::TakeBaseRequest>) -> RpcResult<wire::TakeBaseResponse> {
        Ok(Response::new(bases::take(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn confirm_base(&self, request: Request<wire::ConfirmBaseRequest>) -> RpcResult<wire::ConfirmBaseResponse> {
        Ok(Response::new(bases::confirm(&self.ledgers, &Caller::from_request(&request), request.get_ref()).await?))
    }

    async fn get_log_status(&self, _: Request<wire::GetLogStatusRequest>) -> RpcResult<wire::GetLogStatusResponse> {
        let status = |ledger: &Handle| {
            let head = *ledger.head().borrow();
            let (position, head_hash) = (head.position, hex(&head.hash));
            let bases =
                |of: fn(&Books) -> Option<&BaseTaken>| ledger.books(|books| of(books).map_or(0, |base| base.position));
            wire::PartitionStatus {
                partition: ledger.partition(),
                position,
                head_hash,
                writable: ledger.writable(),
                base_position: bases(Books::base),
                confirmed_base_position: bases(Books::confirmed_base),
            }
        };
        let wire::PartitionStatus { position, head_hash, writable, .. } = status(self.ledgers.home());
        let partitions = self.ledgers.all().map(status).collect();
        let partition_count = self.ledgers.count();
        Ok(Response::new(wire::GetLogStatusResponse { position, head_hash, writable, partitions, partition_count }))
    }

    type FollowLogStream = BoxStream<wire::FollowLogResponse>;

    async fn follow_log(&self, request: Request<wire::FollowLogRequest>) -> RpcResult<Self::FollowLogStream> {
        let followed = follow::follow(
            &self.ledgers,
            &self.followers,
            &self.stop,
            &Caller::from_request(&request),
            request.get_ref(),
        )?;
        Ok(Response::new(Box::pin(followed)))
    }
}
