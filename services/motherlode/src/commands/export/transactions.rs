use super::{later::Transactions, row_filter::RowFilter, source::Read};
use crate::commands::Failure;
use motherlode_state::TransactionKind;
use motherlode_tables::{
    Column,
    Kind::{Count, Integer, Text, Time},
    Rows, Value, column,
};

pub(super) const COLUMNS: &[Column] = &[
    column("time", Time),
    column("operator_id", Text),
    column("player_id", Text),
    column("kind", Text),
    column("currency_code", Text),
    column("currency_digits", Count),
    column("amount_minor", Integer),
    column("balance_minor", Integer),
    column("promotion_minor", Integer),
    column("round_id", Text),
    column("game", Text),
    column("request_id", Text),
    column("partition", Count),
    column("position", Integer),
    column("number", Count),
];

pub(super) fn take(
    transactions: &mut Transactions,
    read: &Read,
    wanted: &RowFilter,
    rows: &mut dyn Rows,
) -> Result<(), Failure> {
    let commit = &read.logged.commit;
    let Some((operator, player)) = wanted.player(commit) else { return Ok(()) };
    for of in transactions.take(read)? {
        if !wanted.day(commit.time_ms) {
            continue;
        }
        rows.row(&[
            Value::Time(Some(commit.time_ms)),
            Value::Text(operator),
            Value::Text(player),
            Value::Text(name(of.kind)),
            Value::Text(of.currency.code()),
            Value::Int(of.currency.digits().into()),
            Value::Int(of.amount.0),
            Value::Int(of.balance.0),
            Value::Int(of.promotion.0),
            Value::Text(&of.round.map(|round| format!("{operator}/{player}/{round}")).unwrap_or_default()),
            Value::Text(&of.game),
            Value::Text(&commit.request_id),
            Value::Int(commit.partition.into()),
            Value::from_number(commit.position)?,
            Value::Int(of.number.into()),
        ])?;
    }
    Ok(())
}

fn name(kind: TransactionKind) -> &'static str {
    match kind {
        TransactionKind::Deposit => "deposit",
        TransactionKind::Withdrawal => "withdrawal",
        TransactionKind::PlayMoney => "play_money",
        TransactionKind::Debit => "debit",
        TransactionKind::Credit => "credit",
        TransactionKind::Bet => "bet",
        TransactionKind::FreeBet => "free_bet",
        TransactionKind::Win => "win",
        TransactionKind::Jackpot => "jackpot",
        TransactionKind::Refund => "refund",
        TransactionKind::FreeBetReturned => "free_bet_returned",
        TransactionKind::WinTakenBack => "win_taken_back",
    }
}
