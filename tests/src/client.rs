use crate::seamless;
use motherlode_proto::{
    jackpot::v1::jackpot_service_client::JackpotServiceClient,
    ledger::v1::{DepositRequest, GetAccountRequest, OpenAccountRequest, ledger_service_client::LedgerServiceClient},
    report::v1::report_service_client::ReportServiceClient,
    round::v1::{Account, Awaiting, Choice, Stake, Witch, choice},
    spin::v1::{
        AutospinRequest, AutospinResponse, ChooseRequest, Played, SpinRequest, spin_service_client::SpinServiceClient,
    },
};
use motherlode_runtime::connect::Connection;
use std::{net::SocketAddr, time::Duration};
use tokio::time::sleep;
use tonic::{Request, Status, Streaming, transport::Channel};
use tonic_types::StatusExt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    Open,
    Pick,
    Feature,
    FreeSpins,
    Double,
    Loss,
    Right,
    Jackpot,
}

impl Force {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Pick => "pick",
            Self::Feature => "feature",
            Self::FreeSpins => "free-spins",
            Self::Double => "double",
            Self::Loss => "loss",
            Self::Right => "right",
            Self::Jackpot => "jackpot",
        }
    }
}

#[derive(Clone)]
pub struct Client {
    pub spin: SpinServiceClient<Connection>,
    pub ledger: LedgerServiceClient<Connection>,
    pub jackpot: JackpotServiceClient<Connection>,
    pub report: ReportServiceClient<Connection>,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        let endpoint = Channel::from_shared(format!("http://{address}")).expect("the address is a valid URI");
        Self::on(endpoint.connect().await.expect("the service listens"))
    }

    #[must_use]
    pub fn on(connection: impl Into<Connection>) -> Self {
        let connection = connection.into();
        Self {
            spin: SpinServiceClient::new(connection.clone()),
            ledger: LedgerServiceClient::new(connection.clone()),
            jackpot: JackpotServiceClient::new(connection.clone()),
            report: ReportServiceClient::new(connection),
        }
    }

    pub async fn fund(&mut self, player: &str, currency: &str, minor: i64) -> Account {
        let account = account(player, currency);
        self.fund_account(&account, minor).await;
        account
    }

    pub async fn fund_account(&mut self, account: &Account, minor: i64) {
        let currency = &account.currency_code;
        let open = OpenAccountRequest { request_id: format!("open-{currency}"), account: Some(account.clone()) };
        self.ledger.open_account(open).await.expect("the account opens");
        if seamless::keeps(account) {
            return seamless::fund(account, minor);
        }
        let deposit = DepositRequest {
            request_id: format!("deposit-{currency}"),
            account: Some(account.clone()),
            amount_minor: minor,
        };
        self.ledger.deposit(deposit).await.expect("the deposit is booked");
    }

    pub async fn balance(&mut self, account: &Account) -> i64 {
        let request = GetAccountRequest { account: Some(account.clone()) };
        let response = self.ledger.get_account(request).await.expect("the account exists").into_inner();
        if seamless::keeps(account) {
            return seamless::balance(account).await;
        }
        response.balance.expect("the account has a balance").amount_minor
    }

    pub async fn spin(&mut self, request: SpinRequest, force: Option<Force>) -> Result<Played, Status> {
        let response = self.spin.spin(forced(request, force)).await?;
        response.into_inner().played.ok_or_else(|| Status::internal("no answer in the response"))
    }

    /// Retries for two minutes after DUES_WAITING (PL-31).
    pub async fn bet(&mut self, request: SpinRequest) -> Result<Played, Status> {
        let mut rests = 2_400;
        loop {
            match self.spin(request.clone(), None).await {
                Err(status) if rests > 0 && reason(&status) == "DUES_WAITING" => {
                    rests -= 1;
                    sleep(Duration::from_millis(50)).await;
                }
                answered => return answered,
            }
        }
    }

    pub async fn choose(
        &mut self,
        request_id: &str,
        round_id: &str,
        kind: choice::Kind,
        force: Option<Force>,
    ) -> Result<Played, Status> {
        let request = ChooseRequest {
            request_id: request_id.to_owned(),
            round_id: round_id.to_owned(),
            choice: Some(Choice { kind: Some(kind) }),
            ..ChooseRequest::default()
        };
        let response = self.spin.choose(forced(request, force)).await?;
        response.into_inner().played.ok_or_else(|| Status::internal("no answer in the response"))
    }

    pub async fn autospin(
        &mut self,
        request: AutospinRequest,
        force: Option<Force>,
    ) -> Result<Streaming<AutospinResponse>, Status> {
        Ok(self.spin.autospin(forced(request, force)).await?.into_inner())
    }

    pub async fn play_out(&mut self, request: SpinRequest) -> Result<Vec<Played>, Status> {
        let id = request.request_id.clone();
        let mut played = vec![self.bet(request).await?];
        while let Some(last) = played.last()
            && let Some(kind) = next_choice(last)
        {
            let round = last.round_id.clone();
            let step = format!("{id}.{}", played.len());
            played.push(self.choose(&step, &round, kind, None).await?);
        }
        Ok(played)
    }
}

#[must_use]
pub fn next_choice(played: &Played) -> Option<choice::Kind> {
    let outcome = played.outcome.as_ref()?;
    match outcome.awaiting() {
        Awaiting::Pick => Some(pick(outcome.pick?.needs)),
        Awaiting::Feature => Some(choice::Kind::StartFeature(choice::StartFeature {})),
        Awaiting::FreeSpins => Some(choice::Kind::StartFreeSpins(choice::StartFreeSpins {})),
        Awaiting::Double => Some(choice::Kind::Collect(choice::Collect {})),
        _ => None,
    }
}

#[must_use]
pub fn pick(needs: u32) -> choice::Kind {
    choice::Kind::Pick(choice::Pick { numbers: (1..=needs).collect() })
}

#[must_use]
pub fn vials() -> choice::Kind {
    pick(3)
}

#[must_use]
pub fn account(player: &str, currency: &str) -> Account {
    Account { operator_id: "acme".to_owned(), player_id: player.to_owned(), currency_code: currency.to_owned() }
}

#[must_use]
pub fn bet(request_id: &str, account: &Account, coin_value: &str) -> SpinRequest {
    SpinRequest {
        request_id: request_id.to_owned(),
        account: Some(account.clone()),
        game: "bewitched".to_owned(),
        stake: Some(Stake { coin_value: coin_value.to_owned(), lines: 15, coins_per_line: 1, buy_feature: false }),
        witch: Witch::White.into(),
        ..SpinRequest::default()
    }
}

#[must_use]
pub fn reason(status: &Status) -> String {
    status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default()
}

fn forced<T>(message: T, force: Option<Force>) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(force) = force {
        request.metadata_mut().insert(crate::script::KEY, force.name().parse().expect("names are ASCII"));
    }
    request
}
