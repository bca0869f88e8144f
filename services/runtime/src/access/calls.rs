//! Roles that each call requires. If operators are configured, methods without an entry in this table cannot be called.

use crate::roles::Roles;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub path: &'static str,
    /// Roles of which the caller needs one; [`Roles::NONE`] if the call needs no credential.
    pub roles: Roles,
    pub platform: bool,
}

const ADMIN: Roles = Roles::ADMIN;
const ANY: Roles = Roles::ANY;
const AUDIT: Roles = Roles::AUDIT;
const PLAY: Roles = Roles::PLAY;
const SUPPORT: Roles = Roles::SUPPORT;
const WALLET: Roles = Roles::WALLET;
const VIEW: Roles = PLAY.or(SUPPORT).or(AUDIT);

const fn own(path: &'static str, roles: Roles) -> Call {
    Call { path, roles, platform: false }
}

const fn platform(path: &'static str) -> Call {
    Call { path, roles: ADMIN, platform: true }
}

const fn platforms(path: &'static str, roles: Roles) -> Call {
    Call { path, roles, platform: true }
}

const fn node(path: &'static str) -> Call {
    Call { path, roles: Roles::NODES, platform: true }
}

pub const CALLS: &[Call] = &[
    own("/motherlode.spin.v1.SpinService/Spin", PLAY),
    own("/motherlode.spin.v1.SpinService/Choose", PLAY),
    own("/motherlode.spin.v1.SpinService/PlayStream", PLAY),
    own("/motherlode.spin.v1.SpinService/Autospin", PLAY),
    own("/motherlode.spin.v1.SpinService/OpenSession", PLAY),
    own("/motherlode.spin.v1.SpinService/KeepSession", PLAY),
    own("/motherlode.spin.v1.SpinService/CloseSession", PLAY),
    own("/motherlode.spin.v1.SpinService/AcknowledgeRealityCheck", PLAY),
    own("/motherlode.spin.v1.SpinService/SkipRound", PLAY),
    own("/motherlode.spin.v1.SpinService/CloseRound", SUPPORT),
    own("/motherlode.spin.v1.SpinService/ListOpenRounds", VIEW),
    own("/motherlode.spin.v1.SpinService/GrantCampaign", WALLET),
    own("/motherlode.spin.v1.SpinService/GrantCampaigns", WALLET),
    own("/motherlode.spin.v1.SpinService/ListCampaigns", WALLET.or(VIEW)),
    own("/motherlode.spin.v1.SpinService/CancelCampaign", WALLET),
    own("/motherlode.spin.v1.SpinService/ListGames", ANY),
    own("/motherlode.spin.v1.SpinService/GetGame", ANY),
    own("/motherlode.ledger.v1.LedgerService/OpenAccount", WALLET),
    own("/motherlode.ledger.v1.LedgerService/IssuePlayerId", WALLET),
    own("/motherlode.ledger.v1.LedgerService/ErasePerson", ADMIN),
    own("/motherlode.ledger.v1.LedgerService/GetAccount", WALLET.or(VIEW)),
    own("/motherlode.ledger.v1.LedgerService/Deposit", WALLET),
    own("/motherlode.ledger.v1.LedgerService/Withdraw", WALLET),
    own("/motherlode.ledger.v1.LedgerService/GetTransaction", WALLET.or(SUPPORT).or(AUDIT)),
    own("/motherlode.ledger.v1.LedgerService/GetRequest", WALLET.or(VIEW).or(ADMIN)),
    own("/motherlode.ledger.v1.LedgerService/CancelRequest", WALLET.or(PLAY).or(ADMIN)),
    own("/motherlode.ledger.v1.LedgerService/RetryWalletCalls", WALLET.or(SUPPORT)),
    own("/motherlode.ledger.v1.LedgerService/GetRound", VIEW),
    own("/motherlode.ledger.v1.LedgerService/ListRounds", VIEW),
    own("/motherlode.ledger.v1.LedgerService/ListCollections", VIEW),
    own("/motherlode.ledger.v1.LedgerService/ListPlayers", WALLET.or(SUPPORT).or(AUDIT)),
    own("/motherlode.ledger.v1.LedgerService/FindId", WALLET.or(SUPPORT).or(AUDIT)),
    own("/motherlode.ledger.v1.LedgerService/GetPlayerDay", SUPPORT.or(AUDIT)),
    own("/motherlode.ledger.v1.LedgerService/VoidRound", SUPPORT),
    platform("/motherlode.ledger.v1.LedgerService/SetExchangeRate"),
    own("/motherlode.ledger.v1.LedgerService/ListExchangeRates", ANY),
    own("/motherlode.ledger.v1.LedgerService/SetSwitch", ADMIN),
    own("/motherlode.ledger.v1.LedgerService/ListSwitches", ANY),
    own("/motherlode.ledger.v1.LedgerService/ListChanges", ADMIN),
    own("/motherlode.ledger.v1.LedgerService/ApproveChange", ADMIN),
    own("/motherlode.ledger.v1.LedgerService/RejectChange", ADMIN),
    platform("/motherlode.ledger.v1.LedgerService/TakeBase"),
    platforms("/motherlode.ledger.v1.LedgerService/ConfirmBase", AUDIT.or(ADMIN)),
    own("/motherlode.ledger.v1.LedgerService/GetLogStatus", AUDIT),
    own("/motherlode.ledger.v1.LedgerService/FollowLog", AUDIT),
    own("/motherlode.jackpot.v1.JackpotService/GetPool", ANY),
    own("/motherlode.jackpot.v1.JackpotService/WatchCounters", ANY),
    own("/motherlode.jackpot.v1.JackpotService/ListAwards", VIEW.or(ADMIN)),
    own("/motherlode.jackpot.v1.JackpotService/ResolveAwards", SUPPORT.or(ADMIN)),
    platform("/motherlode.jackpot.v1.JackpotService/OpenPool"),
    platform("/motherlode.jackpot.v1.JackpotService/ChangePoolTerms"),
    platform("/motherlode.jackpot.v1.JackpotService/SuspendPool"),
    platform("/motherlode.jackpot.v1.JackpotService/ResumePool"),
    platform("/motherlode.jackpot.v1.JackpotService/RetirePool"),
    platform("/motherlode.jackpot.v1.JackpotService/ReleaseHits"),
    platform("/motherlode.jackpot.v1.JackpotService/DeclareIncident"),
    own("/motherlode.jackpot.v1.JackpotService/ListIncidents", SUPPORT.or(AUDIT).or(ADMIN)),
    own("/motherlode.report.v1.ReportService/ListSignificantEvents", AUDIT),
    own("/motherlode.report.v1.ReportService/WatchSignificantEvents", AUDIT),
    own("/motherlode.report.v1.ReportService/ListReturns", AUDIT),
    platform("/motherlode.report.v1.ReportService/GetPoolStatement"),
    own("/motherlode.report.v1.ReportService/ListVoidShares", SUPPORT.or(AUDIT)),
    own("/motherlode.report.v1.ReportService/ListTransactions", WALLET.or(SUPPORT).or(AUDIT)),
    own("/motherlode.report.v1.ReportService/ListOperatorRounds", SUPPORT.or(AUDIT)),
    own("/motherlode.report.v1.ReportService/ListRefusals", SUPPORT.or(AUDIT).or(ADMIN)),
    own("/motherlode.report.v1.ReportService/ListRevenue", AUDIT),
    own("/motherlode.report.v1.ReportService/GetRoundPage", VIEW),
    own("/motherlode.report.v1.ReportService/GetIdentity", ANY),
    platform("/motherlode.report.v1.ReportService/RunSelfCheck"),
    platforms("/motherlode.report.v1.ReportService/GetServiceStatus", AUDIT.or(ADMIN)),
    own("/motherlode.proof.v1.ProofService/GetCheckpoint", ANY),
    own("/motherlode.proof.v1.ProofService/GetRoundProof", VIEW),
    own(PUBLIC_ROUND, Roles::NONE),
    own("/motherlode.proof.v1.ProofService/GetConsistency", ANY),
    own("/motherlode.proof.v1.ProofService/FindRecord", AUDIT),
    platform("/motherlode.admin.v1.AdminService/ReloadConfig"),
    platforms("/motherlode.job.v1.JobService/StartJob", AUDIT.or(ADMIN)),
    platforms("/motherlode.job.v1.JobService/ListJobs", AUDIT.or(ADMIN)),
    platforms("/motherlode.job.v1.JobService/CancelJob", AUDIT.or(ADMIN)),
    node("/motherlode.log.v1.LogService/GetHead"),
    node("/motherlode.log.v1.LogService/ReadRecords"),
    node("/motherlode.log.v1.LogService/FollowRecords"),
    node("/motherlode.log.v1.LogService/Propose"),
    node("/motherlode.log.v1.LogService/GetViewCheckpoint"),
    node("/motherlode.log.v1.LogService/ReadViewFile"),
];

/// Call that requires the key from a round's link instead of a credential.
const PUBLIC_ROUND: &str = "/motherlode.proof.v1.ProofService/GetPublicRound";

/// Prefixes of the calls that need no credential.
pub(super) const OPEN: [&str; 4] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
    PUBLIC_ROUND,
];
