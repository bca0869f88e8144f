use crate::record::{mirrored, reported};
use motherlode_state::{
    CoinValue, CollisionShare, Contribution, Currency, Decision, Event, FxRate, Incident, LoggedTerms, Minor, Nano,
    PoolStatus, ReportedVoids, Reversal, RoundJackpot, RoundStarted, SettledRound, StretchEnd, VoidReturn,
    VoidedJackpot,
};

pub fn events_of_voids(amount: i64, nano: Nano, text: &str) -> Vec<Event> {
    let (round, minor, text) = (7, Minor(amount), text.to_owned());
    vec![
        Event::RoundVoided {
            round,
            reason: text.clone(),
            actor: text.clone(),
            refund: minor,
            win_taken_back: minor,
            jackpot: VoidedJackpot::Charged,
            settled: None,
        },
        Event::VoidProposed { round, reason: text.clone(), actor: text.clone() },
        Event::AwardReversed { partition: 1, position: 4, amount: nano, to_house: nano, operator: text.clone().into() },
        Event::IncidentDeclared(
            Incident {
                id: text.clone().into(),
                operator: text.clone().into(),
                game: text.clone().into(),
                rules_version: text.clone().into(),
                from_ms: amount,
                until_ms: 1_760_000_040_000,
                reason: text.clone(),
                actor: text.clone(),
            }
            .into(),
        ),
        Event::ContributionsReturned {
            incident: text.clone().into(),
            partition: 1,
            voids: 7,
            amount: nano,
            from_increments: nano,
            from_reserve: nano,
            from_house: nano,
        },
        Event::HitsReleased { reason: text.clone(), actor: text.clone() },
        with_voids(nano),
        with_returns(nano),
    ]
}

fn with_voids(nano: Nano) -> Event {
    let reversal = Reversal { partition: 2, position: 12, operator: "acme".into(), amount: nano, to_house: nano };
    let Event::PartitionReported(mut report) = reported(nano, StretchEnd::Decision(Decision::Reversal(reversal)))
    else {
        unreachable!()
    };
    report.voids.push(ReportedVoids {
        operator: "acme".into(),
        game: "bewitched".into(),
        rules_version: "1.6".into(),
        minute: 29_000_000,
        voids: 3,
        in_stretch: nano,
        in_cycle: nano,
        earlier: nano,
    });
    report.cycle = 4;
    Event::PartitionReported(report)
}

fn with_returns(nano: Nano) -> Event {
    let Event::PoolMirrored(mut mirror) = mirrored(CollisionShare::Full, nano, PoolStatus::Active) else {
        unreachable!()
    };
    mirror.returns.push(VoidReturn { operator: "acme".into(), amount: nano });
    mirror.awards[0].seed_from_house = nano;
    Event::PoolMirrored(mirror)
}

pub fn void_with_facts() -> Event {
    let started = RoundStarted {
        round: 7,
        game: "bewitched".into(),
        rules_version: "1.6".into(),
        model_hash: [7; 32],
        currency: Currency::SEK,
        bet: Minor(150),
        coin_value: CoinValue(100_000),
        stake: LoggedTerms::Unreadable(vec![1, 2, 3]),
        rate: FxRate::new(875, -4).unwrap(),
        contribution: Some(Contribution { pool: "bewitched".into(), terms_version: 1, amount: Nano(7_500_000) }),
        session: None,
        jurisdiction: "".into(),
        campaign: None,
    };
    let settled = SettledRound {
        started: started.into(),
        opened_at: 40,
        opened_ms: 1_760_000_000_000,
        jackpots: vec![RoundJackpot { hit: 41, paid: None }, RoundJackpot { hit: 42, paid: Some(Nano(-1)) }],
        win: Minor(300),
        collected: vec![("red".into(), -3)],
    };
    Event::RoundVoided {
        round: 7,
        reason: "stuck".to_owned(),
        actor: "acme/support".to_owned(),
        refund: Minor(150),
        win_taken_back: Minor(300),
        jackpot: VoidedJackpot::Kept,
        settled: Some(settled.into()),
    }
}
