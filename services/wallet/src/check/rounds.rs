use super::{
    case::{Case, Skip, cases},
    kit::{Kit, Want},
};
use motherlode_proto::wallet::v1::CreditKind;

pub(super) const CASES: [Case; 6] = cases![
    39 close_lost_round: "CloseRound reports a round's end that no credit has reported, and moves no money.";
    40 close_repeat: "A repeated CloseRound takes effect once.";
    41 close_before_credit_arrives: "The report of a round's end may arrive before a credit of another round.";
    42 free_round_open_and_win: "OpenFreeRound opens a free round and moves no money.";
    43 free_round_lost: "CloseRound also reports the end of a free round that won nothing.";
    44 open_close_counts_match: "Each round is opened and closed once; compare these counts with the wallet's books.";
];

async fn close_lost_round(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let debit = kit.debit(100);
    kit.expect(&debit, Want::Done).await;
    let close = kit.close(&debit);
    kit.expect(&close, Want::Done).await;
    kit.expect_moved(before, -100).await;
    Ok(())
}

async fn close_repeat(kit: &mut Kit) -> Result<(), Skip> {
    let debit = kit.debit(100);
    kit.expect(&debit, Want::Done).await;
    let close = kit.close(&debit);
    for want in [Want::Done, Want::DoneBefore] {
        kit.expect(&close, want).await;
    }
    Ok(())
}

async fn close_before_credit_arrives(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let (won, lost) = (kit.debit(100), kit.debit(100));
    kit.expect(&won, Want::Done).await;
    kit.expect(&lost, Want::Done).await;
    let close = kit.close(&lost);
    kit.expect(&close, Want::Done).await;
    let credit = kit.credit(&won, 30, CreditKind::Win, true);
    kit.expect(&credit, Want::Done).await;
    kit.expect_moved(before, -170).await;
    Ok(())
}

async fn free_round_open_and_win(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let open = kit.open_free();
    for want in [Want::Done, Want::DoneBefore] {
        kit.expect(&open, want).await;
    }
    kit.expect_moved(before, 0).await;
    let credit = kit.credit(&open, 30, CreditKind::FreeRoundWin, true);
    kit.expect(&credit, Want::Done).await;
    kit.expect_moved(before, 30).await;
    Ok(())
}

async fn free_round_lost(kit: &mut Kit) -> Result<(), Skip> {
    let before = kit.balance().await;
    let open = kit.open_free();
    kit.expect(&open, Want::Done).await;
    let close = kit.close(&open);
    kit.expect(&close, Want::Done).await;
    kit.expect_moved(before, 0).await;
    Ok(())
}

async fn open_close_counts_match(kit: &mut Kit) -> Result<(), Skip> {
    kit.note(format!("this run opened {} rounds and reported the ends of {}", kit.opened, kit.closed));
    Ok(())
}
