use crate::{
    audit::{BEHIND, Options, audit_sending},
    compare::{Stopped, compare},
    divergence::{Divergence, Fault, Unusable},
    facts::{FactReceiver, FactSender},
    report::{Report, Return, Seals, Voids},
};
use motherlode_state::{Account, Currency, HOME, Nano, PerCurrency};
use std::{
    panic::resume_unwind,
    sync::mpsc::sync_channel,
    thread::{Builder, scope},
};

#[derive(Debug)]
pub struct Whole {
    pub partitions: Vec<Report>,
    /// Amount in EUR in transit between partitions.
    pub in_transit: Nano,
    between: Option<Divergence>,
}

pub fn audit_all(options: &[Options]) -> Result<Whole, Unusable> {
    let count = u32::try_from(options.len()).unwrap_or(u32::MAX);
    scope(|threads| {
        let (mut audits, mut receivers) = (vec![], vec![]);
        for options in options {
            let (to, from) = sync_channel(BEHIND);
            let facts = (count > 1).then(|| FactSender::new(count, to));
            let named = Builder::new().name(format!("audit {}", options.partition));
            let audit = named.spawn_scoped(threads, move || audit_sending(options, facts));
            audits.push(audit.map_err(Unusable::Thread)?);
            receivers.push(FactReceiver::new(from));
        }
        let compared = if count > 1 { compare(receivers) } else { Ok(Nano::ZERO) };
        let joined = audits.into_iter().map(|audit| audit.join().unwrap_or_else(|panicked| resume_unwind(panicked)));
        let partitions = joined.collect::<Result<Vec<_>, _>>()?;
        let held = partitions.iter().map(|report| report.books.holding(Account::Interpartition, Currency::EUR).0);
        let in_transit = Nano(held.sum());
        let between = match compared {
            Ok(expected) if expected != in_transit => {
                let end = partitions.first().map_or(0, |home| home.position);
                let what = "PL-09: the interpartition accounts of all partitions do not add up to the money in transit";
                Some(Fault::new(what, format!("{expected} EUR"), format!("{in_transit} EUR")).at(HOME, end))
            }
            Err(Stopped::Divergence(found)) => Some(found),
            Ok(_) | Err(Stopped::Disconnected) => None,
        };
        Ok(Whole { partitions, in_transit, between: between.map(|found| *found) })
    })
}

impl Whole {
    #[must_use]
    pub fn divergence(&self) -> Option<&Divergence> {
        let within = self.partitions.iter().find_map(|report| report.divergence.as_ref());
        within.or(self.between.as_ref())
    }

    #[must_use]
    pub fn returns(&self) -> Vec<Return> {
        let mut sums: Vec<Return> = vec![];
        for of in self.partitions.iter().flat_map(|report| &report.returns) {
            let same = |sum: &&mut Return| {
                (&sum.game, &sum.rules_version, sum.currency) == (&of.game, &of.rules_version, of.currency)
            };
            match sums.iter_mut().find(same) {
                Some(sum) => sum.add(of),
                None => sums.push(of.clone()),
            }
        }
        sums
    }

    #[must_use]
    pub fn seals(&self) -> Seals {
        let mut sum = Seals::default();
        self.partitions.iter().for_each(|report| sum.add(&report.seals));
        sum
    }

    #[must_use]
    pub fn sealed(&self) -> u64 {
        self.partitions.iter().map(Report::sealed).sum()
    }

    #[must_use]
    pub fn voids(&self) -> PerCurrency<Voids> {
        let mut sums = PerCurrency::<Voids>::default();
        for report in &self.partitions {
            for (currency, of) in report.voids.iter() {
                sums.entry(currency).add(of);
            }
        }
        sums
    }
}
