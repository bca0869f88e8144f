use super::{
    case::{Case, Skip, cases},
    kit::{Kit, Want},
    make::in_session,
};
use crate::call::Call;
use motherlode_proto::wallet::v1::CreditKind;

pub(super) const CASES: [Case; 11] = cases![
    28 credit_applied_once: "The Credit call pays a win, a jackpot, or the refund of a voided round.";
    29 credit_repeat_one_effect: "Calls are retried with the same id until the answer is known.";
    30 credit_repeat_other_amount_refused: "A call that repeats an id with a different amount is refused.";
    31 credit_ten_concurrent_one_effect: "A transaction takes effect once, no matter how often or when its id is sent.";
    32 credit_after_session_end: "Credits are accepted after their session has expired.";
    33 blocked_player_still_paid: "The wallet must accept every credit; a refusal counts as a fault.";
    34 two_credits_in_one_round: "A credit of kind WIN pays the win of a round, or a part of that win.";
    35 jackpot_in_round: "A credit of kind JACKPOT names the pool and the award, and is not part of the round's win.";
    36 jackpot_after_close: "A jackpot may follow the round's end, because a jackpot's amount is determined later.";
    37 refund_of_void: "A REFUND of a voided round may follow the round's end.";
    38 reversal_beyond_balance: "A refusal of a REVERSAL debit must not be stored, because the debit is sent again.";
];

async fn bet(kit: &mut Kit) -> (Option<i64>, Call) {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    kit.expect(&debit, Want::Done).await;
    (before, debit)
}

async fn paid(kit: &mut Kit, debit: &Call, credits: &[(i64, CreditKind, bool)]) {
    for (amount, kind, closes) in credits {
        let credit = kit.credit(debit, *amount, *kind, *closes);
        kit.expect(&credit, Want::Done).await;
    }
}

async fn credit_applied_once(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    paid(kit, &debit, &[(30, CreditKind::Win, true)]).await;
    kit.expect_moved(before, -70).await;
    Ok(())
}

async fn credit_repeat_one_effect(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    let credit = kit.credit(&debit, 30, CreditKind::Win, true);
    for want in [Want::Done, Want::DoneBefore, Want::DoneBefore] {
        kit.expect(&credit, want).await;
    }
    kit.expect_moved(before, -70).await;
    Ok(())
}

async fn credit_repeat_other_amount_refused(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    let credit = kit.credit(&debit, 30, CreditKind::Win, true);
    kit.expect(&credit, Want::Done).await;
    let mut other = credit.clone();
    if let Call::Credit(request) = &mut other {
        request.amount.iter_mut().for_each(|amount| amount.amount_minor = 31);
    }
    kit.expect(&other, Want::Refused).await;
    kit.expect_moved(before, -70).await;
    Ok(())
}

async fn credit_ten_concurrent_one_effect(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    let credit = kit.credit(&debit, 30, CreditKind::Win, true);
    kit.expect_one_of_ten(&credit).await;
    kit.expect_moved(before, -70).await;
    Ok(())
}

async fn credit_after_session_end(kit: &mut Kit) -> Result<(), Skip> {
    let session = kit.players.expired_session.clone().ok_or("the players' file names no expired_session")?;
    let (before, debit) = bet(kit).await;
    let credit = in_session(&kit.credit(&debit, 30, CreditKind::Win, true), &session);
    kit.expect(&credit, Want::Done).await;
    kit.expect_moved(before, -70).await;
    Ok(())
}

async fn blocked_player_still_paid(kit: &mut Kit) -> Result<(), Skip> {
    let player = kit.players.blocked_player.clone().ok_or("the players' file names no blocked_player")?;
    let account = kit.account_of(&player);
    let before = kit.balance_of(account.clone()).await;
    let debit = kit.open_free_of(account.clone());
    let credit = kit.credit(&debit, 1, CreditKind::FreeRoundWin, true);
    kit.expect(&credit, Want::Done).await;
    let after = kit.balance_of(account).await;
    kit.judge_moved((before, after), 1);
    Ok(())
}

async fn two_credits_in_one_round(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    paid(kit, &debit, &[(30, CreditKind::Win, false), (20, CreditKind::Win, true)]).await;
    kit.expect_moved(before, -50).await;
    Ok(())
}

async fn jackpot_in_round(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    paid(kit, &debit, &[(5_000, CreditKind::Jackpot, false), (20, CreditKind::Win, true)]).await;
    kit.expect_moved(before, 4_920).await;
    Ok(())
}

async fn jackpot_after_close(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    let close = kit.close(&debit);
    kit.expect(&close, Want::Done).await;
    paid(kit, &debit, &[(5_000, CreditKind::Jackpot, false)]).await;
    kit.expect_moved(before, 4_900).await;
    Ok(())
}

async fn refund_of_void(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = bet(kit).await;
    let close = kit.close(&debit);
    kit.expect(&close, Want::Done).await;
    paid(kit, &debit, &[(100, CreditKind::Refund, true)]).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn reversal_beyond_balance(kit: &mut Kit) -> Result<(), Skip> {
    let (_, debit) = bet(kit).await;
    paid(kit, &debit, &[(500, CreditKind::Win, true)]).await;
    let before = kit.balance().await.ok_or("the wallet reports no balance")?;
    let reversal = kit.reversal(&debit, before + 1);
    for _ in 0..2 {
        kit.expect(&reversal, Want::Refused).await;
    }
    kit.expect_moved(Some(before), 0).await;
    let open = kit.open_free();
    kit.expect(&open, Want::Done).await;
    paid(kit, &open, &[(before + 2, CreditKind::FreeRoundWin, true)]).await;
    for want in [Want::Done, Want::DoneBefore] {
        kit.expect(&reversal, want).await;
    }
    kit.expect_moved(Some(before), 1).await;
    Ok(())
}
