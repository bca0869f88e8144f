//! At startup, prints addresses and commands to try.

use motherlode_runtime::{
    Config,
    access::Roles,
    config::{Credential, Operator, PLATFORM, Tls},
};
use motherlode_server::{LogLocation, Server};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{
    env, fs,
    io::Write,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    path::{self, Path},
};
use webpki::EndEntityCert;

pub(super) fn say_standing_by(listener: &TcpListener, config: &Config) {
    let (address, log) = (listener.local_addr().unwrap_or(config.listen), LogLocation::from_config(config));
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "motherlode listens on {address}, as a standby for log {log}");
}

pub(super) fn say_console(address: SocketAddr, config: &Config) {
    let (scheme, of) = (if config.tls.is_some() { "https" } else { "http" }, config.ledger.targets.join(", "));
    let _ = writeln!(std::io::stdout().lock(), "console: {scheme}://{}/, for the services at {of}", reached(address));
}

pub(super) fn say_serving(server: &Server, config: &Config, file: Option<&Path>, scripted: bool) {
    let address = server.address();
    let log = match config.role.has_log() {
        true => format!("in {}", LogLocation::from_config(config)),
        false => format!("at {}", config.ledger.targets.join(", ")),
    };
    let mut out = std::io::stdout().lock();
    if scripted {
        let _ = writeln!(out, "TEST BUILD: a script selects the outcomes. Do not use it for play.");
    }
    if let Some(tiles) = server.tiles_address() {
        let _ = writeln!(out, "signed checkpoints and Merkle tree tiles: http://{tiles}/log/0/checkpoint");
    }
    if let Some(console) = server.console_address() {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let _ = writeln!(out, "console: {scheme}://{}/", reached(console));
    }
    let position = server.ledger().durable();
    let _ = writeln!(out, "motherlode listens on {address}, log {log}, position {position}");
    let _ = write!(out, "{}", suggestions(address, config, file));
}

fn suggestions(address: SocketAddr, config: &Config, file: Option<&Path>) -> String {
    let (program, mut needs) = (program(), vec![]);
    let mut target = format!("--target http://{}", reached(address));
    if let Some(tls) = &config.tls {
        target = format!("--target https://{}", reached(address));
        target += &trust(tls, address, &mut needs);
    }
    let mut operator = String::new();
    if let Some((of, credential)) = player(&config.operators) {
        operator = format!(" --operator {}", quoted(&of.id));
        needs.push(format!(
            "The commands that call the service need a token in the environment variable MOTHERLODE_TOKEN, for example the token of\n\
             operator {}, credential {credential}, with the roles play and wallet (export MOTHERLODE_TOKEN=$(cat FILE)).",
            of.id
        ));
    } else if config.operators.is_empty() {
        needs.push("No operators are configured: anyone who can reach this address has all permissions.".to_owned());
    } else {
        needs.push(
            "No operator has a token with the roles play and wallet, which these commands need: create one with motherlode token new."
                .to_owned(),
        );
    }
    let game = motherlode_slots::standard().name();
    let play = match config.role.spins() {
        true => format!(
            "  {program} play {game} {target}{operator} --auto --rounds 20\n  {program} loadtest {target}{operator} --rounds 5000\n"
        ),
        false => String::new(),
    };
    let watch = match config.role.keeps_pools() {
        true => format!("  {program} watch jackpots {target}\n"),
        false => String::new(),
    };
    let audit = match config.role.has_log() {
        true => format!("  {program} audit {}\n", audited(config, file)),
        false => String::new(),
    };
    format!("\n{}\n\nTry, in another terminal:\n{play}{watch}{audit}", needs.join("\n"))
}

fn program() -> String {
    let called = env::args_os().next().filter(|name| Path::new(name).components().count() > 1);
    called.map_or("motherlode".to_owned(), |name| absolute(Path::new(&name)))
}

fn reached(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(any) if any.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, any.port()).into(),
        SocketAddr::V6(any) if any.ip().is_unspecified() => (Ipv6Addr::LOCALHOST, any.port()).into(),
        other => other,
    }
}

fn trust(tls: &Tls, address: SocketAddr, needs: &mut Vec<String>) -> String {
    let chain: Vec<_> = CertificateDer::pem_file_iter(&tls.certificate).into_iter().flatten().flatten().collect();
    let Some(certificate) = chain.first().and_then(|leaf| EndEntityCert::try_from(leaf).ok()) else {
        return String::new();
    };
    // A client can trust the file itself if it contains a self-signed certificate or a chain.
    let root = match certificate.issuer() == certificate.subject() || chain.len() > 1 {
        true => absolute(&tls.certificate),
        false => {
            needs.push(format!(
                "ROOT.pem is the root certificate that signed {}; the service does not have this file.",
                tls.certificate.display()
            ));
            "ROOT.pem".to_owned()
        }
    };
    let by_address = ServerName::from(reached(address).ip());
    let name = match certificate.verify_is_valid_for_subject_name(&by_address) {
        Ok(()) => None,
        Err(_) => certificate.valid_dns_names().find(|name| !name.contains('*')),
    };
    format!(" --ca {root}{}", name.map(|name| format!(" --server-name {name}")).unwrap_or_default())
}

fn player(operators: &[Operator]) -> Option<(&Operator, &str)> {
    let plays = |credential: &&Credential| {
        let roles = credential.roles;
        credential.token_sha256.is_some() && roles.meets(Roles::PLAY) && roles.meets(Roles::WALLET)
    };
    let mut operators = operators.iter().filter(|operator| operator.id != PLATFORM);
    operators.find_map(|operator| Some((operator, operator.credentials.iter().find(plays)?.name.as_str())))
}

fn audited(config: &Config, file: Option<&Path>) -> String {
    let Some(url) = &config.store.url else { return absolute(&config.data) };
    let settings = file.map(|file| format!(" --config {}", absolute(file))).unwrap_or_default();
    let own_key = config.log_store().own_key_file.filter(|own| config.store.key_file.is_none() && own.exists());
    let key = own_key.map(|own| format!(" --stream-key {}", absolute(&own))).unwrap_or_default();
    format!("{}{settings}{key}", quoted(&format!("{url}/{}", config.store.stream)))
}

fn absolute(path: &Path) -> String {
    let from_root = path::absolute(path).or_else(|_| fs::canonicalize(path));
    quoted(&from_root.unwrap_or_else(|_| path.to_owned()).display().to_string())
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~+:,=@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) && !word.starts_with('~') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_09_a_path_is_a_word_for_a_shell_from_any_folder() {
        assert_eq!(absolute(Path::new("/var/lib/motherlode")), "/var/lib/motherlode");
        assert_eq!(absolute(Path::new("/my data/it's")), r"'/my data/it'\''s'");
        assert!(absolute(Path::new("data")).trim_matches('\'').starts_with('/'));
        assert_eq!(quoted("~x"), "'~x'");
    }

    #[test]
    fn uf_09_what_is_tried_reaches_a_service_that_listens_on_every_address() {
        let suggested = |listen: &str| suggestions(listen.parse().unwrap(), &Config::default(), None);
        assert!(suggested("0.0.0.0:50051").contains("--target http://127.0.0.1:50051 --auto"));
        assert!(suggested("[::]:50051").contains("--target http://[::1]:50051 --auto"));
        assert!(suggested("127.0.0.1:1").contains("anyone who can reach this address has all permissions"));
    }

    #[test]
    fn uf_09_a_log_on_jetstream_is_audited_with_the_configuration_that_reaches_it() {
        let mut config = Config::default();
        config.store = config.store.at("nats://a:4222,b:4222/TRY").unwrap();
        assert_eq!(audited(&config, Some(Path::new("/etc/m.toml"))), "nats://a:4222,b:4222/TRY --config /etc/m.toml");
        let data = tempfile::tempdir().unwrap();
        config.data = data.path().to_owned();
        let own = config.log_store().own_key_file.unwrap();
        fs::create_dir(own.parent().unwrap()).unwrap();
        fs::write(&own, "").unwrap();
        let line = format!("nats://a:4222,b:4222/TRY --stream-key {}", absolute(&own));
        assert_eq!(audited(&config, None), line);
    }
}
