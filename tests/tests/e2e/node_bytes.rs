use crate::PROGRAM;
use motherlode_proto::{
    convert::event::to_log,
    log::v1::{
        Proposal, ProposeRequest, log_service_client::LogServiceClient, not_taken::Cause, verdict::Outcome as Verdict,
    },
};
use motherlode_state::{Currency, Event, StreamId};
use motherlode_tests::{Process, reason};
use tonic::{Code, Status, transport::Channel};
use tonic_types::StatusExt;

const GROWTH_MAX: u64 = 256 << 20;

type Log = LogServiceClient<Channel>;

async fn log(process: &Process) -> Log {
    LogServiceClient::connect(format!("http://{}", process.address)).await.unwrap()
}

fn proposal(ticket: u64, bytes: usize) -> Proposal {
    let events = [
        Event::AccountOpened { currency: Currency::EUR },
        Event::ActedBy { actor: "node".to_owned(), reference: "x".repeat(bytes) },
    ];
    Proposal {
        ticket,
        stream: StreamId::player("acme", format!("p{ticket}")).to_string(),
        request_id: "open".to_owned(),
        fingerprint: vec![0; 16],
        events: events.iter().map(to_log).collect(),
        ..Proposal::default()
    }
}

async fn propose(mut log: Log, tickets: Vec<u64>, bytes: usize) -> Result<Vec<Verdict>, Status> {
    let messages = tokio_stream::iter(
        tickets
            .clone()
            .into_iter()
            .map(move |ticket| ProposeRequest { partition: 0, proposals: vec![proposal(ticket, bytes)] }),
    );
    let mut answers = log.propose(messages).await?.into_inner();
    let mut verdicts = vec![];
    while let Some(answer) = answers.message().await? {
        verdicts.extend(answer.verdicts.into_iter().filter_map(|verdict| verdict.outcome));
    }
    assert_eq!(verdicts.len(), tickets.len());
    Ok(verdicts)
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e5_long_proposals_of_other_processes_are_refused_and_take_a_bounded_memory() {
    let data = tempfile::tempdir().unwrap();
    let process = Process::start(PROGRAM, data.path(), None);
    let log = log(&process).await;
    propose(log.clone(), vec![1], 10).await.unwrap();
    let before = process.memory_peak();

    let attack: Vec<_> = (0..60).map(|ticket| tokio::spawn(propose(log.clone(), vec![ticket], 3_900_000))).collect();
    for refused in attack {
        let status = refused.await.unwrap().unwrap_err();
        match (status.code(), &*reason(&status)) {
            (Code::OutOfRange, "MESSAGE_TOO_LONG") => {}
            (Code::ResourceExhausted, "BUFFERS_FULL") => {
                assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
            }
            _ => panic!("{status:?}"),
        }
    }

    let streams = (0..4).map(|stream| (stream * 300..(stream + 1) * 300).collect());
    let attack: Vec<_> = streams.map(|tickets| tokio::spawn(propose(log.clone(), tickets, 1_000_000))).collect();
    for refused in attack {
        for verdict in refused.await.unwrap().unwrap() {
            let Verdict::NotTaken(not_taken) = verdict else { panic!("{verdict:?}") };
            assert_eq!(not_taken.cause(), Cause::NotAllowed);
            assert!(not_taken.reason.starts_with("PROPOSAL_TOO_LONG: "), "{not_taken:?}");
        }
    }

    let streams = (0..4_u64).map(|stream| (1_000_000 + stream * 400..1_000_000 + (stream + 1) * 400).collect());
    let attack: Vec<_> = streams.map(|tickets| tokio::spawn(propose(log.clone(), tickets, 250_000))).collect();
    for taken in attack {
        let taken = taken.await.unwrap().unwrap();
        assert!(taken.iter().all(|verdict| matches!(verdict, Verdict::Position(_))), "{:?}", taken.first());
    }
    let (after, grown) = (process.memory_peak(), process.memory_peak().saturating_sub(before));
    eprintln!("peak memory of the writer: {before} bytes before, {after} bytes after");
    assert!(grown < GROWTH_MAX, "{grown} bytes");
    assert_eq!(process.terminate().await, Some(0));
}
