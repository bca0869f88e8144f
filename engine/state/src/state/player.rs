//! State of a player; cheap to clone. The state contains no settled rounds.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::campaign::CampaignState;
use super::day::Day;
use super::draw::NextDraw;
use super::round::OpenRound;
use super::seat::{Seat, Seats};
use super::void::{VoidProposal, Voids};
use super::wallet::{Debit, Wallet};
use crate::events::{RoundStarted, SessionName};
use crate::values::{Currency, Epoch, Head, Minor, PerCurrency};

pub type Collection = BTreeMap<SmolStr, i64>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CollectionEntry {
    game: SmolStr,
    scope: SmolStr,
    collection: Collection,
}

impl CollectionEntry {
    fn name(&self) -> (&str, &str) {
        (&self.game, &self.scope)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerState {
    pub head: Head,
    pub rounds_started: u64,
    pub draw: Option<NextDraw>,
    last_bet_ms: Option<i64>,
    day: Day,
    demo_day: Option<Arc<Day>>,
    pub(crate) seats: Seats,
    pub(crate) balances: PerCurrency<Minor>,
    pub(crate) open: Vec<Arc<OpenRound>>,
    pub(crate) wallet: Option<Arc<Wallet>>,
    collections: Option<Arc<Vec<CollectionEntry>>>,
    /// In the order in which they were granted.
    campaigns: Option<Arc<Vec<Arc<CampaignState>>>>,
    voided: Option<Arc<Voids>>,
    pub(crate) void_proposals: Option<Arc<Vec<VoidProposal>>>,
    /// Net result of the latest session, per game: play money at index 0, real money at index 1.
    tallies: [Option<Arc<BTreeMap<SmolStr, Tally>>>; 2],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tally {
    session: SessionName,
    net: i128,
}

impl PlayerState {
    pub fn depends_on(&self) -> impl Iterator<Item = Epoch> + '_ {
        let used = self.open_rounds().flat_map(OpenRound::draws);
        self.draw.into_iter().chain(used).map(|draw| draw.epoch)
    }

    #[must_use]
    pub fn balance(&self, currency: Currency) -> Option<Minor> {
        self.balances.get(currency).copied()
    }

    pub fn balances(&self) -> impl Iterator<Item = (Currency, Minor)> + '_ {
        self.balances.iter().map(|(currency, balance)| (currency, *balance))
    }

    pub fn due(&self) -> impl Iterator<Item = (Currency, Minor)> + '_ {
        self.wallet.iter().flat_map(|wallet| {
            let real = self.balances().map(|(currency, _)| currency).filter(|currency| currency.is_real());
            real.map(|currency| (currency, wallet.due(currency)))
        })
    }

    /// Returns the open rounds, oldest first (PL-20).
    pub fn open_rounds(&self) -> impl Iterator<Item = &OpenRound> {
        self.open.iter().map(AsRef::as_ref)
    }

    #[must_use]
    pub fn open_round(&self, number: u64) -> Option<&OpenRound> {
        self.open_rounds().find(|round| round.started.round == number)
    }

    /// A player has at most one open round per game with real money (PL-20) and one with play money (PL-17).
    #[must_use]
    pub fn open_round_of(&self, game: &str, currency: Currency) -> Option<&OpenRound> {
        let same = |of: Currency| of.is_real() == currency.is_real();
        self.open_rounds().find(|round| round.started.game == game && same(round.started.currency))
    }

    #[must_use]
    pub fn last_bet_ms(&self) -> Option<i64> {
        self.last_bet_ms
    }

    #[must_use]
    pub fn day(&self, currency: Currency) -> &Day {
        if currency.is_real() { &self.day } else { self.demo_day.as_deref().unwrap_or(Day::NONE) }
    }

    pub(crate) fn day_mut(&mut self, real: bool) -> &mut Day {
        if real { &mut self.day } else { Arc::make_mut(self.demo_day.get_or_insert_default()) }
    }

    #[must_use]
    pub fn wallet(&self) -> Option<&Wallet> {
        self.wallet.as_deref()
    }

    #[must_use]
    pub fn debit(&self) -> Option<&Debit> {
        self.wallet()?.debit.as_ref()
    }

    /// Returns the player with `amount` added to the balance, as a confirmed debit of the wallet does.
    #[must_use]
    pub fn with_funds(&self, currency: Currency, amount: Minor) -> Self {
        let mut funded = self.clone();
        if let Some(funds) = self.balance(currency).and_then(|balance| balance.checked_add(amount)) {
            funded.balances.set(currency, funds);
        }
        funded
    }

    #[must_use]
    pub fn seat(&self, game: &str, currency: Currency) -> Option<&Seat> {
        self.seats(currency).find(|seat| seat.game == game)
    }

    pub fn seats(&self, currency: Currency) -> impl Iterator<Item = &Seat> {
        self.seats.iter().filter(move |seat| seat.real == currency.is_real())
    }

    #[must_use]
    pub fn live_seat(&self, currency: Currency, now_ms: i64) -> Option<&Seat> {
        let acted_ms = self.day(currency).acted_ms();
        self.seats(currency).find(|seat| seat.is_live(acted_ms, now_ms))
    }

    #[must_use]
    pub fn collection(&self, game: &str, scope: &str) -> Option<&Collection> {
        let kept = self.collections.as_deref()?;
        let index = kept.binary_search_by(|kept| kept.name().cmp(&(game, scope))).ok()?;
        kept.get(index).map(|kept| &kept.collection)
    }

    pub fn collections(&self) -> impl Iterator<Item = (&str, &str, &Collection)> {
        let kept = self.collections.iter().flat_map(|kept| kept.iter());
        kept.map(|kept| (kept.game.as_str(), kept.scope.as_str(), &kept.collection))
    }

    pub fn campaigns(&self) -> impl Iterator<Item = &CampaignState> {
        self.campaigns.iter().flat_map(|campaigns| campaigns.iter()).map(AsRef::as_ref)
    }

    #[must_use]
    pub fn campaign(&self, id: &str) -> Option<&CampaignState> {
        self.campaigns().find(|state| state.campaign.id == id)
    }

    #[must_use]
    pub fn voided_at(&self, round: u64) -> Option<u64> {
        self.voided.as_ref()?.position(round)
    }

    pub fn void_proposals(&self) -> impl Iterator<Item = &VoidProposal> {
        self.void_proposals.iter().flat_map(|proposals| proposals.iter())
    }

    #[must_use]
    pub fn waiting_void(&self, round: u64, now_ms: i64) -> Option<&VoidProposal> {
        self.void_proposals().find(|proposal| proposal.round == round && proposal.waits(now_ms))
    }

    /// Returns wins minus bets of a session in minor units, excluding jackpots, free rounds and later voids. Returns `None`
    /// before the first bet of the session, and after a bet in a later session of the game.
    #[must_use]
    pub fn session_net(&self, game: &str, session: SessionName) -> Option<i128> {
        let mut tallies = self.tallies.iter().flatten().filter_map(|tallies| tallies.get(game));
        tallies.find(|tally| tally.session == session).map(|tally| tally.net)
    }

    pub(crate) fn count_bet(&mut self, started: &RoundStarted, time_ms: i64) {
        let purse = usize::from(started.currency.is_real());
        self.last_bet_ms = Some(time_ms);
        let day = self.day_mut(started.currency.is_real());
        day.act(time_ms);
        day.bet(started.currency, started.charged());
        let Some(session) = started.session else { return };
        let cost = i128::from(started.charged().0);
        let tallies = Arc::make_mut(self.tallies[purse].get_or_insert_default());
        match tallies.get_mut(&started.game) {
            Some(tally) if tally.session == session => tally.net -= cost,
            _ => _ = tallies.insert(started.game.clone(), Tally { session, net: -cost }),
        }
    }

    pub(crate) fn tally(&mut self, open: &OpenRound, amount: Minor) {
        let started = &open.started;
        let purse = usize::from(started.currency.is_real());
        self.day_mut(started.currency.is_real()).back(started.currency, amount, open.opened_ms);
        let Some(session) = started.session else { return };
        let tallies = Arc::make_mut(self.tallies[purse].get_or_insert_default());
        if let Some(tally) = tallies.get_mut(&started.game).filter(|tally| tally.session == session) {
            tally.net += i128::from(amount.0);
        }
    }

    pub(crate) fn grant(&mut self, campaign: CampaignState) {
        Arc::make_mut(self.campaigns.get_or_insert_default()).push(Arc::new(campaign));
    }

    pub(crate) fn campaign_mut(&mut self, id: &str) -> Option<&mut CampaignState> {
        let campaigns = Arc::make_mut(self.campaigns.as_mut()?);
        campaigns.iter_mut().find(|state| state.campaign.id == id).map(Arc::make_mut)
    }

    pub(crate) fn change_collection(&mut self, game: &str, scope: &str, changes: &[(SmolStr, i64)]) {
        let all = Arc::make_mut(self.collections.get_or_insert_default());
        let index = all.binary_search_by(|kept| kept.name().cmp(&(game, scope))).unwrap_or_else(|index| {
            let collection = Collection::new();
            all.insert(index, CollectionEntry { game: game.into(), scope: scope.into(), collection });
            index
        });
        let collection = &mut all[index].collection;
        for (key, value) in changes {
            if *value == 0 {
                collection.remove(key);
            } else {
                collection.insert(key.clone(), *value);
            }
        }
        if collection.is_empty() {
            all.remove(index);
        }
        if all.is_empty() {
            self.collections = None;
        }
    }

    pub(crate) fn open_round_mut(&mut self, number: u64) -> Option<&mut OpenRound> {
        self.open.iter_mut().find(|round| round.started.round == number).map(Arc::make_mut)
    }

    pub(crate) fn close_round(&mut self, number: u64) -> Option<Arc<OpenRound>> {
        let index = self.open.iter().position(|round| round.started.round == number)?;
        Some(self.open.remove(index))
    }

    pub(crate) fn mark_voided(&mut self, round: u64, position: u64) {
        Arc::make_mut(self.voided.get_or_insert_default()).insert(round, position);
    }
}
