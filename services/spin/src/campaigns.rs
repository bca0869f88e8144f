//! Campaigns for many players (PL-36). The request is checked, then one commit in partition 0 reserves the cost, then each
//! player gets a grant. One partition orders all reservations, so operators' caps can be enforced. Each grant has a derived
//! request id, so repeating an interrupted request completes it.

use crate::{api::SpinApi, campaign::parse, liability::Cost};
use futures_util::future::join_all;
use motherlode_ledger::{
    AppendError, Proposal,
    fields::{self, AccountId},
    fingerprint, reservation_ids, shared_request_id, unknown_account, unknown_player,
};
use motherlode_proto::{convert::record::Logged, round::v1::Account, spin::v1 as wire};
use motherlode_runtime::{Caller, Reason, Refusal, field_bounds::GRANTED_PLAYERS_MAX};
use motherlode_state::{Campaign, Event, LiabilityReserved, Nano, Refused, StreamId};
use std::{collections::BTreeSet, sync::Arc};
use tonic::Code;

const AT_ONCE: usize = 64;

impl SpinApi {
    pub(crate) async fn grant_campaigns(
        &self,
        caller: &Caller,
        request: &wire::GrantCampaignsRequest,
    ) -> Result<wire::GrantCampaignsResponse, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let operator = fields::id("operator_id", &request.operator_id)?;
        let players = players(request)?;
        let accounts = players.iter().map(|player| {
            let account = account(request, player);
            let own = fields::real_account(caller, Some(&account))?;
            Ok((own, single(request, account)))
        });
        let accounts = accounts.collect::<Result<Vec<_>, Refusal>>()?;
        let Some((first, grant)) = accounts.first() else { return Err(no_players()) };
        let campaign = parse(first, &self.ladders, grant)?;
        let [name, _] = reservation_ids(operator, "", request_id);
        let content = fingerprint("grant_campaigns", request);
        let reserved = match self.ledgers.home().find(&StreamId::System, &name, content)? {
            Some(reserved) => reserved,
            None => {
                let free = self.free(&accounts, &campaign.id, request_id)?;
                let part_of = shared_request_id(Some(operator), request_id);
                let part_of = Some(Event::PartOf { request_id: part_of.into() });
                let cost = self.cost(&campaign, free.len()).await?;
                self.reserve(caller, operator, (name, content, part_of), &campaign, &cost, &free).await?
            }
        };
        let Some(Event::LiabilityReserved(held)) = reserved.commit.events.first() else {
            return Err(Refusal::request_id_reused(request_id));
        };
        let mut grants = vec![];
        for accounts in accounts.chunks(AT_ONCE) {
            let granted =
                accounts.iter().map(|(account, grant)| self.grant_reserved(caller, held, (account, grant), &campaign));
            for granted in join_all(granted).await {
                grants.push(granted?);
            }
        }
        let cost = self.cost(&campaign, usize::try_from(held.players).unwrap_or(usize::MAX)).await?;
        let liability = Some(cost.to_wire(&campaign, held.max_liability, held.cap));
        Ok(wire::GrantCampaignsResponse { grants, liability, position: reserved.commit.position })
    }

    /// Returns the players who can get a grant, or the first refusal if no player can. If one player's grant was cancelled,
    /// refuses the whole request.
    fn free(
        &self,
        accounts: &[(AccountId, wire::GrantCampaignRequest)],
        campaign: &str,
        request_id: &str,
    ) -> Result<Vec<String>, Refusal> {
        let (mut free, mut first) = (vec![], None);
        for (account, grant) in accounts {
            let player = player_id(grant);
            match self.check_free(account, campaign) {
                Err(refusal) if may_pass(&refusal) => return Err(refusal),
                Err(refusal) => {
                    first.get_or_insert(refusal);
                    continue;
                }
                Ok(()) => {}
            }
            // Until the cost is reserved, a CancelRequest for any player cancels the whole request (PL-42).
            self.check_not_cancelled(&account.stream, request_id)
                .map_err(|refusal| refusal.with("player_id", &player))?;
            free.push(player);
        }
        match first {
            Some(refusal) if free.is_empty() => Err(refusal),
            _ => Ok(free),
        }
    }

    async fn grant_reserved(
        &self,
        caller: &Caller,
        held: &LiabilityReserved,
        (account, grant): (&AccountId, &wire::GrantCampaignRequest),
        campaign: &Campaign,
    ) -> Result<wire::PlayerGrant, Refusal> {
        let player_id = player_id(grant);
        // A reservation in an older log names no players, so it covers every player.
        if !held.player_ids.is_empty() && !held.player_ids.iter().any(|reserved| **reserved == *player_id) {
            return self.not_reserved(account, grant, &campaign.id);
        }
        match self.granted(caller, account.clone(), grant, campaign.clone()).await {
            Ok(campaign) => Ok(wire::PlayerGrant { player_id, campaign: Some(campaign), ..Default::default() }),
            Err(refusal) => refused_grant(grant, refusal),
        }
    }

    /// Refuses a player whom the reservation does not cover, even if the player could get a grant now. Thus a repeated
    /// request has the same effect as the first.
    fn not_reserved(
        &self,
        account: &AccountId,
        grant: &wire::GrantCampaignRequest,
        campaign: &str,
    ) -> Result<wire::PlayerGrant, Refusal> {
        let refusal = self.check_free(account, campaign).err().unwrap_or_else(unknown_account);
        refused_grant(grant, refusal)
    }

    pub(crate) async fn reserve_single(
        &self,
        caller: &Caller,
        account: &AccountId,
        request: &wire::GrantCampaignRequest,
        campaign: &Campaign,
    ) -> Result<(), Refusal> {
        let StreamId::Player { operator, player } = &account.stream else { return Ok(()) };
        if self.ledgers.operators().campaign_cap(operator).is_none() {
            return Ok(());
        }
        let content = fingerprint("grant_campaign", request);
        if self.ledgers.for_stream(&account.stream)?.find(&account.stream, &request.request_id, content)?.is_some() {
            return Ok(());
        }
        self.check_free(account, &campaign.id)?;
        let cost = self.cost(campaign, 1).await?;
        let [_, name] = reservation_ids(operator, player, &request.request_id);
        self.reserve(caller, operator, (name, content, None), campaign, &cost, &[player.to_string()]).await.map(|_| ())
    }

    fn check_free(&self, account: &AccountId, campaign: &str) -> Result<(), Refusal> {
        self.ledgers.for_stream(&account.stream)?.books_of(&account.stream, |books| {
            let state = books.player(&account.stream).filter(|state| state.balance(account.currency).is_some());
            let state = state.ok_or_else(|| unknown_player(self.ledgers.operators(), &account.stream))?;
            match state.campaign(campaign) {
                None => Ok(()),
                Some(_) => {
                    let refused = AppendError::Refused(Refused::CampaignExists { campaign: campaign.into() });
                    Err(refused.into())
                }
            }
        })?
    }

    /// Returns the cost of a campaign for one player, without checking the operator's cap.
    pub(crate) async fn liability(&self, campaign: &Campaign) -> Result<wire::CampaignLiability, Refusal> {
        let rate = self.ledgers.home().books(|books| books.rate(campaign.currency));
        let rate =
            rate.ok_or_else(|| Refusal::from(AppendError::Refused(Refused::NoRate { currency: campaign.currency })))?;
        let cost = self.cost(campaign, 1).await?;
        Ok(cost.to_wire(campaign, cost.highest_eur(campaign, rate)?, Nano::ZERO))
    }

    async fn cost(&self, campaign: &Campaign, players: usize) -> Result<Cost, Refusal> {
        let rate = self.ledgers.home().books(|books| books.rate(campaign.currency));
        let (campaign, ladders) = (campaign.clone(), Arc::clone(&self.ladders));
        let cost = tokio::task::spawn_blocking(move || Cost::new(&campaign, players, &ladders, rate)).await;
        cost.map_err(|error| Refusal::new(Reason::Internal, error.to_string()))?
    }

    async fn reserve(
        &self,
        caller: &Caller,
        operator: &str,
        (request_id, fingerprint, part_of): (String, [u8; 16], Option<Event>),
        campaign: &Campaign,
        cost: &Cost,
        players: &[String],
    ) -> Result<Arc<Logged>, Refusal> {
        let currency = campaign.currency;
        let rate = self.ledgers.home().books(|books| books.rate(currency));
        let rate = rate.ok_or_else(|| Refusal::from(AppendError::Refused(Refused::NoRate { currency })))?;
        let reserved = LiabilityReserved {
            operator: operator.into(),
            campaign: campaign.id.clone(),
            players: u32::try_from(players.len()).unwrap_or(u32::MAX),
            max_liability: cost.highest_eur(campaign, rate)?,
            expires_ms: campaign.expires_ms,
            cap: self.ledgers.operators().campaign_cap(operator).unwrap_or(Nano::ZERO),
            player_ids: players.iter().map(|player| player.as_str().into()).collect(),
        };
        let events = [Event::LiabilityReserved(reserved)].into_iter().chain(part_of);
        let events = events.chain([fields::acted_by(caller, "")]).collect();
        let (stream, expected_version) = (StreamId::System, None);
        Ok(self
            .ledgers
            .append(Proposal { stream, expected_version, request_id: request_id.into(), fingerprint, events })
            .await?)
    }
}

fn players(request: &wire::GrantCampaignsRequest) -> Result<&[String], Refusal> {
    let players = &request.player_ids;
    if !(1..=GRANTED_PLAYERS_MAX).contains(&players.len()) {
        return Err(no_players());
    }
    let mut seen = BTreeSet::new();
    for player in players {
        fields::id("player_ids", player)?;
        if !seen.insert(player) {
            return Err(Refusal::field("player_ids", "must not name a player more than once"));
        }
    }
    Ok(players)
}

fn player_id(grant: &wire::GrantCampaignRequest) -> String {
    grant.account.as_ref().map(|of| of.player_id.clone()).unwrap_or_default()
}

fn refused_grant(grant: &wire::GrantCampaignRequest, refusal: Refusal) -> Result<wire::PlayerGrant, Refusal> {
    if may_pass(&refusal) {
        return Err(refusal);
    }
    let (reason, message) = (refusal.reason().name().to_owned(), refusal.message().to_owned());
    Ok(wire::PlayerGrant { player_id: player_id(grant), campaign: None, reason, message })
}

fn no_players() -> Refusal {
    Refusal::field("player_ids", format!("must contain 1 to {GRANTED_PLAYERS_MAX} players"))
}

fn account(request: &wire::GrantCampaignsRequest, player: &str) -> Account {
    let (operator_id, currency_code) = (request.operator_id.clone(), request.currency_code.clone());
    Account { operator_id, player_id: player.to_owned(), currency_code }
}

fn single(request: &wire::GrantCampaignsRequest, account: Account) -> wire::GrantCampaignRequest {
    wire::GrantCampaignRequest {
        request_id: request.request_id.clone(),
        account: Some(account),
        campaign_id: request.campaign_id.clone(),
        game: request.game.clone(),
        stake: request.stake.clone(),
        rounds: request.rounds,
        expire_time: request.expire_time,
    }
}

fn may_pass(refusal: &Refusal) -> bool {
    matches!(refusal.code(), Code::Unavailable | Code::ResourceExhausted | Code::DeadlineExceeded | Code::Internal)
}
