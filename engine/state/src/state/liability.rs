//! Liability of open campaigns (PL-36), summed per expiry day: each campaign counts in full until that day.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::{LiabilityReserved, Refused};
use crate::values::{MoneyError, Nano, date, is_id};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Liabilities(BTreeMap<SmolStr, BTreeMap<i64, Nano>>);

impl Liabilities {
    /// Longest time in days from the grant to the expiry of a campaign, which bounds the size of the state.
    const DAYS_MAX: i64 = 3_660;

    pub(crate) fn open(&self, operator: &str, now_ms: i64) -> Nano {
        let days = self.0.get(operator).into_iter().flat_map(|days| days.range(date::day_of(now_ms)..));
        Nano(days.map(|(_, max_liability)| max_liability.0).sum())
    }

    pub(crate) fn reserve(&mut self, reserved: &LiabilityReserved, now_ms: i64) -> Result<(), Refused> {
        let LiabilityReserved { operator, campaign, players, max_liability, expires_ms, cap, player_ids } = reserved;
        let named = u32::try_from(player_ids.len()).unwrap_or(u32::MAX);
        let bad = |reason: &str| Err(Refused::BadCampaign { reason: reason.to_owned() });
        let (today, last) = (date::day_of(now_ms), date::day_of(*expires_ms));
        match reserved {
            _ if !is_id(operator) || !is_id(campaign) => return bad("the campaign's name is not well formed"),
            _ if *players == 0 || *max_liability <= Nano::ZERO || *cap < Nano::ZERO => {
                return bad(
                    "the campaign's player count and maximum cost must be above 0, and its cap must not be negative",
                );
            }
            _ if named > 0 && named != *players => {
                return bad("the campaign's player count differs from the length of its player list");
            }
            _ if *expires_ms <= now_ms => return bad("the campaign expires before it is granted"),
            _ if last - today > Self::DAYS_MAX => return bad("the campaign expires in more than ten years"),
            _ => {}
        }
        let open = self.open(operator, now_ms);
        let sum = open.checked_add(*max_liability).ok_or(Refused::Money(MoneyError::OutOfRange))?;
        if *cap > Nano::ZERO && sum > *cap {
            return Err(Refused::LiabilityAboveCap { open, max_liability: *max_liability, cap: *cap });
        }
        let days = self.0.entry(operator.clone()).or_default();
        *days = days.split_off(&today);
        let of_day = days.entry(last).or_default();
        *of_day = of_day.checked_add(*max_liability).ok_or(Refused::Money(MoneyError::OutOfRange))?;
        Ok(())
    }
}
