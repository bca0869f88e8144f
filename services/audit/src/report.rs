//! The result of an audit.

use crate::divergence::Divergence;
use motherlode_books::{
    Award, Books, Currency, Due, Event, Minor, PerCurrency, PlayerState, SealReason, StreamId, Wallet,
};
use motherlode_log::{Hash, Position, Tail};
use std::collections::BTreeMap;

/// The result of an audit. With a divergence, the figures cover what was read up to it and a little beyond, and prove
/// nothing.
#[derive(Debug)]
pub struct Report {
    /// The partition.
    pub partition: u32,
    /// The last position whose bytes and chain were verified; also the number of commits.
    pub position: Position,
    /// SHA-256 of the record there: whoever noted it earlier can hold it against any later copy.
    pub head: Hash,
    /// The bytes after the last whole append.
    pub tail: Tail,
    /// The books as the log makes them: players, pools, unpaid awards, open rounds.
    pub books: Books,
    /// Bets and wins by game, version and currency.
    pub returns: Vec<Return>,
    /// The awards of each pool, in log order.
    pub awards: BTreeMap<String, Vec<Award>>,
    /// Rounds voided, by currency.
    pub voids: PerCurrency<Voids>,
    /// Draws that were sealed apart from steps, and those that were never revealed.
    pub seals: Seals,
    /// The index, held against the books.
    pub index: Comparison,
    /// Sizes of the checkpoints that it was held against.
    pub checkpoints: Vec<u64>,
    /// Records up to which the files of its tree were compared; none where they were not.
    pub tree: Option<u64>,
    /// The first divergence; `None` when all holds.
    pub divergence: Option<Divergence>,
}

impl Report {
    /// Transactions that are under way with operators' own wallets, by their ids: debits without an end, unpaid
    /// credits, unreported ends of rounds (PL-32, PL-39).
    #[must_use]
    pub fn under_way(&self) -> Vec<String> {
        let of_player = |(operator, name, player): (&str, &str, &PlayerState)| {
            let Some(Wallet { debit, dues, .. }) = player.wallet() else { return vec![] };
            let debit = debit.iter().map(|debit| {
                let kind = if debit.amount == Minor::ZERO { "open" } else { "debit" };
                format!("{kind}/{operator}/{name}/{}", debit.request_id)
            });
            let stream = StreamId::player(operator, name);
            let due = |due: &Due| due.transaction_id(&stream);
            debit.chain(dues.iter().map(due)).collect::<Vec<_>>()
        };
        self.books.players().flat_map(of_player).collect()
    }

    /// Steps of open rounds whose draws are sealed: they're resolved again when the rounds end.
    #[must_use]
    pub fn sealed(&self) -> u64 {
        let open = self.books.players().flat_map(|(.., player)| player.open_rounds());
        open.map(|open| open.draws().count() as u64).sum()
    }
}

/// Bets and wins of one version of a game in one currency. Sums of minor units, voided rounds included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// The game.
    pub game: String,
    /// The version of its rules.
    pub rules_version: String,
    /// The currency.
    pub currency: Currency,
    /// Rounds begun.
    pub rounds: u64,
    /// Rounds among them whose bet contributed to a pool.
    pub contributing: u64,
    /// Free rounds of campaigns among them (PL-18).
    pub free: u64,
    /// Steps resolved.
    pub steps: u64,
    /// Windows shown, free spins included.
    pub spins: u64,
    /// Bets, those of free rounds included, which promotions paid.
    pub bets: i128,
    /// Bets of free rounds.
    pub free_bets: i128,
    /// Wins of settled rounds, without the jackpot.
    pub wins: i128,
    /// Jackpots hit.
    pub hits: u64,
    /// Jackpots awarded.
    pub awarded: i128,
}

/// Amounts given back and taken back by voids. Sums of minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Voids {
    /// Rounds voided.
    pub rounds: u64,
    /// Bets refunded.
    pub refunds: i128,
    /// Wins taken back.
    pub wins_taken_back: i128,
    /// Wins not taken back, because the balance did not hold them: the house's loss.
    pub wins_left: i128,
}

/// Draws sealed apart from steps, by reason, and draws that can't be revealed any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seals {
    /// First draws of players, sealed when they were opened.
    pub opened: u64,
    /// First draws of players who had been opened without.
    pub unsealed: u64,
    /// Draws in place of one whose key was gone: so often an outcome that nobody knew could be tried again.
    pub key_lost: u64,
    /// Draws in place of one that ended unused, since a start could not rule out a loss of records (PL-40).
    pub ended: u64,
    /// Starts of the writer after which unused seals ended.
    pub unsure_starts: u64,
    /// Refused starts of the writer, if a later start found a note of them.
    pub refused_starts: u64,
    /// Rounds voided whose draws can't be revealed: their steps could not be resolved again.
    pub rounds_lost: u64,
    /// Seals equal to those computed from the given draw keys.
    pub checked: u64,
    /// Seals of keys missing from the given file.
    pub unchecked: u64,
}

/// Whether the index was held against the books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// It was; every balance it holds is what the log makes it at the balance's position.
    Compared {
        /// Balances compared.
        balances: u64,
        /// The position that the index claims to hold durably, its record's hash confirmed; 0 for none.
        held: Position,
    },
    /// It was not. That says nothing about the log: an index can be deleted and is rebuilt.
    NotCompared {
        /// Why.
        why: String,
    },
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

    /// Counts the events of a commit.
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
    pub(crate) fn is_of(&self, game: &str, rules_version: &str, currency: Currency) -> bool {
        self.currency == currency && self.rules_version == rules_version && self.game == game
    }

    /// Adds those of other rounds of the same game, version and currency.
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
