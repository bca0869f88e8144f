use crate::service::{PROGRAM, Service, run, text};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

pub struct World {
    /// Service without operators, on which alice has played a round.
    open: Service,
    closed: Service,
    tls: Service,
    expired: Service,
    keys: [String; 2],
    pub proof: String,
    folder: tempfile::TempDir,
}

const SEGMENT: &str = "log/0/00000000000000000001.log";
const BINARY: [u8; 64] = [0xf7; 64];

impl World {
    pub fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        let at = |name: &str| files.join(name);
        let open = Service::start(&folder.path().join("open"), None);
        let target = format!("http://{}", open.address);
        assert!(run(&format!("play dwarf-mine --auto --rounds 2 --target {target}")).status.success());

        let token = |name: &str, line: &str| {
            let made = text(&run(&format!("token new --out {}", at(name).display())));
            let digest = made.split('"').find(|word| word.len() == 64).unwrap_or_else(|| panic!("{made}")).to_owned();
            format!(
                "[[operators.credentials]]\nname = \"{name}\"\ntoken_sha256 = \"{digest}\"\nroles = [\"play\"]\n{line}"
            )
        };
        let operators = "[[operators]]\nid = \"demo\"\n".to_owned()
            + &token("good", "")
            + &token("late", "expires = 2020-01-01T00:00:00Z\n");
        fs::write(at("operators.toml"), operators).unwrap();
        fs::write(at("wrong"), "no-such-token").unwrap();
        let closed = Service::start(&folder.path().join("closed"), Some(&at("operators.toml")));

        certificates(&files);
        let served = |name: &str| {
            let path = |end: &str| at(&format!("{name}{end}")).display().to_string();
            let section = format!("[tls]\ncertificate = \"{}\"\nkey = \"{}\"\n", path(".pem"), path(".key"));
            fs::write(at(&format!("{name}.toml")), section).unwrap();
            Service::start(&folder.path().join(name), Some(&at(&format!("{name}.toml"))))
        };
        let (tls, expired) = (served("tls"), served("expired"));

        let proof = String::from_utf8(run(&format!("proof demo/alice/1 --target {target}")).stdout).unwrap();
        let shown = |words: String| {
            let shown = text(&run(&words));
            shown.split_whitespace().find(|word| word.contains('+')).unwrap_or_else(|| panic!("{shown}")).to_owned()
        };
        let key = shown(format!("key show {}", folder.path().join("open/proofs.key").display()));
        let other = shown(format!("key new example.com/other --out {}", at("other.key").display()));
        shown(format!("key new example.com/witness --witness --out {}", at("witness.key").display()));
        fs::write(at("proof"), &proof).unwrap();

        let service = Service::start(&at("stopped"), None);
        assert!(run(&format!("play dwarf-mine --auto --target http://{}", service.address)).status.success());
        service.stop();
        let damaged = |name: &str, damage: &dyn Fn(&Path)| {
            copy_folder(&at("stopped"), &at(name));
            damage(&at(name));
        };
        let segment = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
            damaged(name, &|folder| {
                let mut bytes = fs::read(folder.join(SEGMENT)).unwrap();
                change(&mut bytes);
                fs::write(folder.join(SEGMENT), bytes).unwrap();
            });
        };
        segment("flipped", &|bytes| bytes[300] ^= 1);
        segment("cut", &|bytes| bytes.truncate(10));
        segment("emptied", &Vec::clear);
        segment("torn", &|bytes| bytes.truncate(700));
        segment("garbled", &|bytes| *bytes = BINARY.to_vec());
        damaged("no-segment", &|folder| fs::remove_file(folder.join(SEGMENT)).unwrap());
        damaged("folder-for-segment", &|folder| {
            fs::remove_file(folder.join(SEGMENT)).unwrap();
            fs::create_dir(folder.join(SEGMENT)).unwrap();
        });
        damaged("no-log", &|folder| fs::remove_dir_all(folder.join("log")).unwrap());
        damaged("file-for-log", &|folder| {
            fs::remove_dir_all(folder.join("log")).unwrap();
            fs::write(folder.join("log"), "a file\n").unwrap();
        });
        let with = |name: &str, file: &str, bytes: &[u8]| {
            damaged(name, &|folder| fs::write(folder.join(file), bytes).unwrap());
        };
        with("proofs-key-empty", "proofs.key", b"");
        with("proofs-key-garbled", "proofs.key", &BINARY);
        with("checkpoint-empty", "proofs/0/checkpoint", b"");
        with("draw-keys-garbled", "keys/draws", &BINARY);
        with("draw-keys-empty", "keys/draws", b"");
        damaged("draw-keys-exposed", &|folder| {
            fs::set_permissions(folder.join("keys/draws"), fs::Permissions::from_mode(0o644)).unwrap();
        });
        damaged("no-draw-keys", &|folder| fs::remove_dir_all(folder.join("keys")).unwrap());
        damaged("no-proofs-key", &|folder| fs::remove_file(folder.join("proofs.key")).unwrap());
        damaged("file-for-index", &|folder| {
            fs::remove_dir_all(folder.join("index")).unwrap();
            fs::write(folder.join("index"), "a file\n").unwrap();
        });

        fs::write(at("plain"), "a text\n").unwrap();
        fs::write(at("empty"), "").unwrap();
        fs::write(at("binary"), BINARY).unwrap();
        fs::write(at("half-proof"), &proof[..300]).unwrap();
        fs::create_dir(at("folder")).unwrap();
        Self { open, closed, tls, expired, keys: [key, other], proof, folder }
    }

    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub fn run(&self, command: &str) -> (Option<i32>, String) {
        let port = |service: &Service| service.address.rsplit(':').next().unwrap().to_owned();
        let names = [
            ("@OPEN", format!("http://{}", self.open.address)),
            ("@LISTENS", self.open.address.clone()),
            ("@CONSOLE", format!("http://{}", self.open.console)),
            ("@CLOSED", format!("http://{}", self.closed.address)),
            ("@TLS", format!("localhost:{}", port(&self.tls))),
            ("@EXPIRED", format!("localhost:{}", port(&self.expired))),
            ("@DATA", self.folder.path().join("open").display().to_string()),
            ("@KEY", self.keys[0].clone()),
            ("@OTHER", self.keys[1].clone()),
        ];
        let command = names.iter().fold(command.to_owned(), |command, (name, value)| command.replace(name, value));
        let output: Output = Command::new(PROGRAM)
            .args(command.split_whitespace())
            .current_dir(self.files())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.code(), text(&output))
    }

    pub fn content(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.files()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("refused-starts") {
                    continue;
                }
                let bytes = path.is_file().then(|| fs::read(&path).unwrap());
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(path, bytes);
            }
        }
        found
    }
}

fn certificates(folder: &Path) {
    let key = || KeyPair::generate().unwrap();
    let root = || {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, key()).unwrap()
    };
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let (own, other) = (root(), root());
    write("root.pem", own.pem());
    write("other-root.pem", other.pem());
    for (name, year) in [("tls", 2099), ("expired", 2021)] {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = key();
        write(&format!("{name}.pem"), params.signed_by(&key, &own).unwrap().pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_folder(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}
