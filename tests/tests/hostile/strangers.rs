//! Attacks on the listeners: many open connections, and frames outside of calls.
//!
//! - `MOTHERLODE_STRANGERS_SECONDS`: duration of each attack in seconds, 60 by default.

use crate::{
    ALL, PROGRAM,
    alternate::alternate,
    asked,
    honest::{Honest, Rounds},
};
use motherlode_tests::{
    Process,
    hostile::{GREETING, Target, Wire, http1},
    operators::{Certificates, operator},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Mutex,
    task::{JoinHandle, JoinSet},
    time::{sleep, sleep_until, timeout, timeout_at},
};

const PER_ADDRESS: u8 = 64;
const SILENT: std::ops::Range<u8> = 2..11;
const WATCHES: std::ops::Range<u8> = 11..19;
const REOPEN: Duration = Duration::from_millis(250);
const KEPT: usize = 100;
const GATEWAY_RATE: u32 = 50;
const FRESH_RATE: u32 = 50;
const DEADLINE: Duration = Duration::from_secs(2);
const FLOODS: usize = 2;
const FLOOD_RATE: u32 = 25 << 20;
const FLOOD_BYTES: usize = 64 << 10;
const FLOODS_OPENED: u32 = 50;

pub fn seconds() -> Duration {
    Duration::from_secs(asked("MOTHERLODE_STRANGERS_SECONDS", 60).max(5))
}

pub fn rate() -> u32 {
    u32::try_from(asked("MOTHERLODE_HOSTILE_RATE", 50)).unwrap()
}

pub fn configure(folder: &Path, limits: &str) -> (PathBuf, Target) {
    let certificates = Certificates::make(folder);
    let operators = ["mallory", "honest"].map(|id| operator(id, &[(id, ALL)])).concat();
    let sections = format!("[console]\nlisten = \"127.0.0.1:0\"\n[limits]\n{limits}\n");
    let file = folder.join("serve.toml");
    fs::write(&file, Certificates::section(folder) + &sections + &operators).unwrap();
    (file, Target::tls(([127, 0, 0, 1], 0).into(), &certificates.root))
}

async fn at_rate(
    rate: u32,
    time: Duration,
    mut call: impl FnMut(Instant) -> JoinHandle<(Result<(), String>, u64)>,
) -> Rounds {
    let (begun, every) = (Instant::now(), Duration::from_secs(1) / rate);
    let (mut calls, mut due) = (JoinSet::new(), begun);
    while due < begun + time {
        sleep_until(due.into()).await;
        let (called, since) = (call(due), due);
        calls.spawn(async move {
            let (answer, again) = called.await.unwrap();
            (answer.map(|()| since.elapsed()), again)
        });
        due += every;
    }
    Rounds::collect(calls).await
}

fn deposit(target: &Target, number: u64) -> String {
    let account = r#"{"operatorId": "honest", "playerId": "json", "currencyCode": "EUR"}"#;
    let message = format!(r#"{{"requestId": "json-{number}", "account": {account}, "amountMinor": "1"}}"#);
    target.json("LedgerService/Deposit", &message)
}

async fn answered(wire: &mut Wire, call: &str) -> Result<(), String> {
    match timeout(DEADLINE, http1::ask(wire, call)).await {
        Ok(Ok((200, _))) => Ok(()),
        Ok(Ok((status, body))) => Err(format!("{status}: {body}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer within the deadline".to_owned()),
    }
}

struct Gateway {
    gateway: Target,
    fresh: Target,
    kept: Vec<Arc<Mutex<Wire>>>,
    next: AtomicUsize,
    number: Arc<AtomicU64>,
}

impl Gateway {
    async fn connect(json: &Target) -> Self {
        let (gateway, fresh) = (json.with("honest").from(100), json.with("honest").from(101));
        let account = r#"{"operatorId": "honest", "playerId": "json", "currencyCode": "EUR"}"#;
        let open = gateway.json("LedgerService/OpenAccount", &format!(r#"{{"requestId": "o", "account": {account}}}"#));
        let mut kept = vec![];
        for _ in 0..KEPT {
            let mut wire = gateway.wire().await.unwrap();
            answered(&mut wire, &open).await.unwrap();
            kept.push(Arc::new(Mutex::new(wire)));
        }
        Self { gateway, fresh, kept, next: AtomicUsize::default(), number: Arc::default() }
    }

    async fn play(&self, time: Duration) -> Rounds {
        at_rate(GATEWAY_RATE, time, |_| {
            let wire = Arc::clone(&self.kept[self.next.fetch_add(1, Ordering::Relaxed) % KEPT]);
            let call = deposit(&self.gateway, self.number.fetch_add(1, Ordering::Relaxed));
            tokio::spawn(async move { (answered(&mut *wire.lock().await, &call).await, 0) })
        })
        .await
    }

    async fn play_fresh(&self, time: Duration) -> Rounds {
        at_rate(FRESH_RATE, time, |due| {
            let (target, number) = (self.fresh.clone(), self.number.fetch_add(1, Ordering::Relaxed));
            tokio::spawn(async move {
                let (call, mut again) = (deposit(&target, number), 0);
                let asked = async {
                    loop {
                        if let Ok(mut wire) = target.wire().await
                            && answered(&mut wire, &call).await.is_ok()
                        {
                            return;
                        }
                        again += 1;
                        sleep(Duration::from_millis(50)).await;
                    }
                };
                let answer = timeout_at((due + DEADLINE).into(), asked).await;
                (answer.map_err(|_| "no answer within the deadline".to_owned()), again)
            })
        })
        .await
    }
}

#[derive(Default)]
struct Counts {
    silent: AtomicU64,
    watches: AtomicU64,
    refused: AtomicU64,
    closed: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

async fn hold(wire: &mut (impl AsyncReadExt + Unpin), until: Instant, counts: &Counts) {
    let read = async {
        let mut bytes = [0; 1_024];
        while wire.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
    };
    if timeout_at(until.into(), read).await.is_ok() {
        count(&counts.closed);
    }
}

async fn silence(target: Target, first: Duration, until: Instant, counts: Arc<Counts>) {
    sleep(first).await;
    while Instant::now() < until {
        if let Ok(mut stream) = target.tcp().await {
            count(&counts.silent);
            hold(&mut stream, until, &counts).await;
        }
        sleep(REOPEN).await;
    }
}

async fn watch(target: Target, first: Duration, until: Instant, counts: Arc<Counts>) {
    sleep(first).await;
    let call = target.json("JackpotService/WatchCounters", r#"{"poolId": "bewitched"}"#);
    while Instant::now() < until {
        let begun = async {
            let mut wire = target.wire().await?;
            let status = http1::begin(&mut wire, &call).await?;
            Ok::<_, std::io::Error>((wire, status))
        };
        if let Ok(Ok((mut wire, status))) = timeout_at(until.into(), begun).await {
            count(if status == 200 { &counts.watches } else { &counts.refused });
            hold(&mut wire, until, &counts).await;
        }
        sleep(REOPEN).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b1_silent_connections_and_watches_refuse_and_delay_no_honest_caller() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path(), "");
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let json = target.at(process.console.expect("the console listens"));
    let honest = Honest::connect(&target.at(process.address).with("honest"), rate()).await;
    honest.fund().await;
    let gateway = Gateway::connect(&json).await;
    let counts = Arc::new(Counts::default());
    let play = async |time| {
        let (rounds, kept, fresh) = tokio::join!(honest.play(time), gateway.play(time), gateway.play_fresh(time));
        vec![("rounds over gRPC", rounds), ("the gateway's JSON", kept), ("JSON on a new connection", fresh)]
    };
    let attack = |until| {
        let mut attackers = vec![];
        for number in 0..PER_ADDRESS {
            let first = Duration::from_millis(25) * number.into();
            for address in SILENT {
                let target = json.from(address);
                attackers.push(tokio::spawn(silence(target, first, until, Arc::clone(&counts))));
            }
            for address in WATCHES {
                let target = json.with("mallory").from(address);
                attackers.push(tokio::spawn(watch(target, first, until, Arc::clone(&counts))));
            }
        }
        attackers
    };
    alternate(&process, seconds(), play, attack).await;
    let [silent, watches, refused, closed] =
        [&counts.silent, &counts.watches, &counts.refused, &counts.closed].map(|of| of.load(Ordering::Relaxed));
    println!("{silent} silent connections, {watches} watches, {refused} watches refused; the service closed {closed}");
    assert!(silent >= 5 * 9 * u64::from(PER_ADDRESS), "{silent}");
    assert!(watches > 0 && refused > 0, "one operator's watches reach their bound");
    assert_eq!(process.terminate().await, Some(0));
}

fn frames() -> [(&'static str, Vec<u8>); 4] {
    let frame = |kind: u8, stream: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, stream], payload].concat()
    };
    [
        ("WINDOW_UPDATE", frame(8, 0, &[0, 0, 0, 1])),
        ("PRIORITY", frame(2, 1, &[0, 0, 0, 0, 16])),
        ("PING", frame(6, 0, &[7; 8])),
        ("SETTINGS", frame(4, 0, &[0xff, 0xff, 0, 0, 0, 0])),
    ]
}

#[derive(Default)]
struct Flooded {
    bytes: AtomicU64,
    ended: AtomicU64,
}

async fn flood(target: Target, number: usize, until: Instant, flooded: Arc<[Flooded; 4]>) {
    let kinds = frames();
    let many = kinds.map(|(_, frame)| frame.repeat(FLOOD_BYTES / frame.len()));
    let pause = Duration::from_secs(1) * u32::try_from(FLOOD_BYTES).unwrap() / FLOOD_RATE;
    for connection in number.. {
        if Instant::now() >= until {
            return;
        }
        sleep(Duration::from_secs(1) / FLOODS_OPENED).await;
        let kind = connection % many.len();
        let Ok(Ok(mut wire)) = timeout_at(until.into(), target.wire()).await else { continue };
        if wire.write_all(GREETING).await.is_err() {
            continue;
        }
        let (mut read, mut write) = tokio::io::split(wire);
        let (mut bytes, bytes_written) = ([0; 4_096], &flooded[kind].bytes);
        let reading = async { while read.read(&mut bytes).await.is_ok_and(|read| read > 0) {} };
        let writing = async {
            while write.write_all(&many[kind]).await.is_ok() {
                bytes_written.fetch_add(many[kind].len() as u64, Ordering::Relaxed);
                sleep(pause).await;
            }
        };
        let ended = async {
            tokio::select! {
                () = reading => {}
                () = writing => {}
            }
        };
        if timeout_at(until.into(), ended).await.is_ok() {
            count(&flooded[kind].ended);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b2_frames_without_a_call_and_without_a_credential_delay_no_honest_caller() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path(), "");
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let target = target.at(process.address);
    let honest = Honest::connect(&target.with("honest"), rate()).await;
    honest.fund().await;
    let flooded = Arc::<[Flooded; 4]>::default();
    let play = async |time| vec![("rounds", honest.play(time).await)];
    let attack = |until| {
        let flood = |number| tokio::spawn(flood(target.from(2), number, until, Arc::clone(&flooded)));
        (0..FLOODS).map(flood).collect()
    };
    alternate(&process, seconds(), play, attack).await;
    for ((kind, _), Flooded { bytes, ended }) in frames().iter().zip(flooded.iter()) {
        let (bytes, ended) = (bytes.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        println!("{kind}: {} kB on {ended} connections that the service closed", bytes >> 10);
        assert!(ended > 0, "the service must close a connection with too many frames of kind {kind}");
    }
    assert_eq!(process.terminate().await, Some(0));
}
