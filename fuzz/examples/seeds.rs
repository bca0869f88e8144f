//! Writes the initial corpus from golden logs, deployment files and the protos.

use arbitrary::Unstructured;
use motherlode_fuzz::{
    golden,
    message::{self, METHODS},
};
use motherlode_ledger::fuzzing::snapshot_body;
use motherlode_proto::convert::record;
use motherlode_state::Books;
use std::{collections::BTreeSet, fs, io, path::Path};

fn write(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

fn chosen(number: usize) -> Vec<u8> {
    let mut state = number as u64 + 1;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..600).map(next).collect()
}

fn frames(path: &str, message: &[u8]) -> Vec<u8> {
    let frame = |kind: u8, flags: u8, body: &[u8]| {
        let length = u32::try_from(body.len()).unwrap_or_default().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 1], body].concat()
    };
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap_or_default()], text.as_bytes()].concat();
    let headers = [
        &[0x83, 0x86, 0x04][..],
        &text(path),
        &[0x01],
        &text("localhost"),
        &[0x0f, 0x10],
        &text("application/grpc"),
        &[0x00],
        &text("te"),
        &text("trailers"),
    ];
    let prefix = [&[0][..], &u32::try_from(message.len()).unwrap_or_default().to_be_bytes(), message].concat();
    [&[0][..], &frame(1, 4, &headers.concat()), &frame(0, 1, &prefix)].concat()
}

fn main() -> io::Result<()> {
    let mut kinds = BTreeSet::new();
    for (log, text) in golden::LOGS.iter().enumerate() {
        for (number, bytes) in golden::records(text).iter().enumerate() {
            let logged = record::decode(bytes).map_err(io::Error::other)?;
            let kind: Vec<_> =
                logged.commit.events.iter().map(std::mem::discriminant).map(|of| format!("{of:?}")).collect();
            if kinds.insert(kind) {
                write("record", &format!("{log}-{number}"), bytes)?;
            }
        }
        let (mut books, mut half) = (Books::new(), vec![]);
        for logged in &golden::COMMITS[log] {
            if books.apply(&logged.commit).is_err() {
                break;
            }
            if books.players().count() == 2 && half.is_empty() {
                half = snapshot_body(&books);
            }
        }
        write("snapshot", &format!("{log}"), &half)?;
    }
    let (key, hash) = (
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n",
    );
    let checkpoint = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    let signature = "\u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+\
                     zyWE+xeMcTOAYQ8=";
    let note = format!("{checkpoint}\n{signature}\n");
    let texts = [
        ("tile", "tile/0/x001/x234/067.p/112".to_owned()),
        ("entries", "tile/entries/000".to_owned()),
        ("key", key.to_owned()),
        ("checkpoint", checkpoint.to_owned()),
        ("signature", signature.to_owned()),
        ("proof", format!("c2sp.org/tlog-proof@v1\nextra AQID\nindex 73894\n{hash}\n{note}")),
        ("request", format!("old 20852014\n{hash}\n{note}")),
        ("policy", format!("# ours\nlog {key} http://localhost\nquorum none\n")),
        ("note", note),
    ];
    for (name, text) in texts {
        write("tiles", name, text.as_bytes())?;
    }
    let segment = include_str!("../../services/log/tests/golden/segment-v1.hex");
    let digits: Vec<_> = segment.bytes().filter(u8::is_ascii_hexdigit).collect();
    let bytes = digits.chunks_exact(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    write("segment", "golden", &[255, 255].into_iter().chain(bytes).collect::<Vec<_>>())?;
    write("config", "deploy", include_bytes!("../../deploy/motherlode.toml"))?;
    write("config", "distributed", include_bytes!("../../deploy/kubernetes/distributed/motherlode.toml"))?;
    for (name, text) in [
        ("limits", "partitions = 4\n[limits]\nqueue_length_max = 77\n[demo]\nbalance_minor = 1\n"),
        (
            "profile",
            "[jurisdictions]\ndefault = 'uk'\nprofiles.x = { gamble = false, round_ms_min = 1 }\n[interruption.hours]\nneptune = 1\n",
        ),
        (
            "store",
            "[store]\nurl = 'nats://a:1,b:2'\nreplicas = 3\n[store.tls]\nca = 'x'\n[store.allow_unsafe]\nversion = true\n",
        ),
        (
            "ledger",
            "role = 'spin'\n[ledger]\ntargets = ['http://a:1']\nwrite_partitions = [1]\n[telemetry]\nfilter = 'info'\n",
        ),
    ] {
        write("config", name, text.as_bytes())?;
    }
    for text in
        ["20000.00", "0.0875", "-0.5", "1", "9223372036854775807", "0.000000001", "170141183460469231731687303715.884"]
    {
        write("decimal", text, text.as_bytes())?;
    }
    let names =
        ["player/acme/alice", "pool/bewitched", "rates", "20", "+20", "00020", "..", "reel 3 stuck", "a\u{202e}b", "é"];
    for (number, text) in names.into_iter().enumerate() {
        write("name", &number.to_string(), text.as_bytes())?;
    }
    for target in ["calls", "folds", "message", "mutated", "round"] {
        for number in 0..8 {
            let parts: Vec<_> = (0..=number).flat_map(|part| chosen(8 * number + part)).collect();
            write(target, &number.to_string(), &parts)?;
        }
    }
    for (number, method) in METHODS.iter().enumerate() {
        let bytes = chosen(number);
        let message = message::bytes(&method.input(), &mut Unstructured::new(&bytes)).unwrap_or_default();
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        if path.len() < 127 {
            write("http2", method.name(), &frames(&path, &message[..message.len().min(400)]))?;
        }
    }
    Ok(())
}
