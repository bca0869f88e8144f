use motherlode_proto::{
    jackpot::v1 as jackpot,
    job::v1 as job,
    ledger::v1 as ledger,
    log::v1 as log,
    proof::v1 as proof,
    report::v1 as report,
    round::v1::{Account, Choice, Stake, choice},
    spin::v1 as spin,
};
use prost::Message;
use tonic::Code::{self, FailedPrecondition, NotFound, Ok as Fine};

#[derive(Debug, Clone)]
pub struct Names {
    pub operator: String,
    pub player: String,
    pub round: String,
    pub link_key: String,
    pub session: String,
    pub request: String,
    pub deposit: String,
    pub pool: String,
    pub game: String,
    pub changes: [u64; 2],
    pub currency: &'static str,
    pub record: Vec<u8>,
    pub other: bool,
}

pub struct Row {
    pub path: &'static str,
    pub request: fn(&Names) -> Vec<u8>,
    /// Expected refusal if the named object does not exist; `None` if the request names no object or creates it.
    pub unknown: Option<(Code, &'static str)>,
    pub fields: bool,
}

const fn row(path: &'static str, unknown: Option<(Code, &'static str)>, request: fn(&Names) -> Vec<u8>) -> Row {
    Row { path, request, unknown, fields: true }
}

const fn plain(path: &'static str, unknown: Option<(Code, &'static str)>, request: fn(&Names) -> Vec<u8>) -> Row {
    Row { path, request, unknown, fields: false }
}

const NO_ACCOUNT: Option<(Code, &str)> = Some((NotFound, "ACCOUNT_UNKNOWN"));
const NO_ROUND: Option<(Code, &str)> = Some((NotFound, "ROUND_UNKNOWN"));
const NO_SESSION: Option<(Code, &str)> = Some((FailedPrecondition, "SESSION_EXPIRED"));
const NO_CHANGE: Option<(Code, &str)> = Some((NotFound, "CHANGE_UNKNOWN"));
const NO_BASE: Option<(Code, &str)> = Some((FailedPrecondition, "BASE_MISMATCH"));
const NO_POOL: Option<(Code, &str)> = Some((NotFound, "POOL_UNKNOWN"));
const NO_GAME: Option<(Code, &str)> = Some((NotFound, "GAME_UNKNOWN"));

/// The rows are ordered so that each call follows the calls whose effects it needs.
pub const ROWS: &[Row] = &[
    row("/motherlode.spin.v1.SpinService/Spin", NO_ACCOUNT, |it| bet(it).encode_to_vec()),
    row("/motherlode.spin.v1.SpinService/Choose", NO_ROUND, |it| choose(it).encode_to_vec()),
    row("/motherlode.spin.v1.SpinService/PlayStream", NO_ACCOUNT, |it| {
        spin::PlayStreamRequest { tag: 1, call: Some(spin::play_stream_request::Call::Spin(bet(it))) }.encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/Autospin", NO_ACCOUNT, |it| series(it).encode_to_vec()),
    row("/motherlode.spin.v1.SpinService/OpenSession", NO_ACCOUNT, |it| {
        spin::OpenSessionRequest {
            request_id: it.request.clone(),
            account: account(it),
            game: "dwarf-mine".into(),
            ..Default::default()
        }
        .encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/AcknowledgeRealityCheck", NO_SESSION, |it| {
        spin::AcknowledgeRealityCheckRequest { session_id: it.session.clone() }.encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/KeepSession", NO_SESSION, |it| {
        spin::KeepSessionRequest { session_id: it.session.clone() }.encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/CloseSession", Some((Fine, "")), |it| {
        spin::CloseSessionRequest { session_id: it.session.clone() }.encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/SkipRound", NO_ROUND, |it| {
        spin::SkipRoundRequest { request_id: it.request.clone(), round_id: round(it), ..Default::default() }
            .encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/CloseRound", NO_ROUND, |it| {
        spin::CloseRoundRequest {
            request_id: it.request.clone(),
            round_id: it.round.clone(),
            reason: content(it),
            actor: "ann".into(),
        }
        .encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/ListOpenRounds", NO_ACCOUNT, |it| {
        spin::ListOpenRoundsRequest {
            operator_id: it.operator.clone(),
            player_id: it.player.clone(),
            ..Default::default()
        }
        .encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/GrantCampaign", NO_ACCOUNT, |it| {
        spin::GrantCampaignRequest {
            request_id: it.request.clone(),
            account: account(it),
            campaign_id: "autumn".into(),
            game: "neptune".into(),
            stake: Some(stake()),
            rounds: 10,
            expire_time: Some(prost_types::Timestamp { seconds: 4_102_444_800, nanos: 0 }),
        }
        .encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/GrantCampaigns", NO_ACCOUNT, |it| {
        spin::GrantCampaignsRequest {
            request_id: it.request.clone(),
            operator_id: it.operator.clone(),
            player_ids: vec![it.player.clone()],
            currency_code: if it.other { "SEK" } else { it.currency }.to_owned(),
            campaign_id: "winter".into(),
            game: "neptune".into(),
            stake: Some(stake()),
            rounds: 10,
            expire_time: Some(prost_types::Timestamp { seconds: 2_000_000_000, nanos: 0 }),
        }
        .encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/ListCampaigns", NO_ACCOUNT, |it| {
        spin::ListCampaignsRequest { account: account(it), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.spin.v1.SpinService/CancelCampaign", NO_ACCOUNT, |it| {
        spin::CancelCampaignRequest {
            request_id: it.request.clone(),
            account: account(&Names { other: false, ..it.clone() }),
            campaign_id: "spring".into(),
            reason: content(it),
            actor: "ann".into(),
        }
        .encode_to_vec()
    }),
    plain("/motherlode.spin.v1.SpinService/ListGames", None, |_| vec![]),
    plain("/motherlode.spin.v1.SpinService/GetGame", NO_GAME, |it| {
        spin::GetGameRequest { game: it.game.clone(), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/OpenAccount", None, |it| {
        ledger::OpenAccountRequest { request_id: it.request.clone(), account: fresh(it) }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/IssuePlayerId", None, |it| {
        ledger::IssuePlayerIdRequest { operator_id: it.operator.clone(), reference: "anna".into() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/ErasePerson", Some((Fine, "")), |it| {
        let (operator_id, player_id) = (it.operator.clone(), it.player.clone());
        ledger::ErasePersonRequest { operator_id, player_id, ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/GetAccount", NO_ACCOUNT, |it| {
        ledger::GetAccountRequest { account: account(it) }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/Deposit", NO_ACCOUNT, |it| {
        ledger::DepositRequest { request_id: it.request.clone(), account: account(it), amount_minor: amount(it) }
            .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/Withdraw", NO_ACCOUNT, |it| {
        ledger::WithdrawRequest { request_id: it.request.clone(), account: account(it), amount_minor: amount(it) }
            .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/GetTransaction", NO_ACCOUNT, |it| {
        ledger::GetTransactionRequest { account: account(it), request_id: it.deposit.clone() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/GetRequest", NO_ACCOUNT, |it| {
        ledger::GetRequestRequest { account: account(it), request_id: it.deposit.clone(), ..Default::default() }
            .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/CancelRequest", NO_ACCOUNT, |it| {
        ledger::CancelRequestRequest { account: account(it), request_id: it.request.clone(), ..Default::default() }
            .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/RetryWalletCalls", NO_ACCOUNT, |it| {
        ledger::RetryWalletCallsRequest { account: account(it), actor: "ann".into() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/GetRound", NO_ROUND, |it| {
        ledger::GetRoundRequest { round_id: it.round.clone() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/ListRounds", NO_ACCOUNT, |it| {
        ledger::ListRoundsRequest { account: account(it), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/ListCollections", NO_ACCOUNT, |it| {
        ledger::ListCollectionsRequest { account: account(it), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/ListPlayers", Some((Fine, "")), |it| {
        ledger::ListPlayersRequest { operator_id: it.operator.clone(), prefix: it.player.clone(), ..Default::default() }
            .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/FindId", Some((Fine, "")), |it| {
        ledger::FindIdRequest { operator_id: it.operator.clone(), id: it.player.clone() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/GetPlayerDay", NO_ACCOUNT, |it| {
        ledger::GetPlayerDayRequest { account: account(it) }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/VoidRound", NO_ROUND, |it| {
        ledger::VoidRoundRequest {
            request_id: it.request.clone(),
            round_id: it.round.clone(),
            reason: content(it),
            actor: "ann".into(),
        }
        .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/SetExchangeRate", None, |it| {
        ledger::SetExchangeRateRequest {
            request_id: it.request.clone(),
            currency_code: it.currency.into(),
            eur_per_unit: if it.other { "0.08" } else { "0.09" }.into(),
            source: "test".into(),
        }
        .encode_to_vec()
    }),
    plain("/motherlode.ledger.v1.LedgerService/ListExchangeRates", None, |_| vec![]),
    row("/motherlode.ledger.v1.LedgerService/SetSwitch", NO_GAME, |it| switch(it).encode_to_vec()),
    plain("/motherlode.ledger.v1.LedgerService/ListSwitches", None, |_| vec![]),
    plain("/motherlode.ledger.v1.LedgerService/ListChanges", None, |_| vec![]),
    row("/motherlode.ledger.v1.LedgerService/ApproveChange", NO_CHANGE, |it| {
        ledger::ApproveChangeRequest { request_id: it.request.clone(), change_id: change(it), ..Default::default() }
            .encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/RejectChange", NO_CHANGE, |it| {
        let (request_id, reason) = (it.request.clone(), "test".to_owned());
        ledger::RejectChangeRequest { request_id, change_id: change(it), reason, ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/TakeBase", NO_BASE, |it| {
        ledger::TakeBaseRequest { record_hash: it.record.clone(), ..base(it) }.encode_to_vec()
    }),
    row("/motherlode.ledger.v1.LedgerService/ConfirmBase", NO_BASE, |it| {
        let ledger::TakeBaseRequest { request_id, position, digest, .. } = base(it);
        ledger::ConfirmBaseRequest { request_id, position, digest, ..Default::default() }.encode_to_vec()
    }),
    plain("/motherlode.ledger.v1.LedgerService/GetLogStatus", None, |_| vec![]),
    plain("/motherlode.ledger.v1.LedgerService/FollowLog", None, |_| vec![]),
    row("/motherlode.jackpot.v1.JackpotService/GetPool", NO_POOL, |it| {
        jackpot::GetPoolRequest { pool_id: it.pool.clone() }.encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/WatchCounters", NO_POOL, |it| {
        jackpot::WatchCountersRequest { pool_id: it.pool.clone(), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/ListAwards", NO_POOL, |it| {
        jackpot::ListAwardsRequest { pool_id: it.pool.clone(), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/ResolveAwards", NO_POOL, |it| {
        jackpot::ResolveAwardsRequest { pool_id: it.pool.clone(), reference: "ticket 7".into() }.encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/OpenPool", None, |it| {
        jackpot::OpenPoolRequest { request_id: it.request.clone(), pool_id: it.pool.clone(), terms: terms(it) }
            .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/ChangePoolTerms", NO_POOL, |it| {
        jackpot::ChangePoolTermsRequest { request_id: it.request.clone(), pool_id: it.pool.clone(), terms: terms(it) }
            .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/SuspendPool", NO_POOL, |it| {
        jackpot::SuspendPoolRequest {
            request_id: it.request.clone(),
            pool_id: it.pool.clone(),
            reason: content(it),
            actor: "ann".into(),
        }
        .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/ReleaseHits", NO_POOL, |it| {
        jackpot::ReleaseHitsRequest {
            request_id: it.request.clone(),
            pool_id: it.pool.clone(),
            reason: content(it),
            actor: content(it),
        }
        .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/ResumePool", NO_POOL, |it| {
        jackpot::ResumePoolRequest { request_id: it.request.clone(), pool_id: it.pool.clone(), actor: content(it) }
            .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/RetirePool", NO_POOL, |it| {
        jackpot::RetirePoolRequest {
            request_id: it.request.clone(),
            pool_id: it.pool.clone(),
            into_pool_id: "bewitched".into(),
            actor: content(it),
        }
        .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/DeclareIncident", NO_POOL, |it| {
        let time = |seconds: i64| Some(prost_types::Timestamp { seconds, nanos: 0 });
        // Fixed day, so that the documentation page generated from this request stays the same.
        let day = 1_793_491_200;
        let incident = jackpot::Incident {
            incident_id: it.request.clone(),
            operator_id: it.operator.clone(),
            game: "bewitched".into(),
            rules_version: String::new(),
            from_time: time(day),
            until_time: time(day + 86_400),
            reason: content(it),
            actor: String::new(),
        };
        jackpot::DeclareIncidentRequest {
            request_id: it.request.clone(),
            pool_id: it.pool.clone(),
            incident: Some(incident),
            actor: content(it),
        }
        .encode_to_vec()
    }),
    row("/motherlode.jackpot.v1.JackpotService/ListIncidents", NO_POOL, |it| {
        jackpot::ListIncidentsRequest { pool_id: it.pool.clone() }.encode_to_vec()
    }),
    plain("/motherlode.report.v1.ReportService/ListVoidShares", None, |_| {
        report::ListVoidSharesRequest { from_date: "2026-11-26".into(), to_date: String::new() }.encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/ListSignificantEvents", None, |it| {
        report::ListSignificantEventsRequest { page_token: token(it), ..Default::default() }.encode_to_vec()
    }),
    plain("/motherlode.report.v1.ReportService/WatchSignificantEvents", None, |_| vec![]),
    row("/motherlode.report.v1.ReportService/ListReturns", Some((Fine, "")), |it| {
        report::ListReturnsRequest { operator_id: it.operator.clone(), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/GetPoolStatement", NO_POOL, |it| {
        report::GetPoolStatementRequest { pool_id: it.pool.clone(), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/ListTransactions", NO_ACCOUNT, |it| {
        report::ListTransactionsRequest {
            operator_id: it.operator.clone(),
            player_id: it.player.clone(),
            page_token: token(it),
            ..Default::default()
        }
        .encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/ListOperatorRounds", Some((Fine, "")), |it| {
        report::ListOperatorRoundsRequest {
            operator_id: it.operator.clone(),
            page_token: token(it),
            ..Default::default()
        }
        .encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/ListRefusals", Some((Fine, "")), |it| {
        report::ListRefusalsRequest { operator_id: it.operator.clone(), ..Default::default() }.encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/ListRevenue", Some((Fine, "")), |it| {
        report::ListRevenueRequest { operator_id: it.operator.clone(), page_token: token(it), ..Default::default() }
            .encode_to_vec()
    }),
    row("/motherlode.report.v1.ReportService/GetRoundPage", NO_ROUND, |it| {
        report::GetRoundPageRequest { round_id: it.round.clone() }.encode_to_vec()
    }),
    plain("/motherlode.report.v1.ReportService/GetIdentity", None, |_| vec![]),
    plain("/motherlode.report.v1.ReportService/RunSelfCheck", None, |_| vec![]),
    plain("/motherlode.report.v1.ReportService/GetServiceStatus", None, |_| vec![]),
    plain("/motherlode.proof.v1.ProofService/GetCheckpoint", None, |_| vec![]),
    row("/motherlode.proof.v1.ProofService/GetRoundProof", NO_ROUND, |it| {
        proof::GetRoundProofRequest { round_id: it.round.clone(), ..Default::default() }.encode_to_vec()
    }),
    plain("/motherlode.proof.v1.ProofService/GetPublicRound", NO_ROUND, |it| {
        let (round_id, link_key) = (it.round.clone(), it.link_key.clone());
        proof::GetPublicRoundRequest { round_id, link_key, with_proof: false }.encode_to_vec()
    }),
    plain("/motherlode.proof.v1.ProofService/GetConsistency", None, |_| {
        proof::GetConsistencyRequest { partition: 0, old_size: 1 }.encode_to_vec()
    }),
    row("/motherlode.proof.v1.ProofService/FindRecord", Some((NotFound, "RECORD_UNKNOWN")), |it| {
        proof::FindRecordRequest { hash: it.record.clone() }.encode_to_vec()
    }),
    plain("/motherlode.admin.v1.AdminService/ReloadConfig", None, |_| vec![]),
    row("/motherlode.job.v1.JobService/StartJob", NO_GAME, |it| {
        let simulation =
            job::Simulation { game: it.game.clone(), rounds: if it.other { 2 } else { 1 }, ..Default::default() };
        let work = Some(job::start_job_request::Work::Simulation(simulation));
        job::StartJobRequest { request_id: it.request.clone(), work }.encode_to_vec()
    }),
    plain("/motherlode.job.v1.JobService/ListJobs", None, |_| vec![]),
    plain("/motherlode.job.v1.JobService/CancelJob", Some((NotFound, "JOB_UNKNOWN")), |it| {
        job::CancelJobRequest { job_id: it.changes[0].max(1) }.encode_to_vec()
    }),
    plain("/motherlode.log.v1.LogService/GetHead", None, |_| log::GetHeadRequest { partition: 0 }.encode_to_vec()),
    plain("/motherlode.log.v1.LogService/ReadRecords", None, |_| {
        log::ReadRecordsRequest { from_position: 1, ..Default::default() }.encode_to_vec()
    }),
    plain("/motherlode.log.v1.LogService/FollowRecords", None, |_| {
        log::FollowRecordsRequest::default().encode_to_vec()
    }),
    row("/motherlode.log.v1.LogService/Propose", None, |it| {
        let proposal = log::Proposal {
            stream: format!("player/{}/{}", it.operator, it.player),
            request_id: it.request.clone(),
            fingerprint: vec![0; 16],
            events: vec![log::Event { kind: Some(log::event::Kind::RequestCancelled(log::RequestCancelled {})) }],
            ..Default::default()
        };
        log::ProposeRequest { partition: 0, proposals: vec![proposal] }.encode_to_vec()
    }),
    plain("/motherlode.log.v1.LogService/GetViewCheckpoint", None, |_| {
        log::GetViewCheckpointRequest { partition: 0 }.encode_to_vec()
    }),
    plain("/motherlode.log.v1.LogService/ReadViewFile", None, |_| {
        log::ReadViewFileRequest { digest: vec![7; 32], ..Default::default() }.encode_to_vec()
    }),
];

pub fn base(it: &Names) -> ledger::TakeBaseRequest {
    ledger::TakeBaseRequest {
        request_id: it.request.clone(),
        position: it.changes[0],
        form: 1,
        digest: vec![if it.other { 8 } else { 7 }; 32],
        ..Default::default()
    }
}

fn content(it: &Names) -> String {
    if it.other { "other" } else { "one" }.to_owned()
}

fn amount(it: &Names) -> i64 {
    if it.other { 8 } else { 7 }
}

fn token(it: &Names) -> String {
    if it.request.contains(' ') { it.request.clone() } else { String::new() }
}

fn account(it: &Names) -> Option<Account> {
    let (operator_id, player_id) = (it.operator.clone(), it.player.clone());
    let currency_code = if it.other { "SEK" } else { it.currency };
    Some(Account { operator_id, player_id, currency_code: currency_code.to_owned() })
}

fn fresh(it: &Names) -> Option<Account> {
    let currency_code = if it.other { "KWD" } else { "JPY" }.to_owned();
    account(it).map(|account| Account { currency_code, ..account })
}

fn change(it: &Names) -> u64 {
    it.changes[usize::from(it.other)]
}

fn round(it: &Names) -> String {
    if it.other { format!("{}7", it.round) } else { it.round.clone() }
}

fn stake() -> Stake {
    Stake { coin_value: "0.01".to_owned(), lines: 15, coins_per_line: 1, buy_feature: false }
}

fn bet(it: &Names) -> spin::SpinRequest {
    let (request_id, game) = (it.request.clone(), "neptune".to_owned());
    spin::SpinRequest { request_id, account: account(it), game, stake: Some(stake()), ..Default::default() }
}

fn series(it: &Names) -> spin::AutospinRequest {
    let (request_id, game) = (it.request.clone(), "neptune".to_owned());
    spin::AutospinRequest {
        request_id,
        account: account(it),
        game,
        stake: Some(stake()),
        spins: 1,
        ..Default::default()
    }
}

fn choose(it: &Names) -> spin::ChooseRequest {
    let kind = match it.other {
        false => choice::Kind::StartFeature(choice::StartFeature {}),
        true => choice::Kind::Collect(choice::Collect {}),
    };
    let choice = Some(Choice { kind: Some(kind) });
    spin::ChooseRequest { request_id: it.request.clone(), round_id: it.round.clone(), choice, ..Default::default() }
}

fn switch(it: &Names) -> ledger::SetSwitchRequest {
    let switch = ledger::Switch { operator_id: "acme".to_owned(), game: it.game.clone(), ..Default::default() };
    let state = ledger::set_switch_request::State::Off.into();
    let (reason, actor) = (content(it), "ann".to_owned());
    ledger::SetSwitchRequest {
        request_id: it.request.clone(),
        switch: Some(switch),
        state,
        reason,
        actor,
        preview: false,
    }
}

fn terms(it: &Names) -> Option<jackpot::PoolTerms> {
    Some(jackpot::PoolTerms {
        contribution_ppm: if it.other { 4_000 } else { 5_000 },
        seed_eur: "20000".to_owned(),
        base_coin: "10".to_owned(),
        refresh_ms: 3_000,
        ..Default::default()
    })
}
