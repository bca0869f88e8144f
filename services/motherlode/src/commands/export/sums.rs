use super::{
    later::{Later, Transactions},
    row_filter::RowFilter,
    source::Read,
};
use crate::commands::Failure;
use motherlode_state::{Revenue, date};
use motherlode_tables::{
    Column,
    Kind::{Count, Date, Integer, Text},
    Rows, Value, column,
};

pub(super) const COLUMNS: &[Column] = &[
    column("date", Date),
    column("operator_id", Text),
    column("game", Text),
    column("currency_code", Text),
    column("currency_digits", Count),
    column("rounds", Integer),
    column("free_rounds", Integer),
    column("voided_rounds", Integer),
    column("bets_minor", Integer),
    column("free_bets_minor", Integer),
    column("wins_minor", Integer),
    column("jackpots_minor", Integer),
    column("refunds_minor", Integer),
    column("free_bets_returned_minor", Integer),
    column("wins_taken_back_minor", Integer),
    column("revenue_minor", Integer),
];

pub(super) struct Sums {
    transactions: Transactions,
    revenue: Revenue,
}

impl Sums {
    pub(super) fn new(later: Later) -> Self {
        Self { transactions: Transactions::new(later), revenue: Revenue::default() }
    }

    pub(super) fn take(&mut self, read: &Read, wanted: &RowFilter) -> Result<(), Failure> {
        let commit = &read.logged.commit;
        let Some((operator, _)) = wanted.player(commit) else { return Ok(()) };
        let transactions = self.transactions.take(read)?;
        if wanted.day(commit.time_ms) {
            self.revenue.take(operator, commit.time_ms, &transactions);
        }
        Ok(())
    }

    pub(super) fn end(&self, rows: &mut dyn Rows) -> Result<(), Failure> {
        for (key, of) in self.revenue.iter() {
            rows.row(&[
                Value::Text(&date::text(key.day)),
                Value::Text(&key.operator),
                Value::Text(&key.game),
                Value::Text(key.currency.code()),
                Value::Int(key.currency.digits().into()),
                Value::from_number(of.rounds)?,
                Value::from_number(of.free_rounds)?,
                Value::from_number(of.voided)?,
                Value::from_number(of.bets)?,
                Value::from_number(of.free_bets)?,
                Value::from_number(of.wins)?,
                Value::from_number(of.jackpots)?,
                Value::from_number(of.refunds)?,
                Value::from_number(of.free_bets_returned)?,
                Value::from_number(of.wins_taken_back)?,
                Value::from_number(of.revenue())?,
            ])?;
        }
        Ok(())
    }
}
