use crate::message::{Message, Trust, Walk};
use bytes::Bytes;
use motherlode_log::Position;

pub type RawMessage = (Vec<(String, String)>, Bytes);

#[must_use]
pub fn walk(partition: u32, messages: Vec<RawMessage>) -> (Vec<Bytes>, Position) {
    let (mut walk, mut records) = (Walk::new(partition), vec![]);
    let trust = Trust { stream: "FUZZ".to_owned(), key: None, unsigned_up_to: 0 };
    for (pairs, payload) in messages {
        let mut headers = async_nats::HeaderMap::new();
        for (name, value) in &pairs {
            if let (Ok(name), Ok(value)) =
                (name.parse::<async_nats::HeaderName>(), value.parse::<async_nats::HeaderValue>())
            {
                headers.append(name, value);
            }
        }
        let answer = async_nats::Message {
            subject: "answer".into(),
            reply: None,
            payload,
            headers: Some(headers),
            status: None,
            description: None,
            length: 0,
        };
        let Ok(message) = Message::new(&trust.stream, answer) else { break };
        match walk.step(&trust, &message) {
            Ok(found) => records.extend(found),
            Err(_) => break,
        }
    }
    (records, walk.next)
}
