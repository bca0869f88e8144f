use super::parts::table;
use crate::text::{eur, money};
use maud::{Markup, html};
use motherlode_proto::round::v1::{Awaiting, JackpotWin, Money, Round, RoundState, jackpot_win};
use motherlode_state::Account as Books;

struct Posting {
    when: String,
    from: String,
    to: String,
    amount: String,
}

pub(super) fn shown(round: &Round) -> Markup {
    let rows: Vec<_> = postings(round)
        .into_iter()
        .map(|Posting { when, from, to, amount }| {
            vec![html! { (when) }, html! { span.cash { (amount) } }, html! { (from) }, html! { (to) }]
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "Postings" }
                (table("Postings", &["With", "Amount", "From", "To"], rows))
                p.note {
                    "If the operator has a seamless wallet, credits to the player's account are passed on to that wallet."
                }
            }
        }
    }
}

fn postings(round: &Round) -> Vec<Posting> {
    let account = round.account.clone().unwrap_or_default();
    let (operator, player) = (account.operator_id.as_str(), account.player_id.as_str());
    let player = Books::Player { operator, player }.to_string();
    let (house, promotion) = (Books::House(operator).to_string(), Books::Promotion(operator).to_string());
    let due = Books::ContributionsDue(&round.game).to_string();
    let free = !round.campaign_id.is_empty();
    let mut rows = vec![];
    let mut post = |when: &str, from: &str, to: &str, amount: String| {
        rows.push(Posting { when: when.to_owned(), from: from.to_owned(), to: to.to_owned(), amount });
    };
    let cash = |minor: i64| money(Some(&Money { amount_minor: minor, currency_code: account.currency_code.clone() }));
    let minor = |of: Option<&Money>| of.map_or(0, |of| of.amount_minor);
    post("the bet", if free { &promotion } else { &player }, &house, money(round.bet.as_ref()));
    let contributed = !round.contribution_eur.is_empty();
    if contributed {
        post("the bet", &house, &due, eur(&round.contribution_eur));
    }
    let mut credited = 0;
    for step in &round.steps {
        let half = step.outcome.as_ref().map_or(0, |outcome| i64::try_from(outcome.credited_minor).unwrap_or(i64::MAX));
        if half > 0 {
            credited += half;
            post(&format!("step {}", step.number), &house, &player, cash(half));
        }
    }
    let last = round.steps.last();
    let over = last.and_then(|step| step.outcome.as_ref()).is_some_and(|of| of.awaiting() == Awaiting::Nothing);
    let rest = minor(round.win.as_ref()).saturating_sub(credited);
    if round.state() != RoundState::Open && over && rest > 0 {
        let when = last.map_or_else(String::new, |step| format!("step {}", step.number));
        post(&when, &house, &player, cash(rest));
    }
    for won in round.jackpots.iter().filter(|won| won.state() == jackpot_win::State::Paid) {
        let JackpotWin { pool_id, amount, .. } = won;
        let worth = match &amount.as_ref().filter(|amount| amount.currency_code == "EUR") {
            Some(amount) => money(Some(amount)),
            None => "the award's value in EUR".to_owned(),
        };
        post("the jackpot", &Books::JackpotPayable(pool_id).to_string(), &Books::Exchange.to_string(), worth);
        post("the jackpot", &Books::Exchange.to_string(), &player, money(amount.as_ref()));
    }
    if let Some(void) = &round.void {
        for (from, to, of) in [(&house, &player, &void.refund), (&player, &house, &void.win_taken_back)] {
            if minor(of.as_ref()) > 0 {
                post("the void", from, to, money(of.as_ref()));
            }
        }
        if free {
            post("the void", &house, &promotion, money(round.bet.as_ref()));
        }
        if contributed {
            post("the void", &due, &house, eur(&round.contribution_eur));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Account, Outcome, Step, Void};

    fn euro(amount_minor: i64) -> Option<Money> {
        Some(Money { amount_minor, currency_code: "EUR".into() })
    }

    fn settled() -> Round {
        let step = |number, credited_minor, awaiting: Awaiting| {
            let outcome = Outcome { credited_minor, awaiting: awaiting.into(), ..Outcome::default() };
            Step { number, outcome: Some(outcome), ..Step::default() }
        };
        Round {
            account: Some(Account {
                operator_id: "acme".into(),
                player_id: "alice".into(),
                currency_code: "EUR".into(),
            }),
            game: "bewitched".into(),
            bet: euro(150),
            win: euro(700),
            contribution_eur: "0.0075".into(),
            state: RoundState::Settled.into(),
            steps: vec![step(1, 0, Awaiting::Double), step(2, 301, Awaiting::Double), step(3, 0, Awaiting::Nothing)],
            ..Round::default()
        }
    }

    fn of_player(round: &Round) -> i64 {
        let cents = |amount: &str| amount.replace(" EUR", "").replace(['.', ','], "").parse::<i64>().unwrap();
        let rows = postings(round).into_iter();
        rows.map(|row| match (row.from.as_str(), row.to.as_str()) {
            ("player/acme/alice", _) => -cents(&row.amount),
            (_, "player/acme/alice") => cents(&row.amount),
            _ => 0,
        })
        .sum()
    }

    #[test]
    fn pl_09_a_rounds_postings_come_to_what_its_player_has_more() {
        let round = settled();
        assert_eq!(
            (postings(&round).len(), of_player(&round)),
            (4, 700 - 150),
            "bet, contribution, secured half, remaining win"
        );
        let void = Void { refund: euro(150), win_taken_back: euro(700), ..Void::default() };
        let voided = Round { void: Some(void), state: RoundState::Voided.into(), ..round.clone() };
        assert_eq!((postings(&voided).len(), of_player(&voided)), (7, 0), "the void reverses all postings");
        let free = Round { campaign_id: "welcome".into(), contribution_eur: String::new(), ..round.clone() };
        assert_eq!(of_player(&free), 700, "a free round costs its player nothing");
        let open = Round { state: RoundState::Open.into(), steps: round.steps[..2].to_vec(), ..round.clone() };
        assert_eq!(of_player(&open), 301 - 150, "an open round has only the credits made so far");
        let won = JackpotWin {
            pool_id: "bewitched".into(),
            state: jackpot_win::State::Paid.into(),
            amount: euro(44_000),
            ..JackpotWin::default()
        };
        let waits = JackpotWin { state: jackpot_win::State::SetAside.into(), ..won.clone() };
        assert_eq!(
            of_player(&Round { jackpots: vec![won, waits], ..round }),
            44_000 + 550,
            "a pending jackpot is not posted"
        );
    }
}
