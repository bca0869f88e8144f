use crate::apart::{Installation, PARTITIONS, living_in};
use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::{FollowLogRequest, GetAccountRequest},
    report::v1::{ListReturnsRequest, report_service_client::ReportServiceClient},
    spin::v1::ListOpenRoundsRequest,
};
use motherlode_runtime::config::Role;
use motherlode_server::{Server, index_folder};
use motherlode_tests::{Client, EUR, account, bet, reason};
use std::{collections::BTreeSet, net::SocketAddr, path::Path};
use tonic::{Code, Status, transport::Channel};
use tonic_types::StatusExt;

async fn spin(installation: &Installation, data: &Path, holds: &[u32]) -> Server {
    let mut config = installation.configs[0].clone();
    (config.role, config.data) = (Role::Spin, data.to_owned());
    config.ledger.write_partitions = BTreeSet::new();
    config.ledger.read_partitions = holds.iter().copied().collect();
    Server::join(&config, Options::default(), crate::apart::dealer()).await.unwrap()
}

fn elsewhere(status: &Status, partition: u32) {
    assert_eq!((status.code(), &*reason(status)), (Code::FailedPrecondition, "PARTITION_ELSEWHERE"), "{status:?}");
    let told = status.get_details_error_info().unwrap().metadata;
    assert_eq!(told.get("partition"), Some(&partition.to_string()));
    assert_eq!(told.get("partitions"), Some(&PARTITIONS.to_string()));
}

async fn channel(address: SocketAddr) -> Channel {
    Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_09_pl_12_a_process_serves_the_partitions_that_it_holds_and_names_those_that_it_does_not() {
    let data = tempfile::tempdir().unwrap();
    let (mut installation, [at_a, at_b]) = Installation::new(data.path());
    installation.configs[1].ledger.read_partitions = [1].into();
    let (a, b) = tokio::join!(installation.start(0, at_a), installation.start(1, at_b));
    let mut wallets = [Client::connect(a.address()).await, Client::connect(b.address()).await];
    let folders = [1, 2].map(|partition| data.path().join(format!("spin{partition}")));
    let spins = [spin(&installation, &folders[0], &[1]).await, spin(&installation, &folders[1], &[2]).await];
    let mut at = [Client::connect(spins[0].address()).await, Client::connect(spins[1].address()).await];

    for (server, folder, held, not) in
        [(&spins[0], &folders[0], 1, 2), (&spins[1], &folders[1], 2, 1), (&b, &installation.configs[1].data, 1, 2)]
    {
        let found: Vec<_> = server.ledgers().all().map(motherlode_ledger::Handle::partition).collect();
        assert_eq!((found, server.ledgers().count()), (vec![0, held], PARTITIONS));
        let views = |partition| index_folder(folder, partition).with_extension("views");
        assert!(views(held).exists() && !views(not).exists());
    }

    for partition in 0..PARTITIONS {
        let account = wallets[0].fund(&living_in(partition), EUR, 1_000_000).await;
        for (held, client) in (1..).zip(&mut at) {
            let id = format!("r{held}");
            let played = client.spin(bet(&id, &account, "0.05"), None).await;
            match partition == 0 || partition == held {
                true => drop(played.unwrap()),
                false => elsewhere(&played.unwrap_err(), partition),
            }
        }
    }
    let account = account(&living_in(2), EUR);
    at[1].spin(bet("r1", &account, "0.05"), None).await.unwrap();

    let asked = wallets[1].ledger.get_account(GetAccountRequest { account: Some(account) }).await;
    elsewhere(&asked.unwrap_err(), 2);
    let mut reports = ReportServiceClient::new(channel(b.address()).await);
    elsewhere(&reports.list_returns(ListReturnsRequest::default()).await.unwrap_err(), 2);
    let open = ListOpenRoundsRequest { operator_id: "acme".to_owned(), ..ListOpenRoundsRequest::default() };
    elsewhere(&at[0].spin.list_open_rounds(open).await.unwrap_err(), 2);
    let follow = FollowLogRequest { partition: 2, ..FollowLogRequest::default() };
    elsewhere(&wallets[1].ledger.follow_log(follow).await.unwrap_err(), 2);

    for server in spins.into_iter().chain([b, a]) {
        server.stop().await.unwrap();
    }
}
