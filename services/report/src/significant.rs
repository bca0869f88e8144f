//! Significant events of the log (PL-22; GLI-19 2.8.8), each with the values before and after the event, the actor and the
//! reason.

use crate::{events::Events, open_round::OpenRound};
use motherlode_ledger::fields::{round_name, timestamp};
use motherlode_proto::{
    convert::record::Logged,
    report::v1::{SignificantEvent, SignificantKind as Kind},
};
use motherlode_runtime::config::{PLATFORM, Report};
use motherlode_state::{
    ChangeProposed, Commit, ConfigurationReloaded, Currency, Event, FxRate, GenerationBegun, HOME, Incident, Minor,
    Nano, PoolTerms, SealReason, StartEvidence, StreamId, VoidedJackpot, contribution,
};
use motherlode_views::Run;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const EUR: i128 = 1_000_000_000;

const KINDS_END: i32 = 128;

#[derive(Serialize, Deserialize)]
pub(crate) struct Significant {
    pub(crate) events: Events,
    #[serde(skip)]
    thresholds: Report,
    terms: BTreeMap<String, PoolTerms>,
    rates: BTreeMap<Currency, FxRate>,
    set_aside: BTreeSet<(u32, u64)>,
}

struct Content {
    kind: Kind,
    subject: String,
    before: String,
    after: String,
    actor: String,
    reason: String,
}

impl Content {
    fn new(kind: Kind, subject: impl Into<String>, before: impl Into<String>, after: impl Into<String>) -> Self {
        let (subject, before, after) = (subject.into(), before.into(), after.into());
        Self { kind, subject, before, after, actor: String::new(), reason: String::new() }
    }

    fn with_actor(self, actor: &str, reason: &str) -> Self {
        Self { actor: actor.to_owned(), reason: reason.to_owned(), ..self }
    }
}

impl Significant {
    pub(crate) fn new(config: &Report) -> Self {
        Self {
            events: Events::default(),
            thresholds: config.clone(),
            terms: BTreeMap::new(),
            rates: BTreeMap::new(),
            set_aside: BTreeSet::new(),
        }
    }

    pub(crate) fn with(self, config: &Report, events: Vec<Run>) -> Option<Self> {
        Some(Self { thresholds: config.clone(), events: self.events.with(events)?, ..self })
    }

    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let all = (1..KINDS_END).filter_map(|number| Kind::try_from(number).ok());
        let mut counts: BTreeMap<_, _> = all.map(|kind| (kind, 0)).collect();
        let told = self.events.counts();
        counts.extend(told.filter_map(|(kind, count)| Some((Kind::try_from(kind).ok()?, count))));
        let name = |kind: Kind| kind.as_str_name().trim_start_matches("SIGNIFICANT_KIND_").to_lowercase();
        counts.into_iter().map(|(kind, count)| (name(kind), count)).collect()
    }

    pub(crate) fn take(&mut self, logged: &Logged, number: u32, event: &Event, round: Option<&OpenRound<'_>>) {
        let commit = &logged.commit;
        let is_own = matches!(commit.stream, StreamId::Player { .. })
            || matches!(event, Event::IntegrityFailed { .. } | Event::LogVerified { .. });
        if commit.partition != HOME && !is_own {
            return self.take_copy(event);
        }
        let operator = match &commit.stream {
            StreamId::Player { operator, .. } => operator.as_str(),
            _ => "",
        };
        let content = match &commit.stream {
            StreamId::Player { .. } => self.of_player(operator, commit, event, round),
            StreamId::Pool(pool) => self.of_pool(pool, event),
            StreamId::Rates | StreamId::System => self.of_service(event),
        };
        let Some(Content { kind, subject, before, after, actor, reason }) = content else { return };
        let operator_id = match event {
            Event::SwitchSet { switch, .. } => switch.operator.clone(),
            Event::ChangeProposed(proposed) => proposed.operator().unwrap_or(PLATFORM).into(),
            Event::IncidentDeclared(incident) => incident.operator.clone(),
            Event::ConfigurationReloaded(_) => PLATFORM.into(),
            Event::ChangeRejected { actor, .. } if operator.is_empty() => {
                actor.split_once('/').map_or(PLATFORM, |(of, _)| of).into()
            }
            _ => operator.into(),
        };
        let (actor, approver) = match approval(logged, number) {
            Some((proposed_by, approver)) => {
                let reference = commit.acted_by().map_or("", |(_, reference)| reference);
                (in_the_name(&actor, proposed_by), in_the_name(reference, approver))
            }
            None => (acted(commit, actor), String::new()),
        };
        self.events.push(SignificantEvent {
            position: commit.position,
            partition: commit.partition,
            number,
            time: Some(timestamp(commit.time_ms)),
            kind: kind.into(),
            operator_id: operator_id.into(),
            subject,
            before,
            after,
            actor,
            reason,
            approver,
        });
    }

    fn take_copy(&mut self, event: &Event) {
        if let Event::RateSet { currency, rate, .. } = event {
            self.rates.insert(*currency, *rate);
        }
    }

    fn of_player(
        &mut self,
        operator: &str,
        commit: &Commit,
        event: &Event,
        round: Option<&OpenRound<'_>>,
    ) -> Option<Content> {
        let stream = &commit.stream;
        match event {
            Event::RoundSettled { round: number, win } => {
                let started = &round?.started;
                let large = self.is_large(operator, *win, started.currency, started.rate);
                large.then(|| {
                    let bet = cash(started.bet, started.currency);
                    let bet = match &started.campaign {
                        None => format!("bet {bet}"),
                        Some(campaign) => format!("free round of campaign {campaign}, stake {bet}"),
                    };
                    let after = format!("won {}", cash(*win, started.currency));
                    Content::new(Kind::LargeWin, round_name(stream, *number), bet, after)
                })
            }
            Event::JackpotPaid { round: number, pool, amount, currency, hit } => {
                let rate = self.rates.get(currency).copied().unwrap_or(FxRate::ONE);
                let after = format!("jackpot of pool {pool}: {}", cash(*amount, *currency));
                let large = self.is_large(operator, *amount, *currency, rate);
                let waited = self.set_aside.remove(&(commit.partition, *hit));
                let (kind, before) = match (large, waited) {
                    (true, waited) => (Kind::LargeWin, if waited { "set aside" } else { "" }),
                    (false, true) => (Kind::AwardSetAside, "set aside"),
                    (false, false) => return None,
                };
                Some(Content::new(kind, round_name(stream, *number), before, after))
            }
            Event::AwardSetAside { round: number, pool, hit, amount, currency, reason } => {
                self.set_aside.insert((commit.partition, *hit));
                let before = format!("jackpot of pool {pool}: {}", cash(*amount, *currency));
                Some(
                    Content::new(Kind::AwardSetAside, round_name(stream, *number), before, "set aside")
                        .with_actor("", reason),
                )
            }
            Event::DrawSealed(sealed) if sealed.reason == SealReason::KeyLost => {
                let number = sealed.number;
                let (before, after) =
                    (format!("draw {} is out", number.saturating_sub(1)), format!("draw {number} in its place"));
                Some(Content::new(Kind::DrawKeyLost, stream.to_string(), before, after).with_actor("", "KEY_LOST"))
            }
            Event::DrawsLost { round: number } => {
                let (before, after) = ("sealed draws", "never revealed");
                Some(
                    Content::new(Kind::DrawKeyLost, round_name(stream, *number), before, after)
                        .with_actor("", "KEY_LOST"),
                )
            }
            Event::RoundVoided { round: number, reason, actor, refund, win_taken_back, jackpot, .. } => {
                let before = if round.is_some() { "open" } else { "settled" };
                let paid = match jackpot {
                    VoidedJackpot::TakenBack | VoidedJackpot::Kept => "",
                    VoidedJackpot::Charged => ", paid jackpot charged to the operator",
                    VoidedJackpot::Lost => ", paid jackpot is the platform's loss",
                };
                let after = format!("void: {refund} minor units refunded, {win_taken_back} taken back{paid}");
                Some(Content::new(Kind::Void, round_name(stream, *number), before, after).with_actor(actor, reason))
            }
            Event::WalletCallHeld { request_id, currency, close, reason, .. } => {
                let (call, name) = match close {
                    0 => ("credit", format!("{currency} {request_id} of {stream}")),
                    round => ("report of the end", round_name(stream, *round)),
                };
                let held = Content::new(Kind::WalletCallHeld, name, "due", format!("{call} held"));
                Some(held.with_actor("", reason))
            }
            Event::VoidProposed { round: number, reason, actor } => {
                let name = round_name(stream, *number);
                Some(
                    Content::new(Kind::VoidProposed, name, "hit the jackpot", "void proposed")
                        .with_actor(actor, reason),
                )
            }
            Event::ChangeRejected { change, actor, reason } => {
                let subject = format!("void proposed at {change} of {stream}");
                Some(Content::new(Kind::ChangeRejected, subject, "proposed", "rejected").with_actor(actor, reason))
            }
            _ => None,
        }
    }

    fn of_pool(&mut self, pool: &str, event: &Event) -> Option<Content> {
        let subject = format!("pool {pool}");
        match event {
            Event::PoolOpened { terms, .. } => {
                self.terms.insert(pool.to_owned(), terms.clone());
                Some(Content::new(Kind::ParameterChanged, subject, "", of_terms(terms)))
            }
            Event::PoolTermsChanged { terms } => {
                let before = self.terms.insert(pool.to_owned(), terms.clone());
                let before = before.as_ref().map(of_terms).unwrap_or_default();
                Some(Content::new(Kind::ParameterChanged, subject, before, of_terms(terms)))
            }
            Event::PoolSuspended { reason, actor } => {
                Some(Content::new(Kind::Switched, subject, "active", "suspended").with_actor(actor, reason))
            }
            Event::IncidentDeclared(incident) => {
                let Incident { id, operator, game, rules_version, from_ms, until_ms, reason, actor } = &**incident;
                let (from, until) = (time_text(*from_ms), time_text(*until_ms));
                let version = if rules_version.is_empty() { "every version" } else { rules_version };
                let after = format!("incident {id}: {game} {version} of {operator}, bets from {from} to {until}");
                Some(Content::new(Kind::IncidentDeclared, subject, "", after).with_actor(actor, reason))
            }
            Event::HitsReleased { reason, actor } => {
                let (before, after) = ("hits wait", "hits so far are awarded");
                Some(Content::new(Kind::Switched, subject, before, after).with_actor(actor, reason))
            }
            Event::PoolResumed { actor } => {
                Some(Content::new(Kind::Switched, subject, "suspended", "active").with_actor(actor, ""))
            }
            Event::PoolRetired { into, increments, reserve, actor } => {
                let before = format!("increments {increments} EUR, reserve {reserve} EUR");
                let after = format!("retired into pool {into}");
                Some(Content::new(Kind::ParameterChanged, subject, before, after).with_actor(actor, ""))
            }
            _ => None,
        }
    }

    fn of_service(&mut self, event: &Event) -> Option<Content> {
        match event {
            Event::RateSet { currency, rate, source } => {
                let before = self.rates.insert(*currency, *rate);
                let before = before.map(|rate| rate.to_string()).unwrap_or_default();
                let content =
                    Content::new(Kind::ParameterChanged, format!("rate {currency}"), before, rate.to_string());
                Some(content.with_actor("", source))
            }
            Event::SwitchSet { switch, on, reason, actor } => {
                let (before, after) = if *on { ("off", "on") } else { ("on", "off") };
                Some(Content::new(Kind::Switched, switch.to_string(), before, after).with_actor(actor, reason))
            }
            Event::ChangeProposed(ChangeProposed { stream, change, actor, .. }) => {
                let change = Significant::of_change(stream, change)?;
                let Content { subject, before, after, reason, .. } = change;
                Some(Content {
                    actor: actor.clone(),
                    reason,
                    ..Content::new(Kind::ChangeProposed, subject, before, after)
                })
            }
            Event::ChangeRejected { change, actor, reason } => Some(
                Content::new(Kind::ChangeRejected, format!("change {change}"), "proposed", "rejected")
                    .with_actor(actor, reason),
            ),
            Event::ClockSkewed { by_ms } => {
                let after = format!("set by {by_ms} ms");
                Some(Content::new(Kind::ClockSkewed, "clock", "", after).with_actor("", "CLOCK_SKEW"))
            }
            Event::WalletOverdue { operator, partition, players, oldest_ms } => {
                let after = format!("{players} players of partition {partition} wait since {oldest_ms} ms of 1970");
                let overdue = Content::new(Kind::WalletOverdue, format!("wallet of {operator}"), "", after);
                Some(overdue.with_actor("", "WALLET_OVERDUE"))
            }
            Event::ConfigurationReloaded(reloaded) => Some(of_reload(reloaded)),
            Event::GenerationBegun(begun) => of_start(begun),
            Event::IntegrityFailed { check, finding } => Some(Content::new(Kind::IntegrityFailed, check, "", finding)),
            Event::LogVerified { to } => {
                Some(Content::new(Kind::LogVerified, Event::CHECK_OF_LOG, "damaged", format!("verified up to {to}")))
            }
            _ => None,
        }
    }

    fn of_change(stream: &StreamId, change: &Event) -> Option<Content> {
        let mut none = Self::new(&Report::default());
        match stream {
            StreamId::Pool(pool) => none.of_pool(pool, change),
            _ => none.of_service(change),
        }
    }

    fn is_large(&self, operator: &str, amount: Minor, currency: Currency, rate: FxRate) -> bool {
        if !currency.is_real() {
            return false;
        }
        let Report { large_win_eur, operators, .. } = &self.thresholds;
        let threshold = operators.get(operator).copied().unwrap_or(*large_win_eur);
        contribution(amount, currency, rate, 1_000_000).is_ok_and(|eur| eur >= Nano(i128::from(threshold) * EUR))
    }
}

fn of_reload(reloaded: &ConfigurationReloaded) -> Content {
    let ConfigurationReloaded { before, after, keys, key_count, actor } = reloaded;
    let mut changed = keys.join(", ");
    let omitted = usize::try_from(*key_count).unwrap_or(usize::MAX).saturating_sub(keys.len());
    if omitted > 0 {
        changed += &format!(" and {omitted} more");
    }
    Content::new(Kind::ConfigurationReloaded, "configuration", before, after).with_actor(actor, &changed)
}

fn of_start(begun: &GenerationBegun) -> Option<Content> {
    let GenerationBegun { number, unused_seals_end, evidence, lost_to, keys_lost, .. } = begun;
    let subject = format!("generation {number} of draws");
    let keys = match keys_lost.len() {
        0 => String::new(),
        count => format!("; {count} draw keys are lost"),
    };
    match (unused_seals_end, evidence) {
        (true, StartEvidence::Restored) => {
            let after = format!("records up to {lost_to} are accepted as lost: unused seals end{keys}");
            Some(Content::new(Kind::SealsEnded, subject, "", after).with_actor("", "RESTORED"))
        }
        (true, _) => {
            let after = format!("nothing shows that no records are lost: unused seals end{keys}");
            Some(Content::new(Kind::SealsEnded, subject, "", after).with_actor("", "UNSURE_START"))
        }
        (false, _) if !keys_lost.is_empty() => {
            let after = format!("{} draw keys are accepted as lost", keys_lost.len());
            Some(Content::new(Kind::DrawKeyLost, subject, "", after).with_actor("", "KEY_LOST"))
        }
        (false, _) => None,
    }
}

fn approval(logged: &Logged, number: u32) -> Option<(&str, &str)> {
    let before = usize::try_from(number).ok()?.checked_sub(2)?;
    match logged.commit.events.get(before)? {
        Event::ChangeApproved { proposed_by, actor, .. } => Some((proposed_by, actor)),
        _ => None,
    }
}

fn acted(commit: &Commit, actor: String) -> String {
    match commit.acted_by() {
        Some((credential, reference)) => in_the_name(reference, credential),
        None => actor,
    }
}

fn in_the_name(actor: &str, credential: &str) -> String {
    if actor.is_empty() || actor == credential { credential.to_owned() } else { format!("{credential} for {actor}") }
}

fn time_text(time_ms: i64) -> String {
    timestamp(time_ms).to_string()
}

fn cash(amount: Minor, currency: Currency) -> String {
    format!("{} {currency}", amount.to_decimal(currency))
}

fn of_terms(terms: &PoolTerms) -> String {
    let PoolTerms { version, contribution_ppm, seed, base_coin, refresh_ms, collision_share } = terms;
    format!(
        "terms {version}: {contribution_ppm} ppm, seed {seed} EUR, base coin {base_coin}, refresh {refresh_ms} ms, \
         collisions {collision_share:?}"
    )
}
