use crate::{compared::Report, going::Going, simulation};
use data_encoding::HEXLOWER_PERMISSIVE;
use motherlode_audit::{Options, Unusable, Whole, audit_all};
use motherlode_ledger::fields;
use motherlode_picture::{figures::grouped, par::win_classes};
use motherlode_proto::{
    convert::play::hex,
    job::v1::{
        self as wire,
        job::{Figure, State, WinClass},
    },
    round::v1 as round,
};
use motherlode_runtime::{Reason, Refusal, field_bounds::SIMULATED_ROUNDS_MAX};
use motherlode_slots::{Game, Seed, Stake, game, latest};
use motherlode_state::CoinValue;
use opentelemetry::{KeyValue, global};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// Default coin value in millionths of the currency's unit; if the game does not offer it, the smallest coin value is
/// used.
const COIN_MICROS: u64 = 100_000;

pub(crate) struct Ended {
    pub(crate) state: State,
    pub(crate) findings: Vec<String>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) wins: Vec<WinClass>,
}

impl Ended {
    fn saying(state: State, findings: Vec<String>) -> Self {
        Self { state, findings, figures: vec![], wins: vec![] }
    }

    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::saying(State::Failed, vec![why.into()])
    }
}

pub(crate) enum Work {
    Audit { parts: Vec<Options>, records: u64 },
    Simulation { asked: wire::Simulation, game: &'static dyn Game, stake: Stake, seed: Seed },
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Audit { .. }, Self::Audit { .. }) => true,
            (Self::Simulation { asked, .. }, Self::Simulation { asked: other, .. }) => asked == other,
            _ => false,
        }
    }
}

impl Work {
    pub(crate) fn simulated(asked: &wire::Simulation) -> Result<Self, Refusal> {
        let name = fields::id("simulation.game", &asked.game)?;
        let found = match asked.rules_version.as_str() {
            "" => latest(name),
            version => game(name, version),
        };
        let unknown = || {
            Refusal::new(Reason::GameUnknown, "there is no game with the requested name and rules version")
                .with("game", name)
        };
        let game = found.ok_or_else(unknown)?;
        if !(1..=SIMULATED_ROUNDS_MAX).contains(&asked.rounds) {
            return Err(Refusal::field("simulation.rounds", format!("must be 1 to {SIMULATED_ROUNDS_MAX}")));
        }
        let stake = match &asked.stake {
            Some(stake) => of_wire(stake)?,
            None => usual(game),
        };
        let refused = |error| Refusal::new(Reason::InvalidStake, format!("{error}"));
        game.check_stake(&stake).map_err(refused)?;
        let seed = match asked.seed.as_str() {
            "" => random()?,
            text => seed(text).ok_or_else(|| Refusal::field("simulation.seed", "must be 64 hexadecimal digits"))?,
        };
        Ok(Self::Simulation { asked: asked.clone(), game, stake, seed })
    }

    pub(crate) fn is_like(&self, other: &Self) -> bool {
        matches!(self, Self::Audit { .. }) == matches!(other, Self::Audit { .. })
    }

    #[cfg(test)]
    pub(crate) fn stake(&self) -> Option<Stake> {
        match self {
            Self::Audit { .. } => None,
            Self::Simulation { stake, .. } => Some(*stake),
        }
    }

    pub(crate) fn total(&self) -> u64 {
        match self {
            Self::Audit { records, .. } => *records,
            Self::Simulation { asked, .. } => asked.rounds,
        }
    }

    pub(crate) fn simulation(&self) -> Option<wire::Simulation> {
        let Self::Simulation { asked, game, stake, seed } = self else { return None };
        let told = round::Stake {
            coin_value: CoinValue(stake.coin_value_micros).to_string(),
            lines: stake.lines,
            coins_per_line: stake.coins_per_line,
            buy_feature: stake.buy_feature,
        };
        Some(wire::Simulation {
            game: asked.game.clone(),
            rules_version: game.rules_version().to_owned(),
            stake: Some(told),
            rounds: asked.rounds,
            seed: hex(seed),
        })
    }

    pub(crate) fn run(&self, going: &Going) -> Ended {
        match self {
            Self::Audit { parts, .. } => audited(parts, going),
            Self::Simulation { asked, game, stake, seed } => played(*game, stake, *seed, asked.rounds, going),
        }
    }
}

fn audited(parts: &[Options], going: &Going) -> Ended {
    let of = |part: &Options| Options {
        threads: 1,
        read: Some(Arc::clone(&going.done)),
        stop: Some(Arc::clone(&going.stop)),
        ..part.clone()
    };
    match audit_all(&parts.iter().map(of).collect::<Vec<_>>()) {
        Ok(whole) => match whole.divergence() {
            Some(divergence) => Ended::saying(State::Found, vec![format!("Divergence at {divergence}")]),
            None => {
                measure(&whole);
                Ended::saying(State::Done, sound(&whole))
            }
        },
        Err(Unusable::Stopped) => {
            Ended::saying(State::Cancelled, vec!["Cancelled: no fault was found before the cancellation.".to_owned()])
        }
        Err(error) => Ended::failed(error.to_string()),
    }
}

/// Exports as metrics the end time and last position of an audit that found no divergence, so that alarms can check the
/// audit's age.
fn measure(whole: &Whole) {
    let meter = global::meter("motherlode");
    let position = meter.u64_gauge("motherlode.audit.position").with_description("Position of the last sound audit.");
    let finished = meter.u64_gauge("motherlode.audit.finished").with_unit("s");
    let finished = finished.with_description("Unix time at the end of the last sound audit.").build();
    let position = position.build();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    for part in &whole.partitions {
        let partition = [KeyValue::new("partition", i64::from(part.partition))];
        position.record(part.position, &partition);
        finished.record(now, &partition);
    }
}

fn sound(whole: &Whole) -> Vec<String> {
    let of_part = |part: &motherlode_audit::Report| {
        format!(
            "Partition {}: all checks passed up to position {}, head {}.",
            part.partition,
            grouped(&part.position.to_string()),
            hex(&part.head)
        )
    };
    let rounds: u64 = whole.returns().iter().map(|of| of.rounds).sum();
    let resolved = format!(
        "{} rounds: every step was resolved again, and every outcome matches the log.",
        grouped(&rounds.to_string())
    );
    whole.partitions.iter().map(of_part).chain([resolved]).collect()
}

fn played(game: &'static dyn Game, stake: &Stake, seed: Seed, rounds: u64, going: &Going) -> Ended {
    let begun = Instant::now();
    let count = |more| {
        going.done.fetch_add(more, Ordering::Relaxed);
    };
    let tally = match simulation::play(game, stake, rounds, seed, 1, &going.stop, &count) {
        Ok(tally) => tally,
        Err(error) => return Ended::failed(error.to_string()),
    };
    if tally.rounds == 0 {
        return Ended::saying(State::Cancelled, vec!["Cancelled before a round was played.".to_owned()]);
    }
    let par = match game.par(stake) {
        Ok(par) => par,
        Err(error) => return Ended::failed(error.to_string()),
    };
    let report = Report::new(game, stake, &par, &tally, seed, 1, begun.elapsed());
    let figure = |(name, of): (String, crate::compared::Estimate)| Figure {
        name,
        simulated: format!("{:.9}", of.simulated),
        exact: format!("{:.9}", of.exact),
        sigmas: format!("{:+.2}", of.sigmas),
    };
    let whole = tally.rounds == rounds;
    let (state, says) = match (report.contradiction(), whole) {
        (Some(contradiction), _) => (State::Found, contradiction),
        (None, true) => {
            (State::Done, format!("each figure is within {:.2} standard errors of the exact one", report.sigmas_max()))
        }
        (None, false) => (State::Cancelled, "it was cancelled".to_owned()),
    };
    let class = |class: motherlode_picture::par::WinClass| WinClass { from: class.from, rounds: class.count };
    Ended {
        state,
        findings: vec![format!("{} rounds: {says}.", grouped(&tally.rounds.to_string()))],
        figures: report.figures().into_iter().map(figure).collect(),
        wins: win_classes(&tally.by_win).into_iter().map(class).collect(),
    }
}

fn of_wire(stake: &round::Stake) -> Result<Stake, Refusal> {
    Ok(Stake {
        coin_value_micros: fields::coin_value("simulation.stake.coin_value", &stake.coin_value)?.0,
        lines: stake.lines,
        coins_per_line: stake.coins_per_line,
        buy_feature: stake.buy_feature,
    })
}

fn usual(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    let coins = &limits.coin_values_micros;
    Stake {
        coin_value_micros: coins.iter().find(|micros| **micros == COIN_MICROS).or(coins.first()).copied().unwrap_or(0),
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    }
}

fn seed(text: &str) -> Option<Seed> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()
}

fn random() -> Result<Seed, Refusal> {
    let mut seed = Seed::default();
    let refused = |error: getrandom::Error| Refusal::new(Reason::NoRandomNumbers, error.to_string());
    getrandom::fill(&mut seed).map_err(refused)?;
    Ok(seed)
}
