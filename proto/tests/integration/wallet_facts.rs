use motherlode_state::{Currency, DebitAsked, DebitFacts, Event, Minor, WalletAnswer};

pub fn events(amount: i64) -> Vec<Event> {
    let (minor, currency) = (Minor(amount), Currency::SEK);
    let answer = WalletAnswer { transaction_id: "w-1".into(), balance_unknown: true, bonus: Minor(amount) };
    let answer = Some(Box::new(answer));
    vec![
        Event::DebitAsked(DebitAsked {
            request_id: "r-2".into(),
            fingerprint: [8; 16],
            currency,
            amount: Minor(0),
            facts: Some(Box::new(DebitFacts {
                game: "neptune".into(),
                rules_version: "1.2".into(),
                session: "op-7".into(),
                feature_buy: true,
                campaign: Some("spring".into()),
                stake: minor,
            })),
        }),
        Event::DebitRefused { reason: "limit".into(), code: 2 },
        Event::DebitConfirmed { amount: minor, reported_balance: Minor(0), answer: answer.clone() },
        Event::CreditPaid {
            request_id: "r-1".into(),
            currency,
            amount: minor,
            reported_balance: Minor(amount),
            answer,
        },
        Event::CloseReported { request_id: "auto/7/2".into(), currency, round: 7, skipped: true },
        Event::WalletCallHeld { request_id: "r-1".into(), currency, close: 7, reason: "no".into(), code: 9 },
        Event::WalletCallReleased { request_id: "r-1".into(), currency, close: 0 },
        Event::RoundReportsChosen { rounds: true },
        Event::OperatorSession { session: "op-7".into() },
        Event::ReversalDue { round: 7, amount: minor },
        Event::ReversalTaken {
            request_id: "void".into(),
            round: 7,
            currency,
            amount: minor,
            reported_balance: Minor(3),
            answer: None,
        },
    ]
}
