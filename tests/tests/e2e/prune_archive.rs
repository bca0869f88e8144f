use crate::{
    PROGRAM,
    console::browser::Browser,
    prune::{Played, flip, is_archived, run, segments, serve_with, text},
    restores::copy_folder,
    telemetry_port::{PORT, ask, port, value},
};
use motherlode_audit::verify;
use motherlode_proto::{
    ledger::v1::{GetRoundRequest, ListRoundsRequest, VoidRoundRequest},
    proof::v1::{GetRoundProofRequest, proof_service_client::ProofServiceClient},
    report::v1::{GetRoundPageRequest, report_service_client::ReportServiceClient},
    round::v1::Round,
};
use motherlode_tests::{Client, Process, Server, bet, reason};
use std::{collections::BTreeMap, fs};
use tonic::{Code, Status, transport::Channel};

const OLD: usize = 1_000;

struct Reads {
    client: Client,
    proofs: ProofServiceClient<Channel>,
    reports: ReportServiceClient<Channel>,
}

impl Reads {
    async fn new(server: &Server) -> Self {
        let address = format!("http://{}", server.address());
        let client = Client::connect(server.address()).await;
        let proofs = ProofServiceClient::connect(address.clone()).await.unwrap();
        Self { client, proofs, reports: ReportServiceClient::connect(address).await.unwrap() }
    }

    async fn round(&mut self, round_id: &str) -> Result<Round, Status> {
        let request = GetRoundRequest { round_id: round_id.to_owned() };
        Ok(self.client.ledger.get_round(request).await?.into_inner().round.unwrap())
    }

    async fn proven(&mut self, round_id: &str) -> Result<usize, Status> {
        let request = GetRoundProofRequest { round_id: round_id.to_owned(), ..Default::default() };
        let answer = self.proofs.get_round_proof(request).await?.into_inner();
        let proven = verify(&answer.proof.parse().unwrap(), &answer.verifier_key.parse().unwrap(), None).unwrap();
        assert!(proven.replayed.matches(), "{round_id}: {:?}", proven.replayed.differs);
        assert_eq!(format!("{}/{}", proven.stream, proven.number), format!("player/{round_id}"));
        Ok(proven.positions.len())
    }

    async fn page(&mut self, round_id: &str) -> Result<Vec<u8>, Status> {
        let request = GetRoundPageRequest { round_id: round_id.to_owned() };
        Ok(self.reports.get_round_page(request).await?.into_inner().content)
    }

    async fn rounds(&mut self, played: &Played, first: usize) -> Result<Vec<Round>, Status> {
        let page_token = (first + 1).to_string();
        let request = ListRoundsRequest { account: Some(played.account.clone()), page_token, ..Default::default() };
        Ok(self.client.ledger.list_rounds(request).await?.into_inner().rounds)
    }
}

async fn browser(server: &Server) -> Browser {
    let mut browser = Browser::new(server.console());
    browser.post("/login", &[]).await;
    browser
}

fn is_unread(status: &Status, of: &str) {
    let code = if of == "ARCHIVE_DAMAGED" { Code::DataLoss } else { Code::Unavailable };
    assert_eq!((status.code(), &*reason(status)), (code, of), "{status:?}");
    assert!(!status.message().contains('/') && !status.message().contains("segment"), "names the place: {status:?}");
}

async fn pruned(rounds: usize) -> (Played, BTreeMap<usize, Round>) {
    let (mut played, server) = Played::with_base(rounds).await;
    let mut reads = Reads::new(&server).await;
    played.play(&mut reads.client, 100).await;
    let mut whole = vec![];
    for round_id in &played.rounds {
        whole.push(reads.round(round_id).await.unwrap());
    }
    server.stop().await.unwrap();
    played.archive();
    played.prune(&[]).unwrap();
    let first = segments(&played.log())[0];
    let positions = |round: &Round| round.steps.iter().map(|step| step.position).min().unwrap();
    (played, (0..).zip(whole).filter(|(_, round)| positions(round) < first).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_1000_old_rounds_are_proven_through_the_archive_and_refused_without_it() {
    let (mut played, old) = pruned(OLD + 100).await;
    assert!(old.len() >= OLD, "{} rounds are archived", old.len());
    let (data, archive) = (played.data(), played.path("archive"));
    let server = serve_with(&data, None).await;
    let mut reads = Reads::new(&server).await;
    for round in old.values() {
        is_archived(&reads.round(&round.round_id).await.unwrap_err());
        is_archived(&reads.proven(&round.round_id).await.unwrap_err());
    }
    let path = format!("/round/{}", old[&7].round_id);
    assert!(browser(&server).await.get(&path).await.body.contains("Reason: <code>ARCHIVED</code>"));
    server.stop().await.unwrap();

    let server = serve_with(&data, Some(&archive)).await;
    let mut reads = Reads::new(&server).await;
    let mut records = 0;
    for (number, round) in &old {
        assert_eq!(&reads.round(&round.round_id).await.unwrap(), round);
        records += reads.proven(&round.round_id).await.unwrap();
        if number % 100 == 9 {
            let listed = reads.rounds(&played, *number).await.unwrap();
            assert!(listed.len() == 10 && listed.iter().rev().eq(old.range(number - 9..=*number).map(|(_, of)| of)));
            assert!(reads.page(&round.round_id).await.unwrap().len() > 1_000);
        }
    }
    assert!(records > old.len(), "some rounds have several records");
    for page in ["", "/check"] {
        let page = browser(&server).await.get(&format!("{path}{page}")).await;
        assert!(page.status == 200 && page.body.contains(&old[&7].round_id), "{}", page.body);
    }
    let state = (reads.client.balance(&played.account).await, server.ledger().durable());
    for (number, round) in &old {
        let repeated = bet(&format!("r{number}"), &played.account, "0.01");
        is_archived(&reads.client.spin(repeated, None).await.unwrap_err());
        if number % 10 == 0 {
            let (request_id, round_id) = (format!("void-{number}"), round.round_id.clone());
            let (reason, actor) = ("fault".to_owned(), "ann".to_owned());
            let void = VoidRoundRequest { request_id, round_id, reason, actor };
            is_archived(&reads.client.ledger.void_round(void).await.unwrap_err());
        }
    }
    assert_eq!((reads.client.balance(&played.account).await, server.ledger().durable()), state, "nothing was applied");
    played.play(&mut reads.client, 3).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_an_archive_that_is_missing_damaged_or_of_another_log_only_fails_reads_of_old_rounds() {
    let (mut played, old) = pruned(60).await;
    let (data, archive, away) = (played.data(), played.path("archive"), played.path("away"));
    fs::rename(&archive, &away).unwrap();
    let server = serve_with(&data, Some(&archive)).await;
    let mut reads = Reads::new(&server).await;
    let ids: Vec<_> = old.values().map(|round| round.round_id.clone()).collect();
    for round_id in ids.iter().take(5) {
        is_unread(&reads.round(round_id).await.unwrap_err(), "ARCHIVE_UNAVAILABLE");
        is_unread(&reads.proven(round_id).await.unwrap_err(), "ARCHIVE_UNAVAILABLE");
        is_unread(&reads.page(round_id).await.unwrap_err(), "ARCHIVE_UNAVAILABLE");
    }
    let page = browser(&server).await.get(&format!("/round/{}", ids[0])).await;
    assert!(page.status == 503 && page.body.contains("ARCHIVE_UNAVAILABLE"), "{}", page.body);
    played.play(&mut reads.client, 3).await;
    fs::rename(&away, &archive).unwrap();
    assert_eq!(&reads.round(&ids[0]).await.unwrap(), &old[&0], "no restart is needed");
    server.stop().await.unwrap();

    let mut damaged = 0;
    for folder in ["0/segments", "0/manifests"] {
        for entry in fs::read_dir(archive.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = flip(&path);
            let server = serve_with(&data, Some(&archive)).await;
            let mut reads = Reads::new(&server).await;
            for (round_id, round) in ids.iter().zip(old.values()) {
                match reads.round(round_id).await {
                    Ok(read) => assert_eq!(&read, round),
                    Err(status) => {
                        is_unread(&status, "ARCHIVE_DAMAGED");
                        is_unread(&reads.proven(round_id).await.unwrap_err(), "ARCHIVE_DAMAGED");
                        damaged += 1;
                    }
                }
            }
            server.stop().await.unwrap();
            fs::write(&path, bytes).unwrap();
        }
    }
    assert!(damaged > 10, "{damaged}");

    let (other, _) = pruned(60).await;
    let server = serve_with(&data, Some(&other.path("archive"))).await;
    let mut reads = Reads::new(&server).await;
    for round_id in &ids {
        is_unread(&reads.round(round_id).await.unwrap_err(), "ARCHIVE_DAMAGED");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_reads_of_archived_records_are_counted_by_outcome() {
    let (played, old) = pruned(60).await;
    let (archive, away, config) = (played.path("archive"), played.path("away"), played.path("motherlode.toml"));
    fs::rename(&archive, &away).unwrap();
    fs::write(&config, format!("partitions = 1\n[archive]\nplace = {archive:?}\n")).unwrap();
    // The servers before kept the draw keys elsewhere.
    let arguments = [PORT, &["--draw-keys-lost"]].concat();
    let service = Process::start_as(PROGRAM, &played.data(), Some(&config), &arguments);
    let (port, mut client) = (port(&service).await, Client::connect(service.address).await);
    let mut reads = async |count: usize| {
        for Round { round_id, .. } in old.values().take(count).cloned() {
            let _ = client.ledger.get_round(GetRoundRequest { round_id }).await;
        }
        let metrics = ask(port, "GET /metrics").await.1;
        ["done", "unavailable", "damaged"].map(|outcome| {
            let series = format!("motherlode_archive_reads_total{{outcome=\"{outcome}\"}}");
            value(&metrics, &series).unwrap_or_else(|| panic!("{series}: {metrics}"))
        })
    };
    assert_eq!(reads(0).await, [0.0, 0.0, 0.0]);
    assert_eq!(reads(3).await, [0.0, 3.0, 0.0]);
    fs::rename(&away, &archive).unwrap();
    assert_eq!(reads(5).await, [5.0, 3.0, 0.0]);
    assert_eq!(service.terminate().await, Some(0));
}

/// The start replays the voids, because its snapshot is older than the voids.
#[tokio::test(flavor = "multi_thread")]
async fn pl_37_100_voids_of_pruned_rounds_replay_without_the_archive() {
    const VOIDS: usize = 100;
    let (played, server) = Played::with_base(VOIDS + 100).await;
    server.stop().await.unwrap();
    let (data, earlier) = (played.data(), played.path("earlier"));
    copy_folder(&data.join("index"), &earlier);
    let server = serve_with(&data, None).await;
    let mut client = Client::connect(server.address()).await;
    for (number, round_id) in played.rounds.iter().take(VOIDS).enumerate() {
        let (request_id, reason, actor) = (format!("void-{number}"), "fault".to_owned(), "ann".to_owned());
        let void = VoidRoundRequest { request_id, round_id: round_id.clone(), reason, actor };
        client.ledger.void_round(void).await.unwrap();
    }
    server.stop().await.unwrap();
    let server = serve_with(&data, None).await;
    let mut client = Client::connect(server.address()).await;
    let (balance, state) = (client.balance(&played.account).await, server.player("alice"));
    server.stop().await.unwrap();
    played.archive();
    played.prune(&[]).unwrap();
    let away = played.path("away");
    fs::rename(played.path("archive"), &away).unwrap();
    fs::remove_dir_all(data.join("index")).unwrap();
    copy_folder(&earlier, &data.join("index"));

    let server = serve_with(&data, None).await;
    let mut reads = Reads::new(&server).await;
    assert_eq!((reads.client.balance(&played.account).await, server.player("alice")), (balance, state));
    for round_id in played.rounds.iter().take(VOIDS) {
        is_archived(&reads.round(round_id).await.unwrap_err());
    }
    reads.client.play_out(bet("after", &played.account, "0.01")).await.unwrap();
    server.stop().await.unwrap();
    let audited = run(&["audit", text(&data), "--archive", text(&away)]).unwrap();
    assert!(audited.contains("All checks passed.") && audited.contains("index compared"), "{audited}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_an_audit_from_the_base_and_one_through_the_archive_agree_at_the_end() {
    let (played, _) = pruned(60).await;
    let [data, base, archive] = [played.data(), played.path("base"), played.path("archive")];
    let audited = run(&["audit", text(&data), "--from-base", text(&base)]).unwrap();
    let (base_line, folded) = audited.split_once("  digest  ").unwrap();
    assert!(base_line.contains("base    digest "), "{audited}");
    let (digest, end) = folded.trim().split_once(" at position ").unwrap();
    let whole = run(&["audit", text(&data), "--archive", text(&archive), "--base", end]).unwrap();
    assert!(whole.contains(digest) && whole.contains("All checks passed."), "{digest}: {whole}");

    for entry in fs::read_dir(archive.join("0/segments")).unwrap() {
        let segment = entry.unwrap().path();
        let bytes = flip(&segment);
        let refused = run(&["audit", text(&data), "--archive", text(&archive)]).unwrap_err();
        assert!(refused.contains("SHA-256"), "{refused}");
        fs::write(&segment, bytes).unwrap();
    }

    let (other, _) = pruned(60).await;
    for forged in [other.path("base"), data.clone()] {
        let refused = run(&["audit", text(&data), "--from-base", text(&forged)]).unwrap_err();
        assert!(refused.contains("no record of the log confirms the base at position"), "{refused}");
    }
    let checkpoints = base.join("index/0.views/checkpoints");
    for entry in fs::read_dir(&checkpoints).unwrap() {
        flip(&entry.unwrap().path());
    }
    let refused = run(&["audit", text(&data), "--from-base", text(&base)]).unwrap_err();
    assert!(refused.contains("no snapshot"), "{refused}");
}
