//! Wallet with a fixed latency and sufficient funds. The wallet applies each transaction only once.

use motherlode_proto::wallet::v1::{
    CloseRoundRequest, CloseRoundResponse, CreditRequest, CreditResponse, DebitRequest, DebitResponse,
    GetBalanceRequest, GetBalanceResponse, OpenFreeRoundRequest, OpenFreeRoundResponse, Outcome,
    Result as WalletResult, RollbackRequest, RollbackResponse,
    wallet_service_server::{WalletService, WalletServiceServer},
};
use std::{
    collections::HashSet,
    error::Error,
    future::pending,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::net::TcpListener;
use tonic::{
    Request, Response, Status,
    transport::{Server, server::TcpIncoming},
};

/// Wallet that answers after `latency`; if `latency` is `None`, it never answers.
#[derive(Clone)]
struct Wallet {
    takes: Option<Duration>,
    applied: Arc<Mutex<HashSet<String>>>,
}

pub fn serve(ms: Option<u64>) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("wallet listens on {}", listener.local_addr()?);
        let wallet = Wallet { takes: ms.map(Duration::from_millis), applied: Arc::default() };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder().add_service(WalletServiceServer::new(wallet)).serve_with_incoming(incoming).await?;
        Ok(())
    })
}

impl Wallet {
    async fn result(&self, id: String) -> Option<WalletResult> {
        match self.takes {
            None => pending().await,
            Some(Duration::ZERO) => {}
            Some(takes) => tokio::time::sleep(takes).await,
        }
        let first = self.applied.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        let outcome = if first { Outcome::Done } else { Outcome::DoneBefore };
        Some(WalletResult { outcome: outcome.into(), balance_minor: Some(1_000_000), ..WalletResult::default() })
    }
}

#[tonic::async_trait]
impl WalletService for Wallet {
    async fn get_balance(&self, _: Request<GetBalanceRequest>) -> Result<Response<GetBalanceResponse>, Status> {
        Ok(Response::new(GetBalanceResponse { balance_minor: 1_000_000 }))
    }

    async fn debit(&self, request: Request<DebitRequest>) -> Result<Response<DebitResponse>, Status> {
        Ok(Response::new(DebitResponse { result: self.result(request.into_inner().transaction_id).await }))
    }

    async fn credit(&self, request: Request<CreditRequest>) -> Result<Response<CreditResponse>, Status> {
        Ok(Response::new(CreditResponse { result: self.result(request.into_inner().transaction_id).await }))
    }

    async fn rollback(&self, request: Request<RollbackRequest>) -> Result<Response<RollbackResponse>, Status> {
        let id = format!("rollback of {}", request.into_inner().transaction_id);
        Ok(Response::new(RollbackResponse { result: self.result(id).await }))
    }

    async fn open_free_round(
        &self,
        request: Request<OpenFreeRoundRequest>,
    ) -> Result<Response<OpenFreeRoundResponse>, Status> {
        Ok(Response::new(OpenFreeRoundResponse { result: self.result(request.into_inner().transaction_id).await }))
    }

    async fn close_round(&self, request: Request<CloseRoundRequest>) -> Result<Response<CloseRoundResponse>, Status> {
        Ok(Response::new(CloseRoundResponse { result: self.result(request.into_inner().transaction_id).await }))
    }
}
