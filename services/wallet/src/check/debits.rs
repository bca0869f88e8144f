use super::{
    case::{Case, Skip, cases},
    kit::{Kit, Want},
    make::changed,
};
use motherlode_proto::{
    round::v1::Money,
    wallet::v1::{CreditKind, DebitRequest, Outcome, ReasonCode},
};

pub(super) const CASES: [Case; 16] = cases![
    1 applied_once: "The Debit call debits a bet or refuses it. DONE: this call applied the transaction.";
    2 repeat_same_answer: "DONE_BEFORE: an earlier call with this id applied the transaction.";
    3 repeat_other_amount_refused: "A call that repeats an id with a different amount is refused.";
    4 repeat_other_currency_refused: "A call that repeats an id with a different currency is refused.";
    5 repeat_other_player_refused: "A call that repeats an id with a different player is refused.";
    6 repeat_other_round_refused: "A call that repeats an id with a different round is refused.";
    7 ten_concurrent_repeats_one_effect: "A transaction takes effect once, no matter how often or when its id is sent.";
    8 insufficient_funds_refused: "A debit beyond the balance is refused with INSUFFICIENT_FUNDS.";
    9 exact_balance_accepted: "A debit of the whole balance is applied.";
    10 unknown_player_refused: "A debit of an unknown player is refused.";
    11 wrong_currency_refused: "A debit in a currency that the player does not have is refused.";
    12 blocked_player_refused: "A debit of a blocked player is refused with PLAYER_BLOCKED.";
    13 expired_session_refused: "A bet in an expired session is refused with SESSION_INVALID.";
    14 limit_refused: "A bet beyond a limit is refused with LIMIT_REACHED.";
    15 largest_amount: "Amounts are exact, even amounts of 10^12 and 2^53 - 1 minor units.";
    16 zero_and_three_digit_currency: "Amounts are in minor units: JPY has 0 decimal digits, KWD has 3.";
];

async fn applied_once(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    kit.expect(&debit, Want::Done).await;
    kit.expect_moved(before, -100).await;
    Ok(())
}

async fn repeat_same_answer(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    for want in [Want::Done, Want::DoneBefore, Want::DoneBefore] {
        kit.expect(&debit, want).await;
    }
    kit.expect_moved(before, -100).await;
    let close = kit.close(&debit);
    kit.expect(&close, Want::Done).await;
    kit.expect(&debit, Want::DoneBefore).await;
    kit.expect_moved(before, -100).await;
    Ok(())
}

async fn repeat(kit: &mut Kit, change: impl FnOnce(&mut Kit, &mut DebitRequest)) {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    kit.expect(&debit, Want::Done).await;
    let other = changed(&debit, |request| change(kit, request));
    kit.expect(&other, Want::Refused).await;
    kit.expect(&debit, Want::DoneBefore).await;
    kit.expect_moved(before, -100).await;
}

async fn repeat_other_amount_refused(kit: &mut Kit) -> Result<(), Skip> {
    repeat(kit, |_, request| request.amount.iter_mut().for_each(|amount| amount.amount_minor = 101)).await;
    Ok(())
}

fn other_currency(kit: &Kit) -> &'static str {
    if kit.players.currency == "SEK" { "NOK" } else { "SEK" }
}

async fn repeat_other_currency_refused(kit: &mut Kit) -> Result<(), Skip> {
    repeat(kit, |kit, request| in_currency(request, other_currency(kit))).await;
    Ok(())
}

fn in_currency(request: &mut DebitRequest, currency: &str) {
    let amount_minor = request.amount.as_ref().map_or(0, |amount| amount.amount_minor);
    request.amount = Some(Money { amount_minor, currency_code: currency.to_owned() });
    request.account.iter_mut().for_each(|account| currency.clone_into(&mut account.currency_code));
}

async fn repeat_other_player_refused(kit: &mut Kit) -> Result<(), Skip> {
    let other = kit.account_of(&kit.players.other_player);
    let open = kit.open_free_of(other.clone());
    kit.expect(&open, Want::Done).await;
    let win = kit.credit(&open, 100, CreditKind::FreeRoundWin, true);
    kit.expect(&win, Want::Done).await;
    let before = kit.balance_of(other.clone()).await;
    repeat(kit, |kit, request| request.account = Some(kit.account_of(&kit.players.other_player))).await;
    let after = kit.balance_of(other.clone()).await;
    kit.judge_moved((before, after), 0);
    let back = kit.debit_of(other, 100);
    kit.expect(&back, Want::Done).await;
    let close = kit.close(&back);
    kit.expect(&close, Want::Done).await;
    Ok(())
}

async fn repeat_other_round_refused(kit: &mut Kit) -> Result<(), Skip> {
    repeat(kit, |kit, request| {
        let other = kit.debit(100);
        if let crate::call::Call::Debit(other) = other {
            request.round = other.round;
        }
    })
    .await;
    Ok(())
}

async fn ten_concurrent_repeats_one_effect(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    kit.expect_one_of_ten(&debit).await;
    kit.expect_moved(before, -100).await;
    Ok(())
}

const NO_BALANCE: Skip = "the wallet reports no balance";

async fn insufficient_funds_refused(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await.ok_or(NO_BALANCE)?;
    let debit = kit.debit(before.saturating_add(1));
    for _ in 0..2 {
        kit.expect(&debit, Want::RefusedFor(ReasonCode::InsufficientFunds)).await;
    }
    kit.expect_moved(Some(before), 0).await;
    Ok(())
}

async fn exact_balance_accepted(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await.filter(|before| *before > 0).ok_or(NO_BALANCE)?;
    let debit = kit.debit(before);
    if kit.expect(&debit, Want::Done).await == Outcome::Done {
        kit.expect_moved(Some(before), -before).await;
        let rollback = kit.rollback(&debit);
        if kit.expect(&rollback, Want::Done).await == Outcome::Done {
            kit.undone(&debit);
        }
    }
    Ok(())
}

async fn unknown_player_refused(kit: &mut Kit) -> Result<(), Skip> {
    let account = kit.account_of(&format!("unknown-{}", kit.run));
    let debit = kit.debit_of(account, 100);
    kit.expect(&debit, Want::Refused).await;
    Ok(())
}

async fn wrong_currency_refused(kit: &mut Kit) -> Result<(), Skip> {
    let currency = other_currency(kit);
    let before = kit.balance().await;
    let debit = changed(&kit.debit(100), |request| in_currency(request, currency));
    kit.expect(&debit, Want::Refused).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn blocked_player_refused(kit: &mut Kit) -> Result<(), Skip> {
    let player = kit.players.blocked_player.clone().ok_or("the players' file names no blocked_player")?;
    let debit = kit.debit_of(kit.account_of(&player), 100);
    kit.expect(&debit, Want::RefusedFor(ReasonCode::PlayerBlocked)).await;
    Ok(())
}

async fn expired_session_refused(kit: &mut Kit) -> Result<(), Skip> {
    let session = kit.players.expired_session.clone().ok_or("the players' file names no expired_session")?;
    let before = kit.balance().await;
    let debit = super::make::in_session(&kit.debit(100), &session);
    kit.expect(&debit, Want::RefusedFor(ReasonCode::SessionInvalid)).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn limit_refused(kit: &mut Kit) -> Result<(), Skip> {
    let player = kit.players.limited_player.clone().ok_or("the players' file names no limited_player")?;
    let debit = kit.debit_of(kit.account_of(&player), kit.players.limit_minor.max(1));
    kit.expect(&debit, Want::RefusedFor(ReasonCode::LimitReached)).await;
    Ok(())
}

async fn largest_amount(kit: &mut Kit) -> Result<(), Skip> {
    for amount in [1_000_000_000_000, (1 << 53) - 1] {
        let before = kit.balance().await;
        let open = kit.open_free();
        kit.expect(&open, Want::Done).await;
        let win = kit.credit(&open, amount, CreditKind::FreeRoundWin, true);
        kit.expect(&win, Want::Done).await;
        kit.expect_moved(before, amount).await;
        let debit = kit.debit(amount);
        kit.expect(&debit, Want::Done).await;
        kit.expect_moved(before, 0).await;
        let close = kit.close(&debit);
        kit.expect(&close, Want::Done).await;
    }
    Ok(())
}

async fn zero_and_three_digit_currency(kit: &mut Kit) -> Result<(), Skip> {
    let named = kit.players.currencies.clone();
    let both = named.get("JPY").zip(named.get("KWD"));
    both.ok_or("the players' file names no players for JPY and KWD")?;
    for (currency, player) in named {
        let mut account = kit.account_of(&player);
        account.currency_code = currency;
        let before = kit.balance_of(account.clone()).await;
        let open = kit.open_free_of(account.clone());
        kit.expect(&open, Want::Done).await;
        let win = kit.credit(&open, 1_001, CreditKind::FreeRoundWin, true);
        kit.expect(&win, Want::Done).await;
        let after = kit.balance_of(account.clone()).await;
        kit.judge_moved((before, after), 1_001);
        let debit = kit.debit_of(account.clone(), 1_001);
        kit.expect(&debit, Want::Done).await;
        let after = kit.balance_of(account).await;
        kit.judge_moved((before, after), 0);
    }
    Ok(())
}
