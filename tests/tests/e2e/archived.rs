use motherlode_ledger::{Options, Proposal};
use motherlode_log::{ReadError, Store as _};
use motherlode_proto::{
    ledger::v1::{FollowLogRequest, GetRoundRequest, OpenAccountRequest},
    log::v1::{ReadRecordsRequest, log_service_client::LogServiceClient},
};
use motherlode_runtime::{
    Config,
    config::{Role, Store},
};
use motherlode_server::Server;
use motherlode_spin::Dealer;
use motherlode_state::{Currency, Event, StreamId};
use motherlode_testkit::archiving::ArchivingStore;
use motherlode_tests::{Client, EUR, bet, config, reason};
use tonic::{Code, Status};
use tonic_types::StatusExt;

fn dealer() -> Dealer {
    Dealer::from_master([9; 32])
}

async fn ledger(config: &Config, log: &ArchivingStore) -> Server {
    let stores: Vec<Box<dyn motherlode_log::Store>> = vec![Box::new(log.clone())];
    Server::start(config, stores, Options::default(), dealer()).await.unwrap()
}

fn is_archived(status: &Status, first: u64) {
    assert_eq!((status.code(), &*reason(status)), (Code::FailedPrecondition, "ARCHIVED"), "{status:?}");
    let details = status.get_error_details();
    assert_eq!(details.error_info().unwrap().metadata["first_position"], first.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_calls_for_archived_records_are_refused_and_apply_nothing() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data.path().join("log"));
    (config.role, config.store, config.partitions) = (Role::Ledger, Store::default(), 1);
    let log = ArchivingStore::new(0);
    let server = ledger(&config, &log).await;
    let account = Client::connect(server.address()).await.fund("alice", EUR, 10_000).await;
    let mut spin = Config { role: Role::Spin, data: data.path().join("first"), ..config.clone() };
    spin.ledger.targets = vec![format!("http://{}", server.address())];
    let replica = Server::join(&spin, Options::default(), dealer()).await.unwrap();
    let round_id = Client::connect(replica.address()).await.play_out(bet("r1", &account, "0.01")).await.unwrap()[0]
        .round_id
        .clone();
    for number in 0..600 {
        let filler = Proposal {
            stream: StreamId::player("acme", format!("filler{number}")),
            expected_version: None,
            request_id: "open".into(),
            fingerprint: [1; 16],
            events: vec![Event::AccountOpened { currency: Currency::EUR }],
        };
        server.ledger().append(filler).await.unwrap();
    }
    replica.stop().await.unwrap();
    server.stop().await.unwrap();

    let server = ledger(&config, &log).await;
    spin.data = data.path().join("second");
    spin.ledger.targets = vec![format!("http://{}", server.address())];
    let replica = Server::join(&spin, Options::default(), dealer()).await.unwrap();
    let (mut writer, mut player) = (Client::connect(server.address()).await, Client::connect(replica.address()).await);
    let (before, first) = (writer.balance(&account).await, server.ledger().durable() + 1);
    log.archive_below(300);
    assert_eq!(replica.ledger().fetch(300).unwrap().commit.position, 300);
    let refused = replica.ledger().fetch(299).unwrap_err();
    assert_eq!(refused.to_string(), ReadError::Archived { position: 299, first: 300 }.to_string());
    log.archive_below(first);

    is_archived(&player.spin(bet("r1", &account, "0.01"), None).await.unwrap_err(), first);
    let opened = OpenAccountRequest { request_id: format!("open-{EUR}"), account: Some(account.clone()) };
    is_archived(&writer.ledger.open_account(opened).await.unwrap_err(), first);
    is_archived(&writer.ledger.get_round(GetRoundRequest { round_id }).await.unwrap_err(), first);
    let mut followed =
        writer.ledger.follow_log(FollowLogRequest { after_position: 0, partition: 0 }).await.unwrap().into_inner();
    is_archived(&followed.message().await.unwrap_err(), first);
    let mut records = LogServiceClient::connect(format!("http://{}", server.address())).await.unwrap();
    let request = ReadRecordsRequest { partition: 0, from_position: 1, records_max: 1, bytes_max: 0 };
    is_archived(&records.read_records(request).await.unwrap_err(), first);

    assert_eq!((writer.balance(&account).await, log.end() + 1), (before, first), "the refused request was not applied");
    player.play_out(bet("r2", &account, "0.01")).await.unwrap();
    assert!(log.end() >= first, "play continues");
    replica.stop().await.unwrap();
    server.stop().await.unwrap();
}
