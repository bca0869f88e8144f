use crate::{
    append::{AppendError, Proposal},
    fields,
    ledgers::Ledgers,
};
use motherlode_proto::ledger::v1::{RetryWalletCallsRequest, RetryWalletCallsResponse};
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Event, InternalRequest, Refused};

/// Repeats a player's held wallet calls (calls that the wallet refused although it must accept them). If there are
/// none, nothing changes.
///
/// # Errors
/// The player's account is unknown, or the commit fails.
pub(crate) async fn retry(
    ledgers: &Ledgers,
    caller: &Caller,
    request: &RetryWalletCallsRequest,
) -> Result<RetryWalletCallsResponse, Refusal> {
    let stream = fields::real_account(caller, request.account.as_ref())?.stream;
    let reference = fields::reference("actor", &request.actor)?;
    let ledger = ledgers.for_stream(&stream)?;
    loop {
        let player = ledger.player(&stream)?.ok_or_else(fields::unknown_account)?;
        let held: Vec<_> = player.wallet().iter().flat_map(|wallet| &wallet.dues).filter(|due| due.held).collect();
        if held.is_empty() {
            return Ok(RetryWalletCallsResponse::default());
        }
        let released = held.iter().map(|due| Event::WalletCallReleased {
            request_id: due.request_id.clone(),
            currency: due.currency,
            close: due.close(),
        });
        let acted = caller.actor().map(|_| fields::acted_by(caller, reference));
        let proposal = Proposal {
            stream: stream.clone(),
            expected_version: Some(player.head.version),
            request_id: InternalRequest::ReleaseCalls { version: player.head.version }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: released.chain(acted).collect(),
        };
        match ledger.append(proposal).await {
            Ok(logged) => {
                let restores = ledger.restores();
                let transaction_ids = held.iter().map(|due| due.transaction_id(&stream, &restores)).collect();
                return Ok(RetryWalletCallsResponse { transaction_ids, position: logged.commit.position });
            }
            Err(AppendError::Conflict { .. } | AppendError::Refused(Refused::NoSuchDue)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
