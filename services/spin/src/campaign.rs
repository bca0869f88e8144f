//! A campaign's terms never change, so a free round's stake is read before the bet is decided. Remaining rounds and
//! expiry are checked when the bet's commit is applied to the state.

use crate::{
    api::SpinApi,
    free_rounds::stake,
    stake::{find_game, invalid_stake, offered, whole_bet},
};
use motherlode_ledger::{
    Proposal,
    fields::{self, AccountId, account_of, money, timestamp},
    fingerprint, unknown_account, unknown_campaign,
};
use motherlode_proto::{convert::record::Logged, round::v1 as round, spin::v1 as wire};
use motherlode_runtime::{Caller, Reason, Refusal};
use motherlode_slots::Ladders;
use motherlode_state::{Campaign, CampaignOver, CampaignState, Event, Minor};

const PAGE_SIZE: usize = 10;
const PAGE_SIZE_MAX: usize = 100;

const SECONDS_MAX: i64 = 253_402_300_799;

impl SpinApi {
    pub(crate) async fn grant_campaign(
        &self,
        caller: &Caller,
        request: &wire::GrantCampaignRequest,
    ) -> Result<wire::GrantCampaignResponse, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let account = fields::real_account(caller, request.account.as_ref())?;
        self.ledgers.for_stream(&account.stream)?;
        let fingerprint = fingerprint("grant_campaign", request);
        let campaign = match parse(&account, &self.ladders, request) {
            Ok(campaign) => {
                self.reserve_single(caller, &account, request, &campaign).await?;
                self.granted(caller, account, request, campaign).await?
            }
            // A repeated grant gets the original answer.
            Err(refusal) => {
                let granted =
                    self.ledgers.for_stream(&account.stream)?.find(&account.stream, request_id, fingerprint)?;
                answer(granted.ok_or(refusal)?.as_ref(), request_id)?
            }
        };
        Ok(wire::GrantCampaignResponse { campaign: Some(campaign) })
    }

    pub(crate) async fn granted(
        &self,
        caller: &Caller,
        account: AccountId,
        request: &wire::GrantCampaignRequest,
        campaign: Campaign,
    ) -> Result<wire::Campaign, Refusal> {
        let events = vec![Event::CampaignGranted(campaign), fields::acted_by(caller, "")];
        let fingerprint = fingerprint("grant_campaign", request);
        answer(&*self.record(account, &request.request_id, fingerprint, events).await?, &request.request_id)
    }

    pub(crate) async fn cancel_campaign(
        &self,
        caller: &Caller,
        request: &wire::CancelCampaignRequest,
    ) -> Result<wire::CancelCampaignResponse, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let account = fields::account(caller, request.account.as_ref())?;
        let campaign = fields::id("campaign_id", &request.campaign_id)?.to_owned();
        let reason = fields::reason("reason", &request.reason)?.to_owned();
        let reference = fields::reference("actor", &request.actor)?;
        let other = self.ledgers.for_stream(&account.stream)?.books_of(&account.stream, |books| {
            let granted = books.player(&account.stream).and_then(|player| player.campaign(&campaign));
            granted.is_some_and(|state| state.campaign.currency != account.currency)
        })?;
        if other {
            return Err(unknown_campaign(&campaign));
        }
        let cancelled = Event::CampaignCancelled { campaign: campaign.into(), reason, actor: caller.signature() };
        let (fingerprint, events) =
            (fingerprint("cancel_campaign", request), vec![cancelled, fields::acted_by(caller, reference)]);
        let position = self.record(account, request_id, fingerprint, events).await?.commit.position;
        Ok(wire::CancelCampaignResponse { position })
    }

    async fn record(
        &self,
        account: AccountId,
        request_id: &str,
        fingerprint: [u8; 16],
        events: Vec<Event>,
    ) -> motherlode_ledger::Verdict {
        let (stream, request_id) = (account.stream, request_id.to_owned());
        let proposal = Proposal { stream, expected_version: None, request_id: request_id.into(), fingerprint, events };
        self.ledgers.append(proposal).await
    }

    pub(crate) async fn list_campaigns(
        &self,
        caller: &Caller,
        request: &wire::ListCampaignsRequest,
    ) -> Result<wire::ListCampaignsResponse, Refusal> {
        let AccountId { stream, currency } = fields::account(caller, request.account.as_ref())?;
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size.min(PAGE_SIZE_MAX),
            Err(_) => return Err(Refusal::field("page_size", "must not be negative")),
        };
        let after = fields::page_number(&request.page_token)?.unwrap_or(0);
        let ledger = self.ledgers.for_stream(&stream)?;
        let now_ms = ledger.now_ms();
        let (mut page, left) = ledger.books_of(&stream, |books| {
            let player = books.player(&stream).filter(|player| player.balance(currency).is_some());
            let granted = player.ok_or_else(unknown_account)?.campaigns();
            let mut later = granted.filter(|state| state.campaign.currency == currency && state.granted_at > after);
            let (mut page, mut left) = (wire::ListCampaignsResponse::default(), vec![]);
            for state in later.by_ref().take(size) {
                let campaign = to_wire(&stream, state, now_ms);
                left.push(Campaign { rounds: campaign.rounds_left, ..state.campaign.clone() });
                page.campaigns.push(campaign);
            }
            if later.next().is_some()
                && let Some(last) = page.campaigns.last()
            {
                page.next_page_token = last.position.to_string();
            }
            Ok::<_, Refusal>((page, left))
        })??;
        if request.with_liability {
            for (campaign, left) in page.campaigns.iter_mut().zip(&left) {
                if campaign.state() == wire::CampaignState::Active {
                    campaign.liability_left = self.liability(left).await.ok();
                }
            }
        }
        Ok(page)
    }
}

fn answer(logged: &Logged, request_id: &str) -> Result<wire::Campaign, Refusal> {
    let commit = &logged.commit;
    let Some(Event::CampaignGranted(campaign)) = commit.events.first() else {
        return Err(Refusal::request_id_reused(request_id));
    };
    let state = CampaignState {
        campaign: campaign.clone(),
        granted_at: commit.position,
        granted_ms: commit.time_ms,
        begun: 0,
        given_back: 0,
        cancelled: false,
    };
    Ok(to_wire(&commit.stream, &state, commit.time_ms))
}

pub(crate) fn parse(
    account: &AccountId,
    ladders: &Ladders,
    request: &wire::GrantCampaignRequest,
) -> Result<Campaign, Refusal> {
    let id = fields::id("campaign_id", &request.campaign_id)?.to_owned();
    if !(1..=Campaign::ROUNDS_MAX).contains(&request.rounds) {
        return Err(Refusal::field("rounds", format!("must be 1 to {}", Campaign::ROUNDS_MAX)));
    }
    let expires = request.expire_time.ok_or_else(|| Refusal::field("expire_time", "is required"))?;
    let valid = (0..=SECONDS_MAX).contains(&expires.seconds) && (0..1_000_000_000).contains(&expires.nanos);
    if !valid {
        return Err(Refusal::field("expire_time", "must be a time from 1970 to 9999"));
    }
    let wanted = request.stake.as_ref().ok_or_else(|| Refusal::field("stake", "is required"))?;
    let coin_value = fields::coin_value("stake.coin_value", &wanted.coin_value)?;
    let game = find_game(&request.game, "")?;
    if wanted.buy_feature {
        let message = "a free round cannot buy a feature: set stake.buy_feature to false";
        return Err(Refusal::new(Reason::InvalidStake, message));
    }
    let mut campaign = Campaign {
        id: id.into(),
        game: game.name().into(),
        currency: account.currency,
        bet: Minor::ZERO,
        coin_value,
        lines: wanted.lines,
        coins_per_line: wanted.coins_per_line,
        rounds: request.rounds,
        expires_ms: expires.seconds * 1000 + i64::from(expires.nanos / 1_000_000),
    };
    let coins = game
        .check_stake(&stake(&campaign))
        .map_err(|refused| invalid_stake(game, ladders, account.currency, &refused))?;
    offered(game, ladders, account.currency, coin_value, false)?;
    campaign.bet = whole_bet(account.currency, coin_value, coins)?;
    Ok(campaign)
}

fn to_wire(stream: &motherlode_state::StreamId, state: &CampaignState, now_ms: i64) -> wire::Campaign {
    let Campaign { id, game, currency, bet, coin_value, lines, coins_per_line, rounds, expires_ms } = &state.campaign;
    let standing = match state.over(now_ms) {
        None => wire::CampaignState::Active,
        Some(CampaignOver::UsedUp) => wire::CampaignState::UsedUp,
        Some(CampaignOver::Expired) => wire::CampaignState::Expired,
        Some(CampaignOver::Cancelled) => wire::CampaignState::Cancelled,
    };
    wire::Campaign {
        campaign_id: id.to_string(),
        account: Some(account_of(stream, *currency)),
        game: game.to_string(),
        stake: Some(round::Stake {
            coin_value: coin_value.to_string(),
            lines: *lines,
            coins_per_line: *coins_per_line,
            buy_feature: false,
        }),
        bet: Some(money(*bet, *currency)),
        rounds: *rounds,
        rounds_left: u32::try_from(state.left()).unwrap_or(*rounds),
        expire_time: Some(timestamp(*expires_ms)),
        state: standing.into(),
        position: state.granted_at,
        grant_time: Some(timestamp(state.granted_ms)),
        liability_left: None,
    }
}
