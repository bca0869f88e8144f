use motherlode_proto::{ledger::v1::GetRoundRequest, round::v1::RoundState};
use motherlode_tests::{Client, EUR, bet, start};

#[tokio::test(flavor = "multi_thread")]
async fn bw_10_pl_02_rounds_settle_and_the_books_agree() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let mut expected = 1_000_000;
    for number in 0..200 {
        let steps = client.play_out(bet(&format!("r{number}"), &account, "0.10")).await.unwrap();
        let last = steps.last().unwrap();
        assert_eq!(last.state(), RoundState::Settled);
        expected += last.win.as_ref().unwrap().amount_minor - 150;
        expected += steps
            .iter()
            .filter_map(|step| step.jackpot.as_ref()?.amount.as_ref())
            .map(|won| won.amount_minor)
            .sum::<i64>();
        let shown = client.ledger.get_round(GetRoundRequest { round_id: last.round_id.clone() }).await.unwrap();
        let shown = shown.into_inner().round.unwrap();
        assert_eq!(shown.steps.len(), steps.len());
        for (shown, answered) in shown.steps.iter().zip(&steps) {
            assert_eq!((&shown.outcome, &shown.win), (&answered.outcome, &answered.win));
        }
        assert_eq!(shown.balance_after, last.balance);
    }
    assert_eq!(client.balance(&account).await, expected);
    server.stop().await.unwrap();
}
