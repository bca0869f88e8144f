use motherlode_tiles::{
    AddCheckpoint, Checkpoint, KeyKind, Note, NoteError, Policy, Proof, Seen, SignerKey, Tile, Unwitnessed,
    VerifierKey, empty, judge,
};

const VKEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const NOTE: &str = "This is an example message.

\u{2014} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
";
const COSIGNED: &str = "example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

\u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
\u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
";

fn log() -> SignerKey {
    SignerKey::new("example.com/log/0", KeyKind::Log, [7; 32]).unwrap()
}

fn witness() -> SignerKey {
    SignerKey::new("witness.example/w1", KeyKind::Witness, [8; 32]).unwrap()
}

fn checkpoint() -> Checkpoint {
    Checkpoint { origin: "example.com/log/0".into(), size: 0, root: empty() }
}

#[test]
fn no_text_in_base64_has_its_padding_within() {
    let log = log();
    let note = checkpoint().sign(&log).unwrap().to_string();
    let (head, signature) = note.trim_end().rsplit_once(' ').unwrap();
    let bytes = data_encoding::BASE64.decode(signature.as_bytes()).unwrap();
    let spelled = [&bytes[..1], &bytes[1..]].map(|part| data_encoding::BASE64.encode(part)).concat();
    assert_eq!(data_encoding::BASE64.decode(spelled.as_bytes()).unwrap(), bytes);
    assert!(format!("{head} {signature}\n").parse::<Note>().is_ok());
    assert!(format!("{head} {spelled}\n").parse::<Note>().is_err());
    let extra = |extra: &str| format!("c2sp.org/tlog-proof@v1\nextra {extra}\nindex 0\n\n{note}").parse::<Proof>();
    assert!(extra("AQID").is_ok() && extra("AQ==AgM=").is_err());
}

#[test]
fn the_example_of_signed_note_is_verified() {
    let key: VerifierKey = VKEY.parse().unwrap();
    assert_eq!((key.name(), key.kind(), key.to_string()), ("example.com/foo", KeyKind::Log, VKEY.into()));
    let note: Note = NOTE.parse().unwrap();
    assert_eq!((note.text(), note.to_string()), ("This is an example message.\n", NOTE.into()));
    assert_eq!(note.verify(&key), Ok(0));
    assert_eq!(note.verify(log().verifier()), Err(NoteError::Unsigned));
    let other: Note = NOTE.replace("message", "massage").parse().unwrap();
    assert_eq!(other.verify(&key), Err(NoteError::False));
}

#[test]
fn the_examples_of_checkpoint_and_cosignature_are_read() {
    let note: Note = COSIGNED.parse().unwrap();
    let read: Checkpoint = note.text().parse().unwrap();
    assert_eq!(
        (&*read.origin, read.size, read.to_string()),
        ("example.com/behind-the-sofa", 20_852_163, note.text().into())
    );
    assert_eq!(note.to_string(), COSIGNED);
    assert_eq!(note.signatures[1].name, "witness.example.com/w1");
    assert_eq!(note.signatures[1].bytes.len(), 8 + 64);
    let request = format!("old 20852014\nPlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n\n{COSIGNED}");
    assert_eq!(request.parse::<AddCheckpoint>().unwrap().to_string(), request);
    let proof = format!("c2sp.org/tlog-proof@v1\nextra AQID\nindex 73894\n\n{COSIGNED}");
    let read: Proof = proof.parse().unwrap();
    assert_eq!((&*read.extra, read.index, read.to_string()), (&[1, 2, 3][..], 73_894, proof));
}

#[test]
fn a_proof_is_small_in_a_long_log() {
    let mut checkpoint = Checkpoint { size: 10_000_000, root: [9; 32], ..checkpoint() }.sign(&log()).unwrap();
    for _ in 0..3 {
        let cosignature = witness().cosign(checkpoint.text(), 1_800_000_000);
        checkpoint.signatures.push(cosignature);
    }
    let proof = Proof { extra: vec![7; 346 + 40], index: 9_999_999, path: vec![[5; 32]; 24], checkpoint };
    let text = proof.to_string();
    assert!(text.len() < 2500, "{}", text.len());
    assert_eq!(text.parse(), Ok(proof));
}

#[test]
fn a_tile_has_one_path() {
    let paths = [
        ("tile/0/x001/x234/067", Some(0), 1_234_067, 256),
        ("tile/entries/000.p/1", None, 0, 1),
        ("tile/63/999.p/255", Some(63), 999, 255),
        ("tile/1/x001/000", Some(1), 1000, 256),
        ("tile/0/x018/x446/x744/x073/x709/x551/615", Some(0), u64::MAX, 256),
    ];
    for (path, level, index, width) in paths {
        let tile = Tile { level, index, width };
        assert_eq!((path.parse(), tile.to_string()), (Ok(tile), path.to_owned()));
    }
    let bad = [
        "",
        "tile",
        "tile/0",
        "tile/0/",
        "tile/0/0",
        "tile/0/00",
        "tile/0/0000",
        "tile/00/000",
        "tile/64/000",
        "tile/0/x000",
        "tile/0/x000/000",
        "tile/0/001/000",
        "tile/0/x001",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/",
        "tile/entries/+00",
        "tile/-1/000",
        "/tile/0/000",
        "tile/0/000/",
        "tile/0/x018/x446/x744/x073/x709/x551/616",
    ];
    for path in bad {
        assert!(path.parse::<Tile>().is_err(), "{path}");
    }
}

#[test]
fn a_tree_has_the_tiles_of_its_size() {
    let within = |path: &str, size| path.parse::<Tile>().unwrap().is_within(size);
    for (path, size) in [
        ("tile/0/272", 70_000),
        ("tile/0/273.p/112", 70_000),
        ("tile/1/001.p/17", 70_000),
        ("tile/2/000.p/1", 70_000),
        ("tile/1/000.p/1", 256),
    ] {
        assert!(within(path, size), "{path}");
    }
    for (path, size) in [
        ("tile/0/273.p/113", 70_000),
        ("tile/1/001.p/18", 70_000),
        ("tile/3/000.p/1", 70_000),
        ("tile/63/000", u64::MAX),
        ("tile/1/000.p/1", 255),
    ] {
        assert!(!within(path, size), "{path}");
    }
}

#[test]
fn a_key_is_read_back_from_its_file_and_shown_to_nobody() {
    let key = log();
    let again = SignerKey::from_secret(&key.to_secret()).unwrap();
    assert_eq!(again.verifier(), key.verifier());
    assert!(!format!("{key:?}").contains(&key.to_secret()[40..]), "{key:?}");
    let text = key.verifier().to_string();
    for bad in [text.replace("+0", "+1"), text.replace("log/0", "log/1"), text.replace('+', ""), format!("{text}=")] {
        assert!(bad == text || bad.parse::<VerifierKey>().is_err(), "{bad}");
    }
    for name in ["", "a b", "a+b", "a\u{3000}b", "a\nb"] {
        assert!(SignerKey::new(name, KeyKind::Log, [1; 32]).is_err(), "{name:?}");
    }
}

#[test]
fn a_cosignature_tells_its_time_and_is_no_signature() {
    let mut note = checkpoint().sign(&log()).unwrap();
    note.signatures.push(witness().cosign(note.text(), 1_679_315_147));
    assert_eq!(note.verify(log().verifier()), Ok(0));
    assert_eq!(note.verify(witness().verifier()), Ok(1_679_315_147));
    note.signatures[1].bytes[7] ^= 1;
    assert_eq!(note.verify(witness().verifier()), Err(NoteError::False));
    let other = SignerKey::new("witness.example/w1", KeyKind::Log, [8; 32]).unwrap();
    assert_ne!(other.verifier().id(), witness().verifier().id());
    assert_eq!(note.verify(other.verifier()), Err(NoteError::Unsigned));
}

#[test]
fn a_false_signature_spoils_the_note_wherever_it_stands() {
    let signed = checkpoint().sign(&log()).unwrap();
    let mut wrong = signed.signatures[0].clone();
    wrong.bytes[0] ^= 1;
    for signatures in [vec![wrong.clone(), signed.signatures[0].clone()], vec![signed.signatures[0].clone(), wrong]] {
        assert_eq!(signed.clone().with(signatures).verify(log().verifier()), Err(NoteError::False));
    }
}

#[test]
fn a_checkpoint_is_of_the_log_whose_key_signed_it() {
    let other = Checkpoint { origin: "example.com/log/1".into(), ..checkpoint() };
    let signed = other.sign(&log()).unwrap();
    assert!(matches!(Checkpoint::open(&signed, log().verifier()), Err(NoteError::Malformed(_))));
    assert_eq!(Checkpoint::open(&checkpoint().sign(&log()).unwrap(), log().verifier()), Ok(checkpoint()));
    for bad in [
        "a\n0\n",
        "a\n00\nAAAA\n",
        "\n0\nx\n",
        "a\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\n",
        "a\n-1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
    ] {
        assert!(bad.parse::<Checkpoint>().is_err(), "{bad:?}");
    }
    let extended = "a\n1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nmore\n";
    assert_eq!(extended.parse::<Checkpoint>().unwrap().size, 1);
}

#[test]
fn a_witness_refuses_in_the_order_of_the_specification() {
    let (key, seen) = (log(), Some(Seen { size: 3, root: [3; 32] }));
    let request = |old, size, root| AddCheckpoint {
        old,
        path: vec![],
        checkpoint: Checkpoint { size, root, ..checkpoint() }.sign(&key).unwrap(),
    };
    let judged = |request: &AddCheckpoint, seen| judge(request, key.verifier(), seen).map(|checkpoint| checkpoint.size);
    let forged = AddCheckpoint { checkpoint: request(9, 5, [5; 32]).checkpoint.with(vec![]), ..request(9, 5, [5; 32]) };
    assert_eq!(judged(&forged, seen), Err(Unwitnessed::Forbidden(NoteError::Unsigned)));
    assert_eq!(judged(&request(9, 5, [5; 32]), seen), Err(Unwitnessed::Backwards));
    assert_eq!(judged(&request(0, 5, [5; 32]), seen), Err(Unwitnessed::Conflict(3)));
    assert_eq!(judged(&request(3, 5, [5; 32]), seen), Err(Unwitnessed::Inconsistent));
    assert_eq!(judged(&request(3, 3, [5; 32]), seen), Err(Unwitnessed::Inconsistent));
    assert_eq!(judged(&request(3, 3, [3; 32]), seen), Ok(3), "repeating a request is accepted");
    assert_eq!(judged(&request(0, 5, [5; 32]), None), Ok(5), "the first checkpoint is accepted");
    assert_eq!(judged(&request(0, 0, [5; 32]), None), Err(Unwitnessed::Inconsistent), "the empty tree has one root");
    assert_eq!(judged(&request(0, 0, empty()), None), Ok(0));
}

#[test]
fn a_policy_says_how_many_witnesses_are_enough() {
    let keys: Vec<_> =
        (0..3_u8).map(|at| SignerKey::new(&format!("w{at}"), KeyKind::Witness, [at; 32]).unwrap()).collect();
    let witnesses: String =
        keys.iter().map(|key| format!("witness {} {}\n", key.verifier().name(), key.verifier())).collect();
    let mut note = checkpoint().sign(&log()).unwrap();
    note.signatures.extend([keys[0].cosign(note.text(), 5), keys[2].cosign(note.text(), 6)]);
    let satisfied = |rest: &str| {
        let policy: Policy = format!("# ours\nlog {}\n\n{witnesses}{rest}", log().verifier()).parse().unwrap();
        policy.is_satisfied(&policy.cosigned(&note))
    };
    for enough in
        ["quorum none", "quorum w0", "group g 2 w0 w1 w2\n\tquorum  g", "group a any w1 w2\ngroup b all a w0\nquorum b"]
    {
        assert!(satisfied(enough), "{enough}");
    }
    for few in ["quorum w1", "group g all w0 w1 w2\nquorum g", "group a 2 w1 w2\nquorum a"] {
        assert!(!satisfied(few), "{few}");
    }
    let vkey = keys[0].verifier().to_string();
    for bad in [
        "",
        "quorum w0",
        "quorum none\nquorum none",
        "group g all\nquorum none",
        "group g 3 w0 w1\nquorum none",
        "what\nquorum none",
        "group none any w0\nquorum none",
        "group g all w0 w0\nquorum none",
        "group g any w0\ngroup h any w0\nquorum none",
    ] {
        let bad = if bad.starts_with("group") { format!("{witnesses}{bad}") } else { bad.to_owned() };
        assert!(bad.parse::<Policy>().is_err(), "{bad}");
    }
    assert!(
        format!("witness a {vkey}\nwitness b {vkey}\nquorum none").parse::<Policy>().is_err(),
        "two witnesses must not share a key"
    );
    assert!(
        format!("log {vkey}\nquorum none").parse::<Policy>().is_err(),
        "the key of a witness is not accepted as a log's key"
    );
}
