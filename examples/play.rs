//! Plays a platform's first round over gRPC: opens an account, deposits and spins. Each request has an id, so a retry has no
//! second effect.
//!
//! `cargo run --profile quick -- serve`, then `cargo run --example play -- [URL]`

use motherlode_proto::{
    ledger::v1::{DepositRequest, OpenAccountRequest, ledger_service_client::LedgerServiceClient},
    round::v1::{Account, Stake},
    spin::v1::{GetGameRequest, SpinRequest, spin_service_client::SpinServiceClient},
};
use std::error::Error;
use tonic::transport::Endpoint;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:50051".to_owned());
    let channel = Endpoint::from_shared(url)?.connect().await?;
    let mut ledger = LedgerServiceClient::new(channel.clone());
    let mut spins = SpinServiceClient::new(channel);

    let account = Account { operator_id: "demo".into(), player_id: "carol".into(), currency_code: "EUR".into() };
    let request = OpenAccountRequest { request_id: "open".into(), account: Some(account.clone()) };
    ledger.open_account(request).await?;
    let request =
        DepositRequest { request_id: "deposit-1".into(), account: Some(account.clone()), amount_minor: 10_000 };
    ledger.deposit(request).await?;

    let request = GetGameRequest { game: "dwarf-mine".into(), ..Default::default() };
    let game = spins.get_game(request).await?.into_inner();
    let stake = Stake {
        coin_value: game.coin_values.first().ok_or("no coin value")?.clone(),
        lines: game.lines_max,
        coins_per_line: game.coins_per_line_min,
        buy_feature: false,
    };
    let request = SpinRequest {
        request_id: "spin-1".into(),
        account: Some(account),
        game: "dwarf-mine".into(),
        stake: Some(stake),
        ..Default::default()
    };
    let played = spins.spin(request).await?.into_inner().played.ok_or("no round")?;

    let minor = |money: Option<motherlode_proto::round::v1::Money>| money.map_or(0, |money| money.amount_minor);
    println!("round {} at log position {}", played.round_id, played.position);
    println!("bet {}, win {}, balance {} minor units", minor(played.bet), minor(played.win), minor(played.balance));
    Ok(())
}
