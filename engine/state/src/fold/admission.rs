//! Limits on new commits, which keep sums far below the maximum of a 64-bit integer. A deposit that would exceed a limit is
//! refused; wins and awards are never refused. Only the writer checks these limits ([`Stage::admit`]), so a log that
//! violates a newer limit can still be folded.

use super::stage::{Stage, Subject};
use super::view::View;
use crate::events::{Award, ChangeProposed, Commit, Decision, Event, PoolTerms, Refused, VoidedJackpot};
use crate::state::{Books, Changes, PlayerState, Wallet};
use crate::values::{ANYONE, Ceiling, CoinValue, Currency, FxRate, HOME, Minor, Nano, StreamId, Switch, operator_of};

/// Highest balance at which a bet is accepted. At a higher balance, a win might exceed the maximum balance.
const BET_BALANCE_MAX: Minor = Minor(i64::MAX / 8);

/// Lowest and highest value of a minor unit in 1e-9 EUR. With these limits, a pool of 10^9 EUR is at most 10^18 minor
/// units.
const MINOR_WORTH: (i128, i128) = (1, 10_000 * Nano::PER_MAJOR);

/// Highest seed of a pool. This limit keeps a jackpot in any currency far below the maximum balance.
const SEED_MAX: Nano = Nano::major(100_000_000);

/// Maximum number of pending void proposals per operator.
const VOID_PROPOSALS_MAX: usize = 256;

/// 1,000 EUR.
const BASE_COIN_MAX: CoinValue = CoinValue(1_000_000_000);

impl Ceiling {
    fn admits(self, currency: Currency, amount: Minor) -> Result<(), Refused> {
        let ceiling = self.amount;
        if amount <= ceiling { Ok(()) } else { Err(Refused::AmountAboveCeiling { currency, amount, ceiling }) }
    }
}

impl Stage {
    pub fn admit(&self, subject: &Subject, books: &Books, commit: &Commit) -> Result<(), Refused> {
        Admission { view: self.over(books), player: subject.0.player.as_ref(), commit }.admit()
    }
}

impl Commit {
    /// Refuses unapproved voids by [`ANYONE`] (PL-38). The writer calls this if operators are configured, because
    /// [`ANYONE`] is the actor only without operators.
    pub fn admit_actors(&self) -> Result<(), Refused> {
        let mut approved = false;
        for event in &self.events {
            match event {
                Event::RoundVoided { round, actor, .. } if actor == ANYONE && !approved => {
                    return Err(Refused::VoidUnapproved { round: *round });
                }
                event => approved = matches!(event, Event::ChangeApproved { .. }),
            }
        }
        Ok(())
    }
}

impl Books {
    pub fn admit(&self, commit: &Commit) -> Result<(), Refused> {
        let view = self.view();
        Admission { view, player: view.player(&commit.stream), commit }.admit()
    }
}

struct Admission<'a> {
    view: View<'a>,
    player: Option<&'a PlayerState>,
    commit: &'a Commit,
}

impl Admission<'_> {
    fn admit(&self) -> Result<(), Refused> {
        let mut deposited = Minor::ZERO;
        for event in &self.commit.events {
            match event {
                Event::Deposited { currency, amount } => {
                    currency.ceiling().admits(*currency, *amount)?;
                    deposited = Minor(deposited.0.saturating_add(amount.0));
                    self.deposit(*currency, deposited)?;
                }
                Event::RoundStarted(started) => {
                    started.currency.ceiling().admits(started.currency, started.bet)?;
                    self.bet(started.currency)?;
                }
                Event::CampaignGranted(campaign) => {
                    campaign.currency.ceiling().admits(campaign.currency, campaign.bet)?;
                }
                // A void removes the round's contribution from the pool only in older logs (PL-38).
                Event::RoundVoided { round, jackpot: VoidedJackpot::TakenBack, .. } => {
                    return Err(Refused::VoidedJackpotWrong { round: *round });
                }
                // The void of a settled round can lack `settled` only in older logs (PL-37).
                Event::RoundVoided { round, settled: None, .. }
                    if self.player.is_some_and(|player| player.open_round(*round).is_none()) =>
                {
                    return Err(Refused::VoidFactsWrong { round: *round });
                }
                Event::VoidProposed { .. } => self.propose_void()?,
                Event::JackpotAwarded(award) => self.award(award)?,
                other => self.admit_of_platform(other)?,
            }
        }
        Ok(())
    }

    fn admit_of_platform(&self, event: &Event) -> Result<(), Refused> {
        match event {
            Event::RateSet { currency, rate, .. } if self.commit.partition == HOME => check_rate(*currency, *rate),
            Event::SwitchSet { switch, on: true, actor, .. } if self.commit.partition == HOME => {
                self.switch_on(switch, actor)
            }
            Event::PoolOpened { terms, .. } | Event::PoolTermsChanged { terms } => check_terms(terms),
            Event::ChangeProposed(ChangeProposed { change, actor, .. }) => {
                self.view.system().changes.admit(actor, self.commit.time_ms)?;
                self.admit_of_platform(change)
            }
            _ => Ok(()),
        }
    }

    fn propose_void(&self) -> Result<(), Refused> {
        let StreamId::Player { operator, .. } = &self.commit.stream else { return Err(Refused::WrongStream) };
        let waiting = self.view.durable.proposed_voids(operator, self.commit.time_ms).count();
        let most = VOID_PROPOSALS_MAX;
        if waiting < most { Ok(()) } else { Err(Refused::TooManyChanges { most }) }
    }

    fn award(&self, award: &Award) -> Result<(), Refused> {
        let StreamId::Pool(name) = &self.commit.stream else { return Err(Refused::WrongStream) };
        let Some(pool) = self.view.pool(name) else { return Ok(()) };
        let pending = self.view.durable_pending(name).into_iter();
        let mut waiting =
            pending.flat_map(|pending| pending.decisions_after(award.partition, award.hit.saturating_sub(1)));
        match waiting.next() {
            Some(Decision::Hit(hit)) if hit.position == award.hit && !pool.awards_now(hit) => {
                Err(Refused::PoolStatus { status: pool.status.clone() })
            }
            _ => Ok(()),
        }
    }

    /// If an operator stopped bets, only this operator or the platform can permit them again (PL-25).
    fn switch_on(&self, switch: &Switch, actor: &str) -> Result<(), Refused> {
        let off = self.view.system().switches.off().find(|(off, _)| *off == switch);
        let by_others = off.is_some_and(|(_, off)| off.operator() != operator_of(actor));
        match operator_of(actor).is_some() && by_others {
            true => Err(Refused::PlatformsSwitch { switch: switch.clone() }),
            false => Ok(()),
        }
    }

    fn deposit(&self, currency: Currency, amount: Minor) -> Result<(), Refused> {
        let balance = self.player.and_then(|player| player.balance(currency)).unwrap_or_default();
        let ceiling = currency.ceiling().balance;
        let fits = balance.checked_add(amount).is_some_and(|after| after <= ceiling);
        if fits { Ok(()) } else { Err(Refused::BalanceAboveCeiling { currency, balance, ceiling }) }
    }

    fn bet(&self, currency: Currency) -> Result<(), Refused> {
        let (player, ceiling) = (self.player, BET_BALANCE_MAX);
        let balance = player.and_then(|player| player.balance(currency)).unwrap_or_default();
        let wallet = player.and_then(PlayerState::wallet);
        if balance > ceiling {
            Err(Refused::BalanceAboveCeiling { currency, balance, ceiling })
        } else if let Some(most) = wallet.and_then(Wallet::full) {
            Err(Refused::DuesWaiting { most })
        } else {
            Ok(())
        }
    }
}

fn check_rate(currency: Currency, rate: FxRate) -> Result<(), Refused> {
    let (numerator, denominator) = rate.fraction();
    // No product overflows: a rate's numerator is below 10^18, and its denominator at most 10^12.
    let worth = numerator * currency.nanos_per_minor();
    let (least, most) = MINOR_WORTH;
    let is_within = least * denominator <= worth && worth <= most * denominator;
    if is_within { Ok(()) } else { Err(Refused::RateOutOfBounds { currency }) }
}

fn check_terms(terms: &PoolTerms) -> Result<(), Refused> {
    let fault = if terms.seed > SEED_MAX {
        "the seed must be at most 10^8 EUR"
    } else if terms.base_coin > BASE_COIN_MAX {
        "the base coin value must be at most 1,000 EUR"
    } else {
        return Ok(());
    };
    Err(Refused::BadTerms { reason: fault.to_owned() })
}

impl Changes {
    fn admit(&self, actor: &str, time_ms: i64) -> Result<(), Refused> {
        let waiting = |of: &dyn Fn(&str) -> bool| {
            let waiting = self.pending().filter(|(_, change)| time_ms < change.proposed.lapses_ms);
            waiting.filter(|(_, change)| of(&change.proposed.actor)).count()
        };
        let quotas = [
            (waiting(&|other| other == actor), Self::OF_ACTOR_MAX),
            (waiting(&|other| operator_of(other) == operator_of(actor)), Self::OF_OPERATOR_MAX),
        ];
        match quotas.into_iter().find(|(waiting, most)| waiting >= most) {
            None => Ok(()),
            Some((_, most)) => Err(Refused::TooManyChanges { most }),
        }
    }
}
