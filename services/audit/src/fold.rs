//! Last stage of the audit: applies all commits to the books in log order, and checks commits of shared streams. After each
//! commit of a pool it checks the pool's equation (BW-18), and after each batch the trial balance. At the end it compares
//! operators' totals with their players' balances.

use crate::{
    campaigns::Campaigns,
    cancelled::Cancelled,
    demo::Demo,
    divergence::Fault,
    facts::FactSender,
    judge::{Judge, cash, check_proposer, other_balances, other_due},
    playing::{Player, PlayerDigest, Players},
    report::{BaseDigest, Seals, Voids},
};
use motherlode_ledger::Balance;
use motherlode_log::{Hash, Position};
use motherlode_proto::convert::{play::hex, record::Logged};
use motherlode_state::{
    Award, BaseTaken, Books, CommonState, Currency, Event, Left, Minor, Nano, PerCurrency, StateDigest, StreamId,
    Totals,
};
use std::collections::{BTreeMap, VecDeque};

pub(crate) struct Fold {
    pub(crate) books: Books,
    pub(crate) awards: BTreeMap<String, Vec<Award>>,
    pub(crate) awarded: Vec<(Position, Minor)>,
    pub(crate) compared: u64,
    pub(crate) partition: u32,
    campaigns: Campaigns,
    demo: Demo,
    cancelled: Cancelled,
    days: Option<(StreamId, Fault)>,
    pub(crate) voids: PerCurrency<Voids>,
    pub(crate) seals: Seals,
    pub(crate) base: Option<BaseDigest>,
    pub(crate) facts: Option<FactSender>,
    projected: VecDeque<Balance>,
}

impl Fold {
    pub(crate) fn new(partition: u32, projected: VecDeque<Balance>) -> Self {
        Self {
            books: Books::new(),
            awards: BTreeMap::new(),
            voids: PerCurrency::default(),
            seals: Seals::default(),
            base: None,
            awarded: vec![],
            compared: 0,
            partition,
            campaigns: Campaigns::default(),
            demo: Demo::default(),
            cancelled: Cancelled::default(),
            days: None,
            facts: None,
            projected,
        }
    }

    pub(crate) fn batch_ends<'t>(&mut self, totals: impl Iterator<Item = &'t Totals>) -> Result<(), Fault> {
        self.facts.iter_mut().for_each(FactSender::flush);
        totals.for_each(|totals| self.books.take_totals(totals));
        self.trial_balance()
    }

    pub(crate) fn send_end(&mut self, end: Position) {
        self.facts.iter_mut().for_each(|facts| facts.end(end));
    }

    pub(crate) fn commit(&mut self, logged: &Logged, left: &Left) -> Result<(), Fault> {
        let Logged { commit, balances_after, due_after, proposer } = logged;
        match (&commit.stream, proposer) {
            (StreamId::Player { .. }, _) => self.books.take_left(commit, left)?,
            (_, proposer) => {
                check_proposer(commit, proposer.as_deref())?;
                self.cancelled.take(commit)?;
                self.books.apply(commit)?;
            }
        }
        self.facts.iter_mut().for_each(|facts| facts.take(commit, &self.books));
        match &commit.stream {
            StreamId::Player { .. } => {}
            _ if !balances_after.is_empty() => return Err(other_balances(&[], balances_after)),
            _ if !due_after.is_empty() => return Err(other_due(&[], due_after)),
            StreamId::System => {
                self.seals.count(&commit.events);
                commit.events.iter().try_for_each(|event| self.compare_base(event))?;
            }
            StreamId::Pool(pool) => {
                self.note_awards(&commit.events);
                self.pool_commit(pool, &commit.events)?;
            }
            _ => {}
        }
        while let Some(next) = self.projected.pop_front_if(|next| next.position <= commit.position) {
            self.compare(&next, logged)?;
        }
        Ok(())
    }

    pub(crate) fn digest<'d>(
        &mut self,
        position: Position,
        record_hash: Hash,
        players: impl Iterator<Item = &'d PlayerDigest>,
    ) -> Result<(), Fault> {
        let mut players: Vec<_> = players.collect();
        players.sort_unstable();
        let mut state = StateDigest::default();
        players.iter().for_each(|(.., digest)| state.add(digest));
        let digest = state.finish(&self.books)?;
        self.base = Some(BaseDigest { position, record_hash, form: StateDigest::FORM, digest, is_logged: false });
        Ok(())
    }

    fn compare_base(&mut self, event: &Event) -> Result<(), Fault> {
        let (Event::BaseTaken(taken), Some(base)) = (event, &mut self.base) else { return Ok(()) };
        let BaseTaken { position, record_hash, form, digest, .. } = &**taken;
        if (*position, *form) != (base.position, base.form) {
            return Ok(());
        }
        if (*record_hash, *digest) != (base.record_hash, base.digest) {
            let shown =
                |record: &Hash, digest: &Hash| format!("record hash {}, state digest {}", hex(record), hex(digest));
            let what =
                format!("PL-37: the base (state digest) logged for position {position} does not match the records");
            return Err(Fault::new(what, shown(&base.record_hash, &base.digest), shown(record_hash, digest)));
        }
        base.is_logged = true;
        Ok(())
    }

    pub(crate) fn has_base(&self, position: Option<Position>) -> Result<(), Fault> {
        match (position, &self.base) {
            (Some(position), None) => Err(Fault::new(
                "the log ends before the position whose state digest was requested",
                format!("a record must exist at position {position}"),
                "none",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn judged_by(
        &mut self,
        judge: &mut Judge,
        players: &mut Players,
        logged: &Logged,
        hash: Hash,
    ) -> Result<(), Fault> {
        let stream = &logged.commit.stream;
        let left = match stream {
            StreamId::Player { .. } => judge.commit(&mut players.for_stream(stream).state, logged, hash)?,
            _ => Left::default(),
        };
        self.commit(logged, &left)?;
        if CommonState::is_changed_by(&logged.commit) {
            judge.share.follow(&self.books.common());
        }
        Ok(())
    }

    pub(crate) fn join(&mut self, judge: Judge, players: Players) {
        let Judge { mut share, campaigns, demo, voids, seals, .. } = judge;
        self.books.take_totals(&share.take_totals());
        self.campaigns.join(campaigns);
        self.demo.join(demo);
        voids.iter().for_each(|(currency, of)| self.voids.entry(currency).add(of));
        self.seals.add(&seals);
        for Player { stream, state, days, .. } in players.into_all() {
            if let Err(fault) = days.agree(&stream, &state)
                && self.days.as_ref().is_none_or(|(first, _)| stream < *first)
            {
                self.days = Some((stream.clone(), fault));
            }
            self.books.join(stream, state);
        }
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
                self.awards.entry(name.to_owned()).or_default().push((**award).clone());
            }
        }
        match self.books.pool(name) {
            Some(pool) if !pool.is_balanced() => Err(Fault::new(
                "BW-18: the pool's income does not equal its payments and balances",
                format!(
                    "income: contributions {} + house funding {} + from retired pools {}",
                    pool.contributions, pool.house_funding, pool.moved_in
                ),
                format!(
                    "uses: awards {} + increments {} + reserve {} + moved at retirement {}",
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
                "PL-09: the accounts do not sum to zero",
                format!("0 {currency}"),
                format!("{sum} {currency}"),
            )),
            None => Ok(()),
        }
    }

    fn compare(&mut self, projected: &Balance, logged: &Logged) -> Result<(), Fault> {
        let Balance { stream, currency, position, amount } = projected;
        let Logged { commit, balances_after, .. } = logged;
        if (commit.position, &commit.stream) != (*position, stream) {
            return Err(Fault::new(
                format!("the snapshot has a balance of {stream} in {currency} that does not follow from any commit"),
                format!("no balance with its last change at position {position}"),
                cash(&[(*currency, *amount)]),
            ));
        }
        let Some((of, booked)) = balances_after.iter().find(|(of, _)| of == currency) else { return Ok(()) };
        self.compared += 1;
        if booked == amount {
            return Ok(());
        }
        Err(Fault::new(
            format!("the snapshot's balance of {stream} at position {position} differs from the balance in the log"),
            cash(&[(*of, *booked)]),
            cash(&[(*of, *amount)]),
        ))
    }

    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.trial_balance()?;
        self.campaigns.agree(&self.books)?;
        self.days.take().map_or(Ok(()), |(_, fault)| Err(fault))?;
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
                        format!(
                            "PL-09: the balances of {operator}'s players differ from the operator's total in {currency}"
                        ),
                        total,
                        sum,
                    ));
                }
            }
        }
        match self.projected.front() {
            Some(next) => Err(Fault::new(
                format!("the snapshot's balance of {} has a position past the log's end", next.stream),
                "the position of a record in the log",
                format!("position {}", next.position),
            )),
            None => Ok(()),
        }
    }
}
