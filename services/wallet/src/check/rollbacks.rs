use super::{
    case::{Case, Skip, cases},
    kit::{Kit, Want},
    make::in_session,
};
use crate::call::Call;
use motherlode_proto::wallet::v1::{CreditKind, Outcome, ReasonCode};

pub(super) const CASES: [Case; 11] = cases![
    17 after_debit_restores: "The Rollback call names a debit by its id and undoes it if it was applied.";
    18 repeat_one_effect: "A repeated rollback takes effect once.";
    19 before_debit_tombstones: "If the debit is unknown, the wallet stores its id as rolled back.";
    20 late_debit_after_tombstone_refused: "A Debit after its rollback is refused with the reason ROLLED_BACK.";
    21 of_unknown_debit_accepted: "A rollback is never refused.";
    22 concurrent_with_debit: "After a debit and its rollback, in any order, the debit has no effect.";
    23 after_refused_debit_moves_nothing: "The rollback of a refused debit moves no money.";
    24 after_session_end: "Rollbacks are accepted after their session has expired.";
    25 ten_concurrent_one_effect: "Concurrent rollbacks of a debit take effect once.";
    26 wrong_player_refused: "A rollback that names another player than its debit has no effect.";
    27 after_credit_refused_and_alarmed: "A rollback of a round that was paid or closed has no effect.";
];

async fn undo(kit: &mut Kit, debit: &Call) {
    let rollback = kit.rollback(debit);
    if kit.expect(&rollback, Want::Done).await == Outcome::Done {
        kit.undone(debit);
    }
}

async fn applied(kit: &mut Kit) -> (Option<i64>, Call) {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    kit.expect(&debit, Want::Done).await;
    (before, debit)
}

async fn after_debit_restores(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = applied(kit).await;
    undo(kit, &debit).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn repeat_one_effect(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = applied(kit).await;
    undo(kit, &debit).await;
    let rollback = kit.rollback(&debit);
    for _ in 0..2 {
        kit.expect(&rollback, Want::Applied).await;
    }
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn before_debit_tombstones(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    let rollback = kit.rollback(&debit);
    kit.expect(&rollback, Want::Applied).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn late_debit_after_tombstone_refused(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    let rollback = kit.rollback(&debit);
    kit.expect(&rollback, Want::Applied).await;
    for _ in 0..2 {
        kit.expect(&debit, Want::RefusedFor(ReasonCode::RolledBack)).await;
    }
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn of_unknown_debit_accepted(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let open = kit.open_free();
    let rollback = kit.rollback(&open);
    kit.expect(&rollback, Want::Applied).await;
    kit.expect(&open, Want::RefusedFor(ReasonCode::RolledBack)).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn concurrent_with_debit(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    for _ in 0..5 {
        let debit = kit.debit(100);
        let rollback = kit.rollback(&debit);
        kit.send_both(&debit, &rollback).await;
        kit.expect(&rollback, Want::Applied).await;
        kit.expect(&debit, Want::RefusedFor(ReasonCode::RolledBack)).await;
    }
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn after_refused_debit_moves_nothing(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let beyond = before.ok_or("the wallet reports no balance")?.saturating_add(1);
    let debit = kit.debit(beyond);
    kit.expect(&debit, Want::Refused).await;
    let rollback = kit.rollback(&debit);
    kit.expect(&rollback, Want::Applied).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn after_session_end(kit: &mut Kit) -> Result<(), Skip> {
    let session = kit.players.expired_session.clone().ok_or("the players' file names no expired_session")?;
    let (before, debit) = applied(kit).await;
    let rollback = in_session(&kit.rollback(&debit), &session);
    if kit.expect(&rollback, Want::Done).await == Outcome::Done {
        kit.undone(&debit);
    }
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn ten_concurrent_one_effect(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = applied(kit).await;
    let rollback = kit.rollback(&debit);
    kit.expect_one_of_ten(&rollback).await;
    kit.undone(&debit);
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn wrong_player_refused(kit: &mut Kit) -> Result<(), Skip> {
    let other = kit.account_of(&kit.players.other_player);
    let others = kit.balance_of(other.clone()).await;
    let (before, debit) = applied(kit).await;
    let mut rollback = kit.rollback(&debit);
    if let Call::Rollback(request) = &mut rollback {
        request.account = Some(other.clone());
    }
    kit.expect(&rollback, Want::NotApplied).await;
    kit.expect_moved(before, -100).await;
    let after = kit.balance_of(other).await;
    kit.judge_moved((others, after), 0);
    Ok(())
}

async fn after_credit_refused_and_alarmed(kit: &mut Kit) -> Result<(), Skip> {
    let (before, debit) = applied(kit).await;
    let win = kit.credit(&debit, 30, CreditKind::Win, true);
    kit.expect(&win, Want::Done).await;
    let rollback = kit.rollback(&debit);
    kit.expect(&rollback, Want::NotApplied).await;
    kit.expect_moved(before, -70).await;
    Ok(())
}
