//! A row is written when its round ends; open rounds come last.

use super::{
    later::{After, Later},
    row_filter::RowFilter,
    source::Read,
};
use crate::commands::Failure;
use motherlode_state::{Event, Minor, RoundKey, RoundStarted, StreamId};
use motherlode_tables::{
    Column,
    Kind::{Count, Integer, Text, Time},
    Rows, Value, column,
};
use std::{collections::BTreeMap, sync::Arc};

pub(super) const COLUMNS: &[Column] = &[
    column("start_time", Time),
    column("end_time", Time),
    column("void_time", Time),
    column("state", Text),
    column("operator_id", Text),
    column("player_id", Text),
    column("round_id", Text),
    column("game", Text),
    column("rules_version", Text),
    column("campaign_id", Text),
    column("jurisdiction", Text),
    column("currency_code", Text),
    column("currency_digits", Count),
    column("coin_value", Text),
    column("bet_minor", Integer),
    column("win_minor", Integer),
    column("jackpot_minor", Integer),
    column("refund_minor", Integer),
    column("win_taken_back_minor", Integer),
    column("steps", Count),
    column("partition", Count),
    column("position", Integer),
];

struct Open {
    started: Arc<RoundStarted>,
    time_ms: i64,
    partition: u32,
    position: u64,
    steps: u32,
    credited: i64,
}

pub(super) struct Rounds<'a> {
    later: Later,
    wanted: &'a RowFilter,
    open: BTreeMap<RoundKey, Open>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(later: Later, wanted: &'a RowFilter) -> Self {
        Self { later, wanted, open: BTreeMap::new() }
    }

    pub(super) fn take(&mut self, read: &Read, rows: &mut dyn Rows) -> Result<(), Failure> {
        let commit = &read.logged.commit;
        if self.wanted.player(commit).is_none() {
            return Ok(());
        }
        let key = |round: u64| (commit.stream.clone(), round);
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) if self.wanted.day(commit.time_ms) => {
                    let open = Open {
                        started: Arc::clone(started),
                        time_ms: commit.time_ms,
                        partition: commit.partition,
                        position: commit.position,
                        steps: 0,
                        credited: 0,
                    };
                    self.open.insert(key(started.round), open);
                }
                Event::StepResolved(step) => {
                    if let Some(open) = self.open.get_mut(&key(step.round)) {
                        open.steps += 1;
                    }
                }
                Event::WinCredited { round, amount } => {
                    if let Some(open) = self.open.get_mut(&key(*round)) {
                        open.credited = open.credited.saturating_add(amount.0);
                    }
                }
                Event::RoundSettled { round, win } => self.ended(&key(*round), Some((commit.time_ms, *win)), rows)?,
                Event::RoundVoided { round, .. } => self.ended(&key(*round), None, rows)?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn end(mut self, rows: &mut dyn Rows) -> Result<(), Failure> {
        while let Some(key) = self.open.keys().next().cloned() {
            self.ended(&key, None, rows)?;
        }
        Ok(())
    }

    fn ended(&mut self, key: &RoundKey, settled: Option<(i64, Minor)>, rows: &mut dyn Rows) -> Result<(), Failure> {
        let (Some(open), (StreamId::Player { operator, player }, number)) = (self.open.remove(key), key) else {
            return Ok(());
        };
        let After { void, jackpot } = self.later.0.get(key).copied().unwrap_or_default();
        let state = match (void, settled) {
            (Some(_), _) => "voided",
            (None, Some(_)) => "settled",
            (None, None) => "open",
        };
        let Open { started, time_ms, partition, position, steps, credited } = open;
        Ok(rows.row(&[
            Value::Time(Some(time_ms)),
            Value::Time(settled.map(|(time_ms, _)| time_ms)),
            Value::Time(void.map(|void| void.time_ms)),
            Value::Text(state),
            Value::Text(operator),
            Value::Text(player),
            Value::Text(&format!("{operator}/{player}/{number}")),
            Value::Text(&started.game),
            Value::Text(&started.rules_version),
            Value::Text(started.campaign.as_deref().unwrap_or_default()),
            Value::Text(&started.jurisdiction),
            Value::Text(started.currency.code()),
            Value::Int(started.currency.digits().into()),
            Value::Text(&started.coin_value.to_string()),
            Value::Int(started.bet.0),
            Value::Int(settled.map_or(credited, |(_, win)| win.0)),
            Value::Int(jackpot),
            Value::Int(void.map_or(0, |void| void.refund.0)),
            Value::Int(void.map_or(0, |void| void.win_taken_back.0)),
            Value::Int(steps.into()),
            Value::Int(partition.into()),
            Value::from_number(position)?,
        ])?)
    }
}
