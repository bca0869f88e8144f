use motherlode_audit::{Report, Return};
use motherlode_slots::par::Exact;
use motherlode_state::{Currency, HOME, Minor, Nano};

pub(super) fn to_be_pooled(home: &Report, pool: &str, partitions: usize) -> Nano {
    let partitions = (HOME..).take(partitions);
    Nano(partitions.map(|partition| home.books.pending_contributions(pool, partition, u64::MAX).0).sum())
}

pub(super) fn cash(minor: i128, currency: Currency) -> String {
    let sum = match i64::try_from(minor) {
        Ok(minor) => Minor(minor).to_decimal(currency),
        Err(_) => Nano(minor.saturating_mul(currency.nanos_per_minor())).to_string(),
    };
    format!("{sum} {currency}")
}

pub(super) fn returned(won: i128, bet: i128) -> Option<Exact> {
    (bet > 0).then(|| Exact::new(won.into(), bet.into()))
}

pub(super) fn totals(returns: &[Return]) -> impl Iterator<Item = (Currency, u64, i128, i128, i128)> {
    Currency::all().filter_map(|currency| {
        let of = || returns.iter().filter(move |of| of.currency == currency);
        let rounds = of().map(|of| of.rounds).sum();
        let sum = |figure: fn(&Return) -> i128| of().map(figure).sum::<i128>();
        (rounds > 0).then(|| (currency, rounds, sum(|of| of.bets), sum(|of| of.wins), sum(|of| of.awarded)))
    })
}
