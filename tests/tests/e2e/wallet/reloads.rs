use super::{
    scripted::{Wallet, WalletRequest},
    world::until,
};
use crate::{
    PROGRAM,
    reload::{APPLIED, REFUSED, client, reload},
};
use motherlode_proto::{ledger::v1::OpenAccountRequest, round::v1::Account};
use motherlode_tests::{Client, EUR, Process, bet, next_choice, operators::operator, reason};
use std::fs;

const ROLES: &str = r#"["play", "wallet"]"#;

fn is_complete(wallet: &Wallet, request_id: &str) -> bool {
    let arrived = &wallet.books().arrived;
    let debit =
        arrived.iter().find(|call| matches!(call.call, WalletRequest::Debit(_)) && call.id.ends_with(request_id));
    let Some(debit) = debit else { return false };
    let round = &debit.round().round_uuid;
    arrived.iter().any(|call| call.round().round_uuid == *round && call.round().closed)
}

async fn play(client: &mut Client, player: &Account, request_id: &str) {
    let mut played = client.bet(bet(request_id, player, "0.01")).await.unwrap();
    let mut choices = 0;
    while let Some(kind) = next_choice(&played) {
        choices += 1;
        played = client.choose(&format!("{request_id}-{choices}"), &played.round_id, kind, None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_pl_31_a_reload_adds_a_brand_with_a_wallet_and_changes_the_wallet() {
    let (first, second) = (Wallet::default(), Wallet::default());
    let (old, new) = (first.serve().await.0, second.serve().await.0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let acme = operator("acme", &[("acme", ROLES)]);
    let brand = operator("brand", &[("brand", ROLES)]);
    let with = |address| {
        let seamless = format!("weight = 3\nwallet = \"seamless\"\nseamless = {{ url = \"http://{address}\" }}\n");
        acme.clone() + &brand.replacen("[[operators.credentials]]", &(seamless + "[[operators.credentials]]"), 1)
    };
    fs::write(&file, &acme).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));

    fs::write(&file, with(old)).unwrap();
    reload(&process, APPLIED).await;
    let mut client = client(&process, "brand").await;
    let gina = Account { operator_id: "brand".into(), player_id: "gina".into(), currency_code: EUR.into() };
    let open = OpenAccountRequest { request_id: "open".into(), account: Some(gina.clone()) };
    client.ledger.open_account(open).await.unwrap();
    for wallet in [&first, &second] {
        wallet.fund("gina", 1_000);
    }
    play(&mut client, &gina, "one").await;
    until(|| is_complete(&first, "one"), "the new brand's wallet receives the report of the round's end").await;

    fs::write(&file, with(new)).unwrap();
    reload(&process, APPLIED).await;
    play(&mut client, &gina, "two").await;
    until(|| is_complete(&second, "two"), "the changed wallet receives the report of the round's end").await;
    assert!(!is_complete(&first, "two") && !is_complete(&second, "one"));

    (second.books().closes_hang, second.books().credits_unsure) = (true, true);
    play(&mut client, &gina, "three").await;
    fs::write(&file, acme.clone() + &brand).unwrap();
    let line = reload(&process, REFUSED).await;
    assert!(line.contains("operators.brand.seamless"), "{line}");
    (second.books().closes_hang, second.books().credits_unsure) = (false, false);
    until(|| is_complete(&second, "three"), "the refused reload must not remove the wallet").await;
    let lines = || (process.log_lines(APPLIED).len(), process.log_lines(REFUSED).len());
    let (applied, _) = lines();
    for _ in 0..1_000 {
        let before = lines();
        process.reload();
        motherlode_tests::until("the end of a reload", async || lines() != before).await;
        if lines().0 > applied {
            break;
        }
    }
    assert!(lines().0 > applied, "a wallet without due calls must be removable");
    let refused = client.bet(bet("four", &gina, "0.01")).await.unwrap_err();
    assert_eq!(reason(&refused), "INSUFFICIENT_FUNDS", "no wallet holds the player's money");

    fs::write(&file, with(new)).unwrap();
    reload(&process, APPLIED).await;
    play(&mut client, &gina, "five").await;
    until(|| is_complete(&second, "five"), "the wallet that was added again receives calls").await;
    assert_eq!(process.terminate().await, Some(0));
}
