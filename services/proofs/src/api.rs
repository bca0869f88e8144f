use crate::{
    proofs::{Partition, Proofs, Signed},
    public,
    round::proof_of,
};
use motherlode_ledger::{
    FetchError, Handle, Ledgers, RoundLinks, fields,
    rounds::{self, Places},
    unknown_round,
};
use motherlode_log::Position;
use motherlode_proto::{
    RpcResult,
    proof::v1::{self as wire, proof_service_server::ProofService},
};
use motherlode_runtime::{Caller, Reason, Refusal};
use motherlode_tiles::{Hash, consistency};
use std::{io, sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use tonic::{Request, Response};

const WAIT_MAX: Duration = Duration::from_secs(5);
const WITNESSES_WAIT_MAX: Duration = Duration::from_millis(1500);
const PUBLIC_MAX: usize = 4;

#[derive(Clone)]
pub struct ProofApi {
    ledgers: Ledgers,
    proofs: Proofs,
    witnessed: bool,
    links: Option<RoundLinks>,
    public: Arc<Semaphore>,
}

impl ProofApi {
    /// If `witnessed` is set, a proof is available only after its checkpoint has a cosignature.
    #[must_use]
    pub fn new(ledgers: Ledgers, proofs: Proofs, witnessed: bool) -> Self {
        Self { ledgers, proofs, witnessed, links: None, public: Arc::new(Semaphore::new(PUBLIC_MAX)) }
    }

    #[must_use]
    pub fn with_links(self, links: Option<RoundLinks>) -> Self {
        Self { links, ..self }
    }

    fn partition(&self, partition: u32) -> Result<&Arc<Partition>, Refusal> {
        let partitions = self.ledgers.count();
        if partition >= partitions {
            return Err(Refusal::field("partition", format!("must be below {partitions}")));
        }
        let elsewhere = || {
            let message =
                "this process has no proofs of this partition: send the call to the process that writes the partition";
            Refusal::new(Reason::ProofsElsewhere, message).with("partition", partition)
        };
        self.proofs.partition(partition).ok_or_else(elsewhere)
    }

    async fn checkpoint(&self, request: &wire::GetCheckpointRequest) -> Result<wire::GetCheckpointResponse, Refusal> {
        let partition = self.partition(request.partition)?;
        let signed = signed(partition, 0).await?;
        Ok(wire::GetCheckpointResponse {
            checkpoint: signed.note.to_string(),
            verifier_key: partition.verifier.to_string(),
            size: signed.checkpoint.size,
        })
    }

    async fn consistency(
        &self,
        caller: &Caller,
        request: &wire::GetConsistencyRequest,
    ) -> Result<wire::GetConsistencyResponse, Refusal> {
        let partition = Arc::clone(self.partition(request.partition)?);
        let (old, signed) = (request.old_size, signed(&partition, 0).await?);
        if old > signed.checkpoint.size {
            let message = "no checkpoint of the requested size was signed: request the size of a signed checkpoint";
            let refusal = Refusal::new(Reason::CheckpointAhead, message);
            return Err(refusal.with("size", signed.checkpoint.size));
        }
        let (size, checkpoint) = (signed.checkpoint.size, signed.note.to_string());
        let read = move || consistency(&*partition.files, old, size);
        let path = self.ledgers.reads().run(caller, read).await?.map_err(|error| unreadable(&error))?;
        Ok(wire::GetConsistencyResponse { hashes: path.iter().map(|hash| hash.to_vec()).collect(), checkpoint })
    }

    async fn find(
        &self,
        caller: &Caller,
        request: &wire::FindRecordRequest,
    ) -> Result<wire::FindRecordResponse, Refusal> {
        let hash = <Hash>::try_from(request.hash.as_slice());
        let hash = hash.map_err(|_| Refusal::field("hash", "must have 32 bytes"))?;
        let (proofs, own) = (self.proofs.clone(), caller.own().map(str::to_owned));
        let look = move || {
            for partition in proofs.partitions() {
                let Some(position) = partition.find(&hash)? else { continue };
                let logged = partition.ledger.fetch(position)?;
                // A caller can request any hash, so an operator receives only records that concern the operator.
                if own.as_ref().is_none_or(|operator| logged.commit.concerns(operator)) {
                    return Ok(Some(wire::FindRecordResponse { partition: partition.ledger.partition(), position }));
                }
            }
            Ok::<_, Refusal>(None)
        };
        let found = self.ledgers.reads().run(caller, look).await??;
        found.ok_or_else(|| Refusal::new(Reason::RecordUnknown, "there is no record with this hash"))
    }

    async fn round_proof(
        &self,
        caller: &Caller,
        request: &wire::GetRoundProofRequest,
    ) -> Result<wire::GetRoundProofResponse, Refusal> {
        let id = fields::round_id(caller, &request.round_id)?;
        let (ledger, round) = (self.ledgers.for_stream(&id.stream)?.clone(), id.number);
        let read = move |ledger: &Handle| rounds::places(ledger, &id.stream, id.number);
        let found = self.ledgers.read_round(caller, &ledger, read).await?;
        let Some(mut places) = found else { return Err(unknown_round(&request.round_id)) };
        if !places.over {
            // The records of an open round may contain facts that must still be hidden (NP-12).
            let message = "the round is open: request its proof once it has ended";
            let refusal = Refusal::new(Reason::RoundOpen, message);
            return Err(refusal.with("round_id", &request.round_id));
        }
        let partition = Arc::clone(self.partition(ledger.partition())?);
        if request.without_seals {
            places.sealing.clear();
        }
        let last = places.round.last().copied().unwrap_or_default();
        let signed = self.best(&partition, last).await?;
        let verifier_key = partition.verifier.to_string();
        let brief = request.brief;
        let places = Arc::new(places);
        let read = move |ledger: &Handle| prove(&partition, ledger, &signed, (round, brief), &places);
        let proof = self.ledgers.read_round(caller, &ledger, read).await?.map_err(|error| unreadable(&error))?;
        Ok(wire::GetRoundProofResponse { proof, verifier_key })
    }

    /// The key is checked before any lookup, so the response time does not reveal whether a round exists.
    async fn public_round(
        &self,
        request: &wire::GetPublicRoundRequest,
    ) -> Result<wire::GetPublicRoundResponse, Refusal> {
        let (round_id, unknown) = (&request.round_id, || public::unknown_round());
        self.links.as_ref().filter(|links| links.opens(round_id, &request.link_key)).ok_or_else(unknown)?;
        let caller = &Caller::ANYONE;
        let id = fields::round_id(caller, round_id).map_err(|_| unknown())?;
        let busy = |_| Refusal::new(Reason::ReadsBusy, "too many public pages of rounds are being read: retry later");
        let _permit = self.public.try_acquire().map_err(busy)?;
        let ledger = self.ledgers.for_stream(&id.stream)?.clone();
        let verifier_key = self.partition(ledger.partition())?.verifier.to_string();
        let read = move |ledger: &Handle| rounds::read(ledger, &id.stream, id.number);
        let round = self.ledgers.read_round(caller, &ledger, read).await?;
        let round = round.and_then(public::without_private_fields).ok_or_else(unknown)?;
        if !request.with_proof {
            return Ok(wire::GetPublicRoundResponse { round: Some(round), proof: String::new(), verifier_key });
        }
        let request = wire::GetRoundProofRequest { round_id: round_id.clone(), ..Default::default() };
        let wire::GetRoundProofResponse { proof, verifier_key } = self.round_proof(caller, &request).await?;
        Ok(wire::GetPublicRoundResponse { round: None, proof, verifier_key })
    }

    async fn best(&self, partition: &Partition, position: Position) -> Result<Arc<Signed>, Refusal> {
        let last = signed(partition, position).await?;
        let mut published = partition.published();
        let covers = |signed: &Option<Arc<Signed>>| signed.as_ref().is_some_and(|of| of.checkpoint.size >= position);
        let wait = if self.witnessed { WITNESSES_WAIT_MAX } else { Duration::ZERO };
        let cosigned = published.wait_for(|published| covers(&published.cosigned));
        let found = tokio::time::timeout(wait, cosigned).await;
        Ok(found.ok().and_then(|found| found.ok()?.cosigned.clone()).unwrap_or(last))
    }
}

async fn signed(partition: &Partition, position: Position) -> Result<Arc<Signed>, Refusal> {
    let mut published = partition.published();
    let covering = published.wait_for(|published| {
        let covers = published.last.as_ref().is_some_and(|last| last.checkpoint.size >= position);
        covers || published.failed.is_some()
    });
    let found = tokio::time::timeout(WAIT_MAX, covering).await;
    let found = found.ok().and_then(|found| Some(found.ok()?.clone())).unwrap_or_default();
    if let Some(why) = found.failed {
        return Err(Refusal::new(Reason::LogContradicted, &*why));
    }
    found
        .last
        .filter(|last| last.checkpoint.size >= position)
        .ok_or_else(|| Refusal::new(Reason::CheckpointPending, "no checkpoint covers this position yet: retry later"))
}

fn prove(
    partition: &Partition,
    ledger: &Handle,
    signed: &Signed,
    (round, brief): (u64, bool),
    places: &Places,
) -> Result<io::Result<String>, FetchError> {
    let read = |positions: &[Position]| {
        let one = |position: &Position| {
            let read = ledger.records(*position, 1, usize::MAX).map_err(FetchError::from)?;
            read.into_iter().next().ok_or(FetchError::Missing(*position))
        };
        let read = positions.iter().rev().map(one).collect::<Result<Vec<_>, _>>();
        read.map(|mut records| {
            records.reverse();
            records
        })
    };
    let (records, sealing) = (read(&places.round)?, read(&places.sealing)?);
    let proof = proof_of(&partition.files, &signed.checkpoint, &signed.note, round, &records, &sealing, brief);
    Ok(proof.map(|proof| proof.to_string()))
}

fn unreadable(error: &io::Error) -> Refusal {
    tracing::error!(%error, "failed to read the Merkle tree's files for a proof: a restart rebuilds damaged files");
    Refusal::new(Reason::ProofsUnreadable, error.to_string())
}

#[tonic::async_trait]
impl ProofService for ProofApi {
    async fn get_checkpoint(
        &self,
        request: Request<wire::GetCheckpointRequest>,
    ) -> RpcResult<wire::GetCheckpointResponse> {
        Ok(Response::new(self.checkpoint(request.get_ref()).await?))
    }

    async fn get_round_proof(
        &self,
        request: Request<wire::GetRoundProofRequest>,
    ) -> RpcResult<wire::GetRoundProofResponse> {
        let caller = Caller::from_request(&request);
        Ok(Response::new(self.round_proof(&caller, request.get_ref()).await?))
    }

    async fn get_public_round(
        &self,
        request: Request<wire::GetPublicRoundRequest>,
    ) -> RpcResult<wire::GetPublicRoundResponse> {
        Ok(Response::new(self.public_round(request.get_ref()).await?))
    }

    async fn get_consistency(
        &self,
        request: Request<wire::GetConsistencyRequest>,
    ) -> RpcResult<wire::GetConsistencyResponse> {
        let caller = Caller::from_request(&request);
        Ok(Response::new(self.consistency(&caller, request.get_ref()).await?))
    }

    async fn find_record(&self, request: Request<wire::FindRecordRequest>) -> RpcResult<wire::FindRecordResponse> {
        let caller = Caller::from_request(&request);
        Ok(Response::new(self.find(&caller, request.get_ref()).await?))
    }
}
