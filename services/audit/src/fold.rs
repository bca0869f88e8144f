//! The second stage: books of the auditor's own, and every figure that the log states held against them.
//!
//! [`Books::apply`] refuses a commit that breaks an invariant, among them that its postings sum to zero per currency
//! (PL-09). Beyond that: the balances stated in each record after each commit, a pool's equation (BW-18) after each of
//! its commits, the trial balance over the accounts' totals once a batch, and at the end each player's balance added up
//! one by one. Cost: about a microsecond a commit.

use crate::{
    campaigns::Campaigns,
    days::Days,
    demo::Demo,
    divergence::{Divergence, Fault},
    facts::FactSender,
    recalled::Recalled,
    report::{Seals, Voids},
};
use motherlode_books::{Award, Books, Commit, Currency, Event, Minor, Nano, PerCurrency, Refused, StreamId};
use motherlode_ledger::index::ProjectedBalance;
use motherlode_log::{Hash, Position};
use motherlode_proto::convert::record::Logged;
use std::collections::{BTreeMap, VecDeque};

pub(crate) struct Fold<'a> {
    pub(crate) books: Books,
    pub(crate) awards: BTreeMap<String, Vec<Award>>,
    pub(crate) voids: PerCurrency<Voids>,
    pub(crate) seals: Seals,
    /// Awards of this partition's hits, by the hits' positions: made here, or elsewhere and mirrored.
    pub(crate) awarded: Vec<(Position, Minor)>,
    /// Balances of the index compared so far.
    pub(crate) compared: u64,
    partition: u32,
    campaigns: Campaigns,
    demo: Demo,
    recalled: &'a Recalled,
    /// Sends the facts that other partitions are compared with.
    pub(crate) facts: Option<FactSender>,
    /// Balances of the index that are yet to be compared, by position.
    projected: VecDeque<ProjectedBalance>,
}

impl<'a> Fold<'a> {
    /// `projected` in order of position.
    pub(crate) fn new(partition: u32, recalled: &'a Recalled, projected: VecDeque<ProjectedBalance>) -> Self {
        Self {
            books: Books::new(),
            awards: BTreeMap::new(),
            voids: PerCurrency::default(),
            seals: Seals::default(),
            awarded: vec![],
            compared: 0,
            partition,
            campaigns: Campaigns::default(),
            demo: Demo::default(),
            recalled,
            facts: None,
            projected,
        }
    }

    pub(crate) fn batch<'b>(
        &mut self,
        batch: impl IntoIterator<Item = (&'b Logged, Hash)>,
    ) -> Result<(), Box<Divergence>> {
        let mut position = 0;
        for (logged, hash) in batch {
            position = logged.commit.position;
            self.commit(logged, hash).map_err(|fault| fault.at(self.partition, position))?;
        }
        self.facts.iter_mut().for_each(FactSender::flush);
        self.trial_balance().map_err(|fault| fault.at(self.partition, position))
    }

    /// Tells the comparison that the log is sound, up to its end.
    pub(crate) fn send_end(&mut self, end: Position) {
        self.facts.iter_mut().for_each(|facts| facts.end(end));
    }

    /// Takes a commit, whose record has this hash.
    pub(crate) fn commit(&mut self, logged: &Logged, hash: Hash) -> Result<(), Fault> {
        let Logged { commit, balances_after } = logged;
        self.placed(commit)?;
        self.apply(commit, hash)?;
        self.seals.count(&commit.events);
        self.facts.iter_mut().for_each(|facts| facts.take(commit, &self.books));
        self.demo.take(commit)?;
        let player = self.books.player(&commit.stream);
        if !player.map_or(balances_after.is_empty(), |player| player.balances().eq(balances_after.iter().copied())) {
            let booked: Vec<_> = player.into_iter().flat_map(|player| player.balances()).collect();
            return Err(Fault::new(
                "the balances stated after the commit are not those of the books",
                cash(&booked),
                cash(balances_after),
            ));
        }
        if let StreamId::Pool(pool) = &commit.stream {
            self.note_awards(&commit.events);
            self.pool_commit(pool, &commit.events)?;
        }
        while let Some(next) = self.projected.pop_front_if(|next| next.position <= commit.position) {
            self.compare(&next, logged)?;
        }
        Ok(())
    }

    /// Where a player lives is decided by the player's name.
    fn placed(&self, commit: &Commit) -> Result<(), Fault> {
        let home_of = |facts: &FactSender| commit.stream.partition(facts.partitions);
        match (&commit.stream, self.facts.as_ref().map(home_of)) {
            (StreamId::Player { .. }, Some(lives)) if commit.version == 1 && lives != self.partition => {
                let what = format!("{} does not live in this partition", commit.stream);
                Err(Fault::new(what, format!("partition {lives}"), format!("partition {}", self.partition)))
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, commit: &Commit, hash: Hash) -> Result<(), Fault> {
        let void = commit.events.iter().find_map(|event| match event {
            Event::RoundVoided { round, refund, win_taken_back, .. } => Some((*round, *refund, *win_taken_back)),
            _ => None,
        });
        let Some((round, refund, win_taken_back)) = void else {
            self.books.apply_recorded(commit, None, hash)?;
            return self.campaigns.take(commit, None);
        };
        let open = self.books.player(&commit.stream).and_then(|player| player.open_round(round));
        let of = open.map(|open| (open.started.clone(), open.credited));
        let of = match self.books.apply_recorded(commit, None, hash) {
            Err(Refused::RecallNeeded { .. }) => {
                let settled = self.recalled.round(&commit.stream, round)?;
                self.books.apply_recorded(commit, Some(settled), hash)?;
                Some((settled.started.clone(), settled.win))
            }
            applied => applied.map(|()| of)?,
        };
        self.campaigns.take(commit, of.as_ref().map(|(started, _)| started))?;
        if let Some((started, win)) = of {
            let voids = self.voids.entry(started.currency);
            voids.rounds += 1;
            voids.refunds += i128::from(refund.0);
            voids.wins_taken_back += i128::from(win_taken_back.0);
            voids.wins_left += i128::from(win.0) - i128::from(win_taken_back.0);
        }
        Ok(())
    }

    fn note_awards(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::JackpotAwarded(award) if award.partition == self.partition => {
                    self.awarded.push((award.hit, award.amount));
                }
                Event::PoolMirrored(mirrored) => {
                    self.awarded.extend(mirrored.awards.iter().map(|award| (award.hit, award.amount)));
                }
                _ => {}
            }
        }
    }

    fn pool_commit(&mut self, name: &str, events: &[Event]) -> Result<(), Fault> {
        for event in events {
            if let Event::JackpotAwarded(award) = event {
                self.awards.entry(name.to_owned()).or_default().push(award.clone());
            }
        }
        match self.books.pool(name) {
            Some(pool) if !pool.is_balanced() => Err(Fault::new(
                "BW-18: the pool's sources are not its uses",
                format!("contributions {} + H {} + moved in {}", pool.contributions, pool.house_funding, pool.moved_in),
                format!(
                    "paid {} + K {} + R {} + moved out {}",
                    pool.paid, pool.increments, pool.reserve, pool.moved_out
                ),
            )),
            _ => Ok(()),
        }
    }

    fn trial_balance(&self) -> Result<(), Fault> {
        let sums = self.books.trial_balance();
        match sums.iter().next() {
            Some((currency, sum)) => Err(Fault::new(
                "PL-09: the trial balance is not zero",
                format!("0 {currency}"),
                format!("{sum} {currency}"),
            )),
            None => Ok(()),
        }
    }

    /// Holds a balance of the index against the books at its position.
    fn compare(&mut self, projected: &ProjectedBalance, logged: &Logged) -> Result<(), Fault> {
        let ProjectedBalance { stream, currency, position, amount } = projected;
        let Logged { commit, balances_after } = logged;
        let stated = balances_after.iter().find(|(of, _)| of.code() == currency);
        let booked = stated.filter(|_| commit.position == *position && commit.stream.to_string() == *stream);
        self.compared += 1;
        match booked {
            Some((_, booked)) if booked.0 == *amount => Ok(()),
            Some((of, booked)) => Err(Fault::new(
                format!("the index has another balance of {stream} at position {position}"),
                cash(&[(*of, *booked)]),
                cash(&[(*of, Minor(*amount))]),
            )),
            None => Err(Fault::new(
                format!("the index has a balance of {stream} in {currency} that no commit made"),
                format!("none at position {position}"),
                format!("{amount} minor units"),
            )),
        }
    }

    /// Checks the properties of the whole log, with the days of all its players.
    pub(crate) fn end(&self, days: &Days) -> Result<(), Fault> {
        self.trial_balance()?;
        self.campaigns.agree(&self.books)?;
        days.agree(&self.books)?;
        self.demo.agree(&self.books)?;
        for operator in self.books.operators() {
            let mut sums = PerCurrency::<i128>::default();
            for (_, _, player) in self.books.players().filter(|(of, _, _)| *of == operator) {
                for (currency, balance) in player.balances() {
                    *sums.entry(currency) += balance.to_nano(currency).0;
                }
            }
            for currency in Currency::all() {
                let (total, sum) = (
                    self.books.players_total(operator, currency),
                    Nano(sums.get(currency).copied().unwrap_or_default()),
                );
                if total != sum {
                    return Err(Fault::new(
                        format!("PL-09: the players of {operator} do not hold their total in {currency}"),
                        total,
                        sum,
                    ));
                }
            }
        }
        match self.projected.front() {
            Some(next) => Err(Fault::new(
                format!("the index has a balance of {} past the end of the log", next.stream),
                "commits that the log has",
                format!("position {}", next.position),
            )),
            None => Ok(()),
        }
    }
}

fn cash(balances: &[(Currency, Minor)]) -> String {
    let each = balances.iter().map(|(currency, amount)| format!("{} {currency}", amount.to_decimal(*currency)));
    let all = each.collect::<Vec<_>>().join(", ");
    if all.is_empty() { "none".into() } else { all }
}
