use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    round::v1::{Account, Choice, Stake, choice},
    spin::v1::{ChooseRequest, SpinRequest, play_stream_request::Call},
};
use motherlode_tests::account;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use std::sync::LazyLock;

pub static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap());

pub const NOT_PLAYED: &[(&str, &str)] = &[
    ("the console's listener takes no client certificates", "CERTIFICATE_UNKNOWN CERTIFICATE_EXPIRED"),
    ("the reason depends on the connections and buffers in use, not on the bet", "TOO_MANY_CONNECTIONS BUFFERS_FULL"),
    ("the direct path passes a late message to the middleware", "MESSAGE_LATE"),
    ("only HTTP calls have this reason", "METHOD_NEEDS_GRPC CONTENT_TYPE_UNKNOWN HTTP_REFUSED"),
    ("the path of a bet is always a known method", "METHOD_UNKNOWN"),
    ("a race or a full queue, after which a retry succeeds", "VERSION_CONFLICT QUEUE_FULL POOL_FIGURE_STALE"),
    ("only series have this reason", "AUTOPLAY_FORBIDDEN"),
    (
        "only calls other than bets have these reasons",
        "READS_BUSY FOLLOWERS_MAX ACCOUNT_EXISTS TRANSACTION_UNKNOWN AMOUNT_ABOVE_LIMIT AMOUNT_OUT_OF_RANGE \
         BALANCE_ABOVE_LIMIT RATE_OUT_OF_BOUNDS PLAY_MONEY OPERATOR_UNKNOWN SESSIONS_FULL CAMPAIGN_EXISTS CAMPAIGN_BEGUN \
         CAMPAIGN_TOO_LARGE CAMPAIGN_LIABILITY_ABOVE_CAP INVALID_CAMPAIGN SEAMLESS_WALLET ALREADY_VOIDED \
         VOID_PROPOSED_BEFORE VOID_UNAPPROVED SWITCH_UNCHANGED NO_ACTORS CHANGE_UNKNOWN CHANGE_LAPSED SAME_ACTOR OTHER_ACTORS \
         TOO_MANY_CHANGES POOL_UNKNOWN POOL_EXISTS POOL_STATUS POOL_OUTSTANDING INVALID_TERMS TERMS_OUT_OF_SPAN AWARD_HELD \
         INVALID_INCIDENT INCIDENT_EXISTS TOO_MANY_INCIDENTS NO_STATEMENT REPORT_BEHIND EVENTS_UNREADABLE PROOFS_ELSEWHERE \
         PROOFS_UNREADABLE CHECKPOINT_PENDING CHECKPOINT_AHEAD LOG_CONTRADICTED ROUND_OPEN RECORD_UNKNOWN JOB_UNKNOWN \
         JOB_UNDER_WAY AUDIT_ELSEWHERE CHANGE_ELSEWHERE NO_THREAD PARTITION_UNKNOWN POSITION_AHEAD INDEX_UNREADABLE \
         CONFIGURATION_INVALID RESTART_REQUIRED WALLET_IN_USE BASE_MISMATCH PERSONS_UNSUPPORTED PERSONS_FULL \
         PERSONS_UNAVAILABLE PERSON_IN_PLAY PERSON_KEPT",
    ),
    (
        "an operator's wallet causes the reason, and bets with such a wallet use the same code on all paths",
        "WALLET_UNAVAILABLE WALLET_BUSY WALLET_REFUSED DEBIT_OPEN DEBIT_ROLLED_BACK DUES_WAITING PLAYER_ID_NOT_OPAQUE",
    ),
    (
        "the state of the service causes the reason",
        "DRAW_KEY_LOST NO_DRAW_KEYS NO_ENTROPY NO_RANDOM_NUMBERS AWARD_PENDING CLOSING NOT_THE_WRITER NOT_CURRENT \
         PARTITION_ELSEWHERE LOG_FULL LOG_UNAVAILABLE LOG_DAMAGED ARCHIVED ARCHIVE_UNAVAILABLE ARCHIVE_DAMAGED OUTCOME_UNKNOWN LOG_UNREADABLE MODEL_UNKNOWN \
         REFUSED INTERNAL",
    ),
    (
        "only proposals of other processes have these reasons",
        "PROPOSAL_NOT_ALLOWED PROPOSAL_BYTES PROPOSAL_TOO_LONG KIND_NOT_ALLOWED VERSION_MISSING ACTOR_MISSING ACTOR_UNKNOWN \
         ACTOR_ROLE_MISSING APPROVAL_MISSING OUTCOME_DIFFERS STEP_UNSEALED SEAL_FORGED DRAW_KEY_UNKNOWN DRAW_KEY_PRESENT \
         CAP_DIFFERS CAMPAIGN_UNRESERVED RESERVATION_TOO_LOW REPORT_DIFFERS COPY_DIFFERS MIRROR_DIFFERS",
    ),
];

#[derive(Clone)]
pub enum SentRequest {
    Spin(SpinRequest),
    Choose(ChooseRequest),
    Bytes(Vec<u8>, String),
}

pub struct Case<'a> {
    pub reason: &'a str,
    pub token: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub asked: SentRequest,
    pub streamed: bool,
    pub moving: bool,
}

pub fn case<'a>(reason: &'a str, token: &'a str, asked: impl Into<SentRequest>) -> Case<'a> {
    Case { reason, token, headers: &[], asked: asked.into(), streamed: true, moving: false }
}

pub fn head<'a>(reason: &'a str, token: &'a str, headers: &'a [(&'a str, &'a str)]) -> Case<'a> {
    Case { headers, streamed: false, ..case(reason, token, spin(reason, "acme", "alice")) }
}

pub fn moving<'a>(case: Case<'a>) -> Case<'a> {
    Case { moving: true, ..case }
}

impl From<SpinRequest> for SentRequest {
    fn from(spin: SpinRequest) -> Self {
        Self::Spin(spin)
    }
}

impl From<ChooseRequest> for SentRequest {
    fn from(choose: ChooseRequest) -> Self {
        Self::Choose(choose)
    }
}

impl SentRequest {
    pub fn method(&self) -> &'static str {
        if let Self::Choose(_) = self { "Choose" } else { "Spin" }
    }

    pub fn request_id(&self) -> &str {
        match self {
            Self::Spin(spin) => &spin.request_id,
            Self::Choose(choose) => &choose.request_id,
            Self::Bytes(..) => "",
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Spin(spin) => spin.encode_to_vec(),
            Self::Choose(choose) => choose.encode_to_vec(),
            Self::Bytes(bytes, _) => bytes.clone(),
        }
    }

    pub fn json(&self) -> String {
        let message = format!("motherlode.spin.v1.{}Request", self.method());
        match self {
            Self::Bytes(_, text) => text.clone(),
            _ => serde_json::to_string(&dynamic(&message, &self.bytes())).unwrap(),
        }
    }

    pub fn call(&self) -> Option<Call> {
        match self {
            Self::Spin(spin) => Some(Call::Spin(spin.clone())),
            Self::Choose(choose) => Some(Call::Choose(choose.clone())),
            Self::Bytes(..) => None,
        }
    }
}

fn dynamic(message: &str, bytes: &[u8]) -> DynamicMessage {
    DynamicMessage::decode(CONTRACT.get_message_by_name(message).unwrap(), bytes).unwrap()
}

pub fn spin(request_id: &str, operator: &str, player: &str) -> SpinRequest {
    SpinRequest {
        request_id: request_id.to_owned(),
        account: Some(of(operator, player, "EUR")),
        game: "dwarf-mine".to_owned(),
        stake: Some(Stake { coin_value: "0.01".to_owned(), lines: 1, coins_per_line: 25, buy_feature: false }),
        ..SpinRequest::default()
    }
}

pub fn of(operator: &str, player: &str, currency: &str) -> Account {
    Account { operator_id: operator.to_owned(), ..account(player, currency) }
}

pub fn at(game: &str, lines: u32, coins_per_line: u32, spin: SpinRequest) -> SpinRequest {
    let stake = Stake { coin_value: "0.01".to_owned(), lines, coins_per_line, buy_feature: false };
    SpinRequest { game: game.to_owned(), stake: Some(stake), ..spin }
}

pub fn choose(request_id: &str, round_id: &str, kind: choice::Kind) -> ChooseRequest {
    let choice = Some(Choice { kind: Some(kind) });
    ChooseRequest { request_id: request_id.to_owned(), round_id: round_id.to_owned(), choice, ..Default::default() }
}
