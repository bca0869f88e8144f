//! Table of reasons: name on the wire, status code, whether a retry helps, meaning and next step.

use tonic::Code;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// A retry never helps: the same request is always refused.
    Never,
    /// A retry helps after the condition named by the reason has changed. The retry may have the same request id.
    AfterChange,
    /// A retry of the unchanged request, with the same request id, helps after this many milliseconds. The refusal carries a
    /// `RetryInfo`, which may state a longer time.
    After(u32),
}

macro_rules! reasons {
    ($($section:literal { $($(#[doc = $doc:literal])+ $reason:ident = $name:literal, $code:ident, $retry:ident $(($ms:literal))?;)+ })+) => {
        /// Reason for a refusal: `google.rpc.ErrorInfo.reason`. The errors reference is generated from these docs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($($(#[doc = $doc])+ $reason,)+)+
        }

        pub(super) struct Row {
            pub(super) reason: Reason,
            pub(super) name: &'static str,
            pub(super) code: Code,
            pub(super) retry: Retry,
            pub(super) section: &'static str,
            /// Lines of the doc comment, each with its leading space.
            pub(super) doc: &'static [&'static str],
        }

        pub(super) const TABLE: &[Row] = &[
            $($(Row {
                reason: Reason::$reason,
                name: $name,
                code: Code::$code,
                retry: Retry::$retry $(($ms))?,
                section: $section,
                doc: &[$($doc),+],
            },)+)+
        ];
    };
}

reasons! {
    "Callers and their limits" {
        /// The call has no credential. Send the header `authorization: Bearer <token>`, or pass `--token-file` to the
        /// command.
        TokenMissing = "TOKEN_MISSING", Unauthenticated, AfterChange;
        /// The header `authorization` occurs more than once. Send it once.
        TokenAmbiguous = "TOKEN_AMBIGUOUS", Unauthenticated, AfterChange;
        /// The token belongs to no operator. Check the file from which the token was read.
        TokenUnknown = "TOKEN_UNKNOWN", Unauthenticated, AfterChange;
        /// The credential does not serve the operator named in the header `motherlode-operator`, or the header occurs twice.
        OperatorNotServed = "OPERATOR_NOT_SERVED", PermissionDenied, AfterChange;
        /// The token has expired, possibly during the call. Retry with a newer token and the same request id.
        TokenExpired = "TOKEN_EXPIRED", Unauthenticated, AfterChange;
        /// The connection's client certificate belongs to no operator.
        CertificateUnknown = "CERTIFICATE_UNKNOWN", Unauthenticated, AfterChange;
        /// The expiry configured for the client certificate has passed. Retry with a newer certificate and the same
        /// request id.
        CertificateExpired = "CERTIFICATE_EXPIRED", Unauthenticated, AfterChange;
        /// The credential lacks the required role; any role in `roles` suffices.
        RoleMissing = "ROLE_MISSING", PermissionDenied, AfterChange;
        /// The service has no such method.
        MethodUnknown = "METHOD_UNKNOWN", Unimplemented, Never;
        /// The method takes a stream of messages. Call the method over gRPC.
        MethodNeedsGrpc = "METHOD_NEEDS_GRPC", Unimplemented, Never;
        /// The operator exceeds its rate of calls (`calls_per_second_max`).
        RateLimited = "RATE_LIMITED", ResourceExhausted, After(100);
        /// The operator's number of connections is at its limit. Close some connections.
        TooManyConnections = "TOO_MANY_CONNECTIONS", ResourceExhausted, After(1_000);
        /// The operator's send or receive buffers are full. Read the answers, and send fewer requests at once.
        BuffersFull = "BUFFERS_FULL", ResourceExhausted, After(1_000);
        /// The operator's queue of long reads is full. Make long reads one after another.
        ReadsBusy = "READS_BUSY", ResourceExhausted, After(200);
        /// The number of the operator's open log streams is at its limit (`streams_max`). End one of them.
        FollowersMax = "FOLLOWERS_MAX", ResourceExhausted, AfterChange;
    }
    "Request format, deadline and id" {
        /// The bytes cannot be decoded as the method's message.
        MessageMalformed = "MESSAGE_MALFORMED", InvalidArgument, Never;
        /// The message is longer than `limits.message_bytes_max`.
        MessageTooLong = "MESSAGE_TOO_LONG", OutOfRange, Never;
        /// The complete message did not arrive in time. The call had no effect; send the message again.
        MessageLate = "MESSAGE_LATE", DeadlineExceeded, AfterChange;
        /// A call in JSON must have the content type `application/json`.
        ContentTypeUnknown = "CONTENT_TYPE_UNKNOWN", InvalidArgument, Never;
        /// The console's listener refused the HTTP request before it became a call; the HTTP status gives the cause.
        HttpRefused = "HTTP_REFUSED", InvalidArgument, AfterChange;
        /// The header `grpc-timeout` is malformed or occurs twice.
        TimeoutMalformed = "TIMEOUT_MALFORMED", InvalidArgument, Never;
        /// The call's deadline has passed. Whether the request took effect is unknown: retry with the same request id.
        DeadlineExceeded = "DEADLINE_EXCEEDED", DeadlineExceeded, After(100);
        /// A field is missing or malformed. Correct the field that `BadRequest` names.
        InvalidField = "INVALID_FIELD", InvalidArgument, Never;
        /// The request id was used for a request with other content. Use a new request id.
        RequestIdReused = "REQUEST_ID_REUSED", AlreadyExists, Never;
        /// The request was cancelled by CancelRequest and is never applied.
        RequestCancelled = "REQUEST_CANCELLED", FailedPrecondition, Never;
        /// Another request changed the same player, pool or setting while this request was decided. This request had no
        /// effect; retry it.
        VersionConflict = "VERSION_CONFLICT", Aborted, After(10);
    }
    "Accounts and money" {
        /// There is no such account, or it belongs to another operator. OpenAccount opens an account.
        AccountUnknown = "ACCOUNT_UNKNOWN", NotFound, AfterChange;
        /// The operator has `player_ids = "opaque"`, so the id of a new player must be a UUID, a ULID, or 32 to 64 hexadecimal
        /// digits.
        PlayerIdNotOpaque = "PLAYER_ID_NOT_OPAQUE", InvalidArgument, Never;
        /// IssuePlayerId and ErasePerson need a log in a local folder, written by one process. Issue random player ids
        /// yourself.
        PersonsUnsupported = "PERSONS_UNSUPPORTED", Unimplemented, Never;
        /// IssuePlayerId has reached its limit of persons for the operator (`persons_max`), or of operators
        /// (`operators_max`).
        PersonsFull = "PERSONS_FULL", ResourceExhausted, AfterChange;
        /// The file that links persons to player ids could not be read or written. A log line on standard error names
        /// the file.
        PersonsUnavailable = "PERSONS_UNAVAILABLE", Unavailable, After(1_000);
        /// The person cannot be erased yet: the player has open rounds, money, or pending wallet calls, voids or awards
        /// (`open`).
        PersonInPlay = "PERSON_IN_PLAY", FailedPrecondition, AfterChange;
        /// The person cannot be erased yet: `person_keep_days` have not passed since the player's last record (`until`).
        PersonKept = "PERSON_KEPT", FailedPrecondition, AfterChange;
        /// The account is already open.
        AccountExists = "ACCOUNT_EXISTS", AlreadyExists, Never;
        /// The account has no such transaction.
        TransactionUnknown = "TRANSACTION_UNKNOWN", NotFound, AfterChange;
        /// The balance is below the amount, or the operator's wallet refused the debit for this or no stated reason.
        InsufficientFunds = "INSUFFICIENT_FUNDS", FailedPrecondition, AfterChange;
        /// The operator's wallet refused the bet for a reason other than insufficient funds (`wallet_reason_code`,
        /// `wallet_reason`).
        WalletRefused = "WALLET_REFUSED", FailedPrecondition, AfterChange;
        /// The amount is above the currency's ceiling (`limit_minor`).
        AmountAboveLimit = "AMOUNT_ABOVE_LIMIT", FailedPrecondition, Never;
        /// An amount would exceed the range of its integer type.
        AmountOutOfRange = "AMOUNT_OUT_OF_RANGE", OutOfRange, Never;
        /// The deposit would raise the balance above its ceiling (`limit_minor`).
        BalanceAboveLimit = "BALANCE_ABOVE_LIMIT", FailedPrecondition, AfterChange;
        /// The currency allows no new accounts or bets, because it is not enabled or has no coin ladder.
        CurrencyNotOffered = "CURRENCY_NOT_OFFERED", FailedPrecondition, AfterChange;
        /// The currency has no exchange rate to EUR. Set a rate with SetExchangeRate.
        RateUnknown = "RATE_UNKNOWN", FailedPrecondition, AfterChange;
        /// The exchange rate is outside the configured bounds.
        RateOutOfBounds = "RATE_OUT_OF_BOUNDS", FailedPrecondition, Never;
        /// Play money (XTS) cannot be deposited or withdrawn, and operators' own wallets cannot hold it.
        PlayMoney = "PLAY_MONEY", FailedPrecondition, Never;
    }
    "Play" {
        /// There is no such game or rules version. ListGames lists all games and versions.
        GameUnknown = "GAME_UNKNOWN", NotFound, Never;
        /// The operator is neither configured nor in the log. ListSwitches lists the operators.
        OperatorUnknown = "OPERATOR_UNKNOWN", NotFound, Never;
        /// The game does not offer this stake. GetGame returns the game's lines, coins and coin values.
        InvalidStake = "INVALID_STAKE", InvalidArgument, Never;
        /// The rules version is superseded and accepts no new bets. Use the current version.
        RulesVersionSuperseded = "RULES_VERSION_SUPERSEDED", FailedPrecondition, AfterChange;
        /// The platform has stopped all new rounds with SetSwitch.
        ServiceDisabled = "SERVICE_DISABLED", FailedPrecondition, AfterChange;
        /// A switch stops new rounds of the operator.
        OperatorDisabled = "OPERATOR_DISABLED", FailedPrecondition, AfterChange;
        /// A switch stops new rounds of the game.
        GameDisabled = "GAME_DISABLED", FailedPrecondition, AfterChange;
        /// A switch stops new rounds of the rules version.
        VersionDisabled = "VERSION_DISABLED", FailedPrecondition, AfterChange;
        /// The player has an open round of the game (`round_id`). End the round with Choose, SkipRound or CloseRound.
        RoundInProgress = "ROUND_IN_PROGRESS", FailedPrecondition, AfterChange;
        /// The number of the operator's open rounds in this partition is at its limit. Finish some rounds.
        OpenRoundsFull = "OPEN_ROUNDS_FULL", ResourceExhausted, After(5_000);
        /// The player's first spin of this game must pick a witch. Set the request's field `witch`.
        WitchNotPicked = "WITCH_NOT_PICKED", FailedPrecondition, AfterChange;
        /// The round awaits a different choice, or no choice (see `awaiting`).
        ChoiceNotAwaited = "CHOICE_NOT_AWAITED", FailedPrecondition, Never;
        /// The round is over and accepts no more choices. GetRound returns it.
        AlreadySettled = "ALREADY_SETTLED", FailedPrecondition, Never;
        /// There is no such round, or it belongs to another operator. ListRounds lists a player's rounds.
        RoundUnknown = "ROUND_UNKNOWN", NotFound, AfterChange;
        /// The seal of the next draw differs from the seal that the request names. Retry with the new `seal`.
        SealChanged = "SEAL_CHANGED", FailedPrecondition, AfterChange;
        /// The key of the round's draws is missing. Restore the keys folder, or void the round.
        DrawKeyLost = "DRAW_KEY_LOST", FailedPrecondition, AfterChange;
        /// The process has no draw keys (`[draws] key_file`), so it can neither draw nor rebuild a round.
        NoDrawKeys = "NO_DRAW_KEYS", FailedPrecondition, AfterChange;
        /// The operating system returned no random bytes.
        NoEntropy = "NO_ENTROPY", Unavailable, After(1_000);
        /// The operating system returned no random bytes for the seed of a simulation.
        NoRandomNumbers = "NO_RANDOM_NUMBERS", Unavailable, After(1_000);
        /// The jurisdiction does not allow buying a feature.
        BuyFeatureForbidden = "BUY_FEATURE_FORBIDDEN", FailedPrecondition, Never;
        /// The jurisdiction does not allow gambling a win.
        GambleForbidden = "GAMBLE_FORBIDDEN", FailedPrecondition, Never;
        /// The jurisdiction does not allow games with a progressive jackpot.
        JackpotForbidden = "JACKPOT_FORBIDDEN", FailedPrecondition, Never;
        /// The jurisdiction does not allow autoplay.
        AutoplayForbidden = "AUTOPLAY_FORBIDDEN", FailedPrecondition, Never;
        /// The bet exceeds the limit for a round (`limit_minor`).
        BetLimit = "BET_LIMIT", FailedPrecondition, AfterChange;
        /// The bet could raise the player's daily loss above the limit (`limit_minor`).
        LossLimit = "LOSS_LIMIT", FailedPrecondition, AfterChange;
        /// The jurisdiction's minimum time since the start of the player's last round has not passed.
        RoundTooSoon = "ROUND_TOO_SOON", FailedPrecondition, After(1_000);
    }
    "Sessions" {
        /// The jurisdiction or operator requires a session. Open a session with OpenSession.
        SessionRequired = "SESSION_REQUIRED", FailedPrecondition, AfterChange;
        /// The player already has an open session, or another KeepSession call is keeping the session open. Bet in the
        /// open session, or close it.
        SessionInUse = "SESSION_IN_USE", FailedPrecondition, AfterChange;
        /// The player's session of this game lost its connection some seconds ago, and the game is still reserved for
        /// that session.
        SessionHeld = "SESSION_HELD", FailedPrecondition, After(1_000);
        /// The session is over. Open another session.
        SessionExpired = "SESSION_EXPIRED", FailedPrecondition, AfterChange;
        /// The session is bound to another player, game or currency.
        SessionMismatch = "SESSION_MISMATCH", InvalidArgument, Never;
        /// The player has reached the day's time limit.
        SessionTimeLimit = "SESSION_TIME_LIMIT", FailedPrecondition, AfterChange;
        /// A reality check is due. Call AcknowledgeRealityCheck.
        RealityCheckDue = "REALITY_CHECK_DUE", FailedPrecondition, AfterChange;
        /// The number of sessions is at its limit (`limits.sessions_max`).
        SessionsFull = "SESSIONS_FULL", ResourceExhausted, After(60_000);
    }
    "Campaigns" {
        /// The player has no such campaign. ListCampaigns lists the player's campaigns.
        CampaignUnknown = "CAMPAIGN_UNKNOWN", NotFound, AfterChange;
        /// The player already has a campaign with this id.
        CampaignExists = "CAMPAIGN_EXISTS", AlreadyExists, Never;
        /// The campaign is for another game or currency.
        CampaignMismatch = "CAMPAIGN_MISMATCH", InvalidArgument, Never;
        /// A round of the campaign has begun, so the campaign cannot be cancelled.
        CampaignBegun = "CAMPAIGN_BEGUN", FailedPrecondition, Never;
        /// The campaign was cancelled.
        CampaignCancelled = "CAMPAIGN_CANCELLED", FailedPrecondition, Never;
        /// All free rounds of the campaign were played.
        CampaignUsedUp = "CAMPAIGN_USED_UP", FailedPrecondition, Never;
        /// The campaign has expired.
        CampaignExpired = "CAMPAIGN_EXPIRED", FailedPrecondition, Never;
        /// The campaign's maximum cost is too large to compute. Grant fewer or smaller rounds.
        CampaignTooLarge = "CAMPAIGN_TOO_LARGE", FailedPrecondition, Never;
        /// The operator's open campaigns could cost more than `campaign_liability_eur_max`.
        CampaignLiabilityAboveCap = "CAMPAIGN_LIABILITY_ABOVE_CAP", FailedPrecondition, AfterChange;
        /// The campaign's terms are invalid; for example, its expiry is in the past.
        InvalidCampaign = "INVALID_CAMPAIGN", InvalidArgument, Never;
    }
    "Operators' own wallets" {
        /// The operator's own wallet holds the player's money. Make deposits and withdrawals in that wallet.
        SeamlessWallet = "SEAMLESS_WALLET", FailedPrecondition, Never;
        /// The operator's wallet does not answer, so calls to the wallet are paused.
        WalletUnavailable = "WALLET_UNAVAILABLE", Unavailable, After(1_000);
        /// The number of bets waiting for the operator's wallet is at its limit.
        WalletBusy = "WALLET_BUSY", ResourceExhausted, After(100);
        /// Another bet of the player is in progress, or is being rolled back.
        DebitOpen = "DEBIT_OPEN", Aborted, After(1_000);
        /// The bet was not made; the bet's debit is rolled back. Bet again with a new request id.
        DebitRolledBack = "DEBIT_ROLLED_BACK", FailedPrecondition, Never;
        /// The number of the player's credits that the wallet has not confirmed is at its limit.
        DuesWaiting = "DUES_WAITING", Unavailable, After(1_000);
    }
    "Voided rounds, approvals and stop switches" {
        /// The round is already void.
        AlreadyVoided = "ALREADY_VOIDED", FailedPrecondition, Never;
        /// A void of the round is already proposed.
        VoidProposedBefore = "VOID_PROPOSED_BEFORE", FailedPrecondition, Never;
        /// The round hit the jackpot, so voiding it needs an approval.
        VoidUnapproved = "VOID_UNAPPROVED", FailedPrecondition, AfterChange;
        /// The switch already has this state.
        SwitchUnchanged = "SWITCH_UNCHANGED", FailedPrecondition, Never;
        /// No operators are configured, so no actors exist and changes need no approval.
        NoActors = "NO_ACTORS", FailedPrecondition, AfterChange;
        /// No pending change has this id. ListChanges lists the pending changes.
        ChangeUnknown = "CHANGE_UNKNOWN", NotFound, Never;
        /// The change was not approved in time. Propose it again.
        ChangeLapsed = "CHANGE_LAPSED", FailedPrecondition, Never;
        /// The actor who proposed a change may not approve it.
        SameActor = "SAME_ACTOR", PermissionDenied, AfterChange;
        /// Only an actor of the proposer's operator may approve the change. Only the platform may approve
        /// voiding a round.
        OtherActors = "OTHER_ACTORS", PermissionDenied, AfterChange;
        /// The number of pending changes is at its limit (`changes_max`). Approve or reject some changes.
        TooManyChanges = "TOO_MANY_CHANGES", ResourceExhausted, AfterChange;
    }
    "Jackpots and incidents" {
        /// There is no such pool. A pool has the name of its game.
        PoolUnknown = "POOL_UNKNOWN", NotFound, AfterChange;
        /// The pool is already open.
        PoolExists = "POOL_EXISTS", AlreadyExists, Never;
        /// The pool's status does not allow the request; for example, an active pool cannot be resumed.
        PoolStatus = "POOL_STATUS", FailedPrecondition, AfterChange;
        /// The pool has awards or open rounds, so it cannot be retired.
        PoolOutstanding = "POOL_OUTSTANDING", FailedPrecondition, AfterChange;
        /// The pool's amounts changed while this request was decided. This request had no effect; retry it.
        PoolFigureStale = "POOL_FIGURE_STALE", Aborted, After(10);
        /// The pool's terms contradict each other.
        InvalidTerms = "INVALID_TERMS", InvalidArgument, Never;
        /// With these pool terms, a game's return to player would be outside the range in the game's rules.
        TermsOutOfSpan = "TERMS_OUT_OF_SPAN", InvalidArgument, Never;
        /// The amount of the jackpot award is not determined yet.
        AwardPending = "AWARD_PENDING", Unavailable, After(1_000);
        /// The award is on hold because a void of the round was proposed.
        AwardHeld = "AWARD_HELD", FailedPrecondition, AfterChange;
        /// The incident's interval or pools are invalid.
        InvalidIncident = "INVALID_INCIDENT", InvalidArgument, Never;
        /// An incident with this id already exists.
        IncidentExists = "INCIDENT_EXISTS", AlreadyExists, Never;
        /// The number of stored incidents is at its limit (`incidents_max`).
        TooManyIncidents = "TOO_MANY_INCIDENTS", ResourceExhausted, AfterChange;
    }
    "Reports, proofs and jobs" {
        /// The pool has no statement for this day, because the pool did not exist or the day has not begun.
        NoStatement = "NO_STATEMENT", NotFound, AfterChange;
        /// The report does not include the latest log records yet.
        ReportBehind = "REPORT_BEHIND", Unavailable, After(1_000);
        /// The files of significant events could not be read.
        EventsUnreadable = "EVENTS_UNREADABLE", Unavailable, After(1_000);
        /// Only the process that writes the partition has its proofs. Call that process.
        ProofsElsewhere = "PROOFS_ELSEWHERE", Unavailable, AfterChange;
        /// The files of the Merkle tree could not be read.
        ProofsUnreadable = "PROOFS_UNREADABLE", Unavailable, After(1_000);
        /// The first checkpoint has not been signed yet.
        CheckpointPending = "CHECKPOINT_PENDING", Unavailable, After(1_000);
        /// The request names a checkpoint that is newer than this process's latest checkpoint.
        CheckpointAhead = "CHECKPOINT_AHEAD", OutOfRange, AfterChange;
        /// The log contradicts the signed checkpoints. Stop the service, and compare the log with a copy.
        LogContradicted = "LOG_CONTRADICTED", DataLoss, Never;
        /// The round is open. Request the proof after the round's end.
        RoundOpen = "ROUND_OPEN", FailedPrecondition, AfterChange;
        /// The hash belongs to no record, or the record does not concern the caller.
        RecordUnknown = "RECORD_UNKNOWN", NotFound, Never;
        /// There is no such job, or its result is no longer stored.
        JobUnknown = "JOB_UNKNOWN", NotFound, Never;
        /// Another job is running (`job_id`). Cancel that job or wait for its end.
        JobUnderWay = "JOB_UNDER_WAY", ResourceExhausted, AfterChange;
        /// This process's data folder does not contain the whole log. Run the audit on the machine with the whole log.
        AuditElsewhere = "AUDIT_ELSEWHERE", FailedPrecondition, Never;
        /// The operating system could not start a thread for the job.
        NoThread = "NO_THREAD", ResourceExhausted, AfterChange;
    }
    "State of the service" {
        /// The configuration file, or a file that it names, has an error. Correct the error and reload.
        ConfigurationInvalid = "CONFIGURATION_INVALID", FailedPrecondition, AfterChange;
        /// Changed keys of the configuration need a restart (`keys`). Restart the process, or undo the changes and reload.
        RestartRequired = "RESTART_REQUIRED", FailedPrecondition, AfterChange;
        /// The reload would remove a seamless wallet that has due debits or credits, or open rounds. Reload after these are
        /// settled.
        WalletInUse = "WALLET_IN_USE", FailedPrecondition, AfterChange;
        /// The service is stopping. Retry at another process, or after this process has restarted.
        Closing = "CLOSING", Unavailable, After(1_000);
        /// The partition's queue is full.
        QueueFull = "QUEUE_FULL", ResourceExhausted, After(100);
        /// Another process writes the log.
        NotTheWriter = "NOT_THE_WRITER", Unavailable, After(1_000);
        /// The process could not confirm that its state is current.
        NotCurrent = "NOT_CURRENT", Unavailable, After(1_000);
        /// This process does not load the player's partition. Call a process that loads it.
        PartitionElsewhere = "PARTITION_ELSEWHERE", FailedPrecondition, AfterChange;
        /// This process cannot change pools. Call a process with the role ledger.
        ChangeElsewhere = "CHANGE_ELSEWHERE", FailedPrecondition, AfterChange;
        /// The installation has no such partition.
        PartitionUnknown = "PARTITION_UNKNOWN", NotFound, Never;
        /// The log does not reach this position yet. Retry later; after a restore, begin at an earlier position.
        PositionAhead = "POSITION_AHEAD", OutOfRange, AfterChange;
        /// The log's disk is full. Nothing was written.
        LogFull = "LOG_FULL", Unavailable, After(5_000);
        /// The log cannot be written for now. Nothing was written.
        LogUnavailable = "LOG_UNAVAILABLE", Unavailable, After(1_000);
        /// The log is damaged, and takes no writes until it is repaired. The request had no effect. The message names the
        /// damaged partition, file or position. Stop the service and repair the log: docs/how-to/backup-and-restore.md,
        /// "Repair a damaged log".
        LogDamaged = "LOG_DAMAGED", DataLoss, AfterChange;
        /// Whether the request was applied is unknown. Retry with the same request id, or call GetRequest.
        OutcomeUnknown = "OUTCOME_UNKNOWN", Unavailable, After(5_000);
        /// The record was archived: the log keeps records from `first_position` on. Nothing was applied. Read the record
        /// from a copy of the whole log, or configure `archive.place` to read rounds and proofs.
        Archived = "ARCHIVED", FailedPrecondition, AfterChange;
        /// The archive lacks the record, or did not answer.
        ArchiveUnavailable = "ARCHIVE_UNAVAILABLE", Unavailable, After(1_000);
        /// The archive is damaged or belongs to another log.
        ArchiveDamaged = "ARCHIVE_DAMAGED", DataLoss, AfterChange;
        /// A base (digest of the state at a position) must be at a later position than the previous base. A
        /// confirmation must name the position and digest of an unconfirmed base. Compute the digest again:
        /// docs/how-to/backup-and-restore.md, "Take a base".
        BaseMismatch = "BASE_MISMATCH", FailedPrecondition, Never;
        /// A commit of the log could not be read.
        LogUnreadable = "LOG_UNREADABLE", DataLoss, Never;
        /// The files that index the log's rounds, requests and players could not be read.
        IndexUnreadable = "INDEX_UNREADABLE", Unavailable, After(1_000);
        /// This binary lacks the rules version of the round. Use a binary that has this version.
        ModelUnknown = "MODEL_UNKNOWN", Unimplemented, AfterChange;
        /// The ledger's rules refuse the request for a reason that is not in this list; the message states it.
        Refused = "REFUSED", FailedPrecondition, Never;
        /// A defect in the service. Report the defect with the request id and the time.
        Internal = "INTERNAL", Internal, Never;
    }
    "Commits proposed by other processes" {
        /// The node's credential may not propose this commit, or the commit disagrees with the log. The message begins with
        /// one of the reasons below.
        ProposalNotAllowed = "PROPOSAL_NOT_ALLOWED", PermissionDenied, Never;
        /// The pending proposals of the node's credential have reached their limit in bytes (`bytes_max`).
        ProposalBytes = "PROPOSAL_BYTES", ResourceExhausted, After(100);
        /// The proposal is longer than a commit may be.
        ProposalTooLong = "PROPOSAL_TOO_LONG", PermissionDenied, Never;
        /// A node of this role may not propose events of this kind.
        KindNotAllowed = "KIND_NOT_ALLOWED", PermissionDenied, Never;
        /// The proposal does not state the expected version of its player's or pool's event stream.
        VersionMissing = "VERSION_MISSING", PermissionDenied, Never;
        /// The event names no actor.
        ActorMissing = "ACTOR_MISSING", PermissionDenied, Never;
        /// No credential has the name of the event's actor.
        ActorUnknown = "ACTOR_UNKNOWN", PermissionDenied, Never;
        /// The actor named in the event lacks the required role, or belongs to another operator.
        ActorRoleMissing = "ACTOR_ROLE_MISSING", PermissionDenied, Never;
        /// The change needs two actors and was not approved.
        ApprovalMissing = "APPROVAL_MISSING", PermissionDenied, Never;
        /// The proposed outcome of a round's step differs from the outcome computed from the rules and the draw.
        OutcomeDiffers = "OUTCOME_DIFFERS", PermissionDenied, Never;
        /// The seal (hash) of the draw for a round's step was not logged before the step.
        StepUnsealed = "STEP_UNSEALED", PermissionDenied, Never;
        /// The next draw's seal was not derived from the draw keys.
        SealForged = "SEAL_FORGED", PermissionDenied, Never;
        /// The event names a draw key unknown to the writer.
        DrawKeyUnknown = "DRAW_KEY_UNKNOWN", PermissionDenied, Never;
        /// The event revokes a draw whose key is not lost.
        DrawKeyPresent = "DRAW_KEY_PRESENT", PermissionDenied, Never;
        /// The proposed reservation of a campaign's cost does not state the operator's configured cap.
        CapDiffers = "CAP_DIFFERS", PermissionDenied, Never;
        /// Partition 0 contains no reservation of the granted campaign's cost.
        CampaignUnreserved = "CAMPAIGN_UNRESERVED", PermissionDenied, Never;
        /// The cost reserved in partition 0 is lower than the maximum cost of the granted campaign.
        ReservationTooLow = "RESERVATION_TOO_LOW", PermissionDenied, Never;
        /// The proposed report of a partition's contributions to a pool differs from the sums in the partition's log.
        ReportDiffers = "REPORT_DIFFERS", PermissionDenied, Never;
        /// The proposed copy of an exchange rate or switch differs from the original in partition 0.
        CopyDiffers = "COPY_DIFFERS", PermissionDenied, Never;
        /// The pool's copy that is proposed for another partition differs from the pool in partition 0.
        MirrorDiffers = "MIRROR_DIFFERS", PermissionDenied, Never;
    }
}
