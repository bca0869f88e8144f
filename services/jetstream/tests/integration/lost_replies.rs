use crate::parts::{Acknowledged, append, holds, payloads};
use motherlode_jetstream::JetStreamStore;
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::nats::Node;
use parking_lot::Mutex;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Never,
    Before,
    After,
}

fn proxy(server: &str) -> (String, Arc<Mutex<Cut>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", listener.local_addr().unwrap());
    let (cut, server) = (Arc::new(Mutex::new(Cut::Never)), server.trim_start_matches("nats://").to_owned());
    let switch = Arc::clone(&cut);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(&server) else { return };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let up = Arc::clone(&cut);
            thread::spawn(move || forward(from, to, b"Nats-Expected-Last-Sequence", Cut::Before, &up));
            let down = Arc::clone(&cut);
            thread::spawn(move || forward(server, client, b"\"seq\":", Cut::After, &down));
        }
    });
    (address, switch)
}

fn forward(mut from: TcpStream, mut to: TcpStream, what: &[u8], when: Cut, cut: &Mutex<Cut>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read) = from.read(&mut buffer) {
        let bytes = &buffer[..read];
        let mut cut = cut.lock();
        if read == 0 {
            break;
        }
        if *cut == when && bytes.windows(what.len()).any(|window| window == what) {
            *cut = Cut::Never;
            break;
        }
        drop(cut);
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn an_append_cut(when: Cut) {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), "");
    let (address, cut) = proxy(node.url());
    let config = Config { url: Some(address), ..node.config("S") };
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    for n in 0..3 {
        append(&mut store, &payloads("before", n), &mut all).unwrap();
        *cut.lock() = when;
        append(&mut store, &payloads("cut", n), &mut all).unwrap();
        assert_eq!(*cut.lock(), Cut::Never, "the connection must have been cut");
    }
    assert_eq!(holds(&node.config("S"), &all), all.len() as u64, "each append must be stored exactly once");
}

#[test]
fn an_append_whose_acknowledgement_is_lost_is_found() {
    an_append_cut(Cut::After);
}

#[test]
fn an_append_that_did_not_reach_the_server_is_published_again() {
    an_append_cut(Cut::Before);
}
