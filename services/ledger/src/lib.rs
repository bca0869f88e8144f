//! The ledger consists of the log's only writer, the books (the state after all commits), the index, and the services
//! for players and wallets.
//!
//! Guarantees, if one process writes the log and its appends are durable: [`Handle::append`] answers after the sync; a
//! request id takes effect at most once; readers see only durable state; a full queue refuses proposals.

mod append;
mod appender;
mod applier;
mod archived;
mod bases;
mod cancellation;
mod chain;
pub mod changes;
mod core;
mod day;
pub mod draws;
mod error;
mod evidence;
pub mod fields;
mod follow;
mod follower_views;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod generations;
mod handle;
mod hashes;
mod history;
mod ids;
mod index;
pub mod known;
mod ledgers;
mod log_service;
pub mod offer;
mod open;
mod operator_requests;
mod options;
mod outcomes;
mod page;
mod parked;
mod past;
mod persons;
mod player_list;
mod players;
mod provenance;
mod prune;
mod queue;
mod readers;
mod recent;
mod recovery;
mod remote;
pub mod replica;
mod requests;
mod room;
mod round_links;
pub mod rounds;
mod service;
mod snapshot;
mod standing;
mod state_check;
mod switches;
mod threads;
mod time;
mod trouble;
mod upstream;
mod verifier;
mod view_files;
mod void;
mod walk;
mod wallet_retries;
mod watch;
mod wire;
mod writer;

pub use append::{AppendError, Proposal, fingerprint};
pub use archived::ArchivedReads;
pub use chain::ChainHead;
pub use draws::DrawKeys;
pub use error::{FetchError, OpenError};
pub use fields::{campaign_over, unknown_account, unknown_campaign, unknown_player, unknown_round};
pub use follower_views::{FollowerView, FollowerViews};
pub use generations::{JudgedStart, StartPolicy, StartRefused, check_keys, judge_start};
pub use handle::{AUTHORITY_AGE_MAX, Handle, not_the_writer, taking_over};
pub use ledgers::{Ledgers, Stores, join_all, open_all};
pub use log_service::{LogApi, PROPOSAL_BYTES_MAX};
pub use motherlode_rounds::balance_after;
pub use motherlode_runtime::Clock;
pub use open::open;
pub use operator_requests::shared_request_id;
pub use options::Options;
pub use persons::Persons;
pub use prune::PruneLimit;
pub use queue::{Verdict, Verdicts};
pub use readers::{LogReader, ReaderKind, Reading};
pub use recovery::Recovered;
pub use remote::{
    Actors, CampaignCosts, SupersededRules, Terms, UnknownRules, is_copied, may_propose, reservation_ids,
};
pub use replica::{Origin, join};
pub use round_links::RoundLinks;
pub use service::LedgerApi;
pub use snapshot::{Balance, balances, base};
pub use standing::Standing;
pub use verifier::Verification;
