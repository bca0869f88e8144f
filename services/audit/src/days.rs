//! Computes players' daily losses and limits (PL-26) independently of the books, and compares them with the books at the
//! end.

use crate::divergence::Fault;
use motherlode_state::{Commit, Currency, Event, Minor, PerCurrency, PlayerState, RoundStarted, StreamId, date};

#[derive(Default)]
pub(crate) struct Days([Day; 2]);

#[derive(Default)]
struct Day {
    number: i64,
    net: PerCurrency<i128>,
    /// Strictest limits among the day's sessions, per currency: maximum loss, then maximum price of a round.
    limits: PerCurrency<[Option<Minor>; 2]>,
    open: Vec<(u64, i64, Currency, Minor)>,
}

impl Day {
    fn roll(&mut self, number: i64) {
        if self.number != number {
            self.number = number;
            self.net = PerCurrency::default();
            self.limits = PerCurrency::default();
        }
    }

    fn restrict(&mut self, index: usize, limits: &[(Currency, Minor)]) {
        for (currency, limit) in limits {
            let least = &mut self.limits.entry(*currency)[index];
            *least = least.iter().copied().chain([*limit]).min();
        }
    }

    fn bet(&mut self, started: &RoundStarted) -> Result<(), Fault> {
        let (currency, charged) = (started.currency, started.charged());
        let net = self.net.entry(currency);
        *net -= i128::from(charged.0);
        let [loss_max, bet_max] = self.limits.get(currency).copied().unwrap_or_default();
        let lost = loss_max.is_some_and(|limit| charged > Minor::ZERO && *net + i128::from(limit.0) < 0);
        if lost && self.net.iter().count() == 1 || bet_max.is_some_and(|limit| started.bet > limit) {
            let expected = format!("the player's limits: {loss_max:?} lost per day, {bet_max:?} per bet");
            let found =
                format!("the log's bet in round {} is {} minor units of {currency}", started.round, started.bet);
            return Err(Fault::new("PL-26: a bet exceeds a daily limit of the player", expected, found));
        }
        self.open.push((started.round, self.number, currency, charged));
        Ok(())
    }

    fn back(&mut self, round: u64, amount: impl FnOnce(Minor) -> Minor) {
        let Some(place) = self.open.iter().position(|(number, ..)| *number == round) else { return };
        let (_, day, currency, charged) = self.open.swap_remove(place);
        if day == self.number {
            *self.net.entry(currency) += i128::from(amount(charged).0);
        }
    }
}

impl Days {
    pub(crate) fn take(&mut self, commit: &Commit) -> Result<(), Fault> {
        let days = &mut self.0;
        let number = date::day_of(commit.time_ms);
        for event in &commit.events {
            match event {
                Event::SessionOpened(opened) => {
                    let day = &mut days[usize::from(opened.currency.is_real())];
                    day.roll(number);
                    day.restrict(0, &opened.limits.losses_max);
                    day.restrict(1, &opened.limits.bets_max);
                }
                Event::RoundStarted(started) => {
                    let day = &mut days[usize::from(started.currency.is_real())];
                    day.roll(number);
                    day.bet(started)?;
                }
                Event::RoundSettled { round, win } => days.iter_mut().for_each(|day| day.back(*round, |_| *win)),
                Event::RoundVoided { round, .. } => days.iter_mut().for_each(|day| day.back(*round, |bet| bet)),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn agree(&self, stream: &StreamId, player: &PlayerState) -> Result<(), Fault> {
        let Self([play, real]) = self;
        for (real, day) in [(false, play), (true, real)] {
            let now_ms = day.number * date::DAY_MS;
            for (currency, net) in day.net.iter() {
                let own = |of: Currency| (of == currency).then_some(motherlode_state::FxRate::ONE);
                let booked = player.day(currency);
                let is_for = currency.is_real() == real && booked.number() <= day.number;
                let booked = is_for.then(|| booked.net(currency, &own, now_ms));
                if booked.is_some_and(|booked| booked != *net) {
                    let what = format!(
                        "PL-26: the daily totals of {stream} differ from the player's bets and wins in {currency}"
                    );
                    return Err(Fault::new(what, net, format!("{booked:?}")));
                }
            }
        }
        Ok(())
    }
}
