use crate::divergence::Divergence;
use motherlode_log::{Hash, Position, Tail};
use motherlode_state::{
    Award, Books, Currency, Event, Minor, PerCurrency, PlayerState, SealReason, StreamId, UnpaidCredit, Wallet,
};
use std::collections::BTreeMap;

/// If there is a divergence, the figures prove nothing and may include a few records after the divergence.
#[derive(Debug)]
pub struct Report {
    pub partition: u32,
    pub position: Position,
    pub head: Hash,
    pub tail: Tail,
    pub base: Option<BaseDigest>,
    pub books: Books,
    pub returns: Vec<Return>,
    pub awards: BTreeMap<String, Vec<Award>>,
    pub voids: PerCurrency<Voids>,
    pub seals: Seals,
    pub index: Comparison,
    pub checkpoints: Vec<u64>,
    /// Number of records covered by the compared tree files; `None` if no tree files were compared.
    pub tree: Option<u64>,
    pub divergence: Option<Divergence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseDigest {
    pub position: Position,
    pub record_hash: Hash,
    /// See [`StateDigest::FORM`](motherlode_state::StateDigest::FORM).
    pub form: u32,
    pub digest: Hash,
    pub is_logged: bool,
}

impl Report {
    /// Returns the ids of unfinished wallet transactions, which are debits, credits and unreported ends of rounds (PL-32,
    /// PL-39).
    #[must_use]
    pub fn under_way(&self) -> Vec<String> {
        let restores = self.books.restores();
        let of_player = |(operator, name, player): (&str, &str, &PlayerState)| {
            let Some(Wallet { debit, dues, .. }) = player.wallet() else { return vec![] };
            let debit = debit.iter().map(|debit| {
                let kind = if debit.amount == Minor::ZERO { "open" } else { "debit" };
                restores.transaction_id(debit.asked_at, format!("{kind}/{operator}/{name}/{}", debit.request_id))
            });
            let stream = StreamId::player(operator, name);
            let due = |due: &UnpaidCredit| due.transaction_id(&stream, restores);
            debit.chain(dues.iter().map(due)).collect::<Vec<_>>()
        };
        self.books.players().flat_map(of_player).collect()
    }

    #[must_use]
    pub fn sealed(&self) -> u64 {
        let open = self.books.players().flat_map(|(.., player)| player.open_rounds());
        open.map(|open| open.draws().count() as u64).sum()
    }
}

/// Bets and wins of a game in minor units, including those of voided rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    pub game: String,
    pub rules_version: String,
    pub currency: Currency,
    pub rounds: u64,
    pub contributing: u64,
    /// Free rounds (PL-18).
    pub free: u64,
    pub steps: u64,
    pub spins: u64,
    /// Bets, including those of free rounds.
    pub bets: i128,
    pub free_bets: i128,
    /// Wins without jackpots.
    pub wins: i128,
    pub hits: u64,
    pub awarded: i128,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Voids {
    pub rounds: u64,
    pub refunds: i128,
    pub wins_taken_back: i128,
    /// Wins that voids could not take back because the balance was too low. The house bears this loss.
    pub wins_left: i128,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seals {
    pub opened: u64,
    /// Number of players whose stream began without a sealed draw and got one later.
    pub unsealed: u64,
    /// Number of unrevealed draws replaced by a new sealed draw because their key was lost.
    pub key_lost: u64,
    /// Number of draws replaced because a start of the service revoked all unused seals (PL-40).
    pub ended: u64,
    pub unsure_starts: u64,
    /// How often the service refused to start, as logged by later starts.
    pub refused_starts: u64,
    /// Number of voided rounds whose draws were not revealed, so the audit could not resolve the rounds' steps.
    pub rounds_lost: u64,
    pub checked: u64,
    pub unchecked: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    Compared {
        balances: u64,
        /// Position of the snapshot; 0 if there is no snapshot. The log's record at this position has the hash that the
        /// snapshot states.
        held: Position,
    },
    /// The index could not be compared. The log can still be intact, because the index is rebuilt from the log.
    NotCompared { why: String },
}

impl Seals {
    pub(crate) fn add(&mut self, of: &Self) {
        self.opened += of.opened;
        self.unsealed += of.unsealed;
        self.key_lost += of.key_lost;
        self.ended += of.ended;
        self.unsure_starts += of.unsure_starts;
        self.refused_starts += of.refused_starts;
        self.rounds_lost += of.rounds_lost;
        self.checked += of.checked;
        self.unchecked += of.unchecked;
    }

    pub(crate) fn count(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::DrawSealed(sealed) => match sealed.reason {
                    SealReason::Opened => self.opened += 1,
                    SealReason::Unsealed => self.unsealed += 1,
                    SealReason::KeyLost => self.key_lost += 1,
                    SealReason::SealsEnded => self.ended += 1,
                },
                Event::GenerationBegun(begun) => self.unsure_starts += u64::from(begun.unused_seals_end),
                Event::IntegrityFailed { check, .. } => self.refused_starts += u64::from(check == "start"),
                Event::DrawsLost { .. } => self.rounds_lost += 1,
                _ => {}
            }
        }
    }
}

impl Voids {
    pub(crate) fn add(&mut self, of: &Self) {
        self.rounds += of.rounds;
        self.refunds += of.refunds;
        self.wins_taken_back += of.wins_taken_back;
        self.wins_left += of.wins_left;
    }
}

impl Return {
    pub(crate) fn is_for(&self, game: &str, rules_version: &str, currency: Currency) -> bool {
        self.currency == currency && self.rules_version == rules_version && self.game == game
    }

    pub(crate) fn add(&mut self, of: &Self) {
        self.rounds += of.rounds;
        self.contributing += of.contributing;
        self.free += of.free;
        self.steps += of.steps;
        self.spins += of.spins;
        self.bets += of.bets;
        self.free_bets += of.free_bets;
        self.wins += of.wins;
        self.hits += of.hits;
        self.awarded += of.awarded;
    }

    pub(crate) fn new(game: &str, rules_version: &str, currency: Currency) -> Self {
        Self {
            game: game.to_owned(),
            rules_version: rules_version.to_owned(),
            currency,
            rounds: 0,
            contributing: 0,
            free: 0,
            steps: 0,
            spins: 0,
            bets: 0,
            free_bets: 0,
            wins: 0,
            hits: 0,
            awarded: 0,
        }
    }
}
