//! Keeps a session with play money open while the player plays (PL-17).

use crate::client::{self, Client, insist};
use crate::commands::Failure;
use motherlode_proto::{
    round::v1::Account,
    spin::v1::{CloseSessionRequest, OpenSessionRequest, PlayMode},
};

pub(super) async fn open(client: &Client, account: &Account, game: &str) -> Result<String, Failure> {
    let request = OpenSessionRequest {
        request_id: client::request_id()?,
        account: Some(account.clone()),
        game: game.to_owned(),
        mode: PlayMode::Demo.into(),
        ..OpenSessionRequest::default()
    };
    let opened = insist(&request, |request| {
        let mut spin = client.spin.clone();
        async move { spin.open_session(request).await }
    });
    Ok(opened.await.map_err(|status| client::explain(&status))?.session_id)
}

pub(super) async fn close(client: &Client, session_id: &str) -> Result<(), Failure> {
    let request = CloseSessionRequest { session_id: session_id.to_owned() };
    let closed = insist(&request, |request| {
        let mut spin = client.spin.clone();
        async move { spin.close_session(request).await }
    });
    closed.await.map(|_| ()).map_err(|status| client::explain(&status))
}
