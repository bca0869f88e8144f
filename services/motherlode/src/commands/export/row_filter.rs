use crate::commands::Failure;
use motherlode_state::{Commit, StreamId, date, is_name};

pub(super) struct RowFilter {
    days: (i64, i64),
    pub(super) operator: Option<String>,
}

impl RowFilter {
    pub(super) fn new(from: Option<&str>, to: Option<&str>, operator: Option<String>) -> Result<Self, Failure> {
        let day = |name: &str, text: Option<&str>| match text {
            None => Ok(None),
            Some(text) => date::parse(text)
                .map(Some)
                .ok_or_else(|| Failure::unusable(format!("--{name} {text}: must be a day in the form YYYY-MM-DD"))),
        };
        let days = (day("from", from)?.unwrap_or(i64::MIN), day("to", to)?.unwrap_or(i64::MAX));
        if days.0 > days.1 {
            return Err(Failure::unusable("--from is after --to"));
        }
        if let Some(operator) = operator.as_ref().filter(|operator| !is_name(operator)) {
            return Err(Failure::unusable(format!("--operator {operator} is not a valid operator name")));
        }
        Ok(Self { days, operator })
    }

    pub(super) fn day(&self, time_ms: i64) -> bool {
        (self.days.0..=self.days.1).contains(&date::day_of(time_ms))
    }

    pub(super) fn player<'a>(&self, commit: &'a Commit) -> Option<(&'a str, &'a str)> {
        match &commit.stream {
            StreamId::Player { operator, player } if self.operator.as_ref().is_none_or(|wanted| wanted == operator) => {
                Some((operator, player))
            }
            _ => None,
        }
    }
}
